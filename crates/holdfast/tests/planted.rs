//! Planted secrets are found nowhere: put in by every way text gets into the product, looked for in everything it wrote,
//! said and sent. Secrets are put together at run time, so that none stands in the tree.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod home;
#[expect(dead_code, unreachable_pub, reason = "shared with other tests")]
#[path = "daemon/receiver.rs"]
mod receiver;
#[expect(dead_code, unreachable_pub, reason = "shared with other tests")]
#[path = "daemon/running.rs"]
mod running;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdfast_approval::{Action, ApprovalProjection, Approvals, NewAsk, Now};
use holdfast_journal::{Journal, Options, Screen as _, SystemClock, Verdict};
use holdfast_keys::{Role, file};
use holdfast_screen::GuardScreen;
use holdfast_store::Index;
use holdfast_testkit::files::tree_bytes;
use holdfast_types::Clock as _;
use home::{Home, run};
use receiver::Receiver;
use running::{Looking as _, Running, tell, wait_until};
use serde_json::{Value, json};

/// Letters and digits that no two calls share.
struct Ink(u64);

impl Ink {
    fn draw(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[(self.0 >> 33) as usize % alphabet.len()])
        };
        (0..count).map(|_| next()).collect()
    }

    fn word(&mut self, count: usize) -> String {
        self.draw(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", count)
    }
}

/// What is planted: tokens that are known by their form, sentences that give a secret away, and a key.
struct Planted {
    tokens: Vec<String>,
    sentences: Vec<String>,
    passwords: Vec<String>,
    key: String,
    /// What must be found nowhere.
    needles: Vec<String>,
}

impl Planted {
    fn new() -> Planted {
        let mut ink = Ink(20_261_115);
        let forms = [
            ("ghp_", 36),
            ("glpat-", 20),
            ("sk-proj-", 48),
            ("sk-ant-api03-", 93),
            ("sk_live_", 24),
            ("npm_", 36),
            ("hf_", 34),
        ];
        let mut tokens: Vec<String> =
            forms.iter().map(|(prefix, count)| format!("{prefix}{}", ink.word(*count))).collect();
        tokens.push(format!("AKIA{}", ink.draw(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)));
        tokens.push(format!("xoxb-{0}-{0}-{1}", ink.draw(b"123456789", 12), ink.word(24)));
        tokens.push(format!("AIza{}", ink.word(35)));
        let passwords: Vec<String> = (0..6).map(|_| format!("{}!{}", ink.word(7), ink.word(5))).collect();
        let url = ink.word(12);
        let sentences = vec![
            format!("password={}", passwords[0]),
            format!("log in with DB_PASSWORD='{}' please", passwords[1]),
            format!("it only works with postgres://app:{url}@db.internal:5432/app"),
            format!("curl -u admin:{} https://intern.host/x", passwords[2]),
            format!("the header was Authorization: Bearer {}", tokens[0]),
        ];
        let lines: Vec<String> = (0..6).map(|_| ink.word(64)).collect();
        let key = format!("-----BEGIN {0} KEY-----\n{1}\n-----END {0} KEY-----", "PRIVATE", lines.join("\n"));
        let needles = tokens.iter().chain(&passwords[..3]).chain([&url]).chain(&lines).cloned().collect();
        let sentences = sentences
            .into_iter()
            .chain(tokens.iter().map(|token| format!("use {token} until Friday")))
            .collect();
        Planted { tokens, sentences, passwords, key, needles }
    }

    /// Messages as people write them, with what the screen takes out of each. What it misses there is counted where it is
    /// measured; here what it knows must not come through anywhere.
    fn messages(&mut self) -> Vec<String> {
        let screen = GuardScreen::builtin();
        let mut texts = Vec::new();
        let mut planted = 0;
        let mut known = Vec::new();
        for message in holdfast_planter::chat(11, 120) {
            planted += message.planted.len();
            let secrets = message.planted.iter().map(|at| message.text[at.clone()].to_owned());
            match screen.screen_named("texts", &message.text) {
                Verdict::Blocked { .. } => known.extend(secrets),
                Verdict::Redacted(clean) => {
                    known.extend(secrets.filter(|secret| !clean.contains(secret.as_str())));
                    texts.push(message.text);
                }
                Verdict::Clean => texts.push(message.text),
            }
        }
        assert!(known.len() * 10 >= planted * 8, "{} of {planted}", known.len());
        self.needles.extend(known.into_iter().filter(|secret| secret.len() >= 10));
        texts
    }

