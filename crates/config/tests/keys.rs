//! Every key does what it says: generated from the descriptors, so that a new key cannot be forgotten.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{FULL, good, read, said, with};
use holdfast_config::{Config, Descriptor, Error, Layer, Loaded, Takes, changes, outline, variable_of};

/// Values to try for a key: its examples, and for a number the two beside the one that is there.
fn candidates(key: &Descriptor, now: &str) -> Vec<String> {
    let beside = now.parse::<i64>().ok().map(|number| [(number + 1).to_string(), (number - 1).to_string()]);
    let all = beside.into_iter().flatten().chain(key.examples.iter().cloned());
    all.filter(|value| value != now).collect()
}

/// A file that sets one key only, in its section.
fn alone(path: &str, value: &str) -> String {
    let mut file = "version: 1\n".to_owned();
    let parts: Vec<&str> = path.split('.').collect();
    let (name, sections) = parts.split_last().unwrap();
    for (depth, section) in sections.iter().enumerate() {
        file.push_str(&format!("{}{section}:\n", "  ".repeat(depth)));
    }
    file.push_str(&format!("{}{name}: {value}\n", "  ".repeat(sections.len())));
    file
}

fn value_of(loaded: &Loaded, path: &str) -> String {
    loaded.rows().into_iter().find(|row| row.path == path).unwrap().value
}

/// Changes one key in every way there is; says in how many of them the new value could be tried.
fn change_everywhere(key: &Descriptor) -> usize {
    let full = good(FULL);
    let defaults = good("");
    let mut tried = 0;
    let mut check = |base: &Loaded, value: &str, changed: Result<Loaded, Error>| {
        let Ok(changed) = changed else { return };
        tried += 1;
        assert_ne!(changed.config, base.config, "{} = {value} changed nothing", key.path);
        let found = changes(&base.config, &changed.config);
        let paths: Vec<&str> = found.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, [key.path.as_str()], "{} = {value}", key.path);
        let (_, name) = key.path.rsplit_once('.').unwrap();
        assert!(changed.effective_text().contains(&format!("  {name}: {value}\n")), "{}", key.path);
        if !["credentials.command", "guard.custom_patterns"].contains(&key.path.as_str()) {
            assert_eq!(found[0].after, value, "{}", key.path);
        }
        assert_eq!(found[0].live, key.takes == Takes::Live);
        assert_ne!(changed.layer(&key.path), Some(&Layer::Default));
    };
    for value in candidates(key, &key.default) {
        check(&defaults, &value, read(&alone(&key.path, &value)));
        check(&defaults, &value, with("", &[(&variable_of(&key.path), &value)], &[]));
        check(&defaults, &value, with("", &[], &[&format!("{}={value}", key.path)]));
    }
    for value in candidates(key, &value_of(&full, &key.path)) {
        check(&full, &value, with(FULL, &[(&variable_of(&key.path), &value)], &[]));
        check(&full, &value, with(FULL, &[], &[&format!("{}={value}", key.path)]));
    }
    tried
}

// shows: HRD-F28
#[test]
fn changing_any_key_changes_exactly_that_key() {
    let keys = &outline().keys;
    assert!(keys.len() >= 34, "{}", keys.len());
    for key in keys {
        assert!(change_everywhere(key) >= 2, "no other value could be tried for {}", key.path);
    }
}

// shows: HRD-F30
#[test]
fn a_key_that_is_not_set_keeps_its_default_whatever_its_section_sets() {
    let defaults = good("").rows();
    for key in &outline().keys {
        for value in candidates(key, &key.default) {
            let Ok(loaded) = read(&alone(&key.path, &value)) else { continue };
            let others = loaded.rows().into_iter().zip(&defaults).filter(|(row, _)| row.path != key.path);
            others.for_each(|(row, default)| assert_eq!(&row, default, "with {} = {value}", key.path));
        }
    }
}

#[test]
fn the_full_example_changes_every_key() {
    let changed = changes(&good("").config, &good(FULL).config);
    let paths: Vec<&str> = changed.iter().map(|change| change.path.as_str()).collect();
    let all: Vec<&str> = outline().keys.iter().map(|key| key.path.as_str()).collect();
    assert_eq!(paths, all);
}

#[test]
fn every_key_has_a_manual_entry_a_type_and_a_default_it_takes() {
    for key in &outline().keys {
        assert!(key.doc.len() > 15 && key.doc.ends_with('.'), "{}: {:?}", key.path, key.doc);
        assert!(!key.kind.is_empty());
        let loaded = good(&alone(&key.path, &key.default));
        assert_eq!(loaded.config, Config::default(), "{}", key.path);
    }
    for section in &outline().sections {
        assert!(section.doc.len() > 15 && section.doc.ends_with('.'), "{}", section.path);
    }
}

#[test]
fn names_are_snake_case_and_no_section_is_mistaken_for_a_secret() {
    for path in outline().keys.iter().map(|key| &key.path) {
        let fine = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
        assert!(path.chars().all(fine) && !path.contains("__"), "{path}");
        assert!(!variable_of(path).starts_with("HOLDFAST_SECRET_"), "{path}");
    }
}

#[test]
fn the_effective_text_is_a_file_that_gives_the_same() {
    for file in ["", FULL, "version: 1\njournal:\n  archive: \"/srv/a: b # c\"\n"] {
        let loaded = good(file);
        let again = good(&loaded.effective_text());
        assert_eq!(again.config, loaded.config);
        assert_eq!(again.effective_text(), loaded.effective_text());
    }
    assert_ne!(good("").effective_text(), good(FULL).effective_text());
}

// shows: STW-020, STW-021
#[test]
fn the_spans_of_a_target_have_their_defaults_and_nothing_that_is_no_span_is_taken() {
    let target = |more: &str| {
        let text = format!("version: 1\nsteward:\n  targets: [{{ name: box-1, driver: sim{more} }}]\n");
        read(&text).map(|loaded| loaded.config.steward.targets[0].clone())
    };
    let usual = target("").unwrap();
    assert_eq!((usual.planning_interval_hours, usual.window_seconds), (72, 600));
    let set = target(", planning_interval_hours: 24, window_seconds: 900").unwrap();
    assert_eq!((set.planning_interval_hours, set.window_seconds), (24, 900));
    for key in ["planning_interval_hours", "window_seconds"] {
        for none in ["0", "-1", "1.5", "soon"] {
            let why = said(&target(&format!(", {key}: {none}")).unwrap_err());
            assert!(why.contains(key), "{why}");
        }
    }
}
