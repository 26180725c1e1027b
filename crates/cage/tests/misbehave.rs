//! Programs that misbehave: each ends completely, and what ended it is told as it was.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::time::Duration;

use holdfast_cage::amount::Bytes;
use holdfast_cage::wire::{Counted, End};
use holdfast_cage::{Access, Files, Input, Sinks};
use support::{Kept, Outcome, Trial, folder, launcher, left_behind, until};

/// Short limits, so that the test is short.
fn trial(work: &std::path::Path) -> Trial {
    Trial::of("work", work).limited(|limits| {
        limits.time = Some(Duration::from_secs(20));
        limits.grace = Some(Duration::from_millis(300));
        limits.memory = Some(Bytes(96 << 20));
        limits.processes = Some(40);
        limits.disk = Some(Bytes(8 << 20));
        limits.output = Some(Bytes(1 << 20));
    })
}

fn within(trial: Trial, time: Duration) -> Trial {
    trial.limited(|limits| limits.time = Some(time))
}

fn ended(done: &Outcome) -> End {
    done.evidence.ended.end
}

#[test]
fn a_fork_bomb_stays_within_its_number_and_ends() {
    let work = folder();
    let trial = trial(work.path());
    // Two shells that make children as fast as they can, until they may not.
    let bomb =
        "(while :; do sleep 931.7201 & done) & (while :; do sleep 931.7201 & done); exec sleep 931.7201";
    let (running, _, err) = trial.start(&["sh", "-c", bomb]).unwrap();
    until("a crowd", || left_behind("931.7201").len() > 30);
    until("the end of the growth", || err.text().contains("fork"));
    let crowd = left_behind("931.7201").len();
    assert!(crowd <= 40, "{crowd} processes, with forty granted");
    running.stop();
    assert_eq!(running.wait().unwrap().ended.end, End::Stopped);
    assert_eq!(left_behind("931.7201"), Vec::<String>::new());
}

#[test]
fn a_program_that_eats_memory_is_ended_for_it() {
    let work = folder();
    let done = trial(work.path()).run(&["tail", "/dev/zero"]);
    assert_eq!(ended(&done), End::OutOfMemory, "{done:?}");
    assert_eq!(done.evidence.code(), 137);
    assert!(done.evidence.ended.memory > 64 << 20, "{done:?}");
    assert_ne!(done.evidence.ended.memory_of, Counted::LargestProcess);
}

#[test]
fn endless_output_is_cut_and_ends_the_program() {
    let work = folder();
    let done = trial(work.path()).run(&["yes", "again and again"]);
    assert_eq!(ended(&done), End::TooMuchOutput, "{done:?}");
    assert_eq!(done.out.len(), 1 << 20, "what is within the limit is passed on, and no more");
}

#[test]
fn binary_output_comes_through_byte_for_byte() {
    let work = folder();
    let bytes: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    fs::write(work.path().join("bytes"), &bytes).unwrap();
    let trial = trial(work.path());
    let (running, out, _) = trial.start(&["cat", "bytes"]).unwrap();
    assert_eq!(running.wait().unwrap().ended.end, End::Exited { code: 0 });
    assert_eq!(*out.0.lock().unwrap(), bytes);
}

#[test]
fn who_ignores_the_request_to_end_is_ended_by_force_and_who_heeds_it_is_not() {
    let work = folder();
    let short = || within(trial(work.path()), Duration::from_millis(250));
    let deaf = short().sh("trap '' TERM; echo deaf; while :; do sleep 0.05; done");
    assert_eq!((ended(&deaf), deaf.evidence.ended.killed), (End::TimeUp, true), "{deaf:?}");
    let heeds = short().sh("trap 'echo goodbye; exit 0' TERM; while :; do sleep 0.05; done");
    assert_eq!((ended(&heeds), heeds.evidence.ended.killed), (End::TimeUp, false), "{heeds:?}");
    assert_eq!(heeds.out, "goodbye\n");
}

#[test]
fn who_forks_twice_and_is_left_by_its_parents_ends_with_the_rest() {
    let work = folder();
    let done = trial(work.path()).sh("(setsid sleep 931.7201 >/dev/null 2>&1 &); (sleep 931.7201 & exec sleep 931.7201) & sleep 0.1; echo gone");
    assert_eq!((ended(&done), done.out.as_str()), (End::Exited { code: 0 }, "gone\n"));
    assert_eq!(left_behind("931.7201"), Vec::<String>::new());
}

