//! Whom this home believes: witnesses of its log, and logs it witnesses for.

use std::collections::BTreeMap;

use clap::Args;
use holdfast_api::{LastCosigned, TrustedLog, TrustedWitness, Witnesses};
use holdfast_keys::note::NoteAlgorithm;
use holdfast_keys::{Role, TrustedKey, VerifierKey};
use holdfast_types::{Exit, Origin, Timestamp};
use serde_json::json;

use crate::console::Console;
use crate::house::{ArchiveArgs, House, verifier_key, writing};
use crate::look::{Shape, entries, time};
use crate::problem::{CliError, Result};

/// Believe a witness of this log, or a log this home is to witness
///
/// What the key is for stands in it: type 0x04 is a witness's, type 0x01 a log's. Compare it with its owner
/// before you trust it.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: name, role (witness or log), id, added, dry_run.")]
pub(crate) struct TrustArgs {
    /// The verifier key: NAME+8 hex digits+base64
    vkey: String,

    /// Show what would be added and add nothing
    #[arg(long)]
    dry_run: bool,
}

/// List witnesses, logs witnessed for, and what was cosigned last
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: witnesses[] and logs[], each with name, id, vkey, revoked, and for witnesses last (size and at of \
the newest cosignature here, or null).")]
pub(crate) struct ListArgs {}

pub(super) fn trust(args: &TrustArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let vkey: VerifierKey = args.vkey.parse()?;
    let role = match vkey.algorithm {
        NoteAlgorithm::Cosignature => Role::Witness,
        NoteAlgorithm::Ed25519 => Role::Log,
    };
    if role == Role::Log {
        refuse_own_name(&vkey, house)?;
    }
    let mut trust = house.trust_to_add_to()?;
    let there = trust.get(vkey.public.id());
    let known = there.is_some_and(|key| key.role() == role && *key.name() == vkey.name);
    if !known {
        // From the beginning of time: a cosignature made before we heard of the witness is as good as one
        // made after, and clocks differ.
        trust.add(TrustedKey::new(vkey.public, role, vkey.name.clone(), Timestamp::EPOCH))?;
        if !args.dry_run {
            let etc = &house.places.etc;
            holdfast_durable::create_dir(etc).map_err(|e| writing(etc, e))?;
            house.save_trust(&trust)?;
        }
    }
    let id = vkey.public.id();
    if console.is_json() {
        let added = !known && !args.dry_run;
        console.json(
            &json!({"name": vkey.name, "role": role, "id": id, "added": added, "dry_run": args.dry_run}),
        )?;
    } else {
        let (shape, word) = match (known, args.dry_run) {
            (true, _) => (Shape::Settled, "trusted already"),
            (false, false) => (Shape::Settled, "trusted"),
            (false, true) => (Shape::Unknown, "would be trusted"),
        };
        let mark = console.out_style.shape(shape);
        console.line(&format!("{mark} {word}: {} as {role}, key {id}", vkey.name))?;
    }
    Ok(Exit::Ok)
}

/// A second key under this log's own name could speak for it.
fn refuse_own_name(vkey: &VerifierKey, house: &House) -> Result<()> {
    match house.view(&ArchiveArgs::default()) {
        Ok(view) if view.origin().as_str() == vkey.name.as_str() => Err(CliError::Usage {
            message: format!(
                "{} is this log's own name, and its keys come from its own key files",
                vkey.name
            ),
        }
        .into()),
        // A home that is only a witness has no log of its own.
        _ => Ok(()),
    }
}

pub(super) fn list(_: &ListArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let told = believed(house)?;
    if console.is_json() {
        console.told_as_json(&told)?;
        return Ok(Exit::Ok);
    }
    let style = console.out_style;
    let mut out = String::new();
    for TrustedWitness { key, last } in &told.witnesses {
        let (shape, text) = match (key.revoked, last) {
            (true, _) => (Shape::Undone, "revoked".to_owned()),
            (false, Some(l)) => (Shape::Settled, format!("saw {} at {}", entries(l.size), time(l.at))),
            (false, None) => (Shape::Unknown, "nothing cosigned yet".to_owned()),
        };
        out.push_str(&format!("{} witness  {}  {text}\n", style.shape(shape), key.name));
    }
    for log in &told.logs {
        let mark = style.shape(Shape::Settled);
        out.push_str(&format!("{mark} log      {}  witnessed here on request\n", log.name));
    }
    if out.is_empty() {
        let program = house.places.program();
        out = format!(
            "No witnesses yet. A witness is somebody else who remembers how long this log was.\nnext: {program} audit witness trust VKEY\n"
        );
    }
    console.write(out.as_bytes())?;
    Ok(Exit::Ok)
}

/// Witnesses of this log with what each saw last, and logs that are witnessed for here.
pub(crate) fn believed(house: &House) -> Result<Witnesses> {
    let trust = house.trust_or_empty()?;
    let own: Option<Origin> = house.view(&ArchiveArgs::default()).ok().map(|v| v.origin().clone());
    let is_own = |key: &&TrustedKey| own.as_ref().is_some_and(|o| o.as_str() == key.name().as_str());
    let last = last_cosigned(house)?;
    let witness =
        |key: &TrustedKey| TrustedWitness { key: row(key), last: last.get(key.name().as_str()).copied() };
    Ok(Witnesses {
        witnesses: trust.keys().filter(|k| k.role() == Role::Witness).map(witness).collect(),
        logs: trust.keys().filter(|k| k.role() == Role::Log && !is_own(k)).map(row).collect(),
    })
}

fn row(key: &TrustedKey) -> TrustedLog {
    TrustedLog {
        name: key.name().to_string(),
        id: key.id().to_string(),
        vkey: verifier_key(key.name().clone(), key.role(), key.public()).to_string(),
        revoked: key.revoked().is_some(),
    }
}

/// What each witness saw last, from the cosigned checkpoints kept beside the log.
fn last_cosigned(house: &House) -> Result<BTreeMap<String, LastCosigned>> {
    let mut newest = BTreeMap::new();
    if !house.places.journal().exists() {
        // A home that only witnesses for others has no log of its own.
        return Ok(newest);
    }
    for kept in house.view(&ArchiveArgs::default())?.cosigned()? {
        let last = LastCosigned { size: kept.size, at: kept.at };
        let seen = newest.entry(kept.witness).or_insert(last);
        *seen = (*seen).max(last);
    }
    Ok(newest)
}
