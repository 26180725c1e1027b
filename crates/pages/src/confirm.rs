//! A page that asks before something is done: what will happen, how to undo it, and the form.

use maud::html;

use crate::frame::{Frame, PAUSE_UNDO, PAUSE_WHAT, Pause, RESUME_INSTEAD, RESUME_UNDO, RESUME_WHAT, page};
use crate::pieces::{LINE_MAX, NAME_MAX, Proof, bdi, csrf, hidden, line, local, passkey_note, reason, title};

/// How much is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Care,
    /// It takes something away.
    Harm,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// As a question: "Roll back web-1?"
    pub question: String,
    /// What will happen, in sentences.
    pub what: Vec<String>,
    /// How to undo it, or that it cannot be undone.
    pub undo: String,
    /// Where it is sent, a path of ours.
    pub to: String,
    /// What is sent with it.
    pub fields: Vec<(String, String)>,
    /// The words of the button.
    pub word: String,
    pub tone: Tone,
    /// Whether a reason may be given.
    pub reason: bool,
    /// What a passkey has to confirm, as the gateway knows it: the button then asks for one instead of sending a form.
    pub passkey: Option<String>,
    /// Whether the form takes a passkey for itself, which the module asks for and sends along.
    pub proved: bool,
    /// Where somebody goes who thinks better of it.
    pub back: String,
}

/// The page.
pub fn confirm(frame: &Frame, view: &Confirm) -> String {
    let harm = view.tone == Tone::Harm;
    let (to, back) = (local(&view.to).unwrap_or("/"), local(&view.back).unwrap_or("/"));
    let word = line(&view.word, NAME_MAX);
    let body = html! {
        (title(None, bdi(&view.question, LINE_MAX)))
        div.inset {
            @for sentence in view.what.iter().take(20) { p { (bdi(sentence, LINE_MAX)) } }
            p.undo { (bdi(&view.undo, LINE_MAX)) }
            @if let Some(what) = &view.passkey {
                div.buttons {
                    button.harm[harm].primary[!harm] type="button" data-confirm=(what) { (word) }
                    a.button href=(back) { "Rather not" }
                }
                p.note { "Your device asks you to confirm it with your passkey." }
            } @else {
                form method="post" action=(to) data-prove=[view.proved.then_some("")] {
                    (csrf(frame))
                    @for (name, value) in &view.fields { (hidden(name, value)) }
                    @if view.reason { (reason("reason")) }
                    div.buttons {
                        button.harm[harm].primary[!harm] { (word) }
                        a.button href=(back) { "Rather not" }
                    }
                }
                (passkey_note(if view.proved { Proof::Passkey } else { Proof::No }, RESUME_INSTEAD))
            }
        }
    };
    page(frame, &view.question, body)
}

/// What `/pause` asks of whoever comes there by a link.
pub fn pause_confirm(pause: &Pause) -> Confirm {
    let paused = *pause != Pause::GoesOn;
    let (question, what, undo, to, word, tone) = if paused {
        ("Let everything go on?", RESUME_WHAT, RESUME_UNDO, "/resume", "Let it go on", Tone::Care)
    } else {
        ("Pause everything?", PAUSE_WHAT, PAUSE_UNDO, "/pause", "Pause everything", Tone::Harm)
    };
    Confirm {
        question: question.to_owned(),
        what: vec![what.to_owned()],
        undo: undo.to_owned(),
        to: to.to_owned(),
        fields: Vec::new(),
        word: word.to_owned(),
        tone,
        reason: !paused,
        passkey: None,
        proved: paused,
        back: "/".to_owned(),
    }
}
