//! The crash harness, used the way every other crate uses it: children first, then the tests that kill them.

#![allow(clippy::unwrap_used, reason = "clippy knows test functions but not the helpers beside them")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what children print is a subject here")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_testkit::crash::{Child, Crash, CrashError, Remains, child_main, run_kills};
use holdfast_testkit::{Seed, rounds};
use rustix::process::{Pid, Signal, kill_process};

const THREADS: usize = 4;

/// For waits that succeed at once on a healthy machine; only a failing test ever sits through it.
const LONG: Duration = Duration::from_secs(20);

// --- children

/// Several threads number their lines, which end in the second argument if there is one; each notes in a file of its own what it was told has been reported.
#[test]
fn counting_child() {
    child_main("counting_child", |args, report| {
        let padding = args.get(1).map_or("", String::as_str);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let report = report.clone();
                let mut told = File::create(Path::new(&args[0]).join(thread.to_string())).unwrap();
                scope.spawn(move || {
                    for n in 0u64.. {
                        report.line(format!("{thread} {n} {padding}"));
                        told.write_all(b".").unwrap();
                    }
                });
            }
        });
    });
}

/// Holds a lock for as long as it lives, which is how the tests see whether it still does.
#[test]
fn locking_child() {
    child_main("locking_child", |args, report| {
        let held = File::create(&args[0]).unwrap();
        held.lock().unwrap();
        println!("printed, not reported");
        eprintln!("grumbling");
        report.line("locked");
        sleep_for_ever();
    });
}

/// Starts a locking child of its own and is killed before it can end it.
#[test]
fn parent_child() {
    child_main("parent_child", |args, report| {
        let child = Crash::new("locking_child").arg(&args[0]).spawn().unwrap();
        report.line(child.wait_line("locked", LONG).unwrap());
        sleep_for_ever();
    });
}

#[test]
fn finishing_child() {
    child_main("finishing_child", |args, report| {
        args.iter().for_each(|arg| report.line(arg));
        println!("a word on stdout");
    });
}

#[test]
fn panicking_child() {
    child_main("panicking_child", |_, report| {
        report.line("last words");
        panic!("something broke");
    });
}

/// Plays the test that fails while it holds the remains of one child and the handle on another.
#[test]
fn failing_child() {
    child_main("failing_child", |args, _| {
        let running = shell("echo still here; exec sleep 1000").spawn().unwrap();
        running.wait_line("still", LONG).unwrap();
        let locked = |lines: &[String]| lines == ["locked"];
        let _remains = Crash::new("locking_child").arg(&args[0]).spawn().unwrap().kill_when(locked).unwrap();
        run_kills(
            Seed::new(5),
            1,
            Duration::ZERO..LONG,
            |_| shell("echo brief"),
            |_, remains| assert!(remains.lines.is_empty(), "the check fails"),
        );
    });
}

#[test]
fn wordy_child() {
    child_main("wordy_child", |_, report| report.line("two\nlines"));
}

/// More than any socket buffer holds, and no reader that asks for it.
#[test]
fn flooding_child() {
    child_main("flooding_child", |_, report| {
        let long = "x".repeat(1 << 20);
        (0..8).for_each(|n| report.line(format!("{n}{long}")));
        report.line("");
        report.line("ü and \r stay");
    });
}

mod inside {
    #[test]
    fn a_module() {
        super::child_main("inside::a_module", |_, report| report.line("here"));
    }
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

// --- what a kill leaves

#[test]
fn a_kill_at_any_moment_leaves_every_reported_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = 0;
    run_kills(
        Seed::from_env_or(11),
        rounds(20, 500),
        Duration::from_micros(10)..Duration::from_millis(20),
        |_| Crash::new("counting_child").arg(dir.path().display()),
        |round, remains| {
            assert!(remains.was_killed());
            seen += remains.lines.len();
            check_counts(round, dir.path(), &count_lines(&remains));
            fs::read_dir(dir.path()).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
        },
    );
    assert!(seen > 0, "every kill came before the first line");
}

