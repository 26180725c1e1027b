//! How the ranking's weights are learnt, and what they are worth on LoCoMo (turn level) in every shape of import and on agents' notes: `weights VECTORS`,
//! with the conversations in HOLDFAST_TEST_DATA. What the product itself finds is measured by `holdfast-bench`.
//!
//! VECTORS is a folder of all-MiniLM-L6-v2 vectors: for each conversation `NAME.text.f32` (turns), `NAME.sp.f32` (turns with the
//! speaker in front) and `NAME.q.f32` (questions); for the notes `synth.text.f32` and `synth.q.f32`. Rows of 384 little-endian floats.

#![allow(clippy::print_stdout, reason = "a program for a person who measures")]

mod data;
mod learn;
mod lexicon;
mod library;
mod measure;

use std::error::Error;
use std::path::{Path, PathBuf};

use data::{At, Set, Shape, Source};
use holdfast_recall::{LIST_LEN, Ranked, Terms};
use learn::Example;
use library::Library;
use measure::{Row, mean, row};

const USUAL: Shape = Shape {
    name: "labelled, time and source of the session",
    labelled: true,
    labelled_vectors: false,
    captions: false,
    at: At::Session,
    source: Source::Session,
};

const SHAPES: [Shape; 12] = [
    USUAL,
    Shape { name: "labelled, vectors too", labelled_vectors: true, ..USUAL },
    Shape { name: "labelled, with captions", captions: true, ..USUAL },
    Shape { name: "labelled, time of the turn, one source", at: At::Turn, source: Source::One, ..USUAL },
    Shape { name: "labelled, no time, source of the session", at: At::Unknown, ..USUAL },
    Shape { name: "labelled, no time, one source", at: At::Unknown, source: Source::One, ..USUAL },
    Shape { name: "labelled, hours apart: no neighbours", at: At::Apart, source: Source::One, ..USUAL },
    Shape { name: "labelled, a source each", source: Source::Each, ..USUAL },
    Shape { name: "bare, time and source of the session", labelled: false, ..USUAL },
    Shape {
        name: "bare, time of the turn, one source",
        labelled: false,
        at: At::Turn,
        source: Source::One,
        ..USUAL
    },
    Shape {
        name: "bare, no time, one source",
        labelled: false,
        at: At::Unknown,
        source: Source::One,
        ..USUAL
    },
    Shape { name: "bare, source is the speaker", labelled: false, source: Source::Speaker, ..USUAL },
];

fn main() -> Result<(), Box<dyn Error>> {
    let vectors: PathBuf = std::env::args_os().nth(1).ok_or("usage: weights VECTORS")?.into();
    let data: PathBuf = std::env::var_os("HOLDFAST_TEST_DATA").map_or("../shared/data".into(), Into::into);
    let usual = data::conversations(&data, &vectors, USUAL)?;
    let libraries: Vec<Library<'_>> = usual.iter().map(Library::new).collect();
    list_lengths(&libraries);
    shapes(&data, &vectors)?;
    learning(&data, &vectors)?;
    notes(&vectors)
}

