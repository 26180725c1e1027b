//! The scoring rule of the Numenta Anomaly Benchmark, from its published definition (Lavin and Ahmad, "Evaluating
//! Real-time Anomaly Detection Algorithms", 2015): windows around each anomaly, more for finding it early in the window,
//! a price for every alarm outside, and one threshold for the whole corpus.
//!
//! The first rows of a series are for learning and not scored. Within a window only the best-placed, hence earliest,
//! alarm counts. An alarm outside costs more the further it lies behind the window before it. The result is scaled so
//! that a detector that never alarms has 0 and a perfect one 100.

use std::collections::BTreeMap;

/// The share of a series that is for learning, and the length from which on that is fixed.
const PROBATION_SHARE: f64 = 0.15;
const PROBATION_LENGTH_MAX: f64 = 5000.0;

/// Alarms this many window lengths behind a window cost in full.
const FAR_BEHIND: f64 = 3.0;

/// What an alarm in a window brings, an alarm outside costs, and a window missed costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    pub name: &'static str,
    pub found: f64,
    pub false_alarm: f64,
    pub missed: f64,
}

/// The three profiles of the benchmark.
pub const PROFILES: [Profile; 3] = [
    Profile { name: "standard", found: 1.0, false_alarm: 0.11, missed: 1.0 },
    Profile { name: "reward low false alarms", found: 1.0, false_alarm: 0.22, missed: 1.0 },
    Profile { name: "reward low misses", found: 1.0, false_alarm: 0.11, missed: 2.0 },
];

/// A series with the windows its anomalies lie in, as first and last row.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub rows: Vec<Row>,
    pub windows: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Milliseconds since the beginning of 1970, in the local time of the series.
    pub at: u64,
    pub value: f64,
}

/// The windows of each series, as the benchmark's JSON file gives them: name to pairs of timestamps.
pub type Windows = BTreeMap<String, Vec<(String, String)>>;

impl Series {
    /// From CSV text of `timestamp,value` and its windows. Lines that are no row, the heading among them, are left out.
    pub fn parse(name: &str, csv: &str, windows: &[(String, String)]) -> Series {
        let rows: Vec<Row> = csv.lines().filter_map(parse_row).collect();
        let windows = windows
            .iter()
            .filter_map(|(first, last)| {
                let (first, last) = (parse_timestamp(first)?, parse_timestamp(last)?);
                let begin = rows.iter().position(|row| row.at >= first)?;
                let end = rows.iter().rposition(|row| row.at <= last)?;
                (begin <= end).then_some((begin, end))
            })
            .collect();
        Series { name: name.to_owned(), rows, windows }
    }

    /// How many rows are for learning.
    pub fn probation(&self) -> usize {
        ((self.rows.len() as f64).min(PROBATION_LENGTH_MAX) * PROBATION_SHARE) as usize
    }

    /// The scores a detector gives to each row in turn.
    pub fn scores(&self, mut detector: impl FnMut(u64, f64) -> f64) -> Vec<f64> {
        self.rows.iter().map(|row| detector(row.at, row.value)).collect()
    }
}

fn parse_row(line: &str) -> Option<Row> {
    let (at, value) = line.split_once(',')?;
    Some(Row { at: parse_timestamp(at)?, value: value.trim().parse().ok()? })
}

/// `2014-04-10 07:15:00`, with or without a fraction, as milliseconds since 1970.
fn parse_timestamp(text: &str) -> Option<u64> {
    let (date, time) = text.trim().split_once([' ', 'T'])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let days = u64::try_from(days_since_1970(year, month, day)).ok()?;
    Some(days * 86_400_000 + ((hour * 60.0 + minute) * 60_000.0 + second * 1000.0) as u64)
}

/// Counted in years that begin in March, so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// How well a detector did on a corpus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Scaled: 0 for no alarm at all, 100 for perfection.
    pub score: f64,
    pub threshold: f64,
    pub windows: usize,
    pub found: usize,
    /// Rows outside windows that were alarmed at.
    pub false_alarms: usize,
}

