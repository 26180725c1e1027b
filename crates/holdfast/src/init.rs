//! `holdfast init`: makes a home, or completes one that was half made. Nothing that exists is written over.
//!
//! The order is such that a crash anywhere leaves something a second run completes: directories, keys, vault,
//! trust set, journal, first entry. What cannot be completed without doing harm, a journal whose key is gone,
//! is refused.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use holdfast_journal::{Draft, Journal, SystemClock, Vault, View};
use holdfast_keys::{FileError, KeyName, Role, SecretKey, TrustSet, TrustedKey, VerifierKey, file};
use holdfast_types::{Exit, Origin, Trust};
use serde_json::{Map, json};

use crate::console::Console;
use crate::house::{ArchiveArgs, House, now, say_what_was_mended, this_user, verifier_key, writing};
use crate::kinds::{INITIALISED, TRUST_REMADE, draft};
use crate::look::{Shape, Style, entries, table};
use crate::office::Office;
use crate::places::Places;
use crate::problem::{CliError, Failure, Result};
use crate::settings::Overlay;

/// Make the keys, the vault, the trust set and the journal
///
/// Safe to repeat: what is there is never written over, what is missing is completed. The offline policy key
/// is not made here; an operator may add one later.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: origin, home (null for a system install), etc, state, run, made[], kept[], complete, \
dry_run, entries, vkey (null in a dry run that would make the key), copy_away, policy_key, next[].")]
pub(crate) struct InitArgs {
    /// Name of this instance; the log is called holdfast/NAME [default: the host's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Show what would be made and make nothing
    #[arg(long)]
    dry_run: bool,

    /// Make a new trust set in place of a lost one: keys that were revoked in it are believed again, if they are this
    /// home's own, and its witnesses are forgotten
    #[arg(long)]
    lose_revocations: bool,
}

