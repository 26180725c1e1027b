//! `holdfast approve --ask FILE` and `holdfast reject --ask FILE`: a person's word on an ask of another machine.
//!
//! Nothing here needs a daemon, a home or a network: the ask lies in a file, the key in another, and what is signed goes to
//! stdout. Whoever likes carries it to the machine that asked (`POST /approvals/verdict`), and can change nothing about it.

use std::path::Path;

use holdfast_approval::{ACTION_BYTES_MAX, Action, Error, Refusal, TEXT_BYTES_MAX, Verdict, Word, sign};
use holdfast_control::ApprovalState;
use holdfast_keys::{Role, file};
use holdfast_types::{ApprovalId, Digest, Exit, Origin, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::approvals::told;
use super::verdict::{HowArgs, confirmed, fit_reason, still_to_decide};
use crate::console::Console;
use crate::house::{now, read_input, this_user};
use crate::look::{Shape, Style, printable, table};
use crate::office::approvals::word;
use crate::problem::{CliError, Failure, Result};

/// An action, what people read about it twice over, and the names around them, with room for escapes.
const ASK_BYTES_MAX: u64 = 2 * (ACTION_BYTES_MAX + 2 * TEXT_BYTES_MAX) as u64;

/// An ask as it came here.
enum Paper {
    /// All of it, as `holdfast --json approvals show` prints it.
    Whole(Box<ApprovalState>),
    /// What a notice tells of it.
    Notice(Told),
}

/// A notice as a webhook delivers it, as far as it is about an ask.
#[derive(Debug, Deserialize)]
struct Message {
    message: String,
    context: Context,
}

#[derive(Debug, Deserialize)]
struct Context {
    ask: ApprovalId,
    subject: String,
    target: String,
    digest: Digest,
    expires_at: Timestamp,
    origin: Origin,
}

#[derive(Debug)]
struct Told {
    said: String,
    of: Context,
}

/// Signs, prints and sends nothing.
pub(super) fn sign_only(
    verdict: Word,
    ask: &Path,
    key: &Path,
    how: &HowArgs,
    console: &mut Console,
) -> Result<Exit> {
    let paper = read(ask)?;
    let draft = draft(verdict, &paper, how)?;
    let shown = paper.shown();
    if how.dry_run {
        return dry_run(&draft, &shown, console);
    }
    if !how.yes {
        confirmed(verdict, &shown, console)?;
    }
    let key = file::read_key(key, Role::Approvals)?.key;
    let signed = sign(&Verdict { issued_at: now(), ..draft }, &key)?.to_bytes();
    // One line of JSON, so it is the same with and without --json.
    console.write(&signed.map_err(|e| Failure::from(e.problem()))?)?;
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<Paper> {
    let bytes = read_input(path, ASK_BYTES_MAX)?;
    let unfit = |why: String| CliError::Usage { message: format!("{} is not an ask: {why}", path.display()) };
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| unfit(format!("it is not JSON: {e}")))?;
    let neither = |e: serde_json::Error| {
        unfit(format!(
            "it is neither what `holdfast --json approvals show` prints nor a notice of an ask: {e}"
        ))
    };
    if value.get("context").is_none() {
        return Ok(Paper::Whole(Box::new(serde_json::from_value(value).map_err(neither)?)));
    }
    let Message { message, context } = serde_json::from_value(value).map_err(neither)?;
    Ok(Paper::Notice(Told { said: message, of: context }))
}

/// What would be signed. Where the action is there, its digest is computed and not taken on trust.
fn draft(verdict: Word, paper: &Paper, how: &HowArgs) -> Result<Verdict> {
    let (ask, digest, expires_at, origin) = match paper {
        Paper::Whole(found) => {
            still_to_decide(found, verdict)?;
            (found.id, digest_of(found)?, found.expires_at, found.origin.clone())
        }
        Paper::Notice(Told { of, .. }) => (of.ask, of.digest, of.expires_at, of.origin.clone()),
    };
    let issued_at = now();
    if issued_at >= expires_at {
        return Err(Error::from(Refusal::Late { ask, at: expires_at }).into());
    }
    let reason = how.reason.as_deref().map(fit_reason).transpose()?;
    Ok(Verdict { ask, digest, verdict, by: this_user()?, reason, issued_at, expires_at, origin })
}

/// The digest of the action that is shown, if it is the one that was asked for.
pub(crate) fn digest_of(found: &ApprovalState) -> Result<Digest> {
    let name = |e: holdfast_types::NameError| CliError::Usage { message: e.to_string() };
    let (subject, target) = (found.subject.parse().map_err(name)?, found.target.parse().map_err(name)?);
    let shown = Action::new(subject, target, &found.action)?.digest();
    if shown != found.digest {
        let changed = Refusal::ChangedAction { ask: found.id, asked: found.digest, found: shown };
        return Err(Error::from(changed).into());
    }
    Ok(shown)
}

impl Paper {
    /// What a person reads before they decide.
    fn shown(&self) -> String {
        match self {
            Paper::Whole(found) => told(found, Style::plain()),
            Paper::Notice(Told { said, of }) => {
                let rows = [
                    ("subject", printable(&of.subject)),
                    ("target", printable(&of.target)),
                    ("digest", of.digest.to_string()),
                    ("asked by", of.origin.to_string()),
                    ("ends", crate::look::time(of.expires_at)),
                ];
                let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                let exactly = "What exactly would be done is not in a notice; the digest stands for it.";
                let mark = Style::plain().shape(Shape::NeedsYou);
                format!(
                    "{mark} {}\n\n  {}\n  {exactly}\n\n{}",
                    of.ask,
                    printable(said),
                    table(&rows, Style::plain())
                )
            }
        }
    }
}

fn dry_run(draft: &Verdict, shown: &str, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let draft = serde_json::to_value(draft).map_err(|e| CliError::Usage { message: e.to_string() })?;
        console.json(&serde_json::json!({"payload": draft, "dry_run": true}))?;
    } else {
        console.write(shown.as_bytes())?;
        let mark = console.out_style.shape(Shape::Unknown);
        let (verdict, by) = (word(draft.verdict), &draft.by);
        console.line(&format!("\n{mark} would {verdict} it as {by}; nothing was signed"))?;
    }
    Ok(Exit::Ok)
}
