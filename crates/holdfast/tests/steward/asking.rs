//! Approvals in practice: a steward asks, people are told by webhook, and their signed answer comes back over HTTP.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use holdfast_journal::SystemClock;
use holdfast_steward::event::Event;
use holdfast_steward::ladder::Level;
use holdfast_types::{Clock as _, Timestamp};
use serde_json::{Value, json};

use crate::home::{self, Home};
use crate::receiver::{Heard, Receiver};
use crate::running::{Looking, Running, an_address, tell, wait_for, wait_until};
use crate::{FAST, PRESSED, SLOW, asked, ended, episodes, phase, target, trusted, untouched, write};

fn now() -> Timestamp {
    SystemClock::new().now()
}

/// A home whose steward asks before each change, whoever it tells, and where answers are taken.
struct Asking {
    home: Home,
    receiver: Receiver,
    door: SocketAddr,
    /// Another machine: a folder with a copy of the key.
    elsewhere: tempfile::TempDir,
}

impl Asking {
    fn at(speed: u32) -> Asking {
        let home = trusted(speed, Level::ApproveEach, PRESSED);
        let receiver = Receiver::away();
        receiver.come();
        let door = an_address();
        let targets =
            format!("steward:\n  targets:\n    - {{ name: box-1, driver: sim, seed: 7, speed: {speed} }}\n");
        let verdicts = format!("approvals:\n  webhook: {{ listen: \"{door}\" }}\n");
        home.configure(&format!("{targets}{verdicts}{}", receiver.settings()));
        let elsewhere = tempfile::tempdir().unwrap();
        let key = elsewhere.path().join("key");
        std::fs::copy(home.path().join("etc/keys/approvals.key"), &key).unwrap();
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
        Asking { home, receiver, door, elsewhere }
    }

    fn daemon(&self) -> Running {
        Running::with(&self.home, |command| self.receiver.secrets(command))
    }

    /// The notice of an ask, as it reached whoever is told.
    fn told(&self) -> Heard {
        wait_for("people are told what waits", || {
            self.receiver.heard().into_iter().find(|one| one.message.starts_with("An ask waits for you: "))
        })
    }

    /// What somebody elsewhere signs, who has nothing but that notice and their key.
    fn signed(&self, verdict: &str, notice: &str) -> String {
        let (ask, key) = (self.elsewhere.path().join("notice.json"), self.elsewhere.path().join("key"));
        std::fs::write(&ask, notice).unwrap();
        let args = [verdict, "--ask", ask.to_str().unwrap(), "--key", key.to_str().unwrap(), "--yes"];
        home::run(home::bare_command(&args), None).ok().out
    }

