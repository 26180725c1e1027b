//! What the API looks up or works out as a command would: each is the command's own function, told in the same form.

use std::path::Path;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::Duration;

use clap::ValueEnum as _;
use holdfast_api::{Calibrate, Detect, Detected, Doctor, Look, Mine, SettingsExample, Targets};
use holdfast_control::MemoryMined;
use holdfast_steward::sample::Metric;
use serde_json::Value;

use super::views::Views;
use crate::commands::redact::{self, LookingFor};
use crate::commands::steward::detect::{Seen, Wants};
use crate::commands::steward::{calibrate, history, report};
use crate::commands::target::{check, show};
use crate::commands::{config, disk, egress, model};
use crate::doctor::{Asked, CHECKS, LIMIT_SECONDS, Scene, round};
use crate::memory::model_folder;
use crate::problem::{CliError, Result};
use crate::steward::{Place, Series, StewardError, places_of};

/// What a series that somebody sent is called where it is told of.
const SENT: &str = "the series";

/// The answer, in the form the document promises.
pub(super) fn looked(views: &Views, look: Look) -> Result<serde_json::Result<Value>> {
    let office = &views.office;
    let (house, places) = (&office.house, &office.house.places);
    Ok(match look {
        Look::Doctor => serde_json::to_value(doctor(views)?),
        Look::Disk => serde_json::to_value(disk::budget(office.status()?.disk)),
        Look::Settings { changed } => {
            serde_json::to_value(config::in_force(&office.config(), house, changed))
        }
        Look::CheckSettings { text } => serde_json::to_value(config::would_be_taken(&text)?),
        Look::SettingsExample => {
            serde_json::to_value(SettingsExample { example: holdfast_config::example() })
        }
        Look::SettingsSchema => Ok(holdfast_config::schema()),
        Look::Egress { nft } => serde_json::to_value(egress::reachable(places, nft)?),
        Look::EgressCheck => serde_json::to_value(egress::kept(places)),
        Look::EgressRefusals => serde_json::to_value(egress::refusals_of(places)?),
        Look::Model => serde_json::to_value(model::described(&the_model(views))),
        Look::VerifyModel => serde_json::to_value(model::verified(&the_model(views))?),
        Look::Redact { text, looking } => {
            let rules = crate::settings::rules(&office.config().config.guard)?;
            serde_json::to_value(redact::redacted(rules.guard(), &text, looking_for(&looking)))
        }
        Look::Targets => serde_json::to_value(Targets { targets: show::taken_in(house, None)? }),
        Look::Target { name } => serde_json::to_value(show::taken_in(house, Some(&name))?.pop()),
        Look::CheckTarget { name } => {
            let _one = one_at_a_time(views)?;
            serde_json::to_value(check::checked(house, &name)?)
        }
        Look::History { target, limit } => {
            serde_json::to_value(history::applied(house, target.as_deref(), limit as usize)?)
        }
        Look::Report { target } => {
            serde_json::to_value(report::reports(house, targets(views), target.as_deref())?)
        }
        Look::Detect(asked) => serde_json::to_value(detected(&asked)?),
        Look::Calibrate(asked) => serde_json::to_value(calibrated(views, asked)?),
        Look::VerifyLog { every_signature } => {
            serde_json::to_value(office.verify_whole_journal(every_signature)?)
        }
        Look::Witnesses => serde_json::to_value(crate::audit::believed(house)?),
        Look::Mine(asked) => serde_json::to_value(mined(views, &asked)?),
    })
}

/// Of those that go elsewhere or take long, one goes on at a time.
fn one_at_a_time(views: &Views) -> Result<MutexGuard<'_, ()>> {
    match views.long_look.try_lock() {
        Ok(guard) => Ok(guard),
        // It guards no value.
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(CliError::AlreadyAtIt.into()),
    }
}

/// A round of checks for whoever asks. What the daemon keeps and tells of is its own rounds'.
fn doctor(views: &Views) -> Result<Doctor> {
    let office = &views.office;
    let asked = Asked::Answered(Box::new(office.status()?));
    let scene = Arc::new(Scene::new(&office.house, &office.overlay, office.clock.clone(), asked));
    let limit = office.config().config.health.timeout_seconds.min(LIMIT_SECONDS);
    Ok(round(&CHECKS, &scene, Duration::from_secs(u64::from(limit))).told())
}

fn the_model(views: &Views) -> std::path::PathBuf {
    let configured = views.office.config().config.memory.model.as_ref().map(|folder| folder.to_path_buf());
    model_folder(&views.office.house.places, configured)
}

/// The table has let no other word through.
fn looking_for(word: &str) -> LookingFor {
    LookingFor::from_str(word, false).unwrap_or(LookingFor::Everything)
}

/// The targets of the settings in force.
fn targets(views: &Views) -> Vec<Place> {
    let office = &views.office;
    places_of(&office.config().config.steward, office.journal.origin().as_str())
}

fn detected(asked: &Detect) -> Result<Detected> {
    let Detect { series, change_points, scores, svg, false_alarm_days } = asked;
    let series = Series::parse(Path::new(SENT), series)?;
    let wants = Wants { change_points: *change_points, scores: *scores, false_alarm_days: *false_alarm_days };
    let seen = Seen::of(&series, wants);
    Ok(Detected {
        scores: scores.then(|| seen.scores()),
        svg: svg.then(|| seen.picture(Path::new(SENT))),
        ..seen.told()
    })
}

fn calibrated(views: &Views, asked: Calibrate) -> Result<holdfast_api::Calibrated> {
    let Calibrate { target, metric, series, false_alarm_days, dry_run, actor } = asked;
    let wrong = |e: holdfast_steward::sample::MetricError| StewardError::NotCalibrated { why: e.to_string() };
    let metric: Metric = metric.parse().map_err(wrong)?;
    let places = targets(views);
    // Whether there is such a target comes before what was sent for it.
    crate::steward::which(&places, Some(&target))?;
    let asked = calibrate::Asked {
        target: Some(&target),
        metric: &metric,
        series: Series::parse(Path::new(SENT), &series)?,
        false_alarm_days,
        dry_run,
        by: actor,
    };
    let office = &views.office;
    calibrate::calibrated(&places, &office.house, asked, |draft| Ok(office.journal.append(&draft)?.seq))
}

/// What was sent is unpacked into a folder of its own, read, and gone with it.
fn mined(views: &Views, asked: &Mine) -> Result<MemoryMined> {
    let _one = one_at_a_time(views)?;
    let Mine { agent, name, bundle, commits, actor } = asked;
    views.office.mine_bundle(agent, name.as_deref(), bundle, *commits, actor)
}
