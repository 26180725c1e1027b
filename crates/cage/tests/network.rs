//! What a caged program reaches: nothing, or what was named, and by no other way.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use holdfast_cage::{Destination, Service};
use support::{Trial, folder};

/// A host that answers every connection with one line of HTTP.
fn host(says: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut head = [0; 2048];
            let _ = connection.read(&mut head);
            let _ = write!(
                connection,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{says}",
                says.len()
            );
        }
    });
    address
}

fn destination(host: &str, port: u16, private: bool) -> Destination {
    Destination::by_hand(host.to_owned(), vec![port], private, "the test's")
}

/// Asks from inside with a few lines of Python: directly, or through the proxy.
const ASK: &str = r#"
import sys, socket, os
how, target = sys.argv[1], sys.argv[2]
host, port = target.rsplit(":", 1)
try:
    if how == "direct":
        s = socket.create_connection((host, int(port)), 2)
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    else:
        s = socket.create_connection(("127.0.0.1", 3128), 2)
        if how == "connect":
            s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                more = s.recv(1)
                if not more: break
                head += more
            if b" 200 " in head.split(b"\r\n")[0]:
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            else:
                print(head.split(b"\r\n")[0].decode()); sys.exit(1)
        else:
            s.sendall(f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    data = b""
    while True:
        more = s.recv(4096)
        if not more: break
        data += more
    print(data.decode().split("\r\n\r\n")[-1])
except OSError as e:
    print("no:", e.__class__.__name__); sys.exit(1)
"#;

fn ask(trial: &Trial, how: &str, target: &str) -> (String, support::Outcome) {
    let done = trial.run(&["/usr/bin/python3", "-c", ASK, how, target]);
    assert!(done.err.is_empty(), "{done:?}");
    (done.out.trim().to_owned(), done)
}

#[test]
fn without_a_grant_nothing_outside_is_reached_and_the_own_loopback_works() {
    let (work, outside) = (folder(), host("outside"));
    let trial = Trial::of("work", work.path());
    assert!(ask(&trial, "direct", &outside.to_string()).0.starts_with("no:"));
    let own = trial.sh("python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); c = socket.create_connection(s.getsockname()); print(\"own\")'");
    assert_eq!(own.out, "own\n", "{own:?}");
}

#[test]
fn a_service_is_reached_at_its_port_and_nothing_else_is() {
    let (work, outside, other) = (folder(), host("the service"), host("another"));
    let mut trial = Trial::of("work", work.path());
    trial.policy.services.push(Service::by_hand(9097, outside.to_string(), "the test's"));
    assert_eq!(ask(&trial, "direct", "127.0.0.1:9097").0, "the service");
    assert!(ask(&trial, "direct", &other.to_string()).0.starts_with("no:"));
    assert!(
        ask(&trial, "direct", &outside.to_string()).0.starts_with("no:"),
        "its own port outside is not there"
    );
}

#[test]
fn a_service_behind_a_path_is_reached_too() {
    let work = folder();
    let path = work.path().join("service.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut head = [0; 2048];
            let _ = connection.read(&mut head);
            let _ = connection.write_all(b"HTTP/1.0 200 OK\r\n\r\nbehind a path");
        }
    });
    let mut trial = Trial::of("work", work.path());
    trial.policy.services.push(Service::by_hand(9098, path.display().to_string(), "the test's"));
    assert_eq!(ask(&trial, "direct", "127.0.0.1:9098").0, "behind a path");
}

#[test]
fn the_proxy_lets_through_what_is_granted_and_refusals_are_counted() {
    let (work, granted, other) = (folder(), host("granted"), host("another"));
    let mut trial = Trial::of("work", work.path());
    trial.policy.destinations.push(destination("localhost", granted.port(), true));
    let named = format!("localhost:{}", granted.port());
    assert_eq!(ask(&trial, "connect", &named).0, "granted");
    assert_eq!(ask(&trial, "whole", &named).0, "granted");
    for refused in [format!("localhost:{}", other.port()), granted.to_string(), "example.org:443".to_owned()]
    {
        let (said, done) = ask(&trial, "connect", &refused);
        assert_eq!(said, "HTTP/1.1 403 Forbidden", "{refused}");
        assert_eq!(done.evidence.refused_destinations.get(&refused), Some(&1), "{done:?}");
    }
    let (said, _) = ask(&trial, "whole", &format!("localhost:{}", other.port()));
    assert!(said.contains("does not grant"), "{said}");
    assert!(ask(&trial, "direct", &named).0.starts_with("no:"), "past the proxy there is no way");
}

