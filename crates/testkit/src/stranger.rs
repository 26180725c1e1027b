//! Another user of this machine, who listens where somebody else should.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A user that no machine of ours has.
pub const STRANGER: u32 = 64_999;
/// What a stranger answers to every request.
pub const IMPOSTURE: &str = "a page of somebody else's";

const PROGRAM: &str = r#"
import socket, sys
how, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
where = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
if how == "only":
    where.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
if how != "bound":
    where.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
where.bind((host, port))
if how != "bound":
    where.listen(64)
print(where.getsockname()[1], flush=True)
while how == "bound":
    sys.stdin.read()
    sys.exit()
page = sys.argv[4].encode()
while True:
    stream, _ = where.accept()
    stream.settimeout(5)
    try:
        asked = stream.recv(65536)
    except OSError:
        asked = b""
    print("heard", asked.hex(), flush=True)
    if asked:
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(page), page))
    stream.close()
"#;

/// How a stranger takes an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// Listens and answers.
    Listening,
    /// The same, of IPv6 alone where the address is everywhere.
    ListeningOnly,
    /// Has it for itself, and does not listen.
    Bound,
}

/// A process of somebody else, ended with this value.
#[derive(Debug)]
pub struct Stranger {
    child: Child,
    out: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

impl Stranger {
    /// Takes an address as the user with this number; a port of 0 is any. Root becomes that user, everybody else asks sudo.
    pub fn at(uid: u32, taking: Taking, address: SocketAddr) -> Stranger {
        let how = match taking {
            Taking::Listening => "listening",
            Taking::ListeningOnly => "only",
            Taking::Bound => "bound",
        };
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let mut command = as_user(uid);
        command
            .args(["/usr/bin/python3", "-I", "-c", PROGRAM, how, &host, &port, IMPOSTURE])
            .current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("it has an output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says where it is");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("{address} could not be taken: {line}"));
        Stranger { child, out, address: SocketAddr::new(address.ip(), port) }
    }

    /// What the next connection to it brought; waits for one.
    pub fn heard(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("it goes on");
        let hex = line.trim().strip_prefix("heard").expect("it was asked").trim();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("it is hex");
        (0..hex.len()).step_by(2).map(byte).collect()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that the user with this number runs.
pub fn as_user(uid: u32) -> Command {
    let number = uid.to_string();
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--reuid", &number, "--regid", &number, "--clear-groups", "--"]);
        return command;
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "-u", &format!("#{number}"), "--"]);
    command
}
