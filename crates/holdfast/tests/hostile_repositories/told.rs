//! What a command came to, in a line that is the same on every machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::Reply;
use crate::corpus::kit::Kit;
use crate::home::{Home, PROGRAM, Ran};

/// How a run ended, and what it said.
pub fn ran(ran: &Ran) -> String {
    let answer = serde_json::from_str(&ran.out).unwrap_or(Value::Null);
    let mut parts = said(&answer);
    if answer.is_null() {
        let last = ran.err.lines().last().unwrap_or_default();
        let error: Value = serde_json::from_str(last).unwrap_or(Value::Null);
        parts.push(problem(&error["error"]).unwrap_or_else(|| format!("{}{}", ran.out, ran.err)));
    }
    format!("{}  {}", ran.code, parts.join("; "))
}

/// The same of an answer over HTTP.
pub fn reply(reply: &Reply) -> String {
    let parts = problem(&reply.json["error"]).map_or_else(|| said(&reply.json), |problem| vec![problem]);
    format!("{}  {}", reply.status, parts.join("; "))
}

/// Code, what happened, what was left, and what to do.
fn problem(error: &Value) -> Option<String> {
    let code = error["code"].as_str()?;
    let words = ["message", "untouched", "hint"].map(|name| error[name].as_str().unwrap_or_default());
    Some(format!("{code} {} | {} | {}", without_gits_words(words[0]), words[1], words[2]))
}

/// What git itself says differs from one git to the next.
fn without_gits_words(message: &str) -> String {
    match ["fatal: ", "error: ", "warning: "].iter().filter_map(|word| message.find(word)).min() {
        Some(at) => format!("{}[what git says]", &message[..at]),
        None => message.to_owned(),
    }
}

/// What is the point of an answer.
fn said(answer: &Value) -> Vec<String> {
    let mut parts = Vec::new();
    let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if answer["clean"].is_boolean() {
        let found: Vec<String> = list("findings").iter().map(|it| text(&it["file"])).collect();
        parts.push(format!("found {found:?}"));
        for (name, word) in [("failed", "not read"), ("skipped", "passed over")] {
            parts.extend(
                list(name).iter().map(|it| format!("{word} {:?}: {}", text(&it["file"]), text(&it["why"]))),
            );
        }
    }
    for hook in list("hooks") {
        let how = if hook["done"].is_null() { &hook["standing"] } else { &hook["done"] };
        parts.push(format!("{} {} at {}", text(&hook["hook"]), text(how), text(&hook["path"])));
    }
    for name in ["commits", "captured", "known", "blocked", "committed", "holds", "standing", "why", "end"] {
        // A moment is another one each time.
        if !(answer[name].is_null() || name == "captured" && answer[name].is_string()) {
            parts.push(format!("{name} {}", without_gits_words(&text(&answer[name]))));
        }
    }
    parts.extend(
        list("looks")
            .iter()
            .filter(|look| look[1] == false)
            .map(|look| format!("not so: {}", text(&look[0]))),
    );
    parts.extend(
        list("left_behind")
            .iter()
            .map(|it| format!("left behind {}: {}", text(&it["path"]), text(&it["what"]))),
    );
    for target in list("targets") {
        for commit in target["commits"].as_array().into_iter().flatten() {
            parts.push(format!(
                "{} in the repository: {}, signed: {}",
                text(&commit["what"]),
                !commit["commit"].is_null(),
                commit["signed"]
            ));
        }
    }
    if parts.is_empty() && answer["file"].is_string() {
        let steps = list("steps");
        parts.push(format!("{} findings, {} steps", list("findings").len(), steps.len()));
    }
    parts
}

/// What was changed in a repository by the command whose work that is.
pub fn changes(kit: &Kit, changed: &BTreeSet<PathBuf>) -> String {
    let shown = |path: &PathBuf| {
        let path = path.strip_prefix(kit.all()).unwrap_or(path);
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let objects = parts.iter().position(|part| part == "objects");
        objects.map_or_else(|| parts.join("/"), |at| format!("{}/…", parts[..=at].join("/")))
    };
    let shown: BTreeSet<String> = changed.iter().map(shown).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!("wrote {}", shown.into_iter().collect::<Vec<_>>().join(", "))
    }
}

/// Without what differs from run to run.
pub fn same(text: &str, kit: &Kit, home: &Home) -> String {
    let mut text = text.to_owned();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    for (path, name) in [(kit.all(), "[..]"), (home.path(), "[HOME]")] {
        text = text.replace(&path.display().to_string(), name).replace(&real(path), name);
    }
    let text = text.replace(PROGRAM, "[PROGRAM]");
    // Names of objects and of agents.
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let is_id = word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        out.push_str(if is_id {
            "[ID]"
        } else if word.starts_with("agt_") {
            "[AGENT]"
        } else {
            &word
        });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
