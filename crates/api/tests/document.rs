//! The document: whole, valid, and true of what is answered.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;

use holdfast_api::{
    ApiError, Body, Call, Claim, Entries, Episode, EpisodeLine, EpisodeStory, EpisodeWindow, Episodes,
    NoticeTried, NoticesTried, Parts, Proof, Reply, Route, imported, openapi, routes,
};
use holdfast_control::{Answer, MemoryWrong};
use holdfast_types::Timestamp;
use serde_json::{Value, json};

fn document() -> Value {
    openapi("https://holdfast.example:9096", "0.1.0")
}

fn route(id: &str) -> &'static Route {
    routes().iter().find(|route| route.id == id).unwrap_or_else(|| panic!("there is no route {id}"))
}

fn call(id: &str) -> Call {
    let Parts { method, target, content_type, body } = route(id).sample();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Call::parse(&method, path, query, content_type, &body).unwrap()
}

fn operation<'d>(document: &'d Value, route: &Route) -> &'d Value {
    &document["paths"][route.path][route.verb.as_str().to_ascii_lowercase()]
}

/// Every object of the document, with where it stands.
fn each_object(value: &Value, at: &str, see: &mut dyn FnMut(&str, &serde_json::Map<String, Value>)) {
    match value {
        Value::Object(parts) => {
            see(at, parts);
            parts.iter().for_each(|(name, part)| each_object(part, &format!("{at}/{name}"), see));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| each_object(item, &format!("{at}/{n}"), see));
        }
        _ => {}
    }
}

/// A judge of a schema of the document, which may point to others of it.
fn judge(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut schema = schema.clone();
    schema["components"] = json!({"schemas": document["components"]["schemas"]});
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn the_document_is_as_it_was() {
    insta::assert_json_snapshot!(document());
}

#[test]
fn every_pointer_leads_somewhere_and_every_schema_is_used() {
    let document = document();
    let mut seen = BTreeSet::new();
    each_object(&document, "", &mut |at, parts| {
        let Some(Value::String(pointer)) = parts.get("$ref") else { return };
        let place = pointer.strip_prefix('#').unwrap_or_else(|| panic!("{at}: {pointer} leads away"));
        assert!(document.pointer(place).is_some(), "{at}: {pointer} leads nowhere");
        seen.insert(place.to_owned());
    });
    for (kind, parts) in document["components"].as_object().unwrap() {
        for name in parts.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            assert!(seen.contains(&format!("/components/{kind}/{name}")), "nobody points to {name}");
        }
    }
}

#[test]
fn every_schema_is_one() {
    let document = document();
    let check = |at: &str, schema: &Value| {
        let verdict = jsonschema::meta::validate(schema);
        assert!(verdict.is_ok(), "{at}: {}", verdict.unwrap_err());
    };
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        check(name, schema);
    }
    each_object(&document["paths"], "", &mut |at, parts| {
        if let Some(schema) = parts.get("schema") {
            check(at, schema);
        }
    });
}

#[test]
fn every_route_is_in_the_document_with_its_rights_and_nothing_else_is() {
    let document = document();
    let (mut ids, mut operations) = (BTreeSet::new(), 0);
    for path in document["paths"].as_object().unwrap().values() {
        operations += path.as_object().unwrap().len();
    }
    assert_eq!(operations, routes().len());
    for route in routes() {
        let operation = operation(&document, route);
        assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{}", route.id);
        assert_eq!(operation["x-least-role"], route.least.as_str(), "{}", route.id);
        assert_eq!(operation["x-token-scope"], route.scope.as_str(), "{}", route.id);
        assert_eq!(operation["requestBody"].is_null(), matches!(route.body, Body::Nothing), "{}", route.id);
        let named = operation["parameters"].as_array().map_or(0, Vec::len);
        assert_eq!(named, route.within.len() + route.query.len(), "{}", route.id);
        let success = &operation["responses"]["200"]["content"][route.reply.media_type()]["schema"];
        assert!(!success.is_null(), "{}", route.id);
    }
}

