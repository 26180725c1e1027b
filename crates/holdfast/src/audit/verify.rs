//! `holdfast audit verify`: every byte of the log against every promise it makes.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use holdfast_api::{LogFinding, LogUnchecked, LogVerified};
use holdfast_journal::{Archive, Damage, Finding, Progress, Verification, VerifyOptions, verify};
use holdfast_types::Exit;

use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::{Shape, Style, bytes, count, entries, number, printable, table};
use crate::problem::{Failure, Result};

/// Check every entry, hash, checkpoint, signature and sealed text
///
/// Needs no lock and changes nothing. Exit code 0: all is well. 1: only a torn end, which the next write sets
/// aside. 7: damaged. 3: it could not be checked, or the signatures could not, for want of a trust set.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: verdict (verified, torn, damaged or unchecked), origin, first, size, root, segments, bytes, \
checkpoints, signatures, checkpointed, unsigned, trusted, blobs, blobs_erased, blobs_opened, witnessed, \
clock_steps_back, being_written, findings[] (kind torn or damaged, file, offset, seq or null, what), \
findings_left_out, unchecked[] (what could not be checked, and why).")]
pub(crate) struct VerifyArgs {
    /// Also the signatures inside segments, which later ones cover
    #[arg(long)]
    every_signature: bool,

    #[command(flatten)]
    archive: ArchiveArgs,
}

