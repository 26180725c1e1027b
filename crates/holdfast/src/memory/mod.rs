//! Memory as a home has it: who opens it and when, how what is asked of it is answered.
//!
//! `keeper.rs` opens the spaces and the model when somebody wants them and lets go of them again; `answer.rs` and `using.rs` carry out what is asked, from the
//! command line and over the socket alike; `words.rs` reads the words that cross as text and `told.rs` writes them; `quiet.rs` is what the daemon
//! does by itself, and `outcomes.rs` what it remembers of the steward's episodes; `error.rs` has what goes wrong.
//!
//! What holds: nothing of memory is open, and no model is read, before somebody wants it; a search waits for no consolidation; without a model
//! everything works by words and says so.

mod answer;
mod error;
mod keeper;
mod outcomes;
mod quiet;
mod told;
mod using;
mod words;

pub(crate) use error::{MemoryError, refuse_reserved};
pub(crate) use keeper::{Keeper, model_folder};
pub(crate) use quiet::Tended;
pub(crate) use told::{doubts, marks};
pub(crate) use words::{draft_of, parsed};

/// Whose memory is meant where nobody is named.
pub(crate) const USUAL_AGENT: &str = "main";
