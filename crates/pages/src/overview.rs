//! The first page, and its one question: does anything need me?

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Fragment, Frame, Pause, frame_fragments, page};
use crate::host::{HostLine, host_rows};
use crate::pieces::{
    LINE_MAX, NAME_MAX, ROWS_MAX, Told, Trial, bdi, count, line, local, mark, section, story, trial, when,
};

/// What there is to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Why nobody can say how things are, where nobody can.
    pub unknown: Option<String>,
    /// What needs a person, the most urgent first.
    pub needs: Vec<Need>,
    /// What is on trial now.
    pub trials: Vec<Trial>,
    pub hosts: Vec<HostLine>,
    /// What happened lately, the latest first.
    pub story: Vec<Told>,
}

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub state: State,
    /// "web-1 is not what it was left as."
    pub sentence: String,
    pub since: Option<Timestamp>,
    /// Where something can be done about it: a path of ours, and the words that lead there.
    pub href: Option<String>,
    pub word: String,
}

/// `/`.
pub fn overview(frame: &Frame, view: &Overview) -> String {
    let body = html! {
        (answer(frame, view))
        (needs(frame, view))
        (trials(frame, view))
        (hosts(frame, view))
        (lately(frame, view))
    };
    page(frame, "Overview", body)
}

/// What of it changes while it is open.
pub fn overview_fragments(frame: &Frame, view: &Overview) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.extend([
        Fragment::new("answer", answer(frame, view)),
        Fragment::new("needs", needs(frame, view)),
        Fragment::new("trials", trials(frame, view)),
        Fragment::new("hosts", hosts(frame, view)),
        Fragment::new("story", lately(frame, view)),
    ]);
    all
}

/// The answer in one sentence, and what else there is to know in another.
fn answer(frame: &Frame, view: &Overview) -> Markup {
    let (state, sentence) = said(view);
    html! {
        div #answer.title.answer data-say=(sentence) {
            h1 { (mark(state)) (sentence) }
            p.lead { (beside(frame, view)) }
        }
    }
}

fn said(view: &Overview) -> (State, String) {
    let needs = view.needs.len() as u64;
    match (&view.unknown, needs) {
        (Some(_), _) => (State::Unknown, "Nobody can say at the moment.".to_owned()),
        (None, 0) => (State::Settled, "Nothing needs you.".to_owned()),
        (None, n) => (State::NeedsYou, format!("{}.", count(n, "thing needs you", "things need you"))),
    }
}

fn beside(frame: &Frame, view: &Overview) -> String {
    if let Some(why) = &view.unknown {
        return line(why, LINE_MAX);
    }
    if frame.pause != Pause::GoesOn {
        return "All autonomy is paused: hosts are measured, and nothing is tried.".to_owned();
    }
    // What waits for a person is not tried yet.
    let tried = view.trials.iter().filter(|trial| !trial.needs_you).count();
    let settled = view.hosts.iter().filter(|host| host.state == State::Settled).count();
    match (view.hosts.len(), tried) {
        (0, _) => "No host is looked after yet.".to_owned(),
        (_, 1..) => {
            let changes = count(tried as u64, "change is", "changes are");
            format!("{changes} on trial, and undone unless kept.")
        }
        (all, 0) if all == settled && all == 1 => "The one host is settled.".to_owned(),
        (all, 0) if all == settled => format!("All {all} hosts are settled."),
        (all, 0) => format!("{settled} of {} settled.", count(all as u64, "host is", "hosts are")),
    }
}

fn needs(frame: &Frame, view: &Overview) -> Markup {
    if view.needs.is_empty() {
        return html! { div #needs {} };
    }
    section(
        "needs",
        "What needs you",
        html! {
            ul.rows {
                @for need in view.needs.iter().take(ROWS_MAX) {
                    li.row {
                        (mark(need.state))
                        p.main { (bdi(&need.sentence, LINE_MAX)) }
                        @if let Some(since) = need.since { span.side { (when(frame.now, since)) } }
                        @if let Some(href) = need.href.as_deref().and_then(local) {
                            a.button href=(href) { (line(&need.word, NAME_MAX)) }
                        }
                    }
                }
            }
        },
    )
}

fn trials(frame: &Frame, view: &Overview) -> Markup {
    if view.trials.is_empty() {
        return html! { div #trials {} };
    }
    section(
        "trials",
        "Under way",
        html! {
            div.insets { @for one in view.trials.iter().take(ROWS_MAX) { div.inset { (trial(frame, one)) } } }
        },
    )
}

fn hosts(frame: &Frame, view: &Overview) -> Markup {
    section(
        "hosts",
        "Hosts",
        html! {
            @if view.hosts.is_empty() {
                p { "Nothing is looked after yet. " code { "holdfast target add" } " takes in a host, which is then only observed." }
            } @else {
                (host_rows(frame, &view.hosts))
            }
        },
    )
}

fn lately(frame: &Frame, view: &Overview) -> Markup {
    section(
        "story",
        "Lately",
        html! {
            @if view.story.is_empty() { p { "Nothing has happened yet that is worth telling." } }
            @else { (story(frame.now, &view.story)) }
            p { a href="/audit" { "Everything that was written down" } }
        },
    )
}
