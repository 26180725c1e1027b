//! A host without a doorman, looked at over an ordinary account: one run of `sh` with a constant script on its input.
//!
//! The command line holds `sh -s --`, the cursor and the units, and nothing else. A unit's name and a cursor are of few characters, none
//! of which means anything to a shell. The script prints parts, each begun by a line with its label and ended by one with the code it
//! ended with; what they mean is read here, as it is for a doorman.
//!
//! Such an account sees what anybody on that host sees. What needs more, such as the journal, is named as failed.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_doorman::reading::{Journal, RESOURCES, Text, Texts, Why, collected};
use holdfast_doorman::wire::{Collected, is_cursor};
use holdfast_steward::setting::UnitName;

use holdfast_line::{Line, Purpose, Unreached, shown};

/// The same for every host and every cycle.
const SCRIPT: &str = include_str!("account.sh");
/// How a part begins and ends.
const PART: &str = "== ";
const END: &str = "== end ";

/// One collection.
pub fn collect(
    line: &Line,
    units: &[UnitName],
    cursor: Option<&str>,
    within: Duration,
) -> Result<Collected, Unreached> {
    let cursor = cursor.filter(|it| is_cursor(it));
    let sent = cursor_word(cursor);
    let mut words = vec!["sh", "-s", "--", &sent];
    words.extend(units.iter().map(UnitName::as_str));
    let said = line.exchange(Purpose::Looking, &words, SCRIPT.as_bytes().to_vec(), within)?;
    let parts = Parts::read(&said);
    if parts.0.is_empty() {
        return Err(Unreached::Garbled { alias: line.alias.clone(), said: shown(&said) });
    }
    let mut found = collected(&parts.texts(), units, cursor);
    for label in ["generation", "running"] {
        found.absent.push((label.to_owned(), "there is no doorman that would know it".to_owned()));
    }
    Ok(found)
}

/// A cursor without what a shell would take for the end of a command; the script puts it back.
fn cursor_word(cursor: Option<&str>) -> String {
    cursor.map_or_else(|| "-".to_owned(), |cursor| cursor.replace(';', ","))
}

/// What the script printed, by label.
struct Parts(BTreeMap<String, Text>);

impl Parts {
    fn read(said: &str) -> Parts {
        let mut parts = BTreeMap::new();
        let mut open: Option<(String, String)> = None;
        for line in said.lines() {
            if let Some(code) = line.strip_prefix(END) {
                if let Some((label, text)) = open.take() {
                    let part = if code.trim() == "0" { Ok(text) } else { Err(Why::said(&text)) };
                    parts.insert(label, part);
                }
            } else if let Some(label) = line.strip_prefix(PART) {
                open = Some((label.trim().to_owned(), String::new()));
            } else if let Some((_, text)) = &mut open {
                text.push_str(line);
                text.push('\n');
            }
        }
        // What is not ended was cut off, and half a figure may look like a whole one.
        if let Some((label, _)) = open {
            parts.insert(label, Err(Why::Failed("what it printed was cut off".to_owned())));
        }
        Parts(parts)
    }

    fn text(&self, label: &str) -> Text {
        let missing = || Err(Why::Failed("nothing was said about it".to_owned()));
        self.0.get(label).cloned().unwrap_or_else(missing)
    }

    fn texts(&self) -> Texts {
        Texts {
            boot: self.text("boot"),
            meminfo: self.text("meminfo"),
            load: self.text("load"),
            processors: self.text("processors"),
            pressure: RESOURCES.map(|resource| self.text(&format!("pressure {resource}"))),
            free_space: self.text("space").and_then(|text| free_space(&text)),
            units: self.text("units"),
            groups: self.groups(),
            journal: self.journal(),
        }
    }

    fn groups(&self) -> BTreeMap<String, BTreeMap<String, Text>> {
        let mut groups: BTreeMap<String, BTreeMap<String, Text>> = BTreeMap::new();
        for (label, text) in &self.0 {
            let named = label.strip_prefix("group ").and_then(|rest| rest.split_once(' '));
            if let Some((file, group)) = named {
                groups.entry(group.to_owned()).or_default().insert(file.to_owned(), text.clone());
            }
        }
        groups
    }

    fn journal(&self) -> Journal {
        match (self.text("journal"), self.0.get("journal anew")) {
            (Ok(text), _) => Journal::Read(text),
            (Err(Why::Absent(why) | Why::Failed(why)), Some(Ok(stands))) => {
                Journal::Anew { why, stands: stands.clone() }
            }
            (Err(why), _) => Journal::Not(why),
        }
    }
}

