//! The time a question speaks of: "in May 2023", "on 3 July", "2023-07-03", "last month".

use holdfast_types::Timestamp;
use jiff::civil::Date;

use crate::traits::is_year;

/// What happened is told afterwards: entries up to this many days after the period still fit it. A week is how long people say
/// "last weekend"; shorter loses Sunday's call about Saturday a week ago, longer blurs two months into one.
const TOLD_WITHIN_DAYS: i64 = 7;

const MICROS_PER_DAY: i64 = 86_400_000_000;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A stretch of days, or a month of any year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// Days since 1970, both included.
    Days {
        first: i64,
        last: i64,
    },
    Month(i8),
}

impl Period {
    /// How well a moment fits, 0 to 1.
    pub(crate) fn fit(self, at: Timestamp) -> f64 {
        let day = at.as_micros().div_euclid(MICROS_PER_DAY);
        let fits = match self {
            Period::Days { first, last } => (first..=last + TOLD_WITHIN_DAYS).contains(&day),
            Period::Month(month) => {
                month_of(day) == Some(month) || month_of(day - TOLD_WITHIN_DAYS) == Some(month)
            }
        };
        f64::from(u8::from(fits))
    }
}

/// A word of the query as the search for dates needs it.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) lower: String,
    pub(crate) capitalised: bool,
}

/// The first period a query speaks of. A month goes with the first year anywhere in it.
pub(crate) fn period(tokens: &[Token], now: Option<Timestamp>) -> Option<Period> {
    let year = tokens.iter().find(|t| is_year(&t.lower)).and_then(|t| t.lower.parse::<i16>().ok());
    tokens
        .iter()
        .enumerate()
        .find_map(|(i, token)| {
            iso(&token.lower)
                .or_else(|| named_month(tokens, i, token, year))
                .or_else(|| relative(&token.lower, tokens.get(i + 1).map(|t| t.lower.as_str()), now?))
        })
        .or_else(|| whole_year(year?))
}

fn iso(word: &str) -> Option<Period> {
    let date: Date = (word.len() == 10).then(|| word.parse().ok()).flatten()?;
    Some(Period::Days { first: days(date), last: days(date) })
}

fn named_month(tokens: &[Token], i: usize, token: &Token, year: Option<i16>) -> Option<Period> {
    let index = MONTHS.iter().position(|name| *name == token.lower)?;
    // "may" and "march" are also other words; as months they are written large.
    if matches!(token.lower.as_str(), "may" | "march") && !token.capitalised {
        return None;
    }
    let month = i8::try_from(index + 1).ok()?;
    let Some(year) = year else { return Some(Period::Month(month)) };
    let before = i.checked_sub(1).and_then(|b| tokens.get(b));
    let day = before.and_then(|t| day_number(&t.lower)).or_else(|| day_number(&tokens.get(i + 1)?.lower));
    match day.and_then(|day| Date::new(year, month, day).ok()) {
        Some(date) => Some(Period::Days { first: days(date), last: days(date) }),
        None => whole_month(year, month),
    }
}

fn day_number(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn relative(word: &str, next: Option<&str>, now: Timestamp) -> Option<Period> {
    let today = now.as_micros().div_euclid(MICROS_PER_DAY);
    let date = civil(today)?;
    match (word, next) {
        ("today", _) => Some(Period::Days { first: today, last: today }),
        ("yesterday", _) => Some(Period::Days { first: today - 1, last: today - 1 }),
        ("this", Some("week")) => Some(Period::Days { first: today - 7, last: today }),
        ("last", Some("week")) => Some(Period::Days { first: today - 14, last: today - 7 }),
        ("this", Some("month")) => whole_month(date.year(), date.month()),
        ("last", Some("month")) if date.month() == 1 => whole_month(date.year() - 1, 12),
        ("last", Some("month")) => whole_month(date.year(), date.month() - 1),
        ("this", Some("year")) => whole_year(date.year()),
        ("last", Some("year")) => whole_year(date.year() - 1),
        _ => None,
    }
}

fn whole_month(year: i16, month: i8) -> Option<Period> {
    let first = Date::new(year, month, 1).ok()?;
    Some(Period::Days { first: days(first), last: days(first.last_of_month()) })
}

fn whole_year(year: i16) -> Option<Period> {
    let first = Date::new(year, 1, 1).ok()?;
    Some(Period::Days { first: days(first), last: days(first.last_of_year()) })
}

fn days(date: Date) -> i64 {
    date.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
}

fn month_of(day: i64) -> Option<i8> {
    civil(day).map(Date::month)
}

fn civil(day: i64) -> Option<Date> {
    let moment = jiff::Timestamp::from_microsecond(day.checked_mul(MICROS_PER_DAY)?).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::UTC).date())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::words;

    fn fits(question: &str, at: &str) -> Option<bool> {
        let tokens: Vec<Token> =
            words(question).map(|w| Token { lower: w.lower(), capitalised: w.is_capitalised() }).collect();
        let now = "2026-01-15T12:00:00.000000Z".parse().unwrap();
        period(&tokens, Some(now)).map(|p| p.fit(format!("{at}T10:00:00.000000Z").parse().unwrap()) > 0.0)
    }

    #[test]
    fn dates_of_every_form_fit_their_time_and_the_week_after() {
        for (question, inside, outside) in [
            ("What did she do in May 2023?", "2023-06-05", "2023-06-09"),
            ("What broke on 3 July, 2023?", "2023-07-10", "2023-07-02"),
            ("What broke on July 3rd 2023?", "2023-07-03", "2023-07-11"),
            ("incidents of 2023-07-03", "2023-07-04", "2023-07-12"),
            ("What was decided in 2022?", "2022-02-01", "2021-12-31"),
            ("What happened last month?", "2025-12-24", "2025-11-30"),
            ("what failed yesterday", "2026-01-14", "2026-01-13"),
            ("outages last year", "2025-03-01", "2024-12-31"),
        ] {
            assert_eq!(fits(question, inside), Some(true), "{question} {inside}");
            assert_eq!(fits(question, outside), Some(false), "{question} {outside}");
        }
    }

    #[test]
    fn a_month_without_a_year_fits_that_month_of_any_year() {
        assert_eq!(fits("the concert in August", "1999-08-20"), Some(true));
        assert_eq!(fits("the concert in August", "2020-09-06"), Some(true));
        assert_eq!(fits("the concert in August", "2020-10-06"), Some(false));
    }

    #[test]
    fn ordinary_words_are_no_dates() {
        for question in
            ["what may fail", "they march on", "port 5433", "version 3 of nginx", "the last restart", ""]
        {
            assert_eq!(fits(question, "2023-05-01"), None, "{question}");
        }
    }

    #[test]
    fn a_day_that_does_not_exist_falls_back_to_its_month() {
        assert_eq!(fits("on 31 June 2023", "2023-06-02"), Some(true));
    }
}
