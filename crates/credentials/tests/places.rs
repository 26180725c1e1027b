//! Every place with a real secret in it, every way a place can fail, and the order they are asked in.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use common::{MARKER, Room, name};
use holdfast_credentials::{
    CommandSource, Credentials, Environment, Error, Failure, Source, State, Variables,
};

fn sh(script: &str, limit_ms: u64) -> Source {
    let argv = ["/bin/sh", "-c", script, "{name}"].map(str::to_owned);
    Source::Command(CommandSource::new(&argv, Duration::from_millis(limit_ms)).unwrap())
}

/// Everything that can be printed about a search; the value must not be in it.
fn everything_said(credentials: &Credentials, wanted: &str) -> String {
    let name = name(wanted);
    let found = credentials.find(&name);
    let looked = credentials.look(&name);
    let problem = found.as_ref().err().map(Error::problem);
    let shown = found.as_ref().err().map(ToString::to_string);
    let said = format!("{credentials:?} {found:#?} {looked:?} {problem:?} {shown:?}");
    assert!(!said.contains(MARKER), "{said}");
    said
}

#[track_caller]
fn finds(source: Source, variables: &Variables, wanted: &str, place: &str) {
    let credentials = Credentials::with_variables(vec![source], variables.clone());
    let found = credentials.find(&name(wanted)).unwrap();
    assert!(found.secret.matches(MARKER));
    assert_eq!(found.place.kind(), place);
    assert!(matches!(credentials.look(&name(wanted))[..], [(_, State::Here)]));
    everything_said(&credentials, wanted);
    assert!(matches!(credentials.find(&name("not-there")), Err(Error::Missing { .. })));
}

