//! A report as SARIF 2.1.0, which code hosts show beside the code.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::found::{Failed, Found, Report};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The report as a SARIF log of one run.
pub fn sarif(report: &Report, version: &str) -> Value {
    let rules = rules(&report.findings);
    let number = |rule: &str| rules.keys().position(|id| *id == rule).unwrap_or(0);
    let results: Vec<Value> =
        report.findings.iter().map(|found| result(found, number(&found.rule))).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "holdfast",
                "semanticVersion": version,
                "rules": rules.values().map(|found| rule(found)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository"}}},
            "invocations": [{
                "executionSuccessful": report.failed.is_empty(),
                "toolExecutionNotifications": report.failed.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    })
}

/// Each rule that found something, in order of its id.
fn rules(findings: &[Found]) -> BTreeMap<&str, &Found> {
    findings.iter().map(|found| (found.rule.as_str(), found)).collect()
}

fn rule(found: &Found) -> Value {
    json!({
        "id": found.rule,
        "name": found.rule,
        "shortDescription": {"text": found.what},
        "fullDescription": {"text": format!("{} in content that others can read", found.what)},
        "help": {"text": "Withdraw the secret at its issuer first: what was committed is known. Then take it out of the \
                          file and of the history. If it is no secret, list its fingerprint in .holdfast/scan.toml."},
        "defaultConfiguration": {"level": "error"},
    })
}

fn result(found: &Found, rule: usize) -> Value {
    let level = match found.confidence.as_percent() {
        80.. => "error",
        60.. => "warning",
        _ => "note",
    };
    let mut text = format!("{}: {} ({})", found.what, found.masked, found.reason);
    text.extend(found.note.iter().map(|note| format!("; {note}")));
    json!({
        "ruleId": found.rule,
        "ruleIndex": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&found.place), "uriBaseId": "SRCROOT"},
            "region": {
                "startLine": found.line,
                "startColumn": found.column,
                "endLine": found.end_line,
                "endColumn": found.end_column,
            },
        }}],
        "partialFingerprints": {"holdfastFingerprint/v1": found.fingerprint},
        "properties": {"confidence": found.confidence.as_fraction(), "commit": found.commit},
    })
}

fn notification(failed: &Failed) -> Value {
    json!({
        "level": "error",
        "message": {"text": format!("could not be read: {}", failed.why)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(&failed.file)}}}],
    })
}

/// A path as a relative reference: everything that could be read as something else is escaped.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'!' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped() {
        assert_eq!(uri("a b/ü#?.zip!/x\n"), "a%20b/%C3%BC%23%3F.zip!/x%0A");
    }
}
