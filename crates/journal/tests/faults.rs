//! Damage, cuts, full and read-only disks: each gives its documented result (`docs/formats/journal.md`).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_journal::{Error, Finding, Limits, Verification};
use holdfast_testkit::House;
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{Seed, SmallDisk, files, require, rounds};

/// A log of 250 entries in several segments with blobs, closed; 50 of them beyond the last checkpoint.
fn written() -> House {
    let mut house = House::new();
    house.limits = Limits { segment_bytes: 32 * 1024, ..Limits::default() };
    let journal = house.open();
    for n in 0..250 {
        let text = format!("a text to forget, number {n}");
        let draft = match n % 20 {
            3 => house.blob(&text),
            13 => house.long_blob(&text),
            _ => house.note(n),
        };
        journal.append(&draft).unwrap();
    }
    journal.settle().unwrap();
    drop(journal);
    house
}

/// The segment being written, and where its entries end.
fn last_segment(house: &House) -> (PathBuf, u64) {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(house.journal()).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|p| p.extension().is_some_and(|e| e == "jsonl") && is_segment(p));
    names.sort();
    let path = names.pop().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|b| *b != b'\n').unwrap() as u64 + 2;
    (path, end)
}

fn is_segment(path: &Path) -> bool {
    path.file_stem().unwrap().to_str().unwrap().bytes().all(|b| b.is_ascii_digit())
}

fn copy(house: &House) -> House {
    let dir = tempfile::tempdir().unwrap();
    files::copy_tree(house.path(), dir.path().join("h"));
    let mut copy = House::attach(&dir.keep().join("h"), "test");
    copy.limits = house.limits.clone();
    copy
}

fn remove(house: House) {
    std::fs::remove_dir_all(house.path().parent().unwrap()).unwrap();
}

// shows: MEM-F12, MEM-F13
#[test]
fn a_cut_at_every_byte_of_the_last_three_entries_keeps_all_whole_ones() {
    let house = written();
    let (path, end) = last_segment(&house);
    let bytes = std::fs::read(&path).unwrap();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(bytes[..end as usize].iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1))
        .collect();
    let from = starts[starts.len() - 4];
    let stride = if rounds(1, 2) == 2 { 1 } else { 4 };
    let borders = starts[starts.len() - 4..].iter().flat_map(|s| [s.saturating_sub(1), *s, *s + 1]);
    let cuts =
        (from..end as usize).step_by(stride).chain(borders).filter(|c| (from..=end as usize).contains(c));
    for cut in cuts {
        let copy = copy(&house);
        let segment = copy.journal().join(path.file_name().unwrap());
        files::truncate(&segment, cut as u64);
        let whole = 250 - starts.iter().filter(|s| **s > cut).count() as u64;
        let is_torn = !starts.contains(&cut);
        let verification = copy.verify().unwrap();
        assert_eq!(verification.is_good(), !is_torn, "cut at {cut}");
        assert!(!verification.is_damaged(), "cut at {cut}");
        let journal = copy.open();
        assert_eq!(journal.report().torn.is_some(), is_torn, "cut at {cut}");
        // The journal notes in the log that something was set aside.
        assert_eq!(journal.size(), whole + u64::from(is_torn), "cut at {cut}");
        journal.append(&copy.note(1)).unwrap();
        if let Some(torn) = &journal.report().torn {
            assert_eq!(std::fs::read(&torn.kept_in).unwrap(), &bytes[cut - torn.bytes as usize..cut]);
        }
        drop(journal);
        assert!(copy.verify().unwrap().is_good(), "cut at {cut}");
        remove(copy);
    }
}

