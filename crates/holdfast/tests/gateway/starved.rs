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
use crate::layers::{ACTS, NARROWING};
use crate::rights::{self, Way};
use crate::scene::Template;
use crate::states::{Scene, State, Tail};
use crate::table::{Deed, TABLE};

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

/// Rows that change something and do not succeed here even when nothing is wrong, and why. All others must. A `*` stands for what follows.
const NOT_DONE: [(&str, &str); 26] = [
    ("POST /api/v1/hosts/{target}/trigger", ONLY_OBSERVED),
    ("POST /hosts/{host}/trigger", ONLY_OBSERVED),
    ("holdfast steward trigger", ONLY_OBSERVED),
    ("POST /api/v1/hosts/{target}/level", ONLY_OBSERVED),
    ("POST /hosts/{host}/level", ONLY_OBSERVED),
    ("POST /api/v1/hosts/{target}/rollback", NO_TRIAL),
    ("POST /hosts/{host}/rollback", NO_TRIAL),
    ("holdfast steward rollback", NO_TRIAL),
    ("POST /api/v1/hosts/{target}/review", NO_TRIAL),
    ("holdfast steward review*", NO_TRIAL),
    ("holdfast steward approve*", NO_TRIAL),
    ("holdfast steward reject*", NO_TRIAL),
    ("POST /api/v1/targets/{target}/check", NO_HOST),
    ("holdfast target*", NO_HOST),
    ("POST /api/v1/hosts/{target}/calibrate", NO_SERIES),
    ("holdfast steward calibrate*", NO_SERIES),
    ("POST /api/v1/memory/mine", "the sample is no bundle; the command mines a real repository"),
    ("POST /api/v1/audit/witness/accept", "the sample is nobody's signature; the command has a real one"),
    ("POST /api/v1/house/model/verify", NO_MODEL),
    ("holdfast model*", NO_MODEL),
    ("holdfast up --set*", "a daemon runs already"),
    ("holdfast memory import*", "one line of the file is none, which is told; the others are imported"),
    ("holdfast memory hook*", "nobody says anything to it"),
    ("holdfast audit erase 3", "without --yes it shows what it would do"),
    ("holdfast uninstall*", "without --yes it shows what it would do; with it, see `NOT_RUN`"),
    ("holdfast demo*", "see `NOT_RUN`"),
];

const ONLY_OBSERVED: &str =
    "the host is only observed; what a trial records when is shown in `steward-host/src/journaled.rs`";
const NO_TRIAL: &str =
    "no trial is open; what ends one is recorded in the reserve (`steward-host/src/journaled.rs`)";
const NO_HOST: &str = "there is no host to reach; `real_hosts.rs` has one";
const NO_SERIES: &str = "there are too few values";
const NO_MODEL: &str = "there is no model to fetch or check";

/// Acts of people in these states are done and recorded as always, without an exception.
const ACTS_GO_ON: [State; 6] =
    [State::Calm, State::LogFull, State::DiskFull, State::InodesFull, State::NoDescriptors, State::NoThreads];

/// In these nothing can be recorded. What only takes power away is done all the same, and recorded when the state has ended (`layers.rs`).
const ACTS_ARE_OWED: [State; 2] = [State::ReserveFull, State::JournalReadOnly];

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
            "/auth/login/start" | "/auth/devices/link" | "/auth/codes/renew" => json!({}),
            "/auth/news/known" => json!({ "upto": 0 }),
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
        for form in pages.iter_mut().filter(|way| way.body == b"level=autonomous") {
            form.body = b"level=plan".to_vec();
        }
        for form in pages.iter_mut().filter(|way| way.target.ends_with("/forget")) {
            form.target = form.target.replace(&self.there.memory, &self.more.memories[0]);
        }
        let mut api = rights::api();
        for call in &mut api {
            call.target = call.target.replace(SAMPLE_MEMORY, &self.there.memory);
            call.target = call.target.replace(SAMPLE_ASK, &self.there.ask);
            let body = String::from_utf8(call.body.clone()).unwrap();
            call.body = body.replace(SAMPLE_MEMORY, &self.there.memory).into_bytes();
            match call.shown.as_str() {
                "/api/v1/approvals/verdict" => call.body = self.more.verdict.clone(),
                "/api/v1/audit/entries/{seq}/text" => {
                    call.target = call.shown.replace("{seq}", &self.more.blob.to_string());
                }
                _ => {}
            }
        }
        let mut ways: Vec<Way> = accounts.chain(api).chain(pages).collect();
        ways.sort_by_key(when);
        ways
    }
}

/// The memory that the API's samples are about.
const SAMPLE_MEMORY: &str = "mem-2026-11-18-001";

/// The ask that they are about.
const SAMPLE_ASK: &str = "apr_01kc1yq8m0e3t6v9x2b5h8n1r4";

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
    // The daemon pauses on a full disk by itself.
    scene.run(&["resume", "--all"]);
    tail.kinds();
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
    scene.keep_full();
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
    scene.keep_full();
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

