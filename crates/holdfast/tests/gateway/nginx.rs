//! A real nginx in front that ends TLS, set up as the manual says.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use holdfast_testkit::authority::Pair;
use rustix::process::{Pid, Signal, kill_process};

use crate::running::wait_until;

/// The lines of the manual that an operator copies.
const MANUAL: &str = include_str!("../../../../docs/gateway.md");

pub struct Nginx {
    child: Child,
    pub port: u16,
}

impl Nginx {
    /// Encrypted on one port and plain on another, both handed on to the gateway. Its files are in a folder of its own.
    pub fn start(dir: &Path, names: &str, pair: &Pair, (port, plain): (u16, u16), gateway: u16) -> Nginx {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("chain.pem"), &pair.chain).unwrap();
        std::fs::write(dir.join("key.pem"), &pair.key).unwrap();
        let manual = in_the_manual()
            .replace("listen 443 ssl;", &format!("listen 127.0.0.1:{port} ssl;\n  listen 127.0.0.1:{plain};"))
            .replace("hold.example *.hold.example", names)
            .replace("/etc/ssl/hold.pem", &dir.join("chain.pem").display().to_string())
            .replace("/etc/ssl/hold.key", &dir.join("key.pem").display().to_string())
            .replace("127.0.0.1:9096", &format!("127.0.0.1:{gateway}"));
        std::fs::write(dir.join("nginx.conf"), around(dir, &manual)).unwrap();
        let child = Command::new(found())
            .arg("-p")
            .arg(dir)
            .arg("-c")
            .arg(dir.join("nginx.conf"))
            .arg("-e")
            .arg(dir.join("error.log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed (Debian package nginx-light)");
        let nginx = Nginx { child, port };
        wait_until(&format!("nginx answers, whose files are in {}", dir.display()), || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Killed, it would leave its workers behind.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// What stands in the manual between ```nginx and ```.
fn in_the_manual() -> String {
    let after = MANUAL.split_once("```nginx\n").expect("an example for nginx in the manual").1;
    after.split_once("```").unwrap().0.to_owned()
}

/// What a distribution's own file has around a site.
fn around(dir: &Path, site: &str) -> String {
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("  {what}_temp_path {};\n", dir.join(what).display()))
        .collect();
    let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
    format!(
        "{user}daemon off;\nworker_processes 1;\npid {};\nevents {{ worker_connections 256; }}\nhttp {{\n{temp}  access_log off;\n{site}}}\n",
        dir.join("pid").display()
    )
}

/// On the path, or where Debian has it, which is not on everybody's.
fn found() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join("nginx")).find(|file| file.is_file()).unwrap_or_else(|| "nginx".into())
}
