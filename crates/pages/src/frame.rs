//! What every page has around it: head, rail, the one button that pauses everything, who is signed in.

use holdfast_plot::State;
use holdfast_types::Timestamp;
use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::pieces::{
    LINE_MAX, NAME_MAX, Proof, bdi, csrf, icon_of, line, mark, number, passkey_note, reason, when, wordmark,
};

/// The six places of the rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Overview,
    Hosts,
    Inbox,
    Memory,
    Audit,
    Settings,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Looks.
    Viewer,
    /// Also approves, rejects, rolls back, pauses.
    Operator,
    /// Also people, tokens, settings, forgetting.
    Owner,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub role: Role,
}

/// Whether autonomy is halted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    GoesOn,
    Paused { since: Option<Timestamp>, by: Option<String>, reason: Option<String> },
}

/// Light or dark: by default what the reader's machine says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// A sentence about what was just done, above the page it led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub state: State,
    pub said: String,
}

/// Who looks, from where, when.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub place: Place,
    /// What times are told from. For a page that is kept live, hand in a time that moves in steps: the same view then
    /// gives the same fragments until something has changed.
    pub now: Timestamp,
    /// The log's origin: `holdfast/web-1`.
    pub house: String,
    pub person: Person,
    /// What every form of this session carries.
    pub csrf: String,
    /// Asks that wait for a person.
    pub inbox_open: u64,
    pub pause: Pause,
    /// Where changes of this page are told: `/live?page=overview`.
    pub live: Option<String>,
    pub theme: Theme,
    pub note: Option<Note>,
}

/// A piece of a page that is replaced by itself when it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The id of the element.
    pub id: &'static str,
    /// The element, with that id.
    pub html: String,
}

impl Place {
    pub const ALL: [Place; 6] =
        [Place::Overview, Place::Hosts, Place::Inbox, Place::Memory, Place::Audit, Place::Settings];

    pub fn word(self) -> &'static str {
        match self {
            Place::Overview => "Overview",
            Place::Hosts => "Hosts",
            Place::Inbox => "Inbox",
            Place::Memory => "Memory",
            Place::Audit => "Audit",
            Place::Settings => "Settings",
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Place::Overview => "/",
            Place::Hosts => "/hosts",
            Place::Inbox => "/inbox",
            Place::Memory => "/memory",
            Place::Audit => "/audit",
            Place::Settings => "/settings",
        }
    }

    /// What leads there after `g`.
    fn key(self) -> char {
        match self {
            Place::Overview => 'o',
            Place::Hosts => 'h',
            Place::Inbox => 'i',
            Place::Memory => 'm',
            Place::Audit => 'a',
            Place::Settings => 's',
        }
    }
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }

    /// What it means, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Role::Viewer => "looks at everything and changes nothing",
            Role::Operator => "also approves, rejects, rolls back and pauses",
            Role::Owner => "also decides about people, tokens and what is forgotten",
        }
    }
}

impl Frame {
    pub(crate) fn may_act(&self) -> bool {
        self.person.role >= Role::Operator
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.person.role >= Role::Owner
    }
}

impl Fragment {
    pub(crate) fn new(id: &'static str, markup: Markup) -> Fragment {
        Fragment { id, html: markup.into_string() }
    }
}

/// A whole page.
pub(crate) fn page(frame: &Frame, name: &str, body: Markup) -> String {
    let content = html! {
        a.skip href="#main" { "To the content" }
        header.rail {
            a.brand href="/" { (wordmark()) }
            (rail(frame))
            div.desk { (pause(frame)) (me(frame)) }
        }
        main #main tabindex="-1" {
            p #stale.stale hidden { (mark(State::Unknown)) "Not live at the moment: what you see may be old. It goes on by itself." }
            @if frame.csrf.is_empty() { (script_note()) }
            (banner(frame))
            @if let Some(note) = &frame.note {
                p.said role="status" { (mark(note.state)) (bdi(&note.said, LINE_MAX)) }
            }
            (body)
        }
        (keys())
        (regions())
    };
    document(frame.theme, name, &head_of(frame), frame.live.as_deref(), content)
}

/// For an address whose cookies reach other programs too: no page has the word that forms need.
fn script_note() -> Markup {
    html! {
        noscript {
            p.note {
                "Without JavaScript you can read here and change nothing: at localhost, forms need a word that only the script has. On the machine, "
                code { "holdfast" } " commands work without, " code { "holdfast pause --all" } " above all."
            }
        }
    }
}

/// What is said aloud, and what went wrong with something the module did.
pub(crate) fn regions() -> Markup {
    html! {
        p #say.hush role="status" aria-live="polite" {}
        div #trouble.trouble role="alert" {}
    }
}

/// What of the frame changes while a page is open.
pub fn frame_fragments(frame: &Frame) -> Vec<Fragment> {
    vec![
        Fragment::new("rail-inbox", rail_inbox(frame)),
        Fragment::new("pause", pause(frame)),
        Fragment::new("banner", banner(frame)),
    ]
}

