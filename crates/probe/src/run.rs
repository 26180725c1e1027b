//! Looks: one check, or several at once under one deadline.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_types::Timestamp;

use crate::check::Check;
use crate::found::{Found, Trouble};
use crate::line::Line;
use crate::tls::Trust;
use crate::until::Until;
use crate::{gatus, http, icmp, ssh, tailscale};

/// A tripwire has a handful of checks. Each may fill its time with waiting, so one round has room for all of them.
const AT_ONCE_MAX: usize = 16;

/// Under what terms to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The longest it may take, everything included; an hour at most.
    pub within: Duration,
    /// The wall clock now: certificates and a monitor's results are held against it.
    pub now: Timestamp,
    /// What a monitor measured up to this moment (the activation of a trial) says nothing.
    pub not_before: Option<Timestamp>,
}

/// Looks once.
pub fn run(check: &Check, terms: &Terms) -> Found {
    run_until(check, terms, Until::after(terms.within))
}

/// Looks at all of them at once; what was found, in their order. A check whose turn did not come in time is unknown.
pub fn all(checks: &[Check], terms: &Terms) -> Vec<Found> {
    let until = Until::after(terms.within);
    let found: Vec<OnceLock<Found>> = checks.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((check, slot)) = {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            checks.get(turn).zip(found.get(turn))
        } {
            slot.get_or_init(|| in_its_turn(check, terms, until));
        }
    };
    thread::scope(|scope| {
        // The caller's thread works too; so where no other can be started, everything is still looked at.
        for _ in 1..checks.len().min(AT_ONCE_MAX) {
            if thread::Builder::new().name("probe".into()).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let never = || Found::Unknown { why: "it was not looked at".to_owned() };
    found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(never)).collect()
}

fn in_its_turn(check: &Check, terms: &Terms, until: Until) -> Found {
    match until.left() {
        Ok(_) => run_until(check, terms, until),
        Err(_) => Found::Unknown { why: "there was no time left to look at it".to_owned() },
    }
}

fn run_until(check: &Check, terms: &Terms, until: Until) -> Found {
    let began = Instant::now();
    match look(check, terms, until) {
        Ok(()) => Found::Passed { took: began.elapsed() },
        Err(trouble) => trouble.into(),
    }
}

fn look(check: &Check, terms: &Terms, until: Until) -> Result<(), Trouble> {
    let now = terms.now;
    match check {
        Check::Tcp { address } => Line::to(address, until).map(drop),
        Check::Http { url, status, contains, roots } => {
            let body_max = if contains.is_some() { http::BODY_MAX } else { 0 };
            let answer = http::get(url.clone(), roots.clone(), body_max, until, now)?;
            http::judge(&answer, *status, contains.as_deref())
        }
        Check::Tls { address, name, days_left, roots } => {
            let name = name.as_ref().unwrap_or(&address.host);
            let trust = Trust::new(roots.as_deref(), now)?;
            let stream = trust.greet(name, Line::to(address, until)?)?;
            trust.lasts(&stream, name, *days_left)
        }
        Check::Icmp { host } => icmp::echo(host, until),
        Check::Ssh { address } => ssh::greeting(Line::to(address, until)?),
        Check::Gatus { url, endpoints, roots } => gatus::look(url, endpoints, roots.as_ref(), terms, until),
        Check::Tailscale { id, program } => tailscale::look(id, program.as_deref(), until),
    }
}