/// Per thread how many lines came, after checking that they are 0, 1, 2, ... without a gap.
fn count_lines(remains: &Remains) -> BTreeMap<usize, u64> {
    let mut next = BTreeMap::new();
    for line in &remains.lines {
        let (thread, rest) = line.split_once(' ').unwrap();
        let (n, _padding) = rest.split_once(' ').unwrap();
        let expected = next.entry(thread.parse().unwrap()).or_insert(0);
        assert_eq!(n.parse(), Ok(*expected), "thread {thread}");
        *expected += 1;
    }
    next
}

fn check_counts(round: u32, told: &Path, counts: &BTreeMap<usize, u64>) {
    for thread in 0..THREADS {
        let told = fs::metadata(told.join(thread.to_string())).map_or(0, |meta| meta.len());
        let came = counts.get(&thread).copied().unwrap_or(0);
        // One more may have been reported without the note about it, never the other way round.
        assert!(
            (told..=told + 1).contains(&came),
            "round {round}, thread {thread}: {told} told, {came} came"
        );
    }
}

/// The predicate of `kill_when` keeps the watching thread from handing over more lines, so they pile up in the
/// kernel; and the child is dead before that thread reads on.
#[test]
fn lines_nobody_had_read_yet_when_the_kill_came_are_not_lost() {
    (0..rounds(3, 200)).for_each(kill_with_lines_unread);
}

fn kill_with_lines_unread(round: u32) {
    let dir = tempfile::tempdir().unwrap();
    let child = Crash::new("counting_child").arg(dir.path().display()).spawn().unwrap();
    let pid = Pid::from_raw(child.pid().try_into().unwrap()).unwrap();
    let remains = child.kill_when(|lines| {
        if !lines.is_empty() {
            // More than that thread fetches at once, and less than fits into a socket.
            wait_until(|| told_in_all(dir.path()) > lines.len() as u64 + 2);
            kill_process(pid, Signal::KILL).unwrap();
            wait_until(|| is_dead(pid));
        }
        !lines.is_empty()
    });
    check_counts(round, dir.path(), &count_lines(&remains.unwrap()));
}

/// Not reaped yet counts as dead too, once all its threads are gone.
fn is_dead(pid: Pid) -> bool {
    let proc = Path::new("/proc").join(pid.as_raw_pid().to_string());
    let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
    let threads = fs::read_dir(proc.join("task")).map_or(0, Iterator::count);
    threads == 0 || (threads == 1 && stat.contains(") Z "))
}

#[track_caller]
fn wait_until(mut reached: impl FnMut() -> bool) {
    let limit = Instant::now() + LONG;
    while !reached() {
        assert!(Instant::now() < limit, "waited in vain");
        std::thread::yield_now();
    }
}

fn told_in_all(dir: &Path) -> u64 {
    fs::read_dir(dir).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn it_can_be_killed_at_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let child = Crash::new("counting_child").arg(dir.path().display()).spawn().unwrap();
    let remains = child.kill_when(|lines| lines.iter().any(|line| line == "2 1000 ")).unwrap();
    assert!(remains.was_killed());
    assert!(remains.lines.contains(&"2 1000 ".to_owned()));
    assert!(count_lines(&remains)[&2] > 1000);
}

#[test]
fn a_child_that_ends_leaves_its_lines_its_status_and_its_words() {
    let spawn =
        || Crash::new("finishing_child").arg("one").arg("two words \"\n\0".escape_debug()).spawn().unwrap();
    let remains = spawn().wait().unwrap();
    assert!(remains.status.success() && !remains.was_killed());
    assert_eq!(remains.lines, ["one", "two words \\\"\\n\\0"]);
    assert!(remains.output.stdout().contains("a word on stdout"));
    let late = spawn().kill_after(LONG).unwrap();
    assert!(late.status.success());
    assert_eq!(late.lines.len(), 2);
}

#[test]
fn a_child_that_panics_is_told_by_its_status_and_stderr() {
    let remains = Crash::new("panicking_child").spawn().unwrap().wait().unwrap();
    assert_eq!(remains.lines, ["last words"]);
    assert_eq!(remains.status.code(), Some(101));
    assert!(remains.output.stderr().contains("something broke"));
}

