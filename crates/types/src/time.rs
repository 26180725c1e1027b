//! Wall-clock time as a value: UTC microseconds.
//!
//! It informs and never orders: order is the journal's `seq`. Durations are measured on the monotonic
//! clock that [`Clock`] also carries.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in UTC with microseconds; the text form always has six digits after the second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(jiff::Timestamp);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TimeError {
    #[error("{text:?} is not a time: expected the form 2026-11-15T08:17:16.000000Z")]
    Malformed { text: String },
    #[error("{micros} microseconds since 1970 is outside the years -9999 to 9999")]
    OutOfRange { micros: i64 },
}

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(jiff::Timestamp::UNIX_EPOCH);

    pub fn from_micros(micros: i64) -> Result<Self, TimeError> {
        jiff::Timestamp::from_microsecond(micros).map(Timestamp).map_err(|_| TimeError::OutOfRange { micros })
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// How long after `earlier` this is; zero when the clock went backwards in between.
    pub fn since(self, earlier: Timestamp) -> Duration {
        let micros = self.as_micros().saturating_sub(earlier.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// The moment `span` later, held at the end of representable time.
    pub fn plus(self, span: Duration) -> Timestamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        let sum = self.as_micros().saturating_add(micros);
        Timestamp::from_micros(sum).unwrap_or(Timestamp(jiff::Timestamp::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let malformed = || TimeError::Malformed { text: text.chars().take(40).collect() };
        let parsed: jiff::Timestamp = text.parse().map_err(|_| malformed())?;
        let time = Timestamp::from_micros(parsed.as_microsecond()).map_err(|_| malformed())?;
        if time.to_string() == text { Ok(time) } else { Err(malformed()) }
    }
}

impl From<Timestamp> for String {
    fn from(t: Timestamp) -> String {
        t.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

/// Where a part gets its time from, so that a test can hand in another one.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock; may jump in either direction.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment; never goes back while the machine is up.
    fn monotonic(&self) -> Duration;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_moment_round_trips(micros in -62_135_596_800_000_000i64..253_402_300_799_000_000) {
            let t = Timestamp::from_micros(micros).unwrap();
            prop_assert_eq!(t.to_string().parse(), Ok(t));
            prop_assert_eq!(t.as_micros(), micros);
        }
    }

    #[test]
    fn one_spelling_only() {
        assert!("2026-11-15T08:17:16.000001Z".parse::<Timestamp>().is_ok());
        for bad in [
            "2026-11-15T08:17:16Z",
            "2026-11-15T08:17:16.000001+00:00",
            "2026-11-15 08:17:16.000001Z",
            "now",
            "",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_span() {
        let (a, b) = (Timestamp::from_micros(10).unwrap(), Timestamp::from_micros(4).unwrap());
        assert_eq!(b.since(a), Duration::ZERO);
        assert_eq!(a.since(b), Duration::from_micros(6));
    }
}
