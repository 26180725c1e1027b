//! From what was seen to a report: what was accepted is taken out, the rest is put in order. Pure.

use holdfast_types::Timestamp;

use crate::baseline::Baseline;
use crate::found::{Found, Looked, Note, Report};
use crate::review::{Review, Standing};

/// What takes findings out of a report.
#[derive(Clone, Debug)]
pub(crate) struct Accepted<'a> {
    pub(crate) review: &'a Review,
    pub(crate) baseline: Baseline,
    pub(crate) today: jiff::civil::Date,
}

/// The day of a moment, in UTC: the same for everybody who reviews the list.
pub(crate) fn day(now: Timestamp) -> jiff::civil::Date {
    let text = now.to_string();
    text.get(..10).and_then(|day| day.parse().ok()).unwrap_or(jiff::civil::Date::MAX)
}

/// Everything that was seen, as one report. The order of what comes in makes no difference.
pub(crate) fn report(seen: Vec<Looked>, mut accepted: Accepted<'_>) -> Report {
    let mut report = Report::default();
    for looked in seen {
        report.files += u64::from(looked.was_looked_at());
        report.bytes += looked.bytes;
        report.allowed += looked.allowed;
        report.skipped.extend(looked.skipped);
        report.failed.extend(looked.failed);
        report.findings.extend(looked.findings);
    }
    report.findings.sort_by(|a, b| order(a).cmp(&order(b)));
    report.skipped.sort_by(|a, b| a.file.cmp(&b.file));
    report.failed.sort_by(|a, b| a.file.cmp(&b.file));
    let all = std::mem::take(&mut report.findings);
    for mut found in all {
        match accepted.review.standing(&found.fingerprint, &found.place, accepted.today) {
            Standing::Excepted => {
                report.excepted += 1;
                continue;
            }
            Standing::Expired { on } => found.note = Some(Note::ExceptionExpired { on }),
            Standing::NotListed => {}
        }
        if accepted.baseline.take(&found) {
            report.known += 1;
        } else {
            report.findings.push(found);
        }
    }
    report
}

fn order(found: &Found) -> (&str, u64, u64, &str, &Option<String>) {
    (&found.file, found.line, found.column, &found.rule, &found.commit)
}
