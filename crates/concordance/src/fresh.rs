//! The entries that are in no segment yet. They are in memory alone: after a crash they come again from the journal.

use std::sync::Arc;

use crate::analyse::{Place, Walked, each_term};
use crate::gathered::{Gathered, Token};
use crate::list::List;
use crate::score::TF_MAX;

/// Entries that were added since the last segment was written, found like all others.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) gathered: Gathered,
    /// By number of the term.
    lists: Vec<Growing>,
}

#[derive(Debug, Default)]
struct Growing {
    docs: Vec<u16>,
    tfs: Vec<u8>,
}

/// The terms of one text, found before any lock is taken.
#[derive(Debug)]
pub(crate) struct Terms {
    text: String,
    /// Where each term ends in `text`, and its place.
    ends: Vec<(u32, Place)>,
    pub(crate) walked: Walked,
}

impl Terms {
    pub(crate) fn of(text: &str) -> Terms {
        let mut terms = Terms { text: String::new(), ends: Vec::new(), walked: Walked::Whole };
        terms.walked = each_term(text, |term, place| {
            terms.text.push_str(term);
            terms.ends.push((terms.text.len() as u32, place));
        });
        terms
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = (&str, Place)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, place)| {
            let term = &self.text[start..*end as usize];
            start = *end as usize;
            (term, *place)
        })
    }
}

impl Fresh {
    pub(crate) fn len(&self) -> usize {
        self.gathered.len()
    }

    pub(crate) fn push(&mut self, id: u64, terms: &Terms) {
        let tokens: Vec<Token> =
            terms.iter().map(|(term, place)| Token::new(self.gathered.number_of(term), place)).collect();
        self.push_tokens(id, &tokens);
    }

    fn push_tokens(&mut self, id: u64, tokens: &[Token]) {
        note_all(&mut self.lists, self.gathered.len(), tokens);
        self.gathered.push(id, tokens.iter().copied());
    }

    /// The same without some entries; of the words only they had nothing stays.
    pub(crate) fn without(&self, goes: &dyn Fn(u64) -> bool) -> Fresh {
        let mut rest = Fresh::default();
        let entries = self.gathered.entries().map(|(id, tokens)| (id, tokens.to_vec()));
        rest.gathered.take_from(&self.gathered.terms(), entries, &|id| !goes(id));
        for (doc, (_, tokens)) in rest.gathered.entries().enumerate() {
            note_all(&mut rest.lists, doc, tokens);
        }
        rest
    }

    pub(crate) fn list(&self, term: &str) -> Option<Arc<List>> {
        let number = self.gathered.known_number_of(term)?;
        let growing = self.lists.get(number as usize).filter(|list| !list.docs.is_empty())?;
        let (docs, tfs) = (growing.docs.clone(), growing.tfs.clone());
        Some(Arc::new(List::sparse(number, docs, tfs, &self.gathered.lengths)))
    }
}

fn note_all(lists: &mut Vec<Growing>, doc: usize, tokens: &[Token]) {
    for token in tokens {
        let number = token.number() as usize;
        if number >= lists.len() {
            lists.resize_with(number + 1, Growing::default);
        }
        lists[number].note(doc as u16);
    }
}

impl Growing {
    fn note(&mut self, doc: u16) {
        if self.docs.last() == Some(&doc) {
            if let Some(tf) = self.tfs.last_mut() {
                *tf = (*tf + 1).min(TF_MAX);
            }
        } else {
            self.docs.push(doc);
            self.tfs.push(1);
        }
    }
}
