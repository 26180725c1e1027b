//! The model in use: which files it takes, what it makes of texts long and short, and that it always makes the same of them.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod here;

use std::fs::{File, OpenOptions};
use std::num::NonZero;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use holdfast_embed::{
    Chunk, EmbedError, FILES, Instructions, MODEL_ID, Model, ModelError, TEXT_BYTES_MAX, WEIGHTS, WIDTH,
    WINDOW,
};
use proptest::prelude::*;

fn model() -> Model {
    Model::open(&here::model()).unwrap()
}

fn threads(n: usize) -> NonZero<usize> {
    NonZero::new(n).unwrap()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn only(chunks: Vec<Chunk>) -> Chunk {
    assert_eq!(chunks.len(), 1);
    chunks.into_iter().next().unwrap()
}

/// A copy of the model that may be damaged.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        std::fs::copy(here::model().join(file.name), folder.path().join(file.name)).unwrap();
    }
    folder
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

#[test]
fn a_model_says_what_it_is() {
    let info = model().with_threads(threads(3)).info();
    assert_eq!((info.id, info.width, info.window, info.threads), (MODEL_ID, WIDTH, WINDOW, 3));
    assert_eq!((info.sha256, info.instructions), (WEIGHTS.sha256, Instructions::best()));
}

#[test]
fn a_file_that_is_missing_cut_too_long_or_altered_is_refused_by_name_with_what_to_do() {
    for file in FILES {
        let folder = copy();
        let path = folder.path().join(file.name);
        let refused = |part: &str| {
            for e in [Model::verify(folder.path()).unwrap_err(), Model::open(folder.path()).unwrap_err()] {
                let said = e.to_string();
                for part in [part, &path.display().to_string(), "holdfast model fetch"] {
                    assert!(said.contains(part), "{said} does not say {part}");
                }
            }
        };
        // A bit in the middle, one in the first bytes, which say how long the description is, and one in the last.
        for at in [0, 9, file.bytes / 2, file.bytes - 1] {
            let mut byte = [0];
            File::open(&path).unwrap().read_exact_at(&mut byte, at).unwrap();
            write_at(&path, at, &[byte[0] ^ 0x10]);
            refused(file.sha256);
            write_at(&path, at, &byte);
        }
        assert!(Model::verify(folder.path()).is_ok());
        let whole = OpenOptions::new().write(true).open(&path).unwrap();
        whole.set_len(file.bytes + 1).unwrap();
        refused(&file.bytes.to_string());
        whole.set_len(file.bytes - 1).unwrap();
        refused(&file.bytes.to_string());
        std::fs::remove_file(&path).unwrap();
        refused("missing");
        std::fs::create_dir(&path).unwrap();
        refused("missing");
    }
}

#[test]
fn weights_that_change_on_disk_while_they_are_used_are_noticed() {
    let folder = copy();
    let model = Model::open(folder.path()).unwrap();
    let before = model.embed(&["bread"]).unwrap();
    let path = folder.path().join(WEIGHTS.name);
    // Any byte of the table of pieces will do, if the piece is used: all of them are.
    write_at(&path, 1_000_000, &[0xff; 40_000_000]);
    assert!(matches!(model.embed(&["bread"]), Err(EmbedError::Changed)));
    OpenOptions::new().write(true).open(&path).unwrap().set_len(1000).unwrap();
    assert!(matches!(model.embed(&["bread"]), Err(EmbedError::Changed)));
    std::fs::copy(here::model().join(WEIGHTS.name), &path).unwrap();
    assert_eq!(model.embed(&["bread"]).unwrap(), before);
}

#[test]
fn what_means_the_same_is_near_and_what_does_not_is_far() {
    let texts = [
        "A man is eating food.",
        "A man is eating a piece of bread.",
        "The firewall rejected the SSH connection.",
    ];
    let vectors: Vec<_> = model().embed(&texts).unwrap().iter().map(|it| it.whole()).collect();
    assert!((dot(&vectors[0], &vectors[1]) - 0.755_337).abs() < 1e-5);
    assert!((dot(&vectors[0], &vectors[2]) - 0.011_314).abs() < 1e-5);
}

#[test]
fn no_texts_give_nothing_and_a_text_of_nothing_has_a_chunk() {
    let model = model();
    assert!(model.embed::<&str>(&[]).unwrap().is_empty());
    for text in ["", "   ", "\0\0", "\u{301}"] {
        let chunk = only(model.embed(&[text]).unwrap().remove(0).chunks);
        assert_eq!((chunk.span, chunk.tokens), (0..text.len(), 0));
        assert!((dot(&chunk.vector, &chunk.vector) - 1.0).abs() < 1e-5);
    }
}