pub(crate) fn run(args: &VerifyArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let archive = args.archive.open()?;
    house.view(&args.archive)?;
    let started = Instant::now();
    let shown: &Console = console;
    let mut progress = |p: Progress| shown.progress(&progress_line(p, started.elapsed().as_secs_f64()));
    let checked = checked(house, archive, args.every_signature, &mut progress);
    console.progress("");
    let checked = checked?;
    if console.is_json() {
        console.told_as_json(&checked.told())?;
    } else {
        let text = to_text(&checked.found, checked.verdict(), &checked.unchecked, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(checked.verdict().exit())
}

/// What a look at every byte came to.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) found: Verification,
    unchecked: Vec<Unchecked>,
    opened: bool,
}

impl Checked {
    fn verdict(&self) -> Verdict {
        judge(&self.found, &self.unchecked)
    }

    pub(crate) fn told(&self) -> LogVerified {
        in_full(&self.found, self.verdict(), &self.unchecked, self.opened)
    }
}

/// Looks at every byte. What cannot be looked at for want of a trust set or a vault is said.
pub(crate) fn checked(
    house: &House,
    archive: Option<Arc<dyn Archive>>,
    every_signature: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Checked> {
    let mut unchecked = Vec::new();
    let trust = match house.trust() {
        Ok(trust) => Some(trust),
        Err(e) => {
            unchecked.push(Unchecked::signatures(&e.problem().what));
            None
        }
    };
    let vault = match house.vault() {
        Ok(Some(vault)) => Some(vault),
        Ok(None) => {
            unchecked.push(Unchecked::texts("there is no vault here"));
            None
        }
        Err(Failure::Problem(problem)) => {
            unchecked.push(Unchecked::texts(&problem.what));
            None
        }
        Err(other) => return Err(other),
    };
    let options =
        VerifyOptions { trust: trust.as_ref(), vault: vault.as_ref(), archive, every_signature, progress };
    let found = verify(&house.places.journal(), options)?;
    // A vault that is missing matters only where there is something it would open.
    unchecked.retain(|u| u.what == SIGNATURES || found.blobs > 0);
    Ok(Checked { found, unchecked, opened: vault.is_some() })
}

const SIGNATURES: &str = "signatures";

/// What could not be checked, and why. It is shown, and never counted as good.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unchecked {
    what: &'static str,
    why: String,
}

impl Unchecked {
    fn signatures(why: &str) -> Unchecked {
        Unchecked { what: SIGNATURES, why: why.to_owned() }
    }

    fn texts(why: &str) -> Unchecked {
        Unchecked { what: "sealed texts", why: why.to_owned() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Verified,
    Torn,
    Damaged,
    Unchecked,
}

impl Verdict {
    const fn exit(self) -> Exit {
        match self {
            Verdict::Verified => Exit::Ok,
            Verdict::Torn => Exit::Negative,
            Verdict::Damaged => Exit::Damaged,
            Verdict::Unchecked => Exit::CouldNotCheck,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Torn => "torn",
            Verdict::Damaged => "damaged",
            Verdict::Unchecked => "unchecked",
        }
    }
}

fn judge(checked: &Verification, unchecked: &[Unchecked]) -> Verdict {
    if checked.is_damaged() {
        Verdict::Damaged
    } else if !checked.is_good() {
        Verdict::Torn
    } else if unchecked.iter().any(|u| u.what == SIGNATURES) {
        Verdict::Unchecked
    } else {
        Verdict::Verified
    }
}

fn to_text(checked: &Verification, verdict: Verdict, unchecked: &[Unchecked], style: Style) -> String {
    // The root stands apart: beside a label it would not fit 80 columns.
    let mut out = format!("{}\nroot {}\n\n", checked.origin, checked.root);
    out.push_str(&table(&summary(checked), style));
    out.push('\n');
    for finding in &checked.findings {
        out.push_str(&finding_line(finding, style));
    }
    if checked.findings_left_out > 0 {
        out.push_str(&format!("  and {} more\n", number(checked.findings_left_out)));
    }
    for Unchecked { what, why } in unchecked {
        out.push_str(&format!("{} {what} not checked: {}\n", style.shape(Shape::Unknown), printable(why)));
    }
    if !checked.findings.is_empty() || !unchecked.is_empty() {
        out.push('\n');
    }
    out.push_str(&last_line(checked, verdict, style));
    out
}

fn summary(v: &Verification) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |label: &str, value: String| rows.push((label.to_owned(), value));
    let here = match v.first {
        0 => number(v.size),
        first => format!("{}, the first {} are in the archive", number(v.size), number(first)),
    };
    row("entries", here);
    row("segments", format!("{}, {}", number(v.segments), bytes(v.bytes)));
    let signatures = if v.trusted {
        format!("{} checked", count(v.signatures, "signature", "signatures"))
    } else {
        "no signature checked".to_owned()
    };
    row("checkpoints", format!("{}, {signatures}", number(v.checkpoints)));
    let unsigned = match unsigned(v) {
        0 => "all signed".to_owned(),
        n => format!("{} not signed yet", number(n)),
    };
    row("last checkpoint", format!("over {}, {unsigned}", entries(v.checkpointed)));
    if v.blobs > 0 {
        row("sealed texts", format!("{}, {} erased", number(v.blobs), number(v.blobs_erased)));
    }
    if v.witnessed > 0 {
        row("witnesses", count(v.witnessed, "cosignature holds", "cosignatures hold"));
    }
    if v.clock_steps_back > 0 {
        let times = count(v.clock_steps_back, "time", "times");
        row("clock", format!("went back {times}; order is by number, not by time"));
    }
    if v.being_written {
        row("writer", "another process has the journal open".to_owned());
    }
    rows
}

fn unsigned(v: &Verification) -> u64 {
    v.size.saturating_sub(v.checkpointed)
}

fn finding_line(finding: &Finding, style: Style) -> String {
    let (shape, word, damage) = match finding {
        Finding::Torn(damage) => (Shape::NeedsYou, "torn end", damage),
        Finding::Damaged(damage) => (Shape::Failed, "damaged", damage),
    };
    let Damage { file, offset, seq, what } = damage;
    let entry = seq.map(|seq| format!(" (entry {seq})")).unwrap_or_default();
    // Two lines: the name of a segment alone takes a third of 80 columns.
    let place = format!("{file} at byte {offset}{entry}");
    format!("{} {word}: {}:\n  {}\n", style.shape(shape), printable(&place), printable(what))
}

/// The line that stands alone in a log.
fn last_line(v: &Verification, verdict: Verdict, style: Style) -> String {
    let here = entries(v.size);
    let root = short(&v.root.to_string());
    let found = v.findings.len() as u64 + v.findings_left_out;
    match verdict {
        Verdict::Verified => format!("{} verified: {here}, root {root}\n", style.shape(Shape::Settled)),
        Verdict::Torn => format!(
            "{} torn end: {here} are whole; the next write sets the rest aside\n",
            style.shape(Shape::NeedsYou)
        ),
        Verdict::Damaged => {
            format!("{} damaged: {}\n", style.shape(Shape::Failed), count(found, "finding", "findings"))
        }
        Verdict::Unchecked => format!(
            "{} not fully checked: {here} hold together, no signature was checked\n",
            style.shape(Shape::Unknown)
        ),
    }
}

/// A digest as it is told apart from others: its kind and 16 digits.
fn short(digest: &str) -> String {
    let shown: String = digest.chars().take("sha256:".len() + 16).collect();
    format!("{shown}…")
}

fn in_full(v: &Verification, verdict: Verdict, unchecked: &[Unchecked], vault: bool) -> LogVerified {
    let finding = |finding: &Finding| {
        let (kind, damage) = match finding {
            Finding::Torn(damage) => ("torn", damage),
            Finding::Damaged(damage) => ("damaged", damage),
        };
        let Damage { file, offset, seq, what } = damage.clone();
        LogFinding { kind: kind.to_owned(), file, offset, seq, what }
    };
    let not = |u: &Unchecked| LogUnchecked { what: u.what.to_owned(), why: u.why.clone() };
    LogVerified {
        verdict: verdict.word().to_owned(),
        origin: v.origin.to_string(),
        first: v.first,
        size: v.size,
        root: v.root.to_string(),
        segments: v.segments,
        bytes: v.bytes,
        checkpoints: v.checkpoints,
        signatures: v.signatures,
        checkpointed: v.checkpointed,
        unsigned: unsigned(v),
        trusted: v.trusted,
        blobs: v.blobs,
        blobs_erased: v.blobs_erased,
        blobs_opened: vault,
        witnessed: v.witnessed,
        clock_steps_back: v.clock_steps_back,
        being_written: v.being_written,
        findings: v.findings.iter().map(finding).collect(),
        findings_left_out: v.findings_left_out,
        unchecked: unchecked.iter().map(not).collect(),
    }
}

/// What, how far, how long.
fn progress_line(p: Progress, seconds: f64) -> String {
    let share = if p.total == 0 { 1.0 } else { (p.bytes as f64 / p.total as f64).min(1.0) };
    let left = if share > 0.0 { seconds / share - seconds } else { 0.0 };
    format!(
        "verifying  {} of {}  {:.0} %  {}  about {left:.0} s left",
        bytes(p.bytes),
        bytes(p.total),
        share * 100.0,
        entries(p.entries),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_types::Digest;

    fn verification() -> Verification {
        Verification {
            origin: "holdfast/test".parse().unwrap(),
            first: 0,
            size: 1_234,
            root: Digest::sha256([0xab; 32]),
            segments: 2,
            bytes: 5 << 20,
            checkpoints: 13,
            signatures: 2,
            checkpointed: 1_200,
            trusted: true,
            blobs: 3,
            blobs_erased: 1,
            witnessed: 1,
            clock_steps_back: 2,
            being_written: false,
            findings: Vec::new(),
            findings_left_out: 0,
        }
    }

    fn damage() -> Damage {
        Damage {
            file: "00000000000000000000.jsonl".into(),
            offset: 4711,
            seq: Some(12),
            what: "the entry and the stored hash of it differ".into(),
        }
    }

    fn check(v: &Verification, unchecked: &[Unchecked]) -> String {
        to_text(v, judge(v, unchecked), unchecked, Style::plain())
    }

    #[test]
    fn a_good_log_is_told_calmly() {
        insta::assert_snapshot!(check(&verification(), &[]));
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let mut v = verification();
        v.findings = vec![Finding::Damaged(damage()), Finding::Torn(damage())];
        v.findings_left_out = 1;
        insta::assert_snapshot!(check(&v, &[]));
        assert_eq!(judge(&v, &[]).exit(), Exit::Damaged);
    }

    #[test]
    fn what_could_not_be_checked_is_never_shown_as_good() {
        let unchecked = [Unchecked::signatures("there is no file /etc/holdfast/trust.json")];
        let mut v = verification();
        v.trusted = false;
        v.signatures = 0;
        insta::assert_snapshot!(check(&v, &unchecked));
        assert_eq!(judge(&v, &unchecked).exit(), Exit::CouldNotCheck);
        assert_eq!(judge(&v, &[Unchecked::texts("x")]).exit(), Exit::Ok);
    }

    #[test]
    fn progress_says_what_how_far_and_how_long() {
        let p = Progress { bytes: 16 << 20, total: 64 << 20, entries: 40_000 };
        assert_eq!(
            progress_line(p, 1.0),
            "verifying  16.0 MiB of 64.0 MiB  25 %  40,000 entries  about 3 s left"
        );
    }
}
