//! A series as people keep it: CSV with the columns `timestamp,value`.
//!
//! Read once, here. A row keeps its own words, so that what is written beside it says the same; its time becomes the
//! steady time detectors reckon with. Times are read in the forms people export: a date, a date with a time, with an
//! offset or without (then as UTC), a month, seconds or milliseconds since 1970, or plain numbers, which count as seconds.
//! Where no row has a time in such a form, the rows are taken as evenly spaced; where only some have not, that is an error.

use std::path::Path;
use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::sample::{Absent, Sample};

use super::StewardError;

/// A series longer than this is not looked at in one go.
pub(crate) const ROWS_MAX: usize = 5_000_000;
/// A file larger than this is not read.
pub(crate) const BYTES_MAX: u64 = 512 * 1024 * 1024;

const WEEK: i64 = 7 * 86_400_000;
/// Between rows whose times say nothing.
const EVEN: i64 = 60_000;
/// Plain numbers from here on are seconds, and from there on milliseconds since 1970.
const MILLIS_FROM: f64 = 1e11;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// As it stands in the file.
    pub(crate) stamp: String,
    pub(crate) text: String,
    pub(crate) at: Steady,
    pub(crate) value: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) rows: Vec<Row>,
    /// The times in the file say nothing, and rows are taken as evenly spaced.
    pub(crate) evenly: bool,
}

impl Series {
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Series, StewardError> {
        let wrong = |line: usize, why: String| StewardError::NotASeries { path: path.to_owned(), line, why };
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
            wrong(line, "it is not UTF-8 text".to_owned())
        })?;
        let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let mut columns = Columns::default();
        let mut raw: Vec<(usize, String, String)> = Vec::new();
        // The first line names the columns, or is a row already.
        if let Some((_, first)) = lines.find(|(_, line)| !line.trim().is_empty()) {
            match Columns::named(&fields(first)) {
                Named::Columns(named) => columns = named,
                Named::Row(stamp, value) => raw.push((1, stamp, value)),
                Named::Neither => {
                    let why = "the first line has no columns `timestamp` and `value`".to_owned();
                    return Err(wrong(1, why));
                }
            }
        }
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            if raw.len() == ROWS_MAX {
                return Err(wrong(index + 1, format!("a series has at most {ROWS_MAX} rows")));
            }
            let fields = fields(line);
            let (Some(stamp), Some(value)) = (fields.get(columns.stamp), fields.get(columns.value)) else {
                return Err(wrong(index + 1, "a row has a time and a value, and this has not".to_owned()));
            };
            raw.push((index + 1, stamp.clone(), value.clone()));
        }
        let (times, evenly) = times(&raw).map_err(|line| {
            let stamp = raw.iter().find(|(at, _, _)| *at == line).map_or("", |(_, stamp, _)| stamp);
            wrong(line, format!("{:?} is not a time in a form that is known", clipped(stamp)))
        })?;
        let first = times.iter().copied().min().unwrap_or(0);
        // Whole weeks are taken off, so that hours and weekdays stay what they are.
        let zero = first.div_euclid(WEEK) * WEEK;
        let mut rows = Vec::with_capacity(raw.len());
        for ((line, stamp, text), at) in raw.into_iter().zip(times) {
            let value = value_of(&text)
                .ok_or_else(|| wrong(line, format!("{:?} is not a number", clipped(&text))))?;
            rows.push(Row { stamp, text, at: Steady(at.abs_diff(zero)), value });
        }
        Ok(Series { rows, evenly })
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = Sample> {
        self.rows.iter().map(|row| match row.value {
            Some(value) => Sample::known(row.at, value),
            None => Sample::absent(row.at, Absent::NotSet),
        })
    }

    /// The usual time between two rows: the middle one of all.
    pub(crate) fn period(&self) -> Option<Duration> {
        let steps = self.rows.windows(2).filter_map(|pair| match pair {
            [before, after] if after.at > before.at => Some(after.at.since(before.at)),
            _ => None,
        });
        let mut steps: Vec<Duration> = steps.collect();
        let middle = steps.len() / 2;
        (!steps.is_empty()).then(|| *steps.select_nth_unstable(middle).1)
    }
}

#[derive(Clone, Copy, Debug)]
struct Columns {
    stamp: usize,
    value: usize,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { stamp: 0, value: 1 }
    }
}

enum Named {
    Columns(Columns),
    /// No names: a row of a file without them.
    Row(String, String),
    Neither,
}

impl Columns {
    fn named(fields: &[String]) -> Named {
        let place = |names: &[&str]| {
            fields.iter().position(|field| names.contains(&field.to_ascii_lowercase().as_str()))
        };
        if let (Some(stamp), Some(value)) = (place(&["timestamp", "time", "date"]), place(&["value"])) {
            return Named::Columns(Columns { stamp, value });
        }
        match fields {
            [stamp, value, ..] if value_of(value).is_some() && time_of(stamp).is_some() => {
                Named::Row(stamp.clone(), value.clone())
            }
            _ => Named::Neither,
        }
    }
}

/// The fields of a line. Quotes may stand around one; a quote within is doubled.
fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = match found.last_mut() {
            Some(field) => field,
            None => break,
        };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted || field.trim().is_empty() => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            c => field.push(c),
        }
    }
    for field in &mut found {
        if field.len() != field.trim().len() {
            *field = field.trim().to_owned();
        }
    }
    found
}

/// A number, or `Some(None)` for a value that is missing. Nothing for what is neither.
fn value_of(text: &str) -> Option<Option<f64>> {
    let missing = ["", "nan", "na", "n/a", "null", "none", "inf", "-inf", "+inf"];
    if missing.contains(&text.to_ascii_lowercase().as_str()) {
        return Some(None);
    }
    let value: f64 = text.parse().ok()?;
    Some(value.is_finite().then_some(value))
}

