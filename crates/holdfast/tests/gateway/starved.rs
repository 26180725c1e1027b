//! What everything does when the house is starved: every route, read from the tables that the code itself uses, and every command, read from the
//! manual that the program prints of itself, in every state of `states.rs`. The table is looked at in review
//! (`snapshots/gateway__starved__starved.snap`); what must hold in any state is asserted. `halted.rs` has more about pausing.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use http_body_util::Full;
use serde_json::{Value, json};

use crate::browser::{Browser, Reply, an_address, send, whole};
use crate::home::{Ran, bare_command, run};
use crate::rights::{self, Way};
use crate::scene::Template;
use crate::states::{Scene, State, Tail};
use crate::table::TABLE;

const STATES: [State; 9] = [
    State::Calm,
    State::LogFull,
    State::ReserveFull,
    State::DiskFull,
    State::InodesFull,
    State::NoDescriptors,
    State::NoThreads,
    State::JournalReadOnly,
    State::HomeReadOnly,
];

/// Columns that are made at the same time: each is a daemon and a program that mostly waits for it.
const AT_ONCE: usize = 3;

/// Rows of commands that are not run, and why.
const NOT_RUN: [(&str, &str); 2] = [
    ("demo", "not run: it makes a home of its own elsewhere, and this one is none of its business"),
    (
        "uninstall --yes",
        "not run: it removes the home; with a daemon it is refused (`matrix.rs`, with_a_daemon), and nothing of it goes through the log",
    ),
];

/// What is answered to a route or a command, and what was recorded of it.
type Column = Vec<(String, String)>;

impl Scene {
    /// What is sent to a route of `/auth/`, so that it does something.
    pub async fn act(&mut self, path: &str) -> Reply {
        self.owner.from = an_address();
        self.second.from = an_address();
        let (mut owner, origin) = (self.owner.clone(), self.owner.origin());
        let body = match path {
            "/auth/register/start" => json!({ "label": "a tablet" }),
            "/auth/register/finish" => {
                let begun = owner.post("/auth/register/start", json!({ "label": "a tablet" })).await;
                if begun.status != 200 {
                    return begun;
                }
                let credential =
                    holdfast_testkit::authenticator::Key::new().create(&origin, &begun.json["publicKey"]);
                json!({ "ceremony": begun.json["ceremony"], "credential": credential })
            }
            "/auth/login/start" | "/auth/devices/link" | "/auth/codes/renew" | "/auth/news/known" => {
                json!({})
            }
            "/auth/login/finish" => {
                let mut anew = Browser { device: owner.device.clone(), ..self.house.browser() };
                let begun = anew.post("/auth/login/start", json!({})).await;
                if begun.status != 200 {
                    return begun;
                }
                let credential = anew.device.get(&origin, &begun.json["publicKey"]);
                let last =
                    json!({ "ceremony": begun.json["ceremony"], "credential": credential, "next": null });
                return anew.post(path, last).await;
            }
            "/auth/recover" => {
                let code = self.codes.pop().unwrap();
                return self.house.browser().post(path, json!({ "code": code })).await;
            }
            "/auth/logout" => return self.second.post(path, json!({})).await,
            "/auth/confirm/start" => json!({ "what": format!("approve:{}", self.there.ask) }),
            "/auth/confirm/finish" => {
                match owner.begin_confirming(&format!("reject:{}", self.there.ask)).await {
                    Ok(body) => body,
                    Err(refused) => return *refused,
                }
            }
            "/auth/devices/rename" => json!({ "id": self.device, "label": "other" }),
            "/auth/devices/remove" => json!({ "id": self.device }),
            "/auth/sessions/end" => json!({ "id": "others" }),
            "/auth/links/revoke" => json!({ "id": self.link }),
            "/auth/people/invite" => json!({ "name": "Eve", "role": "owner" }),
            "/auth/people/role" => json!({ "id": self.guest, "role": "operator" }),
            "/auth/people/remove" => json!({ "id": self.guest }),
            "/auth/tokens/make" => json!({ "name": "t", "scope": "manage", "days": 366 }),
            "/auth/tokens/revoke" => json!({ "id": self.token }),
            other => panic!("this test does not know what to send to {other}"),
        };
        self.owner.post(path, body).await
    }

