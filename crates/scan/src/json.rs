//! A report as JSON. The fields stay as they are; `docs/scanning.md` lists them.

use serde_json::{Map, Value, json};

use crate::found::{Found, Report};

/// The report as one value.
pub fn json(report: &Report) -> Value {
    let skipped = report.skipped.iter().map(|s| json!({"file": s.file, "why": s.why.to_string()}));
    let failed = report.failed.iter().map(|f| json!({"file": f.file, "why": f.why}));
    json!({
        "clean": report.is_clean(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "allowed": report.allowed,
        "excepted": report.excepted,
        "known": report.known,
        "skipped": skipped.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "files": report.files,
        "bytes": report.bytes,
    })
}

/// `type` and `snippet` say what `rule` and `masked` say, under the names that commit checks use.
fn finding(found: &Found) -> Value {
    let mut value = json!({
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "rule": found.rule,
        "type": found.rule,
        "what": found.what,
        "confidence": found.confidence.as_fraction(),
        "masked": found.masked,
        "snippet": found.masked,
        "reason": found.reason,
        "fingerprint": found.fingerprint,
    });
    let mut more = Map::new();
    more.extend(found.commit.as_ref().map(|commit| ("commit".to_owned(), json!(commit))));
    more.extend(found.note.as_ref().map(|note| ("note".to_owned(), json!(note.to_string()))));
    if let Some(fields) = value.as_object_mut() {
        fields.extend(more);
    }
    value
}
