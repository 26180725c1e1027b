//! Bounded text. Every string that enters the room passes one of these doors and is short ever after.

use serde::{Deserialize, Serialize};

/// The most bytes of one memory's text: a page. What is longer is a document, and has a place of its own.
pub const CONTENT_MAX: usize = 16 * 1024;
/// The most bytes of a label: room for a path or an objective of a sentence or two.
pub const LABEL_MAX: usize = 512;
pub const TAG_MAX: usize = 64;
/// Tags sort; with more than this nothing is sorted any more.
pub const TAGS_MAX: usize = 16;
/// What a survivor may carry after merges.
const MERGED_TAGS_MAX: usize = 64;

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TextError {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} has {bytes} bytes; at most {max} are taken")]
    TooLong { what: &'static str, bytes: usize, max: usize },
    #[error("{what} holds a control character")]
    Control { what: &'static str },
    #[error("there are {count} tags; at most {TAGS_MAX} are taken")]
    TooManyTags { count: usize },
}

/// What a memory says: any text that is not blank and within [`CONTENT_MAX`].
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Content(String);

impl Content {
    pub fn new(text: impl Into<String>) -> Result<Content, TextError> {
        let text = text.into();
        bounded(&text, "content", CONTENT_MAX)?;
        Ok(Content(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A memory's text is private: it is shown where somebody asks for it, and not by a stray `{:?}`.
impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

impl TryFrom<String> for Content {
    type Error = TextError;

    fn try_from(text: String) -> Result<Content, TextError> {
        Content::new(text)
    }
}

impl From<Content> for String {
    fn from(content: Content) -> String {
        content.0
    }
}

/// A short text on one line: a foreign id, a path, a surface, an objective.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

impl Label {
    pub fn new(text: impl Into<String>) -> Result<Label, TextError> {
        let text = text.into();
        bounded(&text, "label", LABEL_MAX)?;
        on_one_line(&text, "label")?;
        Ok(Label(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Label {
    type Error = TextError;

    fn try_from(text: String) -> Result<Label, TextError> {
        Label::new(text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> String {
        label.0
    }
}

/// Sorted, without repeats, each a short text on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Tags(Vec<String>);

impl Tags {
    pub fn new<T: AsRef<str>>(tags: impl IntoIterator<Item = T>) -> Result<Tags, TextError> {
        let tags = Tags::checked(tags, TAGS_MAX)?;
        Ok(tags)
    }

    /// The tags of both, as whichever of two merged entries is kept carries them. Of very many the first ones stay.
    pub fn and(&self, other: &Tags) -> Tags {
        let mut all: Vec<String> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(MERGED_TAGS_MAX);
        Tags(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn checked<T: AsRef<str>>(tags: impl IntoIterator<Item = T>, max: usize) -> Result<Tags, TextError> {
        let mut kept = Vec::new();
        for tag in tags {
            let tag = tag.as_ref().trim();
            bounded(tag, "tag", TAG_MAX)?;
            on_one_line(tag, "tag")?;
            kept.push(tag.to_owned());
            // Repeats are taken out on the way, so that a long list of one tag needs no room.
            if kept.len() > max {
                kept.sort_unstable();
                kept.dedup();
            }
            if kept.len() > max {
                return Err(TextError::TooManyTags { count: kept.len() });
            }
        }
        kept.sort_unstable();
        kept.dedup();
        Ok(Tags(kept))
    }
}

/// Tags that were merged may be more than a caller can give.
impl TryFrom<Vec<String>> for Tags {
    type Error = TextError;

    fn try_from(tags: Vec<String>) -> Result<Tags, TextError> {
        Tags::checked(tags, MERGED_TAGS_MAX)
    }
}

impl From<Tags> for Vec<String> {
    fn from(tags: Tags) -> Vec<String> {
        tags.0
    }
}

fn bounded(text: &str, what: &'static str, max: usize) -> Result<(), TextError> {
    if text.len() > max {
        return Err(TextError::TooLong { what, bytes: text.len(), max });
    }
    if text.trim().is_empty() { Err(TextError::Empty { what }) } else { Ok(()) }
}

fn on_one_line(text: &str, what: &'static str) -> Result<(), TextError> {
    if text.chars().any(holdfast_types::drives_a_terminal) {
        Err(TextError::Control { what })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: MEM-F54
    #[test]
    fn what_is_too_long_is_refused_with_the_limit_named() {
        let said = Content::new("a".repeat(CONTENT_MAX + 1)).unwrap_err().to_string();
        assert_eq!(said, "content has 16385 bytes; at most 16384 are taken");
        assert!(Content::new("a".repeat(CONTENT_MAX)).is_ok());
        assert!(Tags::new(["t".repeat(TAG_MAX + 1)]).unwrap_err().to_string().contains("at most 64"));
        let many: Vec<String> = (0..=TAGS_MAX).map(|n| n.to_string()).collect();
        assert_eq!(Tags::new(&many).unwrap_err(), TextError::TooManyTags { count: TAGS_MAX + 1 });
        assert!(Label::new("l".repeat(LABEL_MAX + 1)).is_err());
    }

    // shows: MEM-018
    #[test]
    fn a_repeated_tag_is_stored_once() {
        let tags = Tags::new(std::iter::repeat_n("db", 1_000).chain([" net ", "net"])).unwrap();
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["db", "net"]);
    }

    #[test]
    fn a_tag_or_label_cannot_break_a_line() {
        for bad in ["a\nb", "a\u{202e}b", "a\0", " "] {
            assert!(Tags::new([bad]).is_err() && Label::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn text_is_not_in_a_debug_line() {
        assert_eq!(format!("{:?}", Content::new("a private thing").unwrap()), "Content(15 bytes)");
    }
}
