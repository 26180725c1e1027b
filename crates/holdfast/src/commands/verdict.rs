//! `holdfast approve` and `holdfast reject`: a person's word on one ask.
//!
//! The signature is made here, by the process of the person who decides, with a key that the daemon never reads; the
//! daemon verifies it and writes it down. What is signed is computed here too: the digest of the action that was shown.
//! An ask of another machine, in a file, is signed in `sign.rs`.

use std::path::PathBuf;

use clap::Args;
use holdfast_approval::{Error, REASON_CHARS_MAX, Refusal, State, Verdict, Word, sign};
use holdfast_control::{Answer, ApprovalState, Request, VerdictTaken};
use holdfast_journal::Screen as _;
use holdfast_types::{ApprovalId, Exit};
use serde_json::{Value, json};

use super::approvals::{find, shape, told};
use super::sign::{digest_of, sign_only};
use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{House, now, this_user};
use crate::init::approvals_key;
use crate::look::{Shape, Style, printable};
use crate::office::approvals::word;
use crate::problem::{CliError, Failure, Result};

/// Allow exactly what an ask says, once
///
/// Signs with the approvals key in etc/keys, which no agent can read. Whoever asked may then do it one time, until the
/// ask expires. On a terminal it asks before it signs. With --ask and --key it signs what another machine asked, prints
/// the signed document and sends nothing; that machine takes it at the address of approvals.webhook.listen.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast approve apr_01kc1yq8m0e3t6v9x2b5h8n1r4
  holdfast approve apr_01kc1yq8m0e3t6v9x2b5h8n1r4 --yes --reason 'watched it for a week'
  holdfast approve --ask ask.json --key approvals.key --yes > verdict.json

JSON fields: id, verdict, state, subject, target, digest, expires_at, recorded_as (the entry; null in a dry run), \
repeated (it was so before), dry_run. With --ask: format, payload, signatures[] (docs/formats/approvals.md); in a dry \
run payload, dry_run.")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    decide: DecideArgs,
}

/// Refuse what an ask wants
///
/// Whoever asked finds it refused and has to ask for something else. On a terminal it asks before it signs. With --ask
/// and --key it signs what another machine asked, prints the signed document and sends nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  holdfast reject apr_01kc1yq8m0e3t6v9x2b5h8n1r4 --yes --reason 'not on a Friday'
  holdfast reject --ask ask.json --key approvals.key --yes > verdict.json

JSON fields: id, verdict, state, subject, target, digest, expires_at, recorded_as (the entry; null in a dry run), \
repeated (it was so before), dry_run. With --ask: format, payload, signatures[] (docs/formats/approvals.md); in a dry \
run payload, dry_run.")]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    decide: DecideArgs,
}

#[derive(Debug, Args)]
struct DecideArgs {
    /// The ask
    #[arg(required_unless_present = "ask")]
    id: Option<ApprovalId>,

    /// Sign what this file asks: what `holdfast --json approvals show` prints, or a notice of it; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "id", requires = "key")]
    ask: Option<PathBuf>,

    /// The file with the approvals key to sign with; only with --ask
    #[arg(long, value_name = "FILE", requires = "ask")]
    key: Option<PathBuf>,

    #[command(flatten)]
    how: HowArgs,
}

/// How a verdict is given, whatever names the ask.
#[derive(Clone, Debug, Args)]
pub(super) struct HowArgs {
    /// Why, for whoever reads it later
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,

    /// Do it without asking; needed where there is no terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) yes: bool,

