//! Many hosts in trouble, and what it came to, kind by kind, in two passes: the second has the experience of the first.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use holdfast_steward::brain::Experience;
use holdfast_steward::profile::Rate;
use holdfast_steward_host::LogFailed;
use serde_json::{Value, json};

use super::heal::{self, Told};
use super::{Host, Kind, possible};

/// The second pass has other hosts.
const SECOND_PASS: u64 = 0x005e_c0de;
/// A hundredth of this is healed where it can be, at least.
pub const HEALED_PERCENT_MIN: f64 = 90.0;
/// How often the hosts are drawn again for an interval of the difference of medians.
const RESAMPLED: u64 = 500;
/// What one controller would hold of its own: a hundred hosts with a handful of changes each.
const EXPERIENCES_MAX: usize = 600;

/// One pass over many hosts.
#[derive(Debug, Default)]
pub struct Pass {
    /// Each host with whether it could be healed at all.
    pub hosts: Vec<(Told, bool)>,
}

#[derive(Debug)]
pub struct Report {
    pub first: Pass,
    pub second: Pass,
    /// The hosts of the second pass once more, without any experience of others: what it is held against.
    pub control: Pass,
}

/// What a kind came to.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    pub hosts: u32,
    pub healable: u32,
    pub healed: Option<Rate>,
    pub median_hours: f64,
    pub p90_hours: f64,
    pub changes: u32,
    pub in_vain: u32,
    pub worse_undone: u32,
    pub harm_kept: u32,
    pub touched: u32,
    pub rejected: u32,
    pub breakers: u32,
}

/// Plays so many hosts with this experience.
pub fn pass(hosts: u64, seed: u64, experience: &[Experience]) -> Result<Pass, LogFailed> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut told = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= hosts {
                return Ok(told);
            }
            let host = Host::draw(seed.wrapping_mul(1_000_003).wrapping_add(number));
            told.push((heal::live(&host, experience)?, possible::can_be_healed(&host)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let mut pass = Pass::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(told) => pass.hosts.extend(told?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    })?;
    // The same order whatever the number of threads.
    pass.hosts.sort_by_key(|(told, _)| told.seed);
    Ok(pass)
}

/// Other hosts of the same kinds, with what the first pass came to as experience.
pub fn two_passes(hosts: u64, seed: u64) -> Result<Report, LogFailed> {
    let first = pass(hosts, seed, &[])?;
    let second = pass(hosts, seed ^ SECOND_PASS, &first.experience())?;
    let control = pass(hosts, seed ^ SECOND_PASS, &[])?;
    Ok(Report { first, second, control })
}

impl Pass {
    pub fn experience(&self) -> Vec<Experience> {
        let elsewhere = |it: &Experience| Experience { here: false, ..it.clone() };
        let mut all: Vec<Experience> =
            self.hosts.iter().flat_map(|(told, _)| told.experience.iter().map(elsewhere)).collect();
        let skipped = all.len().saturating_sub(EXPERIENCES_MAX);
        all.drain(..skipped);
        all
    }

    /// The hours it took, where it was healed and could be.
    pub fn hours(&self, of: impl Fn(Kind) -> bool) -> Vec<f64> {
        let mut hours: Vec<f64> = self
            .hosts
            .iter()
            .filter(|(told, healable)| *healable && of(told.kind))
            .filter_map(|(told, _)| told.healed_after)
            .collect();
        hours.sort_by(f64::total_cmp);
        hours
    }

    pub fn sums(&self, of: impl Fn(Kind) -> bool) -> Sums {
        let hosts: Vec<_> = self.hosts.iter().filter(|(told, _)| of(told.kind)).collect();
        let count = |is: &dyn Fn(&Told, bool) -> bool| {
            hosts.iter().filter(|(told, healable)| is(told, *healable)).count() as u32
        };
        let sum = |figure: fn(&Told) -> u32| hosts.iter().map(|(told, _)| figure(told)).sum();
        let healable = count(&|_, healable| healable);
        let healed = count(&|told, healable| healable && told.healed_after.is_some());
        let hours = self.hours(of);
        Sums {
            hosts: hosts.len() as u32,
            healable,
            healed: Rate::wilson(healed, healable),
            median_hours: quantile(&hours, 0.5),
            p90_hours: quantile(&hours, 0.9),
            changes: sum(|told| told.changes.tried),
            in_vain: sum(|told| told.changes.in_vain),
            worse_undone: sum(|told| told.changes.worse_undone),
            harm_kept: count(&|told, _| told.harm_kept),
            touched: count(&|told, _| told.touched),
            rejected: sum(|told| told.rejected),
            breakers: count(&|told, _| told.breaker_opened),
        }
    }

