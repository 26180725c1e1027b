//! Documents that load, change, and are refused.

use proptest::prelude::*;

use super::*;
use crate::build::at;

fn template() -> Identity {
    Identity::load(TEMPLATE).unwrap()
}

fn granted(proposal: &Proposal) -> Granted {
    Granted { approval: ApprovalId::from(ulid::Ulid(1)), proposal: proposal.digest() }
}

fn example() -> Edit {
    Edit::AddExample { principle: "Resourceful First".into(), example: "Read the changelog.".into() }
}

fn boundary() -> Edit {
    let boundary = Boundary {
        action: "Delete no backups".into(),
        reason: "They are the way back.".into(),
        exceptions: vec![],
    };
    Edit::AddBoundary(boundary)
}

// shows: MEM-106, MEM-112, MEM-113, MEM-114, MEM-115, MEM-116, MEM-F50, MEM-F51
#[test]
fn the_template_loads_whole_and_without_warnings() {
    let identity = template();
    assert_eq!(identity.warnings(), [] as [String; 0]);
    assert_eq!(identity.version.to_string(), "1.0.0");
    let names: Vec<&str> = identity.principles.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Resourceful First",
            "Opinionated Helpfulness",
            "Procedural Reliability",
            "Transparency in Process",
            "Resilient Continuity"
        ]
    );
    assert!(identity.principles.iter().all(|p| p.why.len() > 40 && !p.examples.is_empty()));
    let stances =
        ["Verification first", "Structured execution", "Honest uncertainty", "Minimal intervention"];
    assert!(stances.iter().zip(&identity.operational_stance).all(|(name, stance)| stance.starts_with(name)));
    let all =
        Style { concise: true, opinionated: true, resourceful: true, procedural: true, transparent: true };
    assert_eq!(identity.interaction_style, all);
    assert_eq!(identity.boundaries.len(), 4);
    let triggers: Vec<&str> = identity.evolution_rules.iter().map(|r| r.trigger.as_str()).collect();
    assert_eq!(triggers, ["User feedback", "Repeated corrections", "New capabilities"]);
    assert!(TEMPLATE.contains("policy wins"));
}

// shows: MEM-105
#[test]
fn a_document_lacking_a_section_is_refused_by_its_name() {
    for section in Section::ALL {
        let without = TEMPLATE.replace(&format!("## {}\n", section.title()), "## Something else\n");
        assert_eq!(Identity::load(&without), Err(IdentityError::MissingSection(section)));
        let twice = format!("{TEMPLATE}\n## {}\n", section.title());
        assert_eq!(Identity::load(&twice), Err(IdentityError::DoubledSection(section)));
    }
}

