//! Scans of trees of files: what is looked at, what is left out, and where findings are said to be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod repo;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use holdfast_scan::{Baseline, IgnoreFiles, Progress, Report, Where, json, sarif};
use holdfast_testkit::rounds;
use repo::{Repo, files, left_out, letters, plan, private_key, scan, token, told, tree};

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The rule that finds a token, whatever the engine calls it.
fn rule() -> String {
    let dir = temp();
    write(dir.path(), "a.py", format!("token = \"{}\"\n", token(1)));
    tree(&[dir.path()]).findings[0].rule.clone()
}

// shows: HRD-042, HRD-F19
#[test]
fn a_key_of_several_lines_is_found_whole_and_told_at_its_first_line() {
    let dir = temp();
    write(dir.path(), "notes.md", format!("one\ntwo\n{}after\n", private_key(1)));
    let report = tree(&[dir.path()]);
    assert_eq!(report.findings.len(), 1, "{:?}", told(&report));
    let found = &report.findings[0];
    assert_eq!((found.line, found.column), (3, 1));
    assert!(found.end_line >= 10);
}

// shows: HRD-F19
#[test]
fn every_secret_of_a_line_is_told_at_its_column_in_characters() {
    let dir = temp();
    write(dir.path(), "a.py", format!("é = [\"{}\", \"{}\"]\n", token(1), token(2)));
    let rule = rule();
    assert_eq!(told(&tree(&[dir.path()])), [format!("a.py:1:7 {rule}"), format!("a.py:1:51 {rule}")]);
}

#[test]
fn hidden_files_are_looked_at_and_ignored_ones_only_when_asked_for() {
    let repo = Repo::new();
    for name in [".env", "src/.hidden/a.py", "build/out.py", "keep.log", "other.log"] {
        repo.write(name, format!("token = \"{}\"\n", token(3)));
    }
    repo.write(".gitignore", "build/\n*.log\n!keep.log\n");
    repo.write(".git/stray.py", format!("token = \"{}\"\n", token(3)));
    assert_eq!(files(&repo.tree()), [".env", "keep.log", "src/.hidden/a.py"]);
    let paths = vec![repo.path().to_owned()];
    let all = scan(Where::Tree { paths, ignore_files: IgnoreFiles::Passed }).unwrap();
    assert_eq!(files(&all), [".env", "build/out.py", "keep.log", "other.log", "src/.hidden/a.py"]);
    let (named, folder) = (repo.file("other.log"), repo.file("src"));
    assert_eq!(files(&tree(&[&named])), ["other.log"], "a named file is always looked at");
    assert_eq!(files(&tree(&[&folder, &folder, repo.path()])).len(), 3, "nothing is told twice");
}

#[test]
fn a_link_is_not_followed_unless_it_is_named() {
    let (dir, elsewhere) = (temp(), temp());
    write(elsewhere.path(), "secret.py", format!("token = \"{}\"\n", token(4)));
    std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("out")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("secret.py"), dir.path().join("file")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("loose")).unwrap();
    let report = tree(&[dir.path()]);
    assert!(report.is_clean());
    let link = "symbolic link, not followed";
    assert_eq!(
        left_out(&report, dir.path()),
        [format!("file: {link}"), format!("loose: {link}"), format!("out: {link}")]
    );
    for named in ["file", "out"] {
        assert_eq!(tree(&[&dir.path().join(named)]).findings.len(), 1, "{named}");
    }
}

