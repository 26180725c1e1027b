//! The states of the product: a shape, a word and an ink for each. The shape and the word say it; the ink only adds.

use crate::line::Ink;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Settled,
    Kept,
    OnTrial,
    NeedsYou,
    Undone,
    Failed,
    Paused,
    Unknown,
}

impl State {
    pub const ALL: [State; 8] = [
        State::Settled,
        State::Kept,
        State::OnTrial,
        State::NeedsYou,
        State::Undone,
        State::Failed,
        State::Paused,
        State::Unknown,
    ];

    pub fn shape(self) -> char {
        match self {
            State::Settled | State::Kept => '●',
            State::OnTrial => '◐',
            State::NeedsYou => '▲',
            State::Undone => '↩',
            State::Failed => '✕',
            State::Paused => '‖',
            State::Unknown => '○',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            State::Settled => "settled",
            State::Kept => "kept",
            State::OnTrial => "on trial",
            State::NeedsYou => "needs you",
            State::Undone => "undone",
            State::Failed => "failed",
            State::Paused => "paused",
            State::Unknown => "unknown",
        }
    }

    pub fn ink(self) -> Ink {
        match self {
            State::Settled | State::Kept => Ink::Kelp,
            State::OnTrial | State::NeedsYou | State::Paused => Ink::Buoy,
            State::Failed => Ink::Coral,
            State::Undone | State::Unknown => Ink::Slate,
        }
    }
}
