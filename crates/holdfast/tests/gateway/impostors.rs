//! Another user listens where a program behind the gateway should, while that is down.

use holdfast_testkit::{IMPOSTURE, STRANGER, Stranger, Taking};
use serde_json::json;

use crate::house::House;
use crate::running::{Looking as _, wait_until};
use crate::services::Visitor;

fn settings(port: u16, user: &str) -> String {
    format!(
        "gateway:\n  services:\n    - {{ name: echo, host: echo.localhost, to: \"127.0.0.1:{port}\", role: viewer{user} }}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_a_programs_port_hears_nothing_of_people_and_is_written_down() {
    let mut stranger = Stranger::at(STRANGER, Taking::Listening, "127.0.0.1:0".parse().unwrap());
    let mut house = House::open(&settings(stranger.address.port(), ""));
    let mut owner = house.owner().await;
    let visitor = Visitor::of(&mut owner, "echo").await;
    for _ in 0..5 {
        let reply = visitor.get("/secret").await.is(502);
        assert!(!reply.text.contains(IMPOSTURE), "{}", reply.text);
        assert_eq!(stranger.heard(), b"", "neither the request nor who asks");
    }
    wait_until("it is written down", || !house.home.bodies("gateway.service.refused").is_empty());
    let body = house.home.bodies("gateway.service.refused").remove(0);
    assert_eq!((&body["service"], &body["uid"]), (&json!("echo"), &json!(STRANGER)));
    house.stop().well();
    assert!(house.home.bodies("gateway.service.refused").len() <= 2, "folded");

    // Its user is named: now it is the program.
    let named = format!(", user: {STRANGER}");
    house.home.configure(&settings(stranger.address.port(), &named));
    house.start();
    let reply = visitor.get("/page").await.is(200);
    assert_eq!(reply.text, IMPOSTURE);
    assert!(String::from_utf8_lossy(&stranger.heard()).contains("x-holdfast-identity"));
    house.stop().well();
}
