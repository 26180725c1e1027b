//! What the manual promises about each command: its options, the fields of its JSON, how it may end.
//!
//! All read from the pages the program makes of itself, so a command that is added is known here at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::home::{bare_command, run};
use super::scene::{Cell, Form};
use super::table::Deed;
use super::transcript::values;

/// `docs/cli.md` by command, and the lower table of `docs/exit-codes.md`.
pub(crate) struct Manual {
    sections: BTreeMap<String, String>,
    ends: Vec<(String, Vec<i32>)>,
}

/// The top-level fields of one answer: those always there, and those only sometimes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    always: BTreeSet<String>,
    sometimes: BTreeSet<String>,
}

impl Manual {
    pub(crate) fn read() -> Manual {
        let page = |name: &str| run(bare_command(&["docs", name]), None).ok().out;
        let section = |text: &str| {
            let (heading, rest) = text.split_once('\n')?;
            Some((heading.strip_prefix("holdfast ")?.to_owned(), rest.to_owned()))
        };
        let cli = page("cli");
        let sections = cli.split("\n## ").filter_map(section).collect();
        let row = |line: &str| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let codes = cells.get(1)?.split(", ").map(str::parse).collect::<Result<_, _>>().ok()?;
            Some((cells.first()?.replace('`', ""), codes))
        };
        let codes = page("exit-codes");
        let lower = codes.split_once("| command |").unwrap().1;
        Manual { sections, ends: lower.lines().filter_map(row).collect() }
    }

    pub(crate) fn commands(&self) -> BTreeSet<&str> {
        self.sections.keys().map(String::as_str).collect()
    }

    pub(crate) fn takes_dry_run(&self, command: &str) -> bool {
        self.sections[command].contains("\n- `--dry-run`")
    }

    /// Every form of answer that is documented.
    pub(crate) fn answers(&self, command: &str) -> Vec<Fields> {
        let section = &self.sections[command];
        let mut all = answers(section);
        let others = section.split("the answer of `holdfast ").skip(1);
        all.extend(others.filter_map(|text| text.split('`').next()).flat_map(|other| self.answers(other)));
        all
    }

    /// Whether the table says that this command may end so.
    fn may_end(&self, command: &str, code: i32) -> bool {
        let is_it = |name: &str| command == name.trim_end_matches(" --check");
        let speaks_of = |who: &str| who.starts_with("any") || who.split(", ").any(is_it);
        code == 0 || self.ends.iter().any(|(who, codes)| codes.contains(&code) && speaks_of(who))
    }

    /// What is not as the manual promises, in whatever state the command was run.
    pub(crate) fn faults(&self, cell: &Cell) -> Vec<String> {
        let Cell { row, code, out, err, .. } = cell;
        let mut faults = Vec::new();
        let mut fault = |is: bool, what: &str| faults.extend(is.then(|| what.to_owned()));
        fault(*code < 0, "it was ended by a signal");
        fault(out.contains('\u{1b}') || err.contains('\u{1b}'), "there are escapes without a terminal");
        fault(err.contains("panicked"), "it panicked");
        fault(!self.may_end(row.command, *code), "the exit code is not documented");
        // Whoever gets no answer is told why, and what to do.
        let refused = *code != 0 && out.is_empty();
        match cell.form {
            Form::People => {
                let told = ["✕ HF-", "  untouched: ", "  next: "].map(|part| err.contains(part));
                fault(told != [refused; 3], "a refusal and its message do not go together");
            }
            Form::Json => {
                let said = values(err).unwrap_or_default();
                fault(said.is_empty() && !err.is_empty(), "stderr is not JSON");
                let error = said.last().and_then(|value| value.get("error"));
                fault(error.is_some() != refused, "a refusal and its message do not go together");
                fault(error.is_some_and(|e| e["exit"] != *code), "the error names another exit code");
                faults.extend(self.undocumented(cell));
            }
        }
        let not_done = refused || row.deed == Deed::Reads;
        if not_done && !cell.changed.is_empty() {
            faults.push(format!("it should have changed nothing, and did: {}", cell.changed.join(", ")));
        }
        let aside = cell.changed.iter().filter(|name| is_aside(name));
        faults.extend(aside.map(|name| format!("{name} was left aside")));
        faults.iter().map(|fault| format!("{}    {fault}\n", cell.told.trim_end())).collect()
    }

    fn undocumented(&self, cell: &Cell) -> Option<String> {
        // The schema of the configuration is a document of another's making.
        if cell.row.command == "config schema" {
            return None;
        }
        let documented = self.answers(cell.row.command);
        let answers = match values(&cell.out) {
            Ok(answers) => answers,
            Err(e) => return Some(format!("stdout is not JSON: {e}")),
        };
        let fields = |value: &Value| -> BTreeSet<String> {
            value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect()
        };
        let unlike = answers.iter().map(fields).find(|found| !documented.iter().any(|d| d.fit(found)))?;
        Some(format!("the fields are {unlike:?}, and documented are {documented:?}"))
    }
}

impl Fields {
    fn fit(&self, found: &BTreeSet<String>) -> bool {
        self.always.is_subset(found)
            && found.iter().all(|name| self.always.contains(name) || self.sometimes.contains(name))
    }
}

/// What is written aside before it has its name.
fn is_aside(name: &str) -> bool {
    [".new", ".partial", ".tmp", ".lifted"]
        .iter()
        .any(|end| name.split('/').any(|part| part.ends_with(end) || part.contains(&format!("{end}-"))))
}

/// Reads `JSON fields: a, b[] with c, d; only when …: e. With --flag: f.`
fn answers(section: &str) -> Vec<Fields> {
    let Some((_, text)) = section.split_once("JSON fields") else { return Vec::new() };
    let text = without_brackets(&text.replace('\n', " "));
    let clauses = text.split(". ").map(|clause| clause.trim().trim_end_matches('.'));
    let listed = clauses.filter_map(|clause| {
        let (heading, list) = clause.split_once(": ")?;
        let own = heading.is_empty() || heading.starts_with(", ") || heading.starts_with("JSON fields");
        (own || heading.starts_with("With --")).then_some(list)
    });
    listed.map(fields).collect()
}

fn fields(list: &str) -> Fields {
    let mut fields = Fields::default();
    for group in list.split("; ") {
        let (names, into) = match group.split_once(": ") {
            Some((condition, names)) if condition.starts_with("only ") => (names, &mut fields.sometimes),
            _ => (group, &mut fields.always),
        };
        // What a list or an object holds is told after `with`.
        let names = names.split(" with ").next().unwrap_or(names).trim_end_matches(", each");
        let name = |name: &str| name.trim().trim_end_matches("[]").to_owned();
        into.extend(names.split(", ").flat_map(|names| names.split(" and ")).map(name));
    }
    fields
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let outside = |c: &char| {
        depth += i32::from(*c == '(');
        let kept = depth == 0;
        depth -= i32::from(*c == ')');
        kept
    };
    text.chars().filter(outside).collect::<String>().replace(" ,", ",").replace(" ;", ";").replace(" .", ".")
}

#[test]
fn documented_fields_are_read_as_a_person_reads_them() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let found = answers(
        "Text.\n\nJSON fields: a, b (null, or so), c[] and d[], each with x, y; e; only when it rains: f, g[]. \
         With --list: h[] with x. Hashes are base64: nobody knows.\n",
    );
    let first = Fields { always: set(&["a", "b", "c", "d", "e"]), sometimes: set(&["f", "g"]) };
    assert_eq!(found, [first, Fields { always: set(&["h"]), ..Fields::default() }]);
}
