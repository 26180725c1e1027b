//! The scanners: how each is called, and what its answer means. Reading an answer is pure.
//!
//! Every tool is called in the directory that holds the tree and is told the tree's name alone, so the paths it speaks
//! of begin with that name. None is allowed to ask the network whether a secret works: the secrets are invented, and
//! nothing leaves the machine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_planter::Finding;
use serde_json::Value;

use crate::program::Program;
use crate::tools::peers_dir;

/// The name of the directory that is scanned.
pub(crate) const TREE: &str = "tree";
/// Where a tool that wants a file writes its answer, in the same directory as the tree.
const ANSWER: &str = "answer";
/// No tool needs a tenth of this.
const SECONDS_MAX: &str = "600";

/// A scanner at one setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// What differs from its defaults; empty for those.
    pub(crate) setting: &'static str,
    place: Place,
    args: &'static [&'static str],
    /// Exit codes of a run that worked.
    exits: &'static [i32],
    read: fn(&str) -> Result<Vec<Finding>>,
}

/// Where a program lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The product itself.
    Ours,
    /// Below the directory `scripts/peers.sh` fills.
    Peer(&'static str),
}

pub(crate) const OURS: Tool = Tool {
    name: "holdfast",
    setting: "",
    place: Place::Ours,
    args: &["scan", "--json", TREE],
    exits: &[0, 1],
    read: read_ours,
};
pub(crate) const KINGFISHER: Tool = Tool {
    name: "kingfisher",
    setting: "",
    place: Place::Peer("python/bin/kingfisher"),
    args: &["scan", TREE, "--no-validate", "--no-update-check", "--format", "json"],
    exits: &[0, 200],
    read: read_kingfisher,
};
const DETECT_SECRETS: Tool = Tool {
    name: "detect-secrets",
    setting: "",
    place: Place::Peer("python/bin/detect-secrets"),
    args: &["scan", "--all-files", "--no-verify", TREE],
    exits: &[0],
    read: read_detect_secrets,
};
const CREDSWEEPER: Tool = Tool {
    name: "credsweeper",
    setting: "",
    place: Place::Peer("python/bin/credsweeper"),
    args: &["--path", TREE, "--no-stdout", "--save-json", ANSWER],
    exits: &[0],
    read: read_credsweeper,
};
const RIPSECRETS: Tool = Tool {
    name: "ripsecrets",
    setting: "",
    place: Place::Peer("rust/bin/ripsecrets"),
    args: &[TREE],
    exits: &[0, 1],
    read: read_ripsecrets,
};

/// Ours, and each peer at its defaults and, where it has such a thing, at the setting that served it best when all
/// that seemed promising were tried on a tree of another seed.
pub(crate) const TOOLS: &[Tool] = &[
    OURS,
    KINGFISHER,
    Tool {
        setting: "--confidence low --include-hidden-findings",
        args: &[
            "scan",
            TREE,
            "--no-validate",
            "--no-update-check",
            "--confidence",
            "low",
            "--include-hidden-findings",
            "--format",
            "json",
        ],
        ..KINGFISHER
    },
    DETECT_SECRETS,
    Tool {
        setting: "--disable-plugin HexHighEntropyString --base64-limit 4.0",
        args: &[
            "scan",
            "--all-files",
            "--no-verify",
            "--disable-plugin",
            "HexHighEntropyString",
            "--base64-limit",
            "4.0",
            TREE,
        ],
        ..DETECT_SECRETS
    },
    CREDSWEEPER,
    Tool {
        setting: "--pedantic --severity low --ml_threshold lowest",
        args: &[
            "--path",
            TREE,
            "--pedantic",
            "--severity",
            "low",
            "--ml_threshold",
            "lowest",
            "--no-stdout",
            "--save-json",
            ANSWER,
        ],
        ..CREDSWEEPER
    },
    RIPSECRETS,
];

impl Tool {
    pub(crate) fn is_ours(&self) -> bool {
        self.place == Place::Ours
    }

    /// Scans the tree within `dir`.
    pub(crate) fn scan(&self, dir: &Path, ours: Option<&Program>) -> Result<Vec<Finding>> {
        Ok(self.timed(dir, ours)?.0)
    }

    /// Scans, and says how long the process took. Reading its answer does not count.
    pub(crate) fn timed(&self, dir: &Path, ours: Option<&Program>) -> Result<(Vec<Finding>, Duration)> {
        let mut call = self.call(dir, ours, self.args)?;
        let began = Instant::now();
        let out = call.output().with_context(|| format!("running {}", self.name))?;
        let took = began.elapsed();
        let worked = out.status.code().is_some_and(|code| self.exits.contains(&code));
        ensure!(worked, "{} failed with {}: {}", self.name, out.status, last_line(&out.stderr));
        let answer = match self.args.contains(&ANSWER) {
            true => take(&dir.join(ANSWER))?,
            false => String::from_utf8_lossy(&out.stdout).into_owned(),
        };
        let findings = (self.read)(&answer).with_context(|| format!("reading what {} said", self.name))?;
        Ok((findings, took))
    }

    /// What the tool says its version is.
    pub(crate) fn version(&self, dir: &Path, ours: Option<&Program>) -> Result<String> {
        let out = self.call(dir, ours, &["--version"])?.output()?;
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        let number = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        Ok(number.unwrap_or("unknown").to_owned())
    }

