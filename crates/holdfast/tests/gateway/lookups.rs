//! Whose program a caller on this machine is: what it costs to find that out, whoever makes it happen, and that it counts whichever of the
//! machine's addresses they come by.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use holdfast_testkit::{STRANGER, as_user};

use crate::browser::Browser;
use crate::house::House;
use crate::phone::Phone;
use crate::running::{Looking as _, Running, an_address, read, wait_until};

/// Another user of this machine.
const NEIGHBOUR: u32 = 64_998;

/// From the beginning of one reading of the tables to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// What the daemon reads besides: its log, its databases.
const ELSE_BYTES: u64 = 4 * 1024 * 1024;

/// Posts on so many connections for so many seconds, from many addresses, and says how many answers came with which status.
const FLOOD: &str = r#"
import asyncio, collections, sys, time
port, many, secs, path, origin = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
host = origin.split("//")[1]
text = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode()
got, end = collections.Counter(), time.time() + secs
async def one(n):
    while time.time() < end:
        try:
            at = (f"127.77.{n % 200 + 1}.{n // 200 + 1}", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=at)
            while time.time() < end:
                writer.write(text)
                head = await reader.readuntil(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.split(b":")[1]))
                got[head[9:12].decode()] += 1
        except Exception:
            await asyncio.sleep(0.2)
async def all():
    await asyncio.gather(*[one(n) for n in range(many)])
asyncio.run(all())
print(sum(got.values()), got.get("200", 0))
"#;

/// Signs in to nothing, again and again, at an address over TLS, and says how many tries were looked at and how many were put off.
const TRIES: &str = r#"
import socket, ssl, sys
at, port, many, origin = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
host, trust, got = origin.split("//")[1], ssl._create_unverified_context(), []
for n in range(many):
    with socket.create_connection((at, port), timeout=20) as plain:
        with trust.wrap_socket(plain, server_hostname=host.split(":")[0]) as stream:
            stream.sendall(f"POST /auth/login/start HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
            got.append(stream.recv(20)[9:12].decode())
print(got.count("200"), got.count("429"))
"#;

/// A program of somebody else's, and the two numbers that it says in the end.
struct Theirs(Child);

impl Theirs {
    fn run(uid: u32, program: &str, args: &[&str]) -> Theirs {
        let mut command = as_user(uid);
        command.args(["/usr/bin/python3", "-I", "-c", program]).args(args).current_dir("/");
        Theirs(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn said(mut self) -> (u64, u64) {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process has read from files so far.
fn read_so_far(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// How long the tables of connections are now.
fn length_of_tables() -> u64 {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .map(|path| std::fs::read(path).map_or(0, |it| it.len()) as u64)
        .sum()
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_posts_below_auth_makes_the_daemon_read_next_to_nothing_and_people_still_sign_in() {
    let house = House::open("");
    let owner = house.owner().await;
    let pid = house.daemon.as_ref().unwrap().pid();
    let (port, origin) = (house.port.to_string(), house.origin());
    for (path, who, asked) in [
        // No route: nothing is limited there, so nobody has to be found.
        ("/auth/nothing", origin.as_str(), false),
        ("/auth/login/start", "http://evil.example", false),
        ("/auth/login/start", origin.as_str(), true),
    ] {
        let (before, began) = (read_so_far(pid), Instant::now());
        let flood = Theirs::run(STRANGER, FLOOD, &[&port, "400", "6", path, who]);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut length = length_of_tables();
        for n in 0..4 {
            // One that was here before, and one that nobody knows.
            let mut browser = match n % 2 {
                0 => owner.clone(),
                _ => Browser { device: owner.device.clone(), ..house.browser() },
            };
            browser.sign_in(None).await.is(200);
            length = length.max(length_of_tables());
        }
        let (answers, _) = flood.said();
        let (read, took) = (read_so_far(pid) - before, began.elapsed());
        // A try of somebody unknown takes two; beyond that only what is limited does.
        let readings =
            if asked { u64::try_from(took.as_millis() / PAUSE.as_millis()).unwrap() + 2 } else { 8 };
        assert!(answers > 400, "{path}: only {answers} answers");
        assert!(
            read <= readings * length + ELSE_BYTES,
            "{path} of {who}: {read} bytes read for {answers} answers in {took:?}; the tables have {length}"
        );
    }
}

/// An address of this machine that is not loopback, where it has one. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.77:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_this_machine_have_tries_of_their_own_by_its_network_address_too() {
    let Some(own) = own_address() else {
        eprintln!("skipped: this machine has no address but loopback");
        return;
    };
    let mut house = House::planned("");
    let origin = format!("https://localhost:{}", house.port);
    house.home.configure(&format!("gateway:\n  address: {origin}\n  tls: {{ from: local }}\n"));
    let (health, listen) =
        (format!("health.listen={}", an_address()), format!("gateway.listen=0.0.0.0:{}", house.port));
    house.daemon =
        Some(Running::start(house.home.command(&["--json", "up", "--set", &health, "--set", &listen])));
    let authority = house.home.state("gateway/certificates/authority.pem");
    wait_until("there is an authority", || read(&authority).contains("END CERTIFICATE"));
    let mut phone = Phone::new("localhost", house.port, &read(&authority));
    phone.register(&house).await;

    let (own, port) = (own.to_string(), house.port.to_string());
    let tries = |uid, at: &str, many: &str| Theirs::run(uid, TRIES, &[at, &port, many, &origin]).said();
    let (looked_at, put_off) = tries(STRANGER, &own, "40");
    assert!(looked_at >= 30 && put_off > 0, "{looked_at} of 40, {put_off} were too many");
    assert_eq!(tries(NEIGHBOUR, &own, "1"), (1, 0), "another user of this machine, at the same address");
    let loopback = Ipv4Addr::LOCALHOST.to_string();
    let (looked_at, put_off) = tries(STRANGER, &loopback, "8");
    assert!(looked_at < 8 && put_off > 0, "one place for all addresses: {looked_at}, {put_off}");
    phone.jars.clear();
    phone.sign_in().await;
    house.stop().well();
}
