//! Shapes: of states, of places, of the house. Drawn and not written, because a letter's shape is the font's business and
//! some telephones make coloured pictures of arrows.

use holdfast_plot::{Ink, State};
use maud::{Markup, PreEscaped, html};

use super::NAME_MAX;
use super::text::line;
use crate::frame::Place;

/// A state: its shape, its word, its colour.
pub(crate) fn state(state: State, word: Option<&str>) -> Markup {
    let word = word.map_or_else(|| state.word().to_owned(), |word| line(word, NAME_MAX));
    html! { span.state.(tone(state)) { (mark(state)) (word) } }
}

/// The shape alone, beside words that say the same.
pub(crate) fn mark(state: State) -> Markup {
    let shape = match state {
        State::Settled | State::Kept => "<circle cx=\"8\" cy=\"8\" r=\"5.5\"/>",
        State::OnTrial => {
            "<path d=\"M8 2.5a5.5 5.5 0 0 0 0 11z\"/><circle class=\"o\" cx=\"8\" cy=\"8\" r=\"4.8\"/>"
        }
        State::NeedsYou => "<path d=\"M8 2l6.6 12H1.4z\"/>",
        State::Undone => "<path class=\"o\" d=\"M6 2.8L2.6 6.2 6 9.6M3 6.2h7a3.4 3.4 0 0 1 0 6.8H6.4\"/>",
        State::Failed => "<path class=\"o\" d=\"M3.5 3.5l9 9m0-9l-9 9\"/>",
        State::Paused => "<path d=\"M4 3h3v10H4zM9 3h3v10H9z\"/>",
        State::Unknown => "<circle class=\"o\" cx=\"8\" cy=\"8\" r=\"4.8\"/>",
    };
    html! { svg.mark.(tone(state)) viewBox="0 0 16 16" aria-hidden="true" { (PreEscaped(shape)) } }
}

fn tone(state: State) -> &'static str {
    match state.ink() {
        Ink::Kelp => "kelp",
        Ink::Buoy => "buoy",
        Ink::Coral => "coral",
        Ink::Slate | Ink::Text | Ink::Strong => "slate",
    }
}

pub(crate) fn icon_of(place: Place) -> Markup {
    let shape = match place {
        // A horizon with something above it.
        Place::Overview => "M3 14h14M6 14a4 4 0 0 1 8 0M10 4v2.5M4.6 6.6l1.6 1.6M15.4 6.6l-1.6 1.6",
        Place::Hosts => "M3.5 4h13v4.5h-13zM3.5 11.5h13V16h-13zM6 6.2h.1M6 13.8h.1",
        Place::Inbox => "M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4",
        Place::Memory => "M5 3.5h8.5a2 2 0 0 1 2 2v11H7a2 2 0 0 1-2-2zM5 14.5a2 2 0 0 1 2-2h8.5M8 7h4.5",
        Place::Audit => "M6 3.5h8v13l-2-1.4-2 1.4-2-1.4-2 1.4zM8.2 7h3.6M8.2 10h3.6",
        Place::Settings => "M3 6h7M14 6h3M3 14h3M10 14h7M12 4v4M8 12v4",
    };
    html! { svg.icon viewBox="0 0 20 20" aria-hidden="true" { path d=(shape) {} } }
}

/// The sign of the house: what holds a kelp to its rock.
pub(crate) fn wordmark() -> Markup {
    html! {
        svg.sign viewBox="0 0 24 24" aria-hidden="true" {
            path d="M12 2v10M12 12c0 4-2 5-6 6M12 12c0 4 2 5 6 6M12 12v8M12 9c-2 0-3.5-1-4-3M12 6c2 0 3.5-1 4-3" {}
        }
        span { "Holdfast" }
    }
}