// shows: HRD-F03
#[test]
fn notes_full_of_numbers_and_people_are_no_finding() {
    let dir = temp();
    let note = "2026-11-15T08:17:16Z met Ana (ana@example.org, +49 30 1234567) at 52.52, 13.405; order 4711, 192.0.2.7\n";
    write(dir.path(), "notes/2026-11-15.md", note.repeat(50));
    assert!(tree(&[dir.path()]).is_clean());
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_still_looked_at() {
    let dir = temp();
    write(dir.path(), "a.py", format!("token = \"{}\"\n", token(5)));
    let report = tree(&[&dir.path().join("missing.py"), dir.path()]);
    assert_eq!((report.findings.len(), report.failed.len()), (1, 1));
    assert!(report.failed[0].file.ends_with("missing.py") && !report.failed[0].why.is_empty());
    assert!(!tree(&[&dir.path().join("missing.py")]).is_clean());
}

#[test]
fn binaries_are_left_out_and_counted_but_wide_text_is_read() {
    let dir = temp();
    let line = format!("token = \"{}\"\r\n", token(6));
    let wide: Vec<u8> = format!("\u{feff}[a]\r\n{line}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = format!("\u{feff}{line}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    write(dir.path(), "wide.ini", wide);
    write(dir.path(), "big.ini", big);
    write(dir.path(), "program", [b"\x7fELF\0\0", line.as_bytes()].concat());
    write(dir.path(), "data.db", [b"SQLite format 3\0", line.as_bytes()].concat());
    write(dir.path(), "broken.txt", [b"\xff\xff", line.as_bytes()].concat());
    let report = tree(&[dir.path()]);
    let lines: Vec<(&str, u64)> = report.findings.iter().map(|f| (f.place.as_str(), f.line)).collect();
    assert_eq!(lines, [("big.ini", 1), ("broken.txt", 1), ("wide.ini", 2)]);
    assert_eq!(left_out(&report, dir.path()), ["data.db: SQLite database", "program: binary"]);
}

#[test]
fn a_key_store_is_found_as_a_whole() {
    let dir = temp();
    write(dir.path(), "vault.kdbx", b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5\0\0\0\0");
    write(dir.path(), "notes.key", "nothing");
    assert_eq!(told(&tree(&[dir.path()])), ["vault.kdbx:1:1 keystore_file"]);
}

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tarred(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn archives_are_opened_two_deep() {
    let dir = temp();
    let line = format!("\n\ntoken = \"{}\"\n", token(7));
    let members: &[(&str, &[u8])] = &[("conf/.env", line.as_bytes()), ("logo.png", b"\x89PNG\0\0")];
    let inner = zipped(members);
    write(dir.path(), "a.zip", &inner);
    write(dir.path(), "b.tar", tarred(members));
    write(dir.path(), "c.tgz", gzipped(&tarred(members)));
    write(dir.path(), "d.env.gz", gzipped(line.as_bytes()));
    write(dir.path(), "e.jar", zipped(&[("lib/x.war", &inner)]));
    write(dir.path(), "f.zip", zipped(&[("g.zip", &zipped(&[("h.zip", &inner)]))]));
    write(dir.path(), "i.xz", b"\xfd7zXZ\0");
    write(dir.path(), "j.zip", b"PK\x03\x04 and nothing");
    let report = tree(&[dir.path()]);
    let expected = [
        "a.zip!/conf/.env",
        "b.tar!/conf/.env",
        "c.tgz!/conf/.env",
        "d.env.gz!/d.env",
        "e.jar!/lib/x.war!/conf/.env",
    ];
    assert_eq!(files(&report), expected);
    assert!(report.findings.iter().all(|f| f.line == 3));
    let left = left_out(&report, dir.path());
    assert!(
        left.contains(&"f.zip!/g.zip!/h.zip: archive: more than two archives inside each other".to_owned()),
        "{left:?}"
    );
    assert!(left.contains(&"i.xz: packed with xz, which is not read".to_owned()), "{left:?}");
    assert!(left.contains(&"a.zip!/logo.png: binary".to_owned()), "{left:?}");
    assert!(left.iter().any(|l| l.starts_with("j.zip: not readable as an archive")), "{left:?}");
}

#[test]
fn a_bomb_is_told_and_the_rest_is_looked_at() {
    let dir = temp();
    let zeros = vec![b'0'; 48 << 20];
    write(dir.path(), "bomb.gz", gzipped(&zeros));
    write(dir.path(), "bomb.zip", zipped(&[("a", &zeros), ("b", b"x")]));
    write(dir.path(), "z.py", format!("token = \"{}\"\n", token(8)));
    let report = tree(&[dir.path()]);
    assert_eq!(files(&report), ["z.py"]);
    let why = "archive: unpacks to far more than it holds";
    assert_eq!(left_out(&report, dir.path()), [format!("bomb.gz: {why}"), format!("bomb.zip: {why}")]);
}

#[test]
fn a_notebook_is_read_as_the_program_it_holds() {
    let dir = temp();
    let notebook = format!(
        "{{\n \"cells\": [\n  {{\n   \"source\": [\n    \"import os\\n\",\n    \"token = \\\"{}\\\"\\n\"\n   ],\n   \"outputs\": [\n    \
         {{\"data\": {{\"image/png\": \"{}\"}}, \"text\": [\"\\u001b[0m {}\\n\"]}}\n   ]\n  }}\n ]\n}}\n",
        token(9),
        letters(1, 400),
        token(10)
    );
    write(dir.path(), "a.ipynb", &notebook);
    let report = tree(&[dir.path()]);
    let lines: Vec<u64> = report.findings.iter().map(|f| f.line).collect();
    assert_eq!(lines, [6, 9], "{:?}", told(&report));
    let line = notebook.lines().nth(5).unwrap();
    let column = line.chars().position(|c| c == 'g').unwrap() as u64 + 1;
    assert_eq!(report.findings[0].column, column);
}

#[test]
fn a_comment_with_a_reason_lets_one_finding_pass() {
    let dir = temp();
    let line = |n: u64, comment: &str| format!("k{n} = \"{}\"  # {comment}\n", token(n));
    let text = [
        line(1, "holdfast: allow any — revoked years ago"),
        line(2, "holdfast: allow any"),
        line(3, ""),
        "# holdfast: allow any -- an example\n".to_owned(),
        line(4, ""),
    ];
    write(dir.path(), "a.py", text.concat());
    let report = tree(&[dir.path()]);
    let lines: Vec<(u64, bool)> = report.findings.iter().map(|f| (f.line, f.note.is_some())).collect();
    assert_eq!(lines, [(2, true), (3, false)]);
    assert_eq!(report.allowed, 2);
}

fn listing(fingerprint: &str, more: &str) -> String {
    format!("[[exception]]\nfingerprint = \"{fingerprint}\"\nreason = \"a key of the test server\"\n{more}")
}

// shows: HRD-047
#[test]
fn a_listed_value_passes_until_its_day_and_another_value_never() {
    let repo = Repo::new();
    repo.write("a.py", format!("token = \"{}\"\n", token(1)));
    let fingerprint = repo.tree().findings[0].fingerprint.clone();
    let check = |list: &str, findings: usize, excepted: u64| -> Report {
        repo.write(".holdfast/scan.toml", list);
        let report = repo.tree();
        assert_eq!((report.findings.len(), report.excepted), (findings, excepted), "{list}");
        report
    };
    check(&listing(&fingerprint, ""), 0, 1);
    check(&listing(&fingerprint, "path = \"a.py\"\nexpires = 2026-11-15"), 0, 1);
    check(&listing(&fingerprint, "path = \"b.py\""), 1, 0);
    let expired = check(&listing(&fingerprint, "expires = 2026-11-14"), 1, 0);
    let note = expired.findings[0].note.as_ref().unwrap().to_string();
    assert_eq!(note, "its exception expired after 2026-11-14");
    repo.write("a.py", format!("token = \"{}\"\n", token(2)));
    check(&listing(&fingerprint, ""), 1, 0);
    repo.write(".holdfast/scan.toml", format!("[[exception]]\nfingerprint = \"{fingerprint}\"\n"));
    let paths = vec![repo.path().to_owned()];
    let e = scan(Where::Tree { paths, ignore_files: IgnoreFiles::Respected }).unwrap_err();
    assert!(e.to_string().contains("exception 1 has no reason"), "{e}");
}

#[test]
fn the_list_counts_wherever_in_the_repository_the_scan_begins() {
    let repo = Repo::new();
    repo.write("src/deep/a.py", format!("token = \"{}\"\n", token(1)));
    let fingerprint = repo.tree().findings[0].fingerprint.clone();
    repo.write(".holdfast/scan.toml", listing(&fingerprint, "path = \"src/\""));
    for path in ["src", "src/deep/a.py", "."] {
        assert_eq!(tree(&[&repo.file(path)]).excepted, 1, "{path}");
    }
}

#[test]
fn what_the_baseline_has_passes_and_a_second_copy_does_not() {
    let repo = Repo::new();
    repo.write("a.py", format!("token = \"{}\"\n", token(1)));
    let file = repo.file("../baseline.json");
    Baseline::of(&repo.tree().findings).write(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&token(1)[4..20]) && text.contains("\"a.py\""), "{text}");
    let with_it = || {
        let place = Where::Tree { paths: vec![repo.path().to_owned()], ignore_files: IgnoreFiles::Respected };
        let mut scan = plan(place);
        scan.baseline = Baseline::read(&file).unwrap();
        scan.run(&Progress::default()).unwrap()
    };
    assert_eq!((with_it().findings.len(), with_it().known), (0, 1));
    repo.write("a.py", format!("moved = 1\ntoken = \"{0}\"\nagain = \"{0}\"\n", token(1)));
    repo.write("b.py", format!("token = \"{}\"\n", token(1)));
    assert_eq!(files(&with_it()), ["a.py", "b.py"]);
    assert_eq!(with_it().known, 1);
    std::fs::write(&file, "{\"version\":2,\"findings\":[]}").unwrap();
    assert!(Baseline::read(&file).unwrap_err().to_string().contains("version 2"));
    std::fs::remove_file(file).unwrap();
}

// shows: HRD-041, HRD-F14
#[test]
fn the_json_has_its_schema_and_not_a_byte_of_a_secret() {
    let dir = temp();
    write(dir.path(), "a.py", format!("token = \"{}\"\n", token(1)));
    write(dir.path(), "b.bin", b"\0");
    let report = tree(&[dir.path(), &dir.path().join("missing")]);
    let value = json(&report);
    let text = |kind: &str| serde_json::json!({"type": kind});
    let finding: serde_json::Map<_, _> =
        ["file", "rule", "type", "what", "masked", "snippet", "reason", "fingerprint"]
            .into_iter()
            .map(|name| (name.to_owned(), text("string")))
            .chain(
                ["line", "column"]
                    .map(|name| (name.to_owned(), serde_json::json!({"type": "integer", "minimum": 1}))),
            )
            .chain([(
                "confidence".to_owned(),
                serde_json::json!({"type": "number", "minimum": 0, "maximum": 1}),
            )])
            .collect();
    let required: Vec<&String> = finding.keys().collect();
    let listed = serde_json::json!({"type": "array", "minItems": 1, "items": {"required": ["file", "why"]}});
    let schema = serde_json::json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["clean", "findings", "allowed", "excepted", "known", "skipped", "failed", "files", "bytes"],
        "properties": {
            "clean": {"const": false},
            "findings": {"type": "array", "minItems": 1, "items": {"required": required, "properties": finding}},
            "allowed": text("integer"), "excepted": text("integer"), "known": text("integer"),
            "skipped": listed, "failed": listed, "files": text("integer"), "bytes": text("integer"),
        },
    });
    jsonschema::validate(&schema, &value).unwrap();
    let secret = token(1);
    for (n, _) in secret.char_indices().step_by(4) {
        let part = &secret[n..(n + 8).min(secret.len())];
        assert!(part.len() < 8 || !value.to_string().contains(part), "{value}");
    }
    assert_eq!(json(&tree(&[&dir.path().join("b.bin")]))["clean"], true);
}

/// The part of the standard's schema that this program uses.
fn sarif_schema() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "required": ["version", "runs", "$schema"],
        "properties": {
            "version": {"const": "2.1.0"},
            "runs": {"type": "array", "minItems": 1, "items": {
                "required": ["tool", "results"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"], "properties": {
                        "semanticVersion": {"type": "string"},
                        "rules": {"type": "array", "uniqueItems": true, "items": {
                            "required": ["id", "shortDescription", "fullDescription", "help"],
                            "properties": {"shortDescription": {"required": ["text"]}, "help": {"required": ["text"]}},
                        }},
                    }}}},
                    "invocations": {"type": "array", "items": {"required": ["executionSuccessful"]}},
                    "results": {"type": "array", "items": {
                        "required": ["ruleId", "ruleIndex", "message", "locations", "level", "partialFingerprints"],
                        "properties": {
                            "level": {"enum": ["none", "note", "warning", "error"]},
                            "message": {"required": ["text"]},
                            "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                            "locations": {"type": "array", "items": {"required": ["physicalLocation"], "properties": {
                                "physicalLocation": {"required": ["artifactLocation", "region"], "properties": {
                                    "artifactLocation": {"properties": {"uri": {"pattern": "^[A-Za-z0-9._~!%/-]+$"}}},
                                    "region": {"additionalProperties": {"type": "integer", "minimum": 1}},
                                }},
                            }}},
                        },
                    }},
                },
            }},
        },
    })
}

