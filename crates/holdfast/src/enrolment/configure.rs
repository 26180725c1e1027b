//! The target in config.yaml. The file is people's: lines are added and taken away, and every other byte stays as it was. Whether the file
//! means what it should is asked of the reader of configurations, before it is written.

use std::path::Path;

use holdfast_config as config;
use serde::{Deserialize, Serialize};

/// What was put in: these bytes, as they stand there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inserted {
    pub(crate) text: String,
    /// Whether there was no file before.
    pub(crate) made_file: bool,
}

/// A target as it stands in a list: every word of it has been checked and is quoted where YAML would take it for something else.
pub(crate) fn item(name: &str, address: &str, port: u16, units: &[String], endpoint: Option<&str>) -> String {
    let units: Vec<String> = units.iter().map(|unit| word(unit)).collect();
    let port = if port == 22 { String::new() } else { format!(", port: {port}") };
    let endpoint = endpoint.map(|endpoint| format!(", endpoint: {}", word(endpoint))).unwrap_or_default();
    let (name, address, units) = (word(name), word(address), units.join(", "));
    format!("- {{ name: {name}, driver: systemd, address: {address}{port}, units: [{units}]{endpoint} }}")
}

fn word(text: &str) -> String {
    let plain = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    // JSON's quotes are YAML's too.
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// What a person would write where there is nothing yet.
pub(crate) fn snippet(item: &str) -> String {
    format!("steward:\n  targets:\n    {item}\n")
}

/// The text with the target in it; nothing where no place for it is plain to see.
pub(crate) fn with(text: &str, item: &str) -> Option<(String, Inserted)> {
    let inserted = |text: String| Inserted { text, made_file: false };
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(steward) = lines.iter().position(|line| line.starts_with("steward:")) else {
        let added = format!("{gap}{}", snippet(item));
        return Some((format!("{text}{added}"), inserted(added)));
    };
    is_heading(lines[steward], "steward:").then_some(())?;
    let inside = |line: &str| is_empty(line) || line.starts_with(' ');
    let end = end_of(&lines, steward + 1, inside);
    let targets = (steward + 1..end).find(|at| lines[*at].trim_start().starts_with("targets:"));
    let (at, added) = match targets {
        None => {
            // Where nothing of it is there, what else is there says how deep things stand.
            let depth =
                lines[steward + 1..end].iter().find(|line| !is_empty(line)).map_or(2, |line| depth(line));
            let pad = " ".repeat(depth);
            (steward + 1, format!("{pad}targets:\n{pad}  {item}\n"))
        }
        Some(targets) => {
            is_heading(lines[targets].trim_start(), "targets:").then_some(())?;
            let outer = depth(lines[targets]);
            let in_list = |line: &str| {
                is_empty(line)
                    || depth(line) > outer
                    || (depth(line) == outer && line.trim_start().starts_with('-'))
            };
            let after = end_of(&lines, targets + 1, in_list);
            let first = lines[targets + 1..after].iter().find(|line| line.trim_start().starts_with('-'));
            let pad = " ".repeat(first.map_or(outer + 2, |line| depth(line)));
            (after, format!("{pad}{item}\n"))
        }
    };
    let before = lines[..at].concat();
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    let added = format!("{gap}{added}");
    Some((format!("{before}{added}{}", lines[at..].concat()), inserted(added)))
}

/// The text with where a guard is found; nothing where no place for it is plain to see.
pub(crate) fn with_tripwire(text: &str, windows: &Path, hearts: &Path) -> Option<(String, Inserted)> {
    let said = |path: &Path| path.to_str().map(|path| serde_json::Value::from(path).to_string());
    let (windows, hearts) = (said(windows)?, said(hearts)?);
    let block = |pad: &str| format!("{pad}tripwire:\n{pad}  windows: {windows}\n{pad}  hearts: {hearts}\n");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (at, added) = match lines.iter().position(|line| line.starts_with("steward:")) {
        None => (lines.len(), format!("steward:\n{}", block("  "))),
        Some(steward) => {
            is_heading(lines[steward], "steward:").then_some(())?;
            let inside = |line: &str| is_empty(line) || line.starts_with(' ') || line.starts_with('-');
            let end = end_of(&lines, steward + 1, inside);
            let first = lines[steward + 1..end].iter().find(|line| !is_empty(line));
            (end, block(&" ".repeat(first.map_or(2, |line| depth(line)))))
        }
    };
    let before = lines[..at].concat();
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let added = format!("{gap}{added}");
    let inserted = Inserted { text: added.clone(), made_file: false };
    Some((format!("{before}{added}{}", lines[at..].concat()), inserted))
}

/// The text without what was put in; nothing where that is no longer there as it was.
pub(crate) fn without(text: &str, inserted: &Inserted) -> Option<String> {
    (text.matches(&inserted.text).count() == 1).then(|| text.replacen(&inserted.text, "", 1))
}

/// The text without the target's own line: what was put in around it has others in it by now.
pub(crate) fn without_item(text: &str, inserted: &Inserted) -> Option<String> {
    let item = inserted.text.trim_end().lines().last()?.trim();
    let is_it = |line: &&str| line.trim() == item;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    (lines.iter().filter(|line| is_it(line)).count() == 1)
        .then(|| lines.iter().copied().filter(|line| !is_it(line)).collect())
}

/// What targets a text has, by the reader of configurations.
pub(crate) fn targets_of(text: &str) -> Option<Vec<config::StewardTarget>> {
    steward_of(text).map(|steward| steward.targets)
}

/// The steward's whole section.
pub(crate) fn steward_of(text: &str) -> Option<config::Steward> {
    meaning(text).map(|config| config.steward)
}

/// What a text means, without any other layer.
pub(crate) fn meaning(text: &str) -> Option<config::Config> {
    let file = Some((Path::new("config.yaml"), text.as_bytes()));
    config::Config::read(config::Layers { file, ..config::Layers::default() })
        .ok()
        .map(|loaded| loaded.config)
}

/// The text of the file, where there is one.
pub(crate) fn read(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Written aside with the owner and the mode of the one that is there, and put in its place.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).map(|meta| meta.permissions().mode() & 0o7777).ok();
    holdfast_durable::replace(path, text.as_bytes(), holdfast_durable::Mode::Private)?;
    mode.map_or(Ok(()), |mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)))
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The key and nothing after it but a comment.
fn is_heading(line: &str, key: &str) -> bool {
    line.strip_prefix(key).is_some_and(is_empty)
}

