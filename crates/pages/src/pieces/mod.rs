//! What pages are put together from. Each piece is a function from a few values to markup.

mod act;
mod draw;
mod mark;
mod path;
mod story;
mod text;
mod trial;
mod words;

pub(crate) use act::{Act, Proof, act, csrf, hidden, passkey_note, reason};
pub(crate) use draw::{plot, spark};
pub(crate) use mark::{icon_of, mark, state, wordmark};
pub(crate) use path::{entry, local, path, query};
pub use story::Told;
pub(crate) use story::story;
pub(crate) use text::{
    actor, bdi, block, copy, copy_of, facts, id, id_copied, line, raw, section, title, when,
};
pub use trial::{Countdown, Trial};
pub(crate) use trial::{gates, lease, score, trial};
pub(crate) use words::{bytes, count, exact, number, share, span_of};

/// Characters of a text that stands in one line of a list. About three lines on a telephone.
pub(crate) const LINE_MAX: usize = 240;
/// Characters of a name: of a host, a person, a kind. Longer ones are nobody's honest name.
pub(crate) const NAME_MAX: usize = 80;
/// Characters of a text that is shown as a whole. What is longer is downloaded or read in a terminal.
pub(crate) const TEXT_MAX: usize = 8_000;
/// Rows of a list. Whoever fills a view pages; this only keeps a mistake there from making a page without end.
pub(crate) const ROWS_MAX: usize = 200;
