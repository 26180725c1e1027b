//! Verdicts signed elsewhere and handed in over HTTP: a real daemon, real requests, and whatever somebody might send instead.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_approval::{Life, PURPOSE, Verdict, Word, sign};
use holdfast_keys::{Role, SecretKey, file};
use serde_json::{Value, json};

use crate::home::{self, Home};
use crate::running::{LONG, Looking, Running, an_address, wait_for, wait_until};
use crate::{asked, asked_at, key, now, past, redeem, verdict};

/// A daemon that takes verdicts, and where.
pub fn with_door(home: &Home, per_minute: u32) -> (Running, SocketAddr) {
    let door = an_address();
    let daemon = Running::with(home, |command| {
        command
            .args(["--set", &format!("approvals.webhook.listen={door}")])
            .args(["--set", &format!("approvals.webhook.per_minute={per_minute}")])
    });
    assert_eq!(daemon.ready["verdicts"], json!(format!("http://{door}/approvals/verdict")));
    (daemon, door)
}

/// What the head of a request says, and the whole of its answer.
fn exchange(door: SocketAddr, head: &str, body: &[u8]) -> (u16, String, Value) {
    let mut stream = TcpStream::connect_timeout(&door, LONG).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // A door that has seen enough answers before everything has come.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let _ = stream.shutdown(Shutdown::Write);
    answer_of(stream)
}

