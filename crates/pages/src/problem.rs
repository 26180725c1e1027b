//! What somebody sees when something did not work: what happened, what was left untouched, what to do.

use holdfast_plot::State;
use maud::{Markup, html};

use crate::frame::{Frame, page};
use crate::pieces::{LINE_MAX, NAME_MAX, bdi, facts, line, local, mark};
use crate::sign_in::{Outside, outside};

/// Something that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status of the answer: 404.
    pub status: u16,
    /// `HF-GTW-012`, where it has one.
    pub code: Option<String>,
    pub what: String,
    /// What was left as it was.
    pub untouched: Option<String>,
    /// What to do next.
    pub hint: Option<String>,
    /// Where to go back to, a path of ours.
    pub back: Option<String>,
}

/// For somebody who is signed in.
pub fn problem(frame: &Frame, view: &Problem) -> String {
    page(frame, heading(view), told(view))
}

/// For anybody.
pub fn problem_outside(at: &Outside, view: &Problem) -> String {
    outside(at, heading(view), told(view))
}

fn heading(view: &Problem) -> &'static str {
    match view.status {
        401 => "You are not signed in",
        403 => "That is not allowed",
        404 => "There is nothing here",
        409 => "That does not go together",
        413 => "That is too long",
        421 => "That is not a name of this house",
        429 => "Too often",
        400..=499 => "That could not be understood",
        503 => "Not at the moment",
        _ => "Something went wrong",
    }
}

fn told(view: &Problem) -> Markup {
    html! {
        div.title { h1 { (heading(view)) } }
        p.lead { (mark(State::Failed)) (bdi(&view.what, LINE_MAX)) }
        (facts(&[
            ("untouched", view.untouched.as_ref().map(|text| bdi(text, LINE_MAX))),
            ("what to do", view.hint.as_ref().map(|text| bdi(text, LINE_MAX))),
            ("code", view.code.as_ref().map(|code| html! { code { (line(code, NAME_MAX)) } })),
        ]))
        p { a.button href=(view.back.as_deref().and_then(local).unwrap_or("/")) { "Go back" } }
    }
}
