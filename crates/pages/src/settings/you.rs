//! What is yours: devices, recovery codes, sessions.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use super::{Once, fold, form, once};
use crate::frame::Frame;
use crate::pieces::{NAME_MAX, ROWS_MAX, bdi, count, hidden, line, mark, section, when};

/// The page `/settings`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct You {
    pub devices: Vec<Device>,
    /// Recovery codes that were not used yet.
    pub codes_left: u64,
    pub sessions: Vec<Session>,
    /// One-time links that are still to be used, for them or made by them.
    pub links: Vec<Link>,
    /// What was made in their name since they last said that they know.
    pub news: Vec<News>,
    pub once: Option<Once>,
}

/// A one-time link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub id: String,
    /// "Another device for Ana".
    pub what: String,
    pub created: Timestamp,
    pub expires: Timestamp,
}

/// A new way in.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// Larger for what came later.
    pub id: i64,
    /// "The passkey phone".
    pub what: String,
    pub at: Timestamp,
}

/// A passkey.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub id: String,
    pub label: String,
    pub created: Timestamp,
    pub last_used: Option<Timestamp>,
    /// Its counter went back: there may be a copy of it.
    pub doubtful: bool,
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: String,
    /// "Firefox on Android".
    pub label: String,
    pub created: Timestamp,
    pub last_seen: Timestamp,
    /// It is the one that looks.
    pub here: bool,
}

/// Fewer codes than this are worth a sentence: two devices and no more are lost in a bad week.
const CODES_FEW: u64 = 3;

pub(super) fn shown(frame: &Frame, view: &You) -> Markup {
    html! {
        (once(view.once.as_ref()))
        @if !view.news.is_empty() { (section("news", "New in your name", news(frame, view))) }
        (section("devices", "Devices", devices(frame, view)))
        (section("codes", "Recovery codes", codes(frame, view)))
        (section("sessions", "Sessions", sessions(frame, view)))
        (section("links", "Open links", links(frame, &view.links)))
    }
}

fn news(frame: &Frame, view: &You) -> Markup {
    html! {
        p { "If one of these was not you: end all other sessions below, with the tokens, then remove the device." }
        ul.rows {
            @for one in view.news.iter().take(ROWS_MAX) {
                li.row {
                    (mark(State::NeedsYou))
                    div.main { p { (bdi(&one.what, NAME_MAX)) } p.note { (when(frame.now, one.at)) } }
                }
            }
        }
        @let upto = view.news.iter().take(ROWS_MAX).map(|one| one.id).max().unwrap_or_default();
        (form(frame, "/auth/news/known", html! { (hidden("upto", &upto.to_string())) button { "I know of all of these" } }))
    }
}

/// Links that let somebody in, each of which can be taken back.
pub(super) fn links(frame: &Frame, links: &[Link]) -> Markup {
    html! {
        @if links.is_empty() { p { "There is none." } }
        ul.rows {
            @for link in links.iter().take(ROWS_MAX) {
                li.row {
                    (mark(State::Unknown))
                    div.main {
                        p { b { (bdi(&link.what, NAME_MAX)) } }
                        p.note { "made " (when(frame.now, link.created)) " · ends " (when(frame.now, link.expires)) }
                    }
                    (form(frame, "/auth/links/revoke", html! { (hidden("id", &link.id)) button { "Revoke" } }))
                }
            }
        }
    }
}

fn devices(frame: &Frame, view: &You) -> Markup {
    html! {
        @if view.devices.len() == 1 {
            p { "One device signs in. With a second one you still get in when the first is lost." }
        }
        ul.rows {
            @for device in view.devices.iter().take(ROWS_MAX) {
                li.row {
                    (mark(if device.doubtful { State::NeedsYou } else { State::Settled }))
                    div.main {
                        p { b { (bdi(&device.label, NAME_MAX)) } }
                        @if device.doubtful { p { "Its counter went backwards: there may be a copy of it. Remove it and register it anew." } }
                        p.note { "added " (when(frame.now, device.created)) " · "
                            @match device.last_used { Some(at) => { "used " (when(frame.now, at)) }, None => "never used" } }
                        div.acts {
                            (rename(frame, device))
                            (fold(frame, "Remove", "/auth/devices/remove", "It cannot sign in any more. Its sessions end now, the tokens that were made with it, and your open links. To undo it, add the device again.", hidden("id", &device.id)))
                        }
                    }
                }
            }
        }
        div.buttons {
            a.button.primary href="/register" { "Add another device" }
            (form(frame, "/auth/devices/link", html! { button { "Make a link for it" } }))
        }
    }
}

fn rename(frame: &Frame, device: &Device) -> Markup {
    let to = "/auth/devices/rename";
    html! {
        details.act {
            summary { "Rename…" }
            div.ask {
                (form(frame, to, html! {
                    (hidden("id", &device.id))
                    label.field { span { "New name" } input type="text" name="label" maxlength="80" required value=(line(&device.label, NAME_MAX)); }
                    button { "Rename" }
                }))
            }
        }
    }
}

fn codes(frame: &Frame, view: &You) -> Markup {
    let few = view.codes_left < CODES_FEW;
    html! {
        p {
            (mark(if few { State::NeedsYou } else { State::Settled }))
            (count(view.codes_left, "code is", "codes are")) " left. Each lets you in once to make a new passkey, when every device is lost."
        }
        (fold(frame, "Make ten new ones", "/auth/codes/renew", "The ten new ones are shown once. The old ones stop working, and this cannot be undone.", html! {}))
    }
}

fn sessions(frame: &Frame, view: &You) -> Markup {
    html! {
        ul.rows {
            @for session in view.sessions.iter().take(ROWS_MAX) {
                li.row {
                    (mark(if session.here { State::Settled } else { State::Unknown }))
                    div.main {
                        p { b { (bdi(&session.label, NAME_MAX)) } @if session.here { " " span.word { "this one" } } }
                        p.note { "since " (when(frame.now, session.created)) " · seen " (when(frame.now, session.last_seen)) }
                    }
                    @if !session.here {
                        (form(frame, "/auth/sessions/end", html! { (hidden("id", &session.id)) button { "End" } }))
                    }
                }
            }
        }
        (fold(frame, "End all others", "/auth/sessions/end", "Every other browser is signed out within seconds, and every open link of yours is revoked. Whoever has a device of yours can sign in again.", html! {
            (hidden("id", "others"))
            fieldset.choice {
                legend { "Your tokens" }
                label.check { input type="radio" name="tokens" value="yes" checked; span { b { "end too" } " if somebody may have been in: they could have made one" } }
                label.check { input type="radio" name="tokens" value="no"; span { b { "stay" } " if you only left a browser signed in" } }
            }
        }))
    }
}
