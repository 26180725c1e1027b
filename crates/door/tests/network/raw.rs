//! A client that sends exactly the bytes it is given.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::house::{APP, SOON};

/// Sends bytes and gives back everything that comes until the door closes the connection.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A door that has heard enough may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    read_to_end(&mut stream).await
}

pub(crate) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(SOON, reading).await.expect("the door closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request to the service that is let in and closes afterwards.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nConnection: close\r\n\r\n")
}

/// The status of the first answer in a text.
pub(crate) fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

/// What stands behind the head of the first answer.
pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}
