//! What is made from the keys for others to read: the JSON Schema, the reference page, the example file.

use serde_json::{Map, Value, json};

use crate::loaded::heading;
use crate::outline::{Descriptor, Outline, last, outline, parent};
use crate::read::VERSION;
use crate::section::Takes;

/// JSON Schema (draft 2020-12) of config.yaml, for editors. What depends on two keys at once is not in it.
pub fn schema() -> Value {
    let outline = outline();
    let mut root = section_schema(outline, "", "Holdfast's own settings: config.yaml");
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("config.yaml");
    root["required"] = json!(["version"]);
    root["properties"]["version"] =
        json!({ "const": VERSION, "description": "The form of this file. Always needed." });
    root
}

fn section_schema(outline: &Outline, path: &str, doc: &str) -> Value {
    let mut properties = Map::new();
    for key in outline.keys.iter().filter(|key| parent(&key.path) == path) {
        properties.insert(last(&key.path).to_owned(), key_schema(key));
    }
    for part in outline.sections.iter().filter(|part| parent(&part.path) == path) {
        let mut schema = section_schema(outline, &part.path, &part.doc);
        // A section whose keys are all commented out is empty.
        schema["type"] = json!(["object", "null"]);
        properties.insert(last(&part.path).to_owned(), schema);
    }
    json!({ "type": "object", "description": doc, "properties": properties, "additionalProperties": false })
}

fn key_schema(key: &Descriptor) -> Value {
    let mut schema = key.schema.clone();
    schema["description"] = json!(format!("{} A change takes effect {}.", key.doc, when(key.takes)));
    schema
}

/// The manual page of config.yaml, in Markdown.
pub fn reference() -> String {
    let outline = outline();
    let mut out = String::from(INTRODUCTION);
    for section in &outline.sections {
        out.push_str(&format!("\n## {}\n\n{}\n\n", section.path, section.doc));
        out.push_str("| key | type | default | takes effect | what it is |\n|---|---|---|---|---|\n");
        for key in outline.keys.iter().filter(|key| parent(&key.path) == section.path) {
            let Descriptor { path, kind, default, doc, takes, .. } = key;
            let cells = [
                format!("`{}`", last(path)),
                kind.clone(),
                format!("`{default}`"),
                when(*takes).into(),
                doc.clone(),
            ];
            out.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        }
    }
    out
}

const INTRODUCTION: &str = "\
# config.yaml

The control plane's own settings. Every key has a default, so the file holds only what differs; without a file, the
defaults hold. A file with anything in it says `version: 1`. Unknown keys are refused.

A value comes from the first of these that sets it: a flag (`--set section.key=value`), the environment
(`HOLDFAST_SECTION__KEY`), the file, the default. `holdfast config show` prints each value and where it comes from.

Secrets are never in the file. A key that needs one takes its name: `{ secret: name }`.

The file and its folder belong to root or to the user the program runs as, and nobody else can write them;
otherwise the file is refused.
";

/// A file with every key at its default, as comments: what a person begins with.
pub fn example() -> String {
    let outline = outline();
    let mut out = format!("{EXAMPLE_HEAD}version: {VERSION}\n");
    let mut section = "";
    for key in &outline.keys {
        let inside = parent(&key.path);
        if inside != section {
            out.push('\n');
            let doc =
                outline.sections.iter().find(|found| found.path == inside).map_or("", |found| &found.doc);
            let depth = inside.split('.').count() - 1;
            comment(&mut out, depth, doc);
            let mut open = String::new();
            heading(&mut open, section, inside);
            out.push_str(&open.lines().map(|line| format!("#{line}\n")).collect::<String>());
            section = inside;
        }
        let depth = inside.split('.').count();
        comment(
            &mut out,
            depth,
            &format!("{} Takes {}; a change takes effect {}.", key.doc, key.kind, when(key.takes)),
        );
        out.push_str(&format!("#{}{}: {}\n", "  ".repeat(depth), last(&key.path), key.default));
    }
    out
}

const EXAMPLE_HEAD: &str = "\
## The control plane's own settings. Every value below is the default. To change one, take the single `#` away
## from its line and from the line of its section.
";

/// Text as comment lines that stay readable on a small screen.
fn comment(out: &mut String, depth: usize, text: &str) {
    let indent = "  ".repeat(depth);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + word.chars().count() > 95 {
            out.push_str(&format!("## {indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&format!("## {indent}{line}\n"));
}

fn when(takes: Takes) -> &'static str {
    match takes {
        Takes::Live => "live",
        Takes::Restart => "at a restart",
    }
}
