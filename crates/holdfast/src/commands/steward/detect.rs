//! `holdfast steward detect`: what a detector makes of a series somebody has in a file.
//!
//! Needs no home, no daemon and no network. Scores are causal: what is said of a row rests on that row and those before it.
//! Change points are found with the whole series in view.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use holdfast_api::{ChangePoint, Detected, DetectedFinding};
use holdfast_plot::{Figure, Glyphs, Mark, Moment, Pixels, Point, Size, State, figure_lines, figure_svg};
use holdfast_steward::lookout::{Asked, Finding, Kind, Lookout, sentence};
use holdfast_steward::regime::{Regime, Wanted, What, regimes};
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::wrapped;
use crate::console::Console;
use crate::house::{read_input, writing};
use crate::look::{Shape, count, number, span};
use crate::problem::Result;
use crate::steward::{SERIES_BYTES_MAX, Series};

/// The plot in a terminal, in lines.
const PLOT_HEIGHT: usize = 14;
/// Wider plots are not read more easily.
const PLOT_WIDTH_MAX: usize = 120;
const PICTURE: Pixels = Pixels { width: 960, height: 360 };
/// Below this a finding may be chance.
const LIKELY: f64 = 0.7;
/// More findings than this are counted, not told one by one, unless they are asked for as JSON.
const TOLD_MAX: usize = 20;

/// Look for real change in a series: CSV with the columns timestamp and value
///
/// Without options it goes through the series as a watched host's metric would come in, and says what it noticed. Nothing is
/// stored, and no home is needed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast steward detect pressure.csv
  holdfast steward detect pressure.csv --scores scored.csv
  holdfast steward detect pressure.csv --change-points --json

JSON fields: file, samples, missing, evenly (the times say nothing, and rows count as evenly spaced), scores (the file \
written, or null), svg (likewise), findings[] with kind, direction, index, timestamp, began_index, began, before, now, sure, \
sentence; change_points[] with index, timestamp, what, level, before, sure (empty without --change-points).")]
pub(super) struct DetectArgs {
    /// The series; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write every row with its anomaly score, from 0 to 1, to this file
    #[arg(long, value_name = "OUT")]
    scores: Option<PathBuf>,

    /// Say where regimes begin, with the whole series in view
    #[arg(long)]
    change_points: bool,

    /// Draw the series and what was found in it as SVG to this file
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,

    /// How many days apart false alarms may be on average
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    false_alarm_days: u32,
}

pub(super) fn run(args: &DetectArgs, console: &mut Console) -> Result<Exit> {
    let bytes = read_input(&args.file, SERIES_BYTES_MAX)?;
    let series = Series::parse(&args.file, &bytes)?;
    drop(bytes);
    let asked = Wants::of(args);
    let seen = Seen::of(&series, asked);
    if let Some(path) = &args.scores {
        std::fs::write(path, seen.scored()).map_err(|e| writing(path, e))?;
    }
    if let Some(path) = &args.svg {
        std::fs::write(path, seen.picture(&args.file)).map_err(|e| writing(path, e))?;
    }
    if console.is_json() {
        console.json(&in_json(&seen, args))?;
    } else {
        seen.tell(args, console)?;
    }
    Ok(Exit::Ok)
}

/// What a person at the terminal is told: as the API says it, with the files that were read and written in place of what is in them.
fn in_json(seen: &Seen<'_>, args: &DetectArgs) -> Value {
    let mut told = serde_json::to_value(seen.told()).unwrap_or_default();
    told["file"] = json!(args.file);
    told["scores"] = json!(args.scores);
    told["svg"] = json!(args.svg);
    told
}

/// What is wanted of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) change_points: bool,
    pub(crate) scores: bool,
    pub(crate) false_alarm_days: u32,
}

impl Wants {
    fn of(args: &DetectArgs) -> Wants {
        let DetectArgs { scores, change_points, false_alarm_days, .. } = args;
        Wants { change_points: *change_points, scores: scores.is_some(), false_alarm_days: *false_alarm_days }
    }
}

/// A series, and what was made of it.
pub(crate) struct Seen<'s> {
    series: &'s Series,
    scores: Vec<f64>,
    /// Each with the row at which it was noticed.
    findings: Vec<(usize, Finding)>,
    regimes: Vec<Regime>,
}

