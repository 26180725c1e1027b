//! What a key gets in by, and what it does not, through the sshd of a real machine.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod target;

use std::io::Read as _;
use std::process::{Output, Stdio};

use holdfast_doorman::wire::{ASK_MAX, Reply, Role, Word};
use target::{HERE, Target, run};

/// One machine for all of it: taking one in takes longer than everything that is asked of it.
#[test]
fn nothing_but_what_a_key_is_for_gets_in() {
    let Some(target) = Target::enrolled(90, 60) else { return };
    let before = target.everything();
    each_key_says_its_words_and_no_other(&target);
    nothing_but_a_word_gets_in(&target);
    there_is_no_shell_no_file_transfer_no_tunnel_and_no_environment(&target);
    too_much_and_too_little_end_too(&target);
    refusals_are_in_the_log(&target);
    a_key_counts_from_its_own_address_alone(&target);
    target.is_as(&before, "nothing was let in");
}

fn reply(output: &Output) -> Reply {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim())
        .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)))
}

// shows: STW-402, STW-283, STW-400
fn each_key_says_its_words_and_no_other(target: &Target) {
    for role in Role::ALL {
        for word in Word::ALL {
            // No word but these comes with nothing, so what is let in is then told that it is not whole.
            let output = target.say(role, word.as_str(), b"");
            match (role.admits(word), reply(&output)) {
                (true, Reply::Pong { .. }) => assert!(word == Word::Ping && output.status.success()),
                (true, Reply::Surveyed { said }) => {
                    assert!(word == Word::Survey && said.ends_with("hf:end=holdfast\n"), "{said}")
                }
                (true, Reply::Generations(found)) => assert!(word == Word::List && found.len() == 1),
                (true, Reply::NotAdmitted { why }) => {
                    assert!(why.starts_with(&format!("{word}: ")), "{role} {word}: {why}")
                }
                (false, Reply::NotAdmitted { why }) => {
                    assert_eq!(why, format!("the key for {role} may not say {word}"));
                    assert!(!output.status.success());
                }
                (admitted, other) => panic!("{role} {word} {admitted}: {other:?}"),
            }
        }
    }
}

// shows: STW-399
fn nothing_but_a_word_gets_in(target: &Target) {
    let touch = "touch /root/mark";
    let long = "p".repeat(100_000);
    let said: &[&str] = &[
        "ping && touch /root/mark",
        touch,
        "ping; touch /root/mark",
        "ping | touch /root/mark",
        "$(touch /root/mark)",
        "`touch /root/mark`",
        "ping\ntouch /root/mark",
        "ping\n",
        " ping",
        "ping ",
        "ping --help",
        "--version",
        "-c 'touch /root/mark'",
        "apart ping",
        "expire",
        "enrol {}",
        "activate ep_1 0",
        "../../bin/sh",
        "PING",
        "pi\u{202e}ng",
        "p\u{ef}ng",
        &long,
        "scp -t /tmp/x",
        "rsync --server .",
        "/bin/sh",
        "sh -c id",
        "env",
    ];
    for (at, words) in said.iter().enumerate() {
        // Each with one of the keys, the three in turn.
        let role = Role::ALL[at % 3];
        let output = target.say(role, words, b"");
        let start: String = words.chars().take(20).collect();
        assert!(!output.status.success(), "{role} {start:?}");
        assert!(matches!(reply(&output), Reply::NotAdmitted { .. }), "{role} {start:?}");
    }
    assert!(!target.guest.run(&["test", "-e", "/root/mark"]).status.success(), "a shell has seen it");
}

fn there_is_no_shell_no_file_transfer_no_tunnel_and_no_environment(target: &Target) {
    // No command at all: a shell elsewhere.
    let shell = target.ssh(Role::Act, &[]);
    assert!(matches!(reply(&run(shell, b"id\n")), Reply::NotAdmitted { .. }));
    // A subsystem is a command like any other here.
    let mut files = target.ssh(Role::Act, &["-s"]);
    files.arg("sftp");
    let output = run(files, b"");
    assert!(!output.status.success(), "{output:?}");
    assert!(matches!(reply(&output), Reply::NotAdmitted { .. }));
    // Nothing is forwarded, not even to its own sshd.
    let output = run(target.ssh(Role::Act, &["-W", "127.0.0.1:22"]), b"");
    assert!(
        !output.status.success() && !String::from_utf8_lossy(&output.stdout).contains("SSH-"),
        "{output:?}"
    );
    // What a caller sets changes nothing, also not which word it is. This sshd takes every variable.
    let sets =
        "SetEnv=SSH_ORIGINAL_COMMAND=clean LD_PRELOAD=/nonexistent PATH=/nonexistent LC_ALL=tr_TR.UTF-8";
    let mut command = target.ssh(Role::Observe, &["-o", sets]);
    command.arg("ping");
    assert!(matches!(reply(&run(command, b"")), Reply::Pong { .. }));
    let mut command = target.ssh(Role::Act, &["-o", sets]);
    command.arg("list");
    assert!(matches!(reply(&run(command, b"")), Reply::Generations(_)));
}

fn too_much_and_too_little_end_too(target: &Target) {
    let much = vec![b' '; ASK_MAX + 1];
    let output = target.say(Role::Act, "cancel", &much);
    assert_eq!(
        reply(&output),
        Reply::NotAdmitted { why: format!("more than {ASK_MAX} bytes came with the word") }
    );
    for bad in [&b"{\"cancel\":{\"episode\":\"../x\"}}"[..], b"{\"keep\":{}}", b"\xff\x00", b"[[[[[[[[[["] {
        assert!(matches!(reply(&target.say(Role::Act, "cancel", bad)), Reply::NotAdmitted { .. }), "{bad:?}");
    }
    // Who says a word and then nothing, without an end, is sent away.
    let mut waits = target.ssh(Role::Act, &[]);
    waits.arg("cancel").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = waits.spawn().unwrap();
    let held = child.stdin.take();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("not whole within its time"), "{said}");
    drop(held);
    let _status = child.wait();
}

fn refusals_are_in_the_log(target: &Target) {
    let args = [
        "journalctl",
        "--quiet",
        "--no-pager",
        "--output=cat",
        "--priority=4",
        "SYSLOG_IDENTIFIER=holdfast-doorman",
    ];
    let log = target.must(&args);
    assert!(log.contains(r#"refused "ping; touch /root/mark": there is no word"#), "{log}");
    assert!(log.contains("observe: refused \"keep\": the key for observe may not say keep"), "{log}");
    assert!(!log.contains('\u{202e}'), "what a terminal obeys is escaped");
}

/// The same keys, from somewhere else: sshd does not even ask the doorman.
fn a_key_counts_from_its_own_address_alone(target: &Target) {
    let elsewhere = r#"sed -i "s/$1/192.0.2.7/" /root/.ssh/authorized_keys"#;
    target.must(&["sh", "-c", elsewhere, "elsewhere", HERE]);
    target.hang_up();
    for role in [Role::Act, Role::Rescue] {
        let output = target.say(role, "ping", b"");
        assert!(!output.status.success() && output.stdout.is_empty(), "{role} got in");
        assert!(String::from_utf8_lossy(&output.stderr).contains("Permission denied"), "{output:?}");
    }
    assert!(target.say(Role::Observe, "ping", b"").status.success());
}
