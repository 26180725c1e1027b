//! Somebody outside is called while the daemon is alive, and no longer than that.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::home::Home;
use crate::running::{Looking as _, Running, wait_until};

/// Gives the first line of each call, and answers with this status.
fn listens(status: u16) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/S3CR3T", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut first = String::new();
            let _gone = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let _gone =
                write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            if tell.send(first.trim().to_owned()).is_err() {
                return;
            }
        }
    });
    (url, told)
}

const SETTINGS: &str = "notifications:\n  alive: { url: { secret: alive-url }, every_minutes: 1 }\n";

// shows: STW-412
#[test]
fn somebody_is_called_while_it_lives_and_hears_nothing_when_it_is_gone() {
    let home = Home::made("web-1");
    home.configure(SETTINGS);
    let (url, told) = listens(204);
    let daemon = Running::with(&home, |command| command.env("HOLDFAST_SECRET_ALIVE_URL", &url));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)).unwrap(), "GET /S3CR3T HTTP/1.1");
    let log = daemon.log();
    assert!(!log.contains("S3CR3T"), "{log}");
    daemon.killed();
    assert!(told.recv_timeout(Duration::from_secs(2)).is_err(), "nobody is there who could call");
}

#[test]
fn who_cannot_be_reached_or_is_not_known_stops_nothing_and_is_said_without_the_address() {
    let home = Home::made("web-1");
    home.configure(SETTINGS);
    let (url, told) = listens(500);
    let daemon = Running::with(&home, |command| command.env("HOLDFAST_SECRET_ALIVE_URL", &url));
    told.recv_timeout(Duration::from_secs(20)).unwrap();
    wait_until("it says so", || daemon.log().contains("nobody could be told that this daemon is alive"));
    assert!(daemon.log().contains("status 500") && !daemon.log().contains("S3CR3T"), "{}", daemon.log());
    daemon.terminated().well();
    let daemon = Running::on(&home);
    wait_until("it says so", || daemon.log().contains("the secret `alive-url` is not there"));
    daemon.terminated().well();
}
