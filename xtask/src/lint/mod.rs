//! `xtask lint`: a validator for every kind of file in the tree, and a refusal for files of a kind that has none.
//!
//! [`kind`] says what a file is; [`text`] holds the rules for all text; each other module checks one kind. They are
//! pure over the text and the list of files, except [`tool`], which asks a program that knows the language.
//! `cargo fmt` and `clippy` are run by the Makefile and not here.

mod data;
mod fetching;
mod figures;
mod golden;
mod grafana;
mod kind;
mod makefile;
mod markdown;
mod nix;
mod programs;
mod prometheus;
mod promises;
mod python;
mod rust;
mod shell;
mod systemd;
mod text;
mod tool;
mod web;

use std::collections::BTreeSet;
use std::fmt;

use self::kind::Kind;
use self::tool::Tools;
use crate::Verdict;
use crate::tree::Tree;

pub(crate) fn run() -> anyhow::Result<Verdict> {
    let tree = Tree::read()?;
    let mut tools = Tools::new(&tree.root);
    let mut findings = Vec::new();
    for (path, bytes) in &tree.files {
        findings.extend(check_file(path, bytes, &tree, &mut tools)?);
    }
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    for missing in tools.missing() {
        eprintln!(
            "note: {missing} is not installed or cannot work here, so what only it can find was not looked for"
        );
    }
    println!("lint: {} files, {} findings", tree.files.len(), findings.len());
    Ok(if findings.is_empty() { Verdict::Good } else { Verdict::Findings })
}

/// One thing that is wrong, at a place. Ordered by place, so that reports are stable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A finding whose file is known to the caller: line and message.
type Found = (usize, String);

fn check_file(path: &str, bytes: &[u8], tree: &Tree, tools: &mut Tools) -> anyhow::Result<Vec<Finding>> {
    let found = match std::str::from_utf8(bytes) {
        _ if golden::is_one(path) => golden::check(bytes),
        _ if figures::is_one(path) => figures::check(path, bytes),
        Ok(text) => check_text(path, text, tree, tools)?,
        Err(error) => vec![(line_of(bytes, error.valid_up_to()), "not valid UTF-8".to_owned())],
    };
    Ok(found.into_iter().map(|(line, what)| Finding { path: path.to_owned(), line, what }).collect())
}

fn check_text(path: &str, text: &str, tree: &Tree, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let Some(kind) = kind::of(path, text) else {
        return Ok(vec![(1, format!("no validator for {}", kind::describe(path)))]);
    };
    let mut found = text::check(path, text, kind);
    match kind {
        Kind::Rust => {
            found.extend(rust::check(path, text));
            found.extend(programs::check(path, text));
        }
        Kind::Toml => found.extend(data::toml(text)),
        Kind::JsonLines => found.extend(data::json_lines(text)),
        Kind::Json => {
            found.extend(data::json(text));
            if grafana::is_dashboard(path) {
                found.extend(grafana::check(text));
            }
        }
        Kind::Yaml => {
            found.extend(data::yaml(text));
            found.extend(prometheus::check(path, text, &Files(tree)));
            found.extend(prometheus::ask(path, tools)?);
        }
        Kind::Markdown => {
            found.extend(markdown::check(path, text, &Files(tree)));
            if path == "PROMISES.md" {
                found.extend(promises::check(text, &Files(tree)));
            }
        }
        Kind::Shell => {
            found.extend(shell::check(path, tools)?);
            found.extend(fetching::check(text));
            found.extend(programs::check_script(text));
        }
        Kind::Python => found.extend(python::check(path, tools)?),
        Kind::Nix => found.extend(nix::check(path, text, tools)?),
        Kind::Module => found.extend(web::module(path, text, tools)?),
        Kind::Stylesheet => found.extend(web::stylesheet(text)),
        Kind::Picture => found.extend(web::picture(path, text, tools)?),
        Kind::Makefile => {
            found.extend(makefile::check(text));
            found.extend(fetching::check(text));
            found.extend(makefile::parses(path, tools)?);
        }
        Kind::Unit => {
            found.extend(systemd::unit(text));
            found.extend(systemd::verify(path, tools)?);
        }
        Kind::Users => found.extend(systemd::users(text)),
        Kind::Places => found.extend(systemd::places(text)),
        Kind::Snapshot | Kind::Plain => {}
    }
    Ok(found)
}

/// What the Markdown check may ask about other files.
struct Files<'a>(&'a Tree);

impl markdown::Neighbours for Files<'_> {
    fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.0.files.contains_key(path) || self.0.files.keys().any(|file| file.starts_with(&folder))
    }

    fn anchors(&self, path: &str) -> Option<BTreeSet<String>> {
        let text = std::str::from_utf8(self.0.files.get(path)?).ok()?;
        path.ends_with(".md").then(|| markdown::anchors(text))
    }
}

impl promises::Sources for Files<'_> {
    fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.0.files.get(path)?).ok()
    }
}

/// The line an offset lies on, counted from one.
fn line_of(bytes: &[u8], offset: usize) -> usize {
    bytes.iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;

    fn check(path: &str, bytes: &[u8], expected: &[&str]) {
        let tree =
            Tree { root: PathBuf::from("."), files: BTreeMap::from([(path.to_owned(), bytes.to_vec())]) };
        let findings = check_file(path, bytes, &tree, &mut Tools::new(&tree.root)).unwrap();
        let told: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(told, expected, "{path}");
    }

    #[test]
    fn each_kind_meets_its_validator() {
        check("docs/a.md", b"# A\n", &[]);
        check("docs/a.md", b"A\n", &["docs/a.md:1: the first line is not a heading"]);
        check("a.json", b"{}\n", &[]);
        check(
            "crates/a/src/b.rs",
            b"fn f() {}\n",
            &["crates/a/src/b.rs:1: the file does not open with `//!`: say what it is for"],
        );
    }

    #[test]
    fn a_kind_without_a_validator_is_a_finding() {
        check("docs/x.foo", b"x\n", &["docs/x.foo:1: no validator for .foo"]);
        check("docs/NOTES", b"x\n", &["docs/NOTES:1: no validator for a file named NOTES"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_a_finding() {
        check("docs/a.md", b"# A\n\n\xff\n", &["docs/a.md:3: not valid UTF-8"]);
    }
}
