//! An episode: what is tried and why, its gates, how it goes, and afterwards its whole story.

use holdfast_plot::{Gate, Score, State};
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Fragment, Frame, frame_fragments, page};
use crate::inbox::decide;
use crate::pieces::{
    Act, Countdown, LINE_MAX, NAME_MAX, Proof, Told, act, bdi, copy_of, exact, facts, gates, id_copied,
    lease, line, path, score, section, state, story, title, when,
};

/// What there is to say of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    pub id: String,
    pub host: String,
    /// How many times faster than real time the host lives; 1 for a real one.
    pub speed: u32,
    pub state: State,
    /// Where the word of the state is not enough: "kept, on probation".
    pub word: Option<String>,
    /// Why it was begun, as a phrase after "because".
    pub why: String,
    pub change: Option<String>,
    /// What is expected of it, as a sentence.
    pub prediction: Option<String>,
    pub opened: Timestamp,
    pub ended: Option<Timestamp>,
    /// Why it ended as it did.
    pub reason: Option<String>,
    pub gates: Vec<Gate>,
    pub score: Option<Score>,
    pub lease: Option<Countdown>,
    /// The ask that has to be decided before it goes on.
    pub ask: Option<String>,
    /// There is something to take back.
    pub can_roll_back: bool,
    /// What happened, the first at the head.
    pub story: Vec<Told>,
}

/// `/episodes/{id}`.
pub fn episode(frame: &Frame, view: &Episode) -> String {
    let back = path(&["hosts", &view.host]);
    let heading = view.change.as_deref().unwrap_or("Nothing is proposed yet");
    let body = html! {
        (title(Some((back.as_str(), line(&view.host, NAME_MAX).as_str())), bdi(heading, LINE_MAX)))
        (standing(frame, view))
        (decision(frame, view))
        div.two {
            (gate_strip(view))
            (window(view))
        }
        (told(frame, view))
    };
    page(frame, heading, body)
}

/// What of it changes while it is open.
pub fn episode_fragments(frame: &Frame, view: &Episode) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.extend([
        Fragment::new("episode-state", standing(frame, view)),
        Fragment::new("episode-decision", decision(frame, view)),
        Fragment::new("gates", gate_strip(view)),
        Fragment::new("window", window(view)),
        Fragment::new("told", told(frame, view)),
    ]);
    all
}

fn standing(frame: &Frame, view: &Episode) -> Markup {
    let word = view.word.as_deref().unwrap_or(view.state.word());
    html! {
        div #episode-state data-say={ "This change is now: " (line(word, NAME_MAX)) } {
            p.lead { (state(view.state, view.word.as_deref())) @if let Some(reason) = &view.reason { ": " (bdi(reason, LINE_MAX)) } }
            @if let Some(countdown) = &view.lease { div.inset { (lease(frame.now, countdown)) } }
            (facts(&[
                ("because", Some(bdi(&view.why, LINE_MAX))),
                ("expected", view.prediction.as_ref().map(|it| bdi(it, LINE_MAX))),
                ("opened", Some(when(frame.now, view.opened))),
                ("ended", view.ended.map(|at| when(frame.now, at))),
                ("episode", Some(id_copied(&view.id))),
                ("pace", (view.speed > 1).then(|| html! { "accelerated " (view.speed) "×" })),
            ]))
        }
    }
}

/// Approve, reject, roll back: what is possible at the moment.
fn decision(frame: &Frame, view: &Episode) -> Markup {
    html! {
        div #episode-decision {
            @if let Some(ask) = &view.ask {
                @if frame.may_act() {
                    div.inset { p { "It waits for you. Approved, it is tried at once, and undone by itself unless it proves itself." } (decide(ask)) }
                }
                p { a href=(path(&["inbox", ask])) { "See exactly what would be done" } }
            }
            @if view.can_roll_back && frame.may_act() {
                (act(frame, Act {
                    word: "Roll back",
                    to: path(&["hosts", &view.host, "rollback"]),
                    what: "The change is taken back now, and the host runs what is known good.",
                    undo: "It can be proposed again later; what was learnt from it stays.",
                    harm: true,
                    proof: Proof::No,
                    instead: "",
                    fields: html! {},
                }))
            }
        }
    }
}

fn gate_strip(view: &Episode) -> Markup {
    section(
        "gates",
        "Gates",
        html! {
            @if view.gates.is_empty() { p { "Nothing was brought before a gate." } } @else { (gates(&view.gates)) }
        },
    )
}

fn window(view: &Episode) -> Markup {
    section(
        "window",
        "Window",
        html! {
            @match &view.score {
                Some(window) => (score(window)),
                None => p { "It was not watched in a window: nothing ran on trial yet." },
            }
        },
    )
}

fn told(frame: &Frame, view: &Episode) -> Markup {
    section(
        "told",
        "The story",
        html! {
            @if view.story.is_empty() {
                p { "The journal says nothing of it yet." }
            } @else {
                @if view.story.iter().any(|told| told.seconds.is_some()) {
                    p.note { "from " (exact(view.opened)) ", times since then" @if view.speed > 1 { ", in its own time" } }
                }
                div #told-lines { (story(frame.now, &view.story)) }
                p { (copy_of("told-lines", "Copy as text")) " " span.note { "Each sentence has its entry in the journal, and each entry its proof." } }
            }
        },
    )
}