impl Seen<'_> {
    pub(crate) fn of(series: &Series, wants: Wants) -> Seen<'_> {
        let mut seen = Seen { series, scores: Vec::new(), findings: Vec::new(), regimes: Vec::new() };
        if wants.change_points {
            let values: Vec<Option<f64>> = series.rows.iter().map(|row| row.value).collect();
            seen.regimes = regimes(&values, &Wanted::default());
        }
        // Whoever only asks where regimes begin is not told what a lookout would have said.
        if !wants.change_points || wants.scores {
            seen.look_out(wants.false_alarm_days);
        }
        seen
    }

    fn look_out(&mut self, false_alarm_days: u32) {
        let every = Duration::from_secs(u64::from(false_alarm_days) * 86_400);
        let mut lookout = Lookout::new(Asked { false_alarm_every: every, ..Asked::default() });
        for (index, row) in self.series.rows.iter().enumerate() {
            let judgement = lookout.step(row.at, row.value);
            self.scores.push(judgement.score);
            self.findings.extend(judgement.finding.map(|finding| (index, finding)));
        }
    }

    pub(crate) fn scores(&self) -> Vec<f64> {
        self.scores.clone()
    }

    pub(crate) fn picture(&self, file: &Path) -> String {
        figure_svg(&self.figure(file), PICTURE)
    }

    /// The rows as they were, each with its score.
    fn scored(&self) -> String {
        let mut out = String::from("timestamp,value,anomaly_score\n");
        for (row, score) in self.series.rows.iter().zip(&self.scores) {
            let _ = writeln!(out, "{},{},{score:.6}", field(&row.stamp), field(&row.text));
        }
        out
    }

    /// The row that stands for a moment: the first that is not earlier.
    fn row_at(&self, at: holdfast_lifeline::Steady, latest: usize) -> usize {
        self.series.rows[..latest].iter().position(|row| row.at >= at).unwrap_or(latest)
    }

    fn stamp(&self, index: usize) -> &str {
        self.series.rows.get(index).map_or("", |row| &row.stamp)
    }

    fn sentence(&self, index: usize, finding: &Finding) -> String {
        let began = self.row_at(finding.began, index);
        let moment = |at| self.stamp(if at == finding.began { began } else { index }).to_owned();
        sentence(finding, "The value", holdfast_plot::number, moment)
    }

    /// What was found, without scores and picture.
    pub(crate) fn told(&self) -> Detected {
        Detected {
            samples: self.series.rows.len() as u64,
            missing: self.missing() as u64,
            evenly: self.series.evenly,
            findings: self.findings.iter().map(|(index, finding)| self.finding(*index, finding)).collect(),
            change_points: self.regimes.windows(2).filter_map(|pair| self.change_point(pair)).collect(),
            scores: None,
            svg: None,
        }
    }

    fn finding(&self, index: usize, finding: &Finding) -> DetectedFinding {
        let began = self.row_at(finding.began, index);
        DetectedFinding {
            kind: word(&finding.kind),
            direction: finding.direction.as_ref().map(word),
            index: index as u64,
            timestamp: self.stamp(index).to_owned(),
            began_index: began as u64,
            began: self.stamp(began).to_owned(),
            before: finding.before,
            now: finding.now,
            sure: finding.sure,
            sentence: self.sentence(index, finding),
        }
    }

    fn change_point(&self, pair: &[Regime]) -> Option<ChangePoint> {
        let [before, regime] = pair else { return None };
        Some(ChangePoint {
            index: regime.begins as u64,
            timestamp: self.stamp(regime.begins).to_owned(),
            what: word(&regime.change),
            level: regime.level,
            before: before.level,
            sure: regime.sure,
        })
    }

    fn missing(&self) -> usize {
        self.series.rows.iter().filter(|row| row.value.is_none()).count()
    }

    fn tell(&self, args: &DetectArgs, console: &mut Console) -> Result<()> {
        console.line(&self.summary(&args.file))?;
        if self.series.evenly {
            console.note("its times are in no form that is known; rows count as a minute apart");
        }
        if console.out_is_terminal() && self.series.rows.len() > 1 {
            console.line("")?;
            let size = Size { width: console.width().min(PLOT_WIDTH_MAX), height: PLOT_HEIGHT };
            for line in figure_lines(&self.figure(&args.file), size, Glyphs::Unicode) {
                console.line(&console.out_style.line(&line))?;
            }
        }
        console.line("")?;
        if args.change_points {
            self.tell_regimes(console)?;
        }
        if !args.change_points || args.scores.is_some() {
            self.tell_findings(args, console)?;
        }
        Ok(())
    }

    /// `pressure.csv  4,032 samples, every 5 min, 2 missing`.
    fn summary(&self, file: &Path) -> String {
        let samples = count(self.series.rows.len() as u64, "sample", "samples");
        let mut parts = vec![samples];
        if let Some(period) = self.series.period().filter(|_| !self.series.evenly) {
            parts.push(format!("every {}", span(period.as_secs_f64())));
        }
        if self.missing() > 0 {
            parts.push(format!("{} missing", number(self.missing() as u64)));
        }
        format!("{}  {}", file.display(), parts.join(", "))
    }

    fn tell_findings(&self, args: &DetectArgs, console: &mut Console) -> Result<()> {
        for (index, finding) in self.findings.iter().take(TOLD_MAX) {
            // What may be chance is shown, and not as something that needs anybody.
            let shape = if finding.sure < LIKELY { Shape::Unknown } else { Shape::NeedsYou };
            let shape = console.out_style.shape(shape);
            let lines = wrapped(&self.sentence(*index, finding), console.width().saturating_sub(2));
            console.line(&format!("{shape} {}", lines.join("\n  ")))?;
        }
        let rest = self.findings.len().saturating_sub(TOLD_MAX);
        if rest > 0 {
            console.line(&format!("  and {} more; --json has them all", number(rest as u64)))?;
        }
        let asked = count(u64::from(args.false_alarm_days), "day", "days");
        let nothing = if self.findings.is_empty() { "nothing really changed" } else { "nothing else" };
        let shape = console.out_style.shape(Shape::Settled);
        console
            .line(&format!("{shape} {nothing}; noise alone would be called a change about once in {asked}"))
    }

    fn tell_regimes(&self, console: &mut Console) -> Result<()> {
        for pair in self.regimes.windows(2) {
            let [before, regime] = pair else { continue };
            let what = match regime.change {
                What::Slope => "its slope changed",
                What::Spread => "its spread changed",
                What::Cycle => "its round changed",
                What::First | What::Level => "its level changed",
            };
            let shape = console.out_style.shape(Shape::NeedsYou);
            let sentence = format!(
                "{}  row {}: {what}, from {} on average to {}",
                self.stamp(regime.begins),
                number(regime.begins as u64),
                holdfast_plot::number(before.level),
                holdfast_plot::number(regime.level),
            );
            let lines = wrapped(&sentence, console.width().saturating_sub(2));
            console.line(&format!("{shape} {}", lines.join("\n  ")))?;
        }
        if self.regimes.len() <= 1 {
            let shape = console.out_style.shape(Shape::Settled);
            console.line(&format!("{shape} one regime from beginning to end"))?;
        }
        Ok(())
    }

    fn figure(&self, file: &Path) -> Figure {
        let points = self
            .series
            .rows
            .iter()
            .map(|row| Point { at_ms: i64::try_from(row.at.0).unwrap_or(i64::MAX), value: row.value });
        let gap = self.series.period().map(|period| period.as_millis() as i64 * 5);
        let series =
            holdfast_plot::Series { name: "value".to_owned(), points: points.collect(), gap_after_ms: gap };
        let first = self.regimes.get(1).map(|regime| (regime.begins, "changed".to_owned()));
        let shift = |(_, finding): &&(usize, Finding)| matches!(finding.kind, Kind::Shift | Kind::Drift);
        let found = self.findings.iter().filter(shift).max_by(|(_, a), (_, b)| a.sure.total_cmp(&b.sure));
        let began = found.map(|(index, finding)| (self.row_at(finding.began, *index), "began".to_owned()));
        let mark = |(index, word): (usize, String)| {
            let row = self.series.rows.get(index)?;
            Some(Mark { at_ms: i64::try_from(row.at.0).unwrap_or(i64::MAX), word })
        };
        let moment = |at: usize, word: String| {
            let row = self.series.rows.get(at)?;
            let at_ms = i64::try_from(row.at.0).unwrap_or(i64::MAX);
            Some(Moment { at_ms, state: State::NeedsYou, word })
        };
        let noticed =
            self.findings.iter().filter_map(|(at, finding)| moment(*at, word_of(finding.kind).to_owned()));
        let changed = self.regimes.iter().skip(1).filter_map(|regime| moment(regime.begins, String::new()));
        Figure {
            title: file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            series: vec![series],
            began: first.or(began).and_then(mark),
            moments: noticed.chain(changed).take(TOLD_MAX).collect(),
            ..Figure::default()
        }
    }
}

/// As it is written down.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn word_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Spike => "spike",
        Kind::Shift => "shift",
        Kind::Drift => "drift",
        Kind::Spread => "spread",
        Kind::Cycle => "round",
        Kind::Missing => "missing",
    }
}

/// A field as CSV has it.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
