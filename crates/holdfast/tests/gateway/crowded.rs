//! More connections than a process may have files, from this machine: everything else goes on.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::house::House;
use crate::running::{Looking as _, Running, wait_until};

/// What the daemon may have open: the system's usual bound, as a hard one. It begins with a quarter of it.
const ALLOWED: u64 = 1_024;

/// This process has one end of all of them.
fn allow_enough(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).unwrap();
    }
}

/// So many connections, each with these bytes and no more.
fn flood(port: u16, many: usize, bytes: &[u8]) -> Vec<TcpStream> {
    (0..many)
        .map(|_| {
            let mut stream = TcpStream::connect_timeout(
                &SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                Duration::from_secs(20),
            )
            .unwrap();
            let _ = stream.write_all(bytes);
            stream
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_by_the_thousand_stop_neither_journal_nor_backup_nor_health_nor_people() {
    allow_enough(4 * ALLOWED);
    let mut house = House::planned("");
    let limits = format!("--nofile={}:{ALLOWED}", ALLOWED / 4);
    house.daemon = Some(Running::start(house.up(&["prlimit", &limits])));
    let mut owner = house.owner().await;
    let health = house.daemon.as_ref().unwrap().health;
    let half_body =
        format!("POST /auth/x HTTP/1.1\r\nHost: localhost:{}\r\nContent-Length: 9\r\n\r\n1", house.port);
    for bytes in ["", "GET / HTTP/1.1\r\nHost: local", half_body.as_str()] {
        let held = flood(house.port, 1_200, bytes.as_bytes());
        // And those who keep a monitor away.
        let silent: Vec<_> = (0..64).map(|_| TcpStream::connect(health).unwrap()).collect();
        owner.get("/settings").await.is(200);
        let daemon = house.daemon.as_ref().unwrap();
        assert_eq!(daemon.health().0, 200, "the health page");
        assert_eq!(daemon.get("/metrics").0, 200, "the figures");
        house.home.log("{\"n\":1}").ok();
        house.home.run(&["backup"]).ok();
        owner.get("/audit").await.is(200);
        house.home.run(&["pause", "--all"]).ok();
        house.home.run(&["resume", "--all"]).ok();
        let open = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
        assert!(open < usize::try_from(ALLOWED).unwrap() * 3 / 4, "{open} files are open");
        assert!(!daemon.log().contains("Too many open files"), "{}", daemon.log());
        drop((held, silent));
    }
    wait_until("what was let go is written down", || {
        let told = house.home.bodies("gateway.request.refused");
        told.iter().any(|body| body["too_many"].as_u64() > Some(100))
    });
    house.stop().well();
}
