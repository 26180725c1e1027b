//! `holdfast export`: everything of a home in open formats.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_journal::{Error as JournalError, Stored, SystemClock, View};
use holdfast_store::Samples;
use holdfast_types::{Exit, Timestamp};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::audit::export::{Dir, Staged, first_readable, new_file, refuse_what_is_there};
use crate::console::Console;
use crate::house::{House, reading, writing};
use crate::look::{Shape, bytes, count, entries, table};
use crate::problem::{Failure, Result};

/// Write everything in open formats: JSON lines, plain files, SQLite
///
/// To a directory that is not there yet: the journal with its checkpoint and how to check it, every sealed text
/// that can still be read, samples, settings and the trust set, and SHA256SUMS over all of it. Private keys are
/// not exported. Works while the daemon runs.
#[derive(Debug, Args)]
#[command(
    after_long_help = "JSON fields: out, entries, texts, erased_texts, samples, files, bytes, dry_run."
)]
pub(crate) struct ExportArgs {
    /// A directory that is not there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Leave sealed texts out: they may be private
    #[arg(long)]
    without_texts: bool,

    /// Say what would be written and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Default)]
struct Written {
    entries: u64,
    texts: u64,
    erased: u64,
    samples: u64,
    files: u64,
    bytes: u64,
}

pub(crate) fn run(args: &ExportArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&Default::default())?;
    refuse_what_is_there(&args.out)?;
    if args.dry_run {
        return dry_run(args, &view, console);
    }
    let written = write_all(args, house, &view, console)?;
    let Written { entries: lines, texts, erased, samples, files, bytes: size } = written;
    if console.is_json() {
        console.json(&json!({"out": args.out, "entries": lines, "texts": texts, "erased_texts": erased,
            "samples": samples, "files": files, "bytes": size, "dry_run": false}))?;
        return Ok(Exit::Ok);
    }
    let rows = [
        ("journal/".to_owned(), format!("{}, checkpoint, how to check them", entries(lines))),
        (
            "texts/".to_owned(),
            format!("{}, {} erased and unreadable", count(texts, "sealed text", "sealed texts"), erased),
        ),
        (
            "metrics/".to_owned(),
            format!("{} as JSON lines and as SQLite", count(samples, "sample", "samples")),
        ),
        ("settings/".to_owned(), "config.yaml and trust set, where there are any".to_owned()),
        ("SHA256SUMS".to_owned(), "check with: sha256sum -c SHA256SUMS".to_owned()),
    ];
    let text = table(&rows, console.out_style);
    console.write(text.as_bytes())?;
    let mark = console.out_style.shape(Shape::Settled);
    let files = count(files, "file", "files");
    console.line(&format!(
        "{mark} exported: {files}, {} to {}; private keys stay here",
        bytes(size),
        args.out.display()
    ))?;
    Ok(Exit::Ok)
}

