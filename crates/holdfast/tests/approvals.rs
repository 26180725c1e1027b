//! Approvals as a person, a part and an agent meet them: real commands, a real daemon, its socket.
//!
//! No command asks for an approval. The asks here are made with the library, as a part of the daemon would, on a home
//! that nobody has open.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "daemon/running.rs"]
mod running;
#[path = "approvals/webhook.rs"]
mod webhook;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast_approval::{
    Action, ApprovalProjection, Approvals, Error, Life, NewAsk, Now, Refusal, Verdict, Word, sign,
};
use holdfast_control::{Answer, Append, Content, Request, connect};
use holdfast_journal::{Journal, Options, SystemClock};
use holdfast_keys::{Role, SecretKey, file};
use holdfast_store::Index;
use holdfast_types::{Clock, Exit, Problem, Timestamp, Trust};
use home::{Home, filters};
use running::{Looking, Running, wait_for, wait_until};
use serde_json::json;

fn now() -> Timestamp {
    SystemClock::new().now()
}

fn action(n: u64) -> Action {
    let what = json!({"option": "swapDevices[0].size", "from": 1024, "to": 1024 + n});
    Action::new("steward.trial".parse().unwrap(), "web-1".parse().unwrap(), &what).unwrap()
}

fn key(home: &Home, name: &str, role: Role) -> SecretKey {
    file::read_key(&home.path().join("etc/keys").join(name), role).unwrap().key
}

/// The inbox of a home that nobody has open, as a part of the daemon would have it.
fn inbox(home: &Home) -> Approvals {
    let clock = Arc::new(SystemClock::new());
    let journal = Journal::open(Options {
        dir: home.journal(),
        signers: vec![key(home, "log.key", Role::Log)],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock: clock.clone(),
        vault: None,
        archive: None,
        limits: Default::default(),
    });
    let journal = journal.unwrap();
    let projection = Box::new(ApprovalProjection::new(journal.origin().clone()));
    let path = home.path().with_file_name("inbox.db");
    let (index, _) = Index::open(&path, vec![projection], clock).unwrap();
    Approvals::new(journal, Arc::new(index), Arc::new(holdfast_screen::GuardScreen::builtin()))
}

fn asked_at(home: &Home, n: u64, at: Timestamp, lifetime: Duration) -> Life {
    let ask = NewAsk {
        evidence: vec!["Memory pressure rose from 2 % to 31 % at 03:14 and stayed.".into()],
        lifetime,
        ..NewAsk::new(action(n), "steward".parse().unwrap(), format!("Raise swap on web-1 by {n} MiB."))
    };
    inbox(home).ask(ask, Now::Good(at)).unwrap().life
}

fn asked(home: &Home, n: u64) -> Life {
    asked_at(home, n, now(), Duration::from_secs(3600))
}

/// What the part that asked does once it is allowed.
fn redeem(home: &Home, life: &Life, n: u64) -> Result<u64, Error> {
    let trust = file::load_trust(&home.path().join("etc/trust.json")).unwrap();
    let by = "steward".parse().unwrap();
    inbox(home).redeem(life.ask.id, &action(n), &by, &trust, Now::Good(now())).map(|r| r.seq())
}

/// Ids are given out at random.
fn same(home: &Home, text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("apr_") {
        out.push_str(&rest[..at]);
        out.push_str("apr_[ID]");
        rest = &rest[at + 30..];
    }
    home.same(&(out + rest))
}

