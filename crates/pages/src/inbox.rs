//! The inbox: what waits for a person, what was decided, and one ask in full.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Fragment, Frame, frame_fragments, page};
use crate::pieces::{
    LINE_MAX, NAME_MAX, ROWS_MAX, actor, bdi, count, entry, facts, id_copied, line, mark, path, raw, section,
    state, title, when,
};

/// What lies in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// What waits, the oldest first.
    pub open: Vec<AskLine>,
    /// What does not wait any more, the latest first.
    pub decided: Vec<AskLine>,
}

/// Where an ask stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskState {
    Asked,
    Approved,
    Rejected,
    Withdrawn,
    Used,
    Expired,
    /// A word this program does not know.
    Unknown,
}

impl AskState {
    /// By the word of the approvals.
    pub fn of(word: &str) -> AskState {
        match word {
            "asked" => AskState::Asked,
            "approved" => AskState::Approved,
            "rejected" => AskState::Rejected,
            "withdrawn" => AskState::Withdrawn,
            "used" => AskState::Used,
            "expired" => AskState::Expired,
            _ => AskState::Unknown,
        }
    }

    fn look(self) -> (State, &'static str) {
        match self {
            AskState::Asked => (State::NeedsYou, "waits for you"),
            AskState::Approved => (State::Kept, "approved"),
            AskState::Rejected => (State::Failed, "rejected"),
            AskState::Withdrawn => (State::Undone, "withdrawn"),
            AskState::Used => (State::Kept, "approved and used"),
            AskState::Expired => (State::Unknown, "expired"),
            AskState::Unknown => (State::Unknown, "unknown"),
        }
    }
}

/// An ask in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct AskLine {
    pub id: String,
    pub state: AskState,
    pub subject: String,
    pub target: String,
    /// Who asks.
    pub actor: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The first line of what would be done.
    pub summary: String,
}

/// An ask in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub line: AskLine,
    /// What would be done, in lines.
    pub summary: Vec<String>,
    /// Why, in lines.
    pub evidence: Vec<String>,
    /// What the digest was made of, as JSON in lines.
    pub action: String,
    pub digest: String,
    pub agent: Option<String>,
    /// The log it was asked in.
    pub origin: String,
    pub decision: Option<Decision>,
    /// The entry it was made by, and the one that ended it.
    pub made_as: u64,
    pub ended_as: Option<u64>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// approve or reject.
    pub verdict: String,
    pub by: String,
    pub reason: Option<String>,
    pub at: Timestamp,
    pub recorded_as: u64,
}

/// `/inbox`.
pub fn inbox(frame: &Frame, view: &Inbox) -> String {
    page(frame, "Inbox", html! { (open(frame, view)) (decided(frame, view)) })
}

pub fn inbox_fragments(frame: &Frame, view: &Inbox) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.extend([Fragment::new("asks", open(frame, view)), Fragment::new("decided", decided(frame, view))]);
    all
}

fn open(frame: &Frame, view: &Inbox) -> Markup {
    let waiting = view.open.len() as u64;
    let (mark_of, said) = match waiting {
        0 => (State::Settled, "Nothing waits for you.".to_owned()),
        n => (State::NeedsYou, format!("{}.", count(n, "ask waits for you", "asks wait for you"))),
    };
    html! {
        div #asks data-say=(said) {
            div.title { h1 { (mark(mark_of)) (said) } }
            @if view.open.is_empty() {
                p { "Whatever needs a person's word before it happens lies here, from every part of the house, until it is decided or expires." }
            } @else {
                (rows(frame, &view.open))
            }
        }
    }
}

fn decided(frame: &Frame, view: &Inbox) -> Markup {
    section(
        "decided",
        "Decided",
        html! {
            @if view.decided.is_empty() { p { "Nothing was decided yet." } } @else { (rows(frame, &view.decided)) }
        },
    )
}

fn rows(frame: &Frame, asks: &[AskLine]) -> Markup {
    html! {
        ul.rows {
            @for ask in asks.iter().take(ROWS_MAX) {
                @let (shape, word) = ask.state.look();
                li.row {
                    (mark(shape))
                    div.main {
                        p { a href=(path(&["inbox", &ask.id])) { (bdi(&ask.summary, LINE_MAX)) } " " span.word { (word) } }
                        p.note { (line(&ask.subject, NAME_MAX)) " on " (bdi(&ask.target, NAME_MAX)) " · asked by " (actor(&ask.actor)) " " (when(frame.now, ask.asked_at)) }
                    }
                    @if ask.state == AskState::Asked { span.side { "ends " (when(frame.now, ask.expires_at)) } }
                }
            }
        }
    }
}

