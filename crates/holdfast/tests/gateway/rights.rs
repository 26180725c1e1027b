//! Who may do what: everybody who could come, with every kind of credential and of passkey, on every route there is. The routes are read from where they are declared, so that a new one
//! is in the table the moment it exists; the table is looked at in review.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use http_body_util::Full;
use serde_json::{Value, json};

use crate::browser::{Browser, Reply, an_address, by_token, send, whole};
use crate::house::{House, modelled};
use crate::running::{Looking as _, wait_until};
use crate::services::Visitor;

/// One thing that can be asked.
#[derive(Clone)]
pub struct Way {
    pub method: String,
    pub target: String,
    /// As the table names it.
    pub shown: String,
    pub kind: Option<&'static str>,
    pub body: Vec<u8>,
}

/// Somebody who asks.
struct Somebody {
    name: &'static str,
    as_who: As,
}

enum As {
    Browser(Box<Browser>),
    /// With the cookie alone, as somebody has it who was sent it on another port.
    CookieAlone(Box<Browser>),
    Token(String),
    /// With something that opens something else, in the place of a session's cookie and of its anti-forgery word.
    InCookie {
        name: String,
        value: String,
    },
}

/// Which passkey comes along where one is taken. Without any, all browsers of this test signed in moments ago, which is no proof.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    /// One that was used for exactly this.
    ForThis,
    /// One that was used for something else.
    ForAnother,
    /// One that was used for exactly this elsewhere: by somebody else, or by the same person in another session.
    FromElsewhere,
    /// The one for this, for the second time.
    Again,
}

/// Where the routes of pages, forms and streams are declared.
const APP: &str = include_str!("../../src/gateway/app.rs");

/// Every route of the app but the API's, with each of its methods.
fn declared() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for line in APP.lines().filter(|line| line.contains(".route(\"")) {
        let (_, rest) = line.split_once(".route(\"").unwrap();
        let (path, handler) = rest.split_once('"').unwrap();
        if path.starts_with("/api/") {
            continue;
        }
        let methods: Vec<&str> = [("get(", "GET"), ("post(", "POST")]
            .iter()
            .filter(|(f, _)| handler.contains(f))
            .map(|(_, m)| *m)
            .collect();
        assert!(!methods.is_empty(), "a route that this test cannot read: {line}");
        all.extend(methods.into_iter().map(|method| (method.to_owned(), path.to_owned())));
    }
    assert!(all.len() > 30, "the routes are found where they are declared: {all:?}");
    all
}

/// Names of things that are there.
pub struct There {
    pub ask: String,
    pub memory: String,
}

/// A declared path with names of things that are there.
fn filled(path: &str, there: &There) -> Vec<String> {
    let id = if path.starts_with("/inbox") { &there.ask } else { &there.memory };
    let names = [
        ("{id}", id.as_str()),
        ("{host}", "box-1"),
        ("{agent}", "main"),
        ("{seq}", "0"),
        ("{service}", "echo"),
        ("{file}", "none.css"),
    ];
    let out = names.iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value));
    match out.split_once("{order}") {
        Some((before, _)) => ORDERS.iter().map(|order| format!("{before}{order}")).collect(),
        None => {
            assert!(!out.contains('{'), "this test has no example for {path}");
            vec![out]
        }
    }
}

const ORDERS: [&str; 6] = ["trigger", "rollback", "accept", "reset", "level?level=observe", "level"];

pub fn pages(there: &There) -> Vec<Way> {
    let mut ways = Vec::new();
    for (method, path) in declared() {
        for target in filled(&path, there) {
            let (at, query) = target.split_once('?').unwrap_or((&target, ""));
            let order = at.rsplit('/').next().unwrap();
            let shown = format!(
                "{}{}",
                path.replace("{order}", order),
                if query.is_empty() { "" } else { " (observe)" }
            );
            // What a level is set to is a field of the form.
            let level = if order == "level" && query.is_empty() { "level=autonomous" } else { query };
            let post = method == "POST";
            let target = if path == "/live" { "/live?page=/".to_owned() } else { at.to_owned() };
            ways.push(Way {
                method: method.clone(),
                target,
                shown,
                kind: post.then_some("application/x-www-form-urlencoded"),
                body: if post { level.as_bytes().to_vec() } else { Vec::new() },
            });
        }
    }
    ways.push(Way {
        method: "GET".into(),
        target: "/nowhere".into(),
        shown: "/nowhere".into(),
        kind: None,
        body: Vec::new(),
    });
    ways
}

