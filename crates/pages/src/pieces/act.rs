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
    pub(crate) proof: Proof,
    /// The command that does it on the machine.
    pub(crate) instead: &'static str,
    /// What else is sent.
    pub(crate) fields: Markup,
}

/// Whether the gateway takes a passkey for it. What it takes stands in its own table; here the form is made to bring one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    No,
    Passkey,
    /// Unless a field says this, as `name=value`.
    PasskeyUnless(&'static str),
}

impl Proof {
    /// What the module reads at the form.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Proof::No => None,
            Proof::Passkey => Some(""),
            Proof::PasskeyUnless(field) => Some(field),
        }
    }
}

/// Says that a passkey is asked for, and where that cannot be.
pub(crate) fn passkey_note(proof: Proof, instead: &str) -> Markup {
    html! {
        @if proof != Proof::No {
            p.note { "Your device asks you to confirm it with your passkey." }
            noscript { p.note { "This needs JavaScript, because only a script can ask for a passkey. " code { (instead) } " works without." } }
        }
    }
}

/// Folded together until somebody wants it; unfolded it explains and asks. Works without the module where it takes no passkey.
pub(crate) fn act(frame: &Frame, act: Act<'_>) -> Markup {
    html! {
        details.act {
            summary { (act.word) "…" }
            div.ask {
                p { (act.what) }
                p.undo { (act.undo) }
                form method="post" action=(act.to) data-prove=[act.proof.word()] {
                    (csrf(frame))
                    (act.fields)
                    button.harm[act.harm].primary[!act.harm] { (act.word) }
                }
                (passkey_note(act.proof, act.instead))
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
