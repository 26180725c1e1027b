//! What everything that acts does when the log cannot take it: every route, read from the tables the code itself uses, and every command,
//! with the log full, its reserve full too, the disk full, and no descriptor left. The table is looked at in review
//! (`snapshots/gateway__starved__starved.snap`); what must hold in any state is asserted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use holdfast_testkit::{SmallDisk, require};
use http_body_util::Full;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::browser::{Browser, Reply, an_address, send, whole};
use crate::home::Home;
use crate::house::House;
use crate::running::{Looking as _, wait_until};

/// Two MiB: ordinary entries stop 128 KiB below that.
const SMALL: &str = "journal: { segment_mib: 1, keep_segments: 1, warn_mib: 1, cap_mib: 2 }\nbackup: { enabled: false }\nverify: { every_hours: 0 }\n";
const ORDINARY_STOPS: u64 = (2 << 20) - (128 << 10);

/// In which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Calm,
    LogFull,
    ReserveFull,
    DiskFull,
    NoDescriptors,
}

const STATES: [State; 5] =
    [State::Calm, State::LogFull, State::ReserveFull, State::DiskFull, State::NoDescriptors];

/// One thing that is done, and by whom.
struct Way {
    shown: String,
    path: String,
    body: Sent,
}

enum Sent {
    Json(Value),
    Form(&'static str),
    Sample(&'static holdfast_api::Route),
}

/// Reads what was added to the journal since the last look.
struct Tail {
    journal: PathBuf,
    read: BTreeMap<PathBuf, usize>,
}

impl Tail {
    fn new(journal: &Path) -> Tail {
        let mut tail = Tail { journal: journal.to_owned(), read: BTreeMap::new() };
        tail.next();
        tail
    }

    fn next(&mut self) -> Vec<Value> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&self.journal).unwrap().flatten().map(|one| one.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        files.sort();
        let mut new = Vec::new();
        for path in files {
            let text = std::fs::read(&path).unwrap();
            let end = text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 2).min(text.len());
            let from = self.read.insert(path, end).unwrap_or(0);
            new.extend(
                text[from.min(end)..end]
                    .split(|byte| *byte == b'\n')
                    .filter_map(|line| serde_json::from_slice(line).ok()),
            );
        }
        new
    }

    /// Kinds of what was recorded of an act. What the daemon writes by itself meanwhile is not about it.
    fn kinds(&mut self) -> Vec<String> {
        let own =
            ["notice.", "holdfast.health.", "holdfast.daemon.", "holdfast.journal.", "gateway.request."];
        let kinds = self.next().into_iter().map(|entry| entry["kind"].as_str().unwrap().to_owned());
        let mut kinds: Vec<String> =
            kinds.filter(|kind| !own.iter().any(|begin| kind.starts_with(begin))).collect();
        kinds.dedup();
        kinds
    }
}

struct Scene {
    house: House,
    owner: Browser,
    /// The same person in another browser, who signs out and whose sessions are ended.
    second: Browser,
    token: String,
    guest: String,
    /// Another device of the owner's.
    device: String,
    codes: Vec<String>,
    _disk: Option<SmallDisk>,
    filler: PathBuf,
}