    async fn goes(&mut self, way: &Way) -> Reply {
        if way.target.starts_with("/auth/") {
            return self.act(&way.target).await;
        }
        let reply = self.sends(way, None).await;
        if reply.code() != "HF-GTW-008" && !reply.text.contains("HF-GTW-008") {
            return reply;
        }
        self.owner.from = an_address();
        match self.owner.proof(&way.method, &way.target, way.fields()).await {
            Ok(proof) => self.sends(way, Some(&proof)).await,
            Err(refused) => *refused,
        }
    }

    async fn sends(&self, way: &Way, proof: Option<&str>) -> Reply {
        let word = self.owner.word.clone().unwrap();
        let mut request = self.owner.request(&way.method, &way.target);
        if way.method != "GET" {
            request = request.header("x-holdfast-csrf", word);
        }
        if let Some(proof) = proof {
            request = request.header("x-holdfast-proof", proof);
        }
        if let Some(kind) = way.kind {
            request = request.header("content-type", kind);
        }
        let request = request.body(Full::from(way.body.clone())).unwrap();
        let answer = send(an_address(), self.house.port, request).await.unwrap();
        if answer.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream") {
            let (parts, _goes_on) = answer.into_parts();
            let status = parts.status.as_u16();
            return Reply { status, headers: parts.headers, text: String::new(), json: Value::Null };
        }
        whole(answer).await.unwrap()
    }

    /// Every route, in an order in which each finds what it needs: first what only looks, and last what removes.
    fn ways(&self) -> Vec<Way> {
        let accounts = holdfast_gateway::ROUTES.iter().map(|route| Way {
            method: "POST".to_owned(),
            target: route.path.to_owned(),
            shown: route.path.to_owned(),
            kind: None,
            body: Vec::new(),
        });
        let mut pages = rights::pages(&self.there);
        for form in pages.iter_mut().filter(|way| ["/pause", "/resume"].contains(&way.target.as_str())) {
            form.body = if form.method == "POST" { b"reason=look".to_vec() } else { Vec::new() };
        }
        let mut api = rights::api();
        for call in &mut api {
            call.target = call.target.replace(SAMPLE_MEMORY, &self.there.memory);
            let body = String::from_utf8(call.body.clone()).unwrap();
            call.body = body.replace(SAMPLE_MEMORY, &self.there.memory).into_bytes();
        }
        let mut ways: Vec<Way> = accounts.chain(api).chain(pages).collect();
        ways.sort_by_key(|way| when(way));
        ways
    }
}

/// The memory that the API's samples are about.
const SAMPLE_MEMORY: &str = "mem-2026-11-18-001";

/// When it has its turn.
fn when(way: &Way) -> usize {
    let last = [
        "/auth/people/remove",
        "/auth/devices/remove",
        "/auth/logout",
        "/auth/sessions/end",
        "/memory/{agent}/{id}/forget",
        "/api/v1/autonomy/pause",
        "/api/v1/autonomy/resume",
        "/pause",
        "/resume",
    ];
    match (way.method.as_str(), last.iter().position(|path| *path == way.shown)) {
        ("GET", _) => 0,
        ("DELETE", _) => 2,
        (_, None) => 1,
        (_, Some(place)) => 3 + place,
    }
}

/// In a word: whether it was done, and what was recorded.
fn told(reply: &Reply, kinds: &[String]) -> String {
    let answer = match (reply.status, code_in(&reply.text)) {
        (status @ 400.., Some(code)) => format!("{status} {code}"),
        (status, _) => status.to_string(),
    };
    with_kinds(answer, kinds)
}

fn with_kinds(answer: String, kinds: &[String]) -> String {
    let recorded: Vec<&str> =
        kinds.iter().map(|kind| kind.strip_prefix("gateway.").unwrap_or(kind)).collect();
    format!("{answer} {}", recorded.join(" ")).trim_end().to_owned()
}

fn code_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("HF-")?;
    Some(rest.chars().take(7).collect())
}