    #[track_caller]
    fn are_not_in(&self, place: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for (number, needle) in self.needles.iter().enumerate() {
            // A key of several lines stands escaped in JSON; one line of it is enough to find it.
            let needle = needle.lines().max_by_key(|line| line.len()).unwrap_or_default();
            if let Some(at) = text.find(needle) {
                let from = text[..at].char_indices().rev().take(80).last().map_or(0, |(at, _)| at);
                panic!("secret {number} ({needle}) is in {place}: {}…", &text[from..at]);
            }
        }
    }
}

/// Everything the program said on the way.
#[derive(Default)]
struct Heard(Vec<(String, String)>);

impl Heard {
    fn run(&mut self, home: &Home, args: &[&str]) -> i32 {
        self.run_with(home, args, b"")
    }

    fn run_with(&mut self, home: &Home, args: &[&str], input: &[u8]) -> i32 {
        let ran = home.run_with(args, input);
        self.0.push((args.join(" "), ran.out + &ran.err));
        ran.code
    }
}

/// An ask with a secret in its words, made as a part of the daemon would make it.
fn ask(home: &Home, summary: &str, evidence: &str) -> String {
    let clock = Arc::new(SystemClock::new());
    let log_key = file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key;
    let journal = Journal::open(Options {
        dir: home.journal(),
        signers: vec![log_key],
        screen: Arc::new(GuardScreen::builtin()),
        clock: clock.clone(),
        vault: None,
        archive: None,
        limits: Default::default(),
    });
    let journal = journal.unwrap();
    let projection = Box::new(ApprovalProjection::new(journal.origin().clone()));
    let (index, _) = Index::open(&home.beside("inbox.db"), vec![projection], clock.clone()).unwrap();
    let inbox = Approvals::new(journal, Arc::new(index), Arc::new(GuardScreen::builtin()));
    let what = json!({"option": "swap", "to": 5});
    let action = Action::new("steward.trial".parse().unwrap(), "web-1".parse().unwrap(), &what).unwrap();
    let new = NewAsk {
        evidence: vec![evidence.to_owned()],
        lifetime: Duration::from_secs(3600),
        ..NewAsk::new(action, "steward".parse().unwrap(), summary.to_owned())
    };
    inbox.ask(new, Now::Good(clock.now())).unwrap().life.ask.id.to_string()
}

fn plant_in_the_journal(home: &Home, planted: &Planted, messages: &[String], heard: &mut Heard) {
    let log = ["audit", "log", "--actor", "ana", "--kind", "agent.note.added"];
    let mut with = |more: &[&str], input: &[u8]| heard.run_with(home, &[&log[..], more].concat(), input);
    let named = json!({
        "texts": planted.sentences,
        "password": planted.passwords[0],
        "deep": [{"db_password": [planted.passwords[1]]}],
        "env": [{"name": "SMTP_PASSWORD", "value": planted.passwords[2]}],
        planted.tokens[1].as_str(): planted.tokens[2],
    });
    assert_eq!(with(&["--body", "-"], named.to_string().as_bytes()), 0);
    assert_eq!(with(&["--body", "-"], json!({ "texts": messages }).to_string().as_bytes()), 0);
    assert_eq!(with(&["--body", "-", "--dry-run"], named.to_string().as_bytes()), 0);
    assert_eq!(with(&["--body", "-"], json!({"note": planted.key}).to_string().as_bytes()), 4);
    assert_eq!(with(&["--blob", "-"], planted.sentences.join("\n").as_bytes()), 0);
    assert_eq!(with(&["--blob", "-"], planted.key.as_bytes()), 4);
    assert_eq!(with(&["--body", "{}", "--key", &planted.tokens[3]], b""), 4);
    assert_eq!(with(&["--body", &planted.tokens[4]], b""), 2);
    assert_eq!(with(&["--body", "{}", "--agent", &planted.tokens[5]], b""), 2);
    let as_actor = ["audit", "log", "--actor", &planted.tokens[0], "--kind", "a.b.c", "--body", "{}"];
    assert_eq!(heard.run(home, &as_actor), 4);
}

