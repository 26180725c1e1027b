//! Whatever stands behind the key and answers oddly or not at all: a call is over in time, costs no more than it may, and is no
//! figure. Over a real sshd, which has another program where the doorman would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::Role;
use holdfast_doorman::{Place, authorized_line};
use holdfast_steward_host::Unreached;
use holdfast_steward_host::collect::Source;
use holdfast_steward_host::{Line, Way};
use holdfast_testkit::lab::{self, Hosts};

const WITHIN: Duration = Duration::from_secs(2);
/// A call that was given up also has to be ended.
const AT_MOST: Duration = Duration::from_secs(4);

struct Peer {
    hosts: Hosts,
    folder: tempfile::TempDir,
}

impl Peer {
    fn new() -> Option<Peer> {
        let peer = Peer { hosts: lab::hosts("trixie", 1)?, folder: tempfile::tempdir().unwrap() };
        let key = peer.folder.path().join("observe");
        let mut keygen = Command::new("ssh-keygen");
        assert!(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().unwrap().success());
        let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        let line = authorized_line(&Place::default(), Role::Observe, &public, &[]).unwrap();
        let append = r#"mkdir -p /home/agent/.ssh && printf '%s\n' "$1" >/home/agent/.ssh/authorized_keys && chown -R agent /home/agent/.ssh && chmod -R go= /home/agent/.ssh"#;
        peer.must(&["sh", "-c", append, "append", &line]);
        std::fs::create_dir(peer.folder.path().join("s")).unwrap();
        Some(peer)
    }

    #[track_caller]
    fn must(&self, argv: &[&str]) -> String {
        let output = self.hosts[0].run(argv);
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn way(&self) -> Way {
        Way {
            address: self.hosts[0].address().to_string(),
            port: 22,
            alias: self.hosts[0].address().to_string(),
            known_hosts: self.hosts.known_hosts(),
            keys: self.folder.path().to_owned(),
            observer: "agent".to_owned(),
            actor: "agent".to_owned(),
            sockets: self.folder.path().join("s"),
        }
    }

    /// A doorman that does this.
    fn answering(&self, script: &str) -> Source {
        let program = Place::default().program;
        let put = r#"mkdir -p "${1%/*}" && printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 0755 "$1""#;
        self.must(&["sh", "-c", put, "put", program.to_str().unwrap(), script]);
        Source::Doorman(self.way())
    }

    /// The user's login shell does this whatever it is asked.
    fn shell(&self, script: &str) -> Source {
        let put = r#"printf '#!/bin/sh\n%s\n' "$1" >/usr/local/bin/odd && chmod 0755 /usr/local/bin/odd && usermod -s /usr/local/bin/odd agent"#;
        self.must(&["sh", "-c", put, "put", script]);
        let line = Line {
            key: self.hosts.key(),
            socket: self.folder.path().join("s/a"),
            ..self.way().line(Role::Observe)
        };
        Source::Account { line, units: vec!["web.service".parse().unwrap()] }
    }
}

/// How a call that cannot succeed ended.
#[track_caller]
fn ends(source: &Source, what: &str) -> Unreached {
    let began = Instant::now();
    let ended = source.collect_within(None, WITHIN);
    assert!(began.elapsed() < AT_MOST, "{what}: {:?}", began.elapsed());
    ended.err().unwrap_or_else(|| panic!("{what} is no answer"))
}

/// The largest file without a name that this process holds: what was said to it lies in such.
fn largest_held() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let lengths = open.filter_map(|entry| {
        let is_gone = std::fs::read_link(entry.path()).ok()?.to_string_lossy().ends_with("(deleted)");
        is_gone.then(|| std::fs::metadata(entry.path()).map_or(0, |it| it.len()))
    });
    lengths.max().unwrap_or(0)
}

