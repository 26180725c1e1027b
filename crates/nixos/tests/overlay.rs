//! What is rendered is what Nix reads: parsed and evaluated by real Nix against a stub of the option tree, many cases in one call.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod peer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holdfast_nixos::{Module, NotWritten, Overlay, com, literal, module_of, setting_of};
use holdfast_steward::com::Difference;
use holdfast_steward::setting::{Change, Property, Setting, Value};
use holdfast_testkit::rounds;
use peer::stub;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

const MEMORY: u64 = 4 << 30;

fn setting(unit: &str, property: Property) -> Setting {
    Setting { unit: unit.parse().unwrap(), property }
}

/// Nix without a store: whatever it is told, it writes nothing and fetches nothing.
fn nix(args: &[&str]) -> Output {
    let output = Command::new("nix-instantiate")
        .args(["--store", "dummy://", "--option", "restrict-eval", "false"])
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output();
    output.unwrap()
}

#[track_caller]
fn evaluated(expression: &str) -> serde_json::Value {
    let output = nix(&["--eval", "--json", "--strict", "--expr", expression]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn some<S: Strategy>(runner: &mut TestRunner, strategy: &S) -> S::Value {
    strategy.new_tree(runner).unwrap().current()
}

fn units() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("web.service".to_owned()),
        Just("batch.slice".to_owned()),
        "[a-zA-Z0-9][a-zA-Z0-9_@-]{0,12}(\\.[a-zA-Z0-9_@-]{1,8})?\\.(service|slice|socket)",
    ]
}

/// A setting with a value that may be written.
fn settings() -> impl Strategy<Value = (Setting, Value)> {
    let bytes = prop_oneof![Just(Value::Infinity), (1..=u64::MAX).prop_map(Value::Bytes)];
    let quota = prop_oneof![Just(Value::Infinity), (1..=u32::MAX).prop_map(Value::Percent)];
    let nix = (prop_oneof![Just(Property::MaxJobs), Just(Property::Cores)], 0..=1024i64)
        .prop_map(|(property, number)| (setting("nix-daemon.service", property), Value::Number(number)));
    let memory = (units(), prop_oneof![Just(Property::MemoryMax), Just(Property::MemoryHigh)], bytes)
        .prop_map(|(unit, property, value)| (setting(&unit, property), value));
    let quota = (units(), quota).prop_map(|(unit, value)| (setting(&unit, Property::CpuQuota), value));
    let nice =
        (units(), -20..=19i64).prop_map(|(unit, nice)| (setting(&unit, Property::Nice), Value::Number(nice)));
    let writable = |(setting, value): &(Setting, Value)| module_of(setting, *value).is_ok();
    prop_oneof![nix, memory, quota, nice].prop_filter("there is no such option", writable)
}

fn write(folder: &Path, overlay: &Overlay) -> Vec<PathBuf> {
    fs::create_dir_all(folder).unwrap();
    let modules = overlay.modules().unwrap();
    modules
        .iter()
        .map(|module| {
            let path = folder.join(&module.name);
            fs::write(&path, &module.text).unwrap();
            path
        })
        .collect()
}

/// The configuration of the stub with each of these folders of modules in it, and without any, as the gates see it.
fn configurations(folders: &[PathBuf]) -> Vec<holdfast_steward::com::Com> {
    let all: String =
        folders.iter().map(|folder| format!("[ {} ] ", literal(folder.to_str().unwrap()))).collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/com.nix");
    let expression = format!(
        "let lib = import {lib}; in map (more: import {source} (lib.evalModules ([ {options} {host} ] ++ map (it: /. + it) more))) [ [ ] {all} ]",
        lib = stub().join("lib.nix").display(),
        source = source.display(),
        options = stub().join("options.nix").display(),
        host = stub().join("hosts/target-1/configuration.nix").display(),
    );
    let evaluated = evaluated(&expression);
    evaluated.as_array().unwrap().iter().map(|one| com(&one.to_string(), MEMORY).unwrap()).collect()
}

