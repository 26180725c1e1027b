//! Which memories a search is about.

use holdfast_memory::Kind;
use holdfast_memory::{EntryType, Scope};
use holdfast_types::{Timestamp, Trust};
use rusqlite::types::Value;

use crate::error::Result;
use crate::table::word;

/// A filter. What is empty or not set lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    pub kinds: Vec<Kind>,
    pub types: Vec<EntryType>,
    pub scope: Option<Scope>,
    /// Said at or after this moment, and before that one.
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// With all of these.
    pub tags: Vec<String>,
    /// Trusted at least so far.
    pub trust_min: Option<Trust>,
    /// Not what grew too old for planning.
    pub fresh: bool,
    /// About this host, by the record.
    pub host: Option<String>,
}

impl Only {
    pub fn is_everything(&self) -> bool {
        *self == Only::default()
    }

    /// The question to the table, with its values.
    pub(crate) fn sql(&self) -> Result<(String, Vec<Value>)> {
        let standing = if self.fresh { "'session', 'durable'" } else { "'session', 'durable', 'archived'" };
        let mut sql = format!("SELECT seq FROM entry WHERE standing IN ({standing})");
        let mut values = Vec::new();
        let any = |column: &str, words: Vec<String>, sql: &mut String, values: &mut Vec<Value>| {
            if words.is_empty() {
                return;
            }
            let places = vec!["?"; words.len()].join(", ");
            sql.push_str(&format!(" AND {column} IN ({places})"));
            values.extend(words.into_iter().map(Value::Text));
        };
        any("kind", self.kinds.iter().map(word).collect::<Result<_>>()?, &mut sql, &mut values);
        any("type", self.types.iter().map(word).collect::<Result<_>>()?, &mut sql, &mut values);
        any("scope", self.scope.iter().map(word).collect::<Result<_>>()?, &mut sql, &mut values);
        let trusted = Trust::ALL.iter().filter(|it| self.trust_min.is_some_and(|min| **it >= min));
        any("host", self.host.iter().cloned().collect(), &mut sql, &mut values);
        any("trust", trusted.map(word).collect::<Result<_>>()?, &mut sql, &mut values);
        for (moment, sign) in [(self.since, ">="), (self.until, "<")] {
            if let Some(moment) = moment {
                sql.push_str(&format!(" AND said {sign} ?"));
                values.push(Value::Integer(moment.as_micros()));
            }
        }
        for tag in &self.tags {
            sql.push_str(" AND seq IN (SELECT seq FROM tag WHERE tag = ?)");
            values.push(Value::Text(tag.clone()));
        }
        sql.push_str(" ORDER BY seq");
        Ok((sql, values))
    }
}