/// The best outcome over all thresholds, with one threshold for all series. Each series comes with a score per row.
pub fn best(corpus: &[(&Series, &[f64])], profile: &Profile) -> Outcome {
    let (mut rows, windows) = scored_rows(corpus, profile);
    rows.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut tally = Tally::new(windows, profile);
    let mut best = tally.outcome(f64::INFINITY);
    let mut rest = rows.as_slice();
    while let Some(next) = rest.first() {
        let same = rest.iter().take_while(|row| row.score == next.score).count();
        for row in &rest[..same] {
            tally.alarm(row);
        }
        let outcome = tally.outcome(next.score);
        if outcome.score > best.score {
            best = outcome;
        }
        rest = &rest[same..];
    }
    best
}

/// The outcome at a threshold chosen elsewhere.
pub fn at_threshold(corpus: &[(&Series, &[f64])], profile: &Profile, threshold: f64) -> Outcome {
    let (rows, windows) = scored_rows(corpus, profile);
    let mut tally = Tally::new(windows, profile);
    for row in rows.iter().filter(|row| row.score >= threshold) {
        tally.alarm(row);
    }
    tally.outcome(threshold)
}

/// A row that counts: its score by the detector, and what an alarm there is worth.
struct Scored {
    score: f64,
    worth: f64,
    window: Option<usize>,
}

fn scored_rows(corpus: &[(&Series, &[f64])], profile: &Profile) -> (Vec<Scored>, usize) {
    let (mut rows, mut windows) = (Vec::new(), 0);
    for (series, scores) in corpus {
        for (index, &score) in scores.iter().enumerate().skip(series.probation()) {
            let inside = series.windows.iter().position(|&(first, last)| (first..=last).contains(&index));
            let worth = match inside {
                Some(window) => worth_inside(series.windows[window], index) * profile.found,
                None => worth_outside(&series.windows, index) * profile.false_alarm,
            };
            rows.push(Scored { score, worth, window: inside.map(|window| windows + window) });
        }
        windows += series.windows.len();
    }
    (rows, windows)
}

fn worth_inside((first, last): (usize, usize), index: usize) -> f64 {
    let width = (last - first + 1) as f64;
    sigmoid(-((last - index + 1) as f64) / width) / sigmoid(-1.0)
}

fn worth_outside(windows: &[(usize, usize)], index: usize) -> f64 {
    match windows.iter().rfind(|&&(_, last)| last < index) {
        None => -1.0,
        Some(&(first, last)) => {
            let behind = (index - last) as f64 / ((last - first) as f64).max(1.0);
            if behind >= FAR_BEHIND { -1.0 } else { sigmoid(behind) }
        }
    }
}

/// From nearly 1 at the left edge of a window (−1) over 0 at its right edge to nearly −1 one length behind it.
fn sigmoid(position: f64) -> f64 {
    2.0 / (1.0 + (5.0 * position).exp()) - 1.0
}

struct Tally<'a> {
    profile: &'a Profile,
    windows: Vec<Option<f64>>,
    false_alarm_worth: f64,
    false_alarms: usize,
}