fn list_lengths(libraries: &[Library<'_>]) {
    println!("\nlength of each list");
    for length in [10, 20, 50, 100, 200] {
        show(&length.to_string(), &ranked(libraries, length, &Terms::default()));
    }
}

fn shapes(data: &Path, vectors: &Path) -> Result<(), Box<dyn Error>> {
    println!("\nshape of the import");
    for shape in SHAPES {
        let sets = data::conversations(data, vectors, shape)?;
        let libraries: Vec<Library<'_>> = sets.iter().map(Library::new).collect();
        show(shape.name, &ranked(&libraries, LIST_LEN, &Terms::default()));
    }
    Ok(())
}

/// Learns on all conversations and with each left out, labelled and bare together; the latter are measured on what was left out.
fn learning(data: &Path, vectors: &Path) -> Result<(), Box<dyn Error>> {
    println!("\nlearnt weights");
    let bare = Shape { labelled: false, ..USUAL };
    let sets: Vec<Vec<Set>> =
        [USUAL, bare].into_iter().map(|s| data::conversations(data, vectors, s)).collect::<Result<_, _>>()?;
    let libraries: Vec<Vec<Library<'_>>> =
        sets.iter().map(|s| s.iter().map(Library::new).collect()).collect();
    let examples: Vec<(usize, Example)> =
        libraries.iter().flat_map(|kind| kind.iter().enumerate().flat_map(|(i, l)| examples(l, i))).collect();
    let all = learn::learn(examples.iter().map(|(_, e)| e));
    println!("on all           {all:6.2?}");
    let folds: Vec<Terms> = (0..libraries[0].len())
        .map(|left| {
            let weights = learn::learn(examples.iter().filter(|(i, _)| *i != left).map(|(_, e)| e));
            println!("without {:8} {weights:6.2?}", sets[0][left].name);
            learn::terms(&weights)
        })
        .collect();
    for (kind, name) in libraries.iter().zip(["labelled", "bare"]) {
        show(&format!("{name}: learnt on all"), &ranked(kind, LIST_LEN, &learn::terms(&all)));
        let apart: Vec<Row> = kind
            .iter()
            .zip(&folds)
            .flat_map(|(l, terms)| ranked(std::slice::from_ref(l), LIST_LEN, terms))
            .collect();
        show(&format!("{name}: learnt on the others"), &apart);
        show(&format!("{name}: as committed"), &ranked(kind, LIST_LEN, &Terms::default()));
    }
    Ok(())
}

fn examples(library: &Library<'_>, place: usize) -> Vec<(usize, Example)> {
    let questions = 0..library.set.questions.len();
    let one = |q: usize| {
        let hits = library.hybrid(q, &lists(library, q, LIST_LEN), &learn::plain());
        Example::of(&hits, &library.set.questions[q].relevant)
    };
    questions.filter_map(one).map(|example| (place, example)).collect()
}

fn notes(vectors: &Path) -> Result<(), Box<dyn Error>> {
    println!("\nagents' notes");
    let mut set = data::notes(vectors)?;
    for (name, one_moment) in [("with their times", false), ("all of one moment", true)] {
        if one_moment {
            let at = set.entries[0].at;
            set.entries.iter_mut().for_each(|e| e.at = at);
        }
        let library = [Library::new(&set)];
        show(&format!("BM25, {name}"), &rows(&library, |l, q| l.lexical(q)));
        show(&format!("vectors, {name}"), &rows(&library, |l, q| l.vector(q)));
        show(&format!("hybrid, {name}"), &ranked(&library, LIST_LEN, &Terms::default()));
    }
    Ok(())
}

fn lists(library: &Library<'_>, question: usize, length: usize) -> (Vec<u64>, Vec<u64>) {
    let cut = |mut list: Vec<u64>| {
        list.truncate(length);
        list
    };
    (cut(library.lexical(question)), cut(library.vector(question)))
}

fn ranked(libraries: &[Library<'_>], length: usize, terms: &Terms) -> Vec<Row> {
    let order = |hits: Vec<Ranked>| hits.into_iter().map(|hit| hit.seq).collect();
    rows(libraries, |library, q| order(library.hybrid(q, &lists(library, q, length), terms)))
}

fn rows(libraries: &[Library<'_>], order: impl Fn(&Library<'_>, usize) -> Vec<u64>) -> Vec<Row> {
    let one = |l: &Library<'_>, q: usize| row(&order(l, q), &l.set.questions[q].relevant);
    libraries
        .iter()
        .flat_map(|l| (0..l.set.questions.len()).map(move |q| one(l, q)).collect::<Vec<_>>())
        .collect()
}

fn show(name: &str, rows: &[Row]) {
    let [a, b, c, d, mrr] = mean(rows);
    println!(
        "{name:42} {:4} {:5.1} {:5.1} {:5.1} {:5.1}  {mrr:.3}",
        rows.len(),
        100.0 * a,
        100.0 * b,
        100.0 * c,
        100.0 * d
    );
}
