//! What the words look like on a wire, as JSON Schema. By hand: each is a text with a rule of its own, which a derived schema would
//! not know.
//!
//! A pattern here describes; the parser of each type decides. The tests hold the two against each other.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    Actor, AgentId, ApprovalId, Digest, Exit, Key, Kind, Origin, Room, RunId, TargetId, Timestamp, Trust,
};

/// A line each: the type, its name among the schemas, the schema.
macro_rules! schemas {
    ($($name:ident, $shown:literal, $schema:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $shown.into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!("holdfast_types::", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

schemas! {
    Actor, "Actor", text("Who did it: a person, an agent, a part.", NAME, 128);
    Key, "Key", text("An idempotency key: a second time with the same key writes nothing.", NAME, 128);
    Room, "Room", text("A part of the house that writes entries.", "^[a-z][a-z0-9_]{0,31}$", 32);
    Kind, "Kind", text("What happened: room.noun.verb_past.", KIND, 98);
    Origin, "Origin", text("Which log: holdfast/ and the instance.", ORIGIN, 72);
    Digest, "Digest", text("A digest, with what made it.", "^(sha256|blake3):[0-9a-f]{64}$", 71);
    AgentId, "AgentId", id("An agent.", AgentId::PREFIX);
    TargetId, "TargetId", id("A host, or anything else that is observed and changed from outside.", TargetId::PREFIX);
    RunId, "RunId", id("One run of an agent or of a job.", RunId::PREFIX);
    ApprovalId, "ApprovalId", id("A request that a person allows something.", ApprovalId::PREFIX);
    Timestamp, "Timestamp", json_schema!({
        "type": "string",
        "format": "date-time",
        "pattern": TIME,
        "description": "A moment in UTC with six digits after the second.",
    });
    Trust, "Trust", json_schema!({
        "type": "string",
        "enum": Trust::ALL.map(Trust::as_str),
        "description": "How far something is trusted, least first.",
    });
    Exit, "Exit", json_schema!({
        "type": "integer",
        "enum": Exit::ALL.map(Exit::code),
        "description": "What a command's exit code would be.",
    });
}

const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$";
const KIND: &str = r"^[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}$";
const ORIGIN: &str = "^holdfast/[a-z0-9][a-z0-9.-]{0,62}$";
const TIME: &str = r"^(-[0-9]{6}|[0-9]{4})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$";

fn text(what: &str, pattern: &str, longest: usize) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": pattern,
        "maxLength": longest,
        "description": what,
    })
}

fn id(what: &str, prefix: &str) -> Schema {
    // A ULID has 128 bits in 130: its first character is at most 7.
    text(what, &format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$"), prefix.len() + 27)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::{Value, json};

    fn check<T: JsonSchema + Serialize + std::str::FromStr>(good: &[&str], bad: &[&str]) {
        let schema = schemars::schema_for!(T);
        let judge = jsonschema::validator_for(schema.as_value()).unwrap();
        for text in good {
            let parsed = text.parse::<T>().ok().unwrap_or_else(|| panic!("{text:?} is none"));
            let written = serde_json::to_value(&parsed).unwrap();
            assert_eq!(written, json!(text));
            assert!(judge.is_valid(&written), "{text:?} is one, and its schema says otherwise");
        }
        for text in bad {
            assert!(text.parse::<T>().is_err(), "{text:?}");
            assert!(!judge.is_valid(&json!(text)), "{text:?} is none, and its schema says otherwise");
        }
        assert!(!judge.is_valid(&Value::Null) && !judge.is_valid(&json!(7)));
    }

    #[test]
    fn a_schema_takes_what_its_type_takes_and_nothing_else() {
        let (longest, longer) = ("a".repeat(128), "a".repeat(129));
        check::<Actor>(
            &["ana", "uid:1000", "A", "a@b/c.d-e_f", &longest],
            &["", "-a", "a b", "é", "a\n", &longer],
        );
        check::<Key>(&["erased:7", &longest], &["", ":a", "a\"b", &longer]);
        check::<Room>(&["steward", "a_1"], &["", "Steward", "1a", "a.b"]);
        let word = "a".repeat(32);
        let (longest, longer) = (format!("{word}.{word}.{word}"), format!("{word}a.b.c"));
        check::<Kind>(&["steward.trial.kept", &longest], &["", "a.b", "a.b.c.d", "a..c", "A.b.c", &longer]);
        check::<Origin>(&["holdfast/web-1.lan"], &["holdfast/", "other/a", "holdfast/A", "holdfast/-a"]);
        let digest = format!("sha256:{}", "0a".repeat(32));
        check::<Digest>(
            &[&digest],
            &["", "sha256:0a", &digest.to_uppercase(), &digest.replace("sha256", "md5")],
        );
        let ulid = "01arz3ndektsv4rrffq69g5fav";
        let (agent, beyond) = (format!("agt_{ulid}"), "agt_8zzzzzzzzzzzzzzzzzzzzzzzzz");
        check::<AgentId>(
            &[&agent, "agt_7zzzzzzzzzzzzzzzzzzzzzzzzz"],
            &["", ulid, beyond, &agent.to_uppercase()],
        );
        check::<TargetId>(&[&format!("tgt_{ulid}")], &[&agent, "tgt_"]);
        check::<RunId>(&[&format!("run_{ulid}")], &[&agent, "run_01arz3ndektsv4rrffq69g5fau"]);
        check::<ApprovalId>(&[&format!("apr_{ulid}")], &[&agent]);
        let years =
            ["2026-11-15T08:17:16.000001Z", "0000-01-01T00:00:00.000000Z", "-009999-01-02T03:04:05.000006Z"];
        check::<Timestamp>(&years, &["", "now", "2026-11-15T08:17:16Z", "2026-11-15 08:17:16.000001Z"]);
        check::<Trust>(&["disposable", "semi-trusted", "admin"], &["", "root", "Admin"]);
    }

    #[test]
    fn every_exit_code_is_in_its_schema() {
        let schema = schemars::schema_for!(Exit);
        let judge = jsonschema::validator_for(schema.as_value()).unwrap();
        for exit in Exit::ALL {
            assert!(judge.is_valid(&serde_json::to_value(exit).unwrap()));
        }
        assert!(!judge.is_valid(&json!(8)) && !judge.is_valid(&json!("0")));
    }
}
