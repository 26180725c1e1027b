//! Personal data, found through the guard as its users call it: in sentences of our own, and in the labelled ones beside
//! the checkout.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::ops::Range;

use holdfast_guard::{Family, Guard};
use serde_json::Value;

/// The spans of personal data in a text, with the names of their kinds.
fn found(text: &str) -> Vec<(String, Range<usize>)> {
    let guard = Guard::builtin();
    let personal = |id: &str| guard.kinds().any(|kind| kind.id == id && kind.family == Family::Personal);
    let redacted = guard.redact(text);
    redacted.redactions.into_iter().filter(|r| personal(&r.kind)).map(|r| (r.kind, r.span)).collect()
}

/// Every line of the corpus is a text and exactly what is to be found in it.
#[test]
fn each_sentence_gives_exactly_what_is_written_beside_it() {
    let corpus = include_str!("data/pii.jsonl");
    let mut wrong = Vec::new();
    for line in corpus.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let text = entry["text"].as_str().unwrap();
        let expected: Vec<(&str, &str)> = entry["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
            .collect();
        let hits = found(text);
        let hits: Vec<(&str, &str)> =
            hits.iter().map(|(kind, span)| (kind.as_str(), &text[span.clone()])).collect();
        if hits != expected {
            wrong.push(format!("{text:?}\n  found    {hits:?}\n  expected {expected:?}"));
        }
    }
    assert!(corpus.lines().count() > 250, "the corpus is not whole");
    assert!(wrong.is_empty(), "{} sentences:\n{}", wrong.len(), wrong.join("\n"));
}

/// What people write, and what is left of it.
const REDACTED: &[(&str, &str)] = &[
    ("write to jo.bloggs+news@mail.example.co.uk.", "write to [REDACTED_EMAIL]."),
    ("jo@host is no address, nor is pkg@1.2.3", "jo@host is no address, nor is pkg@1.2.3"),
    (
        "call +44 20 7946 0958, (212) 555-0123 or 212-555-0147",
        "call [REDACTED_PHONE], [REDACTED_PHONE] or [REDACTED_PHONE]",
    ),
    ("port 8080 in 2024, 1048576 bytes, id 4561237890", "port 8080 in 2024, 1048576 bytes, id 4561237890"),
    ("it was 078-05-1120, then 001-01-0001", "it was [REDACTED_SSN], then [REDACTED_SSN]"),
    ("1078-05-1120 and 078-05-1120-7", "1078-05-1120 and 078-05-1120-7"),
    ("4111 1111 1111 1111, 4111-1111-1111-1111", "[REDACTED_CC], [REDACTED_CC]"),
    ("4111 1111 1111 1112, 4111-1111-1111-1112", "4111 1111 1111 1112, 4111-1111-1111-1112"),
    ("pay to DE89 3704 0044 0532 0130 00", "pay to [REDACTED_IBAN]"),
    ("from 203.0.113.7, 00:1b:44:11:3a:b7", "from [REDACTED_IP], [REDACTED_MAC]"),
    ("at 48.8584, 2.2945", "at [REDACTED_LOCATION]"),
    ("born on 5 March 1981", "born on [REDACTED_BIRTH_DATE]"),
    ("see https://www.example.com/a?b=c!", "see [REDACTED_URL]!"),
    ("BSN 111222333", "BSN [REDACTED_ID]"),
];

// shows: HRD-026, HRD-027, HRD-028, HRD-029
#[test]
fn each_kind_is_replaced_whole_and_by_its_own_mark() {
    for (text, expected) in REDACTED {
        assert_eq!(Guard::builtin().redact(text).content, *expected, "{text:?}");
    }
}

/// The labels of the measuring data and the kinds they stand for.
const LABELS: &[(&str, &str)] = &[
    ("EMAIL_ADDRESS", "email"),
    ("PHONE_NUMBER", "phone"),
    ("CREDIT_CARD", "credit_card"),
    ("IBAN_CODE", "iban"),
    ("IP_ADDRESS", "ip_address"),
    ("US_SSN", "ssn"),
    ("DOMAIN_NAME", "url"),
];

/// How a kind, or all of them, did: a find is right when it is of the label's kind and overlaps it.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    labelled: usize,
    recalled: usize,
    exact: usize,
    reported: usize,
    right: usize,
}

impl Score {
    fn of(labels: &[Range<usize>], hits: &[Range<usize>]) -> Score {
        let touches = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        Score {
            labelled: labels.len(),
            recalled: labels.iter().filter(|label| hits.iter().any(|hit| touches(hit, label))).count(),
            exact: labels.iter().filter(|label| hits.contains(label)).count(),
            reported: hits.len(),
            right: hits.iter().filter(|hit| labels.iter().any(|label| touches(hit, label))).count(),
        }
    }

    fn add(&mut self, other: Score) {
        self.labelled += other.labelled;
        self.recalled += other.recalled;
        self.exact += other.exact;
        self.reported += other.reported;
        self.right += other.right;
    }

    fn recall(&self) -> f64 {
        self.recalled as f64 / self.labelled.max(1) as f64
    }

    fn precision(&self) -> f64 {
        self.right as f64 / self.reported.max(1) as f64
    }
}

#[test]
fn the_labelled_sentences_are_recalled_and_little_else_is_reported() {
    let Some(data) = holdfast_testkit::shared_data_or_say("recall and precision of personal data") else {
        return;
    };
    let sentences: Value =
        serde_json::from_str(&std::fs::read_to_string(data.join("pii-dev.json")).unwrap()).unwrap();
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for sentence in sentences.as_array().unwrap() {
        let text = sentence["full_text"].as_str().unwrap();
        let hits = found(text);
        for (label, kind) in LABELS {
            let labels = labelled(sentence, text, label);
            let hits: Vec<_> =
                hits.iter().filter(|(id, _)| id == kind).map(|(_, span)| span.clone()).collect();
            scores.entry(kind).or_default().add(Score::of(&labels, &hits));
        }
    }
    let mut all = Score::default();
    scores.values().for_each(|score| all.add(*score));
    assert!(all.labelled > 0 && all.exact <= all.recalled, "{all:?}");
    assert!(all.recall() >= 0.97 && all.precision() >= 0.95, "{all:?}\n{scores:#?}");
}

/// The spans with this label, in bytes; the data counts characters.
fn labelled(sentence: &Value, text: &str, label: &str) -> Vec<Range<usize>> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let place = |span: &Value, name: &str| places[usize::try_from(span[name].as_u64().unwrap()).unwrap()];
    let spans = sentence["spans"].as_array().unwrap().iter().filter(|span| span["entity_type"] == label);
    spans.map(|span| place(span, "start_position")..place(span, "end_position")).collect()
}