impl Scene {
    async fn new(state: State) -> Scene {
        let disk =
            (state == State::DiskFull).then(|| require(SmallDisk::tmpfs(24 << 20)).expect("a small disk"));
        let mut house = House::planned(SMALL);
        if let Some(disk) = &disk {
            house.home = Home::at(&disk.path().join("home"));
            house.home.run(&["init", "--name", "gate"]).ok();
            house.home.configure(SMALL);
        }
        house.start();
        let mut owner = house.browser();
        let registered = owner.register(&house.link(None)).await;
        let codes =
            registered.json["codes"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
        let codes = codes.collect();
        let token = owner.token("read").await.0;
        house.invited(&mut owner, "Gus", "viewer").await;
        let people = owner.get("/settings/people").await.is(200).text;
        let ids = people.split("name=\"id\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let guest = ids.filter(|id| id.starts_with("psn_")).last().unwrap().to_owned();
        let link = owner.post("/auth/devices/link", json!({})).await.is(200);
        house
            .browser()
            .register(link.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap())
            .await;
        let devices = owner.get("/settings").await.is(200).text;
        let ids = devices.split("name=\"id\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let device = ids.filter(|id| id.starts_with("dev_")).last().unwrap().to_owned();
        let mut second = Browser { device: owner.device.clone(), ..house.browser() };
        second.sign_in(None).await.is(200);
        second.word().await.unwrap();
        owner.word().await.unwrap();
        let filler = house.home.path().join("filler");
        let mut scene = Scene { house, owner, second, token, guest, device, codes, _disk: disk, filler };
        scene.bring_about(state).await;
        scene
    }

    async fn bring_about(&mut self, state: State) {
        match state {
            State::Calm => {}
            State::LogFull => self.fill_log(ORDINARY_STOPS - (48 << 10)).await,
            State::ReserveFull => {
                self.fill_log(ORDINARY_STOPS - (48 << 10)).await;
                let long = "because it is so ".repeat(28);
                for _ in 0..2_000 {
                    for path in ["/api/v1/autonomy/pause", "/api/v1/autonomy/resume"] {
                        let reply = self.owner_posts(path, &json!({ "reason": long })).await;
                        if reply.json["recorded_as"].is_null() {
                            // The smallest act there is fits no more either.
                            while self.owner_posts("/auth/devices/link", &json!({})).await.status == 200 {}
                            return;
                        }
                    }
                }
                panic!("the reserve was never full");
            }
            State::DiskFull => {
                let mut file = std::fs::File::create(&self.filler).unwrap();
                for size in [65_536, 4_096] {
                    while file.write(&vec![1; size]).is_ok_and(|written| written > 0) {}
                }
            }
            State::NoDescriptors => self.limit_descriptors(true),
        }
    }

    /// One number is free below the limit: one connection fits, and nothing beside it.
    fn limit_descriptors(&self, tight: bool) {
        let pid = Pid::from_raw(self.house.daemon.as_ref().unwrap().pid().cast_signed()).unwrap();
        let set = |current| {
            prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(current), maximum: Some(4_096) })
                .unwrap();
        };
        if !tight {
            return set(4_096);
        }
        let open = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).unwrap().flatten();
        let open: BTreeSet<u64> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let mut free = (0..).filter(|number| !open.contains(number));
        set(free.nth(1).unwrap());
    }

    async fn fill_log(&mut self, bytes: u64) {
        self.house.stop().well();
        crate::fill::fill(&self.house.home, bytes / 4_400, 4_000);
        self.house.start();
        let note =
            json!({ "kind": "captain.note.added", "body": { "text": "the tide comes in ".repeat(200) } });
        for _ in 0..200 {
            if self.owner_posts("/api/v1/audit/entries", &note).await.status != 200 {
                break;
            }
        }
        let small = json!({ "kind": "captain.note.added", "body": { "n": 1 } });
        for _ in 0..200 {
            let reply = self.owner_posts("/api/v1/audit/entries", &small).await;
            if reply.status != 200 {
                assert_eq!(reply.code(), "HF-JRN-007", "{}", reply.text);
                return;
            }
        }
        panic!("the log was never full");
    }

    async fn owner_posts(&mut self, path: &str, body: &Value) -> Reply {
        self.owner.from = an_address();
        self.owner.post(path, body.clone()).await
    }

