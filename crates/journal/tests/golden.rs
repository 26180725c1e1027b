//! A journal of format 1 as it was written when the format was settled: every later version opens it.
//!
//! `golden/format-1.json` holds its files in base64. A released format's file is never written again; with
//! `UPDATE=1` this test makes the file of a format that has none yet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_journal::{Limits, Stored};
use holdfast_testkit::House;
use holdfast_testkit::files;

const TEXT: &str = "a text that is sealed beside the log";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1.json")
}

#[test]
fn a_journal_of_format_1_opens_reads_verifies_and_goes_on() {
    if !golden().exists() && std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        write_golden();
    }
    let packed: BTreeMap<String, String> = serde_json::from_slice(&std::fs::read(golden()).unwrap()).unwrap();
    let root = tempfile::tempdir().unwrap();
    for (name, bytes) in packed {
        let path = root.path().join(name);
        holdfast_durable::create_dir(path.parent().unwrap()).unwrap();
        holdfast_durable::create(&path, &BASE64.decode(bytes).unwrap(), holdfast_durable::Mode::Private)
            .unwrap();
    }
    let house = House::attach(root.path(), "golden");
    let found = house.verify().unwrap();
    assert!(found.is_good(), "{:?}", found.findings);
    assert_eq!((found.size, found.segments, found.blobs, found.checkpointed), (25, 3, 1, 22));
    assert_eq!(
        found.root.to_string(),
        "sha256:8cb5bd20582bed148b31b482eb2ebb5f64762a25b650736fc9972b48258c4b89",
        "the leaves and the tree are what they were"
    );
    let journal = house.open();
    assert!(journal.report().torn.is_none() && !journal.report().tree_rebuilt);
    assert_eq!(journal.text(3).unwrap(), TEXT.as_bytes());
    let Stored::Body(body) = journal.entry(7).unwrap().parse().unwrap().content else { panic!("a body") };
    assert_eq!(body["n"], 7);
    assert_eq!(journal.append(&house.note(25)).unwrap().seq, 25);
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

fn write_golden() {
    let root = tempfile::tempdir().unwrap();
    let mut house = House::attach(root.path(), "golden");
    house.limits = Limits { segment_bytes: 4096, checkpoint_every: 10, ..Limits::default() };
    house.create();
    let journal = house.open();
    for n in 0..25 {
        journal.append(&if n == 3 { house.blob(TEXT) } else { house.note(n) }).unwrap();
    }
    journal.settle().unwrap();
    drop(journal);
    let packed: BTreeMap<String, String> = files::tree_bytes(root.path())
        .into_iter()
        .map(|(path, bytes)| (path.to_str().unwrap().to_owned(), trimmed(&path, &bytes)))
        .collect();
    holdfast_durable::create_dir(golden().parent().unwrap()).unwrap();
    let json = serde_json::to_string_pretty(&packed).unwrap() + "\n";
    holdfast_durable::create(&golden(), json.as_bytes(), holdfast_durable::Mode::Readable).unwrap();
}

/// Filled space is most of a young segment and says nothing.
fn trimmed(path: &Path, bytes: &[u8]) -> String {
    let is_segment = path.extension().is_some_and(|e| e == "jsonl");
    let end = bytes.iter().rposition(|b| *b != b'\n').map_or(0, |n| n + 2);
    BASE64.encode(if is_segment { &bytes[..end.min(bytes.len())] } else { bytes })
}
