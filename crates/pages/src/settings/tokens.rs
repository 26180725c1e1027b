//! Tokens: what a script shows instead of a passkey.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use super::{Once, fold, form, once};
use crate::frame::Frame;
use crate::pieces::{NAME_MAX, ROWS_MAX, bdi, hidden, mark, section, when};

/// The page `/settings/tokens`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tokens {
    pub tokens: Vec<TokenLine>,
    pub once: Option<Once>,
}

/// What a token may do. It never does more than the person who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Read,
    Act,
    Manage,
}

impl Scope {
    const ALL: [Scope; 3] = [Scope::Read, Scope::Act, Scope::Manage];

    fn word(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Act => "act",
            Scope::Manage => "manage",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Scope::Read => "looks at everything and changes nothing",
            Scope::Act => "also writes, rolls back and pauses; it cannot approve",
            Scope::Manage => "also rebuilds, backs up and reloads; what takes a passkey it cannot",
        }
    }
}

/// A token, without its secret: that was shown once.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLine {
    pub id: String,
    pub name: String,
    pub scope: Scope,
    /// Who made it.
    pub by: String,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
    pub last_used: Option<Timestamp>,
    pub revoked: bool,
}

/// For how many days one may be good.
const DAYS: [&str; 4] = ["7", "30", "90", "365"];

pub(super) fn shown(frame: &Frame, view: &Tokens) -> Markup {
    html! {
        (once(view.once.as_ref()))
        (section("tokens", "Tokens", tokens(frame, view)))
        @if frame.is_owner() { (section("make", "Make one", make(frame))) }
        @else { p { "Owners make tokens." } }
    }
}

fn tokens(frame: &Frame, view: &Tokens) -> Markup {
    html! {
        @if view.tokens.is_empty() {
            p { "There is none. A token lets a script ask the API what you can ask here, as far as its scope goes." }
        }
        ul.rows {
            @for token in view.tokens.iter().take(ROWS_MAX) {
                @let over = token.revoked || token.expires.is_some_and(|at| at <= frame.now);
                li.row {
                    (mark(if over { State::Undone } else { State::Settled }))
                    div.main {
                        p { b { (bdi(&token.name, NAME_MAX)) } " " span.word {
                            (token.scope.word()) @if token.revoked { ", revoked" } @else if over { ", expired" } } }
                        p.note { "by " (bdi(&token.by, NAME_MAX)) " " (when(frame.now, token.created)) " · "
                            @match token.last_used { Some(at) => { "used " (when(frame.now, at)) }, None => "never used" }
                            @if let (Some(at), false) = (token.expires, over) { " · ends " (when(frame.now, at)) } }
                        @if !over && frame.is_owner() {
                            (fold(frame, "Revoke", "/auth/tokens/revoke", "Whatever uses it is refused from now on. This cannot be undone; make another instead.", hidden("id", &token.id)))
                        }
                    }
                }
            }
        }
    }
}

fn make(frame: &Frame) -> Markup {
    form(
        frame,
        "/auth/tokens/make",
        html! {
            label.field { span { "What it is for" } input type="text" name="name" maxlength="80" required autocomplete="off"; }
            fieldset.choice {
                legend { "What it may do" }
                @for scope in Scope::ALL {
                    label.check {
                        input type="radio" name="scope" value=(scope.word()) checked[scope == Scope::Read];
                        span { b { (scope.word()) } " " (scope.sentence()) }
                    }
                }
            }
            label.field.short {
                span { "Good for" }
                select name="days" { @for days in DAYS { option value=(days) selected[days == "30"] { (days) " days" } } }
            }
            button.primary { "Make a token" }
        },
    )
}
