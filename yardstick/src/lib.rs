//! What the steward's judgement is measured with: data whose truth is known, the rules to score by, and the textbook's own
//! detectors to be compared with.
//!
//! - [`series`]: generated series of many kinds with the places where they change; [`agreement`]: how well somebody else
//!   found them.
//! - [`noise`]: endless noise in which nothing happens, for counting false alarms.
//! - [`nab`]: a corpus of series with labelled windows, scored by the published rules of its benchmark.
//! - [`peers`] and [`gaussian`]: plain CUSUM, binary segmentation, PELT and the windowed Gaussian.
//!
//! What holds: nothing here is part of the product, and nothing here knows the product's detectors; the same seed gives the
//! same data.

pub mod agreement;
mod chance;
pub mod gaussian;
pub mod nab;
pub mod noise;
pub mod peers;
pub mod series;