#[test]
fn run_kills_fails_when_a_child_fails_by_itself() {
    let said = panic_of(|| {
        let never = LONG..LONG * 2;
        run_kills(Seed::new(1), 1, never, |_| Crash::new("panicking_child"), |_, _| {});
    });
    assert!(said.contains("round 0: the child failed by itself"), "{said}");
}

#[test]
fn run_kills_fails_when_no_kill_ever_came_in_time() {
    let said = panic_of(|| {
        let never = LONG..LONG * 2;
        run_kills(Seed::new(1), 2, never, |_| Crash::new("finishing_child"), |_, _| {});
    });
    assert!(said.contains("all 2 children ended before their kill"), "{said}");
}

#[test]
fn megabytes_of_lines_arrive_though_nobody_asked_for_them() {
    let remains = Crash::new("flooding_child").spawn().unwrap().wait().unwrap();
    let lens: Vec<usize> = remains.lines.iter().map(String::len).collect();
    assert_eq!(lens[..8], [(1 << 20) + 1; 8]);
    assert_eq!(remains.lines[8..], ["", "ü and \r stay"]);
}

#[test]
fn a_child_may_live_in_a_module() {
    assert_eq!(Crash::new("inside::a_module").spawn().unwrap().wait().unwrap().lines, ["here"]);
}

// --- no child is left behind

#[test]
fn dropping_the_handle_kills_and_reaps() {
    let dir = tempfile::tempdir().unwrap();
    let (child, lock) = locking(dir.path());
    let pid = child.pid();
    assert!(is_held(&lock));
    drop(child);
    assert!(!is_held(&lock));
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "not reaped");
}

#[test]
fn a_panic_in_the_test_kills_too() {
    let dir = tempfile::tempdir().unwrap();
    let (child, lock) = locking(dir.path());
    panic_of(|| {
        let _child = child;
        panic!("the test fails");
    });
    assert!(!is_held(&lock));
}

#[test]
fn a_child_ends_when_its_parent_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let parent = Crash::new("parent_child").arg(lock.display()).spawn().unwrap();
    parent.wait_line("locked", LONG).unwrap();
    let _dead = parent.kill().unwrap();
    wait_until(|| !is_held(&lock));
}

#[test]
fn the_time_limit_kills_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let short = Duration::from_millis(200);
    let crash = Crash::new("locking_child").arg(lock.display()).timeout(short);
    let waits: [fn(Child) -> Result<(), CrashError>; 4] = [
        |child| child.wait().map(drop),
        |child| child.kill_after(LONG).map(drop),
        |child| child.kill_when(|_| false).map(drop),
        |child| child.wait_line("never", LONG).map(drop),
    ];
    for wait in waits {
        // On a busy machine the limit may be over before the child is up; the answer is the same.
        let error = crash.clone().spawn().and_then(wait).unwrap_err();
        assert!(matches!(error, CrashError::TimedOut { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("killed because it still ran after its time limit of 200ms"), "{said}");
        assert!(!is_held(&lock));
    }
}

#[test]
fn the_time_limit_holds_for_a_child_that_never_stops_reporting() {
    let dir = tempfile::tempdir().unwrap();
    let crash = Crash::new("counting_child").arg(dir.path().display()).timeout(Duration::from_millis(200));
    let error = crash.spawn().and_then(Child::wait).unwrap_err();
    assert!(matches!(error, CrashError::TimedOut { .. }), "{error}");
}

fn locking(dir: &Path) -> (Child, std::path::PathBuf) {
    let lock = dir.join("lock");
    let child = Crash::new("locking_child").arg(lock.display()).spawn().unwrap();
    child.wait_line("locked", LONG).unwrap();
    (child, lock)
}

fn is_held(lock: &Path) -> bool {
    File::create(lock).unwrap().try_lock().is_err()
}

// --- failures that say what to do

#[test]
fn a_failing_test_shows_the_seed_and_what_its_children_printed() {
    let dir = tempfile::tempdir().unwrap();
    let remains = Crash::new("failing_child").arg(dir.path().join("lock").display()).spawn().unwrap().wait();
    let remains = remains.unwrap();
    assert_eq!(remains.status.code(), Some(101));
    let said = remains.output.stderr();
    let seed = format!("HOLDFAST_SEED={} reproduces this", Seed::new(5));
    for expected in ["the check fails", "brief", &seed, "printed, not reported", "grumbling", "still here"] {
        assert!(said.contains(expected), "{expected} is missing in {said}");
    }
}

#[test]
fn a_name_without_a_test_is_explained() {
    let error = Crash::new("no_such_child").spawn().unwrap_err();
    assert!(matches!(error, CrashError::NeverEntered { .. }));
    let said = error.to_string();
    assert!(said.contains("child_main(\"no_such_child\", ..)") && said.contains("running 0 tests"), "{said}");
}

#[test]
fn a_line_that_does_not_come_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (child, _lock) = locking(dir.path());
    let error = child.wait_line("never", Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, CrashError::NotReached { .. }), "{error}");
    assert!(error.to_string().contains("grumbling"), "{error}");
    assert_eq!(child.lines(), ["locked"]);
    let ended = Crash::new("finishing_child").arg("x").spawn().unwrap();
    assert_eq!(ended.wait_line("x", LONG).unwrap(), "x");
    let said = ended.wait_line("y", LONG).unwrap_err().to_string();
    assert!(said.contains("before a line starting with \"y\""), "{said}");
}