/// The failure of a place, which must not let the search go on to the next one.
#[track_caller]
fn fails(source: Source) -> Failure {
    let (place, wanted) = (source.place(), name("x"));
    let weaker = Source::Environment(Environment::new("WEAK_").unwrap());
    let credentials =
        Credentials::with_variables(vec![source, weaker], common::variables(&[("WEAK_X", "a weaker one")]));
    everything_said(&credentials, "x");
    match credentials.find(&wanted) {
        Err(Error::Failed { place: asked, name, failure }) => {
            assert_eq!((asked, name), (place, wanted));
            failure
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_of_place_gives_what_is_in_it() {
    let room = Room::new();
    let variables = common::variables(&[
        ("CREDENTIALS_DIRECTORY", room.path("creds").to_str().unwrap()),
        ("HF_API_KEY", MARKER),
    ]);
    room.write("creds/api-key", format!("{MARKER}\n").as_bytes(), 0o400);
    room.encrypt("s.age", &format!("{{\"api-key\":\"{MARKER}\"}}"), &[]);
    finds(Source::Systemd, &variables, "api-key", "systemd");
    finds(Source::AgeFile(room.age_file("s.age")), &variables, "api-key", "age_file");
    finds(Source::Environment(Environment::new("HF_").unwrap()), &variables, "api-key", "environment");
    let script = format!("[ \"$0\" = api-key ] && echo {MARKER}");
    finds(sh(&script, 5_000), &variables, "api-key", "command");
}

#[test]
fn the_first_place_that_has_it_answers() {
    let variables = common::variables(&[("A_X", "from a"), ("B_X", "from b"), ("B_Y", "only b")]);
    let places = ["A_", "B_"].map(|prefix| Source::Environment(Environment::new(prefix).unwrap()));
    let credentials = Credentials::with_variables(places.into(), variables);
    assert!(credentials.find(&name("x")).unwrap().secret.matches("from a"));
    let found = credentials.find(&name("y")).unwrap();
    assert!(found.secret.matches("only b"));
    assert_eq!(found.place.to_string(), "environment (B_*)");
    let missing = credentials.find(&name("z")).unwrap_err();
    assert_eq!(missing.to_string(), "there is no secret z: looked in environment (A_*), environment (B_*)");
    let states = credentials.look(&name("y")).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
    assert!(matches!(states[..], [State::NotHere, State::Here]));
}

#[test]
fn without_places_the_answer_says_so() {
    let missing = Credentials::new(Vec::new()).find(&name("x")).unwrap_err();
    assert!(missing.to_string().contains("none is configured"), "{missing}");
}

#[test]
fn a_systemd_place_that_is_out_of_order_fails() {
    let room = Room::new();
    let directory = room.path("creds");
    let variables = common::variables(&[("CREDENTIALS_DIRECTORY", directory.to_str().unwrap())]);
    let fail = |wanted: &str| {
        let credentials = Credentials::with_variables(vec![Source::Systemd], variables.clone());
        everything_said(&credentials, wanted);
        match credentials.find(&name(wanted)) {
            Err(Error::Failed { failure, .. }) => failure,
            other => panic!("{other:?}"),
        }
    };
    room.write("creds/open", MARKER.as_bytes(), 0o644);
    room.write("creds/empty", b"\n", 0o600);
    room.write("creds/binary", &[MARKER.as_bytes(), b"\xff"].concat(), 0o600);
    room.write("creds/long", MARKER.repeat(10_000).as_bytes(), 0o600);
    std::fs::create_dir(directory.join("folder")).unwrap();
    let fifo = directory.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from(0o600)).unwrap();
    assert!(matches!(fail("open"), Failure::TooOpen { .. }));
    for wanted in ["empty", "binary", "long"] {
        assert!(matches!(fail(wanted), Failure::Value(_)), "{wanted}");
    }
    for wanted in ["folder", "pipe"] {
        assert!(matches!(fail(wanted), Failure::Damaged { .. }), "{wanted}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(matches!(fail("open"), Failure::Unreadable { .. }), "a variable that points nowhere");
    let none = Credentials::with_variables(vec![Source::Systemd], common::variables(&[]));
    assert!(matches!(none.find(&name("x")), Err(Error::Missing { .. })), "not started by such a unit");
}

#[test]
fn an_environment_value_that_cannot_be_used_fails() {
    let empty = common::variables(&[("HF_X", "")]);
    let credentials =
        Credentials::with_variables(vec![Source::Environment(Environment::new("HF_").unwrap())], empty);
    assert!(matches!(credentials.find(&name("x")), Err(Error::Failed { failure: Failure::Value(_), .. })));
    for prefix in ["", "hf_", "1A", "A-B", "A=B"] {
        assert!(Environment::new(prefix).is_err(), "{prefix:?}");
    }
}

#[test]
fn a_command_says_with_its_status_whether_it_has_the_secret() {
    let missing = Credentials::with_variables(vec![sh("exit 1", 5_000)], common::variables(&[]));
    assert!(matches!(missing.find(&name("x")), Err(Error::Missing { .. })));
    for script in ["exit 2", "exit 127", "kill -9 $$", &format!("echo {MARKER}; echo {MARKER} >&2; exit 3")] {
        assert!(matches!(fails(sh(script, 5_000)), Failure::Command { .. }), "{script}");
    }
    for script in ["true", "printf '\\377'"] {
        assert!(matches!(fails(sh(script, 5_000)), Failure::Value(_)), "{script}");
    }
    let endless = format!("while :; do echo {MARKER}; done");
    assert!(matches!(fails(sh(&endless, 5_000)), Failure::Command { .. }));
    let argv = ["/no/such/program", "{name}"].map(str::to_owned);
    let absent = Source::Command(CommandSource::new(&argv, Duration::from_secs(1)).unwrap());
    assert!(matches!(fails(absent), Failure::Unreadable { .. }));
}

#[test]
fn a_command_gets_arguments_and_hardly_anything_else() {
    let variables = common::variables(&[("HOME", "/home/of/ana"), ("HF_OTHER", MARKER)]);
    let credentials = Credentials::with_variables(
        vec![sh(
            "cat; pwd; env | cut -d= -f1 | grep -v '^_$' | sort | tr '\\n' ' '; echo \"$HOME $0\"",
            5_000,
        )],
        variables,
    );
    let found = credentials.find(&name("the-name")).unwrap();
    assert_eq!(found.secret.expose(), "/\nHOME LANG PATH PWD /home/of/ana the-name");
}

/// The process number a script wrote down before it hung.
fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A zombie that its new parent has not reaped yet is dead.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_command_that_hangs_is_killed_with_what_it_started() {
    let room = Room::new();
    let pids = room.path("pids");
    // One hangs with its output open, one closes it first, one leaves the hanging to a child, and one has ended by
    // the time its child is to be killed.
    let hanging = [
        "sleep 60",
        "exec >&-; sleep 60",
        "sleep 60 & echo $! >> \"$P\"; wait",
        "sleep 60 & echo $! >> \"$P\"; exit 0",
    ];
    std::thread::scope(|s| {
        for script in hanging {
            let script = format!("P={}; echo $$ >> \"$P\"; {script}", pids.display());
            s.spawn(move || {
                let began = Instant::now();
                let failure = fails_only(sh(&script, 1_000));
                assert!(matches!(failure, Failure::TimedOut { .. }), "{failure:?}");
                assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            });
        }
    });
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 6);
    let deadline = Instant::now() + Duration::from_secs(5);
    while pids.lines().any(alive) {
        assert!(Instant::now() < deadline, "something the command started is still running");
        std::thread::yield_now();
    }
}

fn fails_only(source: Source) -> Failure {
    match Credentials::with_variables(vec![source], common::variables(&[])).find(&name("x")) {
        Err(Error::Failed { failure, .. }) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_that_could_not_be_meant_is_refused() {
    let second = Duration::from_secs(1);
    for (argv, limit) in [
        (&[][..], second),
        (&["pass", "{name}"], second),
        (&["/bin/pass", "show"], second),
        (&["/bin/{name}"], second),
        (&["/bin/pass", "{name}"], Duration::ZERO),
        (&["/bin/pass", "{name}"], Duration::from_secs(61)),
    ] {
        let argv: Vec<String> = argv.iter().map(|a| (*a).to_owned()).collect();
        assert!(matches!(CommandSource::new(&argv, limit), Err(Error::NotASource { .. })), "{argv:?}");
    }
}

#[test]
fn looking_goes_on_past_a_place_that_fails() {
    let room = Room::new();
    std::fs::set_permissions(room.identity(), std::fs::Permissions::from_mode(0o644)).unwrap();
    room.encrypt("s.age", "{}", &[]);
    let places =
        vec![Source::AgeFile(room.age_file("s.age")), Source::Environment(Environment::new("HF_").unwrap())];
    let credentials = Credentials::with_variables(places, common::variables(&[("HF_X", MARKER)]));
    let states: Vec<State> = credentials.look(&name("x")).into_iter().map(|(_, state)| state).collect();
    assert!(matches!(states[..], [State::Failed(Failure::TooOpen { .. }), State::Here]), "{states:?}");
    everything_said(&credentials, "x");
}
