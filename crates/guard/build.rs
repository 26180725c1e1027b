//! Turns the rule files into constants, so that a process has them without reading anything.
//!
//! What is refused here (an unknown field, a missing example) stops the build; what a rule means is checked by `rule.rs`.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    what: String,
    shape: String,
    #[serde(default)]
    near: Vec<String>,
    replace: Option<String>,
    confidence: Option<u8>,
    #[serde(default)]
    block: bool,
    found: Vec<String>,
    kept: Vec<String>,
}

fn main() {
    println!("cargo::rerun-if-changed=rules");
    if let Err(wrong) = write_constants() {
        println!("cargo::error={wrong}");
    }
}

fn write_constants() -> Result<(), String> {
    let mut files: Vec<_> =
        std::fs::read_dir("rules").map_err(|e| e.to_string())?.filter_map(|f| Some(f.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut out = String::from("&[\n");
    for path in &files {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let rules: Rules = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        for r in rules.rule {
            let Rule { id, what, shape, near, replace, confidence, block, found, kept } = r;
            writeln!(
                out,
                "Written {{ id: {id:?}, what: {what:?}, shape: {shape:?}, near: &{near:?}, replace: {replace:?}, confidence: {confidence:?}, block: {block}, found: &{found:?}, kept: &{kept:?} }},"
            )
            .map_err(|e| e.to_string())?;
        }
    }
    out.push(']');
    let to = std::env::var("OUT_DIR").map_err(|e| e.to_string())?;
    std::fs::write(Path::new(&to).join("rules.rs"), out).map_err(|e| e.to_string())
}
