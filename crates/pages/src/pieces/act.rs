//! Things that can be done: a form that says what will happen and how to undo it before it asks.

use maud::{Markup, html};

use crate::frame::Frame;

/// Something to do.
pub(crate) struct Act<'a> {
    /// The words of the button.
    pub(crate) word: &'a str,
    /// Where it is sent. Ours; names in it were encoded.
    pub(crate) to: String,
    pub(crate) what: &'a str,
    pub(crate) undo: &'a str,
    pub(crate) harm: bool,
    /// What else is sent.
    pub(crate) fields: Markup,
}

/// Folded together until somebody wants it; unfolded it explains and asks. Works without the module.
pub(crate) fn act(frame: &Frame, act: Act<'_>) -> Markup {
    html! {
        details.act {
            summary { (act.word) "…" }
            div.ask {
                p { (act.what) }
                p.undo { (act.undo) }
                form method="post" action=(act.to) {
                    (csrf(frame))
                    (act.fields)
                    button.harm[act.harm].primary[!act.harm] { (act.word) }
                }
            }
        }
    }
}

/// What shows that a form is one of ours.
pub(crate) fn csrf(frame: &Frame) -> Markup {
    hidden("csrf", &frame.csrf)
}

pub(crate) fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

/// A reason, for whoever finds it so.
pub(crate) fn reason(name: &str) -> Markup {
    html! {
        label.field {
            span { "Why " small { "(for whoever finds it so)" } }
            input type="text" name=(name) maxlength="200" autocomplete="off";
        }
    }
}