pub(crate) fn run(args: &InitArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let found = look_around(&house.places)?;
    let origin = found.origin(args.name.as_deref())?;
    found.check(&house.places, args)?;
    let plan = plan(&house.places, &found);
    let report = if args.dry_run {
        Report {
            vkey: found.log_key.as_ref().map(|key| vkey(&origin, key)),
            entries: found.entries,
            dry_run: true,
            origin,
            plan,
        }
    } else {
        if found.trust_is_lost(&house.places) {
            console
                .warn("the trust set is gone, and a new one is made: it has no witnesses and no revocations");
            replace_lost_trust(house)?;
        }
        carry_out(house, origin, plan, console)?
    };
    if console.is_json() {
        console.json(&report.to_json(&house.places))?;
    } else {
        let text = report.to_text(&house.places, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// Makes a home for a daemon that found none.
pub(crate) fn first_time(house: &House, console: &mut Console) -> Result<()> {
    run(&InitArgs { name: None, dry_run: false, lose_revocations: false }, house, console).map(drop)
}

/// One thing a home has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    LogKey,
    ManifestKey,
    ApprovalsKey,
    Vault,
    Trust,
    Journal,
}

impl Piece {
    const ALL: [Piece; 6] =
        [Piece::LogKey, Piece::ManifestKey, Piece::ApprovalsKey, Piece::Vault, Piece::Trust, Piece::Journal];

    fn path(self, places: &Places) -> PathBuf {
        match self {
            Piece::LogKey => places.log_key(),
            Piece::ManifestKey => places.manifest_key(),
            Piece::ApprovalsKey => places.approvals_key(),
            Piece::Vault => places.vault(),
            Piece::Trust => places.trust(),
            Piece::Journal => places.journal(),
        }
    }

    const fn purpose(self) -> &'static str {
        match self {
            Piece::LogKey => "signs the journal's checkpoints",
            Piece::ManifestKey => "signs state manifests",
            Piece::ApprovalsKey => "signs approvals",
            Piece::Vault => "opens sealed texts, and forgets them one by one",
            Piece::Trust => "which keys are believed, and for what",
            Piece::Journal => "everything that happens",
        }
    }
}

/// What is there before anything is made.
#[derive(Debug, Default)]
struct Found {
    log_key: Option<SecretKey>,
    manifest_key: Option<SecretKey>,
    approvals_key: Option<SecretKey>,
    vault: bool,
    trust: Option<TrustSet>,
    journal: Option<Origin>,
    entries: u64,
}

fn look_around(places: &Places) -> Result<Found> {
    let key = |path: PathBuf, role| match file::read_key(&path, role) {
        Ok(file) => Ok(Some(file.key)),
        Err(FileError::Missing { .. }) => Ok(None),
        Err(e) => Err(Failure::from(e)),
    };
    let trust = match file::load_trust(&places.trust()) {
        Ok(trust) => Some(trust),
        Err(FileError::Missing { .. }) => None,
        Err(e) => return Err(e.into()),
    };
    let (journal, entries) = match View::open(&places.journal(), None) {
        Ok(view) => (Some(view.origin().clone()), view.size()?),
        Err(holdfast_journal::Error::Missing { .. }) => (None, 0),
        Err(e) => return Err(e.into()),
    };
    Ok(Found {
        log_key: key(places.log_key(), Role::Log)?,
        manifest_key: key(places.manifest_key(), Role::Manifest)?,
        approvals_key: key(places.approvals_key(), Role::Approvals)?,
        vault: places.vault().exists(),
        trust,
        journal,
        entries,
    })
}

impl Found {
    /// The log's name: what it is already called, else what was asked for, else the host's name.
    fn origin(&self, asked: Option<&str>) -> Result<Origin> {
        let asked = asked.map(named).transpose()?;
        let already = self.journal.clone().or_else(|| self.trusted_origin());
        match (already, asked) {
            (Some(found), Some(asked)) if found != asked => {
                Err(CliError::OtherInstance { found, asked }.into())
            }
            (Some(origin), _) | (None, Some(origin)) => Ok(origin),
            (None, None) => named(&instance_from(&host_name())),
        }
    }

    /// A crash between trust set and journal left the name in the trust set only.
    fn trusted_origin(&self) -> Option<Origin> {
        let key = self.log_key.as_ref()?;
        let trusted = self.trust.as_ref()?.get(key.id())?;
        trusted.name().as_str().parse().ok()
    }

    /// Refuses what a new file would only hide.
    fn check(&self, places: &Places, args: &InitArgs) -> Result<()> {
        let lost = |path: PathBuf| Err(CliError::KeyLost { path }.into());
        if self.journal.is_some() && self.log_key.is_none() {
            return lost(places.log_key());
        }
        if self.journal.is_none() && places.made().exists() {
            return Err(CliError::JournalLost { path: places.journal() }.into());
        }
        // Whatever was sealed could not be opened with a new vault, and would look damaged.
        if self.entries > 0 && !self.vault {
            return lost(places.vault());
        }
        if self.trust_is_lost(places) && !args.lose_revocations {
            return Err(CliError::TrustLost { path: places.trust() }.into());
        }
        Ok(())
    }

    /// A home is whole when it has its mark, and then it had a trust set.
    fn trust_is_lost(&self, places: &Places) -> bool {
        self.trust.is_none() && (self.entries > 0 || places.made().exists())
    }

    fn has(&self, piece: Piece) -> bool {
        match piece {
            Piece::LogKey => self.log_key.is_some(),
            Piece::ManifestKey => self.manifest_key.is_some(),
            Piece::ApprovalsKey => self.approvals_key.is_some(),
            Piece::Vault => self.vault,
            Piece::Trust => self.trust.as_ref().is_some_and(|trust| self.trusts_own_keys(trust)),
            Piece::Journal => self.journal.is_some() && self.entries > 0,
        }
    }

    fn trusts_own_keys(&self, trust: &TrustSet) -> bool {
        let known = |key: &Option<SecretKey>| key.as_ref().is_some_and(|key| trust.get(key.id()).is_some());
        known(&self.log_key) && known(&self.manifest_key) && known(&self.approvals_key)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Plan {
    make: Vec<Piece>,
    keep: Vec<Piece>,
    dirs: Vec<PathBuf>,
}

fn plan(places: &Places, found: &Found) -> Plan {
    let (keep, make) = Piece::ALL.into_iter().partition(|piece| found.has(*piece));
    let dirs = [places.keys(), places.state.clone(), places.run.clone()];
    let dirs = dirs.into_iter().filter(|dir| !dir.is_dir()).collect();
    Plan { make, keep, dirs }
}

fn carry_out(house: &House, origin: Origin, plan: Plan, console: &Console) -> Result<Report> {
    let places = &house.places;
    for dir in &plan.dirs {
        holdfast_durable::create_dir(dir).map_err(|e| writing(dir, e))?;
    }
    let log = key_at(&places.log_key(), Role::Log)?;
    let manifest = key_at(&places.manifest_key(), Role::Manifest)?;
    let approvals = key_at(&places.approvals_key(), Role::Approvals)?;
    if plan.make.contains(&Piece::Vault) {
        make_vault(&places.vault())?;
    }
    let own = [(&log, Role::Log), (&manifest, Role::Manifest), (&approvals, Role::Approvals)];
    trust_own_keys(house, &origin, &own)?;
    let vkey = vkey(&origin, &log);
    if plan.make.contains(&Piece::Journal) {
        make_journal(house, &origin, log, &vkey, console)?;
    }
    leave_mark(places, &origin)?;
    Ok(Report {
        entries: house.view(&ArchiveArgs::default())?.size()?,
        vkey: Some(vkey),
        dry_run: false,
        origin,
        plan,
    })
}

/// An empty trust set in place of the lost one. The log says so first: whoever reads it later learns from when on
/// revocations are missing.
fn replace_lost_trust(house: &House) -> Result<()> {
    let office = Office::open(house, &Overlay::of_this_process(&[]))?;
    office.journal.append(&draft(&TRUST_REMADE, this_user()?, Trust::Trusted, Map::new())?)?;
    drop(office);
    house.save_trust(&TrustSet::default())
}

/// The key that approves. A home that was made before there was one gets it now; one whose trust set knows such a key
/// does not: a lost key is put back, or replaced by a person who edits the trust set.
pub(crate) fn approvals_key(house: &House, origin: &Origin) -> Result<SecretKey> {
    let path = house.places.approvals_key();
    let believes_one =
        || -> Result<bool> { Ok(house.trust()?.keys().any(|key| key.role() == Role::Approvals)) };
    match file::read_key(&path, Role::Approvals) {
        Err(FileError::Missing { .. }) if !believes_one()? => {}
        read => return Ok(read?.key),
    }
    let key = key_at(&path, Role::Approvals)?;
    trust_own_keys(house, origin, &[(&key, Role::Approvals)])?;
    Ok(key)
}

/// The key that is there, or a new one.
pub(crate) fn key_at(path: &Path, role: Role) -> Result<SecretKey> {
    match file::read_key(path, role) {
        Err(FileError::Missing { .. }) => {}
        read => return Ok(read?.key),
    }
    let key = SecretKey::generate()?;
    match file::create_key(path, &key, role, now()) {
        Err(FileError::Io { source, .. }) => Err(writing(path, source).into()),
        made => Ok(made.map(|()| key)?),
    }
}

fn make_vault(path: &Path) -> Result<()> {
    match Vault::create(path) {
        Err(holdfast_journal::Error::Io(e)) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

/// Adds what is missing; what is there, also what was revoked, stays as it is.
pub(crate) fn trust_own_keys(house: &House, origin: &Origin, own: &[(&SecretKey, Role)]) -> Result<()> {
    let mut trust = house.trust_to_add_to()?;
    let before = trust.clone();
    for (key, role) in own {
        if trust.get(key.id()).is_none() {
            trust.add(TrustedKey::new(key.public(), *role, KeyName::from(origin), now()))?;
        }
    }
    if trust != before {
        house.save_trust(&trust)?;
    }
    Ok(())
}

fn make_journal(
    house: &House,
    origin: &Origin,
    log: SecretKey,
    vkey: &VerifierKey,
    console: &Console,
) -> Result<()> {
    match Journal::create(&house.places.journal(), origin, &[log], Arc::new(SystemClock::new())) {
        Err(holdfast_journal::Error::Exists { .. }) => {}
        made => made?,
    }
    let office = Office::open(house, &Overlay::of_this_process(&[]))?;
    say_what_was_mended(&office.journal, console);
    if office.journal.size() == 0 {
        office.journal.append(&first_entry(vkey)?)?;
    }
    Ok(())
}

/// The home is whole from now on.
fn leave_mark(places: &Places, origin: &Origin) -> Result<()> {
    // Nothing is written where it is, also aside: the disk may be read-only.
    if places.made().exists() {
        return Ok(());
    }
    let text = format!("{}\n", json!({"origin": origin, "at": now()}));
    match holdfast_durable::create(&places.made(), text.as_bytes(), holdfast_durable::Mode::Private) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => Ok(made.map_err(|e| writing(&places.made(), e))?),
    }
}

fn first_entry(vkey: &VerifierKey) -> Result<Draft> {
    let body = Map::from_iter([
        ("version".to_owned(), json!(env!("CARGO_PKG_VERSION"))),
        ("log_vkey".to_owned(), json!(vkey.to_string())),
    ]);
    Ok(draft(&INITIALISED, this_user()?, Trust::Trusted, body)?)
}

fn vkey(origin: &Origin, key: &SecretKey) -> VerifierKey {
    verifier_key(KeyName::from(origin), Role::Log, &key.public())
}

fn named(instance: &str) -> Result<Origin> {
    let origin = format!("holdfast/{instance}").parse();
    origin.map_err(|e: holdfast_types::NameError| {
        let message = format!("--name {instance:?} is not allowed: {}", e.rule);
        CliError::Usage { message }.into()
    })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A host's name as an instance: lower case, only what an origin may hold; `local` when nothing is left.
fn instance_from(host: &str) -> String {
    let kept = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '.' || *c == '-';
    let name: String = host.to_lowercase().chars().filter(kept).collect();
    let name = name.trim_start_matches(['.', '-']);
    let name: String = name.chars().take(63).collect();
    if name.is_empty() { "local".to_owned() } else { name }
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    plan: Plan,
    entries: u64,
    vkey: Option<VerifierKey>,
    dry_run: bool,
}

impl Report {
    fn to_json(&self, places: &Places) -> serde_json::Value {
        let paths = |pieces: &[Piece]| -> Vec<String> {
            pieces.iter().map(|p| p.path(places).display().to_string()).collect()
        };
        json!({
            "origin": self.origin,
            "home": places.home,
            "etc": places.etc,
            "state": places.state,
            "run": places.run,
            "made": paths(&self.plan.make),
            "kept": paths(&self.plan.keep),
            "complete": !self.dry_run || self.plan.make.is_empty(),
            "dry_run": self.dry_run,
            "entries": self.entries,
            "vkey": self.vkey.as_ref().map(ToString::to_string),
            "copy_away": places.etc,
            "policy_key": "not made",
            "next": next_commands(places),
        })
    }

    fn to_text(&self, places: &Places, style: Style) -> String {
        let mut out = String::new();
        let mut section = |heading: &str, pieces: &[Piece]| {
            if pieces.is_empty() {
                return;
            }
            let row = |p: &Piece| (places.shown(&p.path(places)), p.purpose().to_owned());
            let rows: Vec<_> = pieces.iter().map(row).collect();
            out.push_str(&format!("{heading}\n{}\n", table(&rows, Style::plain())));
        };
        let complete = self.plan.make.is_empty();
        if !complete {
            section(if self.dry_run { "would be made" } else { "made" }, &self.plan.make);
            section("kept as it was", &self.plan.keep);
        }
        if !complete && !self.dry_run {
            out.push_str(&advice(places));
        }
        if let Some(vkey) = &self.vkey {
            out.push_str(&format!("verifier key, for whoever is to check this log\n  {vkey}\n\n"));
        }
        if !complete && !self.dry_run {
            out.push_str(&format!("next\n  {}\n\n", next_commands(places).join("\n  ")));
        }
        out.push_str(&self.last_line(places, style));
        out
    }

    fn last_line(&self, places: &Places, style: Style) -> String {
        let place = places.home.as_ref().unwrap_or(&places.state).display();
        let origin = &self.origin;
        let (shape, word) = match (self.dry_run, self.plan.make.is_empty()) {
            (true, false) => (Shape::Unknown, "dry run, nothing was made"),
            (_, true) => (Shape::Settled, "complete, nothing to do"),
            (false, false) => (Shape::Settled, "ready"),
        };
        let size = entries(self.entries);
        format!("{} {word}: {origin} at {place}, {size}\n", style.shape(shape))
    }
}

fn advice(places: &Places) -> String {
    format!(
        "\
Copy {} to a safe place now. Without the keys nobody can go on
signing this log, and without the vault nobody can read its sealed texts.
No policy key was made: it belongs offline, and an operator may add one later.

",
        places.etc.display()
    )
}

fn next_commands(places: &Places) -> [String; 2] {
    let program = places.program();
    [format!("{program} audit tail"), format!("{program} audit verify")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_becomes_an_instance() {
        for (host, instance) in [
            ("web-1", "web-1"),
            ("Ana's MacBook.local", "anasmacbook.local"),
            ("-.x", "x"),
            ("日本", "local"),
            ("", "local"),
            (&"a".repeat(100), &"a".repeat(63)),
        ] {
            assert_eq!(instance_from(host), instance);
            assert!(named(&instance_from(host)).is_ok(), "{host}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_an_origin_is_refused_with_the_rule() {
        let Err(Failure::Problem(problem)) = named("Web 1") else { panic!("it was taken") };
        assert!(problem.what.contains("a-z 0-9 . -"), "{}", problem.what);
        assert_eq!(problem.exit, Exit::Usage);
    }
}
