//! `holdfast steward report`: the look at the steward itself, drawn from the journal.

use clap::Args;
use holdfast_api::{Reports, StewardReport};
use holdfast_lifeline::{Now, Sound};
use holdfast_steward::Steward;
use holdfast_types::Exit;

use super::{places, records, written};
use crate::console::Console;
use crate::house::{House, now};
use crate::look::printable_lines;
use crate::problem::Result;
use crate::steward::{Place, which};

/// Review the steward's own work over the last 30 days, as Markdown
///
/// How often each gate passed and trials held, which settings were changed, and which bounds are pressed. From the journal
/// alone, with or without a daemon; days are the target's own.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward report --target box-1 > review.md

JSON fields: reports[] with target, markdown.")]
pub(super) struct ReportArgs {
    /// Only of this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

pub(super) fn run(args: &ReportArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let told = reports(house, places(house)?, args.target.as_deref())?;
    if console.is_json() {
        console.told_as_json(&told)?;
    } else {
        let text: Vec<String> = told.reports.into_iter().map(|report| report.markdown).collect();
        console.write(printable_lines(&text.join("\n")).as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// The review of one target of these, or of each.
pub(crate) fn reports(house: &House, mut places: Vec<Place>, target: Option<&str>) -> Result<Reports> {
    if let Some(name) = target {
        let name = which(&places, Some(name))?;
        places.retain(|place| place.name.as_str() == name);
    } else if places.is_empty() {
        which(&places, None)?;
    }
    let all = written(house)?;
    let report = |place: &Place| {
        let written =
            all.iter().find(|(target, _)| *target == place.name).map(|(_, written)| written.as_slice());
        let records = records(written.unwrap_or_default());
        let steady = records.last().map_or_else(Default::default, |record| record.at);
        let now = Now { steady, wall: now(), synced: false };
        let steward = Steward::replay(place.settings.clone(), &records, now, Sound::YES);
        // The journal does not hold what the target evaluates to, so no wider bound is drafted from it.
        let review = steward.review(None);
        StewardReport { target: review.target.to_string(), markdown: review.markdown() }
    };
    Ok(Reports { reports: places.iter().map(report).collect() })
}
