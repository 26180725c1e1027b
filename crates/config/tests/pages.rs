//! The pages made from the keys: the schema is one, accepts what is right, and refuses what it can see is wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "wrong/cases.rs"]
mod cases;
mod common;

use common::{FULL, good, json};
use holdfast_config::{Config, example, outline, reference, schema};

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

#[test]
fn the_schema_is_one_of_draft_2020_12() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    jsonschema::draft202012::meta::validate(&schema).unwrap();
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let validator = validator();
    let check = |text: &str| {
        let errors: Vec<String> = validator.iter_errors(&json(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{text}");
    };
    check(FULL);
    check("version: 1\n");
    check("version: 1\nlog:\nnotifications:\n  webhook:\n");
    check(&good("").effective_text());
    check(&good(FULL).effective_text());
    for key in &outline().keys {
        let (section, name) = key.path.rsplit_once('.').unwrap();
        for value in key.examples.iter().chain([&key.default]) {
            let inner = format!("{{ {name}: {value} }}");
            let nested = section.rsplit('.').fold(inner, |inner, part| format!("{{ {part}: {inner} }}"));
            check(&format!("{}, version: 1 }}", nested.strip_suffix(" }").unwrap()));
        }
    }
}

#[test]
fn the_schema_refuses_unknown_keys_wrong_types_ranges_and_plain_secrets() {
    let validator = validator();
    // What a schema cannot say, or JSON cannot carry: a key twice, `..` in a path, a prefix of settings, port 0.
    let beyond = [
        "a key written twice",
        "a section written twice",
        "a key written twice in braces",
        "a path with dots",
        "a prefix of settings",
        "port 0",
        "quiet hours that never begin",
        // To JSON these are whole numbers.
        "a fraction",
        "an exponent",
        "a number with a leading zero",
        "written twice",
        // A schema counts no decimal places without counting wrong.
        "a threshold with two places",
        // Not YAML, so there is nothing to hand to a schema.
        "an IPv6 address without quotes",
        "a quote never closed",
        "a second colon",
        "a bracket never closed",
        "a control character behind it",
        "bytes that are not text behind it",
        // Refused before a schema could see it.
        "a tag before it",
        "an anchor before it",
    ];
    let groups = [cases::KEYS, cases::TYPES, cases::RANGES, cases::SECRETS];
    let mut refused = 0;
    for case in groups.into_iter().flatten() {
        if beyond.contains(&case.name) || !case.environment.is_empty() || !case.sets.is_empty() {
            continue;
        }
        let text = std::str::from_utf8(case.file).unwrap();
        assert!(!validator.is_valid(&json(text)), "{}:\n{text}", case.name);
        refused += 1;
    }
    assert!(refused > 70, "{refused}");
    for file in ["log: {}\n", "version: 0\n", "version: 2\n", "version: \"1\"\n", "[]", "version: 1.5\n"] {
        assert!(!validator.is_valid(&json(file)), "{file}");
    }
}

#[test]
fn the_reference_page_has_every_key_with_its_default_and_when_it_takes_effect() {
    let page = reference();
    for key in &outline().keys {
        let (section, name) = key.path.rsplit_once('.').unwrap();
        let part = page.split(&format!("\n## {section}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
        let row = part.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        assert!(row.contains(&format!("| `{}` |", key.default)) && row.contains(&key.doc), "{row}");
    }
    insta::assert_snapshot!("reference", page);
}

#[test]
fn the_schema_is_as_it_was_read() {
    insta::assert_snapshot!("schema", serde_json::to_string_pretty(&schema()).unwrap());
}

#[test]
fn the_example_holds_every_key_and_changes_nothing() {
    let text = example();
    assert_eq!(good(&text).config, Config::default());
    // With its single `#` taken away, every line that is a key or a section is active, and the defaults stay.
    let active: String =
        text.lines().map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line))).collect();
    let loaded = good(&active);
    assert_eq!(loaded.config, Config::default());
    let set = loaded.rows().iter().filter(|row| row.layer != holdfast_config::Layer::Default).count();
    assert_eq!(set, outline().keys.len());
    insta::assert_snapshot!("example", text);
}
