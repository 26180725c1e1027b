//! `holdfast steward calibrate`: how a metric usually behaves, for the plain detector.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use holdfast_api::{Calibrated, CalibrationTold};
use holdfast_control::PATIENCE;
use holdfast_journal::Draft;
use holdfast_steward::calibrate::{Calibration, Replaced, Wanted};
use holdfast_steward::sample::{Marked, Metric};
use holdfast_types::{Actor, Exit, Trust};
use serde_json::{Map, json};

use super::places;
use crate::ask::append;
use crate::console::Console;
use crate::house::{House, read_input, this_user};
use crate::kinds::{CALIBRATED, draft};
use crate::look::{Shape, number};
use crate::problem::Result;
use crate::steward::{CalibrationFile, Place, Series, StewardError, which};

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
    let CalibrateArgs { file, target, metric, false_alarm_days, dry_run } = args;
    let places = places(house)?;
    which(&places, target.as_deref())?;
    let bytes = read_input(file, crate::steward::SERIES_BYTES_MAX)?;
    let asked = Asked {
        target: target.as_deref(),
        metric,
        series: Series::parse(file, &bytes)?,
        false_alarm_days: *false_alarm_days,
        dry_run: *dry_run,
        by: this_user()?,
    };
    let told = calibrated(&places, house, asked, |draft| append(house, draft, PATIENCE, console))?;
    show(&told, console)
}

/// What is to be worked out, and by whom.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) target: Option<&'a str>,
    pub(crate) metric: &'a Metric,
    pub(crate) series: Series,
    pub(crate) false_alarm_days: u32,
    pub(crate) dry_run: bool,
    pub(crate) by: Actor,
}

/// Works it out and, unless it is a dry run, puts it in place and has it written down.
pub(crate) fn calibrated(
    places: &[Place],
    house: &House,
    asked: Asked<'_>,
    record: impl FnOnce(Draft) -> Result<u64>,
) -> Result<Calibrated> {
    let name = which(places, asked.target)?;
    let Some(place) = places.iter().find(|place| place.name.as_str() == name) else {
        return Err(StewardError::NoTargets.into());
    };
    let new = calibration(&asked)?;
    let file = CalibrationFile::of(&house.places.state, &place.name);
    let replaced = if asked.dry_run {
        let mut parameters = file.read()?;
        parameters.replace(asked.metric.clone(), new)
    } else {
        file.replace(asked.metric.clone(), new)?
    };
    let recorded_as = if asked.dry_run { None } else { Some(record(entry(&name, &replaced, asked.by)?)?) };
    Ok(Calibrated {
        target: name,
        metric: replaced.metric.to_string(),
        path: file.path().display().to_string(),
        recorded_as,
        dry_run: asked.dry_run,
        old: replaced.old.as_ref().map(told),
        new: told(&replaced.new),
    })
}

fn told(one: &Calibration) -> CalibrationTold {
    CalibrationTold {
        version: one.version(),
        mean: one.mean(),
        sigma: one.sigma(),
        k: one.k(),
        h: one.h(),
        shift: one.shift(),
        samples: one.samples(),
        resemblance: one.resemblance(),
    }
}

fn calibration(asked: &Asked<'_>) -> Result<Calibration, StewardError> {
    let Asked { series, metric, false_alarm_days, .. } = asked;
    let refused = |why: String| StewardError::NotCalibrated { why };
    let period = series.period().ok_or_else(|| refused("it takes at least two samples".to_owned()))?;
    let wanted = Wanted {
        false_alarm_every: Duration::from_secs(u64::from(*false_alarm_days) * 86_400),
        ..Wanted::usual(metric, period)
    };
    let found = Calibration::from_samples(series.samples(), &Marked::default(), &wanted);
    found.map_err(|refusal| refused(refusal.to_string()))
}

/// Old and new go into the journal.
fn entry(target: &str, replaced: &Replaced, by: Actor) -> Result<Draft> {
    let body = Map::from_iter([
        ("target".to_owned(), json!(target)),
        ("metric".to_owned(), json!(replaced.metric)),
        ("old".to_owned(), json!(replaced.old)),
        ("new".to_owned(), json!(replaced.new)),
    ]);
    Ok(draft(&CALIBRATED, by, Trust::Trusted, body)?)
}

fn show(told: &Calibrated, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        console.told_as_json(told)?;
        return Ok(Exit::Ok);
    }
    let Calibrated { target, metric, dry_run, old, new, .. } = told;
    let said = |one: &CalibrationTold| {
        let CalibrationTold { mean, sigma, k, h, samples, .. } = one;
        let samples = number(*samples);
        format!(
            "mean {mean:.4}, spread {sigma:.4}, allowance {k:.2}, threshold {h:.2} spreads, from {samples} samples"
        )
    };
    let shape = console.out_style.shape(Shape::Settled);
    let would = if *dry_run { "would be " } else { "" };
    console.line(&format!("{shape} {metric} of {target} {would}calibrated, version {}", new.version))?;
    console.line(&format!("  now     {}", said(new)))?;
    if let Some(old) = old {
        console.line(&format!("  before  {}", said(old)))?;
    }
    Ok(Exit::Ok)
}