#[test]
fn every_text_and_list_and_number_that_is_sent_is_bounded() {
    let document = document();
    each_object(&document["paths"], "", &mut |at, parts| {
        if at.contains("/responses/") {
            return;
        }
        let bounds: &[&str] = match parts.get("type").and_then(Value::as_str) {
            Some("string") if !parts.contains_key("enum") => &["maxLength"],
            Some("integer" | "number") => &["minimum", "maximum"],
            Some("array") => &["maxItems"],
            _ => &[],
        };
        assert!(bounds.iter().all(|bound| parts.contains_key(*bound)), "{at}: {parts:?}");
    });
}

/// Each answer of the control plane with the routes that show it: as full as it can be, and as empty.
fn answers() -> Vec<(&'static [&'static str], Value)> {
    let (at, later) = ("2026-11-15T08:17:16.000001Z", "2026-11-16T08:17:16.000001Z");
    let digest = format!("sha256:{}", "0a".repeat(32));
    let (approval, agent) = ("apr_01arz3ndektsv4rrffq69g5fav", "agt_01arz3ndektsv4rrffq69g5fav");
    let pause = json!({"paused": true, "since": at, "by": "uid:1000", "reason": "r", "repeated": false, "recorded_as": 4});
    let running = json!({"paused": false, "since": null, "by": null, "reason": null, "repeated": true, "recorded_as": null});
    let projection =
        json!({"name": "entries", "next_seq": 9, "behind": 0, "halted": "an entry that is not known"});
    let sink = json!({"sink": "log", "pending": 1, "delivered": 2, "abandoned": 3, "last_delivered": at, "last_error": "e", "quiet_until": later});
    let notices = json!({"enabled": true, "sinks": [sink]});
    let journal = json!({"origin": "holdfast/web-1", "entries": 9, "checkpointed": 3, "bytes": 843, "cap_bytes": 4_294_967_296u64, "warnings": ["w"]});
    let disk = json!({"budget_bytes": 8, "used_bytes": 5, "free_bytes": 3, "level": "roomy", "parts": [{"part": "journal", "bytes": 5, "at_most": null}]});
    let part = json!({"name": "index", "state": "running", "why": null, "safety": true, "restarts": 0, "silent_seconds": 0.5});
    let status = json!({
        "version": "0.1.0", "pid": 7, "up_seconds": 12.5, "healthy": false, "needs_you": ["n"], "parts": [part],
        "listening": [{"door": "gateway", "addresses": ["127.0.0.1:9096"], "without": "[::1]:9096"}], "journal": journal,
        "projections": [projection], "databases": [{"name": "metrics", "bytes": 3, "last_backup": at}], "pause": pause, "notices": notices, "disk": disk,
    });
    let down = json!({
        "version": "0.1.0", "pid": null, "up_seconds": null, "healthy": null, "needs_you": [], "parts": [], "listening": [], "journal": journal, "projections": [],
        "databases": [], "pause": running, "notices": null, "disk": disk,
    });
    let line = json!({
        "id": approval, "state": "asked", "subject": "steward.trial", "target": "web-1", "digest": digest, "actor": "steward", "asked_at": at,
        "expires_at": later, "summary": "s",
    });
    let ask = |agent: Value, decision: Value, ended: Value| {
        json!({
            "id": approval, "state": "rejected", "subject": "steward.trial", "target": "web-1", "digest": digest, "action": {"any": [1, null]},
            "summary": ["s"], "evidence": [], "actor": "steward", "agent": agent, "asked_at": at, "expires_at": later, "origin": "holdfast/web-1",
            "decision": decision, "made_as": 4, "ended_as": ended,
        })
    };
    let decision = json!({"verdict": "reject", "by": "ana", "reason": null, "at": at, "recorded_as": 5});
    let open = json!({
        "episode": "ep_1", "opened": at, "open_seconds": 4, "phase": "verifying", "why": "w", "change": "c", "undone_in_seconds": 9, "lease_seconds": 90, "seen": 1,
        "cycles": 20, "score": -3, "needs_you": true,
    });
    let last = json!({"episode": "ep_0", "ended": at, "outcome": "kept", "reason": "r", "change": null});
    let target = json!({
        "target": "box-1", "driver": "sim", "speed": 600, "level": "observe", "known_good": "0a", "open": open, "last": last, "breaker_open": false,
        "drifted": true, "next_routine_seconds": 9, "noticed": {"sentence": "s", "metrics": ["m"], "began_seconds_ago": 3}, "trouble": "t",
    });
    let quiet = json!({
        "target": "box-1", "driver": "ssh", "speed": 1, "level": "plan", "known_good": null, "open": null, "last": null, "breaker_open": true,
        "drifted": false, "next_routine_seconds": null, "noticed": null, "trouble": null,
    });
    let done = json!({"target": "box-1", "said": "s", "level": "plan", "episode": "ep_1", "repeated": false, "dry_run": true});
    let metrics = json!({
        "target": "box-1", "from": at, "to": later, "observations": 9, "last_success": at, "stale": false, "failures": 1,
        "failed": [{"label": "l", "why": "w"}], "psi_mem_some": 1.5, "hours": [{"from": at, "mean": 1.0, "max": 2.0}],
        "units": [{"unit": "u.service", "memory_mib": null, "cpu": 0.25, "psi_mem_some": null, "samples": 4}], "gaps": [{"from": at, "to": later}],
        "gaps_left_off": 0, "gap_seconds": 60, "gaps_known_from": at,
        "anomalies": [{"kind": "k", "scope": "host", "message": "m", "since": at, "times": 2}],
    });
    let unmeasured = json!({
        "target": "box-1", "from": at, "to": later, "observations": 0, "last_success": null, "stale": true, "failures": 0, "failed": [],
        "psi_mem_some": null, "hours": [], "units": [], "gaps": [], "gaps_left_off": 0, "gap_seconds": 0, "gaps_known_from": null, "anomalies": [],
    });
    let mut all: Vec<(&'static [&'static str], Value)> = vec![
        (&["status.show", "status.health", "autonomy.show"], json!({"status": status})),
        (&["status.show", "status.health", "autonomy.show"], json!({"status": down})),
        (
            &["notices.raise", "audit.append", "audit.erase"],
            json!({"appended": {"seq": 9, "repeated": false, "redactions": 1, "warnings": ["w"]}}),
        ),
        (
            &["audit.sign", "audit.checkpoint"],
            json!({"checkpoint": {"origin": "holdfast/web-1", "size": 9, "root": "AAAA", "note": "n", "warnings": []}}),
        ),
        (&["audit.witness_request"], json!({"witness_request": {"old_size": 0, "request": "r"}})),
        (&["audit.witness_accept"], json!({"cosigned": {"witness": "w", "at": at, "size": 9}})),
        (&["autonomy.pause", "autonomy.resume"], json!({"paused": pause})),
        (&["autonomy.pause", "autonomy.resume"], json!({"paused": running})),
        (
            &["house.rebuild"],
            json!({"rebuilt": {"entries": 9, "seconds": 0.25, "projections": [projection]}}),
        ),
        (
            &["house.backup"],
            json!({"backed_up": {"copies": [{"database": "m", "path": "backups/m", "bytes": 3, "digest": digest}], "removed": ["backups/old"]}}),
        ),
        (
            &["house.reload"],
            json!({"reloaded": {"live": [{"key": "k", "before": "1", "after": "2"}], "needs_restart": []}}),
        ),
        (&["notices.list"], json!({"notices": notices})),
        (&["approvals.list"], json!({"approvals": [line]})),
        (&["approvals.list"], json!({"approvals": []})),
        (&["approvals.show"], json!({"approval": ask(json!(agent), decision, json!(6))})),
        (&["approvals.show"], json!({"approval": ask(Value::Null, Value::Null, Value::Null)})),
        (
            &["approvals.verdict"],
            json!({"verdict": {"id": approval, "state": "approved", "recorded_as": 9, "repeated": true}}),
        ),
        (
            &["hosts.list", "hosts.show"],
            json!({"steward": {"source": "daemon", "paused": false, "targets": [target]}}),
        ),
        (
            &["hosts.list", "hosts.show"],
            json!({"steward": {"source": "journal", "paused": true, "targets": [quiet]}}),
        ),
        (
            &[
                "hosts.trigger",
                "hosts.rollback",
                "hosts.accept",
                "hosts.reset",
                "hosts.review",
                "hosts.rehearsed",
                "hosts.level",
            ],
            json!({"steward_done": done}),
        ),
        (&["hosts.metrics"], json!({"steward_metrics": metrics})),
        (&["hosts.metrics"], json!({"steward_metrics": unmeasured})),
    ];
    all.extend(memory_answers(at));
    all
}

