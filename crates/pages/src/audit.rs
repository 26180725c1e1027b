//! The audit: what was written down, the latest first; whether it is whole; and one entry with its proof.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Fragment, Frame, frame_fragments, page};
use crate::pieces::{
    LINE_MAX, NAME_MAX, ROWS_MAX, actor, bdi, block, bytes, count, csrf, entry, exact, facts, id_copied,
    line, mark, number, query, raw, section, state, title, when,
};

/// A page of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    pub filter: AuditFilter,
    /// The latest first.
    pub entries: Vec<EntryLine>,
    /// Where the older ones begin, if there are any: entries below this seq.
    pub older_before: Option<u64>,
    /// Whether this is not the head of the list.
    pub paged: bool,
    pub verification: Verification,
}

/// Which entries are shown. Empty is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub room: String,
    /// The beginning of a kind, by whole words: `steward.trial`.
    pub kind: String,
    pub actor: String,
}

/// An entry in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryLine {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub actor: String,
    /// What it says, in a line: its body, or how long its sealed text is.
    pub says: String,
}

/// What came of checking the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Verified,
    /// Only the end is torn, which the next write sets aside.
    Torn,
    Damaged,
    /// Something could not be checked.
    Unchecked,
    /// It was not checked since the daemon started.
    Never,
}

/// How whole the log is, as of when.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    pub verdict: Verdict,
    pub at: Option<Timestamp>,
    /// It is being checked at the moment.
    pub running: bool,
    pub origin: String,
    /// Entries there are, and how many of them a signed checkpoint covers.
    pub entries: u64,
    pub checkpointed: u64,
    pub root: Option<String>,
    pub signatures: Option<u64>,
    /// Who witnessed it last.
    pub witnesses: Vec<Witness>,
    /// What is wrong or could not be checked, in sentences.
    pub findings: Vec<String>,
}

/// Somebody else who has seen the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    pub name: String,
    pub at: Timestamp,
    /// How many entries they have seen.
    pub size: u64,
}

/// An entry, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub seq: u64,
    pub at: Timestamp,
    pub room: String,
    pub kind: String,
    pub actor: String,
    pub trust: String,
    pub origin: String,
    /// The line as it is in the log.
    pub line: String,
    /// The text that lies sealed beside it.
    pub text: Option<SealedText>,
    pub proof: Proof,
    /// Whether there is one after it.
    pub newer: bool,
}

/// A text that may have to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealedText {
    Open(String),
    Sealed {
        bytes: u64,
    },
    Erased,
    /// It cannot be read, and why.
    Unreadable(String),
}

/// What proves an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    pub shown: Shown,
    /// How many entries the checkpoint covers, its root, and by which key it is signed.
    pub size: u64,
    pub root: String,
    pub leaf: String,
    /// How many hashes lead from the entry to the root.
    pub hashes: u64,
    pub key: String,
    pub witnesses: Vec<Witness>,
}

/// What checking the proof came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Checked for this page, against the trust set.
    Verified,
    /// No checkpoint covers it yet.
    NotSignedYet,
    /// It does not hold, and why.
    Wrong(String),
    /// It could not be checked, and why.
    Unchecked(String),
}

impl Verdict {
    fn look(self) -> (State, &'static str) {
        match self {
            Verdict::Verified => (State::Settled, "verified"),
            Verdict::Torn => (State::NeedsYou, "torn at the end"),
            Verdict::Damaged => (State::Failed, "damaged"),
            Verdict::Unchecked => (State::Unknown, "not all could be checked"),
            Verdict::Never => (State::Unknown, "not checked yet"),
        }
    }
}

/// `/audit?before=…&room=…&kind=…&actor=…`.
pub fn audit(frame: &Frame, view: &Audit) -> String {
    let body = html! {
        (title(None, html! { "Audit" }))
        (verification(frame, &view.verification))
        (filter(&view.filter))
        (entries(frame, view))
    };
    page(frame, "Audit", body)
}