#[test]
fn one_file_too_large_and_many_files_are_told_as_a_full_disk() {
    let work = folder();
    let one = trial(work.path()).run(&["dd", "if=/dev/zero", "of=large", "bs=1M", "count=64"]);
    assert_eq!(ended(&one), End::DiskFull, "{one:?}");
    assert_eq!(fs::metadata(work.path().join("large")).unwrap().len(), 8 << 20);
    fs::remove_file(work.path().join("large")).unwrap();
    let many = trial(work.path()).sh("n=0; while [ $n -lt 400 ]; do n=$((n+1)); dd if=/dev/zero of=file$n bs=1M count=1 2>/dev/null; sleep 0.02; done");
    assert_eq!(ended(&many), End::DiskFull, "{many:?}");
    let files = fs::read_dir(work.path()).unwrap().count();
    assert!(files < 200, "{files} files of a megabyte, with eight granted");
}

#[test]
fn what_is_written_once_is_counted_once() {
    let work = folder();
    fs::create_dir_all(work.path().join("a/b/hooks")).unwrap();
    for folder in ["a", "a/b"] {
        support::own(&work.path().join(folder));
    }
    let mut trial = trial(work.path());
    let hooks = Files::by_hand("{work}/a/b/hooks".to_owned(), Access::Read, false, false, "the test's");
    trial.policy.grant(hooks).unwrap();
    let done = trial.sh("dd if=/dev/zero of=a/b/file bs=1M count=5 2>/dev/null; sync; sleep 0.6; echo whole");
    assert_eq!((ended(&done), done.out.as_str()), (End::Exited { code: 0 }, "whole\n"), "{done:?}");
}

#[test]
fn a_temporary_folder_that_is_full_is_the_programs_own_trouble() {
    let work = folder();
    let done = trial(work.path()).sh("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do dd if=/dev/zero of=/tmp/$n bs=1M count=1 2>/dev/null || exit 28; done");
    assert_eq!(ended(&done), End::Exited { code: 28 }, "{done:?}");
}

#[test]
fn who_waits_for_input_that_is_not_there_reads_its_end_and_who_waits_for_ever_is_ended() {
    let work = folder();
    let done = trial(work.path()).run(&["cat"]);
    assert_eq!(ended(&done), End::Exited { code: 0 });
    let trial = within(trial(work.path()), Duration::from_millis(200));
    let (read, _write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let sinks = Sinks { output: Box::new(Kept::default()), errors: Box::new(Kept::default()) };
    let running = launcher().start(&trial.plan(&["cat"]), &trial.policy, Input::From(read), sinks).unwrap();
    assert_eq!(running.wait().unwrap().ended.end, End::TimeUp);
}

#[test]
fn who_closes_its_streams_and_sleeps_is_ended_all_the_same() {
    let work = folder();
    let done = within(trial(work.path()), Duration::from_millis(250)).sh("exec <&- >&- 2>&-; sleep 931.7301");
    assert_eq!(ended(&done), End::TimeUp);
    assert_eq!(left_behind("931.7301"), Vec::<String>::new());
}

#[test]
fn who_does_nothing_has_ended_well_and_who_crashes_is_told_as_crashed() {
    let work = folder();
    assert_eq!(ended(&trial(work.path()).run(&["true"])), End::Exited { code: 0 });
    let crashed = trial(work.path()).sh("kill -SEGV $$");
    assert_eq!((ended(&crashed), crashed.evidence.code()), (End::Signalled { signal: 11 }, 139));
    assert!(!work.path().join("core").exists());
}

#[test]
fn what_is_asked_to_end_ends_and_what_is_dropped_is_gone() {
    let work = folder();
    let trial = trial(work.path());
    let (running, ..) = trial.start(&["sleep", "931.7401"]).unwrap();
    running.stop();
    assert_eq!(running.wait().unwrap().ended.end, End::Stopped);
    let (running, ..) = trial.start(&["sleep", "931.7401"]).unwrap();
    drop(running);
    until("the end", || left_behind("931.7401").is_empty());
}

#[test]
fn refused_calls_are_counted_by_name() {
    let work = folder();
    let done = trial(work.path()).sh("unshare --user true; unshare --mount true; exit 0");
    assert_eq!(done.evidence.ended.refused.get("unshare"), Some(&2), "{done:?}");
}

#[test]
fn a_program_that_is_not_there_or_may_not_be_run_is_told_with_the_step() {
    let work = folder();
    let told = trial(work.path()).try_run(&["no-such-program"]).unwrap_err().to_string();
    assert!(told.contains("starting no-such-program"), "{told}");
    fs::write(work.path().join("tool"), "#!/bin/sh\n").unwrap();
    let told = trial(work.path()).try_run(&["./tool"]).unwrap_err().to_string();
    assert!(told.contains("starting ./tool failed: Permission denied"), "{told}");
}
