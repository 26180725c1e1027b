//! Memory: a question, what is remembered that answers it, and where each of it comes from.

use holdfast_plot::State;
use holdfast_types::{Timestamp, Trust};
use maud::{Markup, html};

use crate::frame::{Frame, page};
use crate::pieces::{
    Act, LINE_MAX, NAME_MAX, Proof, ROWS_MAX, act, actor, bdi, block, count, entry, facts, id, id_copied,
    line, mark, number, path, query, section, share, state, title, when,
};

/// Characters of a text in a list of hits; all of it is on its own page.
const HIT_MAX: usize = 600;

/// The kinds and types there are to choose from, in the words of the commands.
const KINDS: [&str; 8] = [
    "session_facts",
    "outcomes",
    "directives",
    "user_inputs",
    "version_snapshots",
    "run_trajectories",
    "doc_trajectories",
    "experiences",
];
const TYPES: [&str; 5] = ["decision", "fact", "preference", "pattern", "error"];

/// A search, before or after it was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySearch {
    pub query: String,
    pub filter: MemoryFilter,
    /// Whose memories there are.
    pub spaces: Vec<Space>,
    /// What was found; absent before anything was asked.
    pub found: Option<Found>,
}

/// Which memories it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFilter {
    pub agent: String,
    pub kind: Option<String>,
    pub entry_type: Option<String>,
    pub trust: Option<Trust>,
    pub tag: Option<String>,
    pub host: Option<String>,
    /// Not what is archived.
    pub fresh: bool,
}

/// What an agent remembers, by count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    pub agent: String,
    pub durable: u64,
    pub session: u64,
    pub conflicts: u64,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// There is no model, so it went by words alone.
    pub lexical: bool,
    /// Memories that had no vector yet.
    pub without_vector: u64,
    /// Hits that did not fit the answer.
    pub left_off: u64,
}

/// A memory that was found, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub memory: Memory,
    pub score: f64,
    /// What counted for it: its name and its part of one, the strongest first.
    pub why: Vec<(String, f64)>,
    /// Memories that say otherwise.
    pub conflicts: Vec<String>,
}

/// A memory with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub agent: String,
    pub id: String,
    pub text: String,
    pub kind: String,
    pub entry_type: String,
    pub standing: Standing,
    /// From 0 to 1.
    pub confidence: f64,
    pub tags: Vec<String>,
    pub marks: Vec<String>,
    /// When it was said, and when it was captured.
    pub at: Timestamp,
    pub captured: Timestamp,
    /// conversation, observation or inference; and which one.
    pub source: String,
    pub thread: Option<String>,
    /// What it was called where it came from.
    pub source_id: Option<String>,
    pub actor: String,
    pub trust: Trust,
    /// The entry of the journal that it is.
    pub entry: u64,
    pub origins: Vec<Origin>,
    /// Whose it is, where another agent shares it.
    pub shared_by: Option<String>,
}

/// An entry that a memory was made from, and which bytes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub entry: u64,
    pub span: Option<(u32, u32)>,
    pub trust: Trust,
}

/// What was decided about a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Session,
    Durable,
    Archived,
    Merged,
    Superseded,
    Rejected,
    Forgotten,
    /// A word this program does not know.
    Unknown,
}

impl Standing {
    /// By the word of memory.
    pub fn of(word: &str) -> Standing {
        match word {
            "session" => Standing::Session,
            "durable" => Standing::Durable,
            "archived" => Standing::Archived,
            "merged" => Standing::Merged,
            "superseded" => Standing::Superseded,
            "rejected" => Standing::Rejected,
            "forgotten" => Standing::Forgotten,
            _ => Standing::Unknown,
        }
    }

    fn look(self) -> (State, &'static str) {
        match self {
            Standing::Session => (State::OnTrial, "not decided about yet"),
            Standing::Durable => (State::Settled, "durable"),
            Standing::Archived => (State::Unknown, "archived"),
            Standing::Merged => (State::Unknown, "merged"),
            Standing::Superseded => (State::Unknown, "superseded"),
            Standing::Rejected => (State::Failed, "rejected"),
            Standing::Forgotten => (State::Undone, "forgotten"),
            Standing::Unknown => (State::Unknown, "unknown"),
        }
    }
}

/// A memory on a page of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryEntry {
    pub agent: String,
    pub id: String,
    pub entry: u64,
    pub standing: Standing,
    pub captured: Timestamp,
    /// What took its place, and what it has taken the place of.
    pub replaced_by: Option<String>,
    pub replaces: Vec<String>,
    /// Which gate refused it.
    pub gate: Option<String>,
    pub conflicts: Vec<String>,
    pub shared_with: Vec<String>,
    /// How many found it of use.
    pub citations: u64,
    /// Absent when it was forgotten.
    pub memory: Option<Memory>,
}

/// `/memory?q=…`.
pub fn memory(frame: &Frame, view: &MemorySearch) -> String {
    let body = html! {
        (title(None, html! { "Memory" }))
        (form(view))
        @match &view.found {
            Some(found) => (hits(frame, view, found)),
            None => (spaces(view)),
        }
    };
    page(frame, "Memory", body)
}