/// A field that no call has: whoever may is told so, and nothing is done.
fn accounts() -> Vec<Way> {
    let way = |route: &holdfast_gateway::AuthRoute| Way {
        method: "POST".into(),
        target: route.path.into(),
        shown: route.path.into(),
        kind: Some("application/json"),
        body: json!({ "no_such_field": 1 }).to_string().into_bytes(),
    };
    // Without a link it is the way in for another device of whoever is signed in.
    let device = Way {
        method: "POST".into(),
        target: "/auth/register/start".into(),
        shown: "/auth/register/start (device)".into(),
        kind: Some("application/json"),
        body: json!({ "label": "a phone" }).to_string().into_bytes(),
    };
    holdfast_gateway::ROUTES.iter().map(way).chain([device]).collect()
}

pub fn api() -> Vec<Way> {
    let way = |route: &'static holdfast_api::Route| {
        let sample = route.sample();
        Way {
            method: sample.method.to_string(),
            target: sample.target,
            shown: route.path.into(),
            kind: sample.content_type,
            body: sample.body,
        }
    };
    holdfast_api::routes().iter().map(way).collect()
}

impl Somebody {
    fn browser(name: &'static str, browser: &Browser) -> Somebody {
        Somebody { name, as_who: As::Browser(Box::new(browser.clone())) }
    }

    fn cookie_alone(name: &'static str, browser: &Browser) -> Somebody {
        Somebody { name, as_who: As::CookieAlone(Box::new(browser.clone())) }
    }

    fn token(name: &'static str, token: &str) -> Somebody {
        Somebody { name, as_who: As::Token(token.to_owned()) }
    }

    fn in_cookie(name: &'static str, cookie: &str, value: &str) -> Somebody {
        Somebody { name, as_who: As::InCookie { name: cookie.to_owned(), value: value.to_owned() } }
    }

    async fn tries(&self, port: u16, way: &Way, from: Ipv4Addr, proof: Option<&str>) -> Reply {
        let mut request = match &self.as_who {
            As::CookieAlone(browser) => browser.request(&way.method, &way.target),
            As::Token(token) => by_token(port, token, &way.method, &way.target),
            As::InCookie { name, value } => {
                let mut browser = Browser::new(port);
                browser.jar.insert(name.clone(), value.clone());
                browser.request(&way.method, &way.target).header("x-holdfast-csrf", value)
            }
            As::Browser(browser) => {
                let word = browser.clone().word().await;
                let request = browser.request(&way.method, &way.target);
                match word.filter(|_| way.method != "GET") {
                    Some(word) => request.header("x-holdfast-csrf", word),
                    None => request,
                }
            }
        };
        if let Some(proof) = proof {
            request = request.header("x-holdfast-proof", proof);
        }
        if let Some(kind) = way.kind {
            request = request.header("content-type", kind);
        }
        let request = request.body(Full::from(way.body.clone())).unwrap();
        let answer = send(from, port, request).await.unwrap();
        if answer.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream") {
            let (parts, _) = answer.into_parts();
            return Reply {
                status: parts.status.as_u16(),
                headers: parts.headers,
                text: String::new(),
                json: Value::Null,
            };
        }
        whole(answer).await.unwrap()
    }
}

impl Way {
    /// The fields of it, as they are bound to a passkey.
    pub fn fields(&self) -> Value {
        match self.kind {
            Some("application/x-www-form-urlencoded") => url::form_urlencoded::parse(&self.body)
                .map(|(name, value)| (name.into_owned(), json!(value)))
                .collect(),
            _ => serde_json::from_slice(&self.body).unwrap_or_else(|_| json!({})),
        }
    }
}

