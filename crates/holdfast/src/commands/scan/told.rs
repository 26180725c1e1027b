//! What a scan says, as people read it. Pure.

use std::time::Duration;

use holdfast_scan::{Explained, Found, Report};

use crate::look::{Shape, Style, bytes, count, padded, printable};

/// The whole report: findings by file, what could not be read, and one line that stands alone.
pub(super) fn report(report: &Report, took: Duration, verbose: bool, style: Style) -> String {
    let mut out = String::new();
    for of_file in report.findings.chunk_by(|a, b| a.file == b.file) {
        out.push_str(&file(of_file, verbose, style));
    }
    out.push_str(&failures(report, style));
    if verbose {
        for skipped in &report.skipped {
            let (file, why) = (printable(&skipped.file), printable(&skipped.why.to_string()));
            out.push_str(&format!("{} {file}  {}\n", style.shape(Shape::Unknown), style.faint(&why)));
        }
    }
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&summary(report, took, style));
    out
}

/// The findings of one file, their columns aligned.
fn file(findings: &[Found], verbose: bool, style: Style) -> String {
    let place = |found: &Found| format!("{}:{}", found.line, found.column);
    let widest =
        |text: &dyn Fn(&Found) -> String| findings.iter().map(|f| text(f).chars().count()).max().unwrap_or(0);
    let (places, rules) = (widest(&place), widest(&|f| f.rule.clone()));
    let mut out = String::new();
    for found in findings.iter().take(1) {
        out.push_str(&format!("{}\n", printable(&found.file)));
    }
    for found in findings {
        let commit =
            found.commit.as_ref().map(|id| format!("  in {}", &id[..id.len().min(12)])).unwrap_or_default();
        out.push_str(&format!(
            "  {}  {}  {}  {}  {} %{}\n",
            padded(&place(found), places),
            padded(&found.rule, rules),
            found.what,
            printable(&found.masked),
            found.confidence.as_percent(),
            style.faint(&commit),
        ));
        let gap = " ".repeat(places + 4);
        let mut beside = vec![found.reason.clone()];
        beside.extend(found.note.as_ref().map(|note| format!("note: {note}")));
        beside.extend(verbose.then(|| format!("fingerprint {}", found.fingerprint)));
        out.extend(beside.iter().map(|line| format!("{gap}{}\n", style.faint(&printable(line)))));
    }
    out.push('\n');
    out
}

/// What could not be read.
pub(super) fn failures(report: &Report, style: Style) -> String {
    let line = |f: &holdfast_scan::Failed| {
        format!(
            "{} {}  could not be read: {}\n",
            style.shape(Shape::Failed),
            printable(&f.file),
            printable(&f.why)
        )
    };
    report.failed.iter().map(line).collect()
}

fn summary(report: &Report, took: Duration, style: Style) -> String {
    let found = report.findings.len() as u64;
    let failed = report.failed.len() as u64;
    let mut files: Vec<&str> = report.findings.iter().map(|f| f.file.as_str()).collect();
    files.dedup();
    let (shape, verdict) = match (found, failed) {
        (0, 0) => (Shape::Settled, "nothing found".to_owned()),
        (0, _) => {
            (Shape::Unknown, format!("no verdict: {} could not be read", count(failed, "file", "files")))
        }
        _ => {
            let (found, files) =
                (count(found, "finding", "findings"), count(files.len() as u64, "file", "files"));
            (Shape::NeedsYou, format!("{found} in {files}"))
        }
    };
    let passed = [(report.allowed, "allowed"), (report.excepted, "excepted"), (report.known, "known")];
    let passed = passed.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("; {n} {word}"));
    let skipped = report.skipped.len();
    let skipped = if skipped > 0 { format!("; {skipped} left out") } else { String::new() };
    format!(
        "{} {verdict}; looked at {}, {} in {:.1} s{}{skipped}\n",
        style.shape(shape),
        count(report.files, "file", "files"),
        bytes(report.bytes),
        took.as_secs_f64(),
        passed.collect::<String>(),
    )
}

/// `file:line - type`, a line a finding.
pub(super) fn lines(report: &Report) -> String {
    let finding = |f: &Found| format!("{}:{} - {}\n", printable(&f.file), f.line, f.rule);
    let failed = |f: &holdfast_scan::Failed| {
        format!("{} - could not be read: {}\n", printable(&f.file), printable(&f.why))
    };
    report.findings.iter().map(finding).chain(report.failed.iter().map(failed)).collect()
}

/// What the engine thought of a line.
pub(super) fn explained(explained: &Explained, style: Style) -> String {
    let mut out = format!("{}:{}\n", printable(&explained.file), explained.line);
    for step in &explained.steps {
        out.push_str(&format!("  {}\n", printable(step)));
    }
    if explained.steps.is_empty() {
        out.push_str("  nothing on this line looks like a secret\n");
    }
    out.push('\n');
    for found in &explained.findings {
        let (shape, word) =
            if found.is_reported { (Shape::NeedsYou, "reported") } else { (Shape::Settled, "passes") };
        let (rule, masked, why) = (&found.rule, printable(&found.masked), printable(&found.why));
        out.push_str(&format!("{} {rule} {masked} {word}: {why}\n", style.shape(shape)));
        out.push_str(&format!("  {}\n", style.faint(&format!("fingerprint {}", found.fingerprint))));
    }
    if explained.findings.is_empty() {
        out.push_str(&format!("{} nothing on this line is reported\n", style.shape(Shape::Settled)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_scan::{Confidence, Failed, Note, Skipped, Why};

    fn found(file: &str, line: u64, rule: &str, note: Option<Note>) -> Found {
        Found {
            file: file.into(),
            place: file.into(),
            line,
            column: 9,
            end_line: line,
            end_column: 49,
            rule: rule.into(),
            what: "GitHub token".into(),
            confidence: Confidence::percent(97),
            reason: "it has the form of one".into(),
            masked: "•••• (40 bytes)".into(),
            fingerprint: "blake3:00112233445566778899aabbccddeeff".into(),
            commit: None,
            note,
        }
    }

    fn example() -> Report {
        Report {
            findings: vec![
                found("src/a\u{1b}.py", 7, "api_key_github", None),
                found("src/a\u{1b}.py", 112, "jwt", Some(Note::AllowedWithoutReason)),
                Found { commit: Some("0123456789abcdef".repeat(2)), ..found("src/b.py", 1, "jwt", None) },
            ],
            allowed: 2,
            excepted: 1,
            skipped: vec![Skipped { file: "logo.png".into(), why: Why::Binary }],
            failed: vec![Failed { file: "gone.py".into(), why: "no such file".into() }],
            files: 120,
            bytes: 4 << 20,
            ..Report::default()
        }
    }

    #[test]
    fn findings_are_told_by_file_and_end_with_one_line() {
        let took = Duration::from_millis(321);
        insta::assert_snapshot!("report", report(&example(), took, true, Style::plain()));
        let clean = Report { files: 1, bytes: 10, ..Report::default() };
        assert_eq!(
            report(&clean, took, false, Style::plain()),
            "● nothing found; looked at 1 file, 10 bytes in 0.3 s\n"
        );
        let unread = Report { failed: example().failed, ..Report::default() };
        assert!(
            report(&unread, took, false, Style::plain()).contains("○ no verdict: 1 file could not be read")
        );
    }

    #[test]
    fn a_hook_lists_a_line_a_finding() {
        insta::assert_snapshot!("lines", lines(&example()));
    }
}
