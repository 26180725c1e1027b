//! What is forgotten is gone: from answers, and from every byte of every file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use holdfast_testkit::files::find_bytes;
use holdfast_vectors::{Error, Index, Key, Query, Vector};
use shared::{exactly, key, keyed, open, rebuild, threads, vectors, with_graph};

/// A stretch of the vector's bytes in full precision, and one of its code: neither may be anywhere.
fn traces(vector: &Vector) -> [Vec<u8>; 2] {
    let numbers = vector.numbers();
    let full = numbers[100..108].iter().flat_map(|n| n.to_le_bytes()).collect();
    let greatest = numbers.iter().fold(0.0_f32, |m, n| m.max(n.abs()));
    let code =
        numbers[100..132].iter().map(|n| ((n / (greatest / 127.0)).round_ties_even() as i32 + 128) as u8);
    [full, code.collect()]
}

#[track_caller]
fn assert_there(folder: &Path, vector: &Vector) {
    assert!(!find_bytes(folder, &traces(vector)[0]).is_empty(), "a test that would see nothing");
}

#[track_caller]
fn assert_gone(folder: &Path, index: &Index, key: Key, vector: &Vector) {
    for trace in traces(vector) {
        assert_eq!(find_bytes(folder, &trace), Vec::<std::path::PathBuf>::new());
    }
    assert_eq!(index.vector(key).unwrap(), None);
    assert!(index.rank(vector, &[key], None).unwrap().is_empty());
    let walked = index.search(&Query::nearest(vector, 50)).unwrap().hits;
    assert!(walked.iter().chain(&exactly(index, vector, 50).hits).all(|hit| hit.key != key));
}

// shows: MEM-F55
#[test]
fn nothing_of_a_forgotten_vector_is_left_in_log_or_base_and_it_stays_away() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(400, 1));
    let mut index = with_graph(folder.path(), &all[..300]);
    index.put(&keyed(&all)[300..]).unwrap();
    let tail_code = &traces(&all[123])[1];
    assert!(!find_bytes(folder.path(), tail_code).is_empty(), "the code of a row in the base is in its file");
    for entry in [123, 350] {
        let vector = &all[entry as usize];
        assert_there(folder.path(), vector);
        assert_eq!(index.forget(&[key(entry), key(entry), key(9999)]).unwrap(), 1);
        assert_gone(folder.path(), &index, key(entry), vector);
        assert_eq!(index.forget(&[key(entry)]).unwrap(), 0, "nothing is left to forget");
    }
    assert_eq!(index.len(), 398);
    drop(index);
    let mut index = open(folder.path());
    for _ in 0..2 {
        assert_eq!(index.len(), 398);
        for entry in [123, 350] {
            assert_gone(folder.path(), &index, key(entry), &all[entry as usize]);
        }
        index.verify().unwrap();
        rebuild(&mut index, 0);
    }
}

#[test]
fn forgetting_takes_every_version_and_every_piece() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(300, 2));
    let mut index = with_graph(folder.path(), &all[..200]);
    // Versions of one key in the base and twice in the log, and a second piece of the entry.
    index.put(&[(key(7), all[200].clone()), (key(7), all[201].clone())]).unwrap();
    let piece = Key { entry: 7, chunk: 3 };
    index.put(&[(piece, all[202].clone())]).unwrap();
    for vector in [&all[7], &all[200], &all[201], &all[202]] {
        assert_there(folder.path(), vector);
    }
    assert_eq!(index.forget_entry(7).unwrap(), 2);
    for vector in [&all[7], &all[200], &all[201], &all[202]] {
        assert_gone(folder.path(), &index, key(7), vector);
        assert_gone(folder.path(), &index, piece, vector);
    }
    assert_eq!(index.forget_entry(4711).unwrap(), 0);
    assert_eq!(index.len(), 199);
}

#[test]
fn what_is_forgotten_while_a_rebuild_runs_is_not_in_what_it_makes() {
    let all = vectors(300, 3);
    // At some of the moments at which the rebuild asks whether to go on: while it reads, links, before it writes, and when it is done.
    let moments = {
        let folder = tempfile::tempdir().unwrap();
        let mut index = with_graph(folder.path(), &all[..200]);
        index.put(&keyed(&all)[200..]).unwrap();
        let asked = AtomicU32::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < u32::MAX;
        drop(index.begin_rebuild().unwrap().with_graph_beyond(0).run(threads(1), &go_on).unwrap());
        asked.into_inner()
    };
    assert!(moments > 3);
    for moment in [0, 1, moments / 2, moments - 2, moments - 1, moments] {
        let folder = tempfile::tempdir().unwrap();
        let mut index = with_graph(folder.path(), &all[..200]);
        index.put(&keyed(&all)[200..]).unwrap();
        let rebuild = index.begin_rebuild().unwrap().with_graph_beyond(0);
        let index = std::sync::Mutex::new(index);
        let asked = AtomicU32::new(0);
        let go_on = || {
            if asked.fetch_add(1, Ordering::Relaxed) == moment {
                index.lock().unwrap().forget(&[key(20), key(250)]).unwrap();
            }
            true
        };
        let rebuilt = rebuild.run(threads(1), &go_on).unwrap();
        let mut index = index.into_inner().unwrap();
        if asked.into_inner() <= moment {
            // The last moment: made, and not switched to.
            index.forget(&[key(20), key(250)]).unwrap();
        }
        assert_gone(folder.path(), &index, key(20), &all[20]);
        assert_gone(folder.path(), &index, key(250), &all[250]);
        index.put(&[(key(20), all[299].clone())]).unwrap();
        let retired = index.adopt(rebuilt).unwrap();
        assert_gone(folder.path(), &index, key(250), &all[250]);
        assert_eq!(
            index.vector(key(20)).unwrap(),
            Some(all[299].clone()),
            "put in again after it was forgotten"
        );
        // Files that no longer count are not yet shredded: forgetting waits for that.
        assert_there(folder.path(), &all[33]);
        index.forget(&[key(33)]).unwrap();
        assert_gone(folder.path(), &index, key(33), &all[33]);
        retired.shred().unwrap();
        assert_eq!(index.len(), 298);
        index.verify().unwrap();
        drop(index);
        let index = open(folder.path());
        assert_eq!(index.len(), 298);
        assert_gone(folder.path(), &index, key(250), &all[250]);
        index.verify().unwrap();
    }
}

#[test]
fn a_rebuild_that_is_given_up_or_stopped_leaves_no_file() {
    let (folder, all) = (tempfile::tempdir().unwrap(), vectors(100, 4));
    let mut index = with_graph(folder.path(), &all);
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let rebuild = index.begin_rebuild().unwrap();
    assert!(matches!(index.begin_rebuild(), Err(Error::Rebuilding)));
    drop(rebuild);
    for moments in 0..6 {
        let asked = AtomicU32::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < moments;
        let run = index.begin_rebuild().unwrap().with_graph_beyond(0).run(threads(2), &go_on);
        assert!(matches!(&run, Err(Error::Stopped)) || run.is_ok());
        drop(run);
        assert_eq!(names(), before, "after {moments} moments");
    }
    // One that was begun before another was switched to is not ours any more.
    let stale = index.begin_rebuild().unwrap().run(threads(1), &|| true).unwrap();
    let other = tempfile::tempdir().unwrap();
    assert!(matches!(with_graph(other.path(), &all).adopt(stale), Err(Error::NotOurs)));
    assert_eq!(names(), before);
}