fn form(view: &MemorySearch) -> Markup {
    let MemoryFilter { agent, kind, entry_type, trust, tag, host, fresh } = &view.filter;
    let trust = trust.map(Trust::as_str).unwrap_or_default();
    let narrowed = kind.is_some()
        || entry_type.is_some()
        || !trust.is_empty()
        || tag.is_some()
        || host.is_some()
        || *fresh;
    html! {
        form.search role="search" method="get" action="/memory" {
            label.field {
                span { "What do you want to know?" }
                input type="search" name="q" value=(line(&view.query, 1_000)) maxlength="1000" autocomplete="off" data-search;
            }
            label.field.short {
                span { "Whose memory" }
                select name="agent" {
                    @for space in view.spaces.iter().take(ROWS_MAX) {
                        option value=(space.agent) selected[space.agent == *agent] { (line(&space.agent, NAME_MAX)) }
                    }
                    @if !view.spaces.iter().any(|space| space.agent == *agent) {
                        option value=(agent) selected { (line(agent, NAME_MAX)) }
                    }
                }
            }
            button.primary { "Search" }
            details.narrow open[narrowed] {
                summary { "Narrow it" }
                div.fields {
                    (choice("kind", "Kind", &KINDS, kind.as_deref().unwrap_or_default()))
                    (choice("type", "Type", &TYPES, entry_type.as_deref().unwrap_or_default()))
                    (choice("trust", "Trusted at least", &Trust::ALL.map(Trust::as_str), trust))
                    label.field { span { "Tag" } input type="text" name="tag" maxlength="80" value=(line(tag.as_deref().unwrap_or_default(), NAME_MAX)); }
                    label.field { span { "About the host" } input type="text" name="host" maxlength="80" value=(line(host.as_deref().unwrap_or_default(), NAME_MAX)); }
                    label.check { input type="checkbox" name="fresh" value="1" checked[*fresh]; " Not what is archived" }
                }
            }
        }
    }
}

fn choice(name: &str, label: &str, words: &[&str], chosen: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            select name=(name) {
                option value="" { "any" }
                @for word in words { option value=(word) selected[*word == chosen] { (word.replace('_', " ")) } }
            }
        }
    }
}

fn spaces(view: &MemorySearch) -> Markup {
    section(
        "spaces",
        "What is remembered",
        html! {
            @if view.spaces.is_empty() {
                p { "Nobody remembers anything yet. What agents capture lies here, with where it came from and how far it is trusted." }
                p { "Begin with one thing: " code { "holdfast memory add 'The port is 9096.'" } }
            } @else {
                ul.rows {
                    @for space in view.spaces.iter().take(ROWS_MAX) {
                        li.row {
                            (mark(if space.conflicts > 0 { State::NeedsYou } else { State::Settled }))
                            p.main { b { (bdi(&space.agent, NAME_MAX)) } " "
                                (count(space.durable, "memory", "memories"))
                                @if space.session > 0 { ", " (number(space.session)) " not decided about yet" }
                                @if space.conflicts > 0 { ", " (count(space.conflicts, "says", "say")) " otherwise" } }
                        }
                    }
                }
            }
        },
    )
}

fn hits(frame: &Frame, view: &MemorySearch, found: &Found) -> Markup {
    let heading = match found.hits.len() as u64 {
        0 => format!("{} remembers nothing like it", line(&view.filter.agent, NAME_MAX)),
        n => count(n, "memory", "memories"),
    };
    section(
        "hits",
        &heading,
        html! {
            @if found.lexical { p.note { "By words alone: there is no model here to search by meaning. " code { "holdfast model fetch" } " gets one." } }
            @else if found.without_vector > 0 {
                p.note { (count(found.without_vector, "memory was", "memories were")) " looked at by words alone: they have no vector yet." }
            }
            @if found.hits.is_empty() {
                p { "Ask in other words, look into another agent's memory, or narrow it less." }
            }
            ol.hits { @for hit in found.hits.iter().take(ROWS_MAX) { (one(frame, hit)) } }
            @if found.left_off > 0 { p.note { (count(found.left_off, "further hit does", "further hits do")) " not fit here." } }
        },
    )
}

fn one(frame: &Frame, hit: &Hit) -> Markup {
    let memory = &hit.memory;
    let whole = path(&["memory", &memory.agent, &memory.id]);
    html! {
        li.hit {
            blockquote dir="auto" { (line(&memory.text, HIT_MAX)) }
            (provenance(frame, memory))
            @for other in hit.conflicts.iter().take(5) {
                p { (mark(State::NeedsYou)) "otherwise: " a href=(path(&["memory", &memory.agent, other])) { (line(other, NAME_MAX)) } }
            }
            p.note {
                a href=(whole) { (line(&memory.id, NAME_MAX)) } " · score " (format!("{:.2}", hit.score))
                @for (signal, part) in hit.why.iter().take(4) { " · " (line(signal, 48)) " " (share(*part)) }
            }
        }
    }
}