/// Whether a row is what people do. Without a free descriptor the others depend on what the daemon has just closed, so the table leaves
/// that state out for them; what must hold of it is asserted all the same.
fn is_of_people(shown: &str) -> bool {
    ["/auth/", "pause", "resume", "approve", "reject"].iter().any(|part| shown.contains(part))
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
        let shows = |(state, _): &&(State, &str)| match state {
            State::NoDescriptors => is_of_people(shown),
            // Whether it finds inodes for its databases depends on which of them it had open.
            State::InodesFull => shown != "holdfast up, after that",
            _ => true,
        };
        text += &row(shown, &answers.iter().filter(shows).copied().collect::<Vec<_>>());
        wrong.extend(answers.iter().filter_map(|(state, starved)| {
            breaks_a_rule(*state, shown, word, starved).map(|why| format!("{state:?} {shown}: {why}"))
        }));
    }
    if missing.is_empty() {
        // What breaks a rule is told beside the table.
        let told = if wrong.is_empty() { text } else { format!("{text}\n{wrong:#?}") };
        insta::assert_snapshot!("starved", told);
    } else {
        let missing: Vec<State> = missing.into_iter().map(|(state, _)| state).collect();
        eprintln!("not made, and the table not compared: {missing:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What must hold of a row in any state, whatever the snapshot says.
fn breaks_a_rule(state: State, shown: &str, calm: &str, starved: &str) -> Option<String> {
    let path = shown.split(' ').nth(1).unwrap_or_default();
    let pauses = path == "/pause" || path.ends_with("/autonomy/pause") || shown.contains("pause --");
    if pauses && !shown.starts_with("GET") && !is_done(starved) {
        return Some(format!("a pause always works: {starved}"));
    }
    not_done_in_calm(state, shown, starved)
        .or_else(|| done_and_not_recorded(state, shown, calm, starved).filter(|_| !pauses))
        .or_else(|| recorded_and_not_done(calm, starved))
        .or_else(|| an_act_is_kept_from_somebody(state, path, starved))
}

fn is_done(answer: &str) -> bool {
    ["200", "303", "exit 0", "ready"].iter().any(|begin| answer.starts_with(begin))
}

/// The kinds that an answer is followed by.
fn recorded(answer: &str) -> Vec<&str> {
    answer.split_whitespace().filter(|kind| kind.contains('.')).collect()
}

/// A row that fails when nothing is wrong shows nothing where something is.
fn not_done_in_calm(state: State, shown: &str, calm: &str) -> Option<String> {
    let known = NOT_DONE.iter().any(|(row, _)| match row.strip_suffix('*') {
        Some(begins) => shown.starts_with(begins),
        None => shown == *row,
    });
    (state == State::Calm && !is_done(calm) && !known && is_change(shown))
        .then(|| format!("not done, and nothing was wrong: {calm}"))
}

/// Whether a row may change something.
fn is_change(shown: &str) -> bool {
    let Some(command) = shown.strip_prefix("holdfast ") else { return !shown.starts_with("GET") };
    TABLE.iter().any(|row| row.deed == Deed::Changes && command.starts_with(row.command))
}

/// What is answered as done is recorded as it is when nothing is wrong, or owed where it only takes power away.
fn done_and_not_recorded(state: State, shown: &str, calm: &str, starved: &str) -> Option<String> {
    let narrows = NARROWING.iter().any(|path| shown.ends_with(path)) && ACTS_ARE_OWED.contains(&state);
    // What could not be shared before has nothing to be taken back.
    let nothing_to_do = shown.contains("unshare");
    let missing = recorded(calm).into_iter().any(|kind| !recorded(starved).contains(&kind));
    (is_done(starved) && missing && !narrows && !nothing_to_do)
        .then(|| format!("done and not recorded: {calm} and {starved}"))
}

/// What is answered as not done is not in the log, unless a later entry says that it was not done.
fn recorded_and_not_done(calm: &str, starved: &str) -> Option<String> {
    let kinds = recorded(starved);
    let says_so = |kind: &&str| ["act.failed", "act.undone", "approval.verdict.refused"].contains(kind);
    // That somebody has memories of their own is so from then on, whatever became of the first of them.
    let harmless = kinds == ["memory.space.opened"];
    (!is_done(starved)
        && starved != calm
        && !kinds.is_empty()
        && !kinds.last().is_some_and(says_so)
        && !harmless)
        .then(|| format!("recorded and not done: {starved}"))
}

/// Acts of people are done and recorded wherever there is anything to record them with.
fn an_act_is_kept_from_somebody(state: State, path: &str, starved: &str) -> Option<String> {
    let (_, kind) = ACTS.iter().find(|(act, _)| *act == path)?;
    let kind = kind.strip_prefix("gateway.").unwrap_or(kind);
    let well = match state {
        state if ACTS_GO_ON.contains(&state) => is_done(starved) && recorded(starved).contains(&kind),
        state if ACTS_ARE_OWED.contains(&state) => is_done(starved) == NARROWING.contains(&path),
        // The accounts cannot be written, so nobody's rights can be changed in either direction.
        _ => !is_done(starved),
    };
    (!well).then(|| format!("an act of somebody: {starved}"))
}

#[test]
fn every_command_of_the_manual_is_in_the_table() {
    let manual = run(bare_command(&["docs", "cli"]), None).ok().out;
    let known: BTreeSet<&str> = manual.lines().filter_map(|line| line.strip_prefix("## holdfast ")).collect();
    let listed: BTreeSet<&str> = TABLE.iter().map(|row| row.command).collect();
    assert_eq!(listed, known);
}
