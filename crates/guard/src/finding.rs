//! What the engine says of a stretch of text.

use std::fmt;
use std::ops::Range;

use crate::kind::Kind;

/// How sure the engine is, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Confidence(u8);

impl Confidence {
    /// A scan reports what is at least as sure as this unless it is told otherwise.
    pub const REPORTED: Confidence = Confidence(50);

    pub const fn percent(percent: u8) -> Confidence {
        Confidence(if percent > 100 { 100 } else { percent })
    }

    pub const fn as_percent(self) -> u8 {
        self.0
    }

    /// Between 0 and 1, as it is written in JSON.
    pub fn as_fraction(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// By which of the two ways it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// By its form or by what stands around it.
    Pattern,
    /// Because it looks random.
    Entropy,
}

impl Method {
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Pattern => "pattern",
            Method::Entropy => "entropy",
        }
    }
}

/// Something found, with where and why. It holds no byte of what was found.
#[derive(Clone, Debug)]
pub struct Finding<'g> {
    pub kind: &'g Kind,
    /// Bytes of the text that was looked at.
    pub span: Range<usize>,
    pub confidence: Confidence,
    pub method: Method,
    /// Why, in words that quote nothing: "the value of a key whose name says password".
    pub reason: &'static str,
}