/// What of it changes while it is open. Only the head of the list does.
pub fn audit_fragments(frame: &Frame, view: &Audit) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.push(Fragment::new("verification", verification(frame, &view.verification)));
    if !view.paged {
        all.push(Fragment::new("entries", entries(frame, view)));
    }
    all
}

fn verification(frame: &Frame, view: &Verification) -> Markup {
    let (shape, word) = view.verdict.look();
    section(
        "verification",
        "Is it whole?",
        html! {
            p.lead {
                (state(shape, Some(word)))
                @if let Some(at) = view.at { ", " (when(frame.now, at)) }
                @if view.running { " · being checked now" }
            }
            @for finding in view.findings.iter().take(20) { p { (mark(State::NeedsYou)) (bdi(finding, LINE_MAX)) } }
            details.more {
                summary { "What is checked, and by whom" }
                (checked(frame, view))
            }
        },
    )
}

fn checked(frame: &Frame, view: &Verification) -> Markup {
    let behind = view.entries.saturating_sub(view.checkpointed);
    html! {
        (facts(&[
            ("log", Some(bdi(&view.origin, NAME_MAX))),
            ("entries", Some(html! { (number(view.entries)) ", " @if behind == 0 { "all signed" } @else { (number(behind)) " not signed yet" } })),
            ("root", view.root.as_ref().map(|root| id_copied(root))),
            ("signatures", view.signatures.map(|n| html! { (number(n)) " good" })),
            ("witnesses", Some(witnesses(frame, &view.witnesses))),
        ]))
        div.buttons {
            @if frame.may_act() {
                form method="post" action="/audit/verify" { (csrf(frame)) button disabled[view.running] { "Check every byte now" } }
            }
            a.button href="/audit/checkpoint" download { "Get the checkpoint" }
        }
        p.note { "On another machine, with a copy of the state directory: " code { "holdfast audit verify" } }
    }
}

fn witnesses(frame: &Frame, all: &[Witness]) -> Markup {
    html! {
        @if all.is_empty() { "nobody has witnessed it yet" }
        @for (n, witness) in all.iter().take(20).enumerate() {
            @if n > 0 { br; }
            (bdi(&witness.name, NAME_MAX)) " saw " (count(witness.size, "entry", "entries")) ", " (when(frame.now, witness.at))
        }
    }
}

fn filter(view: &AuditFilter) -> Markup {
    let narrowed = *view != AuditFilter::default();
    html! {
        form.search.filter role="search" method="get" action="/audit" aria-label="Filter entries" {
            label.field { span { "Room" } input type="search" name="room" maxlength="80" value=(line(&view.room, NAME_MAX)) data-search; }
            label.field { span { "Kind" } input type="search" name="kind" maxlength="80" value=(line(&view.kind, NAME_MAX)) placeholder="steward.trial"; }
            label.field { span { "Actor" } input type="search" name="actor" maxlength="80" value=(line(&view.actor, NAME_MAX)); }
            button { "Filter" }
            @if narrowed { a.button href="/audit" { "Show all" } }
        }
    }
}

fn entries(frame: &Frame, view: &Audit) -> Markup {
    section(
        "entries",
        "Entries",
        html! {
            @if view.entries.is_empty() {
                p { @if view.filter == AuditFilter::default() { "Nothing was written down yet." } @else { "No entry is like that." } }
            } @else {
                ol.entries {
                    @for line_of in view.entries.iter().take(ROWS_MAX) { (entry_row(frame, line_of)) }
                }
            }
            (pages(view))
        },
    )
}

fn entry_row(frame: &Frame, view: &EntryLine) -> Markup {
    html! {
        li {
            a.seq href=(entry(view.seq)) { span.hush { "Entry " } (number(view.seq)) }
            span.at { (when(frame.now, view.at)) }
            code.kind { (line(&view.kind, NAME_MAX)) }
            span.actor { (actor(&view.actor)) }
            span.says { (bdi(&view.says, LINE_MAX)) }
        }
    }
}