// shows: DOC-F02
#[test]
fn a_text_longer_than_the_window_is_chunked_and_never_cut() {
    let mut text = "The nightly job copied the archive to the second site. ".repeat(200);
    text += "The cat of the night shift is called Heisenberg.";
    let model = model();
    let embedded = model.embed(&[&text]).unwrap().remove(0);
    let tokens = model.tokenizer().tokens(&text).len();
    assert!(embedded.chunks.len() > 5 && tokens > 2000);
    let (first, last) = (&embedded.chunks[0], &embedded.chunks[embedded.chunks.len() - 1]);
    assert_eq!((first.span.start, last.span.end), (0, text.len()));
    for pair in embedded.chunks.windows(2) {
        assert!(pair[1].span.start < pair[0].span.end, "{:?} {:?}", pair[0].span, pair[1].span);
    }
    let asked = only(model.embed(&["What is the cat's name?"]).unwrap().remove(0).chunks).vector;
    let nearest =
        embedded.chunks.iter().max_by(|a, b| dot(&a.vector, &asked).total_cmp(&dot(&b.vector, &asked)));
    assert_eq!(nearest.unwrap().span, last.span);
    let whole = embedded.whole();
    assert!((dot(&whole, &whole) - 1.0).abs() < 1e-5 && whole != first.vector);
}

#[test]
fn a_chunk_has_the_vector_of_the_text_in_its_span() {
    let text = "agent ".repeat(700);
    let model = model();
    for chunk in model.embed(&[&text]).unwrap().remove(0).chunks {
        let alone = only(model.embed(&[&text[chunk.span]]).unwrap().remove(0).chunks);
        assert_eq!((alone.tokens, alone.vector), (chunk.tokens, chunk.vector));
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_and_nothing_is_computed() {
    let model = model();
    let texts = ["short".to_owned(), "x".repeat(TEXT_BYTES_MAX + 1)];
    assert!(matches!(model.embed(&texts), Err(EmbedError::TooLong { index: 1, .. })));
    assert_eq!(model.texts_embedded(), 0);
    // The longest word there can be: one token.
    assert_eq!(model.embed(&["x".repeat(TEXT_BYTES_MAX)]).unwrap()[0].chunks[0].tokens, 1);
}

#[test]
fn every_text_that_is_embedded_is_counted() {
    let model = model();
    model.embed(&["one", "two"]).unwrap();
    model.embed(&["word ".repeat(600)]).unwrap();
    assert_eq!(model.texts_embedded(), 3);
}

#[test]
fn instructions_that_are_not_here_are_refused() {
    for instructions in Instructions::ALL.into_iter().filter(|it| !it.are_here()) {
        let opened = Model::open_with(&here::model(), instructions);
        assert!(matches!(opened, Err(ModelError::Lacking(it)) if it == instructions));
    }
}

#[test]
fn a_text_has_the_same_bits_in_every_batch_and_with_any_number_of_threads() {
    let text = |n: usize| format!("{} {n}", "lorem ipsum dolor sit amet ".repeat(n * n % 23));
    let texts: Vec<String> = (0..40).map(text).collect();
    let mut model = model();
    let alone: Vec<_> = texts.iter().map(|it| model.embed(&[it]).unwrap().remove(0)).collect();
    for n in [1, 2, 3, 5] {
        model = model.with_threads(threads(n));
        assert!(model.embed(&texts).unwrap() == alone, "{n} threads, all texts");
        for some in [&texts[..1], &texts[19..20], &texts[3..5]] {
            let first = texts.iter().position(|it| *it == some[0]).unwrap();
            assert!(
                model.embed(some).unwrap() == alone[first..first + some.len()],
                "{n} threads, from {first}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_has_spans_that_are_text_and_vectors_of_length_one(text in "\\PC{0,80}|[\\x00-\\x7f]{0,200}|(.|\\s){0,60}") {
        use std::sync::LazyLock;
        static MODEL: LazyLock<Model> = LazyLock::new(model);
        for token in MODEL.tokenizer().tokens(&text) {
            prop_assert!(text.get(token.start as usize..token.end as usize).is_some_and(|it| !it.is_empty()));
        }
        for chunk in &MODEL.embed(&[&text]).unwrap()[0].chunks {
            prop_assert!(text.get(chunk.span.clone()).is_some());
            prop_assert!((dot(&chunk.vector, &chunk.vector) - 1.0).abs() < 1e-5);
        }
    }
}

// shows: MEM-068, MEM-F45
#[test]
fn it_works_where_there_is_no_network_and_listens_nowhere() {
    let mut command = Command::new("bwrap");
    command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--"]);
    command.arg(std::env::current_exe().unwrap());
    let inside = command.args(["--ignored", "--exact", "inside_without_a_network"]).output().unwrap();
    let said = String::from_utf8_lossy(&inside.stdout);
    assert!(
        inside.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&inside.stderr)
    );
}

#[test]
#[ignore = "the inside of the test above"]
fn inside_without_a_network() {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    assert_eq!(devices.lines().filter(|it| it.contains(':')).count(), 1, "{devices}");
    let model = model().with_threads(threads(2));
    assert_eq!(model.embed(&["no network here"]).unwrap().len(), 1);
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let sockets = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        assert!(sockets.lines().count() <= 1, "{sockets}");
    }
}
