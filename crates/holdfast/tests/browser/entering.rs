//! A program behind the door, as a browser comes to it: by an address, by the gateway, with and without signing in on the way.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use crate::chrome::Browser;
use crate::house::House;
use crate::person::{owner, sign_out};
use crate::steps::Steps;

/// A program that shows which cookies it was sent, and where it was asked.
fn program() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let sent = lines.iter().find(|line| line.to_lowercase().starts_with("cookie:"));
            let page = format!("<h1>Here</h1><p>{}</p>", sent.map_or("no cookie", String::as_str));
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", page.len());
            let _ = write!(stream, "{head}\r\nConnection: close\r\n\r\n{page}");
        }
    });
    port
}

async fn is_there(browser: &Browser, at: &str) {
    browser.until("the program answers", "document.querySelector('h1')?.innerText === 'Here'").await;
    assert_eq!(browser.at().await, at);
    assert_eq!(browser.text("p").await, "no cookie", "nothing of ours is sent to it");
}

// shows: GTW-F01, GTW-F03
#[tokio::test]
async fn a_program_behind_the_door_is_entered_by_its_address_by_the_gateway_and_by_signing_in_on_the_way() {
    let (house, mut steps) = (House::with_program(program()), Steps::default());
    let (browser, _) = owner(&house).await;
    let there = house.origin.replace("//localhost", "//page.localhost");

    steps.begin("by its address");
    browser.open(&format!("{there}/deep?x=1")).await;
    is_there(&browser, "/deep?x=1").await;
    let seen = browser.js("return document.cookie").await;
    assert_eq!(seen, "", "its scripts see none of our cookies");

    steps.begin("by the gateway");
    browser.open("/open/page?to=/other").await;
    is_there(&browser, "/other").await;

    steps.begin("by signing in on the way");
    browser.open("/").await;
    sign_out(&browser).await;
    browser.open(&format!("{there}/deep?x=2")).await;
    browser.arrives("/login").await;
    browser.press("Sign in with a passkey").await;
    is_there(&browser, "/deep?x=2").await;
}
