//! Every text that somebody else chose, on every page: it stays a text.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{Browser, Reply, call};
use crate::formats::lived_in;
use crate::house::{House, modelled};
use crate::markup::{HOSTILE, MARK, wrong_with};
use crate::running::{LONG, Looking as _, wait_until};

/// All hostile texts in one line, with something before it that makes it another text.
fn hostile(what: &str) -> String {
    format!("{what} {}", HOSTILE.join(" "))
}

/// A short one, for names.
fn name(n: usize) -> String {
    format!("{n}{}", HOSTILE[n % 4].trim_start_matches('\''))
}

/// What a steward wrote in a house where it had something to do.
fn lived_elsewhere() -> Vec<Value> {
    let mut model = lived_in();
    let mut entries = model.home.entries();
    model.stop();
    entries.retain(|entry| entry["room"] == "steward");
    assert!(entries.iter().any(|entry| entry["kind"] == "steward.episode.opened"), "{entries:?}");
    entries
}

/// Whatever reads like a sentence was written by a brain, a gate or a person, and could have been another.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(' ') => *text = format!("{text} {}", HOSTILE.join(" ")),
        Value::Array(items) => items.iter_mut().for_each(spoil),
        Value::Object(fields) => fields.values_mut().for_each(spoil),
        _ => {}
    }
}

/// Puts hostile texts in by every way there is before the daemon runs.
fn written_before(house: &House) -> Vec<String> {
    for entry in lived_elsewhere() {
        let mut body = entry["body"].clone();
        spoil(&mut body);
        house.write(entry["kind"].as_str().unwrap(), &body);
    }
    let ask = |n: usize| house.ask(&format!("{n} {}", HOSTILE[n]), &hostile("seen"), LONG * 100);
    (0..HOSTILE.len()).map(ask).collect()
}

/// By every command that takes a text.
fn written_by_commands(house: &House) -> Vec<Value> {
    let home = &house.home;
    let mut remembered = Vec::new();
    for (n, text) in HOSTILE.iter().enumerate() {
        let fact = format!("The {n}th gateway of staging listens on port {n} and says {text}");
        let args = ["memory", "add", &fact, "--tag", "ports", "--source", text, "--type", "decision"];
        let mut all = vec!["--json"];
        all.extend(args);
        let ran = home.run(&all);
        if ran.code == 0 {
            remembered.push(ran.json());
        }
        let body = json!({ "text": text, *text: text, "deep": [{ *text: [text] }] }).to_string();
        home.run(&["audit", "log", "--actor", "scout", "--kind", "captain.note.added", "--body", &body]).ok();
        home.run(&["notice", "raise", &hostile("told"), "--severity", "critical"]).ok();
        home.run_with(
            &["audit", "log", "--actor", "scout", "--kind", "captain.text.added", "--blob", "-"],
            text.as_bytes(),
        )
        .ok();
    }
    assert!(remembered.len() > 3, "hostile texts are data like others: {remembered:?}");
    home.run(&["pause", "--all", "--reason", &hostile("paused")]).ok();
    remembered
}

/// By what people themselves send.
async fn written_by_people(house: &House, owner: &mut Browser) -> Vec<Browser> {
    let mut people = Vec::new();
    for (n, text) in HOSTILE.iter().enumerate().take(4) {
        let invited =
            owner.post("/auth/people/invite", json!({ "name": name(n), "role": "owner" })).await.is(200);
        let mut person = house.browser();
        person.agent = format!("{n} {text}");
        person.label = name(n);
        person.register(invited.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap()).await;
        people.push(person);
    }
    for n in 0..HOSTILE.len() {
        let wanted = json!({ "name": name(n), "scope": "read", "days": 7 });
        owner.post("/auth/tokens/make", wanted).await.is(200);
    }
    let (_, token) = owner.token("manage").await;
    for text in HOSTILE {
        let told = json!({ "message": text, "severity": "warning" });
        let reply = call(house.port, &token, "POST", "/api/v1/notices", Some(&told)).await;
        assert!(reply.status < 500, "{}", reply.text);
        let paused = json!({ "reason": text });
        call(house.port, &token, "POST", "/api/v1/autonomy/pause", Some(&paused)).await.is(200);
    }
    people
}

#[track_caller]
fn harmless(path: &str, reply: &Reply) -> bool {
    assert!(reply.status < 500, "{path}: {}", reply.text);
    assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
    let kind = reply.header("content-type");
    if kind.starts_with("text/html") {
        let wrong = wrong_with(&reply.text);
        assert_eq!(wrong, "", "{path}");
    } else if !reply.text.is_empty() {
        let plain = ["application/json", "text/plain; charset=utf-8"].contains(&kind);
        assert!(plain, "{path} is {kind}");
    }
    reply.text.contains(MARK)
}

/// Pages that are reached from a page, and belong to us.
fn links(page: &str) -> Vec<String> {
    let hrefs = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let ours = hrefs.filter(|href| href.starts_with('/') && !href.starts_with("/assets/"));
    ours.map(|href| href.split('#').next().unwrap().replace("&amp;", "&")).collect()
}

