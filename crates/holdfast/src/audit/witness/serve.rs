//! The witness's side: a key and a name of its own, and cosignatures for logs it trusts.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_durable::Mode;
use holdfast_journal::{Refused, Request, Witness};
use holdfast_keys::{FileError, KeyName, Role, SecretKey, VerifierKey, file};
use holdfast_types::Exit;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::signed_by_trusted;
use crate::console::Console;
use crate::house::{House, now, read_input, reading, verifier_key, writing};
use crate::look::{Shape, entries};
use crate::problem::{CliError, Failure, Result};

/// Make this home a witness for other logs
///
/// Safe to repeat: a key that is there is kept.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: name, vkey (null in a dry run that would make the key), key, made, dry_run.")]
pub(crate) struct InitArgs {
    /// The name others will know this witness by: witness.example/w1
    #[arg(long, value_name = "NAME")]
    name: KeyName,

    /// Say what would be made and make nothing
    #[arg(long)]
    dry_run: bool,
}

/// Cosign another log's checkpoint, if it continues what was cosigned before
///
/// Prints the checkpoint with the cosignature under it, for the log to accept.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: witness, note (null in a dry run), dry_run.")]
pub(crate) struct CosignArgs {
    /// The request; - reads standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,

    /// The witness's name [default: the one given to `witness init`]
    #[arg(long, value_name = "NAME")]
    name: Option<KeyName>,

    /// Read the request and say what it asks; cosign nothing
    #[arg(long)]
    dry_run: bool,
}

/// A request has a note of at most 64 KiB and 63 hashes.
const REQUEST_SIZE_MAX: u64 = 128 * 1024;

/// `etc/witness.json`: public, so that the name need not be said each time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    format: u64,
    name: KeyName,
    vkey: String,
}

pub(super) fn init(args: &InitArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let places = &house.places;
    if let Some(card) = card(house)? {
        check_name(&card, Some(&args.name))?;
    }
    let path = places.witness_key();
    let there = match file::read_key(&path, Role::Witness) {
        Ok(file) => Some(file.key),
        Err(FileError::Missing { .. }) => None,
        Err(e) => return Err(e.into()),
    };
    let made = there.is_none();
    let public = |key: &SecretKey| verifier_key(args.name.clone(), Role::Witness, &key.public());
    if args.dry_run {
        return init_dry_run(args, there.as_ref().map(public), house, console);
    }
    for dir in [places.keys(), places.state.clone()] {
        holdfast_durable::create_dir(&dir).map_err(|e| writing(&dir, e))?;
    }
    let key = there.map_or_else(|| make_key(&path), Ok)?;
    let vkey = public(&key);
    save_card(house, &args.name, &vkey)?;
    if console.is_json() {
        let vkey = vkey.to_string();
        console
            .json(&json!({"name": args.name, "vkey": vkey, "key": path, "made": made, "dry_run": false}))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let word = if made { "made" } else { "there already" };
        let program = places.program();
        console.write(
            format!(
                "\
verifier key, for the logs that are to ask this witness
  {vkey}

next
  {program} audit witness trust LOG-VERIFIER-KEY
  {program} audit witness cosign REQUEST

{mark} {word}: witness {} with {}
",
                args.name,
                places.shown(&path)
            )
            .as_bytes(),
        )?;
    }
    Ok(Exit::Ok)
}

fn make_key(path: &Path) -> Result<SecretKey> {
    let key = SecretKey::generate()?;
    match file::create_key(path, &key, Role::Witness, now()) {
        Err(FileError::Io { source, .. }) => Err(writing(path, source).into()),
        made => Ok(made.map(|()| key)?),
    }
}