/// `/inbox/{id}`. What would be done stands before the buttons: nobody should decide before having read it.
pub fn ask(frame: &Frame, view: &Ask) -> String {
    let heading = &view.line.summary;
    let body = html! {
        (title(Some(("/inbox", "Inbox")), bdi(heading, LINE_MAX)))
        (standing(frame, view))
        (section("summary", "What would be done", lines(&view.summary)))
        @if !view.evidence.is_empty() { (section("evidence", "Why", lines(&view.evidence))) }
        (choice(frame, view))
        (section("exactly", "Exactly", html! {
            p { "The digest is of this, with subject and target. An approval counts for it and for nothing else, once." }
            (raw("action", "The action, exactly", &view.action))
            (known(frame, view))
        }))
    };
    page(frame, heading, body)
}

pub fn ask_fragments(frame: &Frame, view: &Ask) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.extend([
        Fragment::new("ask-state", standing(frame, view)),
        Fragment::new("ask-choice", choice(frame, view)),
    ]);
    all
}

fn lines(lines: &[String]) -> Markup {
    html! { div.quote { @for text in lines.iter().take(ROWS_MAX) { p dir="auto" { (line(text, 1_000)) } } } }
}

fn standing(frame: &Frame, view: &Ask) -> Markup {
    let (shape, word) = view.line.state.look();
    html! {
        div #ask-state data-say={ "This ask: " (word) } {
            p.lead {
                (state(shape, Some(word)))
                @if view.line.state == AskState::Asked { ", ends " (when(frame.now, view.line.expires_at)) }
            }
            @if let Some(decision) = &view.decision { (decided_so(frame, decision)) }
        }
    }
}

fn choice(frame: &Frame, view: &Ask) -> Markup {
    let waits = view.line.state == AskState::Asked;
    html! {
        div #ask-choice {
            @if waits && frame.may_act() { div.inset { (decide(&view.line.id)) } }
            @if waits && !frame.may_act() { p { "You may look. Operators and owners decide." } }
        }
    }
}

fn known(frame: &Frame, view: &Ask) -> Markup {
    facts(&[
        ("digest", Some(id_copied(&view.digest))),
        (
            "on",
            Some(html! { (line(&view.line.subject, NAME_MAX)) " on " (bdi(&view.line.target, NAME_MAX)) }),
        ),
        ("asked by", Some(html! { (actor(&view.line.actor)) ", " (when(frame.now, view.line.asked_at)) })),
        ("agent", view.agent.as_ref().map(|it| id_copied(it))),
        ("ends", Some(when(frame.now, view.line.expires_at))),
        ("ask", Some(id_copied(&view.line.id))),
        (
            "log",
            Some(html! {
                (bdi(&view.origin, NAME_MAX)) ", " a href=(entry(view.made_as)) { "entry " (view.made_as) }
                @if let Some(seq) = view.ended_as { ", ended in " a href=(entry(seq)) { "entry " (seq) } }
            }),
        ),
    ])
}

fn decided_so(frame: &Frame, decision: &Decision) -> Markup {
    let did = match decision.verdict.as_str() {
        "approve" => "Approved",
        "reject" => "Rejected",
        _ => "Decided",
    };
    html! {
        p {
            (did) " by " (bdi(&decision.by, NAME_MAX)) " " (when(frame.now, decision.at))
            @if let Some(reason) = &decision.reason { ": " (bdi(reason, LINE_MAX)) }
            ", " a href=(entry(decision.recorded_as)) { "entry " (decision.recorded_as) }
        }
    }
}

/// Yes or no, each with a passkey, which confirms exactly what is shown.
pub(crate) fn decide(ask: &str) -> Markup {
    html! {
        div.decide {
            label.field { span { "Reason, if you like" } input type="text" name="reason" maxlength="500" autocomplete="off"; }
            div.buttons {
                button.primary type="button" data-confirm={ "approve:" (ask) } { "Approve" }
                button type="button" data-confirm={ "reject:" (ask) } { "Reject" }
            }
            p.note { "Your device asks you to confirm it with your passkey. A reason goes into the log for good, beside your name. A rejection is told to whoever asked; it can be asked again." }
            noscript { p.note { "This needs JavaScript, because only a script can ask for a passkey. " code { "holdfast approve" } " works without." } }
        }
    }
}