fn head_of(frame: &Frame) -> Markup {
    html! {
        meta name="csrf" content=(frame.csrf);
        meta name="now" content=(frame.now.as_micros() / 1000);
    }
}

/// A document of ours, signed in or not.
pub(crate) fn document(theme: Theme, name: &str, head: &Markup, live: Option<&str>, body: Markup) -> String {
    let theme = match theme {
        Theme::System => None,
        Theme::Light => Some("light"),
        Theme::Dark => Some("dark"),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                title { (line(name, NAME_MAX)) " · Holdfast" }
                meta name="color-scheme" content="light dark";
                meta name="theme-color" content="#eceee8" media="(prefers-color-scheme: light)";
                meta name="theme-color" content="#101c23" media="(prefers-color-scheme: dark)";
                (head)
                link rel="stylesheet" href=(assets::css());
                link rel="icon" type="image/svg+xml" href=(assets::icon());
                script type="module" src=(assets::js()) {}
            }
            body data-live=[live] { (body) }
        }
    };
    page.into_string()
}

fn rail(frame: &Frame) -> Markup {
    html! {
        nav.places aria-label="Places" {
            ul {
                @for place in Place::ALL {
                    li {
                        @let here = (place == frame.place).then_some("page");
                        a href=(place.path()) aria-current=[here] data-key=(place.key()) {
                            (icon_of(place))
                            span { (place.word()) }
                            @if place == Place::Inbox { (rail_inbox(frame)) }
                        }
                    }
                }
            }
        }
    }
}

/// How many asks wait, beside the inbox.
fn rail_inbox(frame: &Frame) -> Markup {
    let open = frame.inbox_open;
    html! {
        span #rail-inbox.number {
            @if open > 0 {
                b { @if open > 99 { "99+" } @else { (number(open)) } }
                span.hush { " wait for you" }
            }
        }
    }
}

fn banner(frame: &Frame) -> Markup {
    let Pause::Paused { since, by, reason } = &frame.pause else {
        return html! { div #banner {} };
    };
    html! {
        div #banner.banner {
            p {
                (mark(State::Paused)) b { "All autonomy is paused" }
                @if let Some(since) = since { " since " (when(frame.now, *since)) }
                @if let Some(by) = by { " by " (bdi(by, NAME_MAX)) }
                @if let Some(reason) = reason { ": " (bdi(reason, LINE_MAX)) } @else { "." }
            }
        }
    }
}

/// What pausing does, in the words of every place that offers it.
pub(crate) const PAUSE_WHAT: &str = "Nothing acts by itself any more, on any host. A trial under way is taken back. \
    Measuring, remembering and telling you go on.";
pub(crate) const PAUSE_UNDO: &str = "To undo it, let it go on: here, or with holdfast resume --all.";
pub(crate) const RESUME_WHAT: &str = "Every host acts again as far as its level of autonomy allows.";
pub(crate) const RESUME_INSTEAD: &str = "holdfast resume --all";
pub(crate) const RESUME_UNDO: &str = "To undo it, pause everything again.";

/// The one button that stops everything.
fn pause(frame: &Frame) -> Markup {
    let paused = frame.pause != Pause::GoesOn;
    let (word, to, what, undo) = if paused {
        ("Let it go on", "/resume", RESUME_WHAT, RESUME_UNDO)
    } else {
        ("Pause everything", "/pause", PAUSE_WHAT, PAUSE_UNDO)
    };
    html! {
        div #pause.pause {
            @if frame.may_act() {
                details.fold {
                    summary { (mark(State::Paused)) span { (word) } }
                    div.fly {
                        p { (what) }
                        p.undo { (undo) }
                        form method="post" action=(to) data-prove=[paused.then_some("")] {
                            (csrf(frame))
                            @if !paused { (reason("reason")) }
                            button.primary[paused].harm[!paused] { (word) }
                        }
                        (passkey_note(if paused { Proof::Passkey } else { Proof::No }, RESUME_INSTEAD))
                    }
                }
            }
        }
    }
}

fn me(frame: &Frame) -> Markup {
    html! {
        details.fold.me {
            summary { span.hush { "Signed in as " } span { (bdi(&frame.person.name, 32)) } }
            div.fly {
                p { (bdi(&frame.person.name, NAME_MAX)) ", " (frame.person.role.word()) br; span.note { (bdi(&frame.house, NAME_MAX)) } }
                p { a href="/settings" { "Devices and sessions" } }
                form method="post" action="/auth/logout" { (csrf(frame)) button { "Sign out" } }
            }
        }
    }
}

/// What can be done by keys; shown by `?`.
fn keys() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-h" {
            h2 #keys-h { "Keys" }
            dl.facts {
                @for place in Place::ALL {
                    div { dt { kbd { "g" } " " kbd { (place.key()) } } dd { (place.word()) } }
                }
                div { dt { kbd { "/" } } dd { "Search" } }
                div { dt { kbd { "←" } " " kbd { "→" } } dd { "Read a plot, once it has the focus" } }
                div { dt { kbd { "?" } } dd { "This list" } }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
