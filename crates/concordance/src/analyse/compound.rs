//! What stands together without a space, whole and in parts.
//!
//! ```text
//!  https://db-1.example.com:5432/notes/maxRetries      compound: joined by / \ : @
//!  https   db-1.example.com   5432  notes  maxRetries  units:    joined by . _ - '
//!          db 1 example com                            runs:     letters and digits
//!                                          max Retries humps:    by case, and where digits meet letters
//! ```
//!
//! The whole of names with `_` and `-` is written without them, so that `log_file`, `log-file`, `logFile` and `logfile` meet. Between two
//! digits a hyphen stays, and dots stay: 1.23 is not 12.3.

use super::{Place, Sink};

/// The runs of a compound, as ranges of the text; between two of them stands a joint.
#[derive(Debug, Default)]
pub(super) struct Compound {
    pub(super) runs: Vec<(usize, usize)>,
}

/// More humps are no name but noise: base64, hex.
const HUMPS_MAX: usize = 8;

/// Hex digits from which on a run is an id that people quote by its beginning.
const HEX_ID_LEN_MIN: usize = 12;

/// How long such beginnings usually are: git writes 7 or 8 digits, container engines 12.
const HEX_PREFIXES: [usize; 3] = [7, 8, 12];

pub(super) fn hand_out<F: FnMut(&str, Place)>(text: &str, found: &Compound, sink: &mut Sink<F>) {
    let units: Vec<&[(usize, usize)]> = found.runs.chunk_by(|a, b| is_tight(&text[a.1..b.0])).collect();
    if units.len() > 1 {
        sink.whole(&joined_units(text, &units));
    }
    units.into_iter().for_each(|runs| unit(text, runs, sink));
}

fn is_tight(joint: &str) -> bool {
    !joint.contains(['/', '\\', ':', '@'])
}

fn is_apostrophe(joint: &str) -> bool {
    matches!(joint, "'" | "’" | "‘" | "ʼ")
}

fn joined_units(text: &str, units: &[&[(usize, usize)]]) -> String {
    let mut whole = String::new();
    let mut before: Option<usize> = None;
    for runs in units {
        let (start, end) = (runs[0].0, runs[runs.len() - 1].1);
        if let Some(joint) = before.and_then(|end| text[end..start].chars().next()) {
            whole.push(if joint == '\\' { '/' } else { joint });
        }
        whole.push_str(&joined_runs(text, runs));
        before = Some(end);
    }
    whole
}

fn unit<F: FnMut(&str, Place)>(text: &str, runs: &[(usize, usize)], sink: &mut Sink<F>) {
    if let [(start, end)] = runs {
        return run(&text[*start..*end], sink);
    }
    let last = runs.len() - 1;
    let joint_before_last = &text[runs[last - 1].1..runs[last].0];
    if is_apostrophe(joint_before_last) && contraction(text, runs, sink) {
        return;
    }
    let whole = joined_runs(text, runs);
    if let Some(number) = version_number(&whole) {
        sink.whole(number);
    }
    sink.whole_word(&whole);
    runs.iter().for_each(|(start, end)| part(&text[*start..*end], sink));
    sink.moves = true;
}

/// "Caroline's" is Caroline, "they've" is they, "isn't" is "is not".
fn contraction<F: FnMut(&str, Place)>(text: &str, runs: &[(usize, usize)], sink: &mut Sink<F>) -> bool {
    let (start, end) = runs[runs.len() - 1];
    let front = &runs[..runs.len() - 1];
    let before = &text[front[front.len() - 1].0..front[front.len() - 1].1];
    match text[start..end].to_ascii_lowercase().as_str() {
        "s" | "ll" | "re" | "ve" | "d" | "m" => unit(text, front, sink),
        "t" if front.len() == 1 && before.len() > 1 && before.ends_with(['n', 'N']) => {
            match before.to_ascii_lowercase().as_str() {
                "can" => sink.word("can"),
                "won" => sink.word("will"),
                "shan" => sink.word("shall"),
                _ => sink.word(&before[..before.len() - 1]),
            }
            sink.word("not");
        }
        _ => return false,
    }
    true
}

fn joined_runs(text: &str, runs: &[(usize, usize)]) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut whole = text[runs[0].0..runs[0].1].to_owned();
    for pair in runs.windows(2) {
        let (end, next) = (pair[0].1, pair[1].0);
        let between_digits = digit(end - 1) && digit(next);
        match &text[end..next] {
            "." if !is_abbreviation(text, runs) => whole.push('.'),
            "-" if between_digits => whole.push('-'),
            _ => {}
        }
        whole.push_str(&text[next..pair[1].1]);
    }
    if whole.contains(',') { whole.replace(',', "") } else { whole }
}

/// U.S.A, e.g: single letters, written as one word.
fn is_abbreviation(text: &str, runs: &[(usize, usize)]) -> bool {
    runs.len() > 1
        && runs.iter().all(|(start, end)| end - start == 1 && text.as_bytes()[*start].is_ascii_alphabetic())
}

/// The number of `v1.2.3`, which is also written without its letter.
fn version_number(whole: &str) -> Option<&str> {
    let number = whole.strip_prefix(['v', 'V'])?;
    number.starts_with(|c: char| c.is_ascii_digit()).then_some(number)
}

/// A run that stands in a larger whole: a single letter in it is no word of its own.
fn part<F: FnMut(&str, Place)>(text: &str, sink: &mut Sink<F>) {
    if text.len() > 1 || text.as_bytes()[0].is_ascii_digit() {
        run(text, sink);
    }
}

fn run<F: FnMut(&str, Place)>(text: &str, sink: &mut Sink<F>) {
    if text.contains(',') {
        return sink.word(&text.replace(',', ""));
    }
    if is_hex_id(text) {
        HEX_PREFIXES.iter().filter(|len| **len < text.len()).for_each(|len| sink.whole(&text[..*len]));
        return sink.word(text);
    }
    let humps = humps(text);
    if humps.len() < 2 || humps.len() > HUMPS_MAX {
        return sink.word(text);
    }
    sink.whole_word(text);
    let worth = |hump: &&&str| hump.len() > 1 || hump.as_bytes()[0].is_ascii_digit();
    humps.iter().filter(worth).for_each(|hump| sink.word(hump));
    sink.moves = true;
}

fn is_hex_id(text: &str) -> bool {
    text.len() >= HEX_ID_LEN_MIN
        && text.bytes().all(|b| b.is_ascii_hexdigit())
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
}

fn kind_of(c: char) -> Kind {
    if c.is_numeric() {
        Kind::Digit
    } else if c.is_uppercase() {
        Kind::Upper
    } else {
        Kind::Lower
    }
}

/// `HTTPServer` is HTTP and Server, `maxRetries2` is max, Retries and 2.
fn humps(text: &str) -> Vec<&str> {
    let mut humps = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().map(|(at, c)| (at, kind_of(c))).peekable();
    let Some((_, mut before)) = chars.next() else { return humps };
    while let Some((at, kind)) = chars.next() {
        let next = chars.peek().map(|(_, kind)| *kind);
        let begins = match (before, kind) {
            (Kind::Digit, Kind::Digit) | (Kind::Upper | Kind::Lower, Kind::Lower) => false,
            (Kind::Upper, Kind::Upper) => next == Some(Kind::Lower),
            _ => true,
        };
        if begins {
            humps.push(&text[start..at]);
            start = at;
            // Noise of letters and digits has as many humps as characters; whoever asks wants no list of them.
            if humps.len() > HUMPS_MAX {
                break;
            }
        }
        before = kind;
    }
    humps.push(&text[start..]);
    humps
}
