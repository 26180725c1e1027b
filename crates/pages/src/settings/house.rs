//! The house: its keys, its parts, its room on the disk, its version.

use std::time::Duration;

use holdfast_plot::State;
use maud::{Markup, html};

use crate::frame::Frame;
use crate::pieces::{
    NAME_MAX, ROWS_MAX, bdi, bytes, count, facts, id_copied, line, mark, raw, section, span_of,
};

/// The page `/settings/house`.
#[derive(Clone, Debug, PartialEq)]
pub struct House {
    pub origin: String,
    pub version: String,
    pub up: Option<Duration>,
    /// What the log is signed with, as others check it.
    pub log_key: String,
    /// What is trusted here.
    pub keys: Vec<KeyLine>,
    pub parts: Vec<Part>,
    pub disk_used: u64,
    pub disk_budget: u64,
    /// roomy, tight or full.
    pub disk_level: String,
    pub journal_entries: u64,
    pub journal_bytes: u64,
    /// Entries of the journal that the slowest view of it has not applied.
    pub index_behind: u64,
}

/// What a key is trusted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustKind {
    Log,
    Witness,
    Approvals,
    /// The gateway's own, for what a passkey confirmed.
    Browser,
    Manifest,
    History,
    Policy,
}

/// A key of the trust set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLine {
    pub name: String,
    pub kind: TrustKind,
    pub fingerprint: String,
    pub revoked: bool,
}

/// A part of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub running: bool,
    /// running, stale, waiting or stopped.
    pub word: String,
    pub why: Option<String>,
    pub restarts: u64,
}

impl TrustKind {
    fn word(self) -> &'static str {
        match self {
            TrustKind::Log => "signs a log",
            TrustKind::Witness => "witnesses",
            TrustKind::Approvals => "approves at the machine",
            TrustKind::Browser => "approves here, after a passkey",
            TrustKind::Manifest => "signs manifests",
            TrustKind::History => "signs what was applied",
            TrustKind::Policy => "signs policies",
        }
    }
}

pub(super) fn shown(_: &Frame, view: &House) -> Markup {
    html! {
        (section("about", "About", about(view)))
        (section("keys-of", "Keys", keys(view)))
        (section("parts", "Parts", parts(view)))
    }
}

fn about(view: &House) -> Markup {
    let roomy = view.disk_level == "roomy";
    facts(&[
        ("house", Some(bdi(&view.origin, NAME_MAX))),
        ("version", Some(html! { "holdfast " (line(&view.version, NAME_MAX)) })),
        ("up", Some(view.up.map_or_else(|| html! { "no daemon runs" }, |up| html! { (span_of(up)) }))),
        (
            "journal",
            Some(
                html! { (count(view.journal_entries, "entry", "entries")) ", " (bytes(view.journal_bytes)) },
            ),
        ),
        (
            "index",
            Some(
                html! { @if view.index_behind == 0 { "up to date" } @else { (count(view.index_behind, "entry", "entries")) " behind" } },
            ),
        ),
        (
            "disk",
            Some(html! {
                (mark(if roomy { State::Settled } else { State::NeedsYou }))
                (bytes(view.disk_used)) " of " (bytes(view.disk_budget)) ", " (line(&view.disk_level, NAME_MAX))
            }),
        ),
    ])
}

fn keys(view: &House) -> Markup {
    html! {
        p { "The log is signed with" }
        (raw("log-key", "The key the log is signed with", &view.log_key))
        p { "and this is trusted here. Trust is only ever taken away, in a terminal, by whoever has the keys." }
        ul.rows {
            @for key in view.keys.iter().take(ROWS_MAX) {
                li.row {
                    (mark(if key.revoked { State::Failed } else { State::Settled }))
                    p.main { b { (bdi(&key.name, NAME_MAX)) } " " span.word { (key.kind.word()) @if key.revoked { ", revoked" } } }
                    span.side { (id_copied(&key.fingerprint)) }
                }
            }
        }
        @if view.keys.is_empty() { p { (mark(State::Unknown)) "There is no trust set, so no signature can be checked." } }
    }
}

fn parts(view: &House) -> Markup {
    html! {
        @if view.parts.is_empty() { p { (mark(State::Unknown)) "No daemon runs, so there are none." } }
        ul.rows {
            @for part in view.parts.iter().take(ROWS_MAX) {
                li.row {
                    (mark(if part.running { State::Settled } else { State::NeedsYou }))
                    p.main { b { (line(&part.name, NAME_MAX)) } " " span.word { (line(&part.word, NAME_MAX)) }
                        @if let Some(why) = &part.why { " " (bdi(why, NAME_MAX)) } }
                    @if part.restarts > 0 { span.side { (count(part.restarts, "restart", "restarts")) } }
                }
            }
        }
    }
}