/// Whoever is refused is told with which code, and what to do next.
fn unhelpful(reply: &Reply) -> Option<String> {
    let json = &reply.json["error"]["hint"];
    let hint = json.as_str().is_some_and(|next| !next.is_empty()) || reply.json.is_null();
    // A file that is not there says nothing, as a browser that looks for it expects.
    let no_file = reply.status == 404 && reply.text.is_empty();
    let helps = reply.status < 400 || no_file || code_in(&reply.text).is_some() && hint;
    (reply.status == 500 || !helps).then(|| format!("{} {}", reply.status, reply.text))
}

fn unhelpful_end(ran: &Ran) -> Option<String> {
    let answered = ran.code == 0 || !ran.out.is_empty();
    let helps = answered || ran.error()["hint"].as_str().is_some_and(|next| !next.is_empty());
    (ran.code < 0 || ran.err.contains("panicked") || !helps).then(|| format!("exit {} {}", ran.code, ran.err))
}

/// Everything that is answered without help.
type Unhelpful = Vec<(String, String)>;

/// A column of the table; `None` where the machine cannot bring its state about.
async fn column(template: &Template, state: State) -> Option<(Column, Unhelpful)> {
    let mut scene = Scene::new(template, &[state]).await?;
    let mut tail = Tail::new(&scene.house.home.journal());
    let (mut column, mut unhelped) = (Column::new(), Unhelpful::new());
    let turns = |command: &str| command.ends_with("pause") || command.ends_with("resume");
    let mut ways = scene.ways();
    let halting = ways.split_off(ways.iter().position(|way| when(way) > 7).unwrap());
    for way in &ways {
        column.push(goes(&mut scene, &mut tail, way, &mut unhelped).await);
    }
    for row in TABLE.iter().filter(|row| !turns(row.command) && row.command != "down") {
        column.push(runs(&scene, &mut tail, row, &mut unhelped));
    }
    for way in &halting {
        column.push(goes(&mut scene, &mut tail, way, &mut unhelped).await);
    }
    for row in TABLE.iter().filter(|row| turns(row.command)).rev() {
        column.push(runs(&scene, &mut tail, row, &mut unhelped));
    }
    let down = TABLE.iter().find(|row| row.command == "down").unwrap();
    column.push(runs(&scene, &mut tail, down, &mut unhelped));
    scene.house.daemon.take().unwrap().ended();
    let started = match scene.start() {
        Ok(()) => "ready".to_owned(),
        Err(ran) => {
            unhelped.extend(unhelpful_end(&ran).map(|why| ("holdfast up".to_owned(), why)));
            format!("exit {} {}", ran.code, code_in(&ran.err).unwrap_or_default())
        }
    };
    column.push(("holdfast up, after that".to_owned(), started));
    Some((column, unhelped))
}

async fn goes(scene: &mut Scene, tail: &mut Tail, way: &Way, unhelped: &mut Unhelpful) -> (String, String) {
    let shown = format!("{} {}", way.method, way.shown);
    let reply = scene.goes(way).await;
    // What is written beside an answer is there soon; nothing that counts may be.
    let kinds = tail.kinds();
    unhelped.extend(unhelpful(&reply).map(|why| (shown.clone(), why)));
    (shown, told(&reply, &kinds))
}

fn runs(
    scene: &Scene,
    tail: &mut Tail,
    row: &crate::table::Row,
    unhelped: &mut Unhelpful,
) -> (String, String) {
    let typed = std::iter::once(row.command).chain(row.args.iter().copied()).collect::<Vec<_>>().join(" ");
    let shown = format!("holdfast {typed}");
    if let Some((_, why)) = NOT_RUN.iter().find(|(not, _)| typed.starts_with(not)) {
        return (shown, (*why).to_owned());
    }
    let words = scene.words(row);
    let args: Vec<&str> = std::iter::once("--json").chain(words.iter().map(String::as_str)).collect();
    let ran = scene.run(&args);
    unhelped.extend(unhelpful_end(&ran).map(|why| (shown.clone(), scene.same(&why))));
    let code = ran.err.lines().last().and_then(code_in).filter(|_| ran.code != 0);
    let answer = format!("exit {} {}", ran.code, code.unwrap_or_default()).trim_end().to_owned();
    (shown, with_kinds(answer, &tail.kinds()))
}

