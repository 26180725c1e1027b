//! Makefiles: make parses them, and every phony target has a help text, since `make help` is the list of commands.

use std::collections::BTreeMap;

use super::Found;
use super::tool::{Answer, Tools};

/// Every target named in `.PHONY` has a rule line with `## ` and a text.
pub(super) fn check(text: &str) -> Vec<Found> {
    let lines = joined(text);
    let helped: BTreeMap<&str, bool> = lines.iter().filter_map(|(_, line)| rule(line)).collect();
    let phony = lines.iter().filter_map(|(number, line)| Some((*number, line.strip_prefix(".PHONY:")?)));
    let named = phony.flat_map(|(number, names)| names.split_whitespace().map(move |name| (number, name)));
    named.filter_map(|(number, name)| Some((number, complaint(name, helped.get(name).copied())?))).collect()
}

/// Asks make to read the file without running anything. Only a Makefile has `help`; an included part has none.
pub(super) fn parses(path: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    if !path.ends_with("Makefile") {
        return Ok(Vec::new());
    }
    let (folder, file) = path.rsplit_once('/').unwrap_or((".", path));
    Ok(match tools.ask("make", &["-n", "-C", folder, "-f", file, "help"])? {
        Answer::Bad(output) => vec![refusal(&output)],
        Answer::Good | Answer::NotInstalled => Vec::new(),
    })
}

fn complaint(name: &str, helped: Option<bool>) -> Option<String> {
    match helped {
        Some(true) => None,
        Some(false) => {
            Some(format!("the target {name} has no help text: add `## ` and what it does to its rule"))
        }
        None => Some(format!("the target {name} is phony but has no rule")),
    }
}

/// The target of a rule line and whether a help text follows. Recipes and assignments are no rules.
fn rule(line: &str) -> Option<(&str, bool)> {
    let (target, rest) = line.split_once(':')?;
    let is_rule = !line.starts_with(['\t', '#', '.', ' ']) && !rest.starts_with('=') && !target.contains('=');
    let help = rest.split_once("## ").is_some_and(|(_, help)| !help.trim().is_empty());
    is_rule.then(|| (target.trim(), help))
}

/// Lines with their continuations, each with the number of its first line.
pub(super) fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => lines.push((index + 1, part.to_owned())),
        }
        open = line.ends_with('\\');
    }
    lines
}

/// Lines such as `Makefile:3: *** missing separator.  Stop.`
fn refusal(output: &str) -> Found {
    let lines = || output.lines().filter(|line| !line.contains("directory"));
    let told =
        lines().find(|line| line.contains("***")).or_else(|| lines().next()).unwrap_or("make refused it");
    let line = told.split(':').nth(1).and_then(|number| number.parse().ok()).unwrap_or(1);
    (line, format!("make: {}", told.rsplit("*** ").next().unwrap_or(told).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str, expected: &[(usize, &str)]) {
        let found = check(text);
        let told: Vec<_> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn phony_targets_say_what_they_do() {
        check_text(".PHONY: help test\nhelp: ## Show this\n\t@echo\ntest: build ## Run the tests\n", &[]);
        check_text(
            ".PHONY: help\nhelp:\n\t@echo\n",
            &[(1, "the target help has no help text: add `## ` and what it does to its rule")],
        );
        check_text("A := b\n.PHONY: a \\\n  b\na: ## A\n", &[(2, "the target b is phony but has no rule")]);
        check_text("X := $(shell echo a: b)\n", &[]);
    }

    #[test]
    fn make_is_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-make-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("Makefile"), "help: ## Help\n\t@echo hello\n").unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(parses("Makefile", &mut tools).unwrap(), []);
        std::fs::write(dir.join("Makefile"), "help: ## Help\n    echo hello\n").unwrap();
        let bad = parses("Makefile", &mut tools).unwrap();
        assert_eq!(bad.is_empty(), tools.missing().count() == 1, "a finding, unless there is no make");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_line_of_a_refusal_is_kept() {
        let output = "make: Entering directory 'x'\nMakefile:2: *** missing separator.  Stop.\n";
        assert_eq!(refusal(output), (2, "make: missing separator.  Stop.".to_owned()));
    }
}
