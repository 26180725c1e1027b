//! A review as people read it: Markdown, a table where figures are compared, a sentence where one is enough.

use std::fmt::{self, Write};

use super::{Disk, PRESSED_ABOVE_PERCENT, Pressed, Push, Review, Saturation};
use crate::policy::Range;
use crate::profile::Rate;

impl Review {
    pub fn markdown(&self) -> String {
        let date = self.wall.to_string();
        let mut text = format!("# Review of {}, {}\n\n", self.target, date.get(..10).unwrap_or(&date));
        text += "The trailing 30 days.\n\n## Gates\n\n";
        text += "| Gate | Passed | Share | Likely range |\n|---|---|---|---|\n";
        for gate in &self.gates {
            line(&mut text, format_args!("| {} | {} |", gate.gate, rate(gate.passed)));
        }
        text += "\n## Trials\n\n";
        line(&mut text, format_args!("{}", self.trials()));
        text += "\n## Changes\n\n";
        if self.changed.is_empty() {
            text += "Nothing was tried.\n";
        }
        for (setting, times) in &self.changed {
            line(&mut text, format_args!("- {setting}: tried {}", times_over(*times)));
        }
        text += "\n## Bounds\n\n";
        if self.saturation.is_empty() {
            text += "No accepted change moved a setting towards a bound.\n";
        }
        for found in &self.saturation {
            line(&mut text, format_args!("- {found}"));
        }
        text += "\n## Disk\n\n";
        text += &disk(self.disk);
        text
    }

    fn trials(&self) -> String {
        match self.rolled_back {
            Some(Rate { hits, of, .. }) => format!("{hits} of {of} activations were rolled back."),
            None => "Nothing was activated.".to_owned(),
        }
    }
}

/// What a draft says: enough to decide without looking anything up.
pub(super) fn body(found: &Saturation, wider: Range) -> String {
    let mut text = format!("Accepted changes press against a bound of {}.\n\n", found.setting);
    line(&mut text, format_args!("- Bound today: {} to {}", found.bound.min, found.bound.max));
    line(&mut text, format_args!("- Proposed: {} to {}", wider.min, wider.max));
    line(&mut text, format_args!("- Used towards the {}: {}", side(found.push), percent(found.basis_points)));
    text += "- Accepted in 30 days, oldest first:";
    for change in &found.moves {
        let _ = write!(text, " {} → {};", change.from, change.to);
    }
    text.pop();
    text += "\n\nNothing changes until a person edits the policy. The property tests hold with the proposed bound.\n";
    text
}

/// A line of the report, and of the task that a planner is given.
impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { min, max } = self.bound;
        let (used, side) = (percent(self.basis_points), side(self.push));
        write!(f, "{}: {used} of the way to its {side} ({min} to {max})", self.setting)?;
        let what_now = match self.pressed {
            Pressed::No => return Ok(()),
            Pressed::Drafted => "a draft was opened",
            Pressed::DraftOpen => "a draft is already open",
            Pressed::Noticed => "the next review decides about a draft",
            Pressed::NoRoom => "no wider bound would hold",
        };
        write!(f, ". Warning: above {PRESSED_ABOVE_PERCENT} %; {what_now}.")
    }
}

fn side(push: Push) -> &'static str {
    match push {
        Push::Up => "upper bound",
        Push::Down => "lower bound",
    }
}

fn percent(basis_points: u32) -> String {
    format!("{}.{} %", basis_points / 100, basis_points / 10 % 10)
}

fn rate(rate: Option<Rate>) -> String {
    let whole = |share: f64| (share * 100.0).round();
    match rate {
        None => "– | – | –".to_owned(),
        Some(rate) => {
            let (share, low, high) = (whole(rate.share()), whole(rate.low), whole(rate.high));
            format!("{} of {} | {share} % | {low} to {high} %", rate.hits, rate.of)
        }
    }
}

fn times_over(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

fn disk(disk: Option<Disk>) -> String {
    let Some(Disk { size, used_then, used_now }) = disk else {
        return "The target's disk use is not known.\n".to_owned();
    };
    let share = |used: u64| u128::from(used) * 100 / u128::from(size.max(1));
    let trend = match used_now.cmp(&used_then) {
        std::cmp::Ordering::Greater => "rose",
        std::cmp::Ordering::Less => "fell",
        std::cmp::Ordering::Equal => "stayed the same",
    };
    format!(
        "Use {trend}: from {} % to {} % of {} GB in 30 days.\n",
        share(used_then),
        share(used_now),
        size / 1_000_000_000
    )
}

/// Writing to a string cannot fail.
fn line(text: &mut String, line: fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}