/// How it went, in a word: that it was refused and how, or that it was not.
fn word(reply: &Reply) -> &'static str {
    let by_guard = reply.code().starts_with("HF-GTW-") || reply.text.contains("HF-GTW-");
    match reply.status {
        401 => "401",
        // It takes a passkey that was used for this.
        403 if reply.code() == "HF-GTW-008" || reply.text.contains("HF-GTW-008") => "passkey",
        403 if by_guard => "403",
        303 if reply.location().starts_with("/login") => "login",
        429 => "429",
        500.. => "broken",
        _ => "may",
    }
}

/// Rows are routes, columns are people.
fn table(columns: &[(&'static str, Vec<&'static str>)], ways: &[Way]) -> String {
    let mut out = format!("{:6} {:42}", "", "");
    for (name, _) in columns {
        out += &format!(" {name:>10}");
    }
    for (n, way) in ways.iter().enumerate() {
        out += &format!("\n{:6} {:42}", way.method, way.shown);
        for (_, words) in columns {
            out += &format!(" {:>10}", words[n]);
        }
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Every way, tried by one; each from an address of its own, so that no limit speaks in place of a right.
async fn tried(house: &House, who: &Somebody, ways: &[Way]) -> Vec<&'static str> {
    let mut words = Vec::new();
    for way in ways {
        words.push(one_try(house, who, way, None).await);
    }
    words
}

/// The same, and what is refused again with a passkey that is used in this browser, also where it is a role that is refused.
async fn tried_with(
    house: &House,
    who: &Somebody,
    ways: &[Way],
    with: With,
    prover: &Browser,
) -> Vec<&'static str> {
    let mut words = tried(house, who, ways).await;
    for (way, word) in ways.iter().zip(&mut words) {
        if !["passkey", "403"].contains(word) {
            continue;
        }
        let proof = proof_of(&mut prover.clone(), way, with).await;
        if with == With::Again {
            assert_ne!(one_try(house, who, way, proof.as_deref()).await, "passkey", "{}", way.shown);
        }
        *word = one_try(house, who, way, proof.as_deref()).await;
    }
    words
}

/// Somebody who is signed in, and only asks for much, waits for their turn.
async fn one_try(house: &House, who: &Somebody, way: &Way, proof: Option<&str>) -> &'static str {
    loop {
        let reply = who.tries(house.port, way, an_address(), proof).await;
        match (&who.as_who, word(&reply)) {
            // All of this machine is one place, so a token that is no good has to wait sooner or later: a refusal too.
            (As::Token(_), "429") => return "401",
            (_, "429") if who.name != "nobody" => pause(&reply).await,
            (_, word) => return word,
        }
    }
}

async fn pause(reply: &Reply) {
    let secs = reply.header("retry-after").parse().unwrap();
    tokio::time::sleep(Duration::from_secs(secs)).await;
}

/// What a passkey says of it, where it can be asked at all.
async fn proof_of(browser: &mut Browser, way: &Way, with: With) -> Option<String> {
    let (method, to, fields) = match with {
        With::ForThis | With::Again | With::FromElsewhere => {
            (way.method.as_str(), way.target.as_str(), way.fields())
        }
        // Something that everybody may ask a passkey for.
        With::ForAnother if way.target == "/auth/codes/renew" => ("POST", "/auth/devices/link", json!({})),
        With::ForAnother => ("POST", "/auth/codes/renew", json!({})),
    };
    loop {
        match browser.proof(method, to, fields.clone()).await {
            Ok(proof) => return Some(proof),
            Err(reply) if reply.status == 429 => pause(&reply).await,
            Err(_) => return None,
        }
    }
}

/// The same person in another browser, signed in.
async fn again(house: &House, person: &Browser) -> Browser {
    let mut browser = Browser { device: person.device.clone(), ..house.browser() };
    browser.sign_in(None).await.is(200);
    browser
}

/// What somebody is handed to enter a service with.
async fn ticket_of(person: &mut Browser) -> String {
    let (_, target) = Visitor::with_ticket(person, "echo").await;
    target.split_once("ticket=").unwrap().1.split('&').next().unwrap().to_owned()
}

