//! Secrets written in other ways: what of them is left after redaction.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::print_stdout, reason = "the figures are what one wants to read")]

use std::collections::BTreeMap;

use holdfast_guard::{Guard, Looking};
use holdfast_planter::disguises::{self, Disguise};

/// A secret of one kind, with the lines around it.
struct Case {
    kind: &'static str,
    before: String,
    secret: String,
    after: String,
}

/// One secret of each kind that the redactor takes out when it is written plainly. Who made them knows no rule.
fn cases() -> Vec<Case> {
    let mut all = BTreeMap::new();
    for seed in 40..44 {
        let corpus = holdfast_planter::corpus(seed, holdfast_planter::FILES_FOR_EVERY_KIND);
        for planted in &corpus.planted {
            let file = corpus.files.iter().find(|f| f.path == planted.file).unwrap();
            let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
            let from = (planted.first_line - 1).saturating_sub(1);
            let to = lines.len().min(planted.last_line + 1);
            let near = lines[from..to].concat();
            let Some(at) = near.find(&planted.secret) else { continue };
            let case = Case {
                kind: planted.kind,
                before: near[..at].to_owned(),
                secret: planted.secret.clone(),
                after: near[at + planted.secret.len()..].to_owned(),
            };
            if planted.secret.is_ascii() && gone(&case, &case.secret, 0) {
                all.entry(planted.kind).or_insert(case);
            }
        }
    }
    all.into_values().collect()
}

/// How many bytes a disguise sets around any secret: what is left when a secret's length is taken to nothing.
fn around(disguise: &Disguise) -> usize {
    let length = |secret: &str| (disguise.put_on)(secret).len();
    (2 * length("kT9bR2xW4mQ7")).saturating_sub(length("kT9bR2xW4mQ7kT9bR2xW4mQ7"))
}

/// Whether at most a quarter of what was written is left. What a disguise sets around any secret does not count.
fn gone(case: &Case, written: &str, around: usize) -> bool {
    let text = format!("{}{written}{}", case.before, case.after);
    let done = Guard::builtin().redact_for(&text, Looking::Secrets);
    let place = case.before.len()..case.before.len() + written.len();
    let covered: usize = done
        .redactions
        .iter()
        .map(|r| r.span.end.min(place.end).saturating_sub(r.span.start.max(place.start)))
        .sum();
    done.blocked || covered * 4 >= written.len().saturating_sub(around) * 3
}

fn passing<'c>(cases: &'c [Case], disguise: &Disguise) -> Vec<&'c str> {
    cases
        .iter()
        .filter(|case| {
            let written = (disguise.put_on)(&case.secret);
            written != case.secret && !gone(case, &written, around(disguise))
        })
        .map(|case| case.kind)
        .collect()
}

/// The ways of a family, and how often a kind passed in one of them.
#[derive(Debug, Default)]
struct Family {
    ways: usize,
    passed: usize,
    open: Vec<String>,
}

fn families(cases: &[Case], disguises: &[Disguise]) -> BTreeMap<&'static str, Family> {
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for disguise in disguises {
        let passing = passing(cases, disguise);
        let family = families.entry(disguise.family).or_default();
        family.ways += 1;
        family.passed += passing.len();
        if !passing.is_empty() {
            let few = passing[..passing.len().min(4)].join(" ");
            family.open.push(format!("{} ({}: {few})", disguise.name, passing.len()));
        }
    }
    families
}

fn show(families: &BTreeMap<&str, Family>, kinds: usize) {
    for (name, family) in families {
        println!("{name:<14} {:>5} of {} passed", family.passed, family.ways * kinds);
        for way in &family.open {
            println!("    {way}");
        }
    }
}

/// Families of which nothing passes: letters that are not shown, turned around, of other alphabets or with marks on them, and
/// references of markup. More than forty ways for each kind.
const SHUT: [&str; 6] = ["invisible", "direction", "compatibility", "look-alike", "marked", "reference"];

/// Ways of other families of which nothing passes either.
const ALSO_SHUT: [&str; 14] = [
    "\\u, all",
    "\\u, the middle one",
    "\\u{}, all",
    "\\U, all",
    "\\x, all",
    "octal, all",
    "\\u, doubly escaped, all",
    "hex",
    "hex, spaced",
    "UTF-16, low byte first",
    "NUL in the middle",
    "percent twice, all",
    "all in tag characters",
    "quoted-printable, all",
];

/// How often a kind passes in the other families, of so many times: what docs/redaction.md says is left. Fewer is fine.
const LEFT: [(&str, usize); 13] = [
    ("base64", 441),
    ("carried", 2),
    ("control", 590),
    ("document", 560),
    ("escape", 240),
    ("hex", 860),
    ("join", 3491),
    ("layered", 807),
    ("mail", 1092),
    ("markup", 450),
    ("percent", 63),
    ("sequence", 60),
    ("wide", 7),
];

#[test]
fn no_secret_passes_in_disguise() {
    let cases = cases();
    assert!(cases.len() >= 300, "{} kinds", cases.len());
    let disguises = disguises::all();
    let families = families(&cases, &disguises);
    show(&families, cases.len());
    let shut: usize = SHUT.iter().map(|name| families[name].ways).sum();
    assert!(shut >= 40, "{shut} ways");
    for name in SHUT {
        assert!(families[name].open.is_empty(), "{name}: {:?}", families[name].open);
    }
    for name in ALSO_SHUT {
        let disguise = disguises.iter().find(|d| d.name == name).unwrap();
        assert_eq!(passing(&cases, disguise), Vec::<&str>::new(), "{name}");
    }
    for (name, most) in LEFT {
        assert!(families[name].passed <= most, "{name}: {} instead of {most}", families[name].passed);
    }
}

/// Measured once and never tuned to: nobody who works on the guard reads how this family is made. Nearly all of it passes,
/// which is what docs/redaction.md says of ways that are not listed there.
#[test]
fn what_passes_of_a_family_that_was_kept_aside_is_said() {
    const PASSED: usize = 3_756;
    let cases = cases();
    for (name, family) in families(&cases, &disguises::held_out()) {
        println!("{name}: {} of {} passed", family.passed, family.ways * cases.len());
        assert!(family.passed <= PASSED, "{} instead of {PASSED}", family.passed);
    }
}