fn answer_of(mut stream: TcpStream) -> (u16, String, Value) {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (code, head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Hands a document in as a sender does.
pub fn post(door: SocketAddr, document: &[u8]) -> (u16, Value) {
    let length = document.len();
    let head = format!(
        "POST /approvals/verdict HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    let (code, _, body) = exchange(door, &head, document);
    (code, body)
}

fn document(verdict: &Verdict, key: &SecretKey) -> Vec<u8> {
    sign(verdict, key).unwrap().to_bytes().unwrap()
}

fn of_home(home: &Home) -> SecretKey {
    key(home, "approvals.key", Role::Approvals)
}

fn counted(daemon: &Running, result: &str) -> f64 {
    daemon.metric(&format!("holdfast_webhook_verdicts_total{{result=\"{result}\"}}")).unwrap()
}

fn state(home: &Home, life: &Life) -> Value {
    home.json(&["approvals", "show", &life.ask.id.to_string()])["state"].clone()
}

/// Another machine: a folder with nothing but a key.
struct Elsewhere(tempfile::TempDir);

impl Elsewhere {
    fn with_the_key_of(home: &Home) -> Elsewhere {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("approvals.key");
        std::fs::copy(home.path().join("etc/keys/approvals.key"), &key).unwrap();
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
        Elsewhere(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Signs what a file asks. No home, no daemon, not even a name for one.
    fn signs(&self, verdict: &str, ask: &Path, more: &[&str]) -> home::Ran {
        let key = self.path("approvals.key");
        let mut args = vec![verdict, "--ask", ask.to_str().unwrap(), "--key", key.to_str().unwrap()];
        args.extend(more);
        home::run(home::bare_command(&args), None)
    }
}

#[test]
fn a_verdict_signed_elsewhere_is_taken_over_http_once_and_what_was_asked_may_begin() {
    let home = Home::made("web-1");
    let (yes, no) = (asked(&home, 1), asked(&home, 2));
    let elsewhere = Elsewhere::with_the_key_of(&home);
    let whole = |life: &Life| {
        let shown = home.run(&["--json", "approvals", "show", &life.ask.id.to_string()]).ok().out;
        elsewhere.put(&format!("{}.json", life.ask.id), &shown)
    };
    let (ask_yes, ask_no) = (whole(&yes), whole(&no));
    let (daemon, door) = with_door(&home, 600);
    let approval = elsewhere.signs("approve", &ask_yes, &["--yes", "--reason", "seen on my phone"]).ok().out;
    let (code, taken) = post(door, approval.as_bytes());
    assert_eq!(
        (code, &taken["state"], &taken["repeated"]),
        (200, &json!("approved"), &json!(false)),
        "{taken}"
    );
    assert_eq!(taken["id"], json!(yes.ask.id));
    let given = home.entries().into_iter().find(|entry| entry["kind"] == "approval.verdict.given").unwrap();
    assert_eq!(given["seq"], taken["recorded_as"]);
    assert_eq!(given["body"]["document"], serde_json::from_str::<Value>(&approval).unwrap(), "to the byte");
    let shown = home.json(&["approvals", "show", &yes.ask.id.to_string()]);
    assert_eq!(shown["decision"]["reason"], "seen on my phone");
    // Whoever sends it again, or has listened and sends it again, changes nothing.
    for _ in 0..3 {
        let (code, again) = post(door, approval.as_bytes());
        assert_eq!(
            (code, &again["repeated"], &again["recorded_as"]),
            (200, &json!(true), &taken["recorded_as"])
        );
    }
    let rejection = elsewhere.signs("reject", &ask_yes, &["--yes"]).ok().out;
    let (code, late) = post(door, rejection.as_bytes());
    assert_eq!((code, &late["error"]["code"]), (409, &json!("HF-APR-008")), "{late}");
    let rejection = elsewhere.signs("reject", &ask_no, &["--yes"]).ok().out;
    assert_eq!(post(door, rejection.as_bytes()).1["state"], "rejected");
    assert_eq!(counted(&daemon, "taken"), 2.0);
    assert_eq!((counted(&daemon, "repeated"), counted(&daemon, "refused")), (3.0, 1.0));
    daemon.terminated().well();
    redeem(&home, &yes, 1).unwrap();
    assert!(redeem(&home, &yes, 1).is_err() && redeem(&home, &no, 2).is_err());
    // Used up, it counts for nothing any more, and is told so.
    let (_daemon, door) = with_door(&home, 600);
    let (code, used) = post(door, approval.as_bytes());
    assert_eq!((code, &used["error"]["code"]), (409, &json!("HF-APR-008")), "{used}");
}

#[test]
fn what_does_not_count_is_refused_by_name_counted_and_logged_without_what_it_says() {
    let home = Home::made("web-1");
    let late = asked_at(&home, 1, past(7200), Duration::from_secs(3600));
    let life = asked(&home, 2);
    let good = of_home(&home);
    let said = "heard it from a friend";
    let honest = Verdict { reason: Some(said.to_owned()), ..verdict(&life) };
    let with = |change: &dyn Fn(&mut Verdict)| {
        let mut changed = honest.clone();
        change(&mut changed);
        document(&changed, &good)
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let mut twice = sign(&honest, &good).unwrap();
    twice.sign_also(PURPOSE, &SecretKey::generate().unwrap(), Role::Approvals, honest.issued_at);
    let over = Verdict { expires_at: now().plus(Duration::from_secs(60)), ..verdict(&late) };
    let attempts = [
        (
            "unknown ask",
            with(&|v| v.ask = "apr_01arz3ndektsv4rrffq69g5fav".parse().unwrap()),
            404,
            "HF-APR-001",
        ),
        ("another digest", with(&|v| v.digest = late.ask.digest()), 409, "HF-APR-002"),
        ("another ask's", with(&|v| v.ask = late.ask.id), 409, "HF-APR-002"),
        ("too late", document(&over, &good), 410, "HF-APR-006"),
        ("before there was a key", with(&|v| v.issued_at = past(3600)), 403, "HF-APR-012"),
        ("another instance", with(&|v| v.origin = "holdfast/web-2".parse().unwrap()), 403, "HF-APR-015"),
        ("a stranger's key", document(&honest, &SecretKey::generate().unwrap()), 403, "HF-APR-010"),
        ("the daemon's own key", document(&honest, &key(&home, "log.key", Role::Log)), 403, "HF-APR-011"),
        (
            "changed on the way",
            text(with(&|_| ())).replace(said, "heard it from a fiend").into(),
            403,
            "HF-APR-014",
        ),
        ("another word", text(with(&|_| ())).replace("\"approve\"", "\"reject\"").into(), 403, "HF-APR-014"),
        (
            "longer than asked for",
            with(&|v| v.expires_at = v.expires_at.plus(Duration::from_secs(1))),
            400,
            "HF-APR-009",
        ),
        ("two signatures", twice.to_bytes().unwrap(), 400, "HF-APR-009"),
        ("cut short", with(&|_| ())[..300].to_vec(), 400, "HF-APR-009"),
        (
            "no signature",
            json!({"approved": true, "reason": said}).to_string().into_bytes(),
            400,
            "HF-APR-009",
        ),
        ("not JSON", said.as_bytes().to_vec(), 400, "HF-APR-009"),
        ("nothing", Vec::new(), 400, "HF-APR-009"),
        ("bytes", vec![0xff; 4096], 400, "HF-APR-009"),
        ("deep", "[".repeat(8000).into_bytes(), 400, "HF-APR-009"),
    ];
    let (daemon, door) = with_door(&home, 600);
    for (what, bytes, code, name) in &attempts {
        let (found, body) = post(door, bytes);
        assert_eq!((found, &body["error"]["code"]), (*code, &json!(name)), "{what}: {body}");
        assert!(body["error"]["message"].as_str().is_some_and(|it| it.len() > 10), "{what}: {body}");
    }
    assert_eq!(state(&home, &life), "asked");
    let (malformed, refused) = (counted(&daemon, "malformed"), counted(&daemon, "refused"));
    assert_eq!((malformed, refused), (8.0, 10.0));
    let noted = home.entries().into_iter().filter(|entry| entry["kind"] == "approval.verdict.refused");
    let noted: Vec<Value> = noted.collect();
    assert_eq!(noted.len(), attempts.len());
    assert!(noted.iter().all(|entry| entry["actor"] == "webhook"), "{noted:?}");
    let log = daemon.log();
    assert_eq!(log.matches("handed in as a verdict does not count").count(), attempts.len(), "{log}");
    assert!(log.contains("HF-APR-014") && !log.contains(said) && !log.contains("signatures"), "{log}");
    // The same words with everything right, and a key that is revoked the moment before.
    let trust = home.path().join("etc/trust.json");
    let mut set = file::load_trust(&trust).unwrap();
    set.revoke(good.id(), now(), "the phone is lost").unwrap();
    file::save_trust(&trust, &set).unwrap();
    let (code, body) = post(door, &with(&|_| ()));
    assert_eq!((code, &body["error"]["code"]), (403, &json!("HF-APR-013")), "{body}");
    assert_eq!(state(&home, &life), "asked");
    daemon.terminated().well();
    assert!(redeem(&home, &life, 2).is_err());
}

#[test]
fn a_key_that_is_revoked_after_the_verdict_was_taken_lets_nothing_begin() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let good = of_home(&home);
    let (daemon, door) = with_door(&home, 600);
    assert_eq!(post(door, &document(&verdict(&life), &good)).0, 200);
    daemon.terminated().well();
    let trust = home.path().join("etc/trust.json");
    let mut set = file::load_trust(&trust).unwrap();
    set.revoke(good.id(), now(), "the phone is lost").unwrap();
    file::save_trust(&trust, &set).unwrap();
    assert!(redeem(&home, &life, 1).is_err());
}

/// As `docs/approvals.md` says under "Whose word counts".
#[test]
fn a_key_of_another_machine_can_be_the_only_one_whose_word_counts() {
    let (home, people) = (Home::made("web-1"), Home::made("laptop"));
    let trust = home.path().join("etc/trust.json");
    let read = |home: &Home| -> Value {
        serde_json::from_slice(&std::fs::read(home.path().join("etc/trust.json")).unwrap()).unwrap()
    };
    let theirs = read(&people)["keys"].as_array().unwrap().clone();
    let theirs = theirs.into_iter().find(|key| key["role"] == "approvals").unwrap();
    let mut set = read(&home);
    for key in set["keys"].as_array_mut().unwrap().iter_mut().filter(|key| key["role"] == "approvals") {
        key["revoked"] = json!({ "at": now(), "reason": "the daemon's user can read it" });
    }
    set["keys"].as_array_mut().unwrap().push(theirs);
    std::fs::write(&trust, set.to_string()).unwrap();
    let life = asked(&home, 1);
    let (daemon, door) = with_door(&home, 600);
    assert_eq!(post(door, &document(&verdict(&life), &of_home(&home))).0, 403, "the home's own key");
    assert_eq!(state(&home, &life), "asked");
    assert_eq!(post(door, &document(&verdict(&life), &of_home(&people))).0, 200, "the other machine's");
    daemon.terminated().well();
    redeem(&home, &life, 1).unwrap();
}

#[test]
fn what_is_no_plain_request_is_refused_in_words_and_bounded_in_size() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let good = document(&verdict(&life), &of_home(&home));
    let (daemon, door) = with_door(&home, 600);
    let first = "POST /approvals/verdict HTTP/1.1\r\nHost: box\r\n";
    let json = "Content-Type: application/json\r\n";
    let whole = format!("Content-Length: {}\r\n", good.len());
    let more = format!("Content-Length: {}\r\n", good.len() + 7);
    let less = format!("Content-Length: {}\r\n", good.len() - 7);
    let chunked = [format!("{:x}\r\n", good.len()).as_bytes(), &good, b"\r\n0\r\n\r\n"].concat();
    let large = vec![b' '; 100_000];
    for (what, head, body, code) in [
        ("in pieces", format!("{first}{json}Transfer-Encoding: chunked\r\n\r\n"), &chunked, 411),
        ("in pieces and not", format!("{first}{json}{whole}Transfer-Encoding: chunked\r\n\r\n"), &good, 411),
        ("no length", format!("{first}{json}\r\n"), &good, 411),
        ("two lengths", format!("{first}{json}{whole}{less}\r\n"), &good, 400),
        ("cut short", format!("{first}{json}{more}\r\n"), &good, 400),
        ("longer than it says", format!("{first}{json}{less}\r\n"), &good, 400),
        ("too large", format!("{first}{json}Content-Length: 100000\r\n\r\n"), &large, 413),
        ("a head without end", format!("{first}X: {}", "x".repeat(20_000)), &good, 431),
        ("another type", format!("{first}Content-Type: text/plain\r\n{whole}\r\n"), &good, 415),
        ("no type", format!("{first}{whole}\r\n"), &good, 415),
        ("packed", format!("{first}{json}{whole}Content-Encoding: gzip\r\n\r\n"), &good, 415),
        ("a look", "GET /approvals/verdict HTTP/1.1\r\n\r\n".to_owned(), &Vec::new(), 405),
        (
            "a browser asking first",
            "OPTIONS /approvals/verdict HTTP/1.1\r\n\r\n".to_owned(),
            &Vec::new(),
            405,
        ),
        ("another page", "GET /metrics HTTP/1.1\r\n\r\n".to_owned(), &Vec::new(), 404),
        ("no request", "hello\r\n\r\n".to_owned(), &Vec::new(), 400),
        ("half a head", "POST /approvals/ver".to_owned(), &Vec::new(), 400),
    ] {
        let (found, _, answer) = exchange(door, &head, body);
        assert_eq!((found, &answer["error"]["code"]), (code, &json!("HF-APR-009")), "{what}: {answer}");
    }
    assert_eq!(counted(&daemon, "malformed"), 16.0);
    assert_eq!(state(&home, &life), "asked");
    // A sender that waits for a word first, as some do, gets it.
    let mut stream = TcpStream::connect(door).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(format!("{first}{json}{whole}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    let mut word = [0; 25];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(word.as_slice(), b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(&good).unwrap();
    assert_eq!(answer_of(stream).2["state"], "approved");
    daemon.terminated().well();
}

#[test]
fn whoever_sends_nothing_for_long_is_let_go_and_whoever_tries_too_often_waits() {
    let home = Home::made("web-1");
    let (life, other) = (asked(&home, 1), asked(&home, 2));
    let good = document(&verdict(&life), &of_home(&home));
    let (daemon, door) = with_door(&home, 20);
    // More than are taken in at once; each sends the beginning of a request, and no more.
    let files = || std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
    let before = files();
    let held: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(door).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let _gone = stream.write_all(b"POST /approvals/verdict HTTP/1.1\r\nX: ");
            stream
        })
        .collect();
    assert!(files() <= before + 16 + 16, "{before} files were open before, {} meanwhile", files());
    // The socket and the command line are other doors.
    home.run(&["approve", &other.ask.id.to_string(), "--yes"]).ok();
    let ends: Vec<u16> = held.into_iter().map(|stream| answer_of(stream).0).collect();
    let too_slow = ends.iter().filter(|code| **code == 408).count();
    assert!((1..=30).contains(&too_slow), "each that was taken in is told: {ends:?}");
    assert!(ends.iter().all(|code| [0, 408, 429].contains(code)), "{ends:?}");
    wait_until("it answers again", || post(door, &good).0 == 200);

    let head = wait_for("it is enough", || {
        let (code, head, _) = exchange(door, "GET /approvals/verdict HTTP/1.1\r\n\r\n", b"");
        (code == 429).then_some(head)
    });
    assert!(head.contains("Retry-After: "), "{head}");
    assert!(counted(&daemon, "limited") >= 1.0);
    daemon.terminated().well();
}

#[test]
fn of_two_verdicts_at_the_same_moment_one_counts() {
    let rounds = u64::from(holdfast_testkit::rounds(4, 12));
    let home = Home::made("web-1");
    let lives: Vec<Life> = (0..rounds).map(|n| asked(&home, n)).collect();
    let good = of_home(&home);
    let (daemon, door) = with_door(&home, 600);
    for life in &lives {
        let word = |word| document(&Verdict { verdict: word, ..verdict(life) }, &good);
        let (yes, no) = (word(Word::Approve), word(Word::Reject));
        let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
            let sent: Vec<_> = [&yes, &no, &yes, &no]
                .map(|bytes| scope.spawn(move || post(door, bytes)))
                .into_iter()
                .collect();
            sent.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let first: Vec<_> =
            answers.iter().filter(|(code, body)| *code == 200 && body["repeated"] == false).collect();
        assert_eq!(first.len(), 1, "{answers:?}");
        for (code, body) in &answers {
            match code {
                200 => assert_eq!(body["state"], first[0].1["state"], "{answers:?}"),
                409 => assert_eq!(body["error"]["code"], "HF-APR-008", "{answers:?}"),
                _ => panic!("{answers:?}"),
            }
        }
        assert_eq!(state(&home, life), first[0].1["state"]);
    }
    assert_eq!(home.bodies("approval.verdict.given").len(), lives.len());
    daemon.terminated().well();
}

#[test]
fn nobody_listens_for_verdicts_unless_the_configuration_says_so() {
    let home = Home::made("web-1");
    let life = asked(&home, 1);
    let daemon = Running::on(&home);
    assert_eq!(daemon.ready["verdicts"], Value::Null);
    let (code, _) = post(daemon.health, &document(&verdict(&life), &of_home(&home)));
    assert_eq!(code, 405);
    assert_eq!(state(&home, &life), "asked");
    daemon.terminated().well();
    // An address that others can reach has to be wanted.
    let refused = home.run(&["up", "--dry-run", "--set", "approvals.webhook.listen=0.0.0.0:9098"]).ends(2);
    assert!(refused.err.contains("allow_remote"), "{}", refused.err);
    // One that is taken is said before anything begins.
    let taken = std::net::TcpListener::bind(an_address()).unwrap();
    let at = format!("approvals.webhook.listen={}", taken.local_addr().unwrap());
    let health = format!("health.listen={}", an_address());
    home.run(&["up", "--set", &health, "--set", &at, "--set", "gateway.enabled=false"])
        .ends(6)
        .says("HF-CLI-022");
}

#[test]
fn an_ask_in_a_file_is_signed_without_a_home_and_what_is_wrong_with_it_is_said() {
    let home = Home::made("web-1");
    let life = asked(&home, 512);
    let elsewhere = Elsewhere::with_the_key_of(&home);
    let shown = home.json(&["approvals", "show", &life.ask.id.to_string()]);
    let ask = elsewhere.put("ask.json", &shown.to_string());
    // Without a yes and without a terminal: everything is shown, and nothing signed.
    let unsigned = elsewhere.signs("approve", &ask, &[]).ends(2).says("HF-CLI-031").says("\"to\": 1536");
    assert_eq!(unsigned.out, "");
    let dry =
        elsewhere.signs("reject", &ask, &["--dry-run"]).ok().shows("would reject it").shows("\"to\": 1536");
    assert!(!dry.out.contains("signatures"));
    let dry = elsewhere.signs("reject", &ask, &["--json", "--dry-run"]).ok().json();
    assert_eq!((&dry["payload"]["verdict"], &dry["dry_run"]), (&json!("reject"), &json!(true)));
    let signed = elsewhere.signs("approve", &ask, &["--yes"]).ok();
    assert_eq!(signed.out.lines().count(), 1);
    assert_eq!(signed.json()["payload"]["digest"], json!(life.ask.digest()));

    // What is shown is what is signed: an action that was changed on the way is none.
    let mut changed = shown.clone();
    changed["action"]["to"] = json!(999_999);
    let file = elsewhere.put("changed.json", &changed.to_string());
    elsewhere.signs("approve", &file, &["--yes"]).ends(1).says("HF-APR-002");
    let mut over = shown.clone();
    over["expires_at"] = json!("2026-01-01T00:00:00.000000Z");
    let file = elsewhere.put("over.json", &over.to_string());
    elsewhere.signs("approve", &file, &["--yes"]).ends(1).says("HF-APR-006");
    let mut decided = shown;
    decided["state"] = json!("rejected");
    let file = elsewhere.put("decided.json", &decided.to_string());
    elsewhere.signs("approve", &file, &["--yes"]).ends(1).says("HF-APR-008");
    for (name, text) in
        [("bytes", "\u{0}"), ("list", "[]"), ("notice", r#"{"message": "hello", "context": {}}"#)]
    {
        elsewhere.signs("approve", &elsewhere.put(name, text), &["--yes"]).ends(2);
    }
    elsewhere
        .signs("approve", &elsewhere.put("long", &" ".repeat(200_000)), &["--yes"])
        .ends(2)
        .says("HF-CLI-008");
    elsewhere.signs("approve", &elsewhere.path("none"), &["--yes"]).ends(3);
    // A key for something else, and one that others can read.
    let (log, key) = (home.path().join("etc/keys/log.key"), elsewhere.path("approvals.key"));
    let ask_path = ask.to_str().unwrap();
    let args = |key: &Path| {
        let key = key.to_str().unwrap().to_owned();
        home::run(home::bare_command(&["approve", "--ask", ask_path, "--key", &key, "--yes"]), None)
    };
    assert_ne!(args(&log).code, 0);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let open = args(&key);
    assert!(open.code != 0 && open.out.is_empty(), "{}", open.err);
    // Half of it is not enough, and one ask is.
    home::run(home::bare_command(&["approve", "--ask", ask_path]), None).ends(2);
    home::run(home::bare_command(&["approve"]), None).ends(2);
    let id = life.ask.id.to_string();
    let both = ["approve", &id, "--ask", ask_path, "--key", key.to_str().unwrap()];
    home::run(home::bare_command(&both), None).ends(2);
}
