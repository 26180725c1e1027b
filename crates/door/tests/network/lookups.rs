//! Whose program is at the other end, asked for by the hundred: the tables of the system are read a few times a second and no more.

use std::time::{Duration, Instant};

use crate::house::Plan;
use crate::origin::Origin;
use crate::raw::{exchange, get, status};

/// From the beginning of one reading to the next; a service that has not accepted yet takes a second one at once.
const PAUSE: Duration = Duration::from_millis(100);
const AT_ONCE: u64 = 2;

const CONNECTIONS: usize = 240;

/// What this process has read from files so far.
fn read_so_far() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// How long the tables are now.
fn length_of_tables() -> u64 {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .map(|path| std::fs::read(path).map_or(0, |it| it.len()) as u64)
        .sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_to_a_service_share_the_readings_of_the_tables() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let (address, before, began) = (house.address, read_so_far(), Instant::now());
    // Each holds its connection to the service, so that each takes a new one.
    let one = || tokio::spawn(async move { exchange(address, get("/later/1500").as_bytes()).await });
    let all: Vec<_> = (0..CONNECTIONS).map(|_| one()).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let length = length_of_tables();
    let (read, took) = (read_so_far() - before - length, began.elapsed());
    for one in all {
        let answer = one.await.unwrap();
        assert_eq!(status(&answer), Some(200), "{answer}");
    }
    assert_eq!(origin.requests(), CONNECTIONS);
    let readings = u64::try_from(took.as_millis() / PAUSE.as_millis()).unwrap() + 2;
    assert!(read <= AT_ONCE * readings * length, "{read} bytes read in {took:?}, of tables of {length}");
    house.stop().await;
}
