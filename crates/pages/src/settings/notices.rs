//! Notices: by which ways people are told, and how each of them is doing.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::Frame;
use crate::pieces::{
    LINE_MAX, NAME_MAX, ROWS_MAX, bdi, count, csrf, exact, hidden, line, mark, number, section, when,
};

/// The page `/settings/notices`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notices {
    pub enabled: bool,
    pub channels: Vec<Channel>,
}

/// One way people are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// log, webhook, slack, discord, ntfy or mail.
    pub name: String,
    pub pending: u64,
    pub delivered: u64,
    pub abandoned: u64,
    pub last_delivered: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Until when what waits there waits for the end of quiet hours.
    pub quiet_until: Option<Timestamp>,
    /// From which severity on it is told anything.
    pub least_severity: Option<String>,
}

pub(super) fn shown(frame: &Frame, view: &Notices) -> Markup {
    section(
        "channels",
        "Notices",
        html! {
            @if !view.enabled { p { (mark(State::Paused)) "Notices are switched off: nobody is told anything." } }
            @if view.channels.is_empty() {
                p { "No channel is configured. People are told by log, webhook, Slack, Discord, ntfy or mail: the section "
                    code { "notices" } " of config.yaml." }
            }
            ul.rows { @for channel in view.channels.iter().take(ROWS_MAX) { (row(frame, channel)) } }
            @if view.channels.len() > 1 && frame.may_act() { (test(frame, None)) }
            p.note { "A test goes past the outbox, quiet hours and the least severity, and says whether it arrived." }
        },
    )
}

fn row(frame: &Frame, channel: &Channel) -> Markup {
    let (shape, word) = match (&channel.last_error, channel.pending, channel.quiet_until) {
        (Some(_), 1.., _) => (State::NeedsYou, "does not get through"),
        (_, 1.., Some(_)) => (State::Paused, "quiet hours"),
        (_, 1.., None) => (State::OnTrial, "being told"),
        (_, 0, _) if channel.delivered == 0 => (State::Unknown, "nothing told yet"),
        (_, 0, _) => (State::Settled, "all told"),
    };
    html! {
        li.row {
            (mark(shape))
            div.main {
                p { b { (line(&channel.name, NAME_MAX)) } " " span.word { (word) } }
                @if let (Some(error), 1..) = (&channel.last_error, channel.pending) { p { (bdi(error, LINE_MAX)) } }
                p.note {
                    (count(channel.delivered, "told", "told"))
                    @if channel.pending > 0 { " · " (count(channel.pending, "waits", "wait")) }
                    @if channel.abandoned > 0 { " · " (number(channel.abandoned)) " given up" }
                    @if let Some(at) = channel.last_delivered { " · last " (when(frame.now, at)) }
                    @if let Some(least) = &channel.least_severity { " · from " (line(least, NAME_MAX)) " on" }
                    @if let Some(until) = channel.quiet_until { " · quiet until " (exact(until)) }
                }
            }
            @if frame.may_act() { (test(frame, Some(&channel.name))) }
        }
    }
}

fn test(frame: &Frame, channel: Option<&str>) -> Markup {
    html! {
        form method="post" action="/settings/notice/test" {
            (csrf(frame))
            @if let Some(channel) = channel { (hidden("channel", channel)) button { "Send a test" span.hush { " by " (line(channel, NAME_MAX)) } } }
            @else { button { "Send a test by all" } }
        }
    }
}
