//! `holdfast audit prove`: makes a proof that can be checked elsewhere, and checks one.

use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_control::{Answer, Request};
use holdfast_journal::{Checkpoint, Error, View};
use holdfast_keys::note::{self, Note, NoteAlgorithm};
use holdfast_keys::{KeyName, VerifierKey};
use holdfast_types::Exit;
use serde_json::json;

use super::proof::{Claim, HashText, PROOF_FORMAT, PROOF_SIZE_MAX, Proof};
use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{ArchiveArgs, House, present_key, read_input, say_warnings, signer};
use crate::look::{Shape, entries, printable};
use crate::places::quoted;
use crate::problem::{CliError, Result};

/// Prove that an entry is in the log, or that the log only grew; or check such a proof
///
/// With SEQ: that the entry is in the log. With --from: that the log continues the one of that many entries.
/// With --check: whether a proof made elsewhere holds, offline, by the key given or a trusted one; exit code
/// 0 when it holds and 1 when it does not.
#[derive(Debug, Args)]
#[command(after_long_help = "\
With --json the answer is the proof itself. JSON fields: format, origin, kind (inclusion or consistency), hashes[], \
checkpoint (a C2SP signed note), vkey; only for inclusion: seq, size, root, leaf, line; only for consistency: old, new, \
old_root, new_root; only where the checkpoint is over more entries: to_checkpoint[]. Hashes are base64 of SHA-256; leaf \
is the RFC 6962 leaf hash of line. With --dry-run: size (entries the checkpoint has to cover), signs (whether one would \
be signed first), dry_run. With --check: holds, origin, kind, sentence, why (null when it holds), \
vkey (the key it was judged by).")]
pub(crate) struct ProveArgs {
    /// The entry to prove
    #[arg(required_unless_present_any = ["from", "check"], conflicts_with_all = ["from", "to", "check"])]
    seq: Option<u64>,

    /// Size of the log to prove the entry in [default: that of the newest checkpoint]
    #[arg(long, value_name = "N", requires = "seq")]
    size: Option<u64>,

    /// Prove that the log continues the one that had this many entries
    #[arg(long, value_name = "OLD", conflicts_with = "check")]
    from: Option<u64>,

    /// Size to prove it for [default: that of the newest checkpoint]
    #[arg(long, value_name = "NEW", requires = "from")]
    to: Option<u64>,

    /// Check a proof document; - reads standard input
    #[arg(long, value_name = "FILE|-")]
    check: Option<PathBuf>,

    /// The log's verifier key to check by [default: the keys in the trust set]
    #[arg(long, value_name = "VKEY", requires = "check")]
    vkey: Option<String>,

    /// Say whether a checkpoint would have to be signed first; prove nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,

    #[command(flatten)]
    archive: ArchiveArgs,
}

