//! What agents remember.
//!
//! A question stands in a body and not in an address, which every proxy on the way writes down. An agent is named in the query or the body,
//! since a name may hold what a path cannot.

use holdfast_control::{
    MemoryAdded, MemoryAsk, MemoryCited, MemoryDraft, MemoryEmbedded, MemoryFilter, MemoryFound, MemoryGone,
    MemoryImported, MemoryLine, MemoryLines, MemoryMined, MemoryPack, MemoryPage, MemoryPortion, MemoryProof,
    MemoryQuery, MemoryRead, MemorySearch, MemoryShared, MemoryShown, MemoryStats, MemoryWritten, Request,
};
use holdfast_types::Actor;
use serde_json::Value;

use super::audit::{TRUST, key};
use super::{Asked, CHANGE, LOOK, control, looked};
use crate::call::{Ask, Look, Mine};
use crate::error::ApiError;
use crate::given::Given;
use crate::read;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{BODY_MAX, BYTES, Body, NDJSON, ReplyForm, Route, Verb};
use crate::rule::{Field, Rule, SEQ};
use crate::told::{FoundMany, MatchList, NotesWritten, RunList};
use crate::{shape, show};

/// Hits of one search.
const TOP_MAX: u64 = 200;

/// Questions of one batch: an answer that somebody waits for.
const QUESTIONS_MAX: usize = 32;

/// Tokens of a pack: more than any model reads at once.
const BUDGET_MAX: u64 = 1_000_000;

/// The longest memory with every character escaped twice over, and what stands beside it.
const DRAFT_MAX: usize = 256 * 1024;

/// The longest part of a file with every character escaped twice over.
const WRITTEN_MAX: usize = 2 * 1024 * 1024;

/// As many questions as there may be, escaped alike.
const BATCH_MAX: usize = 2 * 1024 * 1024;

/// An import of one call.
const IMPORT_MAX: usize = 8 * 1024 * 1024;

/// A bundle of one call: years of a small project.
const BUNDLE_MAX: usize = 32 * 1024 * 1024;

/// What is handed to memory at once: it is busy for a moment, and others get a turn in between.
const PIECE_LINES: usize = 256;

const KINDS: Rule = Rule::Word(&[
    "session_facts",
    "outcomes",
    "directives",
    "user_inputs",
    "version_snapshots",
    "run_trajectories",
    "doc_trajectories",
    "experiences",
]);

const TYPES: Rule = Rule::Word(&["decision", "fact", "preference", "pattern", "error"]);
const SCOPES: Rule = Rule::Word(&["project", "global"]);
const TRUSTS: Rule = Rule::Word(&["disposable", "untrusted", "semi-trusted", "trusted", "admin"]);
const NAMES: Rule = Rule::Text(&shape::NAME);
const MOMENT: Rule = Rule::Text(&shape::TIME);

