//! A notice as a part of the house raises it: durable in the journal before anybody is told.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, KindDef, Origin, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::kinds;
use crate::text::{CONTEXT_MAX, MESSAGE_MAX, NAME_MAX, VALUE_MAX, clean, kept};

/// How much it matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

/// Something people should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub severity: Severity,
    /// One sentence. Cut, cleaned and screened on its way.
    pub message: String,
    /// A few named facts.
    pub context: BTreeMap<String, String>,
    /// Notices with the same key are repeats of each other and may be told as one.
    pub fold: Option<String>,
    /// Who raises it.
    pub actor: Actor,
}

impl Notice {
    pub fn new(severity: Severity, actor: Actor, message: impl Into<String>) -> Notice {
        Notice { severity, message: message.into(), context: BTreeMap::new(), fold: None, actor }
    }

    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl fmt::Display) -> Notice {
        self.context.insert(name.into(), value.to_string());
        self
    }

    #[must_use]
    pub fn folding(mut self, key: impl Into<String>) -> Notice {
        self.fold = Some(key.into());
        self
    }

    /// The entry to append, for a caller that submits it without blocking.
    pub fn draft(&self, origin: &Origin) -> Draft {
        let context: Map<String, Value> = self
            .context
            .iter()
            .take(CONTEXT_MAX)
            .map(|(name, value)| (kept(name, NAME_MAX), kept(value, VALUE_MAX).into()))
            .collect();
        let mut body = Map::new();
        body.insert("severity".into(), self.severity.as_str().into());
        body.insert("message".into(), kept(&self.message, MESSAGE_MAX).into());
        body.insert("context".into(), context.into());
        body.insert("source".into(), instance(origin).into());
        if let Some(fold) = &self.fold {
            body.insert("fold".into(), clean(fold, VALUE_MAX).into());
        }
        draft(&kinds::RAISED, self.actor.clone(), body)
    }
}

/// Writes the notice down; from then on it will be told. Returns its seq.
///
/// A text the screen refuses altogether is replaced by a sentence saying so: people must learn that something
/// happened also when what happened cannot be repeated. Should the entry be too long all the same, it goes without
/// its context.
pub fn raise(journal: &Journal, notice: &Notice) -> Result<u64> {
    let withheld = || Notice {
        message:
            "A notice was raised whose text holds a secret that cannot be cut out; the text was withheld."
                .into(),
        context: BTreeMap::new(),
        fold: None,
        ..notice.clone()
    };
    match journal.append(&notice.draft(journal.origin())) {
        Err(holdfast_journal::Error::Blocked(_)) => {
            Ok(journal.append(&withheld().draft(journal.origin()))?.seq)
        }
        Err(holdfast_journal::Error::TooLong { .. }) => {
            let bare = Notice { context: BTreeMap::new(), ..notice.clone() };
            Ok(journal.append(&bare.draft(journal.origin()))?.seq)
        }
        appended => Ok(appended?.seq),
    }
}

/// The name of the instance that writes to this log.
pub(crate) fn instance(origin: &Origin) -> &str {
    origin.as_str().strip_prefix("holdfast/").unwrap_or(origin.as_str())
}

/// An entry of one of this room's kinds.
pub(crate) fn draft(kind: &KindDef, actor: Actor, body: Map<String, Value>) -> Draft {
    let name =
        kind.name.parse().unwrap_or_else(|_| unreachable!("every kind of this room has a proper name"));
    Draft { version: kind.version, ..Draft::new(name, actor, Trust::Trusted, body) }
}

impl Severity {
    pub const ALL: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Critical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }

    /// Its place in the order, as the view stores it.
    pub(crate) const fn rank(self) -> i64 {
        match self {
            Severity::Info => 0,
            Severity::Warning => 1,
            Severity::Critical => 2,
        }
    }

    pub(crate) fn of_rank(rank: i64) -> Severity {
        Severity::ALL.into_iter().find(|s| s.rank() == rank).unwrap_or(Severity::Critical)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Severity> {
        let found = Severity::ALL.into_iter().find(|s| s.as_str() == text);
        found.ok_or_else(|| Error::Name { text: text.chars().take(40).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_ordered_and_read_back() {
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Critical);
        for s in Severity::ALL {
            assert_eq!(s.to_string().parse::<Severity>().unwrap(), s);
            assert_eq!(serde_json::to_string(&s).unwrap(), format!("\"{s}\""));
            assert_eq!(Severity::of_rank(s.rank()), s);
        }
        assert!("urgent".parse::<Severity>().is_err());
    }
}
