//! A story: dated sentences, each with the entry of the journal that proves it.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{Markup, html};

use super::mark::mark;
use super::path::{entry, local};
use super::text::{bdi, when};
use super::words::exact;
use super::{LINE_MAX, ROWS_MAX};

/// One sentence of a story.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub at: Timestamp,
    /// Seconds since the story began, in the target's own time; shown instead of how long ago it was.
    pub seconds: Option<u64>,
    /// What happened, as a person would say it.
    pub what: String,
    /// What state it left behind, where it did.
    pub state: Option<State>,
    /// The entry of the journal that says so.
    pub entry: Option<u64>,
    /// A page of ours about it: `/episodes/ep_…`.
    pub href: Option<String>,
}

/// `0:01:05`: as the command that shows an episode has it.
fn since(seconds: u64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The sentences, in the order given.
pub(crate) fn story(now: Timestamp, lines: &[Told]) -> Markup {
    html! {
        ol.story {
            @for told in lines.iter().take(ROWS_MAX) {
                li {
                    span.at {
                        @match told.seconds {
                            Some(seconds) => time datetime=(told.at) title=(exact(told.at)) { (since(seconds)) },
                            None => (when(now, told.at)),
                        }
                        span.exact { (exact(told.at)) }
                    }
                    span.what {
                        @if let Some(state) = told.state { (mark(state)) }
                        @match told.href.as_deref().and_then(local) {
                            Some(href) => a href=(href) { (bdi(&told.what, LINE_MAX)) },
                            None => (bdi(&told.what, LINE_MAX)),
                        }
                    }
                    @if let Some(seq) = told.entry {
                        a.proof href=(entry(seq)) { span.hush { "entry " } (seq) }
                    }
                }
            }
        }
    }
}
