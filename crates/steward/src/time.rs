//! Time as controllers see it. The words are the lifeline's: leases and limits count on the same clock.

pub use holdfast_lifeline::{Now, Steady};
