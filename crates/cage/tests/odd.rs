//! Callers with odd wishes and odd habits: each is served, or told what is wrong, and nothing is left running.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::process::Command;
use std::time::Duration;

use holdfast_cage::wire::End;
use holdfast_cage::{CageError, Call, Machine, Plan, Refusal, Variable};
use support::{Trial, folder, host, identity, launcher, left_behind, own, until};

#[test]
fn signals_the_caller_ignores_are_the_programs_again() {
    let work = folder();
    let caged = launcher().path().with_file_name("examples").join("caged");
    // Two signals are the C library's own, which it has ignored by whoever it starts. And of whoever ignores that its children
    // end the kernel collects them; then nobody can wait for them.
    for ignored in ["INT PIPE QUIT HUP", "CHLD"] {
        let uid = identity().uid.to_string();
        let said = Command::new("sh")
            .args(["-c", &format!("trap '' {ignored}; exec \"$@\""), "sh"])
            .arg(&caged)
            .arg(launcher().path())
            .arg(work.path().canonicalize().unwrap())
            .args([uid.as_str(), "1G", "64", "100%", "--"])
            .args(["grep", "-q", "^SigIgn:[[:space:]]*0*\\(180000000\\)\\?$", "/proc/self/status"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&said.stdout);
        let evidence: serde_json::Value = serde_json::from_str(&text)
            .unwrap_or_else(|_| panic!("{ignored}: {}", String::from_utf8_lossy(&said.stderr)));
        let evidence = &evidence["evidence"];
        assert_eq!((&evidence["end"], &evidence["code"]), (&"exited".into(), &0.into()), "{ignored}: {text}");
    }
}

#[test]
fn a_time_that_is_up_before_anything_is_built_is_told_as_that() {
    let work = folder();
    let trial = Trial::of("work", work.path()).limited(|limits| {
        limits.time = Some(Duration::from_millis(1));
        limits.grace = Some(Duration::from_millis(1));
    });
    assert_eq!(trial.run(&["sleep", "10"]).evidence.ended.end, End::TimeUp);
    let endless = Trial::of("work", work.path()).limited(|limits| {
        limits.time = Some(Duration::MAX);
        limits.grace = Some(Duration::MAX);
    });
    assert_eq!(endless.run(&["true"]).evidence.ended.end, End::Exited { code: 0 });
}

#[test]
fn what_cannot_be_passed_on_is_told_before_anything_runs() {
    let above = folder();
    let work = above.path().join(OsString::from_vec(b"w\xff".to_vec()));
    fs::create_dir(&work).unwrap();
    own(&work);
    let plain = Trial::of("work", above.path());
    let call = |work: &std::path::Path, argument: &str| Call {
        argv: vec!["echo".to_owned(), argument.to_owned()],
        work: work.to_owned(),
        identity: identity(),
        environment: vec![],
    };
    let refused = |policy: &_, call: &Call| match Plan::of(policy, call, host(), &Machine) {
        Err(Refusal::Unspeakable { what }) => what,
        other => panic!("{other:?}"),
    };
    assert!(refused(&plain.policy, &call(&work, "a")).contains("/w"), "the path is named");
    assert!(refused(&plain.policy, &call(&plain.work, "a\0b")).contains("an argument"));
    let mut policy = plain.policy.clone();
    policy.variables.push(Variable::by_hand("A".to_owned(), Some("a\0b".to_owned()), "the test's"));
    assert!(refused(&policy, &call(&plain.work, "a")).contains("a variable"));
}

#[test]
fn what_is_too_much_is_told_with_the_step_however_long_it_is() {
    let work = folder();
    let trial = Trial::of("work", work.path());
    let long = "x".repeat(100_000);
    for (argv, says) in [
        (vec![long.as_str()], "File name too long"),
        (vec!["true", &"\u{1}".repeat(200_000)], "Argument list too long"),
    ] {
        let told = trial.try_run(&argv).unwrap_err();
        assert!(
            matches!(&told, CageError::NotStarted { step, why } if step.starts_with("starting ") && why.contains(says)),
            "{told}"
        );
        assert!(told.to_string().len() < 4096);
    }
    let told = trial.try_run(&["true", &"x".repeat(5 << 20)]).unwrap_err();
    assert!(matches!(told, CageError::TooMuch), "{told}");
}

#[test]
fn what_is_dropped_is_gone_when_the_drop_is_over() {
    let work = folder();
    let trial = Trial::of("work", work.path());
    for _ in 0..8 {
        let (running, ..) =
            trial.start(&["sh", "-c", "trap '' TERM; (setsid sleep 931.7601 &); sleep 931.7601"]).unwrap();
        until("the program", || left_behind("sleep 931.7601").len() >= 2);
        drop(running);
        assert_eq!(left_behind("931.7601"), Vec::<String>::new());
    }
}
