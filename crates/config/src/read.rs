//! All layers in, one configuration out, or everything that is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use crate::combinations;
use crate::diagnostic::{Code, Diagnostics, Sink};
use crate::error::Error;
use crate::layers::{Layers, from_environment, from_sets, lay_over};
use crate::loaded::Loaded;
use crate::outline::outline;
use crate::reader::{Reader, Setting};
use crate::scalar::Meaning;
use crate::section::Section;
use crate::sections::Config;
use crate::source::{Place, Reveal, Source, SourceKind};
use crate::tree::{self, Entry, Kind, Node};
use crate::walk::FileWalk;

/// The form of the file this program reads. There is no older one yet.
pub const VERSION: u32 = 1;

impl Config {
    /// Reads all layers. Opens nothing; see [`crate::load`] for that.
    pub fn read(layers: Layers<'_>) -> Result<Loaded, Error> {
        let outline = outline();
        let mut found: Vec<Sink> = Vec::new();
        let mut settings = BTreeMap::new();

        let file = layers.file.and_then(|(path, bytes)| source_of(path, bytes, &mut found));
        if let Some(source) = &file {
            read_file(source, &mut settings, &mut found)?;
        }
        let mut named = Sink::default();
        let environment = from_environment(outline, layers.environment, &mut named);
        let sets = from_sets(outline, layers.sets, layers.environment.len(), &mut named);
        found.push(named);
        lay_over(&mut settings, &environment, &mut found);
        lay_over(&mut settings, &sets, &mut found);

        let mut reader = Reader::new(outline, settings);
        let config = <Config as Section>::read("", &mut reader);
        combinations::check(&config, &mut reader);
        let (provenance, read) = reader.finish();
        found.push(read);
        match found.iter().all(Sink::is_empty) {
            true => Ok(Loaded::new(config, provenance)),
            false => Err(Error::Wrong(Diagnostics::new(found))),
        }
    }
}

fn source_of(path: &Path, bytes: &[u8], found: &mut Vec<Sink>) -> Option<Source> {
    let name = path.display().to_string();
    match Source::read(&name, SourceKind::File, 0, bytes, &outline().vocabulary) {
        Ok(source) => Some(source),
        Err(wrong) => {
            let mut sink = Sink::default();
            sink.keep(*wrong);
            found.push(sink);
            None
        }
    }
}

fn read_file<'a>(
    source: &'a Source,
    settings: &mut BTreeMap<String, Vec<Setting<'a>>>,
    found: &mut Vec<Sink>,
) -> Result<(), Error> {
    let parsed = tree::parse(source);
    let mut walked = Sink::default();
    if let Some(root) = parsed.root.filter(|root| !is_nothing(root)) {
        let entries = top(source, root, &mut walked)?;
        FileWalk { outline: outline(), source, settings, found: &mut walked }.section("", entries);
    }
    found.extend([parsed.found, walked]);
    Ok(())
}

/// The keys at the top, after the version was found to be ours. A newer file may have keys we do not know, so its
/// version is all that is said about it.
fn top(source: &Source, root: Node, found: &mut Sink) -> Result<Vec<Entry>, Error> {
    let place = root.place;
    let Kind::Map(entries) = root.kind else {
        if !matches!(root.kind, Kind::Refused) {
            let message = format!("the file is {}, and sections are expected", root.found_unsaid());
            let wrong = source.diagnostic(place, Reveal::KnownWords, Code::WrongType, message);
            found.push(|| wrong.help("begin with `version: 1`"));
        }
        return Ok(Vec::new());
    };
    match entries.iter().find(|entry| entry.key == "version") {
        Some(entry) => {
            if let Some(newer) = newer(entry) {
                let place = entry.place();
                return Err(Error::Newer { file: source.name.clone(), line: place.line, found: newer });
            }
            check_version(source, entry, found);
        }
        None => found.push(|| {
            let message = "`version` is missing";
            source
                .diagnostic(Place::START, Reveal::KnownWords, Code::Version, message)
                .help(format!("write `version: {VERSION}` as the first line"))
        }),
    }
    Ok(entries)
}

fn newer(entry: &Entry) -> Option<i64> {
    let Kind::Scalar(scalar) = &entry.value.kind else { return None };
    match scalar.meaning() {
        Meaning::Whole(found) if found > i64::from(VERSION) => Some(found),
        _ => None,
    }
}

fn check_version(source: &Source, entry: &Entry, found: &mut Sink) {
    let right = match &entry.value.kind {
        Kind::Scalar(scalar) => scalar.meaning() == Meaning::Whole(i64::from(VERSION)),
        Kind::Refused => true,
        Kind::Map(_) | Kind::List(_) => false,
    };
    if !right {
        found.push(|| {
            let message = format!("`version` is the number {VERSION}, and this is {}", entry.value.found());
            source
                .diagnostic(entry.place(), Reveal::Place, Code::Version, message)
                .help(format!("write `version: {VERSION}`"))
        });
    }
}

/// `---` and nothing behind it.
fn is_nothing(root: &Node) -> bool {
    matches!(&root.kind, Kind::Scalar(scalar) if scalar.is_empty())
}