/// Every column, some at the same time.
fn columns() -> Vec<(State, Option<(Column, Unhelpful)>)> {
    let template = Template::new();
    let (next, done) = (Mutex::new(STATES.into_iter().enumerate()), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                let runtime = tokio::runtime::Builder::new_multi_thread();
                let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
                while let Some((n, state)) = { next.lock().unwrap().next() } {
                    let column = AssertUnwindSafe(|| runtime.block_on(column(&template, state)));
                    let column = catch_unwind(column).unwrap_or_else(|_| panic!("the column {state:?}"));
                    done.lock().unwrap().push((n, state, column));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(n, _, _)| *n);
    done.into_iter().map(|(_, state, column)| (state, column)).collect()
}

/// One row of the table: the states that answer alike are named together.
fn row(shown: &str, answers: &[(State, &str)]) -> String {
    let mut text = format!("{shown}\n");
    let mut told = BTreeSet::new();
    for (_, answer) in answers {
        if !told.insert(answer) {
            continue;
        }
        let alike: Vec<String> =
            answers.iter().filter(|(_, a)| a == answer).map(|(state, _)| format!("{state:?}")).collect();
        let who = if alike.len() == answers.len() { "in every state".to_owned() } else { alike.join(", ") };
        text += &format!("    {answer:40}  {who}\n");
    }
    text
}

// shows: GTW-F30, MEM-F17
#[test]
#[expect(clippy::print_stderr, reason = "a column that was not made must be seen")]
fn what_cannot_be_recorded_is_not_done_and_every_route_and_command_says_so() {
    let (made, missing): (Vec<_>, Vec<_>) = columns().into_iter().partition(|(_, column)| column.is_some());
    let columns: Vec<(State, Column, Unhelpful)> = made
        .into_iter()
        .filter_map(|(state, column)| column.map(|(column, unhelped)| (state, column, unhelped)))
        .collect();
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for (state, _, unhelped) in &columns {
        wrong.extend(unhelped.iter().map(|(shown, why)| format!("{state:?} {shown}: no help: {why}")));
    }
    let calm = &columns[0].1;
    for (n, (shown, word)) in calm.iter().enumerate() {
        let answers: Vec<(State, &str)> =
            columns.iter().map(|(state, column, _)| (*state, column[n].1.as_str())).collect();
        text += &row(shown, &answers);
        wrong.extend(answers[1..].iter().filter_map(|(state, starved)| {
            breaks_a_rule(*state, shown, word, starved).map(|why| format!("{state:?} {shown}: {why}"))
        }));
    }
    if missing.is_empty() {
        insta::assert_snapshot!("starved", text);
    } else {
        let missing: Vec<State> = missing.into_iter().map(|(state, _)| state).collect();
        eprintln!("not made, and the table not compared: {missing:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A change that is answered as done is recorded as it is when nothing is wrong, or owed where it only takes power away. A pause always works.
fn breaks_a_rule(state: State, shown: &str, calm: &str, starved: &str) -> Option<String> {
    let (_, recorded) = calm.split_once(' ').unwrap_or((calm, ""));
    let done = ["200", "303", "exit 0"].iter().any(|begin| starved.starts_with(begin));
    let path = shown.split(' ').nth(1).unwrap_or_default();
    let narrows = ["remove", "revoke", "end", "logout"].iter().any(|end| path.ends_with(end));
    let pauses = path == "/pause" || path.ends_with("/autonomy/pause") || shown.contains("pause --");
    if pauses && !shown.starts_with("GET") && !done {
        return Some(format!("a pause always works: {starved}"));
    }
    // What could not be shared before has nothing to be taken back.
    let nothing_to_do = shown.contains("unshare");
    let unrecorded: Vec<&str> = recorded
        .trim_start_matches("0")
        .split_whitespace()
        .filter(|kind| kind.contains('.') && !starved.contains(kind))
        .collect();
    (done && !narrows && !pauses && !nothing_to_do && !unrecorded.is_empty() && state != State::Calm)
        .then(|| format!("done and not recorded: {calm} and {starved}"))
}

#[test]
fn every_command_of_the_manual_is_in_the_table() {
    let manual = run(bare_command(&["docs", "cli"]), None).ok().out;
    let known: BTreeSet<&str> = manual.lines().filter_map(|line| line.strip_prefix("## holdfast ")).collect();
    let listed: BTreeSet<&str> = TABLE.iter().map(|row| row.command).collect();
    assert_eq!(listed, known);
}
