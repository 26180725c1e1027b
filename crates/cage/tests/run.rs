//! Ordinary programs in a cage: what they see, what they may do, and how their end is told.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;

use holdfast_cage::wire::End;
use support::{Trial, folder};

#[test]
fn a_program_runs_and_its_end_is_told() {
    let work = folder();
    let done = Trial::of("work", work.path()).sh("echo hello; echo oh >&2; echo kept > file; exit 7");
    assert_eq!((done.out.as_str(), done.err.as_str()), ("hello\n", "oh\n"), "{done:?}");
    assert_eq!(done.evidence.ended.end, End::Exited { code: 7 });
    assert_eq!(done.evidence.code(), 7);
    assert_eq!(fs::read_to_string(work.path().join("file")).unwrap(), "kept\n");
    assert_eq!(done.evidence.output_bytes, 9);
}

#[test]
fn it_sees_what_it_was_granted_and_nothing_else() {
    let (work, outside) = (folder(), folder());
    fs::write(outside.path().join("secret"), "kept").unwrap();
    let mut trial = Trial::of("work", work.path());
    trial.environment =
        vec![("LANG".to_owned(), "C.UTF-8".to_owned()), ("TOKEN".to_owned(), "kept".to_owned())];
    let see = |script: &str| trial.sh(script).out;
    assert_eq!(see("id -un; hostname; pwd"), format!("cage\ncage\n{}\n", trial.work.display()));
    let variables = see("env | cut -d= -f1 | sort | tr '\\n' ' '");
    assert_eq!(variables, "HOME LANG LOGNAME PATH PWD TMPDIR USER XDG_CACHE_HOME ");
    assert_eq!(see("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ", "three streams, and the folder it lists");
    assert_eq!(
        see("ls -A /tmp $HOME"),
        format!("/home/cage:\n\n/tmp:\n{}\n", trial.work.file_name().unwrap().display())
    );
    assert_eq!(see("ls /dev | tr '\\n' ' '"), "");
    for path in [
        outside.path().join("secret").display().to_string().as_str(),
        "/etc/shadow",
        "/root",
        "/sys",
        "/run",
        "/var",
        "/boot",
    ] {
        assert_eq!(see(&format!("ls -d {path} 2>/dev/null")), "", "{path}");
    }
    let processes = see("ls /proc | grep -c '^[0-9]'");
    assert!(processes.trim().parse::<u32>().unwrap() <= 5, "{processes}");
    assert_eq!(see("cat /etc/passwd | wc -l; wc -c < /etc/resolv.conf"), "1\n0\n");
    assert_eq!(see("touch /usr/x /etc/x /x 2>/dev/null; touch /tmp/x ~/x ./x && echo own"), "own\n");
    assert!(work.path().join("x").exists());
}
