//! `holdfast support-bundle`: what somebody needs who is to help, without what is nobody's business.
//!
//! No bodies, no sealed texts, no keys, no values of secrets; every line goes through the same rules as the journal,
//! people and addresses are taken out as well, and the owner's paths and host name are replaced. The list of what is in it comes with it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use holdfast_durable::{Mode, create};
use holdfast_journal::SystemClock;
use holdfast_screen::Rules;
use holdfast_types::Exit;
use serde_json::{Value, json};

use super::status;
use crate::console::Console;
use crate::doctor::{Asked, CHECKS, Scene, round};
use crate::house::{House, writing};
use crate::look::{Shape, bytes, table};
use crate::problem::{CliError, Failure, Result};
use crate::settings::{self, Overlay};

/// Entries whose envelopes are shown.
const ENTRIES: u64 = 500;

/// How much of a log's end is shown.
const TAIL: u64 = 64 * 1024;

/// Write a redacted bundle for whoever is to help
///
/// Lists what is in it, before and inside. Holds no bodies of entries, no sealed texts, no keys and no secrets.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: out, files[] with name, bytes, what; redactions, dry_run.")]
pub(crate) struct BundleArgs {
    /// The file to write: a .tar.gz that is not there yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// List what would be in it and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// One file of the bundle.
struct Item {
    name: &'static str,
    what: &'static str,
    text: String,
}

pub(crate) fn run(args: &BundleArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if args.out.symlink_metadata().is_ok() {
        return Err(CliError::OutExists { path: args.out.clone() }.into());
    }
    let redactor = Redactor::new(house);
    let mut redactions = 0;
    let items: Vec<Item> = gather(house)
        .into_iter()
        .map(|item| {
            let (text, count) = redactor.redact(&item.text);
            redactions += count;
            Item { text, ..item }
        })
        .collect();
    if !args.dry_run {
        write(&args.out, &items)?;
    }
    if console.is_json() {
        let files: Vec<Value> =
            items.iter().map(|i| json!({"name": i.name, "bytes": i.text.len(), "what": i.what})).collect();
        console.json(
            &json!({"out": args.out, "files": files, "redactions": redactions, "dry_run": args.dry_run}),
        )?;
        return Ok(Exit::Ok);
    }
    let row = |i: &Item| (i.name.to_owned(), format!("{:>10}  {}", bytes(i.text.len() as u64), i.what));
    let text = table(&items.iter().map(row).collect::<Vec<_>>(), console.out_style);
    console.write(text.as_bytes())?;
    let (shape, word) = if args.dry_run {
        (Shape::Unknown, "would be in it; nothing was written".to_owned())
    } else {
        (Shape::Settled, format!("written to {}; look inside before you pass it on", args.out.display()))
    };
    let mark = console.out_style.shape(shape);
    console.line(&format!("\n{mark} {word} ({redactions} lines redacted)"))?;
    Ok(Exit::Ok)
}

fn gather(house: &House) -> Vec<Item> {
    let overlay = Overlay::of_this_process(&[]);
    let item = |name, what, text| Item { name, what, text };
    let mut items = vec![
        item("version.json", "program, kernel, memory, processors", pretty(&machine())),
        item("status.json", "as `holdfast status --json`", said(shown_status(house))),
        item("doctor.json", "as `holdfast doctor --json`", pretty(&checked(house, &overlay))),
        item("settings.txt", "every setting and what set it; secrets only by name", shown(house, &overlay)),
        item(
            "entries.jsonl",
            "the last entries without their bodies; people under other names",
            envelopes(house),
        ),
        item("health.jsonl", "the end of the log of health checks", tail(&house.places.health_log())),
    ];
    let list: String = items.iter().map(|i| format!("{:<14}{}\n", i.name, i.what)).collect();
    let text = format!(
        "A support bundle of Holdfast. It holds what is listed here and nothing else: no bodies of entries, no\n\
         sealed texts, no keys, no values of secrets. Paths of the owner and the host's name were replaced.\n\n{list}"
    );
    items.insert(0, item("README.txt", "this list", text));
    items
}

fn machine() -> Value {
    let kernel = rustix::system::uname();
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    json!({
        "holdfast": env!("CARGO_PKG_VERSION"),
        "kernel": kernel.release().to_string_lossy(),
        "machine": kernel.machine().to_string_lossy(),
        "memory": memory.lines().next().unwrap_or_default(),
        "processors": std::thread::available_parallelism().map_or(0, usize::from),
    })
}

fn checked(house: &House, overlay: &Overlay) -> Value {
    let clock = Arc::new(SystemClock::new());
    let scene = Scene::new(house, overlay, clock, Asked::Later(Mutex::default()));
    let found = round(&CHECKS, &Arc::new(scene), Duration::from_secs(30));
    serde_json::to_value(found.told()).unwrap_or_default()
}

fn shown(house: &House, overlay: &Overlay) -> String {
    match settings::load(&house.places, overlay) {
        Ok(loaded) => {
            loaded.rows().iter().map(|r| format!("{} = {}  ({})\n", r.path, r.value, r.layer)).collect()
        }
        Err(e) => e.diagnostics().map_or_else(|| e.problem().what, |d| d.render()),
    }
}

/// Who did what and when, without what was said.
fn envelopes(house: &House) -> String {
    let read = || -> Result<String> {
        let view = house.view(&Default::default())?;
        let from = view.size()?.saturating_sub(ENTRIES).max(view.oldest_here()?);
        let mut out = String::new();
        let mut people = People::default();
        for raw in view.entries(from) {
            let entry = raw?.parse()?;
            let actor = people.stand_in(entry.actor.as_str());
            let line = json!({"seq": entry.seq, "v": entry.version, "at": entry.at, "kind": entry.kind,
                "actor": actor, "trust": entry.trust, "cause": entry.cause});
            out.push_str(&format!("{line}\n"));
        }
        Ok(out)
    };
    read().unwrap_or_else(|e| trouble(&e))
}

/// Who wrote an entry is nobody's business either; that it was the same one as before may matter.
#[derive(Default)]
struct People(Vec<String>);

impl People {
    fn stand_in(&mut self, actor: &str) -> String {
        // The product's own names and bare numbers of users say nothing about anybody.
        if actor.starts_with("holdfast") || actor.starts_with("uid:") {
            return actor.to_owned();
        }
        let at = self.0.iter().position(|known| known == actor).unwrap_or_else(|| {
            self.0.push(actor.to_owned());
            self.0.len() - 1
        });
        format!("actor-{}", at + 1)
    }
}

/// The status without who paused it and what they said about it.
fn shown_status(house: &House) -> Result<Value> {
    let mut status = status::look(house)?;
    status.pause.by = None;
    status.pause.reason = status.pause.reason.map(|_| "[withheld]".to_owned());
    serde_json::to_value(status).map_err(|e| CliError::Usage { message: e.to_string() }.into())
}

fn tail(path: &Path) -> String {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_else(|e| format!("not read: {e}\n"))
}

fn said(value: Result<Value>) -> String {
    value.map_or_else(|e| trouble(&e), |value| pretty(&value))
}

fn trouble(e: &Failure) -> String {
    match e {
        Failure::Problem(problem) => format!("{} {}\n", problem.code, problem.what),
        Failure::ReaderLeft => "not read\n".to_owned(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Takes out what is nobody's business.
struct Redactor {
    rules: Arc<Rules>,
    /// What the owner would be known by, longest first.
    names: Vec<(String, &'static str)>,
}

impl Redactor {
    fn new(house: &House) -> Redactor {
        let places = &house.places;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut names: Vec<(String, &'static str)> = [
            (places.home.as_ref().map(|h| h.display().to_string()), "HOME_OF_HOLDFAST"),
            (std::env::var("HOME").ok(), "HOME"),
            (Some(host), "HOST"),
            (house.view(&Default::default()).ok().map(|view| instance(view.origin().as_str())), "INSTANCE"),
        ]
        .into_iter()
        .filter_map(|(name, mark)| Some((name?, mark)))
        // A root directory or a one-letter name would replace everything.
        .filter(|(name, _)| name.len() > 2)
        .collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Redactor { rules: crate::sieve::rules(), names }
    }

    fn redact(&self, text: &str) -> (String, u32) {
        let mut redactions = 0;
        let lines: Vec<String> = text
            .lines()
            .map(|line| {
                let clean = self.rules.sieved_for_others(line);
                redactions += u32::from(clean != line);
                clean.into_owned()
            })
            .collect();
        let mut text = lines.join("\n");
        text.push('\n');
        for (name, mark) in &self.names {
            text = replace_words(&text, name, mark);
        }
        (text, redactions)
    }
}

fn instance(origin: &str) -> String {
    origin.strip_prefix("holdfast/").unwrap_or(origin).to_owned()
}

/// Replaces a name where it stands by itself: a host called `web` is not in `webhook`.
fn replace_words(text: &str, name: &str, mark: &str) -> String {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let inside = part_of_word(before.chars().next_back().or(out.chars().next_back()))
            || part_of_word(after.chars().next());
        out.push_str(before);
        out.push_str(if inside { name } else { mark });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn write(out: &Path, items: &[Item]) -> Result<()> {
    let archive = || -> std::io::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        for item in items {
            let mut header = tar::Header::new_gnu();
            header.set_size(item.text.len() as u64);
            header.set_mode(0o600);
            header.set_cksum();
            tar.append_data(&mut header, format!("holdfast-support/{}", item.name), item.text.as_bytes())?;
        }
        let mut gz = tar.into_inner()?;
        gz.flush()?;
        gz.finish()
    };
    let bytes = archive().map_err(|e| writing(out, e))?;
    Ok(create(out, &bytes, Mode::Private).map_err(|e| writing(out, e))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_where_it_stands_by_itself() {
        for (text, expected) in [
            ("web", "HOST"),
            ("webhook on web-1 and web", "webhook on HOST-1 and HOST"),
            ("http://web:80/web", "http://HOST:80/HOST"),
            ("cobweb", "cobweb"),
            ("webweb web", "webweb HOST"),
            ("", ""),
        ] {
            assert_eq!(replace_words(text, "web", "HOST"), expected);
        }
    }
}
