//! The guest of the lab is what tests of cages take it for: real controllers, honest answers, and gone when
//! it is over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::time::{Duration, Instant};

use holdfast_journal::SystemClock;
use holdfast_testkit::crash::{Crash, child_main};
use holdfast_testkit::{Guest, lab};
use holdfast_types::Clock;

/// Allocates and touches 200 MB, and no more.
const HOG: &str = "hog = b'x' * (200 << 20); print(len(hog))";

/// What the kernel knows about a group, and the way a process enters it.
const IN_GROUP: &str = r#"echo $$ >"$1/cgroup.procs" && shift && exec "$@""#;

/// A guest of each release, one after the other.
fn guests() -> impl Iterator<Item = Guest> {
    lab::RELEASES.into_iter().filter_map(lab::guest)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().trim_end()
}

/// What a command printed; it has to end well.
#[track_caller]
fn said(output: Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The lines of a table such as `oom_kill 1`.
fn count(table: &str, name: &str) -> u64 {
    let mut rows = table.lines().filter_map(|line| line.split_once(' '));
    rows.find(|(row, _)| *row == name).unwrap().1.parse().unwrap()
}

/// Processes of this machine that belong to the guest of that name: by their arguments, or by where they run.
fn processes_of(name: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let belongs = |path: &std::path::PathBuf| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        let place = fs::read_link(path.join("cwd")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(name) || place.to_string_lossy().contains(name)
    };
    all.filter(belongs).map(|path| path.display().to_string()).collect()
}

#[track_caller]
fn await_no_processes_of(name: &str, within: Duration) {
    let until = Instant::now() + within;
    while !processes_of(name).is_empty() {
        assert!(Instant::now() < until, "{name}: {:?}", processes_of(name));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn it_is_a_machine_with_the_controllers_a_cage_needs() {
    for guest in guests() {
        assert!(["kvm", "tcg"].contains(&guest.accelerator()));
        let release = format!("VERSION_CODENAME={}", guest.release());
        assert!(said(guest.run(&["cat", "/etc/os-release"])).contains(&release));
        assert_eq!(said(guest.run(&["cat", "/proc/1/comm"])), "systemd");
        assert_eq!(said(guest.run(&["stat", "-f", "-c", "%T", "/sys/fs/cgroup"])), "cgroup2fs");
        let controllers = said(guest.run(&["cat", "/sys/fs/cgroup/cgroup.controllers"]));
        for controller in ["cpu", "io", "memory", "pids"] {
            assert!(controllers.split(' ').any(|word| word == controller), "{controller}: {controllers}");
        }
        assert_eq!(said(guest.run(&["systemctl", "--failed", "--no-legend"])), "");
        assert!(said(guest.run(&["cat", "/proc/pressure/memory"])).starts_with("some avg10="));
        check_clock(&guest);
    }
}

#[test]
fn an_unknown_release_is_refused_with_the_known_ones() {
    let refused = Guest::resume("potato").unwrap_err().to_string();
    assert!(lab::RELEASES.iter().all(|release| refused.contains(release)), "{refused}");
}

#[test]
fn it_reaches_nothing_not_even_what_listens_here() {
    let Some(guest) = Guest::required() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // QEMU would lead this address to our loopback.
    let connect = ["busybox", "nc", "-w", "3", "10.0.2.2", &port.to_string(), "-e", "echo", "hello"];
    assert_eq!(guest.run(&connect).status.code(), Some(1));
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_hog_beyond_its_limit_is_killed_and_the_kernel_says_so() {
    for guest in guests() {
        let group = "/sys/fs/cgroup/hog";
        said(guest.run(&["mkdir", group]));
        said(guest.run(&["sh", "-c", "echo 67108864 >/sys/fs/cgroup/hog/memory.max"]));
        let events = || said(guest.run(&["cat", "/sys/fs/cgroup/hog/memory.events"]));
        assert_eq!(count(&events(), "oom_kill"), 0);

        let small = guest.run(&["sh", "-c", IN_GROUP, "enter", group, "python3", "-c", "print(1)"]);
        assert_eq!(said(small), "1");
        let hog = guest.run(&["sh", "-c", IN_GROUP, "enter", group, "python3", "-c", HOG]);
        assert_eq!((hog.status.code(), text(&hog.stdout)), (Some(128 + 9), ""));
        assert_eq!(count(&events(), "oom_kill"), 1, "{}", events());
        // Without the limit it is well: the machine has the memory.
        assert_eq!(said(guest.run(&["python3", "-c", HOG])), (200 << 20).to_string());
    }
}

#[test]
fn what_goes_in_and_what_comes_back_is_unchanged() {
    for guest in guests() {
        for code in [0, 1, 42, 126, 255] {
            assert_eq!(guest.run(&["sh", "-c", &format!("exit {code}")]).status.code(), Some(code));
        }
        assert_eq!(guest.run(&["sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
        assert_eq!(guest.run(&["/nonexistent/program"]).status.code(), Some(127));
        // A word of the shell is not a program.
        assert_eq!(guest.run(&["eval", "true"]).status.code(), Some(127));

        let all_bytes =
            "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000); sys.stderr.write('beside')";
        let output = guest.run(&["python3", "-c", all_bytes]);
        assert!(
            output.stdout == (0..=255).collect::<Vec<u8>>().repeat(1000),
            "{} bytes",
            output.stdout.len()
        );
        assert_eq!(text(&output.stderr), "beside");

        let arguments = [
            "a b",
            "",
            "it's",
            "\"double\"",
            "$(touch /root/ran)",
            "`id`",
            "$HOME",
            "two\nlines\n",
            "-n",
            "ö \\ * ;",
        ];
        let show = "import sys; sys.stdout.write('\\0'.join(sys.argv[1:]))";
        let output = guest.run(&[&["python3", "-c", show][..], &arguments].concat());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), arguments.join("\0"));
        assert_eq!(guest.run(&["test", "-e", "/root/ran"]).status.code(), Some(1));
    }
}

#[test]
fn files_and_ordinary_users_work_as_on_any_machine() {
    for guest in guests() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\necho \"$(id -un) got $1\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        guest.put(&program, "/opt/it's new/program").unwrap();
        let ran = guest.run_as("agent", &["/opt/it's new/program", "a b"]);
        assert_eq!(said(ran), "agent got a b");
        let denied = guest.run_as("agent", &["sh", "-c", "echo x >/etc/x"]);
        assert!(!denied.status.success());

        // Its own manager runs, with the controllers an unprivileged cage is made of.
        let scope =
            ["systemd-run", "--user", "--quiet", "--scope", "-p", "MemoryMax=64M", "python3", "-c", HOG];
        assert_eq!(guest.run_as("agent", &scope).status.code(), Some(128 + 9));

        let refused = guest.put(folder.path().join("absent"), "/root/x").unwrap_err().to_string();
        assert!(refused.contains("absent"), "{refused}");
        let refused = guest.put(&program, "/proc/x").unwrap_err().to_string();
        assert!(refused.contains("/proc/x"), "{refused}");
        let nobody = guest.call(&["true"]).user("no such user").try_run().unwrap_err().to_string();
        assert!(nobody.contains("no name of a user"), "{nobody}");
    }
}

#[test]
fn what_takes_too_long_is_given_up_and_down_leaves_no_process() {
    let Some(guest) = Guest::required() else { return };
    let name = guest.name().to_owned();
    assert!(!processes_of(&name).is_empty());
    let slow = guest.call(&["sleep", "1000"]).within(Duration::from_millis(300));
    let given_up = slow.try_run().unwrap_err().to_string();
    assert!(given_up.contains("not done within 300ms"), "{given_up}");
    assert_eq!(said(guest.run(&["echo", "still here"])), "still here");
    guest.down();
    assert_eq!(processes_of(&name), [""; 0]);
}

/// Whether a command comes back within a while that is long for an open connection.
fn answers(guest: &Guest) -> bool {
    guest.call(&["true"]).within(Duration::from_secs(2)).try_run().is_ok()
}

fn boot_id(guest: &Guest) -> String {
    said(guest.run(&["cat", "/proc/sys/kernel/random/boot_id"]))
}

/// Seconds it has run.
fn uptime(guest: &Guest) -> f64 {
    said(guest.run(&["cat", "/proc/uptime"])).split(' ').next().unwrap().parse().unwrap()
}

#[track_caller]
fn check_clock(guest: &Guest) {
    let here = SystemClock::new().now().as_micros() / 1_000_000;
    let there: i64 = said(guest.run(&["date", "+%s"])).parse().unwrap();
    assert!((here - there).abs() <= 5, "here {here}, there {there}");
}

#[test]
fn a_guest_that_is_cut_off_or_frozen_is_silent_and_then_goes_on() {
    let Some(guest) = lab::guest("trixie") else { return };
    let boot = boot_id(&guest);

    let before = uptime(&guest);
    guest.cut();
    assert!(!answers(&guest));
    guest.join();
    guest.wait_until_back();
    assert!(uptime(&guest) - before > 2.0, "it stood still");

    let (before, began) = (uptime(&guest), Instant::now());
    guest.freeze();
    assert!(!answers(&guest));
    guest.thaw();
    guest.wait_until_back();
    let ran = uptime(&guest) - before;
    assert!(began.elapsed().as_secs_f64() - ran > 1.5, "it ran on: {ran} s");
    check_clock(&guest);
    assert_eq!(boot_id(&guest), boot);
}

#[test]
fn a_guest_that_is_reset_boots_from_its_disk() {
    let Some(guest) = Guest::required() else { return };
    let boot = boot_id(&guest);
    said(guest.run(&["sh", "-c", "echo kept >/root/kept && sync && echo gone >/run/gone"]));
    guest.reset();
    guest.wait_until_back();
    assert_ne!(boot_id(&guest), boot);
    assert_eq!(said(guest.run(&["cat", "/root/kept"])), "kept");
    assert!(!guest.run(&["test", "-e", "/run/gone"]).status.success());
    check_clock(&guest);
}

#[test]
fn guest_child() {
    child_main("guest_child", |_, report| {
        // On a thread that is over when the guest is wanted: it lives as long as the process all the same.
        let guest = std::thread::spawn(Guest::required).join().unwrap();
        let Some(guest) = guest else {
            report.line("none");
            return;
        };
        assert_eq!(said(guest.run(&["echo", "alive"])), "alive");
        report.line(guest.name());
        loop {
            std::thread::park();
        }
    });
}

/// Whoever wants two at once waits here first: two that had one each and wanted another would wait for each other.
fn two_turns() -> fs::File {
    let path = std::env::temp_dir().join("holdfast-lab-two-guests.lock");
    let turn = fs::File::options().create(true).write(true).truncate(false).open(path).unwrap();
    turn.lock().unwrap();
    turn
}

/// The emulators of guests on this machine, whoever's they are.
fn emulators() -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let is_one = |path: &std::path::PathBuf| {
        let program = fs::read_link(path.join("exe")).unwrap_or_default();
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        program.to_string_lossy().contains("qemu-system")
            && String::from_utf8_lossy(&arguments).contains("holdfast-guest-")
    };
    all.filter(is_one).count()
}

#[test]
fn a_guest_ends_with_the_process_that_resumed_it_and_no_other_does() {
    let _turns = two_turns();
    let Some(own) = lab::guest("trixie") else { return };
    let boot = boot_id(&own);
    // It may have to wait for its turn.
    let patience = Duration::from_secs(600);
    let child = Crash::new("guest_child").timeout(patience).spawn().unwrap();
    let name = child.wait_line("", patience).unwrap();
    assert!(!processes_of(&name).is_empty());
    let ours = processes_of(own.name());
    assert!(child.kill().unwrap().was_killed());
    await_no_processes_of(&name, Duration::from_secs(10));
    assert_eq!((processes_of(own.name()), boot_id(&own)), (ours, boot));
}

#[test]
fn two_run_at_once_each_for_itself_and_a_third_waits_for_its_turn() {
    let _turns = two_turns();
    let (Some(one), Some(other)) = (lab::guest("bookworm"), lab::guest("trixie")) else { return };
    assert_ne!((one.port(), one.name()), (other.port(), other.name()));
    said(one.run(&["touch", "/root/only-here"]));
    assert!(!other.run(&["test", "-e", "/root/only-here"]).status.success());

    let third = std::thread::spawn(|| Guest::resume("bookworm"));
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        assert!(emulators() <= 2 && !third.is_finished());
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(one);
    let third = third.join().unwrap().unwrap();
    assert!(!third.run(&["test", "-e", "/root/only-here"]).status.success(), "it begins anew");
    assert_eq!(said(other.run(&["echo", "still here"])), "still here");
}
