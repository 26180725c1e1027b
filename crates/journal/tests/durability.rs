//! Durable on return: the order of system calls, as the kernel saw them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_journal::Limits;
use holdfast_testkit::House;

const PLACE: &str = "HOLDFAST_TRACED_WRITER";

/// Runs under strace: appends, and after each acknowledgement writes to a file that stands for the caller.
#[test]
fn traced_writer() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let mut house = House::attach(Path::new(&place), "traced");
    house.limits = Limits { segment_bytes: 4096, ..Limits::default() };
    let journal = house.open();
    let mut acks = std::fs::File::create(Path::new(&place).join("acks")).unwrap();
    for n in 0..40 {
        let draft = match n % 10 {
            0 => house.blob("text"),
            5 => house.long_blob("text"),
            _ => house.note(n),
        };
        journal.append(&draft).unwrap();
        acks.write_all(b"ack").unwrap();
    }
}

/// What a line of the trace says happened to which file.
#[derive(Debug, PartialEq)]
enum Call {
    Created(String),
    Wrote(String),
    SyncedData(String),
    SyncedFolder,
    Acknowledged,
}

// shows: MEM-F18
#[test]
fn an_append_is_acknowledged_after_its_bytes_and_the_name_of_its_file_are_synced() {
    let root = tempfile::tempdir().unwrap();
    House::attach(root.path(), "traced").create();
    let trace = root.path().join("trace");
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-e", "trace=openat,linkat,pwrite64,write,fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "traced_writer", "--nocapture", "--test-threads=1"])
        .env(PLACE, root.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("strace is installed by the set-up step");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let calls: Vec<Call> = std::fs::read_to_string(&trace).unwrap().lines().filter_map(call).collect();
    assert_eq!(calls.iter().filter(|c| **c == Call::Acknowledged).count(), 40);
    let (mut unsynced, mut unnamed, mut written) = (Vec::new(), Vec::new(), 0);
    for call in &calls {
        match call {
            Call::Created(file) => unnamed.push(file.clone()),
            Call::SyncedFolder => unnamed.clear(),
            Call::Wrote(file) => {
                assert!(!unnamed.contains(file), "{file} is written before its name is durable");
                unsynced.push(file.clone());
                written += 1;
            }
            Call::SyncedData(file) => unsynced.retain(|f| f != file),
            Call::Acknowledged => {
                assert!(written > 0, "an acknowledgement without a write");
                assert!(unsynced.is_empty(), "acknowledged with {unsynced:?} not synced");
                written = 0;
            }
        }
    }
    assert!(calls.iter().filter(|c| matches!(c, Call::Created(_))).count() >= 3, "rotations happened");
}

/// Looks at segments and packs only: the notary's files follow behind on purpose.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once(' ').map(|(_, l)| l.trim_start()).unwrap_or(line).split_once('(')?;
    let file = rest.split('<').nth(1).and_then(|f| f.split('>').next()).unwrap_or_default();
    let became_segment = rest.contains("(deleted)");
    let file = file.trim_end_matches(" (deleted)");
    let is_log = |f: &str| {
        if f.ends_with("/next.spare") {
            return became_segment;
        }
        let stem = Path::new(f).file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        (f.ends_with(".jsonl") || f.ends_with(".blobs")) && stem.len() == 20
    };
    match name {
        "openat" if rest.contains("O_CREAT") => {
            let path = rest.split('"').nth(1)?;
            is_log(path).then(|| Call::Created(path.to_owned()))
        }
        // A segment made of the spare that was filled ahead; its descriptor goes by the old name.
        "linkat" => {
            let mut paths = rest.split('"').skip(1).step_by(2);
            let (from, to) = (paths.next()?, paths.next()?);
            is_log(to).then(|| Call::Created(from.to_owned()))
        }
        "pwrite64" | "write" if is_log(file) => Some(Call::Wrote(file.to_owned())),
        "write" if file.ends_with("/acks") => Some(Call::Acknowledged),
        "fdatasync" if is_log(file) => Some(Call::SyncedData(file.to_owned())),
        "fsync" if is_log(file) => Some(Call::SyncedData(file.to_owned())),
        "fsync" if file.ends_with("/journal") => Some(Call::SyncedFolder),
        _ => None,
    }
}
