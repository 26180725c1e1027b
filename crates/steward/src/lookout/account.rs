//! Findings of several metrics of one host, told as one: what moved first, what followed, how sure all in all.
//!
//! Metrics of one host rarely move together by chance. Each finding says how rarely chance alone brings it; findings of
//! several metrics within one window are rarer still, so a second and a third make the whole surer than any alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Kind, how_sure};
use crate::detect::Direction;
use crate::time::Steady;

/// No more findings than this are told in one account; the first and the surest matter.
pub const TOLD_MAX: usize = 16;

/// What one host's metrics did within one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// In the order in which they began, each with the name of its metric.
    pub findings: Vec<(String, Finding)>,
    pub began: Steady,
    /// How sure it is that something happened, 0 to 1: at least as sure as the surest of them.
    pub sure: f64,
}

impl Account {
    /// What moved first.
    pub fn first(&self) -> Option<&(String, Finding)> {
        self.findings.first()
    }

    /// One sentence: "On web-1 Memory pressure rose first, at 03:14; Latency rose 30 s later (almost certain)."
    pub fn sentence(&self, host: &str, moment: impl Fn(Steady) -> String) -> String {
        let Some(((what, finding), rest)) = self.findings.split_first() else {
            return format!("On {host} nothing moved.");
        };
        let first = if rest.is_empty() { "" } else { " first" };
        let mut told = format!("On {host} {what} {}{first}, at {}", verb(finding), moment(finding.began));
        for (what, later) in rest {
            let after = later.began.since(finding.began);
            let when = if after.is_zero() {
                "at the same time".to_owned()
            } else {
                format!("{} later", span(after))
            };
            told.push_str(&format!("; {what} {} {when}", verb(later)));
        }
        format!("{told} ({}).", how_sure(self.sure))
    }
}

/// Combines findings of one host that began within `window` of the first of them into one account. Findings that began
/// later are left out: they are another story. Of one metric only its earliest finding counts towards being sure.
pub fn together(findings: &[(String, Finding)], window: Duration) -> Option<Account> {
    let mut findings: Vec<(String, Finding)> = findings.to_vec();
    findings.sort_by(|(one, a), (other, b)| a.began.cmp(&b.began).then_with(|| one.cmp(other)));
    let began = findings.first()?.1.began;
    findings.retain(|(_, finding)| finding.began <= began.plus(window));
    findings.truncate(TOLD_MAX);
    let sure = sure_together(&findings);
    Some(Account { findings, began, sure })
}

/// The odds that each is real multiply, one for each metric: those of one that is as likely as not are one.
fn sure_together(findings: &[(String, Finding)]) -> f64 {
    let mut surest: f64 = 0.0;
    let mut log_odds = 0.0;
    for (index, (what, finding)) in findings.iter().enumerate() {
        let sure = finding.sure.clamp(0.0, 1.0 - 1e-9);
        surest = surest.max(sure);
        if findings.iter().take(index).all(|(earlier, _)| earlier != what) {
            // Below even odds a finding still says something when others say the same.
            log_odds += (sure.max(0.5) / (1.0 - sure.max(0.5))).ln() + COMPANY;
        }
    }
    let together = 1.0 / (1.0 + (COMPANY - log_odds).exp());
    together.max(surest)
}

/// What the company of another metric adds to the logarithm of the odds. Metrics of a healthy host alarm independently,
/// so two within one window of half an hour, when each alarms falsely once in 30 days, are a thousand times rarer than
/// one; but metrics of one host are not wholly independent, so only a small part of that is credited.
const COMPANY: f64 = 1.0;

fn verb(finding: &Finding) -> &'static str {
    let up = finding.direction != Some(Direction::Down);
    match (finding.kind, up) {
        (Kind::Spike, true) => "jumped once",
        (Kind::Spike, false) => "dropped once",
        (Kind::Shift, true) => "rose",
        (Kind::Shift, false) => "fell",
        (Kind::Drift, true) => "began to rise",
        (Kind::Drift, false) => "began to fall",
        (Kind::Spread, true) => "began to scatter more",
        (Kind::Spread, false) => "began to scatter less",
        (Kind::Cycle, _) => "left its daily round",
        (Kind::Missing, _) => "fell silent",
    }
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests;