    /// Show what would be signed and sign nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

pub(crate) fn approve(
    args: &ApproveArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    args.decide.carry_out(Word::Approve, house, console)
}

pub(crate) fn reject(
    args: &RejectArgs,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    args.decide.carry_out(Word::Reject, house, console)
}

impl DecideArgs {
    /// Files of the caller's are read with the caller's rights, and need no home.
    fn carry_out(
        &self,
        verdict: Word,
        house: impl FnOnce() -> Result<House>,
        console: &mut Console,
    ) -> Result<Exit> {
        match (self.id, &self.ask, &self.key) {
            (None, Some(ask), Some(key)) => sign_only(verdict, ask, key, &self.how, console),
            (Some(id), None, None) => decide(verdict, id, &self.how, &house()?, console),
            // The command line has been checked for that.
            _ => Err(CliError::Usage { message: "name an ask, or give --ask and --key".into() }.into()),
        }
    }
}

/// Decides one ask in the name of whoever runs this.
pub(super) fn decide(
    verdict: Word,
    id: ApprovalId,
    args: &HowArgs,
    house: &House,
    console: &mut Console,
) -> Result<Exit> {
    let found = find(id, house)?;
    still_to_decide(&found, verdict)?;
    let draft = draft(verdict, args, &found)?;
    if args.dry_run {
        return dry_run(&draft, &found, console);
    }
    if let Some(before) = said_before(&found) {
        return say_taken(&before, verdict, &found, console);
    }
    if !args.yes {
        confirmed(verdict, &told(&found, Style::plain()), console)?;
    }
    let key = approvals_key(house, &found.origin)?;
    let signed = sign(&Verdict { issued_at: now(), ..draft }, &key)?.to_bytes();
    let document = signed.map_err(|e| Failure::from(e.problem()))?;
    let document = String::from_utf8_lossy(&document).into_owned();
    let taken = match ask(house, &Request::Verdict { document }, console)? {
        Answer::Verdict(taken) => taken,
        other => return Err(unexpected(&other)),
    };
    say_taken(&taken, verdict, &found, console)
}

/// Passes an ask that waits, and one with the same verdict already. The office decides it again before anything counts.
pub(crate) fn still_to_decide(found: &ApprovalState, verdict: Word) -> Result<()> {
    let (ask, at) = (found.id, found.expires_at);
    let refusal = match found.state.as_str() {
        "asked" => return Ok(()),
        "approved" if verdict == Word::Approve => return Ok(()),
        "rejected" if verdict == Word::Reject => return Ok(()),
        "approved" => Refusal::AlreadyDecided { ask, state: State::Approved },
        "rejected" => Refusal::AlreadyDecided { ask, state: State::Rejected },
        "used" => Refusal::AlreadyDecided { ask, state: State::Used },
        "withdrawn" => Refusal::Withdrawn { ask },
        _ => Refusal::Late { ask, at },
    };
    Err(Error::from(refusal).into())
}

/// The same verdict, where it was given before: nothing is signed a second time.
fn said_before(found: &ApprovalState) -> Option<VerdictTaken> {
    let (id, state) = (found.id, found.state.clone());
    let recorded_as = found.decision.as_ref()?.recorded_as;
    Some(VerdictTaken { id, state, recorded_as, repeated: true })
}

/// What would be signed. The digest is that of what is shown, computed here and not taken on trust.
fn draft(verdict: Word, args: &HowArgs, found: &ApprovalState) -> Result<Verdict> {
    Ok(Verdict {
        ask: found.id,
        digest: digest_of(found)?,
        verdict,
        by: this_user()?,
        reason: args.reason.as_deref().map(fit_reason).transpose()?,
        issued_at: now(),
        expires_at: found.expires_at,
        origin: found.origin.clone(),
    })
}

/// A reason is signed and kept, so it is looked at before.
pub(super) fn fit_reason(text: &str) -> Result<String> {
    let usage = |message: &str| Err(CliError::Usage { message: message.to_owned() }.into());
    if text.chars().count() > REASON_CHARS_MAX {
        return usage("--reason has at most 500 characters");
    }
    if crate::sieve::screen().screen(text) != holdfast_journal::Verdict::Clean {
        return usage("--reason holds something that looks like a secret");
    }
    Ok(printable(text))
}

/// Shows what it is about, and passes when a person says yes to it.
pub(super) fn confirmed(verdict: Word, shown: &str, console: &Console) -> Result<()> {
    if !console.is_json() {
        console.aside(shown);
    }
    let question = match verdict {
        Word::Approve => "Allow exactly this, once? [y/N] ",
        Word::Reject => "Refuse this? [y/N] ",
    };
    match console.asks(question) {
        None => Err(CliError::VerdictNeedsYes.into()),
        Some(true) => Ok(()),
        Some(false) => Err(CliError::NotConfirmed.into()),
    }
}

fn dry_run(draft: &Verdict, found: &ApprovalState, console: &mut Console) -> Result<Exit> {
    let repeated = found.state != "asked";
    if console.is_json() {
        console.json(&answer(draft.verdict, found, &found.state, None, repeated, true))?;
    } else {
        let text = told(found, console.out_style);
        console.write(text.as_bytes())?;
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!(
            "\n{mark} would {} it as {}; nothing was signed",
            word(draft.verdict),
            draft.by
        ))?;
    }
    Ok(Exit::Ok)
}

fn say_taken(
    taken: &VerdictTaken,
    verdict: Word,
    found: &ApprovalState,
    console: &mut Console,
) -> Result<Exit> {
    if console.is_json() {
        let recorded = Some(taken.recorded_as);
        console.json(&answer(verdict, found, &taken.state, recorded, taken.repeated, false))?;
        return Ok(Exit::Ok);
    }
    let mark = console.out_style.shape(shape(&taken.state));
    let word = if taken.repeated { format!("was {} before", taken.state) } else { taken.state.clone() };
    console.line(&format!("{mark} {word}: {}, recorded as entry {}", taken.id, taken.recorded_as))?;
    console.line(&format!("  see what becomes of it: holdfast approvals show {}", taken.id))?;
    Ok(Exit::Ok)
}

fn answer(
    verdict: Word,
    found: &ApprovalState,
    state: &str,
    recorded_as: Option<u64>,
    repeated: bool,
    dry_run: bool,
) -> Value {
    json!({
        "id": found.id,
        "verdict": word(verdict),
        "state": state,
        "subject": found.subject,
        "target": found.target,
        "digest": found.digest,
        "expires_at": found.expires_at,
        "recorded_as": recorded_as,
        "repeated": repeated,
        "dry_run": dry_run,
    })
}