    /// The tools have the run's directory for a home, so that nobody's settings are read and nothing is left behind.
    fn call(&self, dir: &Path, ours: Option<&Program>, args: &[&str]) -> Result<Command> {
        let program = match self.place {
            Place::Ours => ours.context("the program is not built")?.path().to_owned(),
            Place::Peer(path) => peers_dir()?.join(path),
        };
        ensure!(program.is_file(), "{} is not installed; `scripts/peers.sh` does it", self.name);
        let mut call = Command::new("timeout");
        call.arg(SECONDS_MAX).arg(program).args(args).current_dir(dir).env_clear().env("HOME", dir);
        call.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8").stdin(Stdio::null());
        Ok(call)
    }
}

/// Reads a file and removes it: what is there afterwards was written by the next one.
fn take(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)?;
    std::fs::remove_file(path)?;
    Ok(text)
}

fn last_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().lines().last().unwrap_or("it said nothing").to_owned()
}

fn read_ours(answer: &str) -> Result<Vec<Finding>> {
    let answer: Value = serde_json::from_str(answer)?;
    Ok(list(&answer["findings"])?.iter().filter_map(|f| finding(&f["file"], &f["line"])).collect())
}

/// The findings are the first of two documents; the second is a summary.
fn read_kingfisher(answer: &str) -> Result<Vec<Finding>> {
    let mut documents = serde_json::Deserializer::from_str(answer).into_iter::<Value>();
    let first = documents.next().context("there is no document")??;
    let findings = list(&first["findings"])?.iter().map(|f| &f["finding"]);
    Ok(findings.filter_map(|f| finding(&f["path"], &f["line"])).collect())
}

fn read_detect_secrets(answer: &str) -> Result<Vec<Finding>> {
    let answer: Value = serde_json::from_str(answer)?;
    let files = answer["results"].as_object().context("there are no results")?;
    let all = files.values().filter_map(Value::as_array).flatten();
    Ok(all.filter_map(|f| finding(&f["filename"], &f["line_number"])).collect())
}

/// A finding may name several lines; each counts.
fn read_credsweeper(answer: &str) -> Result<Vec<Finding>> {
    let answer: Value = serde_json::from_str(answer)?;
    let lines = list(&answer)?.iter().filter_map(|f| f["line_data_list"].as_array()).flatten();
    Ok(lines.filter_map(|f| finding(&f["path"], &f["line_num"])).collect())
}

/// `path:line:text`. A line of the text that is a path itself cannot come: matches are single lines.
fn read_ripsecrets(answer: &str) -> Result<Vec<Finding>> {
    let parts = answer.lines().filter_map(|line| {
        let (path, rest) = line.split_once(':')?;
        Some((path, rest.split_once(':')?.0.parse::<usize>().ok()?))
    });
    Ok(parts.filter_map(|(path, line)| Some(Finding { file: within(path)?, line })).collect())
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("there is no list of findings")
}

fn finding(path: &Value, line: &Value) -> Option<Finding> {
    Some(Finding { file: within(path.as_str()?)?, line: usize::try_from(line.as_u64()?).ok()? })
}

/// The path below the tree.
fn within(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    if let Some(rest) = path.strip_prefix(TREE).and_then(|rest| rest.strip_prefix('/')) {
        return Some(rest.to_owned());
    }
    let below = path.split_once(&format!("/{TREE}/"))?;
    Some(below.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: fn(&str) -> Result<Vec<Finding>>, answer: &str, expected: &[(&str, usize)]) {
        let findings = read(answer).unwrap();
        let found: Vec<_> = findings.iter().map(|f| (f.file.as_str(), f.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_answer_is_read_as_its_tool_writes_it() {
        check(
            read_ours,
            r#"{"findings":[{"file":"tree/a/.env","line":3,"column":9,"rule":"r","confidence":0.9,"masked":"x"},
                {"file":"/run/tree/b","line":4}]}"#,
            &[("a/.env", 3), ("b", 4)],
        );
        check(
            read_kingfisher,
            "{\"findings\":[{\"rule\":{},\"finding\":{\"path\":\"tree/a\",\"line\":9}}]}\n{\"findings\":1}\n",
            &[("a", 9)],
        );
        check(
            read_detect_secrets,
            r#"{"version":"1.5.0","results":{"tree/a":[{"filename":"tree/a","line_number":2},{"filename":"tree/a","line_number":5}]}}"#,
            &[("a", 2), ("a", 5)],
        );
        check(
            read_credsweeper,
            r#"[{"rule":"x","line_data_list":[{"path":"tree/a","line_num":1},{"path":"tree/a","line_num":2}]}]"#,
            &[("a", 1), ("a", 2)],
        );
        check(read_ripsecrets, "tree/a/b.c:12:key: 7:x\nBinary file\n", &[("a/b.c", 12)]);
    }

    #[test]
    fn an_answer_of_another_kind_is_no_empty_answer() {
        for read in [read_ours, read_kingfisher, read_detect_secrets, read_credsweeper] {
            assert!(read("{}").is_err());
            assert!(read("").is_err());
        }
    }

    #[test]
    fn no_peer_asks_the_network_and_each_has_its_defaults_first() {
        let peers = || TOOLS.iter().filter(|tool| !tool.is_ours());
        for tool in peers() {
            let offline = match tool.name {
                "kingfisher" => {
                    tool.args.contains(&"--no-validate") && tool.args.contains(&"--no-update-check")
                }
                "detect-secrets" => tool.args.contains(&"--no-verify"),
                _ => true,
            };
            assert!(offline, "{tool:?}");
            let first = peers().find(|other| other.name == tool.name).unwrap();
            assert_eq!(first.setting, "", "{tool:?}");
        }
    }
}
