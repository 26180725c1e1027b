//! What detectors make of a series that somebody sends.

use super::{Asked, DRY_RUN, looked};
use crate::call::{Calibrate, Detect, Look};
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, CSV, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule};
use crate::told::{Calibrated, Detected};
use crate::{shape, show};

/// A year of samples every five minutes, twice over. What is longer is looked at on the machine.
const SERIES_MAX: usize = 4 * 1024 * 1024;

const SERIES: Body = Body::Raw {
    media_type: CSV,
    most: SERIES_MAX,
    example: "timestamp,value\n2026-11-18 08:00:00,1.5\n2026-11-18 08:05:00,1.4\n2026-11-18 08:10:00,1.6\n",
};

const FALSE_ALARM_DAYS: Field = Field::otherwise(
    "false_alarm_days",
    Rule::Whole { least: 1, most: 3_650 },
    "How many days apart false alarms may be on average.",
    "30",
);

const CHANGE_POINTS: Field = Field::otherwise(
    "change_points",
    Rule::Flag,
    "Say where regimes begin, with the whole series in view, instead of what a lookout would have said.",
    "false",
);

const SCORES: Field =
    Field::otherwise("scores", Rule::Flag, "Also the anomaly score of every row, from 0 to 1.", "false");

const SVG: Field = Field::otherwise("svg", Rule::Flag, "Also a picture of it.", "false");

const TARGET: Field =
    Field::required("target", Rule::Text(&shape::TARGET), "The target's name.", r#""web-1""#);

const METRIC: Field =
    Field::otherwise("metric", Rule::Text(&shape::METRIC), "Of which metric.", r#""psi_mem_some_avg60""#);

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "series.detect",
        verb: Verb::Post,
        path: "/api/v1/series/detect",
        summary: "Look for real change in a series",
        description: "CSV with the columns timestamp and value. Scores and findings rest on each row and those before it alone. Nothing is stored.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[CHANGE_POINTS, SCORES, SVG, FALSE_ALARM_DAYS],
        body: SERIES,
        reply: ReplyForm::of::<Detected>(),
        errors: &[422],
        changes: false,
        build: |given, _| {
            looked(Look::Detect(Detect {
                series: given.raw.clone(),
                change_points: given.flag("change_points"),
                scores: given.flag("scores"),
                svg: given.flag("svg"),
                false_alarm_days: given.small("false_alarm_days")?,
            }))
        },
        show: show::elsewhere,
    },
    Route {
        id: "series.calibrate",
        verb: Verb::Post,
        path: "/api/v1/hosts/{target}/calibrate",
        summary: "Tell the plain detector how a metric usually behaves",
        description: "CSV with the columns timestamp and value, at least seven days of it and 80 % of them there. What comes of it takes the place of the earlier \
                      calibration, and both go into the log. The usual detector learns by itself and needs none.",
        least: Role::Operator,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        within: &[TARGET],
        query: &[METRIC, FALSE_ALARM_DAYS, DRY_RUN],
        body: SERIES,
        reply: ReplyForm::of::<Calibrated>(),
        errors: &[404, 409, 422],
        changes: true,
        build: calibrate,
        show: show::elsewhere,
    },
];

fn calibrate(given: &crate::given::Given, actor: &holdfast_types::Actor) -> Asked {
    looked(Look::Calibrate(Calibrate {
        target: given.text("target")?,
        metric: given.text("metric")?,
        series: given.raw.clone(),
        false_alarm_days: given.small("false_alarm_days")?,
        dry_run: given.flag("dry_run"),
        actor: actor.clone(),
    }))
}