// shows: STW-128, STW-271, STW-274
#[test]
fn what_is_rendered_parses_and_is_evaluated_to_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(settings(), 1..4);
    let cases: Vec<Overlay> = (0..rounds(120, 600))
        .map(|_| {
            let mut all = some(&mut runner, &strategy);
            // What people force is another test's.
            all.retain(|(setting, _)| {
                (setting.unit.as_str(), &setting.property) != ("web.service", &Property::CpuQuota)
            });
            Overlay::try_from(all).unwrap()
        })
        .collect();
    let mut files = Vec::new();
    let folders: Vec<PathBuf> = (0..cases.len()).map(|at| folder.path().join(at.to_string())).collect();
    for (overlay, folder) in cases.iter().zip(&folders) {
        files.extend(write(folder, overlay));
        let again: Vec<Module> = overlay.modules().unwrap();
        assert_eq!(Overlay::of_modules(&again).as_ref(), Ok(overlay), "the files say what is set");
        assert_eq!(overlay.modules().unwrap(), again, "the same settings are the same files");
    }
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let parsed = nix(&[["--parse"].as_slice(), &files].concat());
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));

    let all = configurations(&folders);
    let (before, after) = all.split_first().unwrap();
    for (overlay, com) in cases.iter().zip(after) {
        for (setting, value) in overlay.iter() {
            assert_eq!(com.value(setting), value, "{setting}");
        }
        for difference in before.differences(com) {
            let is_asked = match &difference {
                Difference::Setting(change) => overlay.get(&change.setting) == Some(change.to),
                // A unit that nobody had begins to exist with its first setting.
                Difference::UnitAdded { unit } => overlay.iter().any(|(setting, _)| setting.unit == *unit),
                _ => false,
            };
            assert!(is_asked, "{difference} by {overlay:?}");
        }
    }
}

#[test]
fn a_value_replaces_what_people_wrote_plainly_and_gives_way_to_what_they_force() {
    let folder = tempfile::tempdir().unwrap();
    let ours = [
        (setting("web.service", Property::MemoryMax), Value::Bytes(1200 << 20)),
        (setting("web.service", Property::MemoryHigh), Value::Bytes(1000 << 20)),
        (setting("web.service", Property::CpuQuota), Value::Percent(150)),
    ];
    write(&folder.path().join("a"), &Overlay::try_from(ours.to_vec()).unwrap());
    let all = configurations(&[folder.path().join("a")]);
    assert_eq!(all[0].value(&ours[0].0), Value::Bytes(1 << 30), "people's plain value");
    assert_eq!(all[1].value(&ours[0].0), ours[0].1, "a plain value is replaced");
    assert_eq!(all[1].value(&ours[1].0), ours[1].1, "a default is replaced");
    assert_eq!(all[1].value(&ours[2].0), Value::Percent(100), "what is forced stays");
}

// shows: STW-350
#[test]
fn no_text_says_more_than_a_text() {
    let mut runner = TestRunner::deterministic();
    let hostile = [
        "\"; systemd.services.x.script = \"rm\"; y = \"",
        "${builtins.readFile \"/etc/passwd\"}",
        "$${x}",
        "$\\{x}",
        "''",
        "'' ${x} ''",
        "\\",
        "\\\"",
        "a\nb\rc\td",
        "*/ # }",
        "\u{2028}\u{202e}é𝄞",
        "$",
        "",
        "{{ lib, ... }}:",
    ];
    let strategy = proptest::collection::vec(
        prop_oneof![
            Just('$'),
            Just('{'),
            Just('}'),
            Just('"'),
            Just('\\'),
            Just('\''),
            Just('\n'),
            Just(';'),
            any::<char>()
        ],
        0..24,
    );
    let mut texts: Vec<String> = hostile.map(str::to_owned).to_vec();
    for _ in 0..rounds(400, 2000) {
        // A text of Nix cannot hold a NUL, and no name of ours does.
        texts.push(some(&mut runner, &strategy).into_iter().filter(|c| *c != '\0').collect());
    }
    let expression = format!("[ {} ]", texts.iter().map(|text| literal(text)).collect::<Vec<_>>().join(" "));
    assert_eq!(evaluated(&expression), serde_json::json!(texts));
    let names: String = texts.iter().map(|text| format!("{{ {} = 1; }} ", literal(text))).collect();
    let keys = evaluated(&format!("map (it: builtins.head (builtins.attrNames it)) [ {names} ]"));
    assert_eq!(keys, serde_json::json!(texts), "as a name too");
}

