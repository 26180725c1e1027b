//! What Prometheus reads: well formed, and everything that the alerts and the dashboard ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::home::Home;
use crate::running::{Running, wait_until};

/// Each name of ours in an expression, and the labels it is narrowed or summed by.
fn used_in(expression: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = expression;
    while let Some(at) = rest.find("holdfast_") {
        let name: String = rest[at..].chars().take_while(|c| is_name(*c)).collect();
        rest = &rest[at + name.len()..];
        let inside = rest.strip_prefix('{').and_then(|more| more.split_once('}')).map_or("", |(i, _)| i);
        let label = |part: &str| part.split(['=', '!']).next().unwrap_or_default().trim().to_owned();
        let labels = inside.split(',').map(label).filter(|label| !label.is_empty());
        used.entry(name).or_default().extend(labels);
    }
    used
}

fn packaging(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The texts of every field called `expr`.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == "expr" => found.push(text.clone()),
            other => expressions(other, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

/// Labels that Prometheus adds itself.
const ADDED: [&str; 3] = ["job", "instance", "le"];

#[test]
fn every_metric_and_label_that_alerts_and_dashboard_use_is_there_and_well_formed() {
    let home = Home::bare();
    let daemon = Running::on(&home);
    home.run(&["status"]).ok();
    // Before anything was copied or checked: what never was is 0 and not absent.
    assert_eq!(daemon.metric(r#"holdfast_backup_finished_seconds{database="metrics.db"}"#), Some(0.0));
    assert_eq!(daemon.metric("holdfast_verify_finished_seconds"), Some(0.0));
    wait_until("a round of checks is over", || daemon.metric("holdfast_check_finished_seconds") > Some(0.0));
    wait_until("a channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="log"}"#).is_some());
    let (code, text) = daemon.get("/metrics");
    assert_eq!(code, 200);
    assert!(text.ends_with("# EOF\n"), "{text}");

    let mut wanted = vec![packaging("prometheus/holdfast.rules.yaml")];
    expressions(&serde_json::from_str(&packaging("grafana/holdfast.json")).unwrap(), &mut wanted);
    assert!(wanted.len() > 10, "the dashboard was read");
    for (name, labels) in wanted.iter().flat_map(|text| used_in(text)) {
        let mut samples = text
            .lines()
            .filter(|line| line.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        let sample = samples.next().unwrap_or_else(|| panic!("{name} is not exposed"));
        for label in labels.iter().filter(|label| !ADDED.contains(&label.as_str())) {
            assert!(sample.contains(&format!("{label}=\"")), "{name} has no label {label}: {sample}");
        }
    }
    well_formed(&text);
    check_with_promtool(&text);
    daemon.terminated().well();
}

/// Every sample has a family that was announced, and a number; no family comes twice.
fn well_formed(text: &str) {
    let mut families = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let family = rest.split(' ').next().unwrap();
            assert!(families.insert(family.to_owned()), "{family} is announced twice");
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap_or_else(|e| panic!("{line}: {e}"));
            let name = series.split('{').next().unwrap();
            let endings = ["", "_total", "_bucket", "_sum", "_count"];
            let known = |ending| name.strip_suffix(ending).is_some_and(|family| families.contains(family));
            assert!(endings.iter().any(|ending| known(*ending)), "{name} has no family");
        }
    }
}

#[expect(clippy::print_stderr, reason = "a check that was not made must be seen")]
fn check_with_promtool(text: &str) {
    let cache = || {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        Some(std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?.join("holdfast/tools"))
    };
    let tools = std::env::var_os("HOLDFAST_TOOLS").map(PathBuf::from).or_else(cache);
    let unpacked = tools.map(|dir| dir.join("bin/promtool")).filter(|path| path.exists());
    let program = unpacked.unwrap_or_else(|| "promtool".into());
    let started =
        Command::new(program).args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        eprintln!("not checked by promtool: it is not here, `make setup` fetches it");
        return;
    };
    child.stdin.take().unwrap().write_all(in_the_older_format(text).as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// What promtool knows: no end mark, no units, and a counter's family is called as its samples are.
fn in_the_older_format(text: &str) -> String {
    let kind = |line: &str| Some(line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?.to_owned());
    let counters: BTreeSet<String> = text.lines().filter_map(kind).collect();
    let mut older = String::new();
    for line in text.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if line.starts_with("# ") && counters.contains(&words[2]) {
            words[2].push_str("_total");
        }
        older.push_str(&format!("{}\n", words.join(" ")));
    }
    older
}