fn dry_run(args: &ExportArgs, view: &View, console: &mut Console) -> Result<Exit> {
    let size = view.size()?;
    if console.is_json() {
        console.json(&json!({"out": args.out, "entries": size, "texts": null, "erased_texts": null,
            "samples": null, "files": null, "bytes": null, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} would export {} to {}", entries(size), args.out.display()))?;
    }
    Ok(Exit::Ok)
}

fn write_all(args: &ExportArgs, house: &House, view: &View, console: &Console) -> Result<Written> {
    let mut written = Written::default();
    let staged = Staged::new(&args.out)?;
    let top = staged.path();
    console.progress("exporting the journal");
    written.entries = crate::audit::export::to_directory(&top.join("journal"), house, view)?;
    if !args.without_texts {
        (written.texts, written.erased) = texts(&top.join("texts"), house, view, console)?;
    }
    console.progress("exporting samples");
    written.samples = samples(&top.join("metrics"), house)?;
    settings(&top.join("settings"), house)?;
    (written.files, written.bytes) = sums(top)?;
    staged.finish()?;
    console.progress("");
    Ok(written)
}

/// Every sealed text under its entry's number, and how many cannot be read any more.
fn texts(dir: &Path, house: &House, view: &View, console: &Console) -> Result<(u64, u64)> {
    let out = Dir::make(dir)?;
    let Some(vault) = house.vault()? else { return Ok((0, 0)) };
    let (mut kept, mut erased) = (0, 0);
    let size = view.size()?;
    let mut unreadable = String::new();
    for raw in view.entries(first_readable(view)?) {
        let entry = raw?.parse()?;
        if entry.seq % 65_536 == 0 {
            console.progress(&format!("exporting texts  {} of {} entries", entry.seq, size));
        }
        if !matches!(entry.content, Stored::Blob(_)) {
            continue;
        }
        match view.text(entry.seq, &vault) {
            Ok(text) => {
                out.file(&format!("{:012}", entry.seq), &text)?;
                kept += 1;
            }
            Err(JournalError::Erased { .. }) => erased += 1,
            // One text that rots must not keep the rest from being taken along.
            Err(e) => unreadable.push_str(&format!("{:012}  {}\n", entry.seq, e.problem().what)),
        }
    }
    if !unreadable.is_empty() {
        console.warn(&format!(
            "{} could not be read; see texts/UNREADABLE.txt",
            count(unreadable.lines().count() as u64, "text", "texts")
        ));
        out.file("UNREADABLE.txt", unreadable.as_bytes())?;
    }
    out.close()?;
    Ok((kept, erased))
}

/// A copy of the database, taken while it may be in use, and its rows as JSON lines.
fn samples(dir: &Path, house: &House) -> Result<u64> {
    let out = Dir::make(dir)?;
    let from = house.places.metrics();
    if !from.exists() {
        return Ok(0);
    }
    let copy = dir.join("metrics.db");
    holdfast_store::backup(&from, &copy, &mut |_| std::ops::ControlFlow::Continue(()))?;
    let written = {
        let (samples, _) = Samples::open(&copy, &SystemClock::new())?;
        lines(&dir.join("samples.jsonl"), &samples)?
    };
    for left in ["metrics.db-wal", "metrics.db-shm"] {
        let path = dir.join(left);
        holdfast_durable::remove(&path).map_err(|e| writing(&path, e))?;
    }
    out.close()?;
    Ok(written)
}

fn lines(path: &Path, samples: &Samples) -> Result<u64> {
    let failed = |e| Failure::from(writing(path, e));
    let mut out = BufWriter::new(new_file(path).map_err(failed)?);
    let mut written = 0;
    for series in samples.series(None)? {
        // A range is handed out in pages.
        let mut from = Timestamp::EPOCH;
        loop {
            let page = samples.range(&series, from..house_end())?;
            let Some(last) = page.last() else { break };
            from = last.at.plus(std::time::Duration::from_micros(1));
            for sample in page {
                let line = json!({"name": series.name(), "labels": series.labels(), "at": sample.at, "value": sample.value});
                writeln!(out, "{line}").map_err(failed)?;
                written += 1;
            }
        }
    }
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(written)
}

/// Later than anything that was measured.
fn house_end() -> Timestamp {
    Timestamp::EPOCH.plus(std::time::Duration::MAX)
}

fn settings(dir: &Path, house: &House) -> Result<()> {
    let out = Dir::make(dir)?;
    let places = &house.places;
    let files = [
        places.config(),
        places.trust(),
        places.witness_name(),
        places.witness_seen(),
        places.notices(),
        places.health_log(),
        places.findings(),
    ];
    for path in files {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // Two files have this name: who this witness is, and what it has seen.
        let name = if path == places.witness_seen() { "witness-seen.json" } else { name };
        match std::fs::read(&path) {
            Ok(bytes) => out.file(name, &bytes)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(reading(&path, e).into()),
        }
    }
    out.close()
}

/// `SHA256SUMS` over every file; returns how many there are and their bytes.
fn sums(top: &Path) -> Result<(u64, u64)> {
    let mut files = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|e| reading(&dir, e))? {
            let path = entry.map_err(|e| reading(&dir, e))?.path();
            if path.is_dir() { todo.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let (mut text, mut size) = (String::new(), 0);
    for path in &files {
        let mut hasher = Sha256::new();
        let mut file = File::open(path).map_err(|e| reading(path, e))?;
        size += std::io::copy(&mut file, &mut Hashing(&mut hasher)).map_err(|e| reading(path, e))?;
        let name = path.strip_prefix(top).unwrap_or(path).display();
        let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("{hex}  {name}\n"));
    }
    Dir::open(top).file("SHA256SUMS", text.as_bytes())?;
    Ok((files.len() as u64 + 1, size + text.len() as u64))
}

struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