#[test]
fn the_sarif_is_valid_and_names_files_from_the_root() {
    let repo = Repo::new();
    repo.write("src/a b.py", format!("x = 1\ntoken = \"{}\"\n", token(1)));
    repo.write("src/key.pem", private_key(2));
    let log = sarif(&tree(&[&repo.file("src")]), "0.1.0");
    jsonschema::validate(&sarif_schema(), &log).unwrap();
    let run = &log["runs"][0];
    let uri = |n: usize| &run["results"][n]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!((uri(0), uri(1)), (&"src/a%20b.py".into(), &"src/key.pem".into()));
    for result in run["results"].as_array().unwrap() {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    assert!(!log.to_string().contains(&token(1)[8..24]));
}

#[test]
fn the_order_of_a_report_does_not_depend_on_the_threads() {
    let dir = temp();
    for n in 0..rounds(300, 5_000) {
        let secret = if n % 7 == 0 { token(n as u64) } else { "nothing".to_owned() };
        write(dir.path(), &format!("{}/{n}.py", n % 13), format!("a = 1\ntoken = \"{secret}\"\n"));
    }
    let run = |threads: usize| {
        let place = Where::Tree { paths: vec![dir.path().to_owned()], ignore_files: IgnoreFiles::Respected };
        let mut scan = plan(place);
        scan.threads = NonZeroUsize::new(threads).unwrap();
        scan.run(&Progress::default()).unwrap()
    };
    let one = run(1);
    assert_eq!(one.findings.len() as u64, (rounds(300, 5_000) as u64).div_ceil(7));
    assert!(told(&one).is_sorted_by_key(|line| line.split(':').next().unwrap().to_owned()));
    for threads in [2, 8] {
        assert_eq!(json(&run(threads)), json(&one));
    }
}

#[test]
fn one_very_long_line_is_read_once() {
    let dir = temp();
    let bytes = rounds(20 << 20, 100 << 20) as usize;
    let mut line = "lorem ipsum dolor ".repeat(bytes / 18);
    let place = line.len() as u64 + 10;
    line.push_str(&format!(" token = {} ", token(1)));
    write(dir.path(), "a.txt", &line);
    let report = tree(&[dir.path()]);
    let found: Vec<(u64, u64)> = report.findings.iter().map(|f| (f.line, f.column)).collect();
    assert_eq!(found, [(1, place)]);
    assert_eq!(report.bytes, line.len() as u64);
}
