//! Notes are what the journal says, for people; git has them sealed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use holdfast_memory::usage::{Counted, Limits};
use holdfast_memory::{EntryType, Gates, Redaction, Redactor};
use holdfast_memory_host::{Committed, Outcome};

use crate::home::{Home, agent, by, holds, raw};

const PORT: &str = "The gateway of the staging cluster listens on port 9096.";
const RARE: &str = "The xylophonist of the Wolverhampton office approves every firewall change.";

fn consolidate(home: &Home) {
    home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
}

fn write(home: &Home) -> holdfast_memory_host::Written {
    home.memories.write_notes(&agent("scout"), &by()).unwrap()
}

fn folder(home: &Home) -> PathBuf {
    home.memories.notes_folder(&agent("scout"))
}

fn note(home: &Home, name: &str) -> String {
    std::fs::read_to_string(folder(home).join(name)).unwrap_or_default()
}

/// Every file below a folder with what it holds.
fn all(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(all(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

fn git(home: &Home, args: &[&str]) -> String {
    let out = Command::new("git").arg("--git-dir").arg(home.folder().join("notes.git")).args(args).output();
    let out = out.unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

// shows: MEM-001, MEM-003, MEM-090, MEM-103
#[test]
fn what_the_session_learns_is_in_its_notes_then_in_its_month_and_a_rebuild_gives_the_same_bytes() {
    let home = Home::new(None);
    home.remember("scout", PORT);
    let mut decision = raw("We keep PostgreSQL for the billing database.");
    decision.entry_type = EntryType::Decision;
    home.keep("scout", decision, &by());
    let limits = Limits::of_model(1_000).unwrap();
    home.memories.context_used(&agent("scout"), limits, 650, Counted::Reported, &by().actor).unwrap();
    write(&home);
    assert!(note(&home, "NOTES.md").contains("9096") && note(&home, "NOTES.md").contains("| context |"));
    assert_eq!(note(&home, "memory/2026-11.md"), "");

    consolidate(&home);
    let late = "The release branch is cut on Tuesdays.";
    home.remember("scout", late);
    let written = write(&home);
    assert_eq!(written.files, ["NOTES.md", "decisions.md", "memory/2026-11.md"]);
    let session = note(&home, "NOTES.md");
    assert!(session.contains("Tuesdays") && !session.contains("9096"), "{session}");
    assert!(note(&home, "memory/2026-11.md").contains("> The gateway of the staging cluster"));
    assert!(
        note(&home, "decisions.md").contains("PostgreSQL") && !note(&home, "decisions.md").contains("9096")
    );
    assert_eq!(write(&home).files, Vec::<String>::new(), "nothing new is nothing written");

    let (before, notes, whole) = (all(&folder(&home)), folder(&home), home.folder());
    let home = home.again_after(None, || std::fs::remove_dir_all(whole).unwrap());
    write(&home);
    assert_eq!(all(&notes), before);
}

// shows: MEM-059, MEM-063, MEM-F60
#[test]
fn lines_of_ones_own_stay_an_edited_text_is_captured_and_damage_is_made_good() {
    let home = Home::new(None);
    home.remember("scout", PORT);
    consolidate(&home);
    write(&home);
    let path = folder(&home).join("memory/2026-11.md");
    let edited = note(&home, "memory/2026-11.md").replace(
        "> The gateway of the staging cluster listens on port 9096.",
        "> The gateway of the staging cluster listens on port 9443.",
    );
    std::fs::write(&path, format!("{edited}\nMy own line.\n")).unwrap();
    let written = write(&home);
    let [(_, Outcome::Captured(captured))] = written.edits.as_slice() else { panic!("{written:?}") };
    let shown = home.memories.show(&agent("scout"), captured.id).unwrap();
    assert!(shown.entry.unwrap().text().ends_with("port 9443."));
    let text = note(&home, "memory/2026-11.md");
    assert!(
        text.contains("My own line.")
            && text.contains("> The gateway of the staging cluster listens on port 9096.")
    );
    assert!(write(&home).edits.is_empty(), "it is taken in once");

    std::fs::write(&path, text.replacen("9096", "1", 1)).unwrap();
    assert_eq!(write(&home).mended, 1);
    assert!(note(&home, "memory/2026-11.md").contains("My own line."));
    assert!(note(&home, "memory/2026-11.md").contains("listens on port 9096."));
}

// shows: MEM-081, MEM-093
#[test]
fn what_was_replaced_says_by_what_and_what_is_old_moves_to_the_archive() {
    let home = Home::new(None);
    home.remember("scout", PORT);
    consolidate(&home);
    let again = home.remember("scout", "The gateway of the staging cluster listens on port 9096");
    consolidate(&home);
    write(&home);
    assert!(note(&home, "memory/2026-11.md").contains(&format!("Superseded by {again}.")));
    home.house.clock.advance(Duration::from_secs(91 * 24 * 3600));
    assert_eq!(home.memories.archive(&agent("scout"), &by().actor).unwrap(), [again]);
    write(&home);
    assert!(note(&home, "archive/2026-11.md").contains(&format!("### {again}")));
    assert!(!note(&home, "memory/2026-11.md").contains(&format!("### {again}")));
}

// shows: MEM-010, MEM-092, MEM-F55
#[test]
fn git_has_the_notes_sealed_and_a_forget_makes_every_copy_unreadable() {
    let home = Home::new(None);
    let rare = home.remember("scout", RARE);
    let port = home.remember("scout", PORT);
    consolidate(&home);
    write(&home);
    assert!(holds(&folder(&home), "xylophonist").is_some());
    let Committed::Commit(first) = home.memories.commit_notes(&agent("scout")).unwrap() else { panic!() };
    assert_eq!(home.memories.commit_notes(&agent("scout")).unwrap(), Committed::Nothing);
    let branch = format!("refs/heads/{}", agent("scout").id());
    assert_eq!(git(&home, &["rev-parse", &branch]).trim(), first);
    let file = git(&home, &["show", &format!("{first}:2026-11/2026-11-15-000.md")]);
    assert!(file.contains(&format!("### {rare} · durable")) && !file.contains("xylophonist"), "{file}");
    let texts = |home: &Home| -> Vec<Option<String>> {
        let copies = home.memories.copies(&agent("scout")).unwrap();
        copies.into_iter().map(|copy| copy.entry.map(|entry| entry.text().to_owned())).collect()
    };
    assert_eq!(texts(&home), [Some(RARE.to_owned()), Some(PORT.to_owned())], "whoever has the keys reads it");
    assert!(!home.memories.prove_forgotten(&agent("scout"), rare).unwrap().not_in_git);

    // A clone from before the forget.
    let clone = home.house.path().join("clone.git");
    let from = home.folder().join("notes.git");
    let cloned = Command::new("git").args(["clone", "--quiet", "--bare"]).arg(from).arg(&clone).status();
    assert!(cloned.unwrap().success());
    home.memories.forget(&agent("scout"), rare, &by().actor).unwrap();
    let proof = home.memories.prove_forgotten(&agent("scout"), rare).unwrap();
    assert!(proof.holds(), "{proof:?}");
    assert_eq!(texts(&home), [None, Some(PORT.to_owned())]);
    assert_eq!(holds(home.house.path(), "xylophonist"), None);
    // Objects are compressed: git itself is asked what they say.
    assert!(!git(&home, &["log", "-p", "--all"]).contains("xylophonist"));
    assert!(matches!(home.memories.commit_notes(&agent("scout")).unwrap(), Committed::Commit(_)));
    assert_eq!(texts(&home), [Some(PORT.to_owned())]);
    assert!(git(&home, &["log", "--format=%an %s", &branch]).contains("holdfast memory: 1 kept"));
    assert!(!home.memories.prove_forgotten(&agent("scout"), port).unwrap().holds());

    // Something readable in the repository is no proof of anything.
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(home.folder().join("notes.git"))
        .args(["hash-object", "-w", "--stdin"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"plain words\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!home.memories.prove_forgotten(&agent("scout"), rare).unwrap().not_in_git);

    // The same objects in another repository that it leads to.
    let (notes, elsewhere) = (home.folder().join("notes.git"), home.house.path().join("elsewhere.git"));
    assert!(Command::new("mv").arg(&notes).arg(&elsewhere).status().unwrap().success());
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(notes.join("commondir"), elsewhere.as_os_str().as_encoded_bytes()).unwrap();
    let refused = home.memories.prove_forgotten(&agent("scout"), rare).unwrap_err().to_string();
    assert!(refused.contains("it leads git to another repository"), "{refused}");
}

/// Rules of a later release.
struct Stricter;

impl Redactor for Stricter {
    fn redact(&self, text: &str) -> Redaction {
        match text.contains("Wolverhampton") {
            true => Redaction::Blocked { reason: "a place" },
            false => Redaction::Unchanged,
        }
    }
}

// shows: MEM-092, MEM-F57
#[test]
fn what_todays_rules_find_in_an_old_memory_is_committed_by_nobody() {
    let home = Home::new(None);
    let rare = home.remember("scout", RARE);
    home.remember("scout", PORT);
    consolidate(&home);
    let home = home.again_with(Arc::new(Stricter));
    assert_eq!(home.memories.commit_notes(&agent("scout")).unwrap(), Committed::Held(vec![rare]));
    assert!(!home.folder().join("notes.git").exists());
    home.memories.forget(&agent("scout"), rare, &by().actor).unwrap();
    assert!(matches!(home.memories.commit_notes(&agent("scout")).unwrap(), Committed::Commit(_)));
}