pub(crate) fn run(args: &ProveArgs, house: &House, console: &mut Console) -> Result<Exit> {
    if let Some(path) = &args.check {
        return check(path, args.vkey.as_deref(), house, console);
    }
    if args.dry_run {
        return dry_run(args, house, console);
    }
    let proof = match (args.seq, args.from) {
        (Some(seq), _) => inclusion(seq, args, house, console)?,
        (None, from) => consistency(from.unwrap_or(0), args, house, console)?,
    };
    if console.is_json() {
        console.write(proof.to_text().as_bytes())?;
    } else {
        let text = told(&proof, args, house, console);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// How many entries the checkpoint has to cover.
fn needed(args: &ProveArgs) -> u64 {
    let (part, whole) = match (args.seq, args.from) {
        (Some(seq), _) => (seq.saturating_add(1), args.size),
        (None, from) => (from.unwrap_or(0), args.to),
    };
    whole.unwrap_or(part).max(part)
}

fn dry_run(args: &ProveArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let size = needed(args);
    let signs = !is_covered(&house.view(&args.archive)?, size)?;
    if console.is_json() {
        console.json(&json!({"size": size, "signs": signs, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let first = if signs { "would sign a checkpoint first, then prove" } else { "would prove" };
        console.line(&format!("{mark} {first} it within {}", entries(size)))?;
    }
    Ok(Exit::Ok)
}

/// Whether a checkpoint is over at least this many entries. More than there are cannot be.
fn is_covered(view: &View, size: u64) -> Result<bool> {
    if view.latest_checkpoint()?.checkpoint.size >= size {
        return Ok(true);
    }
    let here = view.size()?;
    if size > here {
        return Err(Error::NoSuchEntry { seq: size.saturating_sub(1), size: here }.into());
    }
    Ok(false)
}

/// A journal with a checkpoint over at least this many entries; signs one when there is none yet.
fn covering(size: u64, archive: &ArchiveArgs, house: &House, console: &Console) -> Result<View> {
    let view = house.view(archive)?;
    if is_covered(&view, size)? {
        return Ok(view);
    }
    match ask(house, &Request::Checkpoint {}, console)? {
        Answer::Checkpoint(signed) => say_warnings(&signed.warnings, console),
        other => return Err(unexpected(&other)),
    }
    Ok(view)
}

fn inclusion(seq: u64, args: &ProveArgs, house: &House, console: &Console) -> Result<Proof> {
    let view = covering(needed(args), &args.archive, house, console)?;
    inclusion_in(&view, seq, args.size, house)
}

/// The proof that an entry is in the log of `size` entries, or of as many as the newest checkpoint covers.
pub(crate) fn inclusion_in(view: &View, seq: u64, size: Option<u64>, house: &House) -> Result<Proof> {
    let size = match size {
        Some(size) => size,
        None => view.latest_checkpoint()?.checkpoint.size,
    };
    if size <= seq {
        return Err(Error::NoSuchEntry { seq, size }.into());
    }
    let line = view.entry(seq)?.line;
    let claim = Claim::Inclusion {
        seq,
        size,
        root: HashText(view.root_at(size)?),
        leaf: HashText(holdfast_journal::merkle::leaf_hash(&line)),
        line: String::from_utf8(line)
            .map_err(|_| Error::Setting { name: "seq", why: format!("entry {seq} is not text") })?,
    };
    let hashes = view.prove_inclusion(seq, size)?;
    document(claim, size, hashes, view, house)
}

/// Whether a proof holds by the keys that are trusted here; why not, where it does not.
pub(crate) fn holds_here(proof: &Proof, house: &House) -> Result<(), String> {
    let judge = Judge::Trust(house.trust_or_empty().map_err(|e| e.to_string())?);
    proof.check(|checkpoint, note| judge.signed(checkpoint, note).map(drop)).map(drop)
}

fn consistency(old: u64, args: &ProveArgs, house: &House, console: &Console) -> Result<Proof> {
    let view = covering(needed(args), &args.archive, house, console)?;
    consistency_in(&view, old, args.to, house)
}

/// The proof that the log of `new` entries, or of as many as the newest checkpoint covers, continues the one of `old`.
pub(crate) fn consistency_in(view: &View, old: u64, new: Option<u64>, house: &House) -> Result<Proof> {
    let new = match new {
        Some(new) => new,
        None => view.latest_checkpoint()?.checkpoint.size,
    };
    if old == 0 || old > new {
        return Err(CliError::NothingToProve { old, new }.into());
    }
    let claim = Claim::Consistency {
        old,
        new,
        old_root: HashText(view.root_at(old)?),
        new_root: HashText(view.root_at(new)?),
    };
    let hashes = view.prove_consistency(old, new)?;
    document(claim, new, hashes, view, house)
}

fn document(claim: Claim, size: u64, hashes: Vec<[u8; 32]>, view: &View, house: &House) -> Result<Proof> {
    let signed = view.latest_checkpoint()?;
    let texts = |hashes: Vec<[u8; 32]>| hashes.into_iter().map(HashText).collect::<Vec<_>>();
    let to_checkpoint = if size == signed.checkpoint.size {
        None
    } else {
        Some(texts(view.prove_consistency(size, signed.checkpoint.size)?))
    };
    let vkey = present_key(&house.trust()?, view.origin(), &signed.checkpoint, &signed.note)?;
    Ok(Proof {
        format: PROOF_FORMAT,
        origin: view.origin().to_string(),
        claim,
        hashes: texts(hashes),
        to_checkpoint,
        checkpoint: signed.note,
        vkey: vkey.to_string(),
    })
}

fn told(proof: &Proof, args: &ProveArgs, house: &House, console: &Console) -> String {
    let mark = console.out_style.shape(Shape::Settled);
    let what = match (args.seq, args.from, args.size.or(args.to)) {
        (Some(seq), _, None) => seq.to_string(),
        (Some(seq), _, Some(size)) => format!("{seq} --size {size}"),
        (None, from, None) => format!("--from {}", from.unwrap_or(0)),
        (None, from, Some(to)) => format!("--from {} --to {to}", from.unwrap_or(0)),
    };
    let program = house.places.program();
    let vkey = quoted(Path::new(&proof.vkey));
    let second = match proof.claim {
        Claim::Inclusion { .. } => {
            "\
Its hash leads to a checkpoint that this log has signed, so whoever has the
verifier key can check it without seeing any other entry."
        }
        Claim::Consistency { .. } => {
            "\
Nothing of it was changed or taken away since: the hashes lead from the one to
the other, and on to a checkpoint that this log has signed."
        }
    };
    format!(
        "\
{mark} proved: {}
{second}

keep it
  {program} --json audit prove {what} > proof.json
check it anywhere
  holdfast audit prove --check proof.json \\
    --vkey {vkey}
",
        proof.claim.sentence(&proof.origin),
    )
}

fn check(path: &Path, vkey: Option<&str>, house: &House, console: &mut Console) -> Result<Exit> {
    let bytes = read_input(path, PROOF_SIZE_MAX)?;
    let vkey = vkey.map(str::parse::<VerifierKey>).transpose()?;
    let proof = match Proof::parse(&bytes) {
        Ok(proof) => proof,
        Err(why) => return verdict(None, Err(why), None, console),
    };
    let judge = match vkey {
        Some(vkey) => Judge::Key(vkey),
        None => {
            let trust = house.trust_or_empty()?;
            let name = |key: &holdfast_keys::TrustedKey| key.name().as_str() == proof.origin;
            if !trust.keys().any(name) {
                return Err(CliError::NoKeyFor { origin: proof.origin }.into());
            }
            Judge::Trust(trust)
        }
    };
    let mut by = None;
    let held = proof.check(|checkpoint, note| {
        by = Some(judge.signed(checkpoint, note)?.to_string());
        Ok(())
    });
    verdict(Some(&proof), held, by, console)
}

/// Whom the checkpoint's signature is to be by.
enum Judge {
    Key(VerifierKey),
    Trust(holdfast_keys::TrustSet),
}

impl Judge {
    fn signed(&self, checkpoint: &Checkpoint, note: &Note) -> Result<VerifierKey, String> {
        match self {
            Judge::Key(key) if key.algorithm != NoteAlgorithm::Ed25519 => {
                Err("the verifier key is a witness's, and a log's is needed".to_owned())
            }
            Judge::Key(key) if key.name != KeyName::from(&checkpoint.origin) => Err(format!(
                "the verifier key is that of {}, and the checkpoint is of {}",
                key.name, checkpoint.origin
            )),
            Judge::Key(key) => match note::verify(note, &key.name, &key.public) {
                Ok(_) => Ok(key.clone()),
                Err(e) => Err(e.to_string()),
            },
            Judge::Trust(trust) => signer(trust, checkpoint, note)
                .ok_or_else(|| "no trusted key has signed the checkpoint".to_owned()),
        }
    }
}

fn verdict(
    proof: Option<&Proof>,
    held: Result<Checkpoint, String>,
    by: Option<String>,
    console: &mut Console,
) -> Result<Exit> {
    let exit = if held.is_ok() { Exit::Ok } else { Exit::Negative };
    let sentence = proof.map(|p| p.claim.sentence(&p.origin));
    if console.is_json() {
        let kind = proof.map(|p| match p.claim {
            Claim::Inclusion { .. } => "inclusion",
            Claim::Consistency { .. } => "consistency",
        });
        console.json(&json!({
            "holds": held.is_ok(),
            "origin": proof.map(|p| &p.origin),
            "kind": kind,
            "sentence": sentence,
            "why": held.as_ref().err(),
            "vkey": by,
        }))?;
        return Ok(exit);
    }
    let style = console.out_style;
    let text = match held {
        Ok(checkpoint) => {
            let by = by.unwrap_or_default();
            format!(
                "{} holds: {}\nThe checkpoint over {} carries a signature by\n  {}\n",
                style.shape(Shape::Settled),
                printable(&sentence.unwrap_or_default()),
                entries(checkpoint.size),
                printable(&by)
            )
        }
        Err(why) => format!("{} does not hold: {}\n", style.shape(Shape::Failed), printable(&why)),
    };
    console.write(text.as_bytes())?;
    Ok(exit)
}
