//! A configuration that was read: its values, where each comes from, and what differs from another one.

use std::collections::BTreeMap;
use std::fmt;

use crate::layers::Layer;
use crate::outline::{last, outline, parent};
use crate::read::VERSION;
use crate::section::{Section, Shown, Takes};
use crate::sections::Config;

/// A configuration without mistakes, and where each of its values comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub config: Config,
    provenance: BTreeMap<String, Layer>,
}

/// One key, as `config show` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub path: String,
    /// As it would be written in the file; of a command only its program, with the number of its arguments.
    pub value: String,
    pub layer: Layer,
    pub live: bool,
    pub doc: &'static str,
}

/// One key that differs. Its values are told as in a [`Row`], so two that differ may read the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub before: String,
    pub after: String,
    pub exact: Exact,
    /// Whether it takes effect when the configuration is read again; otherwise at the next start.
    pub live: bool,
}

/// A change to the letter, as a flag would say it. It is not for showing, and its debug form does not.
#[derive(Clone, PartialEq, Eq)]
pub struct Exact(String);

impl Exact {
    /// `key=value`.
    pub fn as_flag(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exact(…)")
    }
}

impl Loaded {
    pub(crate) fn new(config: Config, provenance: BTreeMap<String, Layer>) -> Loaded {
        Loaded { config, provenance }
    }

    /// Where the value of a key comes from; nothing for a key there is not.
    pub fn layer(&self, path: &str) -> Option<&Layer> {
        self.provenance.get(path)
    }

    /// Every key, in the order of definition.
    pub fn rows(&self) -> Vec<Row> {
        let keys = &outline().keys;
        let shown = shown(&self.config).into_iter().zip(keys);
        let row = |(Shown { path, told, .. }, key): (Shown, &'static crate::outline::Descriptor)| {
            let layer = self.provenance.get(&path).cloned().unwrap_or(Layer::Default);
            Row { path, value: told, layer, live: key.takes == Takes::Live, doc: &key.doc }
        };
        shown.map(row).collect()
    }

    /// The whole configuration as a file that would give the same. Equal configurations give equal texts, so
    /// it can be compared and digested. It is not for showing: the arguments of commands are in it, and people
    /// write tokens there. [`Loaded::rows`] is.
    pub fn effective_text(&self) -> String {
        let mut out = format!("version: {VERSION}\n");
        let mut section = "";
        let rows = shown(&self.config);
        for Shown { path, exact, .. } in &rows {
            let parent = parent(path);
            if parent != section {
                heading(&mut out, section, parent);
                section = parent;
            }
            let indent = "  ".repeat(parent.split('.').count());
            out.push_str(&format!("{indent}{}: {exact}\n", last(path)));
        }
        out
    }
}

/// What differs between two configurations, in the order of definition.
pub fn changes(old: &Config, new: &Config) -> Vec<Change> {
    let live = |path: &str| outline().key(path).is_some_and(|key| key.takes == Takes::Live);
    let both = shown(old).into_iter().zip(shown(new));
    both.filter(|(before, after)| before.exact != after.exact)
        .map(|(before, after)| Change {
            live: live(&before.path),
            exact: Exact(format!("{}={}", after.path, after.exact)),
            path: before.path,
            before: before.told,
            after: after.told,
        })
        .collect()
}

fn shown(config: &Config) -> Vec<Shown> {
    let mut rows = Vec::new();
    config.show("", &mut rows);
    rows
}

/// Opens the sections that lead to `to` and were not open in `from`.
pub(crate) fn heading(out: &mut String, from: &str, to: &str) {
    let open: Vec<&str> = from.split('.').collect();
    let parts: Vec<&str> = to.split('.').collect();
    let shared = open.iter().zip(&parts).take_while(|(a, b)| a == b).count();
    for (depth, part) in parts.iter().enumerate().skip(shared) {
        out.push_str(&format!("{}{part}:\n", "  ".repeat(depth)));
    }
}