fn pages(view: &Audit) -> Markup {
    let AuditFilter { room, kind, actor } = &view.filter;
    let pairs = |before: &str| {
        query("/audit", &[("before", before), ("room", room), ("kind", kind), ("actor", actor)])
    };
    html! {
        @if view.paged || view.older_before.is_some() {
            nav.pages aria-label="Pages" {
                @if view.paged { a.button href=(pairs("")) { "Latest" } }
                @if let Some(before) = view.older_before { a.button rel="next" href=(pairs(&before.to_string())) { "Older" } }
            }
        }
    }
}

/// `/audit/{seq}`.
pub fn audit_entry(frame: &Frame, view: &AuditEntry) -> String {
    let heading = format!("Entry {}", number(view.seq));
    let body = html! {
        (title(Some(("/audit", "Audit")), html! { (heading) }))
        p.lead { code { (line(&view.kind, NAME_MAX)) } " by " (actor(&view.actor)) ", " (when(frame.now, view.at)) }
        (facts(&[
            ("at", Some(html! { (exact(view.at)) })),
            ("room", Some(html! { (line(&view.room, NAME_MAX)) })),
            ("trust", Some(html! { (line(&view.trust, NAME_MAX)) })),
            ("log", Some(bdi(&view.origin, NAME_MAX))),
        ]))
        (section("line", "The line", raw("the-line", "The entry as it is in the log", &view.line)))
        @if let Some(text) = &view.text { (section("text", "Its text", sealed(text))) }
        (section("proof", "Its proof", proof(frame, view)))
        nav.pages aria-label="Entries" {
            @if view.seq > 0 { a.button rel="prev" href=(entry(view.seq - 1)) { "Earlier" } }
            @if view.newer { a.button rel="next" href=(entry(view.seq.saturating_add(1))) { "Later" } }
        }
    };
    page(frame, &heading, body)
}

fn sealed(text: &SealedText) -> Markup {
    html! {
        @match text {
            SealedText::Open(text) => blockquote { (block(text)) },
            SealedText::Sealed { bytes: n } => p { "Sealed, " (bytes(*n)) ". Owners may read it." },
            SealedText::Erased => p { (state(State::Undone, Some("erased"))) " for good. That it was here stays provable." },
            SealedText::Unreadable(why) => p { (mark(State::Failed)) "It cannot be read: " (bdi(why, LINE_MAX)) },
        }
    }
}

fn proof(frame: &Frame, view: &AuditEntry) -> Markup {
    let proof = &view.proof;
    let (shape, word, why) = match &proof.shown {
        Shown::Verified => (State::Settled, "verified here and now", None),
        Shown::NotSignedYet => (State::Unknown, "not signed yet", Some("The next checkpoint covers it.")),
        Shown::Wrong(why) => (State::Failed, "it does not hold", Some(why.as_str())),
        Shown::Unchecked(why) => (State::Unknown, "not checked", Some(why.as_str())),
    };
    html! {
        p.lead { (state(shape, Some(word))) @if let Some(why) = why { ": " (bdi(why, LINE_MAX)) } }
        @if proof.shown != Shown::NotSignedYet {
            (facts(&[
                ("checkpoint", Some(html! { "over " (count(proof.size, "entry", "entries")) ", signed by " (bdi(&proof.key, NAME_MAX)) })),
                ("root", Some(id_copied(&proof.root))),
                ("leaf", Some(id_copied(&proof.leaf))),
                ("way", Some(html! { (count(proof.hashes, "hash leads", "hashes lead")) " from the entry to the root" })),
                ("witnesses", Some(witnesses(frame, &proof.witnesses))),
            ]))
            p.buttons { a.button href={ (entry(view.seq)) "/proof.json" } download { "Get the proof" } }
            p.note { "Anybody can check it without us: " code { "holdfast audit prove --check proof.json" } }
        }
    }
}
