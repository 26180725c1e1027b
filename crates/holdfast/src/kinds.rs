//! The kinds of entry the binary itself writes.

use holdfast_journal::Draft;
use holdfast_types::{Actor, KindDef, Trust};
use serde_json::{Map, Value};

use crate::problem::CliError;

pub(crate) const INITIALISED: KindDef = KindDef {
    name: "holdfast.instance.initialised",
    version: 1,
    when: "The home was made; always the first entry.",
    fields: &[
        ("version", "the program that made it"),
        ("log_vkey", "the key the log's checkpoints are signed with"),
    ],
};

pub(crate) const TRUST_REMADE: KindDef = KindDef {
    name: "holdfast.trust.remade",
    version: 1,
    when: "The trust set was gone, and a person had a new one made: what it held of witnesses and revocations is missing from here on.",
    fields: &[],
};

pub(crate) const STARTED: KindDef = KindDef {
    name: "holdfast.daemon.started",
    version: 1,
    when: "The daemon has opened everything and is about to answer.",
    fields: &[
        ("version", "the program"),
        ("configuration", "digest of the settings in force"),
        ("not_default", "the keys that are set, and by what"),
    ],
};

pub(crate) const STOPPED: KindDef = KindDef {
    name: "holdfast.daemon.stopped",
    version: 1,
    when: "The daemon was told to stop and is about to close the journal.",
    fields: &[("cut_off", "parts and requests that had not finished when the grace was over")],
};

pub(crate) const PAUSED: KindDef = KindDef {
    name: "holdfast.autonomy.paused",
    version: 1,
    when: "All autonomy was halted. Written when there is room for it, which may be later.",
    fields: &[("since", "when it was halted"), ("reason", "why, where somebody said")],
};

pub(crate) const RESUMED: KindDef = KindDef {
    name: "holdfast.autonomy.resumed",
    version: 1,
    when: "Autonomy may go on.",
    fields: &[("reason", "why, where somebody said")],
};

pub(crate) const CONFIG_CHANGED: KindDef = KindDef {
    name: "holdfast.config.changed",
    version: 1,
    when: "The configuration was read again and differs.",
    fields: &[
        ("live", "keys whose new value holds now"),
        ("needs_restart", "keys whose new value holds after a restart"),
    ],
};

pub(crate) const INDEX_REBUILT: KindDef = KindDef {
    name: "holdfast.index.rebuilt",
    version: 1,
    when: "The index was made anew from the journal.",
    fields: &[
        ("why", "asked for, or what was wrong with the old one"),
        ("entries", "how many were replayed"),
    ],
};

pub(crate) const BACKED_UP: KindDef = KindDef {
    name: "holdfast.databases.backed_up",
    version: 1,
    when: "The databases that are their own truth were copied.",
    fields: &[
        ("copies", "each with database, file, bytes and digest"),
        ("removed", "older copies that went"),
    ],
};

pub(crate) const VERIFIED: KindDef = KindDef {
    name: "holdfast.journal.verified",
    version: 1,
    when: "The whole journal was checked in the background.",
    fields: &[
        ("size", "entries that were checked"),
        ("findings", "how many things were not as they should be"),
        ("first_finding", "the first of them"),
    ],
};

pub(crate) const HEALTH_CHANGED: KindDef = KindDef {
    name: "holdfast.health.changed",
    version: 1,
    when: "A round of health checks came to another verdict than the one before.",
    fields: &[("verdict", "healthy, degraded or unhealthy"), ("findings", "what is wrong, in sentences")],
};

pub(crate) const CALIBRATED: KindDef = KindDef {
    name: "detector.parameters.replaced",
    version: 1,
    when: "A metric of a target was calibrated for the plain detector.",
    fields: &[
        ("target", "of which target"),
        ("metric", "which metric"),
        ("old", "the calibration before; null when there was none"),
        ("new", "the one in its place"),
    ],
};

pub(crate) const ORDERED: KindDef = KindDef {
    name: "holdfast.steward.ordered",
    version: 1,
    when: "A person ordered the steward: another level, a rollback, to accept what was found, to reset the breaker; or told it that a proposal was read or a way back was rehearsed. Written before it is done, in the name of whoever ordered it.",
    fields: &[
        ("target", "on which target"),
        ("order", "what"),
        ("to", "the level, where it is about one"),
        ("episode", "what was read, where it is about that"),
        ("tripwire", "whether it was the tripwire that was rehearsed, or a rollback, where it is about that"),
    ],
};

