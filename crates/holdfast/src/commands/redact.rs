//! `holdfast redact`: a text without its secrets, for whoever is to store or send it elsewhere.
//!
//! A text is taken piece by piece, so its length does not matter. Nothing is printed before its end: a key at the end
//! refuses the beginning too. What is to be printed waits in memory, or in a file without a name when it grows; secrets
//! are gone from it by then.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use holdfast_api::{Redacted as Told, Redaction as Taken};
use holdfast_guard::{Guard, Looking, Redacted, Redaction};
use holdfast_screen::Rules;
use holdfast_types::Exit;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::console::Console;
use crate::house::{read_input, reading, writing};
use crate::places::Places;
use crate::problem::{CliError, Result};
use crate::settings::{self, Overlay};

/// Take secrets and personal data out of a text
///
/// Reads standard input where no file is given. The patterns of the home's configuration are used where there is one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A text with a key that cannot be cut out safely is not printed at all: the reason is on stderr and the exit code is 1.

JSON fields: text (empty when blocked), blocked, reason, redactions[] with type, start, end (bytes of what was read), \
method, confidence. With --batch each line is {\"id\", \"text\"}, the answer to it is a line with id and these fields, and \
the exit code is 0 also where some are blocked.")]
pub(crate) struct RedactArgs {
    /// The text; without it or with - standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// A file of JSON lines, each with id and text; - reads standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "file")]
    batch: Option<PathBuf>,

    /// What is taken out
    #[arg(long, value_enum, value_name = "WHAT", default_value = "everything")]
    looking: LookingFor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LookingFor {
    /// Keys, tokens, passwords, and what looks like one
    Secrets,
    /// Also mail addresses, phone numbers, cards and ids
    People,
    /// Also web addresses
    Everything,
}

impl From<LookingFor> for Looking {
    fn from(looking: LookingFor) -> Looking {
        match looking {
            LookingFor::Secrets => Looking::Secrets,
            LookingFor::People => Looking::SecretsAndPeople,
            LookingFor::Everything => Looking::Everything,
        }
    }
}

/// A text that is answered as JSON is held whole, and so is a line of a batch.
const WHOLE_MAX: u64 = 64 * 1024 * 1024;

/// How much of a text is read at once.
const PIECE: usize = 64 * 1024;

/// More than this of what is to be printed does not wait in memory.
const WAITING_MAX: usize = 8 * 1024 * 1024;

pub(crate) fn run(args: &RedactArgs, places: Option<&Places>, console: &mut Console) -> Result<Exit> {
    let rules = rules(places)?;
    let (guard, looking) = (rules.guard(), args.looking);
    let stdin = Path::new("-");
    match &args.batch {
        Some(path) => batch(guard, looking, path, console),
        None if console.is_json() => whole(guard, looking, args.file.as_deref().unwrap_or(stdin), console),
        None => text(guard, looking, args.file.as_deref().unwrap_or(stdin), console),
    }
}

/// A configuration that cannot be read is an error here: what it was to take out would stay in.
fn rules(places: Option<&Places>) -> Result<Arc<Rules>> {
    match places {
        Some(places) => {
            settings::rules(&settings::load(places, &Overlay::of_this_process(&[]))?.config.guard)
        }
        None => Ok(Arc::new(Rules::builtin())),
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(path).map_err(|e| reading(path, e))?))
}

fn text(guard: &Guard, looking: LookingFor, path: &Path, console: &mut Console) -> Result<Exit> {
    let mut input = open(path)?;
    let mut stream = guard.stream(looking.into());
    let mut waiting = tempfile::spooled_tempfile(WAITING_MAX);
    let aside = |e| writing(&std::env::temp_dir(), e);
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => waiting.write_all(&stream.push(&piece[..n])).map_err(aside)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(reading(path, e).into()),
        }
        if stream.is_blocked() {
            break;
        }
    }
    let end = stream.finish();
    if let Some(reason) = end.reason {
        console.warn(&format!("nothing is printed: {reason}"));
        return Ok(Exit::Negative);
    }
    waiting.rewind().map_err(aside)?;
    loop {
        match waiting.read(&mut piece).map_err(aside)? {
            0 => break,
            n => console.write(&piece[..n])?,
        }
    }
    console.write(&end.rest)?;
    Ok(Exit::Ok)
}

