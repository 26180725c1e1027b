//! Whose `localhost` it is: both loopbacks are held, a start that cannot hold them says who does, and a socket of the service manager holds them
//! while nobody runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holdfast_testkit::{STRANGER, Stranger, Taking, as_user};
use serde_json::{Value, json};

use crate::house::House;
use crate::running::{Looking as _, Running, tell, wait_until};

/// Every way in which another user could have the port: each address, with both ways of sharing one.
const TAKING: &str = r#"
import socket, sys
port, taken = int(sys.argv[1]), []
for host in ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"]:
    for share in [0, socket.SO_REUSEADDR, socket.SO_REUSEPORT]:
        for only in [0, 1]:
            where = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            if ":" in host:
                where.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
            if share:
                where.setsockopt(socket.SOL_SOCKET, share, 1)
            try:
                where.bind((host, port))
                where.listen(1)
                taken.append(host)
            except OSError:
                pass
            where.close()
print(" ".join(taken))
"#;

/// What another user of this machine can listen on at this port.
fn takeable(port: u16) -> String {
    let mut command = as_user(STRANGER);
    let output =
        command.args(["/usr/bin/python3", "-I", "-c", TAKING, &port.to_string()]).current_dir("/").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What the page at this address is, asked for as `localhost`.
fn page(address: IpAddr, port: u16) -> String {
    tell(
        SocketAddr::new(address, port),
        format!("GET /login HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n").as_bytes(),
    )
}

const LOOPBACKS: [&str; 2] = ["127.0.0.1", "::1"];

#[test]
fn both_loopbacks_are_the_gateways_and_no_other_user_can_take_either() {
    let mut house = House::planned("");
    assert!(!takeable(house.port).is_empty(), "the attack works where nobody listens");
    house.start();
    assert_eq!(takeable(house.port), "");
    for address in LOOPBACKS {
        assert!(page(address.parse().unwrap(), house.port).contains("200 OK"), "{address}");
    }
    let listening = house.home.status()["listening"].clone();
    let gateway = listening.as_array().unwrap().iter().find(|it| it["door"] == "gateway").unwrap();
    let wanted = LOOPBACKS.map(|ip| SocketAddr::new(ip.parse().unwrap(), house.port).to_string());
    assert_eq!((&gateway["addresses"], &gateway["without"]), (&json!(wanted), &Value::Null));
    house.stop().well();
}

#[test]
fn a_start_that_finds_its_port_taken_is_refused_and_says_by_whom() {
    for (held, taking) in [
        ("[::1]", Taking::Listening),
        ("[::]", Taking::ListeningOnly),
        ("[::]", Taking::Listening),
        ("127.0.0.1", Taking::Listening),
        ("0.0.0.0", Taking::Listening),
        ("[::1]", Taking::Bound),
    ] {
        let house = House::planned("");
        let _stranger = Stranger::at(STRANGER, taking, format!("{held}:{}", house.port).parse().unwrap());
        let output = house.up(&[]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{held} {taking:?}: {said}");
        assert!(said.contains("HF-CLI-022") && said.contains(&format!(":{}", house.port)), "{said}");
        assert!(said.contains("so the daemon takes both"), "{said}");
        match taking {
            // The kernel's tables do not have it.
            Taking::Bound => assert!(said.contains("does not listen yet"), "{said}"),
            _ => assert!(said.contains(&format!("held by uid {STRANGER}")), "{held} {taking:?}: {said}"),
        }
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!out.contains("\"ready\":true"), "nothing was opened: {out}");
    }
}

/// In a network of its own, in which IPv6 is switched off.
#[test]
fn a_machine_without_ipv6_has_one_loopback_and_says_so() {
    let house = House::planned("");
    let off = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && ip link set lo up && exec \"$@\"";
    let user = if rustix::process::geteuid().is_root() { "--net" } else { "--map-root-user" };
    let daemon = Running::start(house.up(&["unshare", user, "--net", "sh", "-c", off, "sh"]));
    let listening = house.home.status()["listening"].clone();
    let gateway = listening.as_array().unwrap().iter().find(|it| it["door"] == "gateway").unwrap();
    assert_eq!(gateway["addresses"], json!([format!("127.0.0.1:{}", house.port)]));
    assert_eq!(gateway["without"], json!(format!("[::1]:{}", house.port)));
    assert_eq!(house.home.status()["healthy"], true, "that is nothing to mend");
    assert!(daemon.log().contains("this machine does not have that address"), "{}", daemon.log());
    assert!(house.home.run(&["status"]).ok().out.contains("which this machine does not have"));
    daemon.terminated().well();
}

/// What a service manager does: has the sockets, and keeps them or hands them to a program under their numbers.
const HOLDING: &str = r#"
import fcntl, os, socket, sys
port, how = int(sys.argv[1]), sys.argv[2]
def at(family, host):
    where = socket.socket(family)
    if family == socket.AF_INET6:
        where.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    where.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    where.bind((host, port))
    where.listen(16)
    return where
both = [at(socket.AF_INET, "127.0.0.1"), at(socket.AF_INET6, "::1")]
if how == "keep":
    sys.stdin.read()
    sys.exit()
beyond = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 20) for one in both]
for number, fd in enumerate(beyond):
    os.dup2(fd, 3 + number)
    os.close(fd)