/// A session and a token that ended by themselves: their time is over while nobody runs.
fn expire(house: &House, cookie_of: &Browser, token: &str) {
    let database = rusqlite::Connection::open(house.home.path().join("state/gateway.db")).unwrap();
    let agent = &cookie_of.agent;
    let changed =
        database.execute("UPDATE sessions SET expires = seen - 1 WHERE agent = ?1", [agent]).unwrap();
    assert_eq!(changed, 1);
    let changed = database.execute("UPDATE tokens SET expires = created + 1 WHERE id = ?1", [token]).unwrap();
    assert_eq!(changed, 1);
}

/// For so long a passkey's answer is good, and how many of them a session has at once.
const PROOF_LIFE: Duration = Duration::from_secs(300);
const PROOFS_AT_ONCE: usize = 8;

/// Passkeys that are used now, each for its act, to be sent when their time is over.
struct Late {
    since: Instant,
    /// By way: the session it belongs to, and the proof.
    proofs: HashMap<usize, (Somebody, String)>,
}

impl Late {
    /// For the ways that take one, by sessions of one person.
    async fn new(house: &House, person: &Browser, ways: &[Way], words: &[&'static str]) -> Late {
        let taking: Vec<usize> = (0..ways.len()).filter(|n| words[*n] == "passkey").collect();
        let mut proofs = HashMap::new();
        for some in taking.chunks(PROOFS_AT_ONCE) {
            let mut session = again(house, person).await;
            for n in some {
                let proof = proof_of(&mut session, &ways[*n], With::ForThis).await.unwrap();
                proofs.insert(*n, (Somebody::browser("late", &session), proof));
            }
        }
        Late { since: Instant::now(), proofs }
    }

    async fn tried(self, house: &House, ways: &[Way], words: &[&'static str]) -> Vec<&'static str> {
        let left = (PROOF_LIFE + Duration::from_secs(5)).saturating_sub(self.since.elapsed());
        tokio::time::sleep(left).await;
        let mut late = words.to_vec();
        for (n, (session, proof)) in &self.proofs {
            late[*n] = one_try(house, session, &ways[*n], Some(proof)).await;
        }
        late
    }
}

// shows: GTW-049, GTW-055, GTW-056, GTW-F08, GTW-F12, GTW-F13, GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_may_do_what_their_role_says_on_every_route_and_nothing_more() {
    let service = "gateway:\n  services:\n    - { name: echo, host: echo.localhost, to: 127.0.0.1:9, role: operator }\n";
    let mut house = House::planned(&format!("{}{service}", modelled(600)));
    let ask = house.ask("Raise swap on web-1.", "none", crate::running::LONG * 100);
    house.start();
    let remembered = house.home.json(&["memory", "add", "The gateway of staging listens on port 9096."]);
    let mut owner = house.owner().await;
    let mut operator = house.invited(&mut owner, "Olga", "operator").await;
    let mut viewer = house.invited(&mut owner, "Vera", "viewer").await;
    let mut gone = house.invited(&mut owner, "Gus", "owner").await;
    let mut expired = house.browser();
    expired.device = gone.device.clone();
    expired.agent = "Expires 1.0".to_owned();
    expired.sign_in(None).await.is(200);
    expired.word().await.unwrap();
    let (reads, acts, manages) =
        (owner.token("read").await.1, owner.token("act").await.1, owner.token("manage").await.1);
    let (operator_reads, operator_acts) = (operator.token("read").await.1, operator.token("act").await.1);
    let viewer_reads = viewer.token("read").await.1;
    for (person, scope) in [(&mut viewer, "act"), (&mut operator, "manage")] {
        let wanted = json!({ "name": "more", "scope": scope, "days": 7 });
        person.post("/auth/tokens/make", wanted).await.is(403);
    }
    let (id, revoked) = owner.token("manage").await;
    owner.post("/auth/tokens/revoke", json!({ "id": id })).await.is(200);
    let (expires, expired_token) = owner.token("manage").await;
    gone.word().await.unwrap();
    let left = gone.clone();
    gone.post("/auth/logout", json!({})).await.is(303);
    house.stop().well();
    expire(&house, &expired, &expires);
    house.start();

    let there = There { ask, memory: remembered["id"].as_str().unwrap().to_owned() };
    let ways: Vec<Way> = [accounts(), pages(&there), api()].concat();
    for person in [&mut owner, &mut operator, &mut viewer] {
        person.word().await.unwrap();
    }

    // An owner without any passkey tells which ways take one.
    let bare_owner = tried(&house, &Somebody::browser("owner", &owner), &ways).await;
    let late = Late::new(&house, &owner, &ways, &bare_owner).await;

    let link = owner.post("/auth/devices/link", json!({})).await.is(200).json["link"].clone();
    let link = link.as_str().unwrap().strip_prefix("/register#").unwrap().to_owned();
    let codes = owner.post("/auth/codes/renew", json!({})).await.is(200).json["codes"].clone();
    let code = codes[0].as_str().unwrap().to_owned();
    let (cookie, owners_cookie) = (owner.session_name().unwrap(), owner.cookie().unwrap().clone());
    let ticket = ticket_of(&mut owner).await;
    let (_, mark) = owner.jar.iter().find(|(name, _)| name.ends_with("-known")).unwrap();
    let mark = mark.clone();

    // Those who may change nothing.
    let harmless = [
        Somebody::browser("nobody", &house.browser()),
        Somebody::browser("left", &left),
        Somebody::browser("expired", &expired),
        Somebody::token("revoked", &revoked),
        Somebody::token("exp:token", &expired_token),
        Somebody::browser("viewer", &viewer),
        Somebody::cookie_alone("v:cookie", &viewer),
        Somebody::cookie_alone("op:cookie", &operator),
        Somebody::cookie_alone("ow:cookie", &owner),
        Somebody::token("v:read", &viewer_reads),
        Somebody::token("op:read", &operator_reads),
        Somebody::token("ow:read", &reads),
        // What opens something else opens nothing here, wherever it is put.
        Somebody::in_cookie("link:cook", &cookie, &link),
        Somebody::token("link:token", &link),
        Somebody::in_cookie("code:cook", &cookie, &code),
        Somebody::token("code:token", &code),
        Somebody::in_cookie("tick:cook", &cookie, &ticket),
        Somebody::token("tick:token", &ticket),
        Somebody::in_cookie("mark:cook", &cookie, &mark),
        Somebody::in_cookie("tok:cook", &cookie, &manages),
        Somebody::token("cook:token", &owners_cookie),
    ];
    let before = house.home.entries().len();
    let mut columns = Vec::new();
    for who in &harmless {
        columns.push((who.name, tried(&house, who, &ways).await));
    }
    wait_until("refusals are written down", || {
        let refused = house.home.bodies("gateway.request.refused");
        let by_role = refused.iter().filter(|body| body["why"] == "role");
        by_role.map(|body| body["times"].as_u64().unwrap_or(1)).sum::<u64>() > 50
    });
    let since: Vec<Value> = house.home.entries().into_iter().skip(before).collect();
    let theirs: Vec<&Value> =
        since.iter().filter(|entry| entry["actor"].as_str().unwrap().starts_with("web:")).collect();
    assert!(theirs.is_empty(), "somebody who may only look changed something: {theirs:#?}");
    let counted = since.iter().filter(|entry| {
        let kind = entry["kind"].as_str().unwrap();
        kind.starts_with("gateway.") && kind != "gateway.request.refused"
    });
    let counted: Vec<&Value> = counted.collect();
    assert!(counted.is_empty(), "{counted:#?}");

    // Those who may more.
    let others = [
        Somebody::browser("operator", &operator),
        Somebody::token("op:act", &operator_acts),
        Somebody::token("ow:act", &acts),
        Somebody::token("ow:manage", &manages),
    ];
    for who in &others {
        columns.push((who.name, tried(&house, who, &ways).await));
    }
    columns.push(("owner", bare_owner.clone()));
    // With a passkey: for something else, for this but used already, for this but in another session or by another owner, for this, and for
    // this but long ago. And one that is right, beside what is no session: a token, or a cookie without the word.
    let another = again(&house, &gone).await;
    let (elsewhere, beside) = (again(&house, &owner).await, again(&house, &owner).await);
    let alone = again(&house, &owner).await;
    for (who, with, prover) in [
        (Somebody::browser("v+this", &viewer), With::ForThis, &viewer),
        (Somebody::browser("op+other", &operator), With::ForAnother, &operator),
        (Somebody::browser("op+again", &operator), With::Again, &operator),
        (Somebody::browser("op+this", &operator), With::ForThis, &operator),
        (Somebody::browser("op+owner's", &again(&house, &operator).await), With::FromElsewhere, &another),
        (Somebody::browser("ow+other", &owner), With::ForAnother, &owner),
        (Somebody::browser("ow+again", &owner), With::Again, &owner),
        (Somebody::browser("ow+theirs", &owner), With::FromElsewhere, &another),
        (Somebody::browser("ow+session", &owner), With::FromElsewhere, &elsewhere),
        (Somebody::token("token+this", &manages), With::ForThis, &beside),
        (Somebody::cookie_alone("cook+this", &alone), With::ForThis, &alone),
        (Somebody::browser("ow+this", &owner), With::ForThis, &owner),
    ] {
        columns.push((who.name, tried_with(&house, &who, &ways, with, prover).await));
    }
    columns.push(("ow+late", late.tried(&house, &ways, &bare_owner).await));
    insta::assert_snapshot!("rights", table(&columns, &ways));
    let by = |name: &str| columns.iter().find(|(who, _)| *who == name).unwrap().1.clone();
    for (way, (op, ow)) in ways.iter().zip(by("operator").into_iter().zip(by("owner"))) {
        assert!(
            op != "may" || ow == "may",
            "an owner may what an operator may: {} {}",
            way.method,
            way.shown
        );
    }
    assert!(by("ow+this").iter().all(|word| ["may", "login"].contains(word)), "an owner may everything");
    holds(&ways, &by);
}

/// What the table shows, whatever routes there are.
fn holds(ways: &[Way], by: &dyn Fn(&str) -> Vec<&'static str>) {
    let owner = by("owner");
    let takes_passkey: Vec<bool> = owner.iter().map(|word| *word == "passkey").collect();
    assert!(takes_passkey.iter().filter(|takes| **takes).count() >= 18, "the table has those that take one");
    for (n, way) in ways.iter().enumerate() {
        let told = |name: &str| format!("{} {} for {name}: {}", way.method, way.shown, by(name)[n]);
        if takes_passkey[n] {
            for token in
                ["ow:manage", "ow:act", "ow:read", "op:act", "op:read", "v:read", "revoked", "exp:token"]
            {
                assert_ne!(by(token)[n], "may", "no token gets what takes a passkey: {}", told(token));
            }
            for wrong in [
                "ow+other",
                "ow+again",
                "ow+theirs",
                "ow+session",
                "ow+late",
                "op+other",
                "op+again",
                "op+owner's",
                "token+this",
                "cook+this",
            ] {
                assert_ne!(
                    by(wrong)[n],
                    "may",
                    "another's, a used, a late or a borrowed one is none: {}",
                    told(wrong)
                );
            }
        }
        let public = way.method == "GET" && PUBLIC_PAGES.contains(&way.shown.as_str())
            || PUBLIC_CALLS.contains(&way.shown.as_str());
        for outside in [
            "nobody",
            "left",
            "expired",
            "revoked",
            "exp:token",
            "link:cook",
            "link:token",
            "code:cook",
            "code:token",
            "tick:cook",
            "tick:token",
            "mark:cook",
            "tok:cook",
            "cook:token",
        ] {
            assert!(public || by(outside)[n] != "may", "only what is declared public is: {}", told(outside));
        }
        // The cookie alone reads what its person reads, and changes nothing.
        let harmless = way.method == "GET" || PUBLIC_CALLS.contains(&way.shown.as_str());
        for cookie in ["v:cookie", "op:cookie", "ow:cookie"] {
            assert!(harmless || by(cookie)[n] != "may", "a cookie changes nothing: {}", told(cookie));
        }
    }
}

/// What anybody may look at.
const PUBLIC_PAGES: [&str; 6] =
    ["/login", "/register", "/recovery", "/authority", "/authority/{file}", "/assets/{file}"];

/// What anybody may try: what they bring along decides.
const PUBLIC_CALLS: [&str; 6] = [
    "/auth/register/start",
    "/auth/register/finish",
    "/auth/login/start",
    "/auth/login/finish",
    "/auth/recover",
    "/auth/logout",
];