// shows: MEM-107, MEM-108
#[test]
fn what_a_part_needs_is_asked_for_by_name() {
    for (from, to, said) in [
        ("Why: A question costs", "Because: a question costs", "Resourceful First"),
        ("Reason: A pretended result", "A pretended result", "Feign no capability"),
        ("Approval: auto", "Approval: maybe", "neither auto nor human"),
        ("- [x] concise", "- [x] brief", "concise"),
        ("Version: 1.0.0", "Version: 1.0", "Version"),
        ("Last modified: 2026-11-18T00:00:00.000000Z", "Last modified: yesterday", "Last modified"),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        let error = Identity::load(&TEMPLATE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

// shows: MEM-110, MEM-F49
#[test]
fn a_change_touches_its_lines_and_keeps_what_nobody_understands() {
    let odd = TEMPLATE.replace("## Boundaries\n", "<!-- a comment -->\nOdd: line\n\n## Boundaries\n");
    let identity = Identity::load(&odd).unwrap();
    let style = Edit::SetStyle { flag: Flag::Concise, on: false };
    let proposal = identity.propose(vec![example(), style]).unwrap();
    let changed = identity.apply(&proposal, &granted(&proposal), at(5)).unwrap();
    assert_eq!(changed.identity.version.to_string(), "1.0.1");
    assert_eq!(changed.identity.last_modified, at(5));
    assert!(!changed.identity.interaction_style.concise);
    assert!(changed.identity.text().contains("<!-- a comment -->\nOdd: line\n"));
    assert_eq!(changed.sections, [Section::CorePrinciples, Section::InteractionStyle]);
    let diff = changed.diff.to_string();
    assert_eq!(changed.diff.len(), 7, "{diff}");
    assert!(diff.contains("+- Example: Read the changelog.") && diff.contains("-Version: 1.0.0\n"), "{diff}");
}

// shows: MEM-109, MEM-F48
#[test]
fn nothing_changes_without_an_approval_of_exactly_this_change() {
    let identity = template();
    let proposal = identity.propose(vec![example()]).unwrap();
    let other = identity.propose(vec![boundary()]).unwrap();
    assert_eq!(identity.apply(&proposal, &granted(&other), at(1)).unwrap_err(), UpdateError::NotApproved);
    // A rule that says auto prepares the request; boundaries and rules are never prepared so.
    assert!(proposal.may_be_prepared_by(&identity, "Repeated corrections"));
    assert!(!proposal.may_be_prepared_by(&identity, "User feedback"));
    assert!(!other.may_be_prepared_by(&identity, "Repeated corrections"));
    let rule =
        EvolutionRule { trigger: "Boredom".into(), change: "Anything".into(), approval: Approval::Auto };
    let widened = identity.propose(vec![Edit::AddRule(rule)]).unwrap();
    assert!(!widened.may_be_prepared_by(&identity, "Repeated corrections"));
}

#[test]
fn a_change_made_for_another_version_is_refused() {
    let identity = template();
    let (first, second) =
        (identity.propose(vec![example()]).unwrap(), identity.propose(vec![boundary()]).unwrap());
    let changed = identity.apply(&first, &granted(&first), at(1)).unwrap().identity;
    assert_eq!(changed.apply(&second, &granted(&second), at(2)).unwrap_err(), UpdateError::Stale);
}

#[test]
fn every_edit_does_what_it_says() {
    let identity = template();
    let principle = Principle {
        name: "Patience".into(),
        why: "Haste breaks things.".into(),
        examples: vec!["Wait.".into()],
    };
    let rule =
        EvolutionRule { trigger: "Yearly".into(), change: "Look at it".into(), approval: Approval::Human };
    let edits = vec![
        Edit::AddPrinciple(principle.clone()),
        Edit::SetWhy { principle: "Resourceful First".into(), why: "Looking is cheap.".into() },
        Edit::AddStance("Calm: one thing at a time.".into()),
        boundary(),
        Edit::RemoveBoundary { action: "Feign no capability".into() },
        Edit::AddRule(rule.clone()),
    ];
    let proposal = identity.propose(edits).unwrap();
    let changed = identity.apply(&proposal, &granted(&proposal), at(1)).unwrap().identity;
    assert_eq!(changed.principles.last(), Some(&principle));
    assert_eq!(changed.principles[0].why, "Looking is cheap.");
    assert_eq!(changed.operational_stance.len(), 5);
    let actions: Vec<&str> = changed.boundaries.iter().map(|b| b.action.as_str()).collect();
    assert!(actions.contains(&"Delete no backups") && !actions.contains(&"Feign no capability"));
    assert_eq!(changed.evolution_rules.last(), Some(&rule));
}

#[test]
fn edits_that_cannot_be_made_say_why() {
    let identity = template();
    let stance = |text: &str| identity.propose(vec![Edit::AddStance(text.into())]).unwrap_err();
    for text in ["", " a", "a\n## Boundaries", "a\u{202e}b", &"x".repeat(1_001)] {
        assert_eq!(stance(text), UpdateError::BadText { what: "the stance" });
    }
    let missing = Edit::SetWhy { principle: "None".into(), why: "x".into() };
    assert!(matches!(identity.propose(vec![missing]), Err(UpdateError::NotFound { .. })));
    assert_eq!(identity.propose(vec![]), Err(UpdateError::Nothing));
    let again =
        Edit::AddPrinciple(Principle { name: "Resourceful First".into(), why: "x".into(), examples: vec![] });
    assert!(matches!(identity.propose(vec![again]), Err(UpdateError::Exists { .. })));
}

// shows: MEM-117
#[test]
fn a_document_beyond_the_cap_is_refused_and_a_large_one_warned_about() {
    let padded = |bytes: usize| format!("{TEMPLATE}{}", "x".repeat(bytes - TEMPLATE.len()));
    assert_eq!(Identity::load(&padded(BYTES_MAX + 1)), Err(IdentityError::TooLarge { bytes: BYTES_MAX + 1 }));
    assert_eq!(Identity::load(&padded(BYTES_MAX)).unwrap().warnings().len(), 1);
}

proptest! {
    #[test]
    fn any_text_loads_or_says_why(text in "(## Boundaries\n|## Core Principles\n|### |Why: |- \\[x\\] |\\PC|\n){0,60}") {
        if let Ok(identity) = Identity::load(&text) {
            prop_assert_eq!(identity.text(), text);
        }
    }

    #[test]
    fn a_diff_leads_from_old_to_new(a in "[ab\n]{0,24}", b in "[ab\n]{0,24}") {
        prop_assert_eq!(Diff::between(&a, &b).is_empty(), a == b);
    }
}
