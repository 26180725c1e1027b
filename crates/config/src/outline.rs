//! What keys there are: everything that can be said of the configuration without reading one.
//!
//! Made once from the sections themselves, so that schema, reference page, example, suggestions and the
//! tests that change every key cannot forget one.

use std::sync::LazyLock;

use crate::section::{Section, Takes};
use crate::sections::Config;
use crate::source::Vocabulary;
use crate::value::{Shape, Value};

/// One key.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// `notifications.webhook.url`
    pub path: String,
    /// The type, in words.
    pub kind: String,
    /// As it would be written.
    pub default: String,
    pub doc: String,
    pub takes: Takes,
    /// A secret may have been written here by mistake, so nothing of a wrong value is repeated.
    pub secret: bool,
    pub schema: serde_json::Value,
    /// Some values it takes, as they would be written.
    pub examples: Vec<String>,
}

/// One section, in the order they are defined.
#[derive(Clone, Debug)]
pub struct SectionDescriptor {
    pub path: String,
    pub doc: String,
}

#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub keys: Vec<Descriptor>,
    /// Each after the section it is part of.
    pub sections: Vec<SectionDescriptor>,
    /// Words that may be shown wherever they stand.
    pub(crate) vocabulary: Vocabulary,
}

/// The keys of config.yaml.
pub fn outline() -> &'static Outline {
    static OUTLINE: LazyLock<Outline> = LazyLock::new(|| {
        let mut outline = Outline::default();
        Config::outline("", &mut outline);
        let fixed = ["version", "true", "false", "null", "secret"].map(str::to_owned);
        let sections = outline.sections.iter().map(|section| &section.path);
        let paths = outline.keys.iter().map(|key| &key.path).chain(sections);
        let parts: Vocabulary = paths.flat_map(|path| path.split('.')).map(str::to_owned).collect();
        outline.vocabulary.extend(parts.into_iter().chain(fixed));
        outline
    });
    &OUTLINE
}

impl Outline {
    pub fn key(&self, path: &str) -> Option<&Descriptor> {
        self.keys.iter().find(|key| key.path == path)
    }

    pub fn is_section(&self, path: &str) -> bool {
        self.sections.iter().any(|section| section.path == path)
    }

    /// The names that can stand directly in a section: its keys and its parts.
    pub fn names_in(&self, section: &str) -> Vec<&str> {
        let paths = self.keys.iter().map(|key| &key.path).chain(self.sections.iter().map(|part| &part.path));
        paths.filter(|path| parent(path) == section).map(|path| last(path)).collect()
    }

    pub(crate) fn add_key<T: Value>(
        &mut self,
        path: String,
        doc: &[&str],
        takes: Takes,
        rule: &T::Rule,
        default: &T,
    ) {
        let Shape { words, schema, examples, secret, words_known } = T::shape(rule);
        self.vocabulary.extend(words_known);
        let default = default.shown();
        self.keys.push(Descriptor {
            path,
            kind: words,
            default,
            doc: prose(doc),
            takes,
            secret,
            schema,
            examples,
        });
    }

    pub(crate) fn add_section<S: Section>(&mut self, path: String) {
        self.sections.push(SectionDescriptor { doc: prose(S::ABOUT), path: path.clone() });
        S::outline(&path, self);
    }
}

/// The lines of a doc comment as one paragraph.
fn prose(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

pub(crate) fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}