fn memory_answers(at: &str) -> Vec<(&'static [&'static str], Value)> {
    let id = "mem-2026-11-18-001";
    let told = json!({
        "id": id, "text": "t", "kind": "session_facts", "type": "fact", "scope": "project", "confidence": 0.9, "tags": ["a"], "marks": [],
        "standing": "durable", "at": at, "captured": at, "source": "conversation", "thread": "th", "source_id": "n-1", "actor": "ana",
        "trust": "semi-trusted", "entry": 4, "origins": [{"entry": 3, "span": [0, 4], "trust": "trusted"}, {"entry": 2, "span": null, "trust": "admin"}],
        "shared_by": "scout",
    });
    let with = |more: Value| {
        let mut all = told.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let hit = with(json!({"score": 0.5, "why": [{"signal": "words", "share": -0.5}], "conflicts": [id]}));
    let added = |outcome: &str, id: Value| {
        json!({"agent": "main", "outcome": outcome, "id": id, "entry": null, "gate": "g", "reason": null, "marks": [],
            "doubts": [{"gate": "g", "reason": "r"}]})
    };
    let shown = |memory: Value| {
        json!({"agent": "main", "id": id, "entry": 4, "standing": "merged", "replaced_by": id, "gate": null, "replaces": [id], "conflicts": [],
            "shared_with": ["pilot"], "citations": 2, "captured": at, "memory": memory})
    };
    let run = json!({
        "agent": "main", "run": 3, "looked_at": 9, "promoted": 1, "deduplicated": 2, "rejected": 3,
        "merged": [{"kept": id, "discarded": id, "similarity": 0.97, "reason": "r"}], "conflicts": [[id, id]], "lexical": false, "reviewed": 0,
    });
    let count = json!({
        "agent": "main", "session": 1, "durable": 2, "archived": 3, "merged": 4, "superseded": 5, "rejected": 6, "forgotten": 7, "blocked": 8,
        "refused": {"too_short": 3}, "conflicts": 0, "runs": 2, "last_run": null, "without_vector": 1,
    });
    let pack = json!({
        "agent": "main", "objective": "o", "budget": 2000, "tokens": 9, "at_entry": 41, "lexical": true, "left_out": 0, "digest": "d", "text": "t",
        "items": [{"id": id, "shared_by": null, "tokens": 9, "rationale": "r", "confidence": 0.5, "conflicts": []}],
    });
    let import = json!({
        "captured": 1, "repeated": 2, "blocked": 3, "too_long": 4, "refused": {"a": 1}, "doubted": {}, "wrong": [{"line": 7, "why": "w"}],
    });
    let memory = |answer: Value| json!({"memory": answer});
    vec![
        (&["memory.add"], memory(json!({"added": added("captured", json!(id))}))),
        (&["memory.add"], memory(json!({"added": added("blocked", Value::Null)}))),
        (&["memory.import"], memory(json!({"imported": import}))),
        (
            &["memory.search"],
            memory(
                json!({"found": {"agent": "main", "hits": [hit], "lexical": true, "exact": true, "without_vector": 0, "left_off": 2}}),
            ),
        ),
        (
            &["memory.search_many"],
            memory(
                json!({"found_many": [{"hits": [{"id": id, "source_id": null, "score": 0.5}], "trouble": "t", "lexical": false}]}),
            ),
        ),
        (&["memory.show"], memory(json!({"shown": shown(told.clone())}))),
        (&["memory.show"], memory(json!({"shown": shown(Value::Null)}))),
        (&["memory.embed"], memory(json!({"embedded": {"embedded": 4, "model": true}}))),
        (&["memory.consolidate"], memory(json!({"consolidated": [run]}))),
        (&["memory.stats"], memory(json!({"stats": {"agents": [count], "model": false}}))),
        (&["memory.forget"], memory(json!({"forgotten": {"agent": "main", "ids": [id], "entries": [4]}}))),
        (
            &["memory.prove_forgotten"],
            memory(
                json!({"proof": {"agent": "main", "id": id, "entry": 4, "captured": at, "holds": true, "looks": {"not in the table": true}}}),
            ),
        ),
        (&["memory.export"], memory(json!({"page": {"lines": [{"content": "c"}], "next": 7}}))),
        (&["memory.export"], memory(json!({"page": {"lines": [], "next": null}}))),
        (&["memory.pack"], memory(json!({"packed": pack}))),
        (&["memory.match"], memory(json!({"matched": [with(json!({"score": 0.5, "why": "w"}))]}))),
        (&["memory.cite"], memory(json!({"cited": {"agent": "main", "id": id, "citations": 2}}))),
        (
            &["memory.share", "memory.unshare"],
            memory(json!({"shared": {"agent": "main", "with": "pilot", "shared": true, "ids": [id]}})),
        ),
        (
            &["house.links"],
            json!({"gateway": {"links": [{"id": "lnk_1", "purpose": "device", "name": "ana", "role": "owner", "created": at, "expires": at}]}}),
        ),
        (
            &["house.people"],
            json!({"gateway": {"people": [{"id": "i", "name": "ana", "role": "owner", "created": at, "devices": 1, "sessions": 2}]}}),
        ),
        (
            &["memory.notes"],
            memory(
                json!({"notes": {"agent": "main", "folder": "/srv/notes", "files": ["2026-11.md"], "edits": [[id, "captured"]],
                "committed": "c"}}),
            ),
        ),
        (
            &["memory.read"],
            memory(json!({"read": {"captured": [id], "known": 2, "refused": {"a": 1}, "blocked": 0}})),
        ),
    ]
}

/// What the wiring answers by itself.
fn elsewhere() -> Vec<(&'static str, Value)> {
    let at = Timestamp::EPOCH;
    let line = json!({
        "seq": 41, "v": 1, "at": "2026-11-15T08:17:16.204311Z", "origin": "holdfast/web-1", "room": "steward", "kind": "steward.breaker.opened",
        "actor": "holdfast", "target": "tgt_01arz3ndektsv4rrffq69g5fav", "trust": "trusted", "body": {"synced": true}, "crc": "1f0e9a77",
    });
    let sealed = json!({
        "seq": 4, "v": 1, "at": "2026-11-15T08:17:16.204311Z", "origin": "holdfast/web-1", "room": "a", "kind": "a.b.c", "actor": "ana", "trust": "admin",
        "cause": 3, "key": "k", "run": "run_01arz3ndektsv4rrffq69g5fav", "agent": "agt_01arz3ndektsv4rrffq69g5fav",
        "blob": {"name": format!("blake3:{}", "0a".repeat(32)), "offset": 0, "len": 64}, "crc": "1f0e9a77",
    });
    let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
    let entries = Entries { entries: vec![raw(&line), raw(&sealed)], next: Some(3), size: 42 };
    let text = |text: &str| text.to_owned();
    let proof = |claim, to_checkpoint| Proof {
        format: 1,
        origin: text("holdfast/web-1"),
        claim,
        hashes: vec![text("AAAA")],
        to_checkpoint,
        checkpoint: text("n"),
        vkey: text("v"),
    };
    let inclusion = Claim::Inclusion { seq: 4, size: 9, root: text("r"), leaf: text("l"), line: text("{}") };
    let consistency = Claim::Consistency { old: 4, new: 9, old_root: text("o"), new_root: text("n") };
    let episode = |ended: Option<Timestamp>| Episode {
        episode: text("ep_1"),
        target: text("box-1"),
        opened: at,
        ended,
        why: text("w"),
        change: None,
        phase: text("waiting"),
        outcome: ended.map(|_| text("kept")),
        reason: None,
    };
    let story = EpisodeStory {
        episode: episode(Some(at)),
        speed: Some(600),
        lines: vec![EpisodeLine { entry: 4, at, seconds: 7, what: text("w"), score: Some(-2) }],
        window: Some(EpisodeWindow { cells: text("gpf"), score: 12, needed: 12, cycles: 20 }),
    };
    let tried = |delivered, why: Option<&str>| NoticeTried {
        sink: text("log"),
        delivered,
        why: why.map(str::to_owned),
        do_next: why.map(str::to_owned),
    };
    let value = |it: &dyn erased::Json| it.json();
    vec![
        ("audit.list", value(&entries)),
        ("audit.list", value(&Entries { entries: vec![], next: None, size: 0 })),
        ("audit.show", line),
        ("audit.show", sealed),
        ("audit.proof", value(&proof(inclusion, None))),
        ("audit.consistency", value(&proof(consistency, Some(vec![text("AAAA")])))),
        ("episodes.list", value(&Episodes { episodes: vec![episode(None), episode(Some(at))], more: 3 })),
        ("episodes.show", value(&story)),
        (
            "episodes.show",
            value(&EpisodeStory { episode: episode(None), speed: None, lines: vec![], window: None }),
        ),
        (
            "notices.test",
            value(&NoticesTried { results: vec![tried(true, None), tried(false, Some("refused"))] }),
        ),
        ("status.openapi", document()),
        ("house.settings_schema", json!({"type": "object"})),
        ("events.follow", json!(holdfast_api::greeting())),
    ]
}

/// What the house looks up as a command does: one of each, with everything in it that may be there.
fn looked_up() -> Vec<(&'static str, Value)> {
    let inventory = json!({
        "os": "Debian GNU/Linux 13", "kernel": "6.12", "machine": "x86_64", "systemd": 257, "pressure": true,
        "reached_by": ["ssh.service"], "services": [{"unit": "nginx.service", "ports": [80]}], "tools": ["git"],
    });
    let target = json!({
        "target": "web-1", "address": "192.0.2.7", "port": 22, "host_key": "SHA256:a", "user": "ana", "units": ["nginx.service"],
        "endpoint": null, "since": "s", "finished": true, "guarded": false, "inventory": inventory,
    });
    let at = "2026-11-15T08:17:16.204311Z";
    let key = json!({"name": "n", "id": "ed25519:0a", "vkey": "v", "revoked": false});
    let mut witness = key.clone();
    witness["last"] = json!({"size": 9, "at": at});
    let calibration = json!({
        "version": 1, "mean": 1.5, "sigma": 0.25, "k": 0.5, "h": 9.5, "shift": 1.0, "samples": 2016, "resemblance": 0.5,
    });
    let file = json!({"name": "vocab.txt", "bytes": 231508, "sha256": "07"});
    vec![
        (
            "house.doctor",
            json!({"verdict": "healthy", "seconds": 0.5, "checks": [
                {"check": "disk", "status": "healthy", "looked_at": "/srv", "message": "m", "hint": null, "figures": {"size_mb": 1.5}},
            ]}),
        ),
        (
            "house.disk",
            json!({"budget_bytes": 1, "used_bytes": 1, "free_bytes": 1, "level": "roomy",
                "parts": [{"part": "journal", "bytes": 1, "at_most": null}], "consequences": {"tight": "t", "full": "f"}}),
        ),
        (
            "house.settings",
            json!({"file": null, "settings": [{"key": "log.level", "value": "info", "from": "file", "line": 2, "column": 3,
                "variable": null, "live": true, "doc": "d"}]}),
        ),
        (
            "house.settings_check",
            json!({"right": false, "more": 0, "diagnostics": [{"code": "unknown_key", "line": 2, "column": 1, "length": 3,
                "message": "m", "help": null}]}),
        ),
        ("house.settings_example", json!({"example": "version: 1"})),
        (
            "house.egress",
            json!({"users": [{"user": "holdfast", "uid": null, "serves": [9096],
                "destinations": [{"host": "h", "port": 443, "protocol": "tcp", "for": ["notifications.webhook.url"]}]}],
                "resolvers": ["192.0.2.1"], "unknown": [{"user": "holdfast", "setting": "s", "why": "w"}], "nft": "table"}),
        ),
        (
            "house.egress_check",
            json!({"verdict": "unknown", "findings": [{"what": "rules", "state": "unknown", "message": "m"}]}),
        ),
        (
            "house.egress_refusals",
            json!({"at": at, "unlisted": 0, "refused_packets": [{"user": "holdfast", "packets": 3}], "refusals": [
                {"user": "holdfast", "protocol": "tcp", "address": "192.0.2.9", "port": 443, "name": null, "packets": 3, "first": at, "last": at},
            ]}),
        ),
        (
            "house.model",
            json!({"id": "i", "folder": "f", "there": true, "package": "p", "width": 384, "window": 256, "instructions": "avx2",
                "files": [file]}),
        ),
        ("house.model_verify", json!({"folder": "f", "files": [file], "holds": true})),
        (
            "house.redact",
            json!({"text": "t", "blocked": false, "reason": null,
                "redactions": [{"type": "email", "start": 0, "end": 7, "method": "pattern", "confidence": 0.9}]}),
        ),
        ("targets.list", json!({"targets": [target]})),
        ("targets.show", target.clone()),
        (
            "targets.check",
            json!({"target": "web-1", "address": "a", "port": 22, "good": true, "findings": [{"what": "w", "verdict": "good"}],
                "inventory": inventory}),
        ),
        (
            "history.list",
            json!({"repository": "r", "standing": "whole", "why": null, "targets": [{"target": "web-1", "more": 0, "commits": [
                {"entry": 4, "at": at, "what": "kept", "episode": "ep_1", "title": "t", "notes": ["n"], "commit": "c", "signed": true},
            ]}]}),
        ),
        ("history.report", json!({"reports": [{"target": "web-1", "markdown": "# m"}]})),
        (
            "series.detect",
            json!({"samples": 3, "missing": 0, "evenly": false, "scores": [0.5], "svg": "<svg/>", "findings": [
                {"kind": "shift", "direction": "up", "index": 2, "timestamp": "t", "began_index": 1, "began": "t", "before": 1.5, "now": 2.5,
                 "sure": 0.9, "sentence": "s"}],
                "change_points": [{"index": 2, "timestamp": "t", "what": "level", "level": 2.5, "before": 1.5, "sure": 0.9}]}),
        ),
        (
            "series.calibrate",
            json!({"target": "web-1", "metric": "m", "path": "p", "recorded_as": 4, "dry_run": false, "old": calibration,
                "new": calibration}),
        ),
        (
            "audit.verify",
            json!({"verdict": "torn", "origin": "holdfast/web-1", "first": 0, "size": 9, "root": "sha256:0a", "segments": 1, "bytes": 1,
                "checkpoints": 1, "signatures": 1, "checkpointed": 9, "unsigned": 0, "trusted": true, "blobs": 1, "blobs_erased": 0,
                "blobs_opened": true, "witnessed": 0, "clock_steps_back": 0, "being_written": true, "findings_left_out": 0,
                "findings": [{"kind": "torn", "file": "f", "offset": 7, "seq": 4, "what": "w"}],
                "unchecked": [{"what": "signatures", "why": "w"}]}),
        ),
        ("audit.witnesses", json!({"witnesses": [witness], "logs": [key]})),
        ("memory.mine", json!({"agent": "main", "commits": 1, "captured": 1, "known": 0, "blocked": 0})),
    ]
}

mod erased {
    //! Anything that can be written as JSON, whatever its type.

    pub(super) trait Json {
        fn json(&self) -> serde_json::Value;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> serde_json::Value {
            serde_json::to_value(self).unwrap()
        }
    }
}

/// What each route answers, as it is shown.
fn shown() -> Vec<(&'static str, Value)> {
    let mut all = elsewhere();
    all.extend(looked_up());
    for (ids, json) in answers() {
        let answer: Answer = serde_json::from_value(json.clone()).unwrap_or_else(|e| panic!("{e}: {json}"));
        assert_eq!(serde_json::to_value(&answer).unwrap(), json, "an answer is written as it is read");
        for id in ids {
            all.push((id, call(id).shown(answer.clone()).unwrap_or_else(|e| panic!("{id}: {e}"))));
        }
    }
    all
}

#[test]
fn every_answer_is_of_the_form_the_document_promises_and_no_route_is_left_out() {
    let document = document();
    let shown = shown();
    for (id, answer) in &shown {
        let route = route(id);
        let schema =
            &operation(&document, route)["responses"]["200"]["content"][route.reply.media_type()]["schema"];
        let judge = judge(&document, schema);
        let wrong: Vec<String> =
            judge.iter_errors(answer).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(wrong.is_empty(), "{id}: {wrong:?}\n{answer}");
    }
    let covered: BTreeSet<&str> = shown.iter().map(|(id, _)| *id).collect();
    let all: BTreeSet<&str> = routes().iter().map(|route| route.id).collect();
    assert_eq!(covered, all);
}

/// Answers of any form: documents of somebody else's format.
const ANY_FORM: &[&str] = &["status.openapi", "house.settings_schema"];

/// What an answer may leave out.
const MAY_BE_ABSENT: &[&str] = &["agent", "target", "run", "cause", "key", "body", "blob", "to_checkpoint"];

#[test]
fn a_field_that_is_missing_or_of_another_type_is_not_what_was_promised() {
    let document = document();
    for (id, answer) in shown() {
        let route = route(id);
        let schema =
            &operation(&document, route)["responses"]["200"]["content"][route.reply.media_type()]["schema"];
        let judge = judge(&document, schema);
        let Some(parts) = answer.as_object().filter(|_| !ANY_FORM.contains(&id)) else { continue };
        let may = |name: &str| {
            (id.starts_with("audit.") && MAY_BE_ABSENT.contains(&name))
                || (id, name) == ("house.egress", "nft")
        };
        for name in parts.keys() {
            let mut less = parts.clone();
            less.remove(name);
            assert!(!judge.is_valid(&Value::Object(less.clone())) || may(name), "{id} without {name}");
            // Neither a number nor a text, a flag, nothing, a list of anything nor an object that somebody knows.
            less.insert(name.clone(), json!([[[]]]));
            let any =
                (id == "approvals.show" && name == "action") || (id == "memory.export" && name == "lines");
            assert!(!judge.is_valid(&Value::Object(less)) || any, "{id} with another {name}");
        }
    }
}

#[test]
fn every_refusal_is_of_the_form_the_document_promises() {
    let document = document();
    let schema = &document["components"]["responses"]["Wrong"]["content"]["application/json"]["schema"];
    let judge = judge(&document, schema);
    for error in ApiError::samples() {
        for reply in [Reply::from(&error), Reply::from(&error.problem())] {
            assert!(judge.is_valid(&reply.body), "{}", reply.body);
        }
    }
    assert!(!judge.is_valid(&json!({"error": {}})) && !judge.is_valid(&json!({})));
}

#[test]
fn an_answer_to_something_else_is_not_shown_as_one() {
    for route in routes() {
        let answer = call(route.id).shown(Answer::Done);
        assert_eq!(answer, Err(ApiError::Unexpected), "{}", route.id);
    }
}

#[test]
fn a_host_that_is_not_there_is_not_found() {
    let none = json!({"steward": {"source": "daemon", "paused": false, "targets": []}});
    let error = call("hosts.show").shown(serde_json::from_value(none).unwrap()).unwrap_err();
    assert_eq!((error.status(), error.to_string().as_str()), (404, "there is no target \"box-1\""));
}

#[test]
fn the_pieces_of_an_import_are_one_answer() {
    let piece = |captured: u64, line: u64| -> Answer {
        let wrong = json!([{"line": line, "why": "w"}]);
        let imported = json!({"captured": captured, "repeated": 1, "blocked": 0, "too_long": 2, "refused": {"a": captured}, "doubted": {}, "wrong": wrong});
        serde_json::from_value(json!({"memory": {"imported": imported}})).unwrap()
    };
    let none = vec![MemoryWrong { line: 2, why: "it is not UTF-8 from byte 1 on".into() }];
    let sum = imported(vec![piece(3, 7), piece(4, 300)], none).unwrap();
    let told = call("memory.import").shown(sum).unwrap();
    assert_eq!(
        (&told["captured"], &told["repeated"], &told["refused"]),
        (&json!(7), &json!(2), &json!({"a": 7}))
    );
    let lines: Vec<u64> =
        told["wrong"].as_array().unwrap().iter().filter_map(|wrong| wrong["line"].as_u64()).collect();
    assert_eq!(lines, [2, 7, 300]);
    let many = (0..2_000).map(|line| MemoryWrong { line, why: "w".into() }).collect();
    let told = call("memory.import").shown(imported(vec![], many).unwrap()).unwrap();
    assert_eq!(told["wrong"].as_array().unwrap().len(), 1_000);
    assert_eq!(imported(vec![Answer::Done], vec![]), Err(ApiError::Unexpected));
}