    /// What is sent to a route of `/auth/`, so that it does something.
    async fn act(&mut self, path: &str) -> Reply {
        self.owner.from = an_address();
        self.second.from = an_address();
        let (mut owner, origin) = (self.owner.clone(), self.owner.origin());
        let body = match path {
            "/auth/register/start" => json!({ "label": "a tablet" }),
            "/auth/register/finish" => {
                let begun = owner.post("/auth/register/start", json!({ "label": "a tablet" })).await;
                let credential =
                    holdfast_testkit::authenticator::Key::new().create(&origin, &begun.json["publicKey"]);
                json!({ "ceremony": begun.json["ceremony"], "credential": credential })
            }
            "/auth/login/start" | "/auth/devices/link" | "/auth/codes/renew" => json!({}),
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
            "/auth/confirm/start" => json!({ "what": "fresh" }),
            "/auth/confirm/finish" => match owner.begin_confirming("fresh").await {
                Ok(body) => body,
                Err(refused) => return *refused,
            },
            "/auth/devices/rename" | "/auth/devices/remove" => {
                let id = &self.device;
                if path.ends_with("rename") {
                    json!({ "id": id, "label": "other" })
                } else {
                    json!({ "id": id })
                }
            }
            "/auth/sessions/end" => json!({ "id": "others" }),
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
        match &way.body {
            Sent::Json(_) => self.act(&way.path).await,
            Sent::Form(form) => {
                self.sends(
                    "POST",
                    &way.path,
                    Some("application/x-www-form-urlencoded"),
                    form.as_bytes().to_vec(),
                )
                .await
            }
            Sent::Sample(route) => {
                let sample = route.sample();
                self.sends(sample.method.as_str(), &sample.target, sample.content_type, sample.body).await
            }
        }
    }

    async fn sends(&self, method: &str, target: &str, kind: Option<&str>, body: Vec<u8>) -> Reply {
        let word = self.owner.word.clone().unwrap();
        let mut request = self.owner.request(method, target).header("x-holdfast-csrf", word);
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let answer =
            send(an_address(), self.house.port, request.body(Full::from(body)).unwrap()).await.unwrap();
        whole(answer).await.unwrap()
    }
}

/// Everything that changes something, in an order in which each finds what it needs. Pause and resume come last.
fn ways() -> Vec<Way> {
    let last = ["/auth/people/remove", "/auth/devices/remove", "/auth/logout", "/auth/sessions/end"];
    let auth = holdfast_gateway::ROUTES.iter().map(|route| route.path);
    let (ends, other): (Vec<_>, Vec<_>) = auth.partition(|path| last.contains(path));
    let auth = other.into_iter().chain(ends).map(|path| Way {
        shown: format!("POST {path}"),
        path: path.to_owned(),
        body: Sent::Json(Value::Null),
    });
    // Stops and long works are not acts that anybody waits for here; the tests of each have them.
    let api =
        holdfast_api::routes().iter().filter(|route| route.changes && !route.path.contains("/autonomy/"));
    let api = api.map(|route| Way {
        shown: format!("{} {}", route.sample().method, route.path),
        path: route.path.to_owned(),
        body: Sent::Sample(route),
    });
    let form = |path: &str| Way {
        shown: format!("POST {path}"),
        path: path.to_owned(),
        body: Sent::Form("reason=look"),
    };
    auth.chain(api).chain(["/pause", "/resume"].map(form)).collect()
}

/// In a word: whether it was done, and what was recorded.
fn told(reply: &Reply, kinds: &[String]) -> String {
    let code = reply.text.split("HF-").nth(1).map(|rest| rest.chars().take(7).collect::<String>());
    let answer = match (reply.status, code) {
        (status @ 400.., Some(code)) => format!("{status} {code}"),
        (status, _) => status.to_string(),
    };
    let recorded: Vec<&str> =
        kinds.iter().map(|kind| kind.strip_prefix("gateway.").unwrap_or(kind)).collect();
    if recorded.is_empty() { answer } else { format!("{answer} {}", recorded.join(" ")) }
}

/// Commands that act, and whether it went well.
const COMMANDS: &[&[&str]] = &[
    &["gateway", "link", "owner"],
    &["audit", "log", "--actor", "ana", "--kind", "captain.note.added", "--body", "{}"],
    &["audit", "checkpoint"],
    &["memory", "add", "The gateway of staging listens on port 9096."],
    &["notice", "raise", "look at this"],
    &["backup"],
    &["rebuild"],
    &["resume", "--all"],
    &["pause", "--all", "--reason", "storm"],
];

type Column = Vec<(String, String)>;

async fn column(state: State) -> Column {
    let mut scene = Scene::new(state).await;
    let mut tail = Tail::new(&scene.house.home.journal());
    let mut column = Column::new();
    for way in ways() {
        let reply = scene.goes(&way).await;
        // What is written beside an answer is there soon; nothing that counts may be.
        let kinds = tail.kinds();
        column.push((way.shown.clone(), told(&reply, &kinds)));
    }
    for command in COMMANDS {
        let mut args = vec!["--json"];
        args.extend(*command);
        let ran = scene.house.home.run(&args);
        let recorded = tail.kinds();
        let code = ran.err.split("HF-").nth(1).map(|rest| rest.chars().take(7).collect::<String>());
        let word = format!("exit {} {}", ran.code, code.unwrap_or_default());
        column.push((
            format!("holdfast {}", command.iter().copied().take(2).collect::<Vec<_>>().join(" ")),
            format!("{} {}", word.trim(), recorded.join(" ")).trim().to_owned(),
        ));
    }
    halted_and_recorded(&mut scene, state).await;
    column
}

/// The last thing that was done was to pause. It holds in any state, and is in the log as soon as there is room, once, with its time.
async fn halted_and_recorded(scene: &mut Scene, state: State) {
    assert!(scene.house.home.state("paused.json").exists(), "{state:?}: paused");
    match state {
        State::Calm | State::LogFull => {}
        // Nothing leaves a journal without an archive, so a larger cap is what an operator gives it.
        State::ReserveFull => {
            scene.house.stop();
            scene.house.home.configure(&SMALL.replace("cap_mib: 2", "cap_mib: 4"));
            scene.house.start();
        }
        State::DiskFull => std::fs::remove_file(&scene.filler).unwrap(),
        State::NoDescriptors => scene.limit_descriptors(false),
    }
    let standing = scene.house.home.status()["pause"].clone();
    assert_eq!(standing["paused"], true, "{state:?}: {standing}");
    wait_until(&format!("{state:?}: the pause is recorded"), || {
        let entries = scene.house.home.entries();
        let turns =
            entries.iter().filter(|entry| entry["kind"].as_str().unwrap().starts_with("holdfast.autonomy."));
        turns.last().is_some_and(|turn| {
            turn["kind"] == "holdfast.autonomy.paused" && turn["body"]["since"] == standing["since"]
        })
    });
    wait_until(&format!("{state:?}: nothing is owed to the log"), || {
        let database = rusqlite::Connection::open(scene.house.home.state("gateway.db")).unwrap();
        database.query_row("SELECT count(*) FROM owed", [], |row| row.get::<_, u64>(0)).unwrap() == 0
    });
    if state != State::ReserveFull {
        scene.house.stop();
    }
}

// shows: GTW-F30, MEM-F17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_recorded_is_not_done_and_a_pause_always_is() {
    let mut columns = Vec::new();
    for state in STATES {
        columns.push((state, column(state).await));
    }
    let calm = columns[0].1.clone();
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for (n, (shown, word)) in calm.iter().enumerate() {
        text += &format!("{shown}\n");
        for (state, column) in &columns {
            text += &format!("    {:14} {}\n", format!("{state:?}"), column[n].1);
        }
        // A change that is answered as done is recorded as it is when nothing is wrong, or owed where it only takes power away.
        let (_, recorded) = word.split_once(' ').unwrap_or((word, ""));
        for (state, column) in &columns[1..] {
            let starved = &column[n].1;
            let done = ["200", "303", "exit 0"].iter().any(|begin| starved.starts_with(begin));
            let narrows =
                ["remove", "revoke", "end", "logout", "pause"].iter().any(|end| shown.ends_with(end));
            let same = recorded.split(' ').all(|kind| starved.contains(kind));
            // A pause is done in any state, and `halted_and_recorded` waits for its entry.
            if done && !same && !narrows && !shown.contains("pause") {
                wrong.push(format!("{state:?} {shown}: {word} and {starved}"));
            }
            if shown == "POST /pause" && !starved.starts_with("303") {
                wrong.push(format!("{state:?}: a pause always works: {starved}"));
            }
        }
    }
    insta::assert_snapshot!("starved", text);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
