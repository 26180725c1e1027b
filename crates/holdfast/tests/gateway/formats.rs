//! The API as its document says it: every answer is what it promises, tried by us and by somebody else's program that reads the document.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use holdfast_steward::ladder::Level;
use serde_json::Value;

use crate::browser::{call, call_with};
use crate::house::{House, modelled};
use crate::running::wait_until;
use crate::soak;

/// A home in which there is one of everything that can be asked for.
pub fn lived_in() -> House {
    let mut house = House::planned(&modelled(600));
    house.trusted(Level::ApproveEach, "for a test");
    house.ask("Raise swap on web-1.", "Memory pressure rose.", crate::running::LONG * 100);
    house.start();
    for n in 1..4 {
        let fact = format!("The gateway of staging number {n} listens on port 909{n}.");
        house.home.run(&["memory", "add", &fact, "--tag", "ports"]).ok();
    }
    house.home.log_many(3);
    house.home.run(&["notice", "raise", "A look at it."]).ok();
    house.home.run(&["audit", "checkpoint", "--new"]).ok();
    wait_until("it is asked", || house.home.run(&["steward", "trigger"]).code == 0);
    wait_until("there is an episode", || {
        let episodes = house.home.json(&["steward", "episodes"]);
        episodes["episodes"].as_array().is_some_and(|all| !all.is_empty())
    });
    house
}

/// A schema of the document with everything it refers to.
fn schema(document: &Value, answer: &Value) -> jsonschema::Validator {
    let mut whole = answer.clone();
    whole["components"] = document["components"].clone();
    jsonschema::validator_for(&whole).unwrap()
}

/// The address of something that is there, from one that only might be.
fn there(house: &House, id: &str, target: &str) -> String {
    let first = |value: Value, list: &str, field: &str| value[list][0][field].as_str().unwrap().to_owned();
    let (path, query) =
        target.split_once('?').map_or((target, String::new()), |(path, query)| (path, format!("?{query}")));
    let parts: Vec<&str> = path.split('/').collect();
    let named = match id.split('.').next().unwrap() {
        "hosts" if parts.len() > 4 => "box-1".to_owned(),
        "history" => return target.replace("web-1", "box-1"),
        "episodes" if parts.len() > 4 => {
            first(house.home.json(&["steward", "episodes"]), "episodes", "episode")
        }
        "approvals" if id == "approvals.show" => first(house.home.json(&["approvals"]), "approvals", "id"),
        "audit" if ["audit.show", "audit.proof"].contains(&id) => "2".to_owned(),
        _ => return target.to_owned(),
    };
    let at = if path.starts_with("/api/v1/audit") { 5 } else { 4 };
    let parts: Vec<&str> =
        parts.iter().enumerate().map(|(n, part)| if n == at { named.as_str() } else { *part }).collect();
    let query = if ["audit.proof", "hosts.metrics"].contains(&id) {
        String::new()
    } else {
        query.replace("web-1", "box-1")
    };
    parts.join("/") + &query
}

// shows: GTW-056
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_served_as_it_is_made_and_every_answer_is_as_it_says() {
    let house = lived_in();
    let mut owner = house.owner().await;
    let (_, token) = owner.token("manage").await;
    let document = call(house.port, &token, "GET", "/api/v1/openapi.json", None).await.is(200).json;
    assert_eq!(document, holdfast_api::openapi(&house.origin(), env!("CARGO_PKG_VERSION")));
    let mut answered = Vec::new();
    for route in holdfast_api::routes().iter().filter(|route| !route.changes && route.id != "events.follow") {
        let sample = route.sample();
        let target = there(&house, route.id, &sample.target);
        let asked = (sample.method.as_str(), target.as_str());
        let reply = call_with(house.port, &token, asked, sample.content_type, sample.body.clone()).await;
        let method = sample.method.as_str().to_lowercase();
        let told = &document["paths"][route.path][&method]["responses"];
        let answers = &told[reply.status.to_string()];
        assert!(
            answers.is_object(),
            "{} {target}: {} is not in the document: {}",
            route.id,
            reply.status,
            reply.text
        );
        let kind = reply.header("content-type").to_owned();
        let answer = match answers.get("$ref").and_then(Value::as_str) {
            Some(at) => document.pointer(at.strip_prefix('#').unwrap()).unwrap(),
            None => answers,
        };
        let content = &answer["content"][kind.split(';').next().unwrap()];
        assert!(content.is_object(), "{} {target}: {kind} is not in the document: {answer}", route.id);
        if kind.starts_with("application/json") {
            let validator = schema(&document, &content["schema"]);
            let wrong: Vec<String> =
                validator.iter_errors(&reply.json).map(|e| format!("{e} at {}", e.instance_path())).collect();
            assert!(wrong.is_empty(), "{} {target}: {wrong:?}\n{}", route.id, reply.text);
        }
        if reply.status == 200 {
            answered.push(route.id);
        }
    }
    for id in [
        "status.show",
        "hosts.show",
        "hosts.metrics",
        "episodes.show",
        "approvals.show",
        "memory.search",
        "audit.list",
        "audit.show",
        "audit.proof",
    ] {
        assert!(answered.contains(&id), "{id} was answered: {answered:?}");
    }
    // A page of the log leads to the next, and all of them are the log.
    let (mut from, mut seen) = (String::new(), Vec::new());
    loop {
        let target = format!("/api/v1/audit/entries?order=oldest&limit=3{from}");
        let page = call(house.port, &token, "GET", &target, None).await.is(200).json;
        seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["seq"].as_u64().unwrap()));
        match page["next"].as_u64() {
            Some(next) if seen.len() < 60 => from = format!("&from={next}"),
            _ => break,
        }
    }
    let wanted: Vec<u64> = (0..seen.len() as u64).collect();
    assert_eq!(seen, wanted, "each entry once");
}

// shows: GTW-056
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_reads_the_document_finds_nothing_that_breaks_or_differs() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/schemathesis.sh");
    let house = lived_in();
    let mut owner = house.owner().await;
    let (_, token) = owner.token("manage").await;
    let (examples, longest) =
        if soak() { (200, Duration::from_secs(1_800)) } else { (0, Duration::from_secs(120)) };
    let report = house.home.beside("schemathesis.txt");
    let log = std::fs::File::create(&report).unwrap();
    let mut child = Command::new(&scripts)
        .args(["run", &house.origin(), &examples.to_string()])
        .env("HOLDFAST_TOKEN", &token)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("scripts/schemathesis.sh runs");
    let deadline = std::time::Instant::now() + longest;
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None if std::time::Instant::now() > deadline => {
                child.kill().unwrap();
                panic!("it never ended: {}", std::fs::read_to_string(&report).unwrap());
            }
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let told = std::fs::read_to_string(&report).unwrap();
    assert!(ended.success(), "{told}");
    owner.get("/").await.is(200);
}
