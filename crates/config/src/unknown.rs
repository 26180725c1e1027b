//! What to write instead of a key that is not known.

use crate::nearest::{nearest, snake};
use crate::outline::{Outline, join, last, parent};

pub(crate) fn help(outline: &Outline, section: &str, name: &str) -> String {
    let whole = join(section, name);
    if name.contains('.') && outline.key(&whole).is_some() {
        return format!("write `{}` below `{}`, indented", last(&whole), parent(&whole));
    }
    let here = outline.names_in(section);
    let name = snake(name);
    if here.contains(&name.as_str()) {
        return format!("write `{name}`");
    }
    let elsewhere: Vec<&str> = places_of(outline, &name);
    if !elsewhere.is_empty() {
        return format!("`{name}` is a key of {}: write it there", listed(&elsewhere));
    }
    if let Some(word) = nearest(&name, here.iter().copied()) {
        return format!("write `{word}`");
    }
    let all = outline.keys.iter().map(|key| last(&key.path));
    if let Some(word) = nearest(&name, all) {
        return format!("did you mean `{word}` in {}?", listed(&places_of(outline, word)));
    }
    if here.is_empty() {
        return format!("the sections are {}", listed(&outline.names_in("")));
    }
    format!("known here: {}", listed(&here))
}

/// The key that a whole path was meant to name: misspelt in its section or its key, or in the wrong section.
pub(crate) fn meant<'a>(outline: &'a Outline, path: &str) -> Option<&'a str> {
    let path = snake(path);
    let sections = || outline.sections.iter().map(|section| section.path.as_str());
    let section =
        sections().find(|known| *known == parent(&path)).or_else(|| nearest(parent(&path), sections()));
    let inside = |section: &str| {
        let keys: Vec<&'a str> =
            outline.keys.iter().map(|key| key.path.as_str()).filter(|key| parent(key) == section).collect();
        let name = nearest(last(&path), keys.iter().map(|key| last(key)))?;
        keys.into_iter().find(|key| last(key) == name)
    };
    section.and_then(inside).or_else(|| {
        let mut same =
            outline.keys.iter().map(|key| key.path.as_str()).filter(|key| last(key) == last(&path));
        let only = same.next()?;
        same.next().is_none().then_some(only)
    })
}

/// The sections that have a key or a part of this name.
fn places_of<'a>(outline: &'a Outline, name: &str) -> Vec<&'a str> {
    let keys = outline.keys.iter().map(|key| key.path.as_str());
    let parts = outline.sections.iter().map(|section| section.path.as_str());
    keys.chain(parts).filter(|path| last(path) == name).map(parent).filter(|path| !path.is_empty()).collect()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
