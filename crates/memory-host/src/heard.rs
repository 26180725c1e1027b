//! What a text tells besides what it says: when it was said, in which conversation, by whom.

use holdfast_memory::Entry;
use holdfast_recall::{Marks, Traits, spoken_part};

use crate::rows::Fact;
use crate::table::Heard;

/// What is indexed of a memory: its text and its tags.
pub(crate) fn searchable(entry: &Entry) -> String {
    let mut text = entry.text().to_owned();
    for tag in entry.body.tags.iter() {
        text.push('\n');
        text.push_str(tag);
    }
    text
}

/// What is embedded of it.
pub(crate) fn spoken(entry: &Entry) -> &str {
    spoken_part(entry.text())
}

pub(crate) fn heard(entry: &Entry) -> Heard {
    let said = entry.body.said.as_ref();
    Heard {
        said: said.and_then(|said| said.at).unwrap_or(entry.header.at),
        thread: said.and_then(|said| said.thread.as_ref()).map(|thread| thread.as_str().to_owned()),
        words: u32::try_from(entry.text().split_whitespace().count()).unwrap_or(u32::MAX),
    }
}

/// What ranking needs of it.
pub(crate) fn fact(seq: u64, entry: &Entry) -> Fact {
    let heard = heard(entry);
    let labels = entry.body.tags.iter().chain(heard.thread.as_deref());
    Fact {
        seq,
        said: heard.said,
        thread: heard.thread.as_deref().map_or(0, number_of),
        traits: Traits::of(entry.text()),
        labels: Marks::of_all(labels),
        trust: entry.header.trust(),
    }
}

/// A thread as a number that is never 0. Two that share one, of thousands of millions, would be taken for one conversation.
fn number_of(thread: &str) -> u64 {
    let digest = blake3::hash(thread.as_bytes());
    let mut head = [0; 8];
    head.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(head).max(1)
}
