//! `xtask requirements`: which rows of the spec are shown, amended, left for the field, later, or still owed.
//!
//! The way data takes: [`row`] reads ids, [`page`] the rows of the spec pages, [`claim`] what tests say they show,
//! [`decision`] the `Amends:` lines, [`status`] the file with what tests cannot say. [`count`] brings them together
//! into a report and a list of disagreements, and [`print`] shows it. All of that is pure; this file does the I/O.

mod claim;
mod count;
mod decision;
mod page;
mod print;
mod row;
mod status;

use anyhow::Context;

use crate::Verdict;
use crate::tree::Tree;

const SPEC: &str = "docs/spec/";
const DECISIONS: &str = "docs/decisions/";
const STATUS: &str = "docs/spec/status.toml";

pub(crate) fn run(args: &[String]) -> anyhow::Result<Verdict> {
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(why) => return Ok(Verdict::WrongUsage(why)),
    };
    let report = count::count(&load(&Tree::read()?)?)?;
    if let Some(name) = options.page.as_ref().filter(|name| !report.has_page(name)) {
        return Ok(Verdict::WrongUsage(format!("there is no page {name:?} in {SPEC}")));
    }
    show(&report, &options)?;
    Ok(if report.problems.is_empty() { Verdict::Good } else { Verdict::Findings })
}

#[derive(Debug, Default)]
struct Options {
    list: bool,
    json: bool,
    page: Option<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--list" => options.list = true,
                "--json" => options.json = true,
                "--page" => options.page = Some(args.next().ok_or("--page needs a name")?.clone()),
                other => return Err(format!("`requirements` does not take {other:?}")),
            }
        }
        Ok(options)
    }
}

/// Reads what the counting needs, and nothing else.
fn load(tree: &Tree) -> anyhow::Result<count::Input> {
    let mut status = tree.texts(|path| path == STATUS)?;
    let (_, status) = status.pop().with_context(|| format!("{STATUS} is missing"))?;
    Ok(count::Input {
        pages: tree.texts(|path| is_page_of(path, SPEC))?,
        decisions: tree.texts(|path| is_page_of(path, DECISIONS))?,
        tests: tree.texts(claim::may_hold_claims)?,
        status,
    })
}

/// The folder's own pages; its README is about them and holds no rows.
fn is_page_of(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|name| name.ends_with(".md") && !name.contains('/') && name != "README.md")
}

fn show(report: &count::Report, options: &Options) -> anyhow::Result<()> {
    if options.json {
        println!("{}", print::json(report, options.page.as_deref())?);
        return Ok(());
    }
    print!("{}", print::table(report, options.page.as_deref()));
    if options.list || options.page.is_some() {
        print!("{}", print::list(report, options.page.as_deref()));
    }
    eprint!("{}", print::problems(report));
    Ok(())
}