// shows: CON-090
#[test]
fn asks_are_listed_shown_and_decided_and_an_unknown_one_is_an_error() {
    let home = Home::made("web-1");
    home.run(&["approvals"]).ok().shows("nothing waits for you");
    let (first, second) = (asked(&home, 512), asked(&home, 256));
    let (id, other) = (first.ask.id.to_string(), second.ask.id.to_string());
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(same(&home, &home.run(&["approvals"]).ok().out), @r#"
        ▲ 2 asks wait for you

        ▲ apr_[ID]  asked
          steward.trial on web-1: Raise swap on web-1 by 256 MiB.
          asked by steward [TIME], ends [TIME]

        ▲ apr_[ID]  asked
          steward.trial on web-1: Raise swap on web-1 by 512 MiB.
          asked by steward [TIME], ends [TIME]

        look at one: holdfast approvals show ID
        "#);
        insta::assert_snapshot!(same(&home, &home.run(&["approvals", "show", &id]).ok().out), @r#"
        ▲ apr_[ID]  asked

          Raise swap on web-1 by 512 MiB.

        why
          Memory pressure rose from 2 % to 31 % at 03:14 and stayed.

        exactly
          {
            "from": 1024,
            "option": "swapDevices[0].size",
            "to": 1536
          }

          subject   steward.trial
          target    web-1
          digest    sha256:[ROOT]
          asked by  steward, [TIME]
          ends      [TIME]
          entry     1
        "#);
    });
    let done = home.run(&["approve", &id, "--yes", "--reason", "watched it for a week"]).ok();
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(same(&home, &done.out), @r"
        ● approved: apr_[ID], recorded as entry 3
          see what becomes of it: holdfast approvals show apr_[ID]
        ");
    });
    let again = home.json(&["approve", &id, "--yes"]);
    assert_eq!((&again["repeated"], &again["state"]), (&json!(true), &json!("approved")));
    home.run(&["reject", &id, "--yes"]).ends(1).says("HF-APR-008");
    home.run(&["reject", &other, "--yes", "--reason", "not on a Friday"]).ok().shows("rejected");
    let listed = home.json(&["approvals", "list", "--all"]);
    let states: Vec<_> = listed["approvals"].as_array().unwrap().iter().map(|a| a["state"].clone()).collect();
    assert_eq!(states, ["rejected", "approved"]);
    let shown = home.json(&["approvals", "show", &other]);
    assert_eq!(shown["decision"]["reason"], "not on a Friday");

    let used = redeem(&home, &first, 512).unwrap();
    let shown = home.json(&["approvals", "show", &id]);
    assert_eq!((&shown["state"], &shown["ended_as"]), (&json!("used"), &json!(used)));
    assert!(matches!(redeem(&home, &first, 512), Err(Error::Refused(Refusal::SecondUse { .. }))));
    assert!(matches!(redeem(&home, &second, 256), Err(Error::Refused(Refusal::Rejected { .. }))));

    let unknown = "apr_01arz3ndektsv4rrffq69g5fav";
    for command in [&["approve", unknown, "--yes"][..], &["reject", unknown], &["approvals", "show", unknown]]
    {
        home.run(command).ends(2).says("HF-APR-001");
    }
    home.run(&["approve", "agt_01arz3ndektsv4rrffq69g5fav"]).ends(2).says("must start with apr_");
}

#[test]
fn a_daemon_takes_verdicts_tells_people_what_waits_and_writes_down_what_expired() {
    let home = Home::made("web-1");
    let late = asked_at(&home, 1, past(7200), Duration::from_secs(3600));
    let life = asked(&home, 2);
    let id = life.ask.id.to_string();
    let daemon = Running::on(&home);
    let told = wait_for("people are told", || {
        home.told().into_iter().find(|n| n["message"].as_str().unwrap().starts_with("An ask waits for you"))
    });
    assert!(told["message"].as_str().unwrap().contains(&format!("holdfast approvals show {id}")), "{told}");
    // What somebody needs who signs the answer elsewhere.
    let of = |name: &str| told["context"][name].as_str().unwrap().to_owned();
    assert_eq!((of("ask"), of("digest")), (id.clone(), life.ask.digest().to_string()));
    assert_eq!((of("subject"), of("target")), ("steward.trial".to_owned(), "web-1".to_owned()));
    assert_eq!(
        (of("origin"), of("expires_at")),
        ("holdfast/web-1".to_owned(), life.ask.expires_at.to_string())
    );
    wait_until("the expiry is written down", || {
        home.bodies("approval.ask.expired") == [json!({"ask": late.ask.id})]
    });
    home.run(&["approvals"]).ok().shows(&id).shows("1 ask waits for you");
    home.run(&["approve", &late.ask.id.to_string(), "--yes"]).ends(1).says("HF-APR-006");
    let taken = home.json(&["approve", &id, "--yes"]);
    assert_eq!((&taken["state"], &taken["repeated"]), (&json!("approved"), &json!(false)));
    let given = home.entries().into_iter().find(|e| e["kind"] == "approval.verdict.given").unwrap();
    assert_eq!(given["seq"], taken["recorded_as"]);
    assert_eq!(
        given["actor"], given["body"]["document"]["payload"]["by"],
        "who decided is in the signed part"
    );
    daemon.terminated().well();
    redeem(&home, &life, 2).unwrap();
}