// shows: HRD-049, MEM-053, MEM-040
#[test]
fn a_flipped_bit_anywhere_is_found_by_verification_and_in_the_tail_also_by_opening() {
    let house = written();
    let places: Vec<(PathBuf, u64)> = files::tree_bytes(house.journal())
        .into_iter()
        .filter(|(path, bytes)| !bytes.is_empty() && path.file_name().is_some_and(|n| n != "LOCK"))
        .map(|(path, bytes)| (path, bytes.len() as u64))
        .collect();
    let total: u64 = places.iter().map(|(_, len)| len).sum();
    let (last, end) = last_segment(&house);
    let checkpointed = offset_of_last_checkpoint(&house, &last);
    let seed = Seed::from_env_or(11);
    let mut rng = seed.rng();
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    for round in 0..rounds(1000, 5000) {
        let mut at = rng.below(total);
        let (path, offset) = places
            .iter()
            .find_map(|(path, len)| {
                if at < *len {
                    Some((path, at))
                } else {
                    at -= len;
                    None
                }
            })
            .unwrap();
        let file = house.journal().join(path);
        let bit = rng.below(8) as u8;
        files::flip_bit(&file, offset, bit);
        let said = format!("round {round}: {} byte {offset} bit {bit} ({seed})", path.display());
        let verification = house.verify();
        let found = match &verification {
            Ok(v) => !v.is_good(),
            Err(Error::Damaged(_) | Error::NewerFormat { .. }) => true,
            Err(e) => panic!("{said}: {e}"),
        };
        assert!(found, "{said}: not found by verification");
        if file == last && offset >= checkpointed && offset < end {
            let copy = copy(&house);
            match copy.try_open() {
                Err(Error::Damaged(_)) => {}
                Ok(journal) => assert!(journal.report().torn.is_some(), "{said}: not found by opening"),
                Err(e) => panic!("{said}: {e}"),
            }
            remove(copy);
            *kinds.entry("tail".into()).or_default() += 1;
        }
        *kinds
            .entry(path.extension().map_or("META/tree".into(), |e| e.to_string_lossy().into_owned()))
            .or_default() += 1;
        files::flip_bit(&file, offset, bit);
    }
    assert!(house.verify().unwrap().is_good());
    assert!(kinds["jsonl"] > 100, "{kinds:?}");
}

fn offset_of_last_checkpoint(house: &House, segment: &Path) -> u64 {
    let path = house.journal().join(segment.file_name().unwrap()).with_extension("checkpoints");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let last = text.lines().last().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    last.map_or(0, |l| l["offset"].as_u64().unwrap())
}

fn damaged(v: holdfast_journal::Result<Verification>) -> bool {
    match v {
        Ok(v) => v.is_damaged(),
        Err(e) => matches!(e, Error::Damaged(_)),
    }
}

// shows: HRD-049, HRD-054, MEM-054, MEM-125
#[test]
fn edited_deleted_reordered_and_cut_entries_are_each_found_also_across_segments() {
    let base = written();
    fn lines(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }
    let first = base.segment(0);
    type Change = Box<dyn Fn(&House)>;
    let changes: [(&str, Change); 6] = [
        (
            "edited",
            Box::new(|h| {
                let p = h.segment(0);
                std::fs::write(&p, lines(&p).replacen("quick", "quiet", 1)).unwrap();
            }),
        ),
        (
            "deleted",
            Box::new(|h| {
                let p = h.segment(0);
                std::fs::write(&p, lines(&p).lines().skip(1).map(|l| format!("{l}\n")).collect::<String>())
                    .unwrap();
            }),
        ),
        (
            "reordered",
            Box::new(|h| {
                let p = h.segment(0);
                let text = lines(&p);
                let mut all: Vec<&str> = text.lines().collect();
                all.swap(4, 5);
                std::fs::write(&p, all.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
            }),
        ),
        ("cut", Box::new(|h| files::truncate(h.segment(0), 1000))),
        ("segment gone", Box::new(|h| std::fs::remove_file(h.segment(0)).unwrap())),
        ("segment emptied", Box::new(|h| std::fs::write(h.segment(0), "").unwrap())),
    ];
    assert!(first.exists());
    for (name, change) in changes {
        let house = copy(&base);
        change(&house);
        assert!(damaged(house.verify()), "{name}");
        remove(house);
    }
}

#[test]
fn a_rewritten_history_with_fitting_checksums_is_found_by_the_tree() {
    let house = written();
    let path = house.segment(0);
    let text = std::fs::read_to_string(&path).unwrap();
    // A forger can make checksums; they are not secret.
    let forged: String = text
        .lines()
        .map(|line| {
            let body = line[..line.len() - 18].replacen("\"n\":5,", "\"n\":6,", 1);
            format!("{body},\"crc\":\"{:08x}\"}}\n", crc32c(body.as_bytes()))
        })
        .collect();
    assert_ne!(forged, text);
    assert_eq!(forged.len(), text.len());
    std::fs::write(&path, forged).unwrap();
    assert!(damaged(house.verify()));
}

/// CRC-32C bit by bit, so that this file does not rest on the crate it checks.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, b| {
        (0..8).fold(crc ^ u32::from(*b), |c, _| if c & 1 == 1 { c >> 1 ^ 0x82f6_3b78 } else { c >> 1 })
    })
}