/// Where a memory came from, through which hands, how far it is trusted.
fn provenance(frame: &Frame, memory: &Memory) -> Markup {
    html! {
        p.provenance {
            (trusted(memory.trust)) " "
            (line(&memory.source, NAME_MAX)) " "
            @if let Some(thread) = &memory.thread { "in " (bdi(thread, NAME_MAX)) " " }
            @if let Some(called) = &memory.source_id { "as " (bdi(called, NAME_MAX)) " " }
            "by " (actor(&memory.actor)) ", " (when(frame.now, memory.at)) ", "
            a href=(entry(memory.entry)) { "entry " (memory.entry) }
            @for origin in memory.origins.iter().take(8) {
                ", from " a href=(entry(origin.entry)) { (origin.entry) }
                @if let Some((from, to)) = origin.span { " bytes " (from) "–" (to) }
            }
            @if let Some(by) = &memory.shared_by { ", shared by " (bdi(by, NAME_MAX)) }
            " · " (kind_words(memory))
        }
    }
}

fn kind_words(memory: &Memory) -> String {
    format!("{} of {}", line(&memory.entry_type, NAME_MAX), line(&memory.kind, NAME_MAX).replace('_', " "))
}

fn trusted(trust: Trust) -> Markup {
    let shape = match trust {
        Trust::Admin | Trust::Trusted => State::Settled,
        Trust::SemiTrusted => State::OnTrial,
        Trust::Untrusted | Trust::Disposable => State::Unknown,
    };
    state(shape, Some(trust.as_str()))
}

/// `/memory/{agent}/{id}`.
pub fn memory_entry(frame: &Frame, view: &MemoryEntry) -> String {
    let (shape, word) = view.standing.look();
    let back = query("/memory", &[("agent", &view.agent)]);
    let heading = format!("A memory of {}", line(&view.agent, NAME_MAX));
    let body = html! {
        (title(Some((back.as_str(), "Memory")), html! { (heading) }))
        p.lead { (state(shape, Some(word))) }
        @match &view.memory {
            Some(memory) => {
                blockquote { (block(&memory.text)) }
                (section("provenance", "Where it comes from", html! { (provenance(frame, memory)) (known(frame, memory)) }))
            },
            None => p { "Its text was destroyed, in the index, in notes and in backups. What is left is that it was there." },
        }
        (section("standing", "Where it stands", linked(frame, view)))
        (forget(frame, view))
    };
    page(frame, &heading, body)
}

fn known(frame: &Frame, memory: &Memory) -> Markup {
    let words = |all: &[String]| {
        (!all.is_empty()).then(
            || html! { (all.iter().take(40).map(|it| line(it, NAME_MAX)).collect::<Vec<_>>().join(", ")) },
        )
    };
    facts(&[
        ("said", Some(when(frame.now, memory.at))),
        ("captured", Some(when(frame.now, memory.captured))),
        ("confidence", Some(html! { (share(memory.confidence)) })),
        ("tags", words(&memory.tags)),
        ("marks", words(&memory.marks)),
    ])
}

fn linked(frame: &Frame, view: &MemoryEntry) -> Markup {
    let links = |ids: &[String]| {
        (!ids.is_empty()).then(|| {
            html! {
                @for (n, other) in ids.iter().take(40).enumerate() {
                    @if n > 0 { ", " }
                    a href=(path(&["memory", &view.agent, other])) { (id(other)) }
                }
            }
        })
    };
    facts(&[
        ("whose", Some(bdi(&view.agent, NAME_MAX))),
        (
            "entry",
            Some(
                html! { a href=(entry(view.entry)) { "entry " (view.entry) } ", " (when(frame.now, view.captured)) },
            ),
        ),
        ("id", Some(id_copied(&view.id))),
        ("replaced by", view.replaced_by.as_ref().and_then(|it| links(std::slice::from_ref(it)))),
        ("replaces", links(&view.replaces)),
        ("otherwise", links(&view.conflicts)),
        ("refused by", view.gate.as_ref().map(|gate| html! { "the gate " (line(gate, NAME_MAX)) })),
        (
            "shared with",
            (!view.shared_with.is_empty()).then(|| html! { (line(&view.shared_with.join(", "), LINE_MAX)) }),
        ),
        ("of use", Some(html! { (count(view.citations, "time", "times")) })),
    ])
}

fn forget(frame: &Frame, view: &MemoryEntry) -> Markup {
    html! {
        @if view.memory.is_some() && frame.is_owner() {
            (act(frame, Act {
                word: "Forget it",
                to: path(&["memory", &view.agent, &view.id, "forget"]),
                what: "The key of its text is destroyed, and with it every copy, also in backups. So are the texts of all it has taken the place of.",
                undo: "This cannot be undone.",
                harm: true,
                proof: Proof::Passkey,
                instead: "holdfast memory forget",
                fields: html! {},
            }))
        }
    }
}