/// Looks at pages and at all they lead to, some of each sort. Gives which of them had a hostile text.
async fn looked_through(reader: &mut Browser, pages: Vec<String>) -> BTreeMap<String, bool> {
    let (mut ahead, listed): (VecDeque<String>, _) = (pages.iter().cloned().collect(), pages.len());
    let (mut seen, mut sorts): (BTreeMap<String, bool>, BTreeMap<String, usize>) = Default::default();
    let mut n = 0;
    while let Some(path) = ahead.pop_front() {
        n += 1;
        let sort = sorts.entry(path.split(['/', '?']).nth(1).unwrap_or_default().to_owned()).or_default();
        if seen.contains_key(&path) || n > listed && *sort >= SORT_MAX {
            continue;
        }
        *sort += usize::from(n > listed);
        let reply = reader.get(&path).await;
        seen.insert(path.clone(), harmless(&path, &reply));
        if reply.header("content-type").starts_with("text/html") {
            ahead.extend(links(&reply.text));
        }
    }
    seen
}

/// Pages of one sort that are looked at because another leads there: the entries of the journal are many, and alike.
const SORT_MAX: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_text_that_somebody_else_chose_stays_a_text_on_every_page() {
    let mut house = House::planned(&modelled(600));
    let asks = written_before(&house);
    house.start();
    let mut owner = house.owner().await;
    let remembered = written_by_commands(&house);
    let mut people = written_by_people(&house, &mut owner).await;

    // Every page that a page leads to, and what people would type.
    let query: String = url::form_urlencoded::byte_serialize(hostile("gateway").as_bytes()).collect();
    let mut ahead: Vec<String> =
        vec!["/".into(), "/nowhere".into(), format!("/{query}"), format!("/hosts/{query}")];
    for page in [
        "memory?q=",
        "audit?kind=",
        "audit?actor=",
        "audit?room=",
        "memory?q=gateway&agent=",
        "memory?q=gateway&tag=",
        "login?next=/",
    ] {
        ahead.push(format!("/{page}{query}"));
    }
    ahead.push("/memory?q=gateway+staging+port".into());
    ahead.extend(asks.iter().map(|id| format!("/inbox/{id}")));
    ahead.extend(
        remembered.iter().filter_map(|one| one["id"].as_str()).map(|id| format!("/memory/main/{id}")),
    );
    ahead.extend((0..8).map(|n| format!("/audit/{n}")));
    let mut reader = people.remove(0);
    let seen = looked_through(&mut reader, ahead).await;
    let with = |begins: &str| seen.iter().any(|(path, marked)| path.starts_with(begins) && *marked);
    for page in [
        "/inbox/",
        "/inbox",
        "/memory?q=gateway+",
        "/memory/main/",
        "/audit/",
        "/settings/people",
        "/settings/tokens",
        "/episodes/",
        "/hosts/box-1",
        "/settings",
    ] {
        assert!(with(page), "hostile texts are on {page}, or nothing was shown here: {seen:#?}");
    }
    for page in ["/login", "/register", "/recovery"] {
        harmless(page, &house.browser().get(&format!("{page}?next=/{query}")).await);
    }

    // Every answer of the API says what it is.
    let (_, token) = owner.token("manage").await;
    for route in holdfast_api::routes().iter().filter(|route| !route.changes && route.id != "events.follow") {
        let sample = route.sample();
        let body: Option<Value> = serde_json::from_slice(&sample.body).ok();
        let reply = call(house.port, &token, sample.method.as_str(), &sample.target, body.as_ref()).await;
        harmless(&sample.target, &reply);
    }

    // What is pushed to open pages.
    pushed(&house, &mut reader, &asks[0]).await;
}

async fn pushed(house: &House, reader: &mut Browser, ask: &str) {
    let mut streams = Vec::new();
    for page in ["/", "/hosts", "/hosts/box-1", "/inbox", &format!("/inbox/{ask}"), "/audit"] {
        let mut stream = reader.follow(&format!("/live?page={page}")).await.unwrap();
        assert_eq!(stream.next(LONG).await.unwrap().event, "hello", "{page}");
        streams.push((page.to_owned(), stream));
    }
    house.home.run(&["resume", "--all", "--reason", &hostile("resumed")]).ok();
    house.home.run(&["pause", "--all", "--reason", &hostile("again")]).ok();
    let body = json!({ "text": hostile("pushed") }).to_string();
    house
        .home
        .run(&["audit", "log", "--actor", "scout", "--kind", "captain.note.added", "--body", &body])
        .ok();
    house.home.run(&["notice", "raise", &hostile("pushed")]).ok();
    let mut marked = 0;
    for (page, mut stream) in streams {
        let mut pieces = 0;
        while let Some(piece) =
            stream.next(Duration::from_millis(if pieces == 0 { 10_000 } else { 300 })).await
        {
            if piece.event != "fragment" {
                continue;
            }
            let data: Value = serde_json::from_str(&piece.data).unwrap();
            let html = data["html"].as_str().unwrap();
            assert_eq!(wrong_with(html), "", "{page} {}", data["id"]);
            marked += usize::from(html.contains(MARK));
            pieces += 1;
            if pieces > 20 {
                break;
            }
        }
        assert!(pieces > 0, "something is pushed to {page}");
    }
    assert!(marked > 0, "hostile texts were among what was pushed");
    wait_until("the journal holds", || house.home.run(&["audit", "verify"]).code == 0);
}
