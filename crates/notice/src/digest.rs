//! One message for all that waited while it was quiet. Pure.

use std::collections::BTreeMap;

use holdfast_types::Timestamp;
use serde::Serialize;

use crate::message::{Folded, Message, Raised};
use crate::notice::Severity;
use crate::text::cut;

/// How many matters are listed. With the longest texts that is as much as a chat service takes in one message.
const LINES_MAX: usize = 20;
const LINE_MAX: usize = 200;

/// One matter of a digest: the last that was said about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DigestLine {
    pub timestamp: Timestamp,
    pub severity: Severity,
    pub message: String,
    /// How many notices it was.
    pub count: u64,
}

/// What matters most first; of what matters as much, what came first. It has an id of its own: a receiver that knows
/// one of its notices already must not take it for that one.
pub(crate) fn digest(first: &Raised, rest: &[Raised]) -> Message {
    let all = || std::iter::once(first).chain(rest);
    let count = rest.len() as u64 + 1;
    let matters = matters(first, rest);
    let at = |raised: &Raised| raised.message.timestamp;
    let (earliest, latest) =
        all().fold((at(first), at(first)), |(from, to), r| (from.min(at(r)), to.max(at(r))));
    let listed = matters.len().min(LINES_MAX);
    let more = match matters.len() - listed {
        0 => String::new(),
        _ => format!(" The {listed} that matter most are listed."),
    };
    Message {
        id: format!("{}_and_{}_more", first.message.id, rest.len()),
        timestamp: latest,
        severity: all().map(|r| r.message.severity).max().unwrap_or(Severity::Info),
        message: format!("{count} notices waited until the quiet hours were over.{more}"),
        context: serde_json::Map::new(),
        source: first.message.source.clone(),
        folded: Some(Folded { count, first: earliest, last: latest }),
        digest: matters.into_iter().take(LINES_MAX).collect(),
    }
}

fn matters(first: &Raised, rest: &[Raised]) -> Vec<DigestLine> {
    let mut matters: Vec<DigestLine> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for raised in std::iter::once(first).chain(rest) {
        let same = raised.fold.as_deref().and_then(|key| known.get(key)).copied();
        let count = same.and_then(|at| matters.get(at)).map_or(1, |line| line.count + 1);
        let line = DigestLine {
            timestamp: raised.message.timestamp,
            severity: raised.message.severity,
            message: cut(&raised.message.message, LINE_MAX),
            count,
        };
        match same {
            Some(at) => matters[at] = line,
            None => {
                if let Some(key) = raised.fold.as_deref() {
                    known.insert(key, matters.len());
                }
                matters.push(line);
            }
        }
    }
    // Stable: what came first stays first.
    matters.sort_by_key(|line| std::cmp::Reverse(line.severity));
    matters
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn raised(seq: u64, fold: Option<&str>, severity: Severity, text: &str) -> Raised {
        let timestamp = Timestamp::EPOCH.plus(Duration::from_secs(seq));
        let message = Message { id: format!("ntc_test_{seq}"), timestamp, severity, ..Message::bare(text) };
        Raised { seq, fold: fold.map(str::to_owned), message }
    }

    #[test]
    fn the_worst_comes_first_and_repeats_are_counted() {
        use Severity::{Info, Warning};
        let all = [
            raised(1, None, Info, "a backup was made"),
            raised(2, Some("disk"), Warning, "the disk is slow"),
            raised(3, None, Info, "a backup was made"),
            raised(4, Some("disk"), Warning, "the disk is slower"),
        ];
        let message = digest(&all[0], &all[1..]);
        let lines: Vec<(&str, u64)> = message.digest.iter().map(|l| (l.message.as_str(), l.count)).collect();
        assert_eq!(lines, [("the disk is slower", 2), ("a backup was made", 1), ("a backup was made", 1)]);
        assert_eq!((message.id.as_str(), message.severity), ("ntc_test_1_and_3_more", Warning));
        assert_eq!(message.message, "4 notices waited until the quiet hours were over.");
        let folded = message.folded.unwrap();
        assert_eq!((folded.count, folded.last.since(folded.first)), (4, Duration::from_secs(3)));
    }

    #[test]
    fn a_long_night_is_still_one_bounded_message_that_says_so() {
        let all: Vec<Raised> =
            (1..=500).map(|seq| raised(seq, None, Severity::Info, &"x".repeat(1_000))).collect();
        let message = digest(&all[0], &all[1..]);
        assert_eq!((message.digest.len(), message.folded.unwrap().count), (20, 500));
        assert!(message.message.ends_with("The 20 that matter most are listed."), "{}", message.message);
        assert!(message.digest.iter().all(|line| line.message.chars().count() <= 200));
    }
}