#[test]
fn a_child_that_ends_before_its_moment_is_an_error() {
    let error = Crash::new("finishing_child").spawn().unwrap().kill_when(|_| false).unwrap_err();
    assert!(matches!(error, CrashError::EndedFirst { .. }), "{error}");
}

#[test]
fn what_is_reported_is_one_line() {
    let remains = Crash::new("wordy_child").spawn().unwrap().wait().unwrap();
    assert!(remains.lines.is_empty());
    assert!(remains.output.stderr().contains("a report is one line"));
}

// --- other programs

#[test]
fn a_program_is_killed_the_same_way() {
    let child = shell("echo one; echo oops >&2; echo $0 $HOLDFAST_SAYS; printf half; exec sleep 1000")
        .arg("zero")
        .env("HOLDFAST_SAYS", "hello")
        .spawn()
        .unwrap();
    child.wait_line("zero", LONG).unwrap();
    let remains = child.kill().unwrap();
    assert!(remains.was_killed());
    assert_eq!(remains.lines, ["one", "zero hello"]);
    assert!(remains.output.stdout().starts_with("one\nzero hello\n"));
    assert_eq!(remains.output.stderr(), "oops\n");
}

#[test]
fn a_program_that_ends_leaves_its_code() {
    let remains = shell("echo said; printf half; exit 3").spawn().unwrap().wait().unwrap();
    assert_eq!((remains.lines.as_slice(), remains.status.code()), (&["said".to_owned()][..], Some(3)));
    assert_eq!(remains.output.stdout(), "said\nhalf");
}

#[test]
fn a_program_that_closes_its_output_is_still_waited_for() {
    let remains = shell("exec >&-; exec sleep 0.2").spawn().unwrap().wait().unwrap();
    assert!(remains.status.success());
    let error = shell("exec >&-; exec sleep 1000").timeout(Duration::from_millis(50)).spawn().unwrap().wait();
    assert!(matches!(error, Err(CrashError::TimedOut { .. })));
}

#[test]
fn a_process_the_program_started_lives_on_and_does_not_hold_up_the_test() {
    let child = shell("sleep 1000 & echo $!; wait").spawn().unwrap();
    let remains = child.kill_when(|lines| !lines.is_empty()).unwrap();
    let pid = Pid::from_raw(remains.lines[0].parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// What goes on writing loses its reader with this, and ends by that.
#[test]
fn a_process_that_goes_on_writing_does_not_hold_up_the_test() {
    let child = shell("yes & echo started; wait").spawn().unwrap();
    let remains = child.kill_when(|lines| lines.iter().any(|line| line == "started")).unwrap();
    assert!(remains.was_killed());
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let said = Crash::program("/nonexistent/holdfast").spawn().unwrap_err().to_string();
    assert!(said.contains("cannot start /nonexistent/holdfast"), "{said}");
}

fn shell(script: &str) -> Crash {
    Crash::program("/bin/sh").arg("-c").arg(script)
}

fn panic_of(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}