fn whole(guard: &Guard, looking: LookingFor, path: &Path, console: &mut Console) -> Result<Exit> {
    let bytes = read_input(path, WHOLE_MAX)?;
    let what = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(CliError::NotText { what }.into());
    };
    let told = redacted(guard, text, looking);
    let blocked = told.blocked;
    answer(None, told, console)?;
    Ok(if blocked { Exit::Negative } else { Exit::Ok })
}

fn batch(guard: &Guard, looking: LookingFor, path: &Path, console: &mut Console) -> Result<Exit> {
    let mut input = BufReader::with_capacity(PIECE, open(path)?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let read = (&mut input).take(WHOLE_MAX + 1).read_until(b'\n', &mut line);
        if read.map_err(|e| reading(path, e))? == 0 {
            break;
        }
        let wrong = |why: String| CliError::Input { what: format!("line {number} of the batch"), why };
        if line.len() as u64 > WHOLE_MAX {
            return Err(wrong(format!("it has more than {WHOLE_MAX} bytes")).into());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let asked = Asked::read(&line).map_err(wrong)?;
        answer(Some(asked.id), redacted(guard, &asked.text, looking), console)?;
    }
    Ok(Exit::Ok)
}

/// A line of a batch.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl Asked<'_> {
    /// What is wrong is said without repeating any of it.
    fn read(line: &[u8]) -> Result<Asked<'_>, String> {
        const FORM: &str = "it is not an object with an id and a text";
        let asked: Asked<'_> = serde_json::from_slice(line).map_err(|e| match e.classify() {
            serde_json::error::Category::Data => FORM.to_owned(),
            _ => format!("it is not JSON from byte {} on", e.column()),
        })?;
        match asked.id.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9') => Ok(asked),
            _ => Err("its id is neither a text nor a number".to_owned()),
        }
    }
}

/// One text's answer; of a batch with its id.
#[derive(Serialize)]
struct Answered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    told: Told,
}

/// A text without what was looked for.
pub(crate) fn redacted(guard: &Guard, text: &str, looking: LookingFor) -> Told {
    told(guard.redact_for(text, looking.into()))
}

fn told(redacted: Redacted) -> Told {
    let taken = |redaction: &Redaction| Taken {
        kind: redaction.kind.to_string(),
        start: redaction.span.start as u64,
        end: redaction.span.end as u64,
        method: redaction.method.as_str().to_owned(),
        confidence: redaction.confidence.as_fraction(),
    };
    let redactions = redacted.redactions.iter().map(taken).collect();
    Told { text: redacted.content, blocked: redacted.blocked, reason: redacted.reason, redactions }
}

fn answer(id: Option<&RawValue>, told: Told, console: &mut Console) -> Result<()> {
    // Texts and numbers always serialise.
    let line = serde_json::to_string(&Answered { id, told }).unwrap_or_default();
    console.line(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_none_is_told_apart_without_being_repeated() {
        for (line, said) in [
            ("{\"id\":1,\"text\":\"a\"", "not JSON from byte"),
            ("hunter2xyz", "not JSON from byte 1"),
            ("[1]", "not an object"),
            ("{\"id\":1}", "not an object"),
            ("{\"text\":\"a\"}", "not an object"),
            ("{\"id\":1,\"text\":7}", "not an object"),
            ("{\"id\":null,\"text\":\"a\"}", "neither a text nor a number"),
            ("{\"id\":[1],\"text\":\"a\"}", "neither a text nor a number"),
            ("{\"id\":1,\"id\":2,\"text\":\"a\"}", "not an object"),
        ] {
            let wrong = Asked::read(line.as_bytes()).err().unwrap();
            assert!(wrong.contains(said) && !wrong.contains("hunter2"), "{line}: {wrong}");
        }
        let asked = Asked::read(b"{\"id\":12345678901234567890.50,\"text\":\"\\u0061\",\"more\":1}").unwrap();
        assert_eq!((asked.id.get(), asked.text.as_ref()), ("12345678901234567890.50", "a"));
    }
}