#[test]
fn lost_tree_hashes_are_made_again_and_wrong_entries_are_not_accepted_for_them() {
    let house = written();
    std::fs::remove_dir_all(house.journal().join("tree")).unwrap();
    let journal = house.open();
    assert!(journal.report().tree_rebuilt);
    let size = journal.checkpoint().unwrap().checkpoint.size;
    journal.prove_inclusion(3, size).unwrap();
    drop(journal);
    assert!(house.verify().unwrap().is_good());
    // The same again, with an entry removed: there is nothing to make them from.
    std::fs::remove_dir_all(house.journal().join("tree")).unwrap();
    files::flip_bit(house.segment(0), 40, 1);
    assert!(matches!(house.try_open(), Err(Error::Damaged(_))));
}

#[test]
fn an_unfinished_line_in_a_side_file_is_cut_and_a_changed_one_is_refused() {
    let house = written();
    for name in ["seals.jsonl".to_owned(), format!("{:020}.checkpoints", last_checkpoint_file(&house))] {
        let path = house.journal().join(&name);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), b"{\"size\":12"].concat()).unwrap();
        drop(house.open());
        assert_eq!(std::fs::read(&path).unwrap(), whole, "{name}");
        let mut changed = whole.clone();
        let at = changed.len() - 40;
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert!(matches!(house.try_open(), Err(Error::Damaged(_))), "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), changed, "{name}: refused means untouched");
        std::fs::write(&path, whole).unwrap();
    }
    drop(house.open());
}

