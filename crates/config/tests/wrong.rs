//! Wrong configurations and exactly what is said about each.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "wrong/cases.rs"]
mod cases;

use std::path::Path;

use cases::Case;
use holdfast_config::{Config, Error, Layers, SHOWN_MAX, VERSION};

/// Reads a case, which must be refused, and tells what was written and what was said.
fn transcript(case: &Case) -> String {
    let error = refused(case);
    let mut out = format!("### {}\n", case.name);
    for line in String::from_utf8_lossy(case.file).lines() {
        out.push_str(&format!(
            "> {}\n",
            line.escape_debug().to_string().replace("\\\"", "\"").replace("\\\\", "\\")
        ));
    }
    for (name, value) in case.environment {
        out.push_str(&format!("> {name}={value}\n"));
    }
    for set in case.sets {
        out.push_str(&format!("> --set {set}\n"));
    }
    out.push('\n');
    out.push_str(&said(&error));
    out
}

fn refused(case: &Case) -> Error {
    let environment: Vec<(String, String)> =
        case.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let sets: Vec<String> = case.sets.iter().map(|set| (*set).to_owned()).collect();
    let file = Some((Path::new("config.yaml"), case.file));
    let read = Config::read(Layers { file, environment: &environment, sets: &sets });
    read.map(|loaded| panic!("{} was taken: {loaded:?}", case.name)).unwrap_err()
}

fn said(error: &Error) -> String {
    match error {
        Error::Wrong(diagnostics) => diagnostics.render(),
        other => {
            let problem = other.problem();
            format!("{}: {}\n  {}\n", problem.code, problem.what, problem.hint)
        }
    }
}

fn check(group: &str, cases: &[Case]) {
    let transcripts: Vec<String> = cases.iter().map(transcript).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(group, transcripts.join("\n"));
    });
}

const ALL: [&[Case]; 9] = [
    cases::KEYS,
    cases::TYPES,
    cases::RANGES,
    cases::COMBINATIONS,
    cases::SECRETS,
    cases::HIDDEN,
    cases::YAML,
    cases::VERSIONS,
    cases::LAYERS,
];

// shows: HRD-123
#[test]
fn a_misspelt_key_a_wrong_type_and_an_unordered_threshold_are_errors_naming_the_key() {
    check("keys", cases::KEYS);
    check("types", cases::TYPES);
    check("combinations", cases::COMBINATIONS);
}

#[test]
fn a_number_out_of_range_is_told_the_range() {
    check("ranges", cases::RANGES);
}

#[test]
fn yaml_that_cannot_be_read_or_is_not_used_is_refused_at_its_place() {
    check("yaml", cases::YAML);
}

#[test]
fn a_version_is_needed_and_a_newer_one_is_refused_before_anything_else() {
    check("versions", cases::VERSIONS);
}

#[test]
fn wrong_variables_and_flags_are_refused_with_what_was_meant() {
    check("layers", cases::LAYERS);
}

#[test]
fn a_secret_in_a_wrong_place_is_in_no_message() {
    check("secrets", cases::SECRETS);
    check("hidden", cases::HIDDEN);
    for case in cases::SECRETS.iter().chain(cases::HIDDEN) {
        let error = refused(case);
        let json = error.diagnostics().map(|all| all.json().to_string()).unwrap_or_default();
        let all = format!("{}{json}{error}{error:?}{:?}", said(&error), error.problem());
        assert!(!all.contains("MARKER"), "{}:\n{all}", case.name);
    }
}

#[test]
fn there_are_at_least_a_hundred_and_every_diagnostic_is_whole() {
    let cases: Vec<&Case> = ALL.into_iter().flatten().collect();
    assert!(cases.len() >= 100, "{}", cases.len());
    for case in cases {
        let Error::Wrong(all) = refused(case) else { continue };
        assert!(all.count() >= 1, "{}", case.name);
        for diagnostic in all.first() {
            assert!(diagnostic.place.line >= 1 && diagnostic.place.column >= 1, "{}", case.name);
            assert!(diagnostic.help.as_ref().is_some_and(|help| !help.is_empty()), "{}", case.name);
            let lines = diagnostic.render().chars().filter(|c| c.is_control() && *c != '\n').count();
            assert_eq!(lines, 0, "{}", case.name);
        }
        let places: Vec<_> = all.first().iter().map(|d| (d.order, d.place.line, d.place.column)).collect();
        assert!(places.is_sorted(), "{}", case.name);
    }
}

#[test]
fn many_mistakes_are_counted_and_the_first_are_shown() {
    let mut file = format!("version: {VERSION}\n");
    (0..500).for_each(|number| file.push_str(&format!("unknown_{number}: 5\n")));
    let layers = Layers { file: Some((Path::new("config.yaml"), file.as_bytes())), ..Layers::default() };
    let error = Config::read(layers).unwrap_err();
    let all = error.diagnostics().unwrap();
    assert_eq!((all.count(), all.first().len()), (500, SHOWN_MAX));
    assert!(all.render().ends_with("\nand 480 more\n"));
    assert_eq!(all.json()["more"], 480);
}

#[test]
fn json_has_the_same_as_the_text() {
    let case = &cases::COMBINATIONS[1];
    let error = refused(case);
    insta::assert_json_snapshot!(error.diagnostics().unwrap().json(), @r#"
    {
      "diagnostics": [
        {
          "code": "combination",
          "column": 11,
          "file": "config.yaml",
          "help": "use `127.0.0.1`, or set `allow_remote: true` if they are meant to",
          "length": 14,
          "line": 3,
          "message": "`health.listen` is 192.0.2.7:9095, which other machines may reach, and `health.allow_remote` is false",
          "related": [
            {
              "column": 17,
              "file": "config.yaml",
              "length": 5,
              "line": 4,
              "message": "`health.allow_remote` is false"
            }
          ]
        }
      ],
      "more": 0
    }
    "#);
}
