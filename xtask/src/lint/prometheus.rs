//! What Prometheus reads: every alert says how bad it is and what to do, and is shown firing and silent.
//!
//! `NAME.rules.yaml` are rules, `NAME.rules.test.yaml` beside it their tests, `scrape.yaml` in a folder called
//! `prometheus` a piece of configuration. `promtool` runs the tests where it is found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Found;
use super::promises::Sources;
use super::tool::{Answer, Tools};

const RULES: &str = ".rules.yaml";
const TESTS: &str = ".rules.test.yaml";
const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];

/// Silent about files that are no rules, and about what does not parse: that is found elsewhere.
pub(super) fn check(path: &str, text: &str, sources: &impl Sources) -> Vec<Found> {
    let Some(stem) = path.strip_suffix(RULES) else {
        return Vec::new();
    };
    let Ok(rules) = serde_saphyr::from_str::<Value>(text) else {
        return Vec::new();
    };
    let tests_path = format!("{stem}{TESTS}");
    let tests = sources.text(&tests_path).and_then(|tests| serde_saphyr::from_str::<Value>(tests).ok());
    let (firing, silent) = shown(tests.as_ref().unwrap_or(&Value::Null));
    let mut found = Vec::new();
    for alert in each(&rules, "groups").flat_map(|group| each(group, "rules")) {
        let Some(name) = alert["alert"].as_str() else { continue };
        let mut told: Vec<String> = complaints(alert).into_iter().map(str::to_owned).collect();
        if !firing.contains(name) {
            told.push(format!("no test in {tests_path} shows it firing"));
        }
        if !silent.contains(name) {
            told.push(format!("no test in {tests_path} shows it silent"));
        }
        let line = line_of_alert(text, name);
        found.extend(told.into_iter().map(|what| (line, format!("the alert {name}: {what}"))));
    }
    found
}

fn complaints(alert: &Value) -> Vec<&'static str> {
    let text = |part: &str, key: &str| alert[part][key].as_str().unwrap_or_default().to_owned();
    let mut told = Vec::new();
    if !SEVERITIES.contains(&text("labels", "severity").as_str()) {
        told.push("its severity is none of critical, warning, info");
    }
    if text("annotations", "summary").is_empty() {
        told.push("it has no summary");
    }
    if !text("annotations", "description").contains("`holdfast ") {
        told.push("its description names no holdfast command to run");
    }
    told
}

/// The alerts that a test expects to fire, and those one expects to stay silent.
fn shown(tests: &Value) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut firing, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for test in each(tests, "tests").flat_map(|test| each(test, "alert_rule_test")) {
        let into = if each(test, "exp_alerts").next().is_some() { &mut firing } else { &mut silent };
        into.extend(test["alertname"].as_str());
    }
    (firing, silent)
}

fn each<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn line_of_alert(text: &str, name: &str) -> usize {
    let is_it = |line: &str| line.split_once("alert:").is_some_and(|(_, rest)| rest.trim() == name);
    text.lines().position(is_it).map_or(1, |index| index + 1)
}

pub(super) fn ask(path: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let args: &[&str] = if path.ends_with(TESTS) {
        &["test", "rules", path]
    } else if path.ends_with(RULES) {
        &["check", "rules", path]
    } else if path.ends_with("prometheus/scrape.yaml") {
        &["check", "config", "--syntax-only", path]
    } else {
        return Ok(Vec::new());
    };
    Ok(match tools.ask("promtool", args)? {
        Answer::Bad(output) => vec![(1, format!("promtool: {}", in_one_line(&output)))],
        Answer::Good | Answer::NotInstalled => Vec::new(),
    })
}

/// It draws what was expected and what came over many lines; all of it is wanted, in one line as any finding.
fn in_one_line(output: &str) -> String {
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Beside(&'static str);

    impl Sources for Beside {
        fn text(&self, path: &str) -> Option<&str> {
            (path == "a/b.rules.test.yaml").then_some(self.0)
        }
    }

    const GOOD: &str = "\
groups:
  - name: g
    rules:
      - record: r
        expr: up
      - alert: A
        expr: up == 0
        labels: {severity: info}
        annotations: {summary: s, description: run `holdfast status`}
";
    const TESTED: &str = "\
tests:
  - alert_rule_test:
      - {alertname: A, exp_alerts: [{exp_labels: {}}]}
      - {alertname: A, exp_alerts: []}
";

    fn check_rules(rules: &str, tests: &'static str, expected: &[(usize, &str)]) {
        let found = check("a/b.rules.yaml", rules, &Beside(tests));
        let told: Vec<_> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected, "{rules}");
    }

    #[test]
    fn an_alert_says_how_bad_it_is_and_what_to_do() {
        check_rules(GOOD, TESTED, &[]);
        check_rules(
            &GOOD.replace("info", "page").replace("summary: s, ", "").replace("`holdfast status`", "away"),
            TESTED,
            &[
                (6, "the alert A: its severity is none of critical, warning, info"),
                (6, "the alert A: it has no summary"),
                (6, "the alert A: its description names no holdfast command to run"),
            ],
        );
    }

    #[test]
    fn an_alert_is_shown_firing_and_silent() {
        let firing = (6, "the alert A: no test in a/b.rules.test.yaml shows it firing");
        let silent = (6, "the alert A: no test in a/b.rules.test.yaml shows it silent");
        check_rules(GOOD, "", &[firing, silent]);
        check_rules(GOOD, "tests: [{alert_rule_test: [{alertname: A, exp_alerts: []}]}]", &[firing]);
    }

    #[test]
    fn other_files_are_let_be() {
        assert_eq!(check("a/b.yaml", GOOD, &Beside("")), []);
        assert_eq!(check("a/b.rules.yaml", "a: [", &Beside("")), []);
        assert_eq!(ask("a/b.yaml", &mut Tools::new(".".as_ref())).unwrap(), []);
    }

    #[test]
    fn promtool_is_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-prometheus-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("good.rules.yaml"), GOOD).unwrap();
        std::fs::write(dir.join("bad.rules.yaml"), GOOD.replace("up == 0", "up ==")).unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(ask("good.rules.yaml", &mut tools).unwrap(), []);
        let bad = ask("bad.rules.yaml", &mut tools).unwrap();
        assert_eq!(bad.is_empty(), tools.missing().count() == 1, "a finding, unless there is no promtool");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