impl<'a> Tally<'a> {
    fn new(windows: usize, profile: &'a Profile) -> Tally<'a> {
        Tally { profile, windows: vec![None; windows], false_alarm_worth: 0.0, false_alarms: 0 }
    }

    fn alarm(&mut self, row: &Scored) {
        match row.window {
            Some(window) => {
                let best = &mut self.windows[window];
                *best = Some(best.map_or(row.worth, |known| known.max(row.worth)));
            }
            None => {
                self.false_alarm_worth += row.worth;
                self.false_alarms += 1;
            }
        }
    }

    fn outcome(&self, threshold: f64) -> Outcome {
        let windows = self.windows.len() as f64;
        let inside: f64 = self.windows.iter().map(|worth| worth.unwrap_or(-self.profile.missed)).sum();
        let (nothing, perfect) = (-windows * self.profile.missed, windows * self.profile.found);
        let score = if self.windows.is_empty() {
            0.0
        } else {
            100.0 * (inside + self.false_alarm_worth - nothing) / (perfect - nothing)
        };
        let found = self.windows.iter().flatten().count();
        Outcome { score, threshold, windows: self.windows.len(), found, false_alarms: self.false_alarms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand rows of which 150 are for learning, and a window from row 400 to 499.
    fn series() -> Series {
        let rows = (0..1000).map(|index| Row { at: index * 300_000, value: 0.0 }).collect();
        Series { name: "made".to_owned(), rows, windows: vec![(400, 499)] }
    }

    fn outcome(alarms: &[usize], profile: &Profile) -> Outcome {
        let series = series();
        let scores: Vec<f64> =
            (0..series.rows.len()).map(|index| if alarms.contains(&index) { 1.0 } else { 0.0 }).collect();
        at_threshold(&[(&series, &scores)], profile, 0.5)
    }

    fn check(alarms: &[usize], wanted: f64) {
        let found = outcome(alarms, &PROFILES[0]).score;
        assert!((found - wanted).abs() < 0.01, "{alarms:?}: {found}");
    }

    #[test]
    fn alarms_are_worth_what_the_benchmark_says() {
        check(&[], 0.0);
        check(&[400], 100.0);
        // Later in the window is worth less: half-way the sigmoid is at 0.848 of 0.987.
        check(&[450], 50.0 * (1.0 + 0.848_28 / 0.986_61));
        // Only the best-placed alarm counts.
        check(&[400, 420, 450], 100.0);
        // Outside, each alarm costs; before any window in full.
        check(&[300], -5.5);
        check(&[300, 310, 900], -16.5);
        // Shortly behind the window less: (505 - 499) / 99 of a window.
        check(&[400, 505], 100.0 - 5.5 * 0.150_3);
        // What is for learning costs nothing.
        check(&[0, 10, 149], 0.0);
    }

    #[test]
    fn profiles_weigh_misses_and_false_alarms_differently() {
        assert!((outcome(&[300], &PROFILES[1]).score + 11.0).abs() < 1e-9);
        assert!((outcome(&[300], &PROFILES[2]).score + 100.0 * 0.11 / 3.0).abs() < 1e-9);
        assert_eq!(outcome(&[400], &PROFILES[2]).score, 100.0);
    }

    #[test]
    fn the_best_threshold_is_one_for_all_series() {
        let series = series();
        let mut high = vec![0.1; 1000];
        high[400] = 0.9;
        let mut low = vec![0.1; 1000];
        (low[400], low[200]) = (0.5, 0.6);
        let best = best(&[(&series, &high), (&series, &low)], &PROFILES[0]);
        assert_eq!((best.threshold, best.found, best.false_alarms), (0.5, 2, 1));
        assert!((best.score - (100.0 - 5.5 / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn a_detector_that_says_nothing_or_everything_gains_nothing() {
        let series = series();
        assert_eq!(best(&[(&series, &[0.5; 1000])], &PROFILES[0]).score, 0.0);
    }

    #[test]
    fn a_file_is_read_with_its_windows() {
        let csv = "timestamp,value\n2014-02-28 23:55:00,1.5\n2014-03-01 00:00:00,2\nnonsense\n";
        let window = ("2014-03-01 00:00:00.000000".to_owned(), "2014-03-01 00:05:00.000000".to_owned());
        let series = Series::parse("file", csv, &[window]);
        let rows = [Row { at: 1_393_631_700_000, value: 1.5 }, Row { at: 1_393_632_000_000, value: 2.0 }];
        assert_eq!(series.rows, rows);
        assert_eq!(series.windows, [(1, 1)]);
    }
}
