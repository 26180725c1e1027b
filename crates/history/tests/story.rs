//! What people read in the repository: branches, commits, notes and signatures, with the real git.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod tale;

use holdfast_doorman::layer::{KEPT_PREFIX, Layer, file_of};
use holdfast_history::{Book, Look, keep};
use holdfast_nixos::{Overlay, PRIORITY};
use holdfast_steward::outcome::Outcome;
use tale::{Desk, Tale, memory};

#[test]
fn the_whole_story_reads_well() {
    let desk = Desk::new();
    let told = desk.keep(&Tale::whole());
    assert!(told.made && told.foreign.is_empty(), "{told:?}");
    let log = desk.git(&["log", "--format=%h %s%n%n%b%nNotes:%n%N", "--abbrev=6", "deployed/web"]);
    insta::assert_snapshot!("log", log);
    insta::assert_snapshot!("page", desk.git(&["show", "deployed/web:web/README.md"]));
    let files = desk.git(&["ls-tree", "-r", "--name-only", "deployed/web"]);
    assert_eq!(
        files.lines().collect::<Vec<_>>(),
        ["README.md", "web/README.md"],
        "what people had is nobody's file"
    );
    assert_eq!(desk.git(&["show", "steward/ep_0005:web/web.service/MemoryMax"]), "MemoryMax=700M\n");
    assert_eq!(desk.git(&["show", "steward/ep_0008:db/web.service/MemoryMax"]), "MemoryMax=300M\n");
}

/// On a host with systemd, on one with NixOS, and in the history: one file, the newest value in place of the one before, and said with
/// which weight it stands above what people wrote.
// shows: STW-348, STW-297
#[test]
fn a_setting_that_is_changed_three_times_is_one_file_with_its_history() {
    let (desk, mut tale) = (Desk::new(), Tale::enrolled("web"));
    let (mut layer, mut overlay) = (Layer::default(), Overlay::default());
    for (number, (from, to)) in [(512, 640), (640, 768), (768, 900)].into_iter().enumerate() {
        let change = memory(from, to);
        layer = layer.with(std::slice::from_ref(&change), |_| memory(512, 512).from).unwrap();
        overlay = overlay.with(std::slice::from_ref(&change), |_| memory(512, 512).from).unwrap();
        let dropped: Vec<_> = layer.iter().map(|(setting, _)| file_of(setting, KEPT_PREFIX)).collect();
        assert!(dropped.len() == 1 && dropped[0].1.starts_with("50-"), "{dropped:?}");
        assert_eq!(layer.get(&change.setting), Some(change.to));
        let modules: Vec<_> =
            overlay.modules().unwrap().into_iter().filter(|it| it.name.contains("MemoryMax")).collect();
        assert!(
            modules.len() == 1 && modules[0].text.contains(&format!("mkOverride {PRIORITY}")),
            "{modules:?}"
        );
        tale.change("web", number as u32 + 1, change.clone());
        desk.keep(&tale);
        let files = desk.git(&["ls-tree", "-r", "--name-only", "deployed/web", "web/"]);
        assert_eq!(files.lines().collect::<Vec<_>>(), ["web/README.md", "web/web.service/MemoryMax"]);
        let value = desk.git(&["show", "deployed/web:web/web.service/MemoryMax"]);
        assert_eq!(value, format!("MemoryMax={}\n", change.to));
    }
    let log = desk.git(&["log", "--format=%s", "deployed/web", "--", "web/web.service/MemoryMax"]);
    assert_eq!(log.lines().count(), 3, "{log}");
}

/// Each commit that anything leads to is signed, and a hand that changes one is seen.
#[test]
fn every_commit_is_signed_and_git_verifies_it() {
    let desk = Desk::new();
    desk.keep(&Tale::whole());
    let all = desk.git(&["rev-list", "--all"]);
    assert!(all.lines().count() > 12, "{all}");
    for commit in all.lines() {
        let said = desk.git(&["verify-commit", commit]);
        assert!(said.contains("Good \"git\" signature for steward@test"), "{said}");
    }
    let altered = desk.git(&["cat-file", "commit", "deployed/web"]).replace("768M", "999M");
    std::fs::write(desk.folder.path().join("altered"), altered).unwrap();
    let path = desk.folder.path().join("altered");
    let forged = desk.git(&["hash-object", "-t", "commit", "-w", path.to_str().unwrap()]);
    let (worked, said) = tale::try_git(&desk.path(), &["verify-commit", forged.trim()]);
    assert!(!worked, "{said}");
}

