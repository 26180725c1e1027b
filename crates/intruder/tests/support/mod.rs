//! The intruder on a stage without a cage, and a proxy of the test's own.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_intruder::{Report, SECRET, Stage};

/// How the proxy of the test treats what it is asked.
#[derive(Clone, Copy)]
pub(crate) enum Proxy {
    /// It agrees to everything.
    Open,
    /// It refuses everything.
    Strict,
}

/// The world around the intruder.
pub(crate) struct World {
    pub(crate) stage: Stage,
    user: Option<u32>,
}

impl World {
    pub(crate) fn new(proxy: Proxy) -> World {
        // An ordinary user does the intruding, also where the tests run as root.
        let user = rustix::process::geteuid().is_root().then_some(65534);
        let own = || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let (uid, gid) = user.map_or_else(own, |user| (user, user));
        let mut stage = Stage::set(uid, gid, Path::new(env!("CARGO_BIN_EXE_holdfast-intruder"))).unwrap();
        let answer = stage.decoys.proxy_refused_answer.clone().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        stage.with_proxy(listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or(0);
                let said = match (proxy, request.first()) {
                    (Proxy::Open, Some(5)) => b"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec(),
                    (Proxy::Open, _) => format!("HTTP/1.1 200 OK\r\n\r\n{answer}\n").into_bytes(),
                    (Proxy::Strict, _) => b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec(),
                };
                if length > 0 {
                    let _ = stream.write_all(&said);
                }
            }
        });
        World { stage, user }
    }

    /// Runs the intruder as it would be run in a cage, and returns what it reports.
    pub(crate) fn intrude(&self, names: &[&str]) -> Vec<Report> {
        let mut command = Command::new(self.stage.intruder());
        command.arg("try").args(names).env_clear().env(SECRET, "set outside").current_dir("/");
        self.user.map(|user| command.uid(user).gid(user));
        let input = self.stage.decoys_on_a_pipe().unwrap();
        let running = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let lines = output.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }
}
