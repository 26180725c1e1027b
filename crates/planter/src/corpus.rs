//! A corpus: templates in turn, each file written out by its own pen, and the truth gathered from the marks.

use std::collections::BTreeSet;

use crate::ink::{Mark, Spot, place};
use crate::kinds;
use crate::pen::Pen;
use crate::rng::Rng;
use crate::template::{Template, templates};
use crate::tokens::Deck;
use crate::truth::{Aside, Corpus, Decoy, File, Planted};

/// From this size on, a corpus has every kind of secret, decoy and file, whatever the seed.
pub const FILES_FOR_EVERY_KIND: usize = 400;

/// How many files one project has before the next begins.
const FILES_A_PROJECT: usize = 17;

/// The templates, with and without secrets. Kept by the world they come from.
const TEMPLATES: &[&str] = &[
    include_str!("../templates/settings.txt"),
    include_str!("../templates/tokens.txt"),
    include_str!("../templates/yaml.txt"),
    include_str!("../templates/json.txt"),
    include_str!("../templates/xml.txt"),
    include_str!("../templates/shell.txt"),
    include_str!("../templates/code.txt"),
    include_str!("../templates/more_code.txt"),
    include_str!("../templates/home.txt"),
    include_str!("../templates/system.txt"),
    include_str!("../templates/keys.txt"),
    include_str!("../templates/infrastructure.txt"),
    include_str!("../templates/frameworks.txt"),
    include_str!("../templates/databases.txt"),
    include_str!("../templates/prose.txt"),
    include_str!("../templates/decoy_locks.txt"),
    include_str!("../templates/decoy_web.txt"),
    include_str!("../templates/decoy_code.txt"),
    include_str!("../templates/decoy_infrastructure.txt"),
    include_str!("../templates/decoy_documents.txt"),
];

/// Makes a tree of so many files. Equal seeds give equal bytes, and a smaller corpus is the beginning of a larger one.
pub fn corpus(seed: u64, files: usize) -> Corpus {
    let all: Vec<Template<'_>> = TEMPLATES.iter().flat_map(|file| templates(file)).collect();
    let mut rng = Rng::new(seed);
    let mut deck = Deck::new(rng.child("deck"));
    let (mut corpus, mut taken, mut waiting) = (Corpus::default(), BTreeSet::new(), Vec::new());
    let mut project = String::new();
    for number in 0..files {
        if number % FILES_A_PROJECT == 0 {
            project = Pen::new(rng.child(&format!("project {number}")), &mut deck).plain("«svc»-«noun»");
        }
        let template = next(&mut waiting, &all, &mut rng);
        let own = rng.child(&format!("file {number}"));
        let path = Pen::new(own.child("path"), &mut deck).plain(template.path);
        let path = free(&mut taken, &project, &path);
        let pen = Pen::new(own, &mut deck);
        let pen = if number < all.len() { pen.in_full() } else { pen };
        let (text, spots) = pen.write(template);
        tell(&mut corpus, &path, &text, &spots);
        corpus.files.push(File { path, text });
    }
    corpus
}

/// Every template once, in a drawn order, before any comes again.
fn next<'t, 'a>(
    waiting: &mut Vec<&'t Template<'a>>,
    all: &'t [Template<'a>],
    rng: &mut Rng,
) -> &'t Template<'a> {
    loop {
        match waiting.pop() {
            Some(template) => return template,
            None => {
                waiting.extend(all);
                rng.shuffle(waiting);
            }
        }
    }
}

/// A path no other file has: the project gets a number where needed.
fn free(taken: &mut BTreeSet<String>, project: &str, path: &str) -> String {
    let mut candidate = format!("{project}/{path}");
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{project}-{number}/{path}");
        number += 1;
    }
    candidate
}

fn tell(corpus: &mut Corpus, path: &str, text: &str, spots: &[Spot]) {
    for spot in spots {
        let ((line, column), (last_line, _)) = (place(text, spot.range.start), place(text, spot.range.end));
        let file = path.to_owned();
        match spot.mark {
            Mark::Secret(kind) => corpus.planted.push(Planted {
                file,
                first_line: line,
                last_line,
                column,
                kind,
                group: kinds::group(kind),
                secret: text[spot.range.clone()].to_owned(),
            }),
            Mark::Decoy(kind) => {
                corpus.decoys.extend((line..=last_line).map(|line| Decoy { file: file.clone(), line, kind }));
            }
            Mark::Aside => {
                corpus.asides.extend((line..=last_line).map(|line| Aside { file: file.clone(), line }))
            }
        }
    }
}
