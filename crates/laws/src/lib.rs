//! The laws of a driver: what the steward relies on, whatever kind of target it is.
//!
//! A test brings a [`Subject`]: a target in its hands, whose driver it can ask, whose time it can let pass, whose line it can cut.
//! [`obeys`] goes through all laws on that one target, [`obeys_some`] through some of them, and gives a [`Report`], or the first law that is broken. A law begins and ends
//! with nothing being tried and with what people wrote in force, so one machine is enough for all.
//!
//! ```text
//! let report = holdfast_laws::obeys(&mut subject).unwrap();
//! assert_eq!(report.not_asked, []);
//! ```
//!
//! What a harness cannot do it says, with a reason; the law then stands in [`Report::not_asked`], where a test has to look.
//!
//! Files: `bench.rs` says words and waits for what comes of them; `law.rs` has the laws.

mod bench;
mod law;

use std::time::Duration;

use holdfast_steward::setting::{Setting, Value};
use holdfast_steward_host::Driver;

/// A target in the hands of a test.
pub trait Subject {
    fn driver(&mut self) -> &mut dyn Driver;

    /// How much time has passed for the target since some moment. Goes on, also while nobody asks.
    fn clock(&mut self) -> Duration;

    /// Lets time pass for the target; where it is real this waits.
    fn pass(&mut self, span: Duration);

    /// What is changed. It has to be there, to be one of the settings that may be changed, and harmless.
    fn setting(&self) -> Setting;

    /// Values for it: others for other numbers, and none that people wrote.
    fn value(&self, number: u32) -> Value;

    /// Everything that may not be touched by what is staged or tried: what people wrote, and what a boot gives. In any form.
    fn durable(&mut self) -> String;

    /// Nothing said reaches the target from here on.
    fn cut(&mut self);

    /// It does again.
    fn join(&mut self);

    /// Starts the target again, and returns when it answers.
    fn boot(&mut self) -> Result<(), NotHere>;

    /// How long a lease lasts here: longer than staging, arming and trying together take.
    fn lease(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Between two looks while something is awaited.
    fn moment(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// How much longer than its time anything may take before it counts as not done.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// A harness cannot do this, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHere(pub &'static str);

/// All laws that were asked for held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub held: Vec<&'static str>,
    /// Laws that were not put to the test, and why.
    pub not_asked: Vec<(&'static str, &'static str)>,
}

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {why}")]
pub struct Broken {
    pub law: &'static str,
    pub why: String,
}

/// The names of all laws, in the order in which they are asked.
pub fn laws() -> Vec<&'static str> {
    law::ALL.iter().map(|(name, _)| *name).collect()
}

/// Puts every law to this target.
pub fn obeys(subject: &mut dyn Subject) -> Result<Report, Broken> {
    obeys_some(subject, |_| true)
}

/// Puts those laws to it whose names are wanted: a machine in real time may take minutes for all of them.
pub fn obeys_some(subject: &mut dyn Subject, wanted: impl Fn(&str) -> bool) -> Result<Report, Broken> {
    let mut report = Report::default();
    let mut bench = bench::Bench::new(subject);
    for (name, law) in law::ALL {
        if !wanted(name) {
            report.not_asked.push((name, "it was not wanted"));
            continue;
        }
        let broken = |why| Broken { law: name, why };
        match bench.ask(*law) {
            Ok(()) => report.held.push(name),
            Err(bench::Stop::NotHere(why)) => report.not_asked.push((name, why)),
            Err(bench::Stop::Broken(why)) => return Err(broken(why)),
        }
        bench.settled().map_err(broken)?;
    }
    Ok(report)
}