    /// Healed where that can be, no harm kept, nothing done where nothing is wrong.
    pub fn holds(&self) -> bool {
        let all = self.sums(|_| true);
        let enough = all.healed.is_none_or(|rate| rate.share() * 100.0 >= HEALED_PERCENT_MIN);
        enough && all.harm_kept == 0 && self.sums(|kind| kind == Kind::Healthy).touched == 0
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

impl Report {
    pub fn holds(&self) -> bool {
        [&self.first, &self.second, &self.control].iter().all(|pass| pass.holds())
    }

    /// By how many hours a host is healed sooner with experience, on average, with an interval of 95 %. The same hosts with and
    /// without it make pairs, and the pairs are drawn again and again from those there are.
    pub fn sooner(&self) -> (f64, f64, f64) {
        let pairs = self.second.hosts.iter().zip(&self.control.hosts);
        let differences: Vec<f64> = pairs
            .filter(|((_, healable), _)| *healable)
            .filter_map(|((with, _), (without, _))| Some(without.healed_after? - with.healed_after?))
            .collect();
        let mut chance = crate::chance::Chance::new(7);
        let count = differences.len().max(1) as f64;
        let mut again = || {
            let drawn = (0..differences.len()).map(|_| chance.between(0, differences.len() as u64) as usize);
            drawn.filter_map(|at| differences.get(at)).sum::<f64>() / count
        };
        let mut means: Vec<f64> = (0..RESAMPLED).map(|_| again()).collect();
        means.sort_by(f64::total_cmp);
        (differences.iter().sum::<f64>() / count, quantile(&means, 0.025), quantile(&means, 0.975))
    }

    /// Changes tried on the same hosts with experience and without.
    pub fn changes(&self) -> (u32, u32) {
        (self.second.sums(|_| true).changes, self.control.sums(|_| true).changes)
    }

    /// The stories of those that could be healed and were not, and of those that were harmed.
    pub fn unhealed(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (told, healable) in self.first.hosts.iter().chain(&self.second.hosts).chain(&self.control.hosts) {
            let missed = *healable && told.healed_after.is_none();
            let needless = matches!(told.kind, Kind::Healthy | Kind::Leak) && told.touched;
            if missed || needless || told.harm_kept {
                let harm = if told.harm_kept { ", harm kept" } else { "" };
                lines.push(format!("● host {} ({}{harm})", told.seed, told.kind.name()));
                lines.extend(told.story.iter().chain(&told.said).map(|line| format!("  {line}")));
            }
        }
        lines
    }

    pub fn json(&self) -> Value {
        let of = |pass: &Pass| {
            let kinds = Kind::ALL.map(|kind| (kind.name().to_owned(), pass.sums(|it| it == kind).json()));
            let mut object: serde_json::Map<String, Value> = kinds.into_iter().collect();
            object.insert("all".to_owned(), pass.sums(|_| true).json());
            Value::Object(object)
        };
        let (by, low, high) = self.sooner();
        json!({
            "first": of(&self.first),
            "second": of(&self.second),
            "control": of(&self.control),
            "sooner_hours": { "mean": by, "low": low, "high": high },
            "holds": self.holds(),
        })
    }
}

impl Sums {
    fn json(&self) -> Value {
        json!({
            "hosts": self.hosts, "healable": self.healable, "healed": self.healed,
            "median_hours": self.median_hours, "p90_hours": self.p90_hours, "changes": self.changes,
            "in_vain": self.in_vain, "worse_undone": self.worse_undone, "harm_kept": self.harm_kept,
            "touched": self.touched, "gate_rejected": self.rejected, "breakers_opened": self.breakers,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, pass) in [
            ("first pass, nothing learnt yet", &self.first),
            ("second pass, other hosts, with the first as experience", &self.second),
            ("the hosts of the second pass without it", &self.control),
        ] {
            writeln!(f, "{name}")?;
            pass.table(f)?;
            writeln!(f)?;
        }
        let (by, low, high) = self.sooner();
        let (with, without) = self.changes();
        writeln!(f, "With experience a host is healed {by:.2} hours sooner (95 %: {low:.2} to {high:.2}),")?;
        write!(f, "with {with} changes instead of {without}.")
    }
}

impl Pass {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {:<16} {:>5} {:>8} {:>7} {:>13} {:>8} {:>7} {:>7} {:>7} {:>7} {:>5} {:>7}",
            "",
            "hosts",
            "healable",
            "healed",
            "(95 %)",
            "median",
            "p90",
            "changes",
            "in vain",
            "undone",
            "harm",
            "touched"
        )?;
        for kind in Kind::ALL {
            self.sums(|it| it == kind).row(kind.name(), f)?;
        }
        self.sums(|_| true).row("all", f)
    }
}

impl Sums {
    fn row(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let (healed, range) = self.healed.map_or_else(
            || ("–".to_owned(), String::new()),
            |rate| (percent(rate.share()), format!("{}–{}", percent(rate.low), percent(rate.high))),
        );
        writeln!(
            f,
            "  {:<16} {:>5} {:>8} {:>6}% {:>13} {:>6.1} h {:>5.1} h {:>7} {:>7} {:>7} {:>5} {:>7}",
            name,
            self.hosts,
            self.healable,
            healed,
            range,
            self.median_hours,
            self.p90_hours,
            self.changes,
            self.in_vain,
            self.worse_undone,
            self.harm_kept,
            self.touched
        )
    }
}