// shows: STW-235
#[test]
fn one_branch_for_each_episode_from_what_is_deployed_until_it_is_over() {
    let (desk, mut tale) = (Desk::new(), Tale::enrolled("web"));
    tale.change("web", 1, memory(512, 640));
    let heads = |desk: &Desk| {
        let all = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        all.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    desk.keep(tale.opened("web", 2));
    assert_eq!(heads(&desk), ["deployed/web", "main"], "nothing was judged yet");
    desk.keep(tale.judged("web", 2, memory(640, 768)));
    assert_eq!(heads(&desk), ["deployed/web", "main", "steward/ep_0002"]);
    let parent = desk.git(&["rev-parse", "steward/ep_0002^"]);
    assert_eq!(parent, desk.git(&["rev-parse", "deployed/web"]), "its base is what is deployed");
    let candidate = desk.git(&["rev-parse", "steward/ep_0002"]);
    // What was judged is what is kept, to the commit.
    desk.keep(tale.kept("web", 2, memory(640, 768)));
    assert_eq!(desk.git(&["rev-parse", "deployed/web"]), candidate);
    assert_eq!(heads(&desk), ["deployed/web", "main", "steward/ep_0002"], "on probation it is still open");
    desk.keep(tale.ended("web", 2, Outcome::Kept, "well"));
    assert_eq!(heads(&desk), ["deployed/web", "main"]);
}

// shows: STW-133, STW-205
#[test]
fn what_is_rejected_or_undone_leaves_no_branch_and_moves_nothing() {
    for outcome in [Outcome::GateRejected, Outcome::RolledBack, Outcome::Interrupted, Outcome::Refused] {
        let (desk, mut tale) = (Desk::new(), Tale::enrolled("web"));
        tale.opened("web", 1).judged("web", 1, memory(512, 640));
        desk.keep(&tale);
        let before = desk.git(&["rev-parse", "deployed/web"]);
        assert!(desk.short().contains(&"heads/steward/ep_0001".to_owned()));
        desk.keep(tale.ended("web", 1, outcome, "no"));
        assert_eq!(desk.short(), ["heads/deployed/web", "heads/main"], "{outcome}");
        assert_eq!(desk.git(&["rev-parse", "deployed/web"]), before, "{outcome}");
    }
}

#[test]
fn what_is_taken_back_after_it_was_kept_is_a_revert_that_says_why() {
    let (desk, mut tale) = (Desk::new(), Tale::enrolled("web"));
    tale.change("web", 1, memory(512, 640));
    desk.keep(&tale);
    let before = desk.git(&["rev-parse", "deployed/web^{tree}"]);
    desk.keep(tale.taken_back("web", 2, memory(640, 768)));
    assert_eq!(desk.git(&["rev-parse", "deployed/web^{tree}"]), before, "to the byte what was there");
    let message = desk.git(&["log", "-1", "--format=%B", "deployed/web"]);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = desk.git(&["rev-parse", "deployed/web^"]);
    assert!(message.starts_with("Revert \"web.service: MemoryMax 640M → 768M\""), "{message}");
    assert!(message.contains("an endpoint was not healthy") && message.contains(kept.trim()), "{message}");
}

/// One book that goes on for months, as the daemon has it: what was judged and rejected between two passes was never stored, and what
/// nothing leads to is pruned; the same change may come again all the same.
#[test]
fn what_was_rejected_unseen_or_pruned_may_come_again() {
    let (desk, mut tale) = (Desk::new(), Tale::enrolled("web"));
    let mut book = tale.book();
    keep(&desk.repository, &mut book, Look::Whole, tale::now()).unwrap();
    let change = memory(512, 640);
    for number in 1..=3 {
        let before = tale.records.len();
        tale.opened("web", number).judged("web", number, change.clone());
        if number == 2 {
            pass(&desk, &mut book, &tale, before);
        }
        let judged = if number == 2 { tale.records.len() } else { before };
        match number {
            3 => tale.kept("web", number, change.clone()),
            _ => tale.ended("web", number, Outcome::GateRejected, "no"),
        };
        pass(&desk, &mut book, &tale, judged);
        desk.git(&["prune", "--expire=now"]);
    }
    assert_eq!(desk.refs(), tale.book().refs());
    desk.git(&["fsck", "--strict"]);
}

/// Takes in what was said since, and brings the repository to it.
fn pass(desk: &Desk, book: &mut Book, tale: &Tale, from: usize) {
    tale.records[from..].iter().for_each(|(seq, target, record)| book.take(*seq, target, record));
    keep(&desk.repository, book, Look::Shallow, tale::now()).unwrap();
}

#[test]
fn the_same_records_give_the_same_commits_whenever_they_are_taken_in() {
    let tale = Tale::whole();
    let (at_once, step_by_step) = (Desk::new(), Desk::new());
    at_once.keep(&tale);
    let mut so_far = Tale::default();
    for record in &tale.records {
        so_far.records.push(record.clone());
        step_by_step.keep(&so_far);
    }
    assert_eq!(at_once.refs(), step_by_step.refs());
    assert_eq!(at_once.refs(), tale.book().refs());
}