#[test]
fn a_home_that_somebody_else_has_open_is_read_and_nothing_is_decided() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let id = life.ask.id.to_string();
    let held = inbox(&home);
    home.run(&["approvals"]).ok().shows(&id);
    home.run(&["approve", &id, "--yes"]).ends(6).says("HF-JRN-001");
    drop(held);
    assert_eq!(home.json(&["approvals", "show", &id])["state"], "asked");
}

fn past(seconds: i64) -> Timestamp {
    Timestamp::from_micros(now().as_micros() - seconds * 1_000_000).unwrap()
}

/// What a verdict about this ask would say.
fn verdict(life: &Life) -> Verdict {
    Verdict {
        ask: life.ask.id,
        digest: life.ask.digest(),
        verdict: Word::Approve,
        by: "uid:0".parse().unwrap(),
        reason: None,
        issued_at: now(),
        expires_at: life.ask.expires_at,
        origin: "holdfast/web-1".parse().unwrap(),
    }
}

fn submit(home: &Home, request: Request) -> Result<Answer, Problem> {
    connect(&home.socket()).unwrap().unwrap().ask(request, &mut |_| {})
}

fn signed(life: &Life, key: &SecretKey) -> Request {
    let document = sign(&verdict(life), key).unwrap().to_bytes().unwrap();
    Request::Verdict { document: String::from_utf8(document).unwrap() }
}

// shows: CON-091, CON-F45
#[test]
fn a_client_of_the_socket_cannot_approve_without_the_approvals_key_and_the_attempt_is_written_down() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let daemon = Running::on(&home);
    // Made by an agent itself; made with the key that the daemon itself signs with; no signature at all.
    let stranger = SecretKey::generate().unwrap();
    let log = key(&home, "log.key", Role::Log);
    let attempts = [
        (signed(&life, &stranger), "HF-APR-010", Exit::Refused),
        (signed(&life, &log), "HF-APR-011", Exit::Refused),
        (Request::Verdict { document: json!({"approved": true}).to_string() }, "HF-APR-009", Exit::Negative),
    ];
    for (n, (request, code, exit)) in attempts.into_iter().enumerate() {
        let refused = submit(&home, request).unwrap_err();
        assert_eq!((refused.code.to_string().as_str(), refused.exit), (code, exit));
        let noted = home.bodies("approval.verdict.refused");
        assert_eq!((noted.len(), noted[n]["code"].as_str()), (n + 1, Some(code)));
    }
    let noted = home.bodies("approval.verdict.refused");
    assert_eq!((&noted[0]["key"], &noted[0]["ask"]), (&json!(stranger.id()), &json!(life.ask.id)));
    // Nor by writing the entry that would say so, or by taking the key of one.
    let append = |kind: &str, key: Option<&str>| {
        Request::Append(Box::new(Append {
            kind: kind.parse().unwrap(),
            actor: "agent-1".parse().unwrap(),
            subject: None,
            run: None,
            cause: None,
            key: key.map(|key| key.parse().unwrap()),
            trust: Trust::Admin,
            content: Content::Body(serde_json::Map::new()),
        }))
    };
    let used = format!("approval-used:{}", life.ask.id);
    for request in [append("approval.verdict.given", None), append("agent.note.added", Some(&used))] {
        assert_eq!(submit(&home, request).unwrap_err().exit, Exit::Refused);
    }
    assert_eq!(home.json(&["approvals", "show", &life.ask.id.to_string()])["state"], "asked");
    // The key itself is readable by its owner alone.
    let mode = std::fs::metadata(home.path().join("etc/keys/approvals.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    daemon.terminated().well();
    assert!(matches!(redeem(&home, &life, 1), Err(Error::Refused(Refusal::NotApproved { .. }))));
}

#[test]
fn the_daemon_verifies_without_ever_having_the_key() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let path = home.path().join("etc/keys/approvals.key");
    let key = key(&home, "approvals.key", Role::Approvals);
    std::fs::remove_file(&path).unwrap();
    let daemon = Running::on(&home);
    // A key that is believed and not here is not made anew behind its owner's back.
    home.run(&["approve", &life.ask.id.to_string(), "--yes"]).ends(2).says("HF-KEY-021");
    assert!(!path.exists());
    assert!(matches!(submit(&home, signed(&life, &key)), Ok(Answer::Verdict(_))));
    daemon.terminated().well();
}

