//! What the environment variables do, each seen in a real process: a test may not change its own.

#![allow(clippy::unwrap_used, reason = "clippy knows test functions but not the helpers beside them")]

use holdfast_testkit::crash::{Crash, Remains, child_main};
use holdfast_testkit::{
    NoDisk, Seed, SmallDisk, require, rounds, shared_data, shared_data_or_say, with_seeds,
};

#[test]
fn seeds_child() {
    child_main("seeds_child", |args, report| {
        report.line(rounds(3, 300).to_string());
        with_seeds(4, |seed| {
            report.line(seed.to_string());
            assert!(args.is_empty() || seed.to_string() != args[0], "the seed of the bug");
        });
    });
}

#[test]
fn data_child() {
    child_main("data_child", |_, report| {
        report.line(format!("{:?}", shared_data()));
        report.line(format!("{:?}", shared_data_or_say("a table of vectors")));
    });
}

/// With no way to find `mount`, so that there is no disk for anyone.
#[test]
fn disk_child() {
    child_main("disk_child", |_, report| {
        let disk: Result<SmallDisk, NoDisk> = SmallDisk::tmpfs(4096);
        report.line(disk.as_ref().unwrap_err().to_string());
        report.line(format!("{:?}", require(disk)));
    });
}

fn run(crash: Crash) -> Remains {
    crash.spawn().unwrap().wait().unwrap()
}

#[test]
fn the_printed_seed_is_the_first_to_run_again() {
    let base = Seed::new(77).to_string();
    let all = run(Crash::new("seeds_child").env("HOLDFAST_SEED", "77"));
    assert!(all.status.success());
    assert_eq!(all.lines.len(), 5);
    assert_eq!(all.lines[1], base);

    let bug = &all.lines[3];
    let failed = run(Crash::new("seeds_child").env("HOLDFAST_SEED", "77").arg(bug));
    assert_eq!(failed.lines, all.lines[..4]);
    let hint = format!("HOLDFAST_SEED={bug} reproduces this");
    assert!(failed.output.stderr().contains(&hint));

    let again = run(Crash::new("seeds_child").env("HOLDFAST_SEED", bug).arg(bug));
    assert_eq!((again.lines.len(), &again.lines[1]), (2, bug));
    assert!(again.output.stderr().contains(&hint));
}

#[test]
fn a_mistyped_seed_is_refused() {
    let remains = run(Crash::new("seeds_child").env("HOLDFAST_SEED", "0xyz"));
    assert_eq!(remains.status.code(), Some(101));
    assert!(remains.output.stderr().contains("HOLDFAST_SEED=0xyz: invalid digit"));
}

#[test]
fn soaking_takes_the_long_number() {
    for (value, expected) in [("1", "300"), ("0", "3"), ("", "3")] {
        let remains = run(Crash::new("seeds_child").env("HOLDFAST_SOAK", value));
        assert_eq!(remains.lines[0], expected, "{value:?}");
    }
}

#[test]
fn absent_data_is_said_in_one_line() {
    let remains = run(Crash::new("data_child").env("HOLDFAST_TEST_DATA", "/nonexistent"));
    assert_eq!(remains.lines, ["None", "None"]);
    let said =
        "a table of vectors: not run, HOLDFAST_TEST_DATA names \"/nonexistent\", which is not a folder\n";
    assert_eq!(remains.output.stderr(), said);
}

#[test]
fn named_data_is_found_without_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let remains = run(Crash::new("data_child").env("HOLDFAST_TEST_DATA", dir.path().display()));
    let found = format!("{:?}", Some(dir.path()));
    assert_eq!(remains.lines, [found.clone(), found]);
    assert_eq!(remains.output.stderr(), "");
}

#[test]
fn a_missing_disk_fails_unless_the_environment_waives_it() {
    let without_mount = || Crash::new("disk_child").env("PATH", "/nonexistent");
    let failed = run(without_mount().env("HOLDFAST_REQUIRE_DISKS", "1"));
    assert_eq!((failed.lines.len(), failed.status.code()), (1, Some(101)));
    assert!(failed.lines[0].starts_with("no test disk: `"), "{}", failed.lines[0]);
    assert!(failed.output.stderr().contains("set HOLDFAST_REQUIRE_DISKS=0"));

    let waived = run(without_mount().env("HOLDFAST_REQUIRE_DISKS", "0"));
    assert_eq!((waived.lines[1].as_str(), waived.status.success()), ("None", true));
    assert!(waived.output.stderr().contains("not run, HOLDFAST_REQUIRE_DISKS=0: no test disk"));
}
