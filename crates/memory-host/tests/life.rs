//! What is captured is durable and found, by words and by meaning; what is forgotten is nowhere.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod home;

use holdfast_memory::{Gates, Standing};
use holdfast_memory_host::{Line, Only, Outcome};
use home::{Home, agent, by, draft, holds, model};

const PORT: &str = "The gateway of the staging cluster listens on port 9096.";
const BACKUP: &str = "Backups of the billing database are kept for fourteen days.";
const EDITOR: &str = "Ana prefers short commit messages without emoji.";

// shows: MEM-096, MEM-123
#[test]
fn what_is_captured_is_found_at_once_by_its_words_and_after_a_restart() {
    let home = Home::new(None);
    let ids = [PORT, BACKUP, EDITOR].map(|text| home.remember("scout", text));
    let found = home.search("scout", "which port does the gateway use?");
    assert!(found.lexical && found.exact);
    assert_eq!(found.hits[0].row.id, ids[0]);
    assert_eq!(found.hits[0].entry.text(), PORT);
    assert_eq!(found.hits[0].row.standing, Standing::Session);
    assert!(!found.hits[0].why.is_empty(), "nothing says why");
    assert_eq!(home.ids("scout", "database backups")[0], ids[1]);

    let home = home.again(None);
    assert_eq!(home.ids("scout", "commit messages")[0], ids[2]);
    let next = home.remember("scout", "The release branch is cut on Tuesdays.");
    assert!(next > ids[2], "numbers go on: {next}");
}

#[test]
fn what_is_meant_is_found_where_no_word_is_shared() {
    let home = Home::new(Some(model()));
    let ids = [PORT, BACKUP, EDITOR].map(|text| home.remember("scout", text));
    home.memories.embed_all(&agent("scout")).unwrap();
    let found = home.search("scout", "how long do we hold on to copies of invoices data");
    assert!(!found.lexical);
    assert_eq!(found.hits[0].row.id, ids[1], "{:?}", found.hits);
    assert_eq!(found.without_vector, 0);
}

// shows: MEM-F56
#[test]
fn nobody_finds_what_another_agent_remembers() {
    let home = Home::new(None);
    home.remember("one", PORT);
    home.remember("two", BACKUP);
    assert!(home.search("two", "gateway port staging").hits.is_empty());
    assert!(
        home.memories
            .search(&holdfast_memory_host::Ask {
                agent: &agent("three"),
                query: "gateway",
                top: 1,
                only: &Only::default(),
                now: None,
            })
            .is_err()
    );
}

#[test]
fn a_secret_is_stored_nowhere_and_noise_is_refused_without_its_words() {
    let home = Home::new(None);
    let key = ["AKIA", "QYLPMN5HFIQR7XYZ"].concat();
    let text = format!("The deploy job of billing uses the access key {key} on host zebrafish-1.");
    home.remember("scout", &text);
    assert!(!home.search("scout", "deploy job zebrafish").hits[0].entry.text().contains(&key));
    let refused = home.capture("scout", "Let me check the quokkas first.");
    assert!(matches!(refused, Outcome::Rejected(_)), "{refused:?}");
    home.memories.flush().unwrap();
    for needle in [key.as_str(), "quokkas"] {
        assert_eq!(holds(home.house.path(), needle), None, "{needle}");
    }
}