os.environ.update(LISTEN_FDS="2", LISTEN_PID=str(os.getpid()))
os.execvp(sys.argv[3], sys.argv[3:])
"#;

/// Ends with the test, whatever it holds.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn sockets_that_are_handed_over_are_taken_and_nobody_has_them_while_the_daemon_is_down() {
    let house = House::planned("");
    let port = house.port.to_string();
    let daemon = Running::start(house.up(&["/usr/bin/python3", "-I", "-c", HOLDING, &port, "hand"]));
    for address in LOOPBACKS {
        assert!(page(address.parse().unwrap(), house.port).contains("200 OK"), "{address}");
    }
    daemon.terminated().well();

    // Held with nobody behind: nobody else gets it, and whoever comes waits for the daemon.
    let mut holder = Holder(
        Command::new("/usr/bin/python3")
            .args(["-I", "-c", HOLDING, &port, "keep"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    wait_until("the sockets are held", || TcpStream::connect((Ipv4Addr::LOCALHOST, house.port)).is_ok());
    assert_eq!(takeable(house.port), "", "while the daemon is down");
    let refused = house.up(&[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(6), "one that is not handed them does not get them either");
    let _ = holder.0.kill();
}

#[test]
fn what_is_handed_over_for_somebody_else_or_for_other_settings_is_not_believed() {
    let house = House::planned("");
    // For another process.
    let mut command = house.up(&[]);
    command.env("LISTEN_FDS", "2").env("LISTEN_PID", "1");
    let daemon = Running::start(command);
    assert!(page(Ipv4Addr::LOCALHOST.into(), house.port).contains("200 OK"));
    daemon.terminated().well();
    // More than there are.
    let through = ["sh", "-c", "LISTEN_FDS=9 LISTEN_PID=$$ exec \"$@\"", "sh"];
    let daemon = Running::start(house.up(&through));
    assert!(page(Ipv4Addr::LOCALHOST.into(), house.port).contains("200 OK"));
    daemon.terminated().well();

    // At another port: it listens at its own, says what to write, and lets go whoever comes to the other.
    let elsewhere = House::planned("");
    let port = elsewhere.port.to_string();
    let daemon = Running::start(house.up(&["/usr/bin/python3", "-I", "-c", HOLDING, &port, "hand"]));
    assert!(page(Ipv4Addr::LOCALHOST.into(), house.port).contains("200 OK"));
    let log = daemon.log();
    assert!(log.contains("holdfast.socket.d/listen.conf"), "{log}");
    assert!(log.contains("holds addresses that no setting names"), "{log}");
    for address in LOOPBACKS {
        let mut stream = TcpStream::connect((address, elsewhere.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let end = std::io::Read::read(&mut stream, &mut [0; 16]);
        assert!(matches!(end, Ok(0)) || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    }
    daemon.terminated().well();
}

/// A page that leads its own name to this machine, and reads what answers as if it were its own.
#[test]
fn the_health_page_answers_for_no_strangers_name() {
    let house = House::planned("health: { hosts: [box-1.lan] }\n");
    let daemon = Running::start(house.up(&[]));
    let ask = |fields: &str| {
        let answer = tell(daemon.health, format!("GET /metrics HTTP/1.1\r\n{fields}\r\n").as_bytes());
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    let own = daemon.health;
    for good in [
        &format!("Host: {own}\r\n"),
        "Host: localhost:9095\r\n",
        "host: BOX-1.lan\r\n",
        "Host: [::1]:9095\r\n",
        "",
    ] {
        assert_eq!(ask(good), 200, "{good}");
    }
    for bad in [
        "Host: evil.example\r\n",
        "Host: evil.example:9095\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: 192.0.2.1\r\n",
    ] {
        assert_eq!(ask(bad), 421, "{bad}");
    }
    let told = tell(daemon.health, b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(!told.contains("healthy") && told.contains("health.hosts"), "{told}");
    daemon.terminated().well();
}
