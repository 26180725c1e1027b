//! The words that cross the socket and the command line as text, read into what memory knows.

use holdfast_control::{MemoryDraft, MemoryFilter};
use holdfast_memory::{
    Body, Confidence, Content, Draft, EntryType, Kind, Label, MemoryId, Record, Said, Scope, Source, Tags,
};
use holdfast_memory_host::{AgentName, Only};

use super::MemoryError;

/// A value by its word.
pub(crate) trait Word: Copy + Sized + 'static {
    const WHAT: &'static str;
    fn all() -> Vec<Self>;
    fn word(self) -> &'static str;
}

impl Word for EntryType {
    const WHAT: &'static str = "type";
    fn all() -> Vec<EntryType> {
        EntryType::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for Source {
    const WHAT: &'static str = "source";
    fn all() -> Vec<Source> {
        Source::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for Scope {
    const WHAT: &'static str = "scope";
    fn all() -> Vec<Scope> {
        vec![Scope::Project, Scope::Global]
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// By the name of its collection, which is what people call many of a kind.
impl Word for Kind {
    const WHAT: &'static str = "kind";
    fn all() -> Vec<Kind> {
        Kind::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.policy().collection
    }
}

pub(crate) fn parsed<T: Word>(word: &str) -> Result<T, MemoryError> {
    let known: Vec<T> = T::all();
    known.iter().copied().find(|it| it.word() == word).ok_or_else(|| MemoryError::Word {
        what: T::WHAT,
        word: word.chars().take(40).collect(),
        known: known.into_iter().map(Word::word).collect(),
    })
}

pub(super) fn agent_of(name: &str) -> Result<AgentName, MemoryError> {
    Ok(name.parse()?)
}

pub(super) fn id_of(text: &str) -> Result<MemoryId, MemoryError> {
    text.parse().map_err(|_| MemoryError::Id { id: text.chars().take(40).collect() })
}

pub(super) fn only_of(filter: &MemoryFilter) -> Result<Only, MemoryError> {
    let MemoryFilter { kinds, types, scope, since, until, tags, trust, fresh, host } = filter;
    Ok(Only {
        kinds: kinds.iter().map(|word| parsed(word)).collect::<Result<_, _>>()?,
        types: types.iter().map(|word| parsed(word)).collect::<Result<_, _>>()?,
        scope: scope.as_deref().map(parsed).transpose()?,
        since: *since,
        until: *until,
        tags: tags.clone(),
        trust_min: *trust,
        fresh: *fresh,
        host: host.clone(),
    })
}

/// What is to be remembered, known to be well formed. What is wrong is said without a word of the text.
pub(crate) fn draft_of(asked: &MemoryDraft) -> Result<Draft, MemoryError> {
    let MemoryDraft { text, entry_type, source, confidence, scope, tags, at, thread, .. } = asked;
    let wrong = |why: String| MemoryError::Draft { why };
    let label = |text: &String| Label::new(text.clone()).map_err(|e| wrong(e.to_string()));
    let said = match (at, thread) {
        (None, None) => None,
        (at, thread) => Some(Said { at: *at, thread: thread.as_ref().map(label).transpose()? }),
    };
    let body = Body {
        content: Content::new(text.clone()).map_err(|e| wrong(e.to_string()))?,
        tags: Tags::new(tags).map_err(|e| wrong(e.to_string()))?,
        source_id: None,
        said,
        record: Record::default(),
    };
    let claimed = Confidence::new(*confidence).map_err(|e| wrong(e.to_string()))?;
    Ok(Draft {
        entry_type: parsed(entry_type)?,
        source: parsed(source)?,
        claimed,
        scope: parsed(scope)?,
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_another_is_refused_with_those_that_are_known() {
        fn check<T: Word + PartialEq + std::fmt::Debug>() {
            for value in T::all() {
                assert_eq!(parsed::<T>(value.word()).unwrap(), value);
            }
            let said = parsed::<T>("truth").unwrap_err().to_string();
            assert!(T::all().into_iter().all(|it| said.contains(it.word())), "{said}");
        }
        check::<EntryType>();
        check::<Source>();
        check::<Scope>();
        check::<Kind>();
    }
}
