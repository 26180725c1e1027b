//! `holdfast audit export`: the log in open formats, with what is needed to check it elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_journal::{Checkpoint, Error, SignedCheckpoint, View};
use holdfast_keys::VerifierKey;
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::{ArchiveArgs, House, present_key, writing};
use crate::look::{Shape, entries};
use crate::problem::{CliError, Result};

/// Write entries as JSON lines, with the newest checkpoint and how to check them
///
/// To a directory: entries.jsonl, checkpoint.txt, verifier-key.txt and README.txt. To -: the lines alone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields, when written to a directory: origin, out, from, to, entries, checkpoint_size, vkey, files[], dry_run.")]
pub(crate) struct ExportArgs {
    /// First entry [default: the first that is here]
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,

    /// Last entry [default: the last there is]
    #[arg(long, value_name = "SEQ")]
    to: Option<u64>,

    /// A directory that is not there yet, or - for standard output
    #[arg(long, value_name = "DIR|-")]
    out: PathBuf,

    /// Say what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Entries `from` up to, but not including, `end`.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    end: u64,
}

pub(crate) fn run(args: &ExportArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let view = house.view(&args.archive)?;
    let range = range(args, &view)?;
    if args.out == Path::new("-") && !args.dry_run {
        copy(&view, range, |line| {
            console.write(line)?;
            console.line("")
        })?;
        return Ok(Exit::Ok);
    }
    let Exported { written, checkpoint, vkey } = if args.dry_run {
        refuse_what_is_there(&args.out)?;
        let (signed, vkey) = newest(house, &view)?;
        Exported { written: range.end - range.from, checkpoint: signed.checkpoint, vkey }
    } else {
        let staged = Staged::new(&args.out)?;
        let exported = fill(staged.path(), house, &view, range)?;
        staged.finish()?;
        exported
    };
    if console.is_json() {
        console.json(&json!({
            "origin": view.origin(),
            "out": args.out,
            "from": range.from,
            "to": range.end.checked_sub(1),
            "entries": written,
            "checkpoint_size": checkpoint.size,
            "vkey": vkey.to_string(),
            "files": FILES,
            "dry_run": args.dry_run,
        }))?;
    } else {
        let (shape, word) =
            if args.dry_run { (Shape::Unknown, "would export") } else { (Shape::Settled, "exported:") };
        let mark = console.out_style.shape(shape);
        console.line(&format!("{mark} {word} {} to {}", entries(written), args.out.display()))?;
    }
    Ok(Exit::Ok)
}

/// What a directory was filled with.
struct Exported {
    written: u64,
    checkpoint: Checkpoint,
    vkey: VerifierKey,
}

/// Everything that is here, into a directory of its own; returns how many entries.
pub(crate) fn to_directory(out: &Path, house: &House, view: &View) -> Result<u64> {
    let range = Range { from: first_readable(view)?, end: view.size()? };
    Ok(fill(out, house, view, range)?.written)
}

/// The first entry that can be read: the very first where an archive has what has left.
pub(crate) fn first_readable(view: &View) -> Result<u64> {
    match view.entry(0) {
        Ok(_) => Ok(0),
        Err(_) => Ok(view.oldest_here()?),
    }
}

/// The newest checkpoint, and the key it is to be checked by.
fn newest(house: &House, view: &View) -> Result<(SignedCheckpoint, VerifierKey)> {
    let signed = view.latest_checkpoint()?;
    let vkey = present_key(&house.trust()?, view.origin(), &signed.checkpoint, &signed.note)?;
    Ok((signed, vkey))
}

fn fill(out: &Path, house: &House, view: &View, range: Range) -> Result<Exported> {
    let (signed, vkey) = newest(house, view)?;
    let dir = Dir::make(out)?;
    let written = dir.entries(view, range)?;
    dir.file("checkpoint.txt", signed.note.as_bytes())?;
    dir.file("verifier-key.txt", format!("{vkey}\n").as_bytes())?;
    dir.file("README.txt", readme(range, &signed.checkpoint, &vkey).as_bytes())?;
    dir.close()?;
    Ok(Exported { written, checkpoint: signed.checkpoint, vkey })
}

const FILES: [&str; 4] = ["entries.jsonl", "checkpoint.txt", "verifier-key.txt", "README.txt"];

fn range(args: &ExportArgs, view: &View) -> Result<Range> {
    let size = view.size()?;
    let oldest = if args.archive.archive.is_some() { 0 } else { view.oldest_here()? };
    let from = args.from.unwrap_or(oldest);
    let end = args.to.map_or(size, |to| to.saturating_add(1));
    if end > size || from > end {
        let seq = if end > size { end - 1 } else { from };
        return Err(Error::NoSuchEntry { seq, size }.into());
    }
    Ok(Range { from, end })
}

fn copy(view: &View, range: Range, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
    let mut entries = view.entries(range.from);
    let mut copied = 0;
    while entries.position() < range.end {
        let Some(raw) = entries.next_raw()? else { break };
        take(&raw.line)?;
        copied += 1;
    }
    Ok(copied)
}

/// A directory that is filled under another name, and has its own only when it is whole.
pub(crate) struct Staged<'p> {
    out: &'p Path,
    partial: PathBuf,
}