fn plant_in_commands(home: &Home, planted: &Planted, ask: &str, heard: &mut Heard) {
    let Planted { tokens, sentences, .. } = planted;
    for sentence in [&sentences[0], &sentences[3], &planted.key] {
        heard.run(home, &["pause", "--all", "--reason", sentence]);
        heard.run(home, &["resume", "--all", "--reason", sentence]);
    }
    heard.run(home, &["pause", "--all", "--actor", &tokens[0]]);
    heard.run(home, &["resume", "--all"]);
    assert_eq!(heard.run(home, &["reject", ask, "--yes", "--reason", &sentences[1]]), 2);
    for sentence in [&sentences.join("; "), &format!("it is:\n{}", planted.key)] {
        assert_eq!(heard.run(home, &["notice", "raise", sentence]), 0);
    }
    // What is wrong with an argument is told with the argument.
    for wrong in [
        &[tokens[0].as_str()][..],
        &["audit", "tail", "--from", &tokens[1]],
        &["--json", "audit", "tail", "--from", &tokens[1]],
        &["up", "--set", &format!("log.level={}", tokens[2])],
        &["up", "--set", &format!("{}=x", tokens[2])],
        &["approvals", "show", &tokens[3]],
        &["audit", "log", "--actor", "a", "--kind", "a.b.c", "--blob", &format!("/nowhere/{}", tokens[4])],
        &["redact", &format!("/nowhere/{}", tokens[5])],
        &["audit", "prove", "--check", &tokens[6]],
        &["audit", "tail", "--archive", &format!("/nowhere/{}", tokens[7])],
    ] {
        assert!([2, 3].contains(&heard.run(home, wrong)), "{wrong:?}");
    }
}

fn plant_in_settings(home: &Home, planted: &Planted, good: &str, heard: &mut Heard) {
    for wrong in [
        format!("notifications: {{ webhook: {{ url: \"https://hooks.host/{}\" }} }}\n", planted.tokens[0]),
        format!("log: {{ level: {} }}\n", planted.tokens[1]),
        format!("{}: 1\n", planted.tokens[8]),
        format!(
            "credentials: {{ sources: [command], command: [/usr/bin/pass, {}, x] }}\n",
            planted.tokens[2]
        ),
    ] {
        home.configure(&wrong);
        for args in [
            &["config", "check"][..],
            &["--json", "config", "check"],
            &["config", "reload"],
            &["--json", "doctor"],
        ] {
            assert_ne!(heard.run(home, args), 0, "{args:?}");
        }
    }
    home.configure(good);
    let mut command = home.command(&["config", "check"]);
    command.env("HOLDFAST_LOG__LEVEL", &planted.tokens[3]);
    let ran = run(command, None);
    heard.0.push(("a variable".into(), ran.out + &ran.err));
}

fn plant_at_the_doors(home: &Home, daemon: &Running, planted: &Planted, heard: &mut Heard) {
    for line in [
        planted.tokens[0].clone(),
        json!({"protocol": 1, "request": {planted.tokens[1].as_str(): 1}}).to_string(),
        json!({"protocol": 1, "request": {"raise": {"severity": planted.tokens[2]}}}).to_string(),
        json!({"protocol": 1, "request": {"verdict": {"document": planted.sentences[0]}}}).to_string(),
    ] {
        let mut stream = BufReader::new(UnixStream::connect(home.socket()).unwrap());
        let mut answer = String::new();
        stream.read_line(&mut answer).unwrap();
        stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
        stream.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_string(&mut answer).unwrap();
        heard.0.push(("the socket".into(), answer));
    }
    for request in [
        format!("GET /{} HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n", planted.tokens[0], planted.tokens[1]),
        format!("{} / HTTP/1.1\r\n\r\n", planted.tokens[2]),
    ] {
        heard.0.push(("the health door".into(), tell(daemon.health, request.as_bytes())));
    }
}