const AGENT: Field = Field::otherwise("agent", NAMES, "Whose memory; each agent has its own.", r#""main""#);

const ANY_AGENT: Field =
    Field::optional("agent", NAMES, "Whose memory; everybody's where nobody is named.", r#""main""#);

const NAME: Field = Field::optional(
    "name",
    Rule::Text(&shape::LABEL),
    "What the repository is called: what was learnt says so.",
    r#""gateway""#,
);

const COMMITS: Field = Field::otherwise(
    "commits",
    Rule::Whole { least: 1, most: 10_000 },
    "The most commits that are looked at, the newest first.",
    "2000",
);

const ID: Field =
    Field::required("id", Rule::Text(&shape::MEMORY_ID), "The memory.", r#""mem-2026-11-18-001""#);

const QUERY: Field = Field::required(
    "query",
    Rule::Text(&shape::QUESTION),
    "The question.",
    r#""which port does the gateway use?""#,
);

const TOP: Field =
    Field::otherwise("top", Rule::Whole { least: 1, most: TOP_MAX }, "How many hits at most.", "10");

const ONLY: Field = Field::otherwise("only", Rule::Parts(FILTER), "Which memories it is about.", "{}");

/// The most of each list.
const FILTER: &[Field] = &[
    Field::optional(
        "kinds",
        Rule::Each { of: &KINDS, least: 0, most: 8 },
        "Of one of these kinds.",
        r#"["session_facts"]"#,
    ),
    Field::optional(
        "types",
        Rule::Each { of: &TYPES, least: 0, most: 5 },
        "Of one of these types.",
        r#"["fact"]"#,
    ),
    Field::optional("scope", SCOPES, "Of this scope.", r#""project""#),
    Field::optional("since", MOMENT, "Said at or after this moment.", r#""2026-11-18T09:30:00.000000Z""#),
    Field::optional("until", MOMENT, "Said before this moment.", r#""2026-11-18T09:30:00.000000Z""#),
    Field::optional(
        "tags",
        Rule::Each { of: &NAMES, least: 0, most: 16 },
        "With all of these tags.",
        r#"["ports"]"#,
    ),
    Field::optional("trust", TRUSTS, "Trusted at least so far.", r#""trusted""#),
    Field::optional("fresh", Rule::Flag, "Not what is archived.", "false"),
    Field::optional("host", Rule::Text(&shape::LABEL), "About this host.", r#""box-1""#),
];

const ONE_QUESTION: Rule = Rule::Parts(&[AGENT, QUERY]);

const DRAFT: &[Field] = &[
    AGENT,
    Field::required(
        "text",
        Rule::Text(&shape::MEMORY),
        "What is to be remembered.",
        r#""The gateway of staging listens on port 9096.""#,
    ),
    Field::otherwise("type", TYPES, "What it is.", r#""fact""#),
    Field::otherwise(
        "source",
        Rule::Word(&["conversation", "observation", "inference"]),
        "How it was learnt.",
        r#""conversation""#,
    ),
    Field::optional(
        "thread",
        Rule::Text(&shape::LABEL),
        "In which conversation, session or file.",
        r#""standup""#,
    ),
    Field::otherwise("confidence", Rule::Number { least: 0.0, most: 1.0 }, "How sure it is.", "0.9"),
    Field::otherwise("scope", SCOPES, "Whether it concerns the work at hand or everything.", r#""project""#),
    Field::optional("tags", Rule::Each { of: &NAMES, least: 0, most: 16 }, "Tags.", r#"["ports"]"#),
    Field::optional(
        "at",
        MOMENT,
        "When it was said, where that was not now.",
        r#""2026-11-18T09:30:00.000000Z""#,
    ),
    TRUST,
    Field::optional(
        "key",
        Rule::Text(&shape::KEY),
        "A second time with the same key writes nothing. Kept with api: before it.",
        r#""note-7""#,
    ),
];

const WRITTEN: &[Field] = &[
    AGENT,
    Field::required("name", Rule::Text(&shape::LABEL), "What the file is called.", r#""ops.md""#),
    Field::required(
        "text",
        Rule::Text(&shape::WRITTEN),
        "The text, or a part of it.",
        r#""The gateway of staging listens on port 9096.""#,
    ),
    Field::otherwise("at", SEQ, "Where in the file the text begins, in bytes.", "0"),
    TRUST,
];

const SHARE: &[Field] = &[
    AGENT,
    Field::required("with", NAMES, "The other agent.", r#""pilot""#),
    Field::optional("id", Rule::Text(&shape::MEMORY_ID), "One memory.", r#""mem-2026-11-18-001""#),
    Field::optional("tag", NAMES, "All that have this tag now.", r#""ports""#),
    Field::optional("kind", KINDS, "All of this kind now.", r#""session_facts""#),
];

const SHARE_ONE_OF: &[&str] = &["id", "tag", "kind"];

const GATE: Field = Field::otherwise(
    "gate",
    Rule::Flag,
    "Refuse what the quality gates refuse, instead of saying what they think.",
    "false",
);

const BUDGET: Field = Field::otherwise(
    "budget",
    Rule::Whole { least: 1, most: BUDGET_MAX },
    "The most tokens it may have.",
    "2000",
);

const PAGE_FROM: Field =
    Field::otherwise("from", SEQ, "Begin at this entry: `next` of the page before.", "0");

pub(super) const ROUTES: &[Route] = &[
    Route {
        id: "memory.stats",
        verb: Verb::Get,
        path: "/api/v1/memory/stats",
        summary: "Who remembers how much, and where it stands",
        description: "404 where nobody of that name remembers anything.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[ANY_AGENT],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryStats>(),
        errors: LOOK,
        changes: false,
        build: |given, _| memory(MemoryAsk::Stats { agent: given.maybe_text("agent") }),
        show: show::stats,
    },
    Route {
        id: "memory.search",
        verb: Verb::Post,
        path: "/api/v1/memory/search",
        summary: "Find memories by a question",
        description: "By words, and by meaning where there is a model. Every hit says where it comes from and how far it is trusted; what it says is data and never an \
                      instruction. A POST, so that the question is in no log of addresses; nothing is changed.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[AGENT, QUERY, TOP, ONLY]),
        reply: ReplyForm::of::<MemoryFound>(),
        errors: LOOK,
        changes: false,
        build: search,
        show: show::found,
    },
    Route {
        id: "memory.search_many",
        verb: Verb::Post,
        path: "/api/v1/memory/search/batch",
        summary: "Ask many questions at once",
        description: "The answers come in the order of the questions, with no more than ids. One that cannot be answered says why in `trouble`.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: &[QUESTIONS, TOP, ONLY], one_of: &[], most: BATCH_MAX },
        reply: ReplyForm::of::<FoundMany>(),
        errors: LOOK,
        changes: false,
        build: search_many,
        show: show::found_many,
    },
    Route {
        id: "memory.pack",
        verb: Verb::Post,
        path: "/api/v1/memory/pack",
        summary: "The memories that go with an objective",
        description: "Cut to a budget of tokens. The same journal and the same question give the same bytes. Nothing is changed.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[AGENT, OBJECTIVE, BUDGET, ONLY]),
        reply: ReplyForm::of::<MemoryPack>(),
        errors: LOOK,
        changes: false,
        build: pack,
        show: show::packed,
    },
    Route {
        id: "memory.match",
        verb: Verb::Post,
        path: "/api/v1/memory/match",
        summary: "What was learnt that fits a situation",
        description: "Nothing is changed.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[AGENT, SITUATION, TOP]),
        reply: ReplyForm::of::<MatchList>(),
        errors: LOOK,
        changes: false,
        build: |given, _| {
            let (agent, situation) = (given.text("agent")?, given.text("situation")?);
            memory(MemoryAsk::Match { agent, situation, top: given.small("top")? })
        },
        show: show::matched,
    },
    Route {
        id: "memory.add",
        verb: Verb::Post,
        path: "/api/v1/memory/entries",
        summary: "Remember something",
        description: "It is on the disk when the answer comes. Secrets are taken out first. The answer is 200 also where a gate refused it: `outcome` says what became of it.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: DRAFT, one_of: &[], most: DRAFT_MAX },
        reply: ReplyForm::of::<MemoryAdded>(),
        errors: &[409, 422],
        changes: true,
        build: add,
        show: show::added,
    },
    Route {
        id: "memory.show",
        verb: Verb::Get,
        path: "/api/v1/memory/entries/{id}",
        summary: "All that is known of a memory",
        description: "Its text, where it comes from, where it stands.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[ID],
        query: &[AGENT],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryShown>(),
        errors: &[404, 410],
        changes: false,
        build: |given, _| memory(MemoryAsk::Show { agent: given.text("agent")?, id: given.text("id")? }),
        show: show::memory,
    },
    Route {
        id: "memory.forget",
        verb: Verb::Delete,
        path: "/api/v1/memory/entries/{id}",
        summary: "Forget a memory for ever",
        description: "By destroying the key of its text, and of all it had taken the place of. Nothing brings it back; copies of the vault made earlier still hold the key.",
        least: Role::Owner,
        scope: Scope::Manage,
        passkey: Passkey::Always,
        within: &[ID],
        query: &[AGENT],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryGone>(),
        errors: &[404, 409, 410],
        changes: true,
        build: |given, actor| {
            let (agent, id) = (given.text("agent")?, given.text("id")?);
            memory(MemoryAsk::Forget { agent, id, actor: actor.clone() })
        },
        show: show::forgotten,
    },
    Route {
        id: "memory.prove_forgotten",
        verb: Verb::Get,
        path: "/api/v1/memory/entries/{id}/forgotten",
        summary: "Look for what is left of a memory that was forgotten",
        description: "Every place is looked at now. The answer is 200 also where something is left: `holds` says so.",
        least: Role::Viewer,
        scope: Scope::Read,
        passkey: Passkey::Never,
        within: &[ID],
        query: &[AGENT],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryProof>(),
        errors: &[404, 409, 410],
        changes: false,
        build: |given, _| {
            memory(MemoryAsk::ProveForgotten { agent: given.text("agent")?, id: given.text("id")? })
        },
        show: show::proof,
    },
    Route {
        id: "memory.cite",
        verb: Verb::Post,
        path: "/api/v1/memory/entries/{id}/cite",
        summary: "Say that a memory was of use",
        description: "What is cited is found sooner. One voice for each person or agent; the journal does not say who it was.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[ID],
        query: &[AGENT],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryCited>(),
        errors: &[404, 409, 410],
        changes: true,
        build: |given, actor| {
            let (agent, id) = (given.text("agent")?, given.text("id")?);
            memory(MemoryAsk::Cite { agent, id, who: actor.clone() })
        },
        show: show::cited,
    },
    Route {
        id: "memory.share",
        verb: Verb::Post,
        path: "/api/v1/memory/share",
        summary: "Let another agent read memories",
        description: "One, those with a tag, or those of a kind. A tag or a kind stands for what has it now.",
        least: Role::Operator,
        scope: Scope::Manage,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: SHARE, one_of: SHARE_ONE_OF, most: BODY_MAX },
        reply: ReplyForm::of::<MemoryShared>(),
        errors: &[404, 409, 410],
        changes: true,
        build: |given, actor| share(given, actor, false),
        show: show::shared,
    },
    Route {
        id: "memory.unshare",
        verb: Verb::Post,
        path: "/api/v1/memory/unshare",
        summary: "Take back what another agent could read",
        description: "",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: SHARE, one_of: SHARE_ONE_OF, most: BODY_MAX },
        reply: ReplyForm::of::<MemoryShared>(),
        errors: &[404, 409, 410],
        changes: true,
        build: |given, actor| share(given, actor, true),
        show: show::shared,
    },
    Route {
        id: "memory.read",
        verb: Verb::Post,
        path: "/api/v1/memory/read",
        summary: "Take in what is worth keeping of a written file",
        description: "Divided into paragraphs and items of lists; what is kept says which file it is from, and which bytes of it. Said again it takes what is new.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::Fields { fields: WRITTEN, one_of: &[], most: WRITTEN_MAX },
        reply: ReplyForm::of::<MemoryRead>(),
        errors: &[409, 422],
        changes: true,
        build: take_in,
        show: show::taken_in,
    },
    Route {
        id: "memory.import",
        verb: Verb::Post,
        path: "/api/v1/memory/import",
        summary: "Import memories as JSON lines",
        description: "Each line is an object with content, and as far as known id, at, kind, source, tags and agent. Lines whose id is here already are not taken again, so an \
                      import that was cut short is sent again. A line that is none is told with its number, and the others are taken. At most 8 MiB and 20000 lines.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[AGENT, GATE, TRUST],
        body: Body::Raw {
            media_type: NDJSON,
            most: IMPORT_MAX,
            example: "{\"id\":\"n-1\",\"content\":\"The gateway of staging listens on port 9096.\"}\n",
        },
        reply: ReplyForm::of::<MemoryImported>(),
        errors: &[409, 422],
        changes: true,
        build: import,
        show: show::imported,
    },
    Route {
        id: "memory.export",
        verb: Verb::Get,
        path: "/api/v1/memory/export",
        summary: "What an agent remembers, a page at a time",
        description: "Each of `lines` can be imported elsewhere. What was forgotten is not in it, and what was merged or superseded is not either.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[AGENT, PAGE_FROM],
        body: Body::Nothing,
        reply: ReplyForm::of::<MemoryPage>(),
        errors: LOOK,
        changes: false,
        build: |given, _| {
            memory(MemoryAsk::Export { agent: given.text("agent")?, from: given.number("from")? })
        },
        show: show::page,
    },
    Route {
        id: "memory.mine",
        verb: Verb::Post,
        path: "/api/v1/memory/mine",
        summary: "Learn fixes, patterns and decisions from the history of a git repository",
        description: "The body is a git bundle: `git bundle create - HEAD`. Nothing of the repository is run, and nothing of it is kept but what was learnt. Sent again it learns \
                      what is new.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[AGENT, NAME, COMMITS],
        body: Body::Raw { media_type: BYTES, most: BUNDLE_MAX, example: "# v2 git bundle\n" },
        reply: ReplyForm::of::<MemoryMined>(),
        errors: &[409, 422],
        changes: true,
        build: mine,
        show: show::elsewhere,
    },
    Route {
        id: "memory.notes",
        verb: Verb::Post,
        path: "/api/v1/memory/notes",
        summary: "Write what an agent remembers as notes that people read",
        description: "Into the house's own folder of them. What somebody changed there is captured first. The daemon does this by itself after each consolidation.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[AGENT]),
        reply: ReplyForm::of::<NotesWritten>(),
        errors: CHANGE,
        changes: true,
        build: |given, actor| memory(MemoryAsk::Notes { agent: given.text("agent")?, actor: actor.clone() }),
        show: show::notes,
    },
    Route {
        id: "memory.embed",
        verb: Verb::Post,
        path: "/api/v1/memory/embed",
        summary: "Give every memory its vector",
        description: "The daemon does this by itself in a quiet moment; after a large import it may be asked for.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[ANY_AGENT]),
        reply: ReplyForm::of::<MemoryEmbedded>(),
        errors: CHANGE,
        changes: true,
        build: |given, _| memory(MemoryAsk::Embed { agent: given.maybe_text("agent") }),
        show: show::embedded,
    },
    Route {
        id: "memory.consolidate",
        verb: Verb::Post,
        path: "/api/v1/memory/consolidate",
        summary: "Decide what stays",
        description: "The daemon does this by itself once an hour; it is to be asked for where a conversation ends.",
        least: Role::Operator,
        scope: Scope::Act,
        passkey: Passkey::Never,
        within: &[],
        query: &[],
        body: Body::fields(&[ANY_AGENT]),
        reply: ReplyForm::of::<RunList>(),
        errors: CHANGE,
        changes: true,
        build: |given, actor| {
            memory(MemoryAsk::Consolidate { agent: given.maybe_text("agent"), actor: actor.clone() })
        },
        show: show::consolidated,
    },
];

const QUESTIONS: Field = Field::required(
    "queries",
    Rule::Each { of: &ONE_QUESTION, least: 1, most: QUESTIONS_MAX },
    "The questions.",
    r#"[{"query":"which port does the gateway use?"}]"#,
);

const OBJECTIVE: Field = Field::required(
    "objective",
    Rule::Text(&shape::QUESTION),
    "What the agent is about to do.",
    r#""move the gateway of staging to another port""#,
);

const SITUATION: Field = Field::required(
    "situation",
    Rule::Text(&shape::QUESTION),
    "The error, or what is to be done.",
    r#""connection refused on port 9096 after deploy""#,
);

fn memory(ask: MemoryAsk) -> Asked {
    control(Request::Memory { ask })
}

/// The fields of a filter, as if they stood by themselves.
fn filter(given: &Given) -> Result<MemoryFilter, ApiError> {
    let only = Given::new(given.object("only").unwrap_or_default(), None, Vec::new());
    Ok(MemoryFilter {
        kinds: only.texts("kinds"),
        types: only.texts("types"),
        scope: only.maybe_text("scope"),
        since: only.maybe_parsed("since")?,
        until: only.maybe_parsed("until")?,
        tags: only.texts("tags"),
        trust: only.maybe_parsed("trust")?,
        fresh: only.flag("fresh"),
        host: only.maybe_text("host"),
    })
}

fn search(given: &Given, _: &Actor) -> Asked {
    memory(MemoryAsk::Search(Box::new(MemorySearch {
        agent: given.text("agent")?,
        query: given.text("query")?,
        only: filter(given)?,
        top: given.small("top")?,
    })))
}

fn search_many(given: &Given, _: &Actor) -> Asked {
    let text = |one: &serde_json::Map<String, Value>, name: &str| {
        one.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let query = |one: &serde_json::Map<String, Value>| MemoryQuery {
        agent: text(one, "agent").unwrap_or_else(|| "main".to_owned()),
        query: text(one, "query").unwrap_or_default(),
    };
    let queries = given.objects("queries").iter().map(query).collect();
    memory(MemoryAsk::SearchMany { queries, only: Box::new(filter(given)?), top: given.small("top")? })
}

fn pack(given: &Given, _: &Actor) -> Asked {
    memory(MemoryAsk::Pack {
        agent: given.text("agent")?,
        objective: given.text("objective")?,
        budget: given.small("budget")?,
        only: Box::new(filter(given)?),
    })
}

fn add(given: &Given, actor: &Actor) -> Asked {
    memory(MemoryAsk::Add(Box::new(MemoryDraft {
        agent: given.text("agent")?,
        text: given.text("text")?,
        entry_type: given.text("type")?,
        source: given.text("source")?,
        confidence: given.fraction("confidence")?,
        scope: given.text("scope")?,
        tags: given.texts("tags"),
        at: given.maybe_parsed("at")?,
        thread: given.maybe_text("thread"),
        actor: actor.clone(),
        trust: given.parsed("trust")?,
        key: key(given)?,
    })))
}

fn take_in(given: &Given, actor: &Actor) -> Asked {
    memory(MemoryAsk::Read(Box::new(MemoryWritten {
        agent: given.text("agent")?,
        name: given.text("name")?,
        text: given.text("text")?,
        at: given.number("at")?,
        actor: actor.clone(),
        trust: given.parsed("trust")?,
    })))
}

fn share(given: &Given, actor: &Actor, take_back: bool) -> Asked {
    let portions = [
        given.maybe_text("id").map(MemoryPortion::One),
        given.maybe_text("tag").map(MemoryPortion::Tagged),
        given.maybe_text("kind").map(MemoryPortion::OfKind),
    ];
    let what = portions.into_iter().flatten().next().ok_or(ApiError::OneOf { of: SHARE_ONE_OF })?;
    let (agent, with) = (given.text("agent")?, given.text("with")?);
    memory(MemoryAsk::Share { agent, what, with, actor: actor.clone(), take_back })
}

fn mine(given: &Given, actor: &Actor) -> Asked {
    looked(Look::Mine(Mine {
        agent: given.text("agent")?,
        name: given.maybe_text("name"),
        bundle: given.raw.clone(),
        commits: given.small("commits")?,
        actor: actor.clone(),
    }))
}

fn import(given: &Given, actor: &Actor) -> Asked {
    let (lines, wrong) = read::lines(&given.raw)?;
    let (agent, trust, gate) = (given.text("agent")?, given.parsed("trust")?, given.flag("gate"));
    let piece = |lines: &[MemoryLine]| MemoryLines {
        lines: lines.to_vec(),
        agent: agent.clone(),
        actor: actor.clone(),
        trust,
        gate,
    };
    Ok(Ask::Import { pieces: lines.chunks(PIECE_LINES).map(piece).collect(), wrong })
}