/// Milliseconds of every row, and whether they are made up. The line whose time cannot be read where others can.
fn times(raw: &[(usize, String, String)]) -> Result<(Vec<i64>, bool), usize> {
    let read: Vec<Option<i64>> = raw.iter().map(|(_, stamp, _)| time_of(stamp)).collect();
    if read.iter().all(Option::is_none) {
        return Ok((
            (0..raw.len()).map(|n| i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(EVEN)).collect(),
            !raw.is_empty(),
        ));
    }
    let known = raw.iter().zip(read).map(|((line, _, _), time)| time.ok_or(*line));
    Ok((known.collect::<Result<_, _>>()?, false))
}

/// Milliseconds since 1970, or since wherever plain numbers begin.
fn time_of(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<f64>() {
        let millis = if number.abs() >= MILLIS_FROM { number } else { number * 1000.0 };
        return (millis.is_finite() && millis.abs() < 1e15).then_some(millis as i64);
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.as_millisecond());
    }
    let of = |civil: jiff::civil::DateTime| {
        civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_millisecond())
    };
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return of(civil);
    }
    // A month: the first of it.
    let month = format!("{text}-01");
    month.parse::<jiff::civil::Date>().ok().and_then(|date| of(date.at(0, 0, 0, 0)))
}

fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Series, StewardError> {
        Series::parse(Path::new("a.csv"), text.as_bytes())
    }

    fn seconds(text: &str) -> Vec<u64> {
        let series = parsed(text).unwrap();
        let first = series.rows[0].at;
        series.rows.iter().map(|row| row.at.since(first).as_secs()).collect()
    }

    #[test]
    fn times_are_read_in_the_forms_people_export() {
        for (rows, wanted) in [
            ("2014-04-01 00:00:00,1\n2014-04-01 00:05:00,2", [0, 300]),
            ("2014-04-01T00:00:00Z,1\n2014-04-01T01:05:00+01:00,2", [0, 300]),
            ("2014-04-01,1\n2014-04-02,2", [0, 86_400]),
            ("1950-01,1\n1950-02,2", [0, 31 * 86_400]),
            ("1396310400,1\n1396310700,2", [0, 300]),
            ("1396310400000,1\n1396310700000,2", [0, 300]),
            ("1871,1\n1872,2", [0, 1]),
            ("-1.5,1\n0.5,2", [0, 2]),
            ("\"2014-04-01 00:00:00\",\"1\"\n 2014-04-01 00:05:00 , 2 ", [0, 300]),
        ] {
            assert_eq!(seconds(&format!("timestamp,value\n{rows}\n")), wanted, "{rows}");
            assert_eq!(seconds(rows), wanted, "without names: {rows}");
        }
    }

    #[test]
    fn columns_are_found_by_name_and_the_file_keeps_its_words() {
        let series = parsed(
            "\u{feff}Value,host,Timestamp\r\n1.50,a,2014-04-01\r\n,b,2014-04-02\r\nnan,c,2014-04-03\r\n",
        )
        .unwrap();
        let row = |n: usize| (&*series.rows[n].stamp, &*series.rows[n].text, series.rows[n].value);
        assert_eq!(series.rows.len(), 3);
        assert_eq!(row(0), ("2014-04-01", "1.50", Some(1.5)));
        assert_eq!((row(1).2, row(2).2), (None, None), "what is missing is no figure");
        assert_eq!(series.period(), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn hours_and_weekdays_stay_what_they_are() {
        let series = parsed("timestamp,value\n2014-04-01 06:00:00,1\n").unwrap();
        assert_eq!(series.rows[0].at.0 % 86_400_000, 6 * 3_600_000);
        let early = parsed("timestamp,value\n1871-01-01 06:00:00,1\n").unwrap();
        assert_eq!(early.rows[0].at.0 % 86_400_000, 6 * 3_600_000);
    }

    #[test]
    fn times_that_say_nothing_make_rows_evenly_spaced_and_one_that_does_not_fit_is_an_error() {
        let series = parsed("timestamp,value\nQ1,1\nQ2,2\n").unwrap();
        assert!(series.evenly);
        assert_eq!(series.period(), Some(Duration::from_secs(60)));
        for (text, line, says) in [
            ("timestamp,value\n2014-04-01,1\nlater,2\n", 3, "later"),
            ("timestamp,value\n2014-04-01,1\n\n2014-04-02,two\n", 4, "two"),
            ("timestamp,value\n2014-04-01\n", 2, "a time and a value"),
            ("when,how much\n1,2\n", 1, "no columns"),
        ] {
            let error = parsed(text).unwrap_err();
            let StewardError::NotASeries { line: at, why, .. } = &error else { panic!("{error}") };
            assert_eq!(*at, line, "{text:?}");
            assert!(why.contains(says), "{why}");
        }
        let error = Series::parse(Path::new("a.csv"), b"timestamp,value\n1,2\n\xff,3\n").unwrap_err();
        assert!(matches!(error, StewardError::NotASeries { line: 3, .. }), "{error}");
        assert_eq!(parsed("").unwrap().rows, []);
        assert_eq!(parsed("timestamp,value\n").unwrap().rows, []);
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_file_it_is_read_or_refused(text in "[ -~\n\"]{0,200}") {
            if let Ok(series) = parsed(&text) {
                prop_assert!(series.rows.iter().all(|row| row.value.is_none_or(f64::is_finite)));
            }
        }
    }
}