/// What can be asked for, with everything that it writes.
fn ask_everything(home: &Home, ask: &str, heard: &mut Heard) {
    let beside = |name: &str| home.beside(name).display().to_string();
    for args in [
        &["status"][..],
        &["doctor"],
        &["audit", "tail", "--from", "0"],
        &["audit", "verify"],
        &["audit", "checkpoint"],
        &["approvals", "list", "--all"],
        &["approvals", "show", ask],
        &["notice", "list"],
        &["config", "show"],
        &["disk"],
        &["backup"],
        &["audit", "export", "--out", &beside("export")],
        &["support-bundle", "--out", &beside("bundle.tar.gz")],
    ] {
        heard.run(home, &[&["--json"][..], args].concat());
    }
    heard.run(home, &["audit", "tail", "--from", "0"]);
    for seq in home.entries().iter().filter(|entry| !entry["blob"].is_null()).map(|entry| &entry["seq"]) {
        assert_eq!(heard.run(home, &["audit", "text", &seq.to_string()]), 0);
    }
}

fn unpacked(bundle: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(bundle).unwrap()).read_to_end(&mut all).unwrap();
    all
}

// shows: HRD-052, HRD-F26
#[test]
fn what_is_planted_anywhere_is_found_nowhere() {
    let home = Home::made("web-1");
    let mut planted = Planted::new();
    let messages = planted.messages();
    let mut heard = Heard::default();
    let ask = ask(&home, &planted.sentences[2], &planted.sentences[4]);
    let receiver = Receiver::away();
    receiver.come();
    let good = format!("log: {{ level: trace, format: json }}\n{}", receiver.settings());
    home.configure(&good);
    let daemon = Running::with(&home, |command| receiver.secrets(command).env("A_TOKEN", &planted.tokens[0]));
    wait_until("the channel is open", || {
        daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#).is_some()
    });

    plant_in_the_journal(&home, &planted, &messages, &mut heard);
    plant_in_commands(&home, &planted, &ask, &mut heard);
    plant_in_settings(&home, &planted, &good, &mut heard);
    plant_at_the_doors(&home, &daemon, &planted, &mut heard);
    ask_everything(&home, &ask, &mut heard);
    wait_until("everything was told", || {
        daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#) == Some(0.0)
    });
    let pages = ["/metrics", "/health"].map(|page| daemon.get(page).1);
    let log = daemon.terminated().log;

    let bodies: Vec<String> = receiver.heard().into_iter().map(|one| one.body).collect();
    assert!(bodies.iter().any(|body| body.contains("[REDACTED_")), "{bodies:?}");
    planted.are_not_in("what the webhook was sent", bodies.join("\n").as_bytes());
    planted.are_not_in("the daemon's log", log.as_bytes());
    planted.are_not_in("the health door", pages.join("\n").as_bytes());
    for (args, said) in &heard.0 {
        let told: Vec<&String> =
            planted.needles.iter().filter(|needle| args.contains(needle.as_str())).collect();
        planted.are_not_in(
            &format!("what {} arguments with {} secrets led to", args.len(), told.len()),
            said.as_bytes(),
        );
    }
    planted.are_not_in("the support bundle", &unpacked(&home.beside("bundle.tar.gz")));
    let files = tree_bytes(home.path().parent().unwrap());
    assert!(files.len() > 10);
    for (path, bytes) in &files {
        planted.are_not_in(&path.display().to_string(), bytes);
    }
    let journal: Vec<&Vec<u8>> = files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "jsonl"))
        .map(|(_, b)| b)
        .collect();
    assert!(journal.iter().any(|bytes| String::from_utf8_lossy(bytes).contains("[REDACTED_GITHUB_TOKEN]")));
    let _: Value = serde_json::from_str(log.lines().next().unwrap_or("null")).unwrap();
}
