//! The log that is projected: the open journal of this process, or one looked at from outside.

use holdfast_journal::{Entries, Journal, View};
use holdfast_types::Origin;

use crate::error::Result;

/// Where entries come from.
#[derive(Clone, Copy, Debug)]
pub enum Log<'a> {
    Journal(&'a Journal),
    View(&'a View),
}

impl<'a> From<&'a Journal> for Log<'a> {
    fn from(journal: &'a Journal) -> Self {
        Log::Journal(journal)
    }
}

impl<'a> From<&'a View> for Log<'a> {
    fn from(view: &'a View) -> Self {
        Log::View(view)
    }
}

impl<'a> Log<'a> {
    pub fn origin(&self) -> &'a Origin {
        match self {
            Log::Journal(journal) => journal.origin(),
            Log::View(view) => view.origin(),
        }
    }

    pub(crate) fn size(&self) -> Result<u64> {
        match self {
            Log::Journal(journal) => Ok(journal.size()),
            Log::View(view) => Ok(view.size()?),
        }
    }

    pub(crate) fn entries(&self, from: u64) -> Entries {
        match self {
            Log::Journal(journal) => journal.read(from),
            Log::View(view) => view.entries(from),
        }
    }
}