    fn post(&self, document: &str) -> (u16, Value) {
        let head = format!(
            "POST /approvals/verdict HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            document.len()
        );
        let answer = tell(self.door, format!("{head}{document}").as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (code, serde_json::from_str(body).unwrap_or_default())
    }

    fn bodies_of(&self, kind: &str) -> Vec<Value> {
        self.home.bodies(kind)
    }
}

// shows: STW-357, STW-166, STW-196
#[test]
fn what_a_steward_wants_is_told_by_webhook_and_the_signed_answer_that_is_posted_back_lets_it_be_tried_once() {
    let asking = Asking::at(SLOW * 10);
    let home = &asking.home;
    let _daemon = asking.daemon();
    asked(home);
    let notice = asking.told();
    let told: Value = serde_json::from_str(&notice.body).unwrap();
    let context = &told["context"];
    assert_eq!(
        (&context["subject"], &context["target"]),
        (&json!("steward.trial"), &json!("box-1")),
        "{told}"
    );
    assert!(notice.signature.starts_with("v1,"), "{notice:?}");
    let ask = home.json(&["approvals", "show", context["ask"].as_str().unwrap()]);
    assert_eq!((&ask["digest"], &ask["state"]), (&context["digest"], &json!("asked")));
    // Bound to what would run there and what is gone back to, for a day of the target's time.
    assert_eq!(ask["action"]["known_good"], json!(untouched()));
    assert!(ask["action"]["candidate"].is_string() && ask["action"]["episode"].is_string(), "{ask}");
    let at = |name: &str| ask[name].as_str().unwrap().parse::<Timestamp>().unwrap();
    let day = Duration::from_secs(24 * 3600 / u64::from(SLOW * 10));
    assert_eq!(at("expires_at").since(at("asked_at")), day);
    // Nothing is held and nothing has begun while it waits.
    assert_eq!(phase(home).as_deref(), Some("waiting"));
    assert_eq!(target(home)["open"]["undone_in_seconds"], Value::Null, "no lease");
    assert!(!home.state("steward/box-1.window.json").exists(), "no window record");
    assert!(asking.bodies_of("steward.trial.counted").is_empty());

    // Of another action, for another target, by another key, for another instance: none of them counts.
    let changed = |name: &str, value: Value| {
        let mut other = told.clone();
        other["context"][name] = value;
        asking.signed("approve", &other.to_string())
    };
    let other = format!("sha256:{}", "0".repeat(64));
    assert_eq!(asking.post(&changed("digest", json!(other))).0, 409);
    assert_eq!(asking.post(&changed("origin", json!("holdfast/another"))).0, 403);
    let soon = now().plus(Duration::from_secs(1));
    let brief = changed("expires_at", json!(soon));
    wait_until("it has ended", || now() > soon);
    let (code, late) = asking.post(&brief);
    assert_eq!((code, &late["error"]["code"]), (410, &json!("HF-APR-006")), "{late}");
    let approval = asking.signed("approve", &notice.body);
    let forged = approval.replace("\"approve\"", "\"reject\"");
    assert_eq!(asking.post(&forged).0, 403);
    assert_eq!(phase(home).as_deref(), Some("waiting"));

    let (code, taken) = asking.post(&approval);
    assert_eq!((code, &taken["state"], &taken["id"]), (200, &json!("approved"), &context["ask"]), "{taken}");
    wait_until("it is tried", || !asking.bodies_of("steward.trial.counted").is_empty());
    let entries = home.entries();
    let seq = |kind: &str| {
        let found: Vec<u64> =
            entries.iter().filter(|e| e["kind"] == kind).map(|e| e["seq"].as_u64().unwrap()).collect();
        assert_eq!(found.len(), 1, "{kind}: {found:?}");
        found[0]
    };
    let (given, used, counted) =
        (seq("approval.verdict.given"), seq("approval.ask.used"), seq("steward.trial.counted"));
    assert!(given < used && used < counted, "approved, used up, tried: {given}, {used}, {counted}");
    // Whoever has listened, and sends the same again.
    let (code, again) = asking.post(&approval);
    assert_eq!((code, &again["error"]["code"]), (409, &json!("HF-APR-008")), "{again}");
    wait_until("it is kept", || !asking.bodies_of("steward.trial.kept").is_empty());
    let kept = asking.bodies_of("steward.trial.kept").remove(0);
    assert_eq!(
        (&kept["episode"], &kept["identity"]),
        (&ask["action"]["episode"], &ask["action"]["candidate"])
    );
    assert_ne!(target(home)["known_good"], json!(untouched()));
    assert_eq!(asking.bodies_of("approval.ask.used").len(), 1);
}

// shows: STW-166
#[test]
fn what_is_refused_by_webhook_or_answered_by_nobody_ends_without_being_tried() {
    let asking = Asking::at(FAST / 2);
    let home = &asking.home;
    let daemon = asking.daemon();
    asked(home);
    let notice = asking.told();
    let rejection = asking.signed("reject", &notice.body);
    assert_eq!(asking.post(&rejection).1["state"], "rejected");
    let refused = ended(home, "refused");
    assert!(refused["reason"].as_str().unwrap().contains("a person said no"), "{refused}");
    // An approval that comes after it changes nothing.
    let approval = asking.signed("approve", &notice.body);
    assert_eq!(asking.post(&approval).0, 409);
    daemon.killed();

    // Nobody answers the next: its day passes while nobody runs, and it ends.
    let asking = Asking::at(SLOW);
    let home = &asking.home;
    let daemon = asking.daemon();
    asked(home);
    let notice = asking.told();
    wait_until("it waits", || phase(home).as_deref() == Some("waiting"));
    daemon.terminated().well();
    write(home, PRESSED + 25 * 3_600_000, vec![Event::Rehearsed { tripwire: false }]);
    let _daemon = asking.daemon();
    let unanswered = ended(home, "refused");
    assert!(unanswered["reason"].as_str().unwrap().contains("nobody answered in time"), "{unanswered}");
    let approval = asking.signed("approve", &notice.body);
    let (code, late) = asking.post(&approval);
    assert_eq!((code, &late["error"]["code"]), (410, &json!("HF-APR-005")), "it was taken back: {late}");
    for one in episodes(home) {
        assert_ne!(one["outcome"], "kept", "{one}");
    }
    assert!(asking.bodies_of("steward.trial.counted").is_empty());
    assert_eq!(target(home)["known_good"], json!(untouched()));
}