#[test]
fn a_side_file_with_a_long_broken_end_is_refused_and_not_emptied() {
    let house = written();
    let path = house.journal().join("seals.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.resize(bytes.len() + 70_000, 0);
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(house.try_open(), Err(Error::Damaged(_))));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn every_side_file_is_freed_of_an_unfinished_line() {
    let house = written();
    for name in ["foreign.jsonl", "witnessed.jsonl"] {
        std::fs::write(house.journal().join(name), "{\"origin\":").unwrap();
    }
    drop(house.open());
    for name in ["foreign.jsonl", "witnessed.jsonl"] {
        assert_eq!(std::fs::read(house.journal().join(name)).unwrap(), b"", "{name}");
    }
}

#[test]
fn tree_hashes_stay_until_better_ones_are_there() {
    let house = written();
    let tree = house.journal().join("tree/00");
    files::flip_bit(&tree, 40, 1);
    let before = std::fs::read(&tree).unwrap();
    let segment = house.segment(0);
    files::flip_bit(&segment, 40, 1);
    assert!(matches!(house.try_open(), Err(Error::Damaged(_))));
    assert_eq!(std::fs::read(&tree).unwrap(), before, "nothing to make them from, so they stay");
    files::flip_bit(&segment, 40, 1);
    assert!(house.open().report().tree_rebuilt);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_blob_that_does_not_fit_the_disk_leaves_nothing_of_itself() {
    let Some(disk) = require(SmallDisk::tmpfs(8 * 1024 * 1024)) else { return };
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    let refused = journal.append(&house.blob(&"x".repeat(12 * 1024 * 1024)));
    assert!(matches!(refused, Err(Error::DiskFull { .. })), "{refused:?}");
    (1..2000).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_blob_reference_out_of_all_bounds_is_a_finding_and_no_panic() {
    for (offset, len) in [(0, u64::MAX), (u64::MAX, 100), (0, 4_000_000_000_000)] {
        let house = House::new();
        let journal = house.open();
        journal.append(&house.long_blob("text")).unwrap();
        drop(journal);
        let text = std::fs::read_to_string(house.segment(0)).unwrap();
        let line = text.trim_end();
        let at = line.find("\"offset\":").unwrap();
        let body = format!("{}\"offset\":{offset},\"len\":{len}}}", &line[..at]);
        std::fs::write(house.segment(0), format!("{body},\"crc\":\"{:08x}\"}}\n", crc32c(body.as_bytes())))
            .unwrap();
        assert!(damaged(house.verify()), "{offset} {len}");
    }
}

fn last_checkpoint_file(house: &House) -> u64 {
    let names =
        std::fs::read_dir(house.journal()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter_map(|n| n.strip_suffix(".checkpoints").map(|n| n.parse().unwrap())).max().unwrap()
}

#[test]
fn a_power_cut_that_kept_a_later_part_of_a_batch_is_set_aside_not_refused() {
    let house = House::new();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    let start = std::fs::read(house.segment(0)).unwrap().iter().rposition(|b| *b != b'\n').unwrap() + 2;
    let batch: Vec<_> = (1..40).map(|n| house.note(n)).collect();
    journal.append_many(&batch).unwrap();
    drop(journal);
    let mut bytes = std::fs::read(house.segment(0)).unwrap();
    // The first page of the batch never reached the disk; the space filled before shows through.
    let page = start.next_multiple_of(4096);
    bytes[start..page].fill(b'\n');
    std::fs::write(house.segment(0), &bytes).unwrap();
    let journal = house.open();
    let torn = journal.report().torn.clone().unwrap();
    assert_eq!(torn.offset, start as u64);
    assert_eq!(journal.size(), 2);
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_full_disk_refuses_and_loses_nothing_and_goes_on_when_there_is_room() {
    let Some(disk) = require(SmallDisk::tmpfs(3 * 1024 * 1024)) else { return };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![1; 1024 * 1024]).unwrap();
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    let mut acknowledged = 0;
    let refused = loop {
        match journal.append(&house.note(acknowledged)) {
            Ok(appended) => {
                assert_eq!(appended.seq, acknowledged);
                acknowledged += 1;
            }
            Err(e) => break e,
        }
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    assert!(acknowledged > 1000, "only {acknowledged}: the room there was must be used");
    assert!(matches!(journal.append(&house.note(0)), Err(Error::DiskFull { .. })));
    assert_eq!(journal.read(0).filter(Result::is_ok).count() as u64, acknowledged);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(journal.append(&house.note(0)).unwrap().seq, acknowledged);
    wait_until(|| journal.status().warnings.is_empty());
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(verification.is_good(), "{:?}", verification.findings);
    assert_eq!(verification.size, acknowledged + 1);
}

#[test]
fn a_full_disk_under_many_callers_tells_each_of_them() {
    let Some(disk) = require(SmallDisk::tmpfs(1536 * 1024)) else { return };
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    let acknowledged: u64 = std::thread::scope(|s| {
        let threads: Vec<_> = (0..32)
            .map(|_| s.spawn(|| (0..).take_while(|n| journal.append(&house.note(*n)).is_ok()).count() as u64))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(journal.size(), acknowledged);
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(!verification.is_damaged(), "{:?}", verification.findings);
    assert_eq!(verification.size, acknowledged);
}

#[test]
fn a_read_only_directory_is_named_and_can_still_be_read_and_verified() {
    let Some(disk) = require(SmallDisk::tmpfs(8 * 1024 * 1024)) else { return };
    let house = House::attach(disk.path(), "ro");
    house.create();
    let journal = house.open();
    for n in 0..120 {
        journal.append(&house.note(n)).unwrap();
    }
    journal.settle().unwrap();
    drop(journal);
    disk.remount_read_only().unwrap();
    let before = files::tree_bytes(disk.path());
    let refused = house.try_open().unwrap_err();
    assert!(matches!(refused, Error::ReadOnly { .. }), "{refused}");
    assert!(house.verify().unwrap().is_good());
    let view = holdfast_journal::View::open(&house.journal(), None).unwrap();
    assert_eq!(view.entries(0).count(), 120);
    view.prove_inclusion(5, 100).unwrap();
    assert_eq!(files::tree_bytes(disk.path()), before);
    disk.remount_read_write().unwrap();
    drop(house.open());
}

/// The child: opens, says so, and holds it until killed.
#[test]
fn holder() {
    crash::child_main("holder", |args, report| {
        let house = House::attach(Path::new(&args[0]), "test");
        match house.try_open() {
            Ok(journal) => {
                report.line("open");
                journal.append(&house.note(1)).unwrap();
                std::thread::sleep(Duration::from_secs(20));
            }
            Err(Error::Busy { holder }) => report.line(format!("busy {holder}")),
            Err(e) => report.line(format!("failed {e}")),
        }
    });
}

// shows: MEM-005, MEM-044
#[test]
fn of_many_processes_that_open_at_once_one_gets_it_and_a_killed_one_lets_go() {
    let house = House::new();
    for _ in 0..rounds(2, 10) {
        let children: Vec<_> =
            (0..6).map(|_| Crash::new("holder").arg(house.path().display()).spawn().unwrap()).collect();
        let said: Vec<String> =
            children.iter().map(|c| c.wait_line("", Duration::from_secs(20)).unwrap()).collect();
        assert_eq!(said.iter().filter(|s| *s == "open").count(), 1, "{said:?}");
        assert_eq!(said.iter().filter(|s| s.starts_with("busy ")).count(), 5, "{said:?}");
        children.into_iter().for_each(|c| drop(c.kill().unwrap()));
        drop(house.open());
    }
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_was() {
    let house = written();
    let meta = house.journal().join("META");
    std::fs::write(&meta, "format: 2\nsomething: else\n").unwrap();
    let before = files::tree_bytes(house.state());
    assert!(matches!(house.try_open(), Err(Error::NewerFormat { .. })));
    assert!(matches!(house.verify(), Err(Error::NewerFormat { .. })));
    assert_eq!(files::tree_bytes(house.state()), before);
}

#[test]
fn verification_goes_on_past_what_it_finds() {
    let house = written();
    for first in segments(&house).into_iter().take(3) {
        files::flip_bit(house.segment(first), 200, 0);
    }
    let verification = house.verify().unwrap();
    let files: std::collections::BTreeSet<&str> = verification
        .findings
        .iter()
        .map(|f| match f {
            Finding::Torn(d) | Finding::Damaged(d) => d.file.as_str(),
        })
        .collect();
    assert_eq!(files.len(), 3, "{:?}", verification.findings);
    assert_eq!(verification.size, 250);
}

fn segments(house: &House) -> Vec<u64> {
    let names =
        std::fs::read_dir(house.journal()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut firsts: Vec<u64> = names.filter_map(|n| n.strip_suffix(".jsonl")?.parse().ok()).collect();
    firsts.sort_unstable();
    firsts
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(std::time::Instant::now() < deadline, "it did not come to that");
        std::thread::sleep(Duration::from_millis(20));
    }
}
