//! Markdown pages: they open with a heading, close their code fences, and every link leads somewhere.
//!
//! Links to the web are not followed: a check must not depend on someone else's server.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;

/// What a page may ask about the other files of the tree.
pub(super) trait Neighbours {
    /// Whether there is a file or a folder of this path.
    fn exists(&self, path: &str) -> bool;
    /// The anchors of a Markdown file; `None` for any other file.
    fn anchors(&self, path: &str) -> Option<BTreeSet<String>>;
}

pub(super) fn check(path: &str, text: &str, neighbours: &impl Neighbours) -> Vec<Found> {
    let mut found = Vec::new();
    if !text.lines().next().is_some_and(|line| line.starts_with("# ")) {
        found.push((1, "the first line is not a heading".to_owned()));
    }
    let tabs = text.lines().enumerate().filter(|(_, line)| line.contains('\t'));
    found.extend(tabs.map(|(index, _)| (index + 1, "a tab; indent with spaces".to_owned())));
    found
        .extend(open_fence(text).map(|line| (line, "the code fence opened here is never closed".to_owned())));
    for (line, target) in links(text) {
        found.extend(broken(path, text, &target, neighbours).map(|why| (line, why)));
    }
    found
}

/// The anchors GitHub gives the headings of a page.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter_map(|(_, line)| heading(line));
    headings
        .map(|heading| {
            let slug = slug(heading);
            let times = seen.entry(slug.clone()).and_modify(|n| *n += 1).or_insert(0);
            if *times == 0 { slug } else { format!("{slug}-{times}") }
        })
        .collect()
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level).then(|| rest.strip_prefix(' ')).flatten().map(str::trim)
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Why a link leads nowhere, if it does.
fn broken(path: &str, text: &str, target: &str, neighbours: &impl Neighbours) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let (full, known) = if file.is_empty() {
        (path.to_owned(), Some(anchors(text)))
    } else {
        let Some(full) = join(path, file) else {
            return Some(format!("the link {target} leads out of the tree; use a relative one"));
        };
        if !neighbours.exists(&full) {
            return Some(format!("the link {target} leads to {full}, which does not exist"));
        }
        let known = neighbours.anchors(&full);
        (full, known)
    };
    let missing = known?.is_disjoint(&BTreeSet::from([anchor?.to_owned()]));
    missing.then(|| format!("the link {target} names a heading that {full} does not have"))
}

/// The path a relative link leads to; `None` when it is absolute or climbs out of the tree.
fn join(from: &str, link: &str) -> Option<String> {
    if link.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of links, images and reference definitions, each with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        found.extend(inline_targets(&line).map(|target| (number, target)));
        found.extend(definition(&line).map(|target| (number, target)));
    }
    found
}

/// `](target)` or `](target "title")`. A target holds no closing bracket in this project.
fn inline_targets(line: &str) -> impl Iterator<Item = String> {
    line.split("](").skip(1).filter_map(|rest| target(rest.split_once(')')?.0))
}

/// `[name]: target`
fn definition(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    target(rest)
}

fn target(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    Some(word.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// The line without what stands between backticks.
fn without_code(line: &str) -> String {
    if !line.matches('`').count().is_multiple_of(2) {
        return line.to_owned();
    }
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The lines outside code fences, numbered from one.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let before = fence;
        fence = after(fence, line);
        (before.is_none() && fence.is_none()).then_some((index + 1, line))
    })
}

/// The line of a fence that is still open at the end.
fn open_fence(text: &str) -> Option<usize> {
    let mut open: Option<(usize, &str)> = None;
    for (index, line) in text.lines().enumerate() {
        let now = after(open.map(|(_, fence)| fence), line);
        open = now.map(|fence| (open.map_or(index + 1, |(first, _)| first), fence));
    }
    open.map(|(line, _)| line)
}

/// The fence that is open after this line. One is closed by a bare run of the same mark, at least as long.
fn after<'a>(open: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| ['`', '~'].contains(c));
    let run = mark.map_or("", |mark| &line[..line.len() - line.trim_start_matches(mark).len()]);
    match open {
        None => (run.len() >= 3).then_some(run),
        Some(fence) => (!(line == run && run.starts_with(fence))).then_some(fence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages and a picture.
    struct Sample;

    impl Neighbours for Sample {
        fn exists(&self, path: &str) -> bool {
            ["docs/a.md", "docs/b.md", "docs/c.png", "docs"].contains(&path)
        }

        fn anchors(&self, path: &str) -> Option<BTreeSet<String>> {
            (path == "docs/b.md").then(|| anchors("# B\n\n## The `way` back\n\n## More\n\n## More\n"))
        }
    }

    fn check_page(body: &str, expected: &[(usize, &str)]) {
        let text = format!("# A\n{body}");
        let found = check("docs/a.md", &text, &Sample);
        let told: Vec<_> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        check_page(
            "[b](b.md) ![c](c.png) [up](../docs/b.md) [x](https://example.org/x) [d](../docs/)\n",
            &[],
        );
        check_page("[b](b.md#the-way-back) [m](b.md#more-1) [a](#a) [t](b.md \"title\")\n", &[]);
        check_page("[b][ref]\n\n[ref]: b.md\n", &[]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        check_page("[x](x.md)\n", &[(2, "the link x.md leads to docs/x.md, which does not exist")]);
        check_page("![x](../x.png)\n", &[(2, "the link ../x.png leads to x.png, which does not exist")]);
        check_page(
            "[b](b.md#less)\n",
            &[(2, "the link b.md#less names a heading that docs/b.md does not have")],
        );
        check_page("[a](#b)\n", &[(2, "the link #b names a heading that docs/a.md does not have")]);
        check_page("[r]: gone.md\n", &[(2, "the link gone.md leads to docs/gone.md, which does not exist")]);
        check_page("[e](/etc)\n", &[(2, "the link /etc leads out of the tree; use a relative one")]);
        check_page("[e](../../x)\n", &[(2, "the link ../../x leads out of the tree; use a relative one")]);
    }

    #[test]
    fn code_is_not_prose() {
        check_page("`[x](x.md)`\n\n```\n[x](x.md)\n# not a heading\n```\n", &[]);
        check_page("~~~~\n[x](x.md)\n~~~\n~~~~\n", &[]);
    }

    #[test]
    fn fences_are_closed_and_tabs_absent() {
        check_page("\n```sh\nls\n", &[(3, "the code fence opened here is never closed")]);
        check_page("\tx\n", &[(2, "a tab; indent with spaces")]);
    }

    #[test]
    fn a_page_opens_with_a_heading() {
        let told = |text: &str| check("docs/a.md", text, &Sample).len();
        assert_eq!((told("# A\n"), told("A\n"), told(""), told("\n# A\n")), (0, 1, 1, 1));
    }
}