pub(crate) const TIDIED: KindDef = KindDef {
    name: "holdfast.target.tidied",
    version: 1,
    when: "Old generations were looked for on a target, while nothing was under way there.",
    fields: &[
        ("target", "on which target"),
        ("steady", "when, in the target's time, in milliseconds"),
        ("older_days", "what was kept longer ago than this may go"),
        ("keep", "how many of the newest stay whatever their age, beside what is needed"),
        ("removed", "how many went"),
    ],
};

pub(crate) const REMEMBERED: KindDef = KindDef {
    name: "holdfast.outcome.remembered",
    version: 1,
    when: "What became of an episode was given to memory. It is not given again, also when somebody has it forgotten there.",
    fields: &[
        ("episode", "the episode by id"),
        ("outcome", "the verdict that was given"),
        ("memory", "the memory by id"),
    ],
};

pub(crate) const TAKEN_IN: KindDef = KindDef {
    name: "holdfast.target.taken_in",
    version: 1,
    when: "A host was taken in: everything was made there and proved.",
    fields: &[
        ("target", "what it is called"),
        ("address", "where the steward reaches it"),
        ("port", "of its sshd"),
        ("host_key", "the fingerprint of its key, which is pinned"),
        ("user", "the account of the person there"),
        ("units", "what is looked after"),
        ("endpoint", "where the first of them answers"),
        ("inventory", "what was found there"),
    ],
};

pub(crate) const GUARDED: KindDef = KindDef {
    name: "holdfast.target.guarded",
    version: 1,
    when: "A host was given a guard: the tripwire has its key and every way back was tried.",
    fields: &[
        ("target", "which"),
        ("settings", "what the tripwire reads"),
        ("second", "the second route"),
        ("ways", "the ways back that were tried"),
    ],
};

pub(crate) const LET_GO: KindDef = KindDef {
    name: "holdfast.target.let_go",
    version: 1,
    when: "A host was let go and left as it was found; or it was forgotten, and something stayed there.",
    fields: &[
        ("target", "which"),
        ("address", "where it is"),
        ("forgotten", "only what is here went"),
        ("undone", "what was taken away"),
        ("remains", "what is still there"),
    ],
};

/// Every kind that is written, by the binary and by the rooms it wires.
pub(crate) fn all() -> impl Iterator<Item = &'static KindDef> {
    const OWN: &[KindDef] = &[
        INITIALISED,
        TRUST_REMADE,
        STARTED,
        STOPPED,
        PAUSED,
        RESUMED,
        CONFIG_CHANGED,
        INDEX_REBUILT,
        BACKED_UP,
        VERIFIED,
        HEALTH_CHANGED,
        CALIBRATED,
        ORDERED,
        TIDIED,
        REMEMBERED,
        TAKEN_IN,
        GUARDED,
        LET_GO,
    ];
    let rooms = [
        holdfast_journal::KINDS,
        holdfast_notice::KINDS,
        holdfast_approval::KINDS,
        crate::gateway::KINDS,
        holdfast_ledger::KINDS,
        holdfast_steward::event::KINDS,
        holdfast_doorman::KINDS,
        holdfast_history::KINDS,
        holdfast_tripwire::keeper::KINDS,
        holdfast_egress::KINDS,
        holdfast_memory::KINDS,
        std::slice::from_ref(&holdfast_memory_host::SPACE_OPENED),
    ];
    OWN.iter().chain(rooms.into_iter().flatten())
}

/// An entry of one of these kinds.
pub(crate) fn draft(
    def: &KindDef,
    actor: Actor,
    trust: Trust,
    body: Map<String, Value>,
) -> Result<Draft, CliError> {
    let kind = def.name.parse();
    let kind = kind.map_err(|e: holdfast_types::NameError| CliError::Usage { message: e.to_string() })?;
    Ok(Draft { version: def.version, ..Draft::new(kind, actor, trust, body) })
}

/// The same, from an object and in the program's own name.
pub(crate) fn own_draft(def: &KindDef, body: Value) -> Result<Draft, CliError> {
    let body = match body {
        Value::Object(body) => body,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    draft(def, own_actor(), Trust::Trusted, body)
}

/// The program itself, as it signs its entries.
pub(crate) fn own_actor() -> Actor {
    "holdfast".parse().unwrap_or_else(|_| unreachable!("a fixed, proper name"))
}
