//! What is wrong within an item of a list, told with the item's own word, the part's name and its place.

use crate::diagnostic::Code;
use crate::nearest::nearest;
use crate::quote::{is_key_like, quoted};
use crate::tree::Entry;
use crate::value::Mismatch;

/// A kind of item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// `target`, `destination`.
    pub(crate) word: &'static str,
    /// What one looks like.
    pub(crate) words: &'static str,
}

impl Item {
    /// One part of it, as it was read.
    pub(crate) fn part<T>(self, entry: &Entry, read: Result<T, Mismatch>) -> Result<T, Mismatch> {
        read.map_err(|wrong| Mismatch {
            // A list says where in it something is wrong by its own word for it.
            what: format!(
                "has a {} whose `{}` {}",
                self.word,
                entry.key,
                wrong.what.replacen("takes", "wants", 1)
            ),
            place: wrong.place.or(Some(entry.value.place)),
            ..wrong
        })
    }

    pub(crate) fn unknown(self, entry: &Entry, known: &[&str]) -> Mismatch {
        let key = entry.key.as_str();
        // What does not look like a key may be a secret in the wrong place.
        let said =
            if is_key_like(key) { format!("the key {}", quoted(key)) } else { "another key".to_owned() };
        let what = format!("takes {}, and this has {said}", self.words);
        let help = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys are {}", known.join(", ")),
        };
        Mismatch { place: Some(entry.key_place), ..Mismatch::new(Code::UnknownKey, what).help(help) }
    }

    pub(crate) fn wrong(self, what: &str) -> Mismatch {
        Mismatch::new(Code::WrongType, format!("takes {}, and {what}", self.words))
    }
}
