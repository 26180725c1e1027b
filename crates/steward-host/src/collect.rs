//! What a host is measured by: one round trip, one [`Collected`], three ways to get it.
//!
//! [`Source::Doorman`] asks the program behind the observer's key. [`Source::Account`] needs nothing installed: an ordinary account
//! with a shell, for observation alone ([`account`]). [`Source::Here`] is the machine this program runs on, without SSH. What they find
//! is the same type, read by the same code; what a way cannot see is named and never 0.
//!
//! [`observation()`] makes of it what `metrics.db` keeps, [`rates()`] compares two in a row. Both are pure.

pub mod account;
mod observation;
mod rates;

use std::time::Duration;

use holdfast_doorman::Place;
use holdfast_doorman::wire::{Ask, Collected, Reply, Role};
use holdfast_steward::setting::UnitName;

pub use observation::{PSI_SPIKE, Seen, observation};
pub use rates::{Taken, UnitRates, rates};

use crate::systemd::Way;
use holdfast_line::{Line, Unreached};

/// Beyond what any single read there may take.
const WITHIN: Duration = Duration::from_secs(45);

/// Where figures come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A doorman, with the observer's key; it knows its units.
    Doorman(Way),
    /// An ordinary account without one.
    Account { line: Line, units: Vec<UnitName> },
    /// This machine.
    Here { units: Vec<UnitName> },
}

impl Source {
    /// One collection, from where the journal was read to the last time.
    pub fn collect(&self, cursor: Option<&str>) -> Result<Collected, Unreached> {
        self.collect_within(cursor, WITHIN)
    }

    /// The same, given up after this long. Of this machine every single read has its own limit.
    pub fn collect_within(&self, cursor: Option<&str>, within: Duration) -> Result<Collected, Unreached> {
        match self {
            Source::Doorman(way) => through_doorman(way, cursor, within),
            Source::Account { line, units } => account::collect(line, units, cursor, within),
            Source::Here { units } => Ok(holdfast_doorman::collect::here(&Place::default(), units, cursor)),
        }
    }
}

fn through_doorman(way: &Way, cursor: Option<&str>, within: Duration) -> Result<Collected, Unreached> {
    let ask = Ask::Collect { cursor: cursor.map(str::to_owned) };
    match way.ask(Role::Observe, &ask, within)? {
        Reply::Collected(found) => Ok(*found),
        other => {
            let said = match other {
                Reply::Broken { why } | Reply::NotAdmitted { why } => why,
                _ => "a reply to something else".to_owned(),
            };
            Err(Unreached::Garbled { alias: way.alias.clone(), said: holdfast_line::shown(&said) })
        }
    }
}
