//! Real processes, killed while they put in, forget and rebuild.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::files::find_bytes;
use holdfast_testkit::{Seed, rounds};
use holdfast_vectors::{Index, Query, Vector};
use shared::{MODEL, exactly, key, keyed, open, threads, vectors};

const VECTORS: usize = 600;
/// One in so many is forgotten soon after it was put in.
const FORGOTTEN_EACH: u64 = 5;

/// The child: puts in, forgets and rebuilds, and says what is done. It goes on where the one before it was killed.
#[test]
fn keeper() {
    crash::child_main("keeper", |args, report| {
        let all = keyed(&vectors(VECTORS, 1));
        let mut index = open(Path::new(&args[0]));
        report.line("opened");
        let begin = index.applied().map_or(0, |entry| entry as usize + 1);
        for (n, part) in all[begin..].chunks(3).enumerate() {
            index.put(part).unwrap();
            let last = part[part.len() - 1].0.entry;
            index.set_applied(last).unwrap();
            report.line(format!("put {last}"));
            let gone: Vec<_> = (last.saturating_sub(40)..=last)
                .filter(|entry| entry % FORGOTTEN_EACH == 0)
                .map(key)
                .collect();
            if n % 4 == 3 {
                index.forget(&gone).unwrap();
                gone.iter().for_each(|key| report.line(format!("forgot {}", key.entry)));
            }
            if n % 16 == 15 {
                let rebuild = index.begin_rebuild().unwrap().with_graph_beyond(64);
                // Forgotten while the rebuild runs in another thread.
                std::thread::scope(|scope| {
                    let running = scope.spawn(|| rebuild.run(threads(2), &|| true).unwrap());
                    let entry = last - last % FORGOTTEN_EACH;
                    index.forget(&[key(entry)]).unwrap();
                    report.line(format!("forgot {entry}"));
                    let retired = index.adopt(running.join().unwrap()).unwrap();
                    report.line("switched");
                    retired.shred().unwrap();
                });
            }
        }
        report.line("all");
    });
}

// shows: MEM-F55
#[test]
fn a_kill_at_any_moment_leaves_a_whole_index_and_nothing_forgotten_comes_back() {
    let (root, all) = (tempfile::tempdir().unwrap(), vectors(VECTORS, 1));
    let folder = root.path().join("index");
    let (mut forgotten, mut put, mut kinds) = (BTreeSet::new(), None, BTreeSet::new());
    // On a busy machine none may have come far enough; then they are given longer.
    for slower in [1, 8, 40] {
        if kinds.contains("switched") && kinds.contains("forgot") {
            break;
        }
        crash::run_kills(
            Seed::from_env_or(11),
            rounds(40, 400),
            Duration::from_millis(1)..Duration::from_millis(220 * slower),
            |_| Crash::new("keeper").arg(folder.display()),
            |round, remains| {
                for line in &remains.lines {
                    let (what, entry) = line.split_once(' ').unwrap_or((line, ""));
                    kinds.insert(what.to_owned());
                    match what {
                        "forgot" => drop(forgotten.insert(entry.parse::<u64>().unwrap())),
                        "put" => put = Some(entry.parse::<u64>().unwrap()),
                        _ => {}
                    }
                }
                check(&folder, &all, &forgotten, put, round);
                if put == Some(VECTORS as u64 - 1) {
                    // All is done: the next one begins anew.
                    std::fs::remove_dir_all(&folder).unwrap();
                    forgotten.clear();
                    put = None;
                }
            },
        );
    }
    assert!(kinds.contains("switched") && kinds.contains("forgot"), "{kinds:?}");
}

fn check(folder: &Path, all: &[Vector], forgotten: &BTreeSet<u64>, put: Option<u64>, round: u32) {
    let index = Index::open(folder, MODEL).unwrap_or_else(|e| panic!("round {round}: {e}"));
    index.verify().unwrap_or_else(|e| panic!("round {round}: {e}"));
    assert!(index.applied() >= put, "round {round}: {:?} after {put:?}", index.applied());
    for entry in 0..put.map_or(0, |put| put + 1) {
        let found = index.vector(key(entry)).unwrap();
        if forgotten.contains(&entry) {
            assert_eq!(found, None, "round {round}: {entry} came back");
        } else if entry % FORGOTTEN_EACH != 0 {
            assert_eq!(found.as_ref(), Some(&all[entry as usize]), "round {round}: {entry}");
        }
    }
    for entry in forgotten.iter().rev().take(3) {
        let trace: Vec<u8> =
            all[*entry as usize].numbers()[7..17].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert!(find_bytes(folder, &trace).is_empty(), "round {round}: {entry} is still on the disk");
        let near = index.search(&Query::nearest(&all[*entry as usize], 20)).unwrap().hits;
        assert!(near.iter().all(|hit| !forgotten.contains(&hit.key.entry)), "round {round}");
        assert!(
            exactly(&index, &all[*entry as usize], 20)
                .hits
                .iter()
                .all(|hit| !forgotten.contains(&hit.key.entry))
        );
    }
}
