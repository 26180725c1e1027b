//! Settings: one page for each of what is yours, who may come in, tokens, notices, and the house itself.

mod house;
mod notices;
mod people;
mod tokens;
mod you;

use maud::{Markup, html};

pub use house::{House, KeyLine, Part, TrustKind};
pub use notices::{Channel, Notices};
pub use people::{Member, People};
pub use tokens::{Scope, TokenLine, Tokens};
pub use you::{Device, Link, News, Session, You};

use crate::frame::{Frame, page};
use crate::pieces::{LINE_MAX, bdi, copy, csrf, line, title};
use crate::sign_in::codes_panel;

/// Which of the pages, and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Settings {
    You(You),
    People(People),
    Tokens(Tokens),
    Notices(Notices),
    House(House),
}

/// Something that is shown once, to somebody whose browser sent a plain form: a token, a link, recovery codes.
#[derive(Clone, PartialEq, Eq)]
pub struct Once {
    /// "The token rsync. It is shown now and never again."
    pub said: String,
    pub values: Vec<String>,
}

/// What is shown once is in no log either.
impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("said", &self.said).field("values", &self.values.len()).finish()
    }
}

/// `/settings`, `/settings/people`, `/settings/tokens`, `/settings/notices`, `/settings/house`.
pub fn settings(frame: &Frame, view: &Settings) -> String {
    let (here, body) = match view {
        Settings::You(view) => (0, you::shown(frame, view)),
        Settings::People(view) => (1, people::shown(frame, view)),
        Settings::Tokens(view) => (2, tokens::shown(frame, view)),
        Settings::Notices(view) => (3, notices::shown(frame, view)),
        Settings::House(view) => (4, house::shown(frame, view)),
    };
    let (_, word) = PAGES[here];
    let body = html! {
        (title(None, html! { "Settings" }))
        nav.tabs aria-label="Settings" {
            ul {
                @for (n, (to, word)) in PAGES.iter().enumerate() {
                    li { a href=(to) aria-current=[(n == here).then_some("page")] { (word) } }
                }
            }
        }
        noscript { p.note { "What makes a way in, or takes something away for good, asks for your passkey, and only a script can." } }
        (codes_panel())
        (body)
    };
    page(frame, &format!("{word}, settings"), body)
}

const PAGES: [(&str, &str); 5] = [
    ("/settings", "You"),
    ("/settings/people", "People"),
    ("/settings/tokens", "Tokens"),
    ("/settings/notices", "Notices"),
    ("/settings/house", "House"),
];

/// Where the gateway takes a passkey for the act itself.
const TAKES_PASSKEY: [&str; 10] = [
    "/auth/sessions/end",
    "/auth/links/revoke",
    "/auth/news/known",
    "/auth/devices/remove",
    "/auth/devices/link",
    "/auth/codes/renew",
    "/auth/people/invite",
    "/auth/people/role",
    "/auth/people/remove",
    "/auth/tokens/make",
];

/// A form to the gateway. The module sends it as JSON and shows what comes back; without it the browser sends it.
fn form(frame: &Frame, to: &str, body: Markup) -> Markup {
    let prove = TAKES_PASSKEY.contains(&to).then_some("");
    html! { form method="post" action=(to) data-json data-prove=[prove] { (csrf(frame)) (body) } }
}

/// A small form that takes something away, folded until it is wanted.
fn fold(frame: &Frame, word: &str, to: &str, what: &str, fields: Markup) -> Markup {
    html! {
        details.act {
            summary { (word) "…" }
            div.ask {
                p { (what) }
                (form(frame, to, html! { (fields) button.harm { (word) } }))
            }
        }
    }
}

fn once(view: Option<&Once>) -> Markup {
    html! {
        @if let Some(once) = view {
            div.inset.once role="status" {
                p { (bdi(&once.said, LINE_MAX)) }
                ol.codes { @for value in once.values.iter().take(20) { li { code { (line(value, 400)) } (copy(value)) } } }
            }
        }
    }
}