#[test]
fn a_name_that_leads_into_ones_own_network_is_refused_unless_that_is_granted() {
    let (work, own) = (folder(), host("own"));
    let mut trial = Trial::of("work", work.path());
    trial.policy.destinations.push(destination("localhost", own.port(), false));
    let (said, done) = ask(&trial, "connect", &format!("localhost:{}", own.port()));
    assert_eq!(said, "HTTP/1.1 403 Forbidden");
    assert_eq!(done.evidence.refused_destinations.len(), 1);
}

#[test]
fn a_connection_that_is_left_open_ends_with_the_cage() {
    let work = folder();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut trial = Trial::of("work", work.path());
    trial.policy.services.push(Service::by_hand(
        9099,
        silent.local_addr().unwrap().to_string(),
        "the test's",
    ));
    let done = trial.sh(
        "python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", 9099)); print(\"open\")'",
    );
    assert_eq!(done.out, "open\n", "{done:?}");
    let (mut connection, _) = silent.accept().unwrap();
    connection.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let mut rest = Vec::new();
    assert_eq!(connection.read_to_end(&mut rest).unwrap(), 0, "the other end was closed");
}

#[test]
fn a_connection_that_comes_about_when_the_cage_has_ended_is_closed() {
    let work = folder();
    // Nobody accepts here until the cage has ended, and only so many may wait for it.
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&busy, 0).unwrap();
    let address = busy.local_addr().unwrap();
    let filler = std::net::TcpStream::connect(address).unwrap();
    let mut trial = Trial::of("work", work.path());
    trial.policy.services.push(Service::by_hand(9100, address.to_string(), "the test's"));
    let done =
        trial.sh("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9100))'; echo gone");
    assert_eq!(done.out, "gone\n", "{done:?}");
    busy.accept().unwrap();
    drop(filler);
    let (mut late, _) = busy.accept().unwrap();
    late.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    assert_eq!(late.read(&mut [0]).unwrap(), 0, "the other end was closed");
    // In both directions: the first byte finds nobody, and so there is no second.
    late.write_all(b"x").unwrap();
    assert!(late.write_all(b"x").is_err(), "somebody still listens");
}

/// A network that is there already, with an address nobody else has.
struct Given(String);

impl Given {
    fn make() -> Given {
        let name = format!("cage-test-{}", std::process::id());
        let ip = |arguments: &[&str]| {
            assert!(
                std::process::Command::new("ip").args(arguments).status().unwrap().success(),
                "{arguments:?}"
            );
        };
        ip(&["netns", "add", &name]);
        ip(&["-n", &name, "link", "set", "lo", "up"]);
        ip(&["-n", &name, "addr", "add", "192.0.2.9/32", "dev", "lo"]);
        Given(name)
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let _ = std::process::Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn a_network_that_is_given_is_entered_and_cannot_be_changed() {
    // Only root may enter a network that is not its own.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (work, given, outside) = (folder(), Given::make(), host("outside"));
    let mut trial = Trial::of("work", work.path());
    trial.policy.namespace = Some(format!("/run/netns/{}", given.0).into());
    let bind = "import socket; socket.create_server((\"192.0.2.9\", 0)); print(\"in it\")";
    assert_eq!(trial.run(&["python3", "-c", bind]).out, "in it\n");
    assert!(ask(&trial, "direct", &outside.to_string()).0.starts_with("no:"), "it is not the machine's");
    let raise = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 36, 1)";
    assert_ne!(trial.run(&["python3", "-c", raise]).evidence.code(), 0, "marks of packets are its owner's");
    trial.policy.namespace = None;
    assert_ne!(trial.run(&["python3", "-c", bind]).evidence.code(), 0, "without it there is no such address");
}
