//! Who may come in, and what they may do there.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use super::you::{Link, links};
use super::{Once, fold, form, once};
use crate::frame::{Frame, Role};
use crate::pieces::{NAME_MAX, ROWS_MAX, bdi, count, hidden, mark, section, when};

/// The page `/settings/people`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct People {
    pub people: Vec<Member>,
    /// One-time links that are still to be used, of everybody.
    pub links: Vec<Link>,
    pub once: Option<Once>,
}

/// Somebody who may come in.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub id: String,
    pub name: String,
    pub role: Role,
    pub created: Timestamp,
    pub last_seen: Option<Timestamp>,
    pub devices: u64,
    /// It is the one who looks.
    pub you: bool,
}

const ROLES: [Role; 3] = [Role::Viewer, Role::Operator, Role::Owner];

pub(super) fn shown(frame: &Frame, view: &People) -> Markup {
    html! {
        (once(view.once.as_ref()))
        (section("people", "People", people(frame, view)))
        @if frame.is_owner() { (section("links", "Open links", links(frame, &view.links))) }
        @if frame.is_owner() { (section("invite", "Invite somebody", invite(frame))) }
        @else { p { "Owners invite people and give them roles." } }
    }
}

fn people(frame: &Frame, view: &People) -> Markup {
    html! {
        @if view.people.is_empty() { p { "Nobody is registered." } }
        ul.rows {
            @for member in view.people.iter().take(ROWS_MAX) {
                li.row {
                    (mark(if member.devices == 0 { State::Unknown } else { State::Settled }))
                    div.main {
                        p { b { (bdi(&member.name, NAME_MAX)) } " " span.word { (member.role.word()) @if member.you { ", you" } } }
                        p.note { (count(member.devices, "device", "devices")) " · since " (when(frame.now, member.created)) " · "
                            @match member.last_seen { Some(at) => { "seen " (when(frame.now, at)) }, None => "never seen" } }
                        @if frame.is_owner() && !member.you { (orders(frame, member)) }
                    }
                }
            }
        }
    }
}

fn orders(frame: &Frame, member: &Member) -> Markup {
    html! {
        div.acts {
            details.act {
                summary { "Change the role…" }
                div.ask {
                    (form(frame, "/auth/people/role", html! {
                        (hidden("id", &member.id))
                        (roles(member.role))
                        button.primary { "Change the role" }
                    }))
                }
            }
            (fold(frame, "Remove", "/auth/people/remove", "Their devices, sessions, links and tokens stop working now. What they did stays in the journal. To undo it, invite them again.", hidden("id", &member.id)))
        }
    }
}

fn roles(chosen: Role) -> Markup {
    html! {
        fieldset.choice {
            legend { "Role" }
            @for role in ROLES {
                label.check {
                    input type="radio" name="role" value=(role.word()) checked[role == chosen];
                    span { b { (role.word()) } " " (role.sentence()) }
                }
            }
        }
    }
}

fn invite(frame: &Frame) -> Markup {
    html! {
        p { "They get a link that works once and for a quarter of an hour. It is shown here; give it to them by a way you trust." }
        (form(frame, "/auth/people/invite", html! {
            label.field { span { "Name" } input type="text" name="name" maxlength="64" required autocomplete="off"; }
            (roles(Role::Viewer))
            button.primary { "Make a link" }
        }))
    }
}