impl<'p> Staged<'p> {
    pub(crate) fn new(out: &'p Path) -> Result<Staged<'p>> {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let partial = out.with_file_name(name);
        refuse_what_is_there(out)?;
        // What a killed export left may hold something by now; only its owner knows.
        refuse_what_is_there(&partial)?;
        holdfast_durable::create_dir(&partial).map_err(|e| writing(out, e))?;
        Ok(Staged { out, partial })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    pub(crate) fn finish(self) -> Result<()> {
        refuse_what_is_there(self.out)?;
        Ok(holdfast_durable::replace_dir(&self.partial, self.out).map_err(|e| writing(self.out, e))?)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // Not there any more once it has its name.
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}

pub(crate) fn refuse_what_is_there(out: &Path) -> Result<()> {
    match out.symlink_metadata() {
        Ok(_) => Err(CliError::OutExists { path: out.to_owned() }.into()),
        Err(_) => Ok(()),
    }
}

/// The directory that is being filled.
pub(crate) struct Dir<'p> {
    path: &'p Path,
}

impl<'p> Dir<'p> {
    pub(crate) fn make(path: &'p Path) -> Result<Dir<'p>> {
        holdfast_durable::create_dir(path).map_err(|e| writing(path, e))?;
        Ok(Dir { path })
    }

    /// One that is there.
    pub(crate) fn open(path: &'p Path) -> Dir<'p> {
        Dir { path }
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let write = || {
            let mut file = new_file(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        Ok(write().map_err(|e| writing(&path, e))?)
    }

    fn entries(&self, view: &View, range: Range) -> Result<u64> {
        let path = self.path.join("entries.jsonl");
        let failed = |e| writing(&path, e);
        let mut out = BufWriter::new(new_file(&path).map_err(failed)?);
        let copied = copy(view, range, |line| {
            out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
            Ok(())
        })?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok(copied)
    }

    pub(crate) fn close(&self) -> Result<()> {
        Ok(holdfast_durable::sync_dir(self.path).map_err(|e| writing(self.path, e))?)
    }
}

pub(crate) fn new_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn readme(range: Range, checkpoint: &Checkpoint, vkey: &VerifierKey) -> String {
    let whole = range.from == 0 && range.end >= checkpoint.size;
    let recompute = if whole { RECOMPUTE } else { RECOMPUTE_NOT };
    let beyond = if whole && range.end > checkpoint.size {
        let from = checkpoint.size;
        format!("Entries from {from} on came after the checkpoint and are not covered by it.\n")
    } else {
        String::new()
    };
    format!(
        "\
Export of the log {origin}
{rule}

entries.jsonl      entries {from} to {to}, one JSON object a line, exactly as they stand
                   in the log
checkpoint.txt     the newest checkpoint: a C2SP signed note over {size} entries
verifier-key.txt   the log's key. Compare it with one you got another way.
{beyond}
What each entry proves
----------------------
A leaf of the Merkle tree (RFC 6962, SHA-256) is the exact bytes of a line, without
its line feed: SHA-256(0x00 || line). A node is SHA-256(0x01 || left || right). The
third line of the checkpoint is the root of the first {size} leaves, in base64.

The signature
-------------
checkpoint.txt follows https://c2sp.org/signed-note and
https://c2sp.org/tlog-checkpoint; any tool that reads those can check it with this
verifier key:
  {vkey}
With openssl alone, in this directory:
{OPENSSL}
{recompute}",
        origin = checkpoint.origin,
        rule = "=".repeat("Export of the log ".len() + checkpoint.origin.as_str().len()),
        from = range.from,
        to = range.end.saturating_sub(1),
        size = checkpoint.size,
    )
}

/// 302a300506032b6570032100 is the DER heading of an Ed25519 public key. The first byte of the decoded
/// verifier key is its type, the first four of the decoded signature are the key's hash.
const OPENSSL: &str = r#"
sed '/^$/,$d' checkpoint.txt > text
sed -n '/^— /p' checkpoint.txt | head -n 1 | cut -d' ' -f3 | base64 -d | tail -c +5 > signature
{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'
  cut -d+ -f3- verifier-key.txt | base64 -d | tail -c +2; } > key.der
openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in text -sigfile signature
"#;

const RECOMPUTE: &str = r#"
The root
--------
With Python alone, in this directory:

python3 -I - <<'END'
import base64, hashlib
def h(b): return hashlib.sha256(b).digest()
def root(leaves):
    if len(leaves) < 2: return leaves[0] if leaves else h(b"")
    k = 1
    while k * 2 < len(leaves): k *= 2
    return h(b"\1" + root(leaves[:k]) + root(leaves[k:]))
origin, size, signed = open("checkpoint.txt").read().split("\n")[:3]
lines = open("entries.jsonl", "rb").read().split(b"\n")[:int(size)]
same = root([h(b"\0" + line) for line in lines]) == base64.b64decode(signed)
print("the root is the signed one" if same else "THE ROOT IS ANOTHER")
END
"#;

const RECOMPUTE_NOT: &str = r#"
The root
--------
This export does not hold all entries the checkpoint is over, so the root cannot be
computed from it. Ask for a proof of each entry that matters, which anyone can check:

holdfast --json audit prove SEQ > proof.json
holdfast audit prove --check proof.json --vkey "$(cat verifier-key.txt)"
"#;