// shows: STW-269
#[test]
fn names_and_values_that_are_none_of_ours_are_never_written() {
    for unit in
        ["a\"b.service", "a${x}.service", "../a.service", "a b.service", "a\nb.service", "a.service;x", "web"]
    {
        assert!(unit.parse::<holdfast_steward::setting::UnitName>().is_err(), "{unit:?}");
    }
    let of = |unit: &str, property: &str| setting(unit, property.parse().unwrap());
    for (setting, value) in [
        (of("web.service", "ExecStartPre"), Value::Number(1)),
        (of("web.service", "Environment"), Value::Infinity),
        (of("web.service", "nix.settings.max-jobs"), Value::Number(1)),
        (of("web.mount", "MemoryMax"), Value::Bytes(1)),
        (of("web.timer", "MemoryMax"), Value::Bytes(1)),
        (of("web.slice", "Nice"), Value::Number(1)),
        (of("web.service", "MemoryMax"), Value::Bytes(0)),
        (of("web.service", "MemoryMax"), Value::Percent(10)),
        (of("web.service", "MemoryMax"), Value::Unset),
        (of("web.service", "Nice"), Value::Number(-21)),
        (of("web.service", "Nice"), Value::Infinity),
        (of("nix-daemon.service", "nix.settings.cores"), Value::Number(-1)),
    ] {
        assert!(module_of(&setting, value).is_err(), "{setting} {value}");
        assert!(Overlay::try_from(vec![(setting, value)]).is_err());
    }
    for name in [
        "default.nix",
        "people.nix",
        "web.service--ExecStart.nix",
        "web--MemoryMax.nix",
        "x/y.service--Nice.nix",
        ".gitkeep",
    ] {
        assert_eq!(setting_of(name), None, "{name}");
    }
    let far: Vec<_> = (0..300).map(|at| (of(&format!("u{at}.service"), "Nice"), Value::Number(1))).collect();
    assert_eq!(Overlay::try_from(far), Err(NotWritten::TooMany));
}

// shows: STW-266
#[test]
fn a_module_is_this_text_and_one_that_somebody_edited_is_noticed() {
    let ours = Overlay::try_from(vec![
        (setting("getty@tty1.service", Property::CpuQuota), Value::Infinity),
        (setting("nix-daemon.service", Property::Cores), Value::Number(2)),
        (setting("web.service", Property::MemoryMax), Value::Bytes(1200 << 20)),
    ])
    .unwrap();
    let modules = ours.modules().unwrap();
    let texts: Vec<String> =
        modules.iter().map(|module| format!("{}:\n{}", module.name, module.text)).collect();
    let expected = r#"default.nix:
# Written by holdfast, which takes it away by itself. Yours go elsewhere.
{
  imports = [
    (./. + "/getty@tty1.service--CPUQuota.nix")
    (./. + "/nix-daemon.service--nix.settings.cores.nix")
    (./. + "/web.service--MemoryMax.nix")
  ];
}
getty@tty1.service--CPUQuota.nix:
# Written by holdfast, which takes it away by itself. Yours go elsewhere.
{ lib, ... }:
{
  systemd.services."getty@tty1".serviceConfig."CPUQuota" = lib.mkOverride 60 "";
}
nix-daemon.service--nix.settings.cores.nix:
# Written by holdfast, which takes it away by itself. Yours go elsewhere.
{ lib, ... }:
{
  nix.settings.cores = lib.mkOverride 60 2;
}
web.service--MemoryMax.nix:
# Written by holdfast, which takes it away by itself. Yours go elsewhere.
{ lib, ... }:
{
  systemd.services."web".serviceConfig."MemoryMax" = lib.mkOverride 60 "1258291200";
}
"#;
    assert_eq!(texts.concat(), expected);
    let mut edited = modules;
    edited[3].text = edited[3].text.replace("1258291200", "1258291200\" + \"");
    assert_eq!(Overlay::of_modules(&edited), Err("web.service--MemoryMax.nix".to_owned()));
    let change = Change {
        setting: setting("web.service", Property::MemoryMax),
        from: Value::Bytes(1),
        to: Value::Bytes(1 << 30),
    };
    let without = ours.with(&[change], |_| Value::Bytes(1 << 30)).unwrap();
    assert_eq!(without.iter().count(), 2, "a change back to what people wrote takes our word away");
}