/// The fourth column of what `df -P -k` prints, in bytes.
fn free_space(text: &str) -> Result<u64, Why> {
    let column =
        text.lines().nth(1).and_then(|line| line.split_ascii_whitespace().nth(3)?.parse::<u64>().ok());
    column
        .and_then(|kibibytes| kibibytes.checked_mul(1024))
        .ok_or_else(|| Why::Failed("what df printed is not understood".to_owned()))
}

#[cfg(test)]
mod tests {
    use holdfast_doorman::reading::{GROUP_FILES, JOURNAL_FIELDS, LINES_MAX, PROPERTIES};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_script_asks_for_what_a_doorman_asks_for() {
        assert!(SCRIPT.contains(&format!("'{PROPERTIES}'")), "{PROPERTIES}");
        assert!(SCRIPT.contains(JOURNAL_FIELDS));
        assert!(SCRIPT.contains(&format!("--lines={}", LINES_MAX + 1)));
        assert!(SCRIPT.contains(&GROUP_FILES.join(" ")));
        // Standard input is the script: a program that read it would eat the rest.
        assert!(SCRIPT.contains("</dev/null"));
    }

    #[test]
    fn parts_are_told_apart_and_what_was_cut_off_is_no_figure() {
        let said = "a banner\n== boot\nabc\n== end 0\n== load\ncat: x: Permission denied\n== end 1\n\
            == group memory.current /a.slice/b.service\n42\n== end 0\n== meminfo\nMemTotal: 1";
        let parts = Parts::read(said);
        assert_eq!(parts.text("boot"), Ok("abc\n".to_owned()));
        assert_eq!(parts.text("load"), Err(Why::Failed("cat: x: Permission denied".to_owned())));
        assert!(parts.text("meminfo").is_err() && parts.text("units").is_err());
        assert_eq!(parts.groups()["/a.slice/b.service"]["memory.current"], Ok("42\n".to_owned()));
    }

    #[test]
    fn free_space_is_the_fourth_column() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 10 4 6 40% /\n";
        assert_eq!(free_space(text), Ok(6144));
        for odd in ["", "one line\n", "a\nb c d\n", "a\nb 1 2 x\n", "a\nb 1 2 99999999999999999999\n"] {
            assert!(free_space(odd).is_err(), "{odd:?}");
        }
    }

    /// More than is taken in one cycle, in lines and in bytes: read over several, none twice and none lost.
    #[test]
    fn a_long_journal_is_read_over_several_cycles() {
        for release in holdfast_testkit::lab::RELEASES {
            let Some(container) = holdfast_testkit::lab::container(release) else { return };
            let must = |argv: &[&str]| {
                let output = container.run(argv);
                assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            let folder = tempfile::tempdir().unwrap();
            let script = folder.path().join("account.sh");
            std::fs::write(&script, SCRIPT).unwrap();
            container.put(&script, "/root/account.sh").unwrap();
            let cycle = |cursor: Option<&str>| {
                let said = must(&["sh", "/root/account.sh", &cursor_word(cursor)]);
                (collected(&Parts::read(&said).texts(), &[], cursor), said.len())
            };
            let mut cursor = cycle(None).0.cursor;
            let say = "for n in range(6000): print('complaint %d ' % n + 'x' * 300)";
            must(&["sh", "-c", "python3 -c \"$1\" | systemd-cat -p err && journalctl --sync", "say", say]);
            let (mut all, mut cycles) = (0, 0);
            while all < 6000 && cycles < 10 {
                let (found, len) = cycle(cursor.as_deref());
                let of_journal = found.failed.iter().find(|(label, _)| label == "journal");
                assert!(of_journal.is_none() && len < 2_100_000, "{of_journal:?}, {len} bytes");
                all += found.entries.len() + found.left_off as usize;
                (cursor, cycles) = (found.cursor, cycles + 1);
            }
            assert_eq!((all, cycles > 1), (6000, true), "{release}");
            assert_eq!(cycle(cursor.as_deref()).0.entries, [], "{release}");
        }
    }

    proptest! {
        #[test]
        fn nothing_on_the_command_line_means_anything_to_a_shell(text in "\\PC{0,60}|s=[0-9a-f;=ibmtx]{1,60}", unit in "\\PC{1,30}\\.service|[a-z@._-]{1,20}\\.service") {
            let cursor = Some(text.as_str()).filter(|it| is_cursor(it));
            let word = cursor_word(cursor);
            prop_assert!(word.bytes().all(|b| b.is_ascii_alphanumeric() || b"=,-".contains(&b)), "{word}");
            if let Ok(unit) = unit.parse::<UnitName>() {
                prop_assert!(unit.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"._@-".contains(&b)));
                prop_assert!(!unit.as_str().starts_with('-'));
            }
        }
    }
}