#[test]
fn a_home_made_before_there_were_approvals_gets_its_key_when_it_is_first_needed() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let (path, trust) = (home.path().join("etc/keys/approvals.key"), home.path().join("etc/trust.json"));
    std::fs::remove_file(&path).unwrap();
    let mut set: serde_json::Value = serde_json::from_slice(&std::fs::read(&trust).unwrap()).unwrap();
    set["keys"].as_array_mut().unwrap().retain(|key| key["role"] != "approvals");
    std::fs::write(&trust, set.to_string()).unwrap();
    home.run(&["approve", &life.ask.id.to_string(), "--yes"]).ok();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    redeem(&home, &life, 1).unwrap();
}

#[test]
fn nothing_is_signed_without_a_yes() {
    let home = Home::made("web-1");
    let life = asked(&home, 512);
    let id = life.ask.id.to_string();
    let before = home.entries().len();
    home.run(&["approve", &id])
        .ends(2)
        .says("HF-CLI-031")
        .says("\"to\": 1536")
        .says(&life.ask.digest().to_string());
    assert_eq!(home.run(&["--json", "reject", &id]).ends(2).error()["code"], "HF-CLI-031");
    home.run(&["approve", &id, "--dry-run"]).ok().shows("would approve it").shows("\"to\": 1536");
    assert_eq!(home.json(&["reject", &id, "--dry-run"])["recorded_as"], json!(null));
    home.run(&["approve", &id, "--yes", "--reason", &"x".repeat(501)]).ends(2).says("500 characters");
    let token = format!("ghp_{}", "a1B2".repeat(9));
    home.run(&["approve", &id, "--yes", "--reason", &token]).ends(2).says("looks like a secret");
    assert_eq!(home.entries().len(), before);
    assert_eq!(on_a_terminal(&home, &["approve", &id], "n\n").0, Some(1));
    assert_eq!(on_a_terminal(&home, &["approve", &id], "\n").0, Some(1));
    assert_eq!(home.entries().len(), before);
    let (code, said) = on_a_terminal(&home, &["approve", &id], "y\n");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Allow exactly this, once? [y/N]") && said.contains("approved:"), "{said}");
    redeem(&home, &life, 512).unwrap();
}

/// Runs a command with a terminal at all three streams. Types a yes before it is asked anything, which must count for
/// nothing, and the answer when it is asked.
fn on_a_terminal(home: &Home, args: &[&str], answer: &str) -> (Option<i32>, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::{Read as _, Write as _};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = PathBuf::from(ptsname(&ours, Vec::new()).unwrap().into_string().unwrap());
    let open = || std::fs::File::options().read(true).write(true).open(&theirs).unwrap();
    let mut command = home.command(args);
    command.stdin(open()).stdout(open()).stderr(open());
    let mut ours = std::fs::File::from(ours);
    ours.write_all(b"y\n").unwrap();
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut said, mut bytes, mut answered) = (Vec::new(), [0; 1024], false);
    // Reading ends with an error once nobody has the other side open.
    while let Ok(n) = ours.read(&mut bytes) {
        said.extend_from_slice(&bytes[..n]);
        if !answered && said.ends_with(b"[y/N] ") {
            ours.write_all(answer.as_bytes()).unwrap();
            answered = true;
        }
    }
    (child.wait().unwrap().code(), String::from_utf8_lossy(&said).into_owned())
}
