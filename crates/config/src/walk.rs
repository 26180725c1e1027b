//! Walks a file section by section: known keys become settings, unknown ones are refused with what was meant.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Sink};
use crate::layers::Layer;
use crate::outline::{Outline, join};
use crate::quote::{is_key_like, quoted};
use crate::reader::Setting;
use crate::source::{Reveal, Source};
use crate::tree::{Entry, Kind, Node};
use crate::unknown;

/// A whole file, walked section by section.
pub(crate) struct FileWalk<'w, 'a> {
    pub(crate) outline: &'w Outline,
    pub(crate) source: &'a Source,
    pub(crate) settings: &'w mut BTreeMap<String, Vec<Setting<'a>>>,
    pub(crate) found: &'w mut Sink,
}

impl FileWalk<'_, '_> {
    pub(crate) fn section(&mut self, section: &str, entries: Vec<Entry>) {
        for entry in entries {
            let path = join(section, &entry.key);
            if path == "version" {
                continue;
            }
            // `log.level` written as one key would look like the path it is not.
            if entry.key.contains('.') {
                self.unknown(section, &entry);
            } else if self.outline.is_section(&path) {
                self.part(&path, entry);
            } else if self.outline.key(&path).is_some() {
                let place = entry.place();
                let layer = Layer::File { line: place.line, column: place.column };
                let setting = Setting { node: entry.value, place, source: self.source, layer };
                self.settings.entry(path).or_default().push(setting);
            } else {
                self.unknown(section, &entry);
            }
        }
    }

    fn part(&mut self, path: &str, entry: Entry) {
        let place = entry.place();
        match entry.value.kind {
            Kind::Map(entries) => self.section(path, entries),
            Kind::Scalar(scalar) if scalar.is_empty() => {}
            Kind::Refused => {}
            Kind::Scalar(_) | Kind::List(_) => self.found.push(|| {
                let names = self.outline.names_in(path);
                if let Some(name) = glued(&names, &entry.value) {
                    let message =
                        format!("the `:` after `{name}` has no space behind it, so it is part of a text");
                    return self
                        .source
                        .diagnostic(entry.value.place, Reveal::KnownWords, Code::WrongType, message)
                        .help("write a space after the `:`");
                }
                let names = names.join("`, `");
                let message =
                    format!("`{path}` is a section with keys, and this is {}", entry.value.found_unsaid());
                self.source
                    .diagnostic(place, Reveal::KnownWords, Code::WrongType, message)
                    .help(format!("its keys go below it, indented: `{names}`"))
            }),
        }
    }

    fn unknown(&mut self, section: &str, entry: &Entry) {
        let name = &entry.key;
        self.found.push(|| {
            let within = if section.is_empty() { String::new() } else { format!(" in `{section}`") };
            let (message, reveal) = match is_key_like(name) {
                true => (format!("unknown key {}{within}", quoted(name)), Reveal::Place),
                false => (format!("unknown key{within}"), Reveal::KnownWords),
            };
            self.source.diagnostic(entry.key_place, reveal, Code::UnknownKey, message).help(unknown::help(
                self.outline,
                section,
                name,
            ))
        });
    }
}

/// The key whose value is written right behind its colon, as in `level:info`.
fn glued<'n>(names: &[&'n str], value: &Node) -> Option<&'n str> {
    let Kind::Scalar(scalar) = &value.kind else { return None };
    let (before, _) = scalar.text().split_once(':')?;
    names.iter().copied().find(|name| *name == before)
}