// shows: MEM-F19
#[test]
fn the_same_key_is_the_same_memory() {
    let home = Home::new(None);
    let once = |text: &str| {
        let key = Some("turn-7".parse().unwrap());
        match home.memories.capture(&agent("scout"), draft(text), &by(), key).unwrap() {
            Outcome::Captured(captured) => captured,
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (once(PORT), once(PORT));
    assert!(!first.repeated && second.repeated);
    assert_eq!((first.id, first.seq), (second.id, second.seq));
}

// shows: MEM-036, MEM-073, MEM-097, MEM-F31
#[test]
fn said_twice_is_kept_once_and_what_contradicts_is_kept_apart() {
    let home = Home::new(Some(model()));
    let first = home.remember("scout", PORT);
    home.remember("scout", BACKUP);
    let run = |home: &Home| {
        home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap()
    };
    let summary = run(&home).unwrap();
    assert_eq!((summary.counts.promoted, summary.fallback_used), (2, false));
    assert_eq!(run(&home), None, "nothing to decide is nothing written");

    let again = home.remember("scout", "The gateway of the staging cluster is listening on port 9096.");
    let other = home.remember("scout", "The gateway of the staging cluster listens on port 9097.");
    let summary = run(&home).unwrap();
    assert_eq!((summary.merged.len(), summary.conflicts.len()), (1, 1), "{summary:?}");
    assert_eq!((summary.merged[0].kept, summary.merged[0].discarded), (again, first));
    let found = home.search("scout", "staging gateway port");
    let ids: Vec<_> = found.hits.iter().map(|hit| hit.row.id).collect();
    assert!(ids.contains(&again) && ids.contains(&other) && !ids.contains(&first), "{ids:?}");
    let hit = found.hits.iter().find(|hit| hit.row.id == other).unwrap();
    assert_eq!(hit.conflicts, [again]);
}

#[test]
fn what_is_forgotten_is_in_no_file_and_its_ancestors_with_it() {
    let home = Home::new(Some(model()));
    let rare = "The xylophonist of the Wolverhampton office approves every firewall change.";
    let first = home.remember("scout", rare);
    let second =
        home.remember("scout", "The xylophonist of the Wolverhampton office approves each firewall change.");
    home.remember("scout", BACKUP);
    home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
    home.memories.flush().unwrap();
    let proof = home.memories.prove_forgotten(&agent("scout"), second).unwrap();
    assert!(!proof.holds(), "it is still there: {proof:?}");

    let gone = home.memories.forget(&agent("scout"), second, &by().actor).unwrap();
    assert_eq!(gone.ids, [first, second], "what it had replaced goes too");
    for id in [first, second] {
        assert!(home.memories.prove_forgotten(&agent("scout"), id).unwrap().holds());
    }
    assert!(
        home.search("scout", "xylophonist Wolverhampton").hits.iter().all(|hit| hit.entry.text() == BACKUP)
    );
    home.memories.flush().unwrap();
    for needle in ["xylophonist", "wolverhampton", "wolverhampt"] {
        assert_eq!(holds(home.house.path(), needle), None, "{needle}");
    }
    // It does not come back, and neither does its number.
    let home = home.again(None);
    assert!(home.memories.prove_forgotten(&agent("scout"), first).unwrap().holds());
    assert!(home.remember("scout", PORT) > second);
}

// shows: MEM-056, MEM-F07, MEM-F09, MEM-F10, MEM-F32
#[test]
fn a_space_that_is_lost_or_damaged_is_made_again_from_the_journal() {
    let mut home = Home::new(Some(model()));
    let ids = [PORT, BACKUP, EDITOR].map(|text| home.remember("scout", text));
    home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
    home.memories.forget(&agent("scout"), ids[2], &by().actor).unwrap();
    let before = home.memories.counted(&agent("scout")).unwrap();
    assert_eq!((before.durable, before.forgotten, before.runs), (2, 1, 1), "{before:?}");
    let space = home.folder().join(agent("scout").id().to_string());
    for damaged in ["", "space.db", "words", "rows", "vectors", "followed.json"] {
        home.memories.flush().unwrap();
        let damage = || match damaged {
            "" => std::fs::remove_dir_all(&space).unwrap(),
            "words" | "vectors" => garble(&space.join(damaged)),
            "followed.json" => std::fs::write(space.with_file_name(damaged), "{").unwrap(),
            file => std::fs::write(space.join(file), b"nonsense").unwrap(),
        };
        home = home.again_after(Some(model()), damage);
        home.memories.embed_all(&agent("scout")).unwrap();
        assert_eq!(home.memories.counted(&agent("scout")).unwrap(), before, "{damaged}");
        assert_eq!(home.ids("scout", "gateway port")[0], ids[0], "{damaged}");
        let meant = home.search("scout", "how long do we hold on to copies of invoices data");
        assert_eq!((meant.hits[0].row.id, meant.lexical), (ids[1], false), "{damaged}");
        assert!(home.memories.prove_forgotten(&agent("scout"), ids[2]).unwrap().holds(), "{damaged}");
    }
}

/// Every file of a folder has a byte that is another.
fn garble(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let mut bytes = std::fs::read(entry.path()).unwrap();
        if let Some(byte) = bytes.first_mut() {
            *byte ^= 0x55;
        }
        std::fs::write(entry.path(), bytes).unwrap();
    }
}

#[test]
fn lines_from_elsewhere_keep_their_ids_are_redacted_and_stay() {
    let home = Home::new(None);
    let line = |id: &str, text: &str| {
        let text = serde_json::json!({"id": id, "content": text, "at": "2023-05-08T13:56:00Z", "source": "session_1"});
        Line::parse(&text.to_string()).unwrap()
    };
    let lines = || {
        vec![
            line("D1:1", "Let me check the logs first."),
            line("D1:2", "Melanie: I painted a sunrise last year."),
            line("D1:3", "Caroline: My mail is caroline.stone@example.org these days."),
        ]
    };
    let imported = home.memories.import(&agent("conv"), lines(), &by(), false).unwrap();
    assert_eq!((imported.captured, imported.repeated), (3, 0), "{imported:?}");
    assert!(!imported.doubted.is_empty(), "the gates say nothing of chatter");
    let again = home.memories.import(&agent("conv"), lines(), &by(), false).unwrap();
    assert_eq!((again.captured, again.repeated), (0, 3));
    let found = home.search("conv", "When did Melanie paint a sunrise?");
    assert_eq!(found.hits[0].row.foreign_id.as_deref(), Some("D1:2"));
    assert_eq!(found.hits[0].row.standing, Standing::Durable);
    assert_eq!(
        home.memories.consolidate(&agent("conv"), &by().actor, &Gates::consolidation()).unwrap(),
        None
    );
    home.memories.flush().unwrap();
    assert_eq!(holds(home.house.path(), "caroline.stone@example.org"), None);

    let refused = home.memories.import(&agent("strict"), lines(), &by(), true).unwrap();
    assert!(refused.captured < 3 && !refused.refused.is_empty(), "{refused:?}");
}
