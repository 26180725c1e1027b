//! `holdfast steward calibrate`: how a metric usually behaves, for the plain detector.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use holdfast_control::PATIENCE;
use holdfast_steward::calibrate::{Calibration, Replaced, Wanted};
use holdfast_steward::sample::{Marked, Metric};
use holdfast_types::{Exit, Trust};
use serde_json::{Map, json};

use super::places;
use crate::ask::append;
use crate::console::Console;
use crate::house::{House, read_input, this_user};
use crate::kinds::{CALIBRATED, draft};
use crate::look::{Shape, number};
use crate::problem::Result;
use crate::steward::{CalibrationFile, Series, StewardError, which};

/// Work out the plain detector's mean, spread and threshold from a week of a metric
///
/// Takes at least seven days of samples and 80 % of them there. What comes of it takes the place of the earlier
/// calibration of that metric, and both go into the journal. A target with `detector: plain` notices nothing before; the
/// usual detector, `lookout`, learns by itself and needs none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  holdfast steward calibrate pressure.csv --target box-1 --metric psi_mem_some_avg60 --false-alarm-days 30

JSON fields: target, metric, path, recorded_as (the entry, null in a dry run), dry_run, old (the calibration before, or \
null), new with version, mean, sigma, k, h, shift, samples, resemblance.")]
pub(super) struct CalibrateArgs {
    /// CSV with the columns timestamp and value; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Of which target [default: the only one]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// Of which metric
    #[arg(long, value_name = "METRIC", default_value = "psi_mem_some_avg60")]
    metric: Metric,

    /// How many days apart false alarms may be on average
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    false_alarm_days: u32,

    /// Say what would come of it and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &CalibrateArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let places = places(house)?;
    let name = which(&places, args.target.as_deref())?;
    let Some(place) = places.iter().find(|place| place.name.as_str() == name) else {
        return Err(StewardError::NoTargets.into());
    };
    let bytes = read_input(&args.file, crate::steward::SERIES_BYTES_MAX)?;
    let series = Series::parse(&args.file, &bytes)?;
    let new = calibration(&series, args)?;
    let file = CalibrationFile::of(&house.places.state, &place.name);
    let replaced = if args.dry_run {
        let mut parameters = file.read()?;
        parameters.replace(args.metric.clone(), new)
    } else {
        file.replace(args.metric.clone(), new)?
    };
    let recorded = if args.dry_run { None } else { Some(record(&name, &replaced, house, console)?) };
    show(&name, &file, &replaced, recorded, args.dry_run, console)
}

fn calibration(series: &Series, args: &CalibrateArgs) -> Result<Calibration, StewardError> {
    let refused = |why: String| StewardError::NotCalibrated { why };
    let period = series.period().ok_or_else(|| refused("it takes at least two samples".to_owned()))?;
    let wanted = Wanted {
        false_alarm_every: Duration::from_secs(u64::from(args.false_alarm_days) * 86_400),
        ..Wanted::usual(&args.metric, period)
    };
    let found = Calibration::from_samples(series.samples(), &Marked::default(), &wanted);
    found.map_err(|refusal| refused(refusal.to_string()))
}

/// Old and new go into the journal, whoever has it open.
fn record(target: &str, replaced: &Replaced, house: &House, console: &Console) -> Result<u64> {
    let body = Map::from_iter([
        ("target".to_owned(), json!(target)),
        ("metric".to_owned(), json!(replaced.metric)),
        ("old".to_owned(), json!(replaced.old)),
        ("new".to_owned(), json!(replaced.new)),
    ]);
    append(house, draft(&CALIBRATED, this_user()?, Trust::Trusted, body)?, PATIENCE, console)
}

fn show(
    target: &str,
    file: &CalibrationFile,
    replaced: &Replaced,
    recorded: Option<u64>,
    dry_run: bool,
    console: &mut Console,
) -> Result<Exit> {
    let Replaced { metric, old, new } = replaced;
    if console.is_json() {
        console.json(&json!({
            "target": target,
            "metric": metric,
            "path": file.path(),
            "old": old,
            "new": new,
            "recorded_as": recorded,
            "dry_run": dry_run,
        }))?;
        return Ok(Exit::Ok);
    }
    let said = |one: &Calibration| {
        let samples = number(one.samples());
        format!(
            "mean {:.4}, spread {:.4}, allowance {:.2}, threshold {:.2} spreads, from {samples} samples",
            one.mean(),
            one.sigma(),
            one.k(),
            one.h()
        )
    };
    let shape = console.out_style.shape(Shape::Settled);
    let would = if dry_run { "would be " } else { "" };
    console.line(&format!("{shape} {metric} of {target} {would}calibrated, version {}", new.version()))?;
    console.line(&format!("  now     {}", said(new)))?;
    if let Some(old) = old {
        console.line(&format!("  before  {}", said(old)))?;
    }
    Ok(Exit::Ok)
}