/// Where a block ends: after its last line that is no comment and not empty.
fn end_of(lines: &[&str], from: usize, inside: impl Fn(&str) -> bool) -> usize {
    let after = (from..lines.len()).find(|at| !inside(lines[*at])).unwrap_or(lines.len());
    (from..after).rev().find(|at| !is_empty(lines[*at])).map_or(from, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "{ name: old, driver: sim }";

    /// Put in, it means what it should; taken out, every byte is as it was.
    fn check(text: &str, at_least: usize) {
        let item = item("box-1", "2001:db8::1", 2222, &["web.service".to_owned()], Some("box-1.lan:80"));
        let (with, inserted) = with(text, &item).unwrap_or_else(|| panic!("no place in {text:?}"));
        let targets = targets_of(&with).unwrap_or_else(|| panic!("not read: {with}"));
        assert_eq!(targets.len(), at_least + 1, "{with}");
        let new = targets.last().unwrap();
        assert_eq!(
            (new.name.as_str(), new.reach.address.as_str(), new.reach.port),
            ("box-1", "2001:db8::1", 2222)
        );
        assert_eq!(without(&with, &inserted).as_deref(), Some(text), "{with}");
    }

    #[test]
    fn a_target_is_put_in_wherever_people_write_them_and_taken_out_byte_by_byte() {
        check("version: 1\n", 0);
        check("version: 1\n# no end", 0);
        check("version: 1\nsteward:\n  targets:\n", 0);
        check(&format!("version: 1\nsteward: # mine\n  targets: # all of them\n    - {OLD}\n"), 1);
        check(
            &format!("version: 1\nsteward:\n  targets:\n  - {OLD}\n\n# the rest\nlog:\n  level: info\n"),
            1,
        );
        check(&format!("steward:\n    targets:\n        - {OLD}\n        # that was it\nversion: 1\n"), 1);
        check("version: 1\nsteward:\n  tripwire:\n    windows: /var/lib/w\n", 0);
        check(
            "version: 1\nsteward:\n  targets:\n    - name: old\n      driver: sim\n      limits:\n        trials_per_day: 1",
            1,
        );
    }

    #[test]
    fn where_the_guard_is_found_is_put_in_and_taken_out_byte_by_byte() {
        for text in [
            "version: 1\n",
            "version: 1\n# no end",
            "version: 1\nsteward:\n",
            &format!(
                "version: 1\nsteward: # mine\n    targets:\n    - {OLD}\n    # that was it\nlog:\n  level: info\n"
            ),
            &format!("steward:\n  targets:\n    - {OLD}\nversion: 1\n"),
        ] {
            let (with, inserted) = with_tripwire(text, Path::new("/w: x"), Path::new("/r")).unwrap();
            let steward = steward_of(&with).unwrap_or_else(|| panic!("not read: {with}"));
            assert_eq!(steward.tripwire.windows.unwrap().as_path(), Path::new("/w: x"), "{with}");
            assert_eq!(steward.tripwire.hearts.unwrap().as_path(), Path::new("/r"));
            assert_eq!(steward.targets, targets_of(text).unwrap());
            assert_eq!(without(&with, &inserted).as_deref(), Some(text), "{with}");
        }
        assert_eq!(with_tripwire("steward: { targets: [] }\n", Path::new("/w"), Path::new("/r")), None);
    }

    #[test]
    fn the_first_of_two_leaves_the_other_where_it_is() {
        let new = |name: &str| item(name, "box.lan", 22, &["web.service".to_owned()], None);
        let (one, first) = with("version: 1\n", &new("box-1")).unwrap();
        let (both, _) = with(&one, &new("box-2")).unwrap();
        let rest = without_item(&both, &first).unwrap();
        let names = |text: &str| targets_of(text).unwrap().into_iter().map(|it| it.name).collect::<Vec<_>>();
        assert_eq!(
            (names(&both), names(&rest)),
            (vec!["box-1".to_owned(), "box-2".to_owned()], vec!["box-2".to_owned()])
        );
        assert!(without(&both, &first).is_none_or(|text| targets_of(&text).is_none()));
    }

    #[test]
    fn where_the_place_is_not_plain_nothing_is_touched() {
        for text in [
            "steward: { targets: [] }\n",
            &format!("steward:\n  targets: [{OLD}]\n"),
            "steward: &a\n  targets:\n",
        ] {
            assert_eq!(with(text, "- {}"), None, "{text}");
        }
    }
}