fn init_dry_run(
    args: &InitArgs,
    there: Option<VerifierKey>,
    house: &House,
    console: &mut Console,
) -> Result<Exit> {
    let path = house.places.witness_key();
    if console.is_json() {
        let vkey = there.map(|vkey| vkey.to_string());
        console
            .json(&json!({"name": args.name, "vkey": vkey, "key": path, "made": false, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let word = if there.is_some() { "would keep" } else { "would make" };
        let (name, key) = (&args.name, house.places.shown(&path));
        console.line(&format!("{mark} {word}: witness {name} with {key}"))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn cosign(args: &CosignArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let places = &house.places;
    let card = card(house)?.ok_or(CliError::NotAWitness)?;
    check_name(&card, args.name.as_ref())?;
    let key = file::read_key(&places.witness_key(), Role::Witness)?.key;
    let text = read_input(&args.file, REQUEST_SIZE_MAX)?;
    let not_text = |_| Refused::Malformed("it is not UTF-8".into());
    let text = String::from_utf8(text).map_err(not_text).map_err(|e| refused(e.into()))?;
    let request = Request::parse(&text).map_err(|e| refused(e.into()))?;
    if args.dry_run {
        return cosign_dry_run(&request, &card, house, console);
    }
    let trust = house.trust()?;
    let _turn = take_turn(house)?;
    let mut witness = Witness::open(card.name.clone(), key, &places.witness_seen())?;
    let unix_secs = u64::try_from(now().as_micros() / 1_000_000).unwrap_or(0);
    let note = witness.cosign(&request, &trust, unix_secs).map_err(refused)?;
    if console.is_json() {
        console.json(&json!({"witness": card.name, "note": note, "dry_run": false}))?;
    } else {
        console.write(note.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// The journal speaks as the log does; here it is the witness that refuses.
fn refused(e: holdfast_journal::Error) -> Failure {
    let mut problem = e.problem();
    if let holdfast_journal::Error::Witness(why) = e {
        problem.what = format!("the request is refused: {why}");
        problem.untouched = "Nothing was cosigned.".to_owned();
        problem.hint = "Ask for a new request; a log that went back or parted is an alarm.".to_owned();
    }
    problem.into()
}

/// Whether it continues what was cosigned before is checked when it is cosigned.
fn cosign_dry_run(request: &Request, card: &Card, house: &House, console: &mut Console) -> Result<Exit> {
    let asked = signed_by_trusted(request.note.as_bytes(), house)?;
    if console.is_json() {
        console.json(&json!({"witness": card.name, "note": null, "dry_run": true}))?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let (origin, size) = (asked.origin, entries(asked.size));
        console.line(&format!("{mark} would cosign {size} of {origin}, if they continue what was seen"))?;
    }
    Ok(Exit::Ok)
}

/// One at a time: two that both read what was seen last could cosign two logs that have parted.
fn take_turn(house: &House) -> Result<std::fs::File> {
    let path = house.places.witness_seen().with_extension("lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = opened.map_err(|e| writing(&path, e))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| writing(&path, e.into()))?;
    Ok(lock)
}

fn card(house: &House) -> Result<Option<Card>> {
    let path = house.places.witness_name();
    match std::fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(card) => Ok(Some(card)),
            Err(e) => Err(reading(&path, std::io::Error::other(e)).into()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(reading(&path, e).into()),
    }
}

fn check_name(card: &Card, asked: Option<&KeyName>) -> Result<()> {
    match asked {
        Some(asked) if *asked != card.name => Err(Failure::from(CliError::OtherWitness {
            found: card.name.to_string(),
            asked: asked.to_string(),
        })),
        _ => Ok(()),
    }
}

fn save_card(house: &House, name: &KeyName, vkey: &VerifierKey) -> Result<()> {
    let path = house.places.witness_name();
    let card = json!(Card { format: 1, name: name.clone(), vkey: vkey.to_string() });
    let bytes = format!("{card:#}\n");
    if std::fs::read(&path).is_ok_and(|there| there == bytes.as_bytes()) {
        return Ok(());
    }
    Ok(holdfast_durable::replace(&path, bytes.as_bytes(), Mode::Readable).map_err(|e| writing(&path, e))?)
}