// shows: STW-320
#[test]
fn a_doorman_that_hangs_garbles_floods_or_is_cut_off_ends_in_time() {
    let Some(peer) = Peer::new() else { return };

    let hangs = peer.answering("exec sleep 600");
    assert!(matches!(ends(&hangs, "hanging"), Unreached::TimedOut { .. }));
    let half = r#"printf '{"collected":{"boot":null,"load":0.5,"#;
    let hangs = peer.answering(&format!("{half}'\nexec sleep 600"));
    assert!(matches!(ends(&hangs, "hanging in mid-answer"), Unreached::TimedOut { .. }));
    // The connection is still good for the next call, though nobody took what was left.
    let odd = peer.answering("echo '{\"pong\":'");
    assert!(matches!(ends(&odd, "half a word"), Unreached::Garbled { .. }));

    for (script, what) in [
        ("echo hello", "no JSON"),
        ("echo '{\"collected\":{\"load\":\"much\"}}'", "a figure that is a word"),
        ("echo '{\"accepted\":null}'", "a reply to something else"),
        ("head -c 100000 /dev/urandom", "noise"),
        ("echo '[[[[[[[['", "something else"),
    ] {
        let ended = ends(&peer.answering(script), what);
        let Unreached::Garbled { said, .. } = &ended else { panic!("{what}: {ended}") };
        assert!(said.chars().count() <= 300 && !said.contains('\u{1b}'), "{what}: {said}");
    }
    let silent = peer.answering("echo no such thing >&2; exit 3");
    assert!(ends(&silent, "nothing").to_string().contains("no such thing"));

    // More than any reply, as fast as it can: ended before its time, and what it said is not kept.
    let floods = peer.answering("exec yes '{\"collected\":'");
    let began = Instant::now();
    let watching = std::thread::spawn(move || {
        let most = || (largest_held(), std::thread::sleep(Duration::from_millis(1))).0;
        (0..1000).map(|_| most()).max().unwrap_or(0)
    });
    let ended = ends(&floods, "a flood");
    assert!(matches!(ended, Unreached::Garbled { .. }) && began.elapsed() < WITHIN, "{ended}");
    let most = watching.join().unwrap();
    // It is looked at now and then, so the most that was held may lie between two looks; that
    // anything was seen shows that the looks see it.
    assert!((1..256 << 20).contains(&most), "{most} bytes were held");
    assert_eq!(largest_held(), 0);

    // Its connection ends in the middle of an answer.
    let cut = peer.answering(&format!("{half}'\nkill -9 $(ps -o ppid= -p $PPID) $PPID"));
    let ended = ends(&cut, "cut off in mid-answer");
    assert!(matches!(ended, Unreached::Garbled { .. } | Unreached::NoAnswer { .. }), "{ended}");
    // And it goes on with a new one.
    let odd = peer.answering("echo again");
    assert!(ends(&odd, "no JSON").to_string().contains("again"));
    Source::Doorman(peer.way()).collect_within(None, WITHIN).unwrap_err();
    assert!(peer.folder.path().join("s/observe").exists(), "it is shared");
    peer.way().hang_up();
    assert!(!peer.folder.path().join("s/observe").exists());
}

#[test]
fn an_account_whose_shell_answers_oddly_gives_no_figures() {
    let Some(peer) = Peer::new() else { return };
    for (script, what) in [("echo welcome", "a banner"), ("head -c 100000 /dev/urandom", "noise")] {
        let ended = ends(&peer.shell(script), what);
        assert!(matches!(ended, Unreached::Garbled { .. }), "{what}: {ended}");
    }
    assert!(matches!(ends(&peer.shell("exec sleep 600"), "hanging"), Unreached::TimedOut { .. }));
    assert!(matches!(ends(&peer.shell("exec yes"), "a flood"), Unreached::Garbled { .. }));
    // One part, and half of another: the first is a figure, the rest is named.
    let half = peer.shell(r"printf '== load\n0.5 0 0 1/1 1\n== end 0\n== meminfo\nMemTotal: 10'");
    let found = half.collect_within(None, WITHIN).unwrap();
    assert_eq!((found.load, found.memory_total), (Some(0.5), None));
    for label in ["boot", "memory", "units", "pressure of memory", "journal", "free space"] {
        assert!(found.failed.iter().any(|(it, _)| it == label), "{label}: {:?}", found.failed);
    }
    assert_eq!((found.pressure.len(), found.units.len(), found.entries.len()), (0, 0, 0));
    assert!(Path::new(&peer.folder.path().join("s/a")).exists(), "it is shared");
}

/// More hosts than connections are kept: the first ones keep theirs, the others are asked all the same.
#[test]
fn of_many_hosts_some_keep_their_connection_and_all_are_asked() {
    let Some(hosts) = lab::hosts("bookworm", 40) else { return };
    let folder = tempfile::tempdir().unwrap();
    let socket = |n: usize| folder.path().join(n.to_string());
    let source = |n: usize| {
        let address = hosts[n].address().to_string();
        let line = Line {
            alias: address.clone(),
            address,
            port: 22,
            known_hosts: hosts.known_hosts(),
            key: hosts.key(),
            user: "agent".to_owned(),
            socket: socket(n),
        };
        Source::Account { line, units: Vec::new() }
    };
    for _ in 0..2 {
        std::thread::scope(|scope| {
            for n in 0..hosts.len() {
                let source = source(n);
                scope.spawn(move || assert!(source.collect(None).unwrap().load.is_some()));
            }
        });
    }
    let came = |n: usize| hosts[n].log().matches("Accepted publickey for agent").count();
    let (kept, others): (Vec<usize>, Vec<usize>) = (0..hosts.len()).partition(|n| socket(*n).exists());
    assert_eq!((kept.len(), others.len()), (32, 8));
    assert!(kept.iter().all(|n| came(*n) == 1) && others.iter().all(|n| came(*n) == 2));
    for n in kept {
        let Source::Account { line, .. } = source(n) else { panic!("it is one") };
        line.hang_up();
        // It takes its socket with it a moment after it has agreed to end.
        let gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            !socket(n).exists()
        });
        assert!(gone, "{n} is still open");
    }
}
