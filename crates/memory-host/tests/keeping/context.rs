//! What an agent is given for an objective, what is known of each memory, and how that changes with votes and age.

use std::time::Duration;

use holdfast_memory::usage::{Counted, Level, Limits};
use holdfast_memory::{Gates, Standing, Voter};
use holdfast_memory_host::{Line, Only, Passage, ToPack};
use holdfast_types::Trust;

use crate::home::{Home, agent, by, count, draft, holds, model};

const PORT: &str = "The gateway of the staging cluster listens on port 9096.";
const OTHER_PORT: &str = "The gateway of the staging cluster listens on port 9097.";
const BACKUP: &str = "Backups of the billing database are kept for fourteen days.";

fn pack(home: &Home, objective: &str, token_budget: usize) -> holdfast_memory::Pack {
    let (agent, only) = (agent("scout"), Only::default());
    home.memories.pack(&ToPack { agent: &agent, objective, token_budget, only: &only }).unwrap()
}

// shows: DOC-147, DOC-F01
#[test]
fn a_pack_is_the_same_bytes_after_a_restart_and_keeps_to_its_budget() {
    for with_model in [false, true] {
        let model = || with_model.then(model);
        let home = Home::new(model());
        for text in [PORT, BACKUP, "Ana prefers short commit messages without emoji."] {
            home.remember("scout", text);
        }
        home.memories.embed_all(&agent("scout")).unwrap();
        let made = pack(&home, "which port does the staging gateway use?", 400);
        assert_eq!(made.items[0].text.lines().last(), Some(format!("> {PORT}").as_str()), "{made:?}");
        assert!(made.items[0].rationale.contains("matches in words"), "{}", made.items[0].rationale);
        assert!(made.tokens <= 400 && made.tokens > 0);
        assert_eq!(made.request.model.is_some(), with_model);
        let bytes = serde_json::to_vec(&made).unwrap();
        let space = home.folder();
        let home = home.again_after(model(), || std::fs::remove_dir_all(space).unwrap());
        home.memories.embed_all(&agent("scout")).unwrap();
        let again = pack(&home, "which port does the staging gateway use?", 400);
        assert_eq!(serde_json::to_vec(&again).unwrap(), bytes);

        let small = pack(&home, "which port does the staging gateway use?", 70);
        assert!(small.tokens <= 70 && small.left_out > 0, "{small:?}");
        home.remember("scout", "The release branch is cut on Tuesdays.");
        assert_ne!(pack(&home, "which port does the staging gateway use?", 400).digest, made.digest);
    }
}

// shows: MEM-F36
#[test]
fn two_that_contradict_are_kept_marked_and_packed_together_among_many_that_are_worded_alike() {
    for with_model in [false, true] {
        let home = Home::new(with_model.then(model));
        let parts = [
            "exporter",
            "scheduler",
            "registry",
            "mirror",
            "dashboard",
            "cache",
            "queue",
            "broker",
            "indexer",
            "resolver",
            "balancer",
            "collector",
            "archiver",
            "console",
            "builder",
            "runner",
            "ledger",
            "monitor",
            "printer",
            "spooler",
        ];
        for (n, part) in parts.iter().enumerate() {
            home.remember("scout", &format!("The {part} of the staging cluster listens on port 91{n:02}."));
        }
        let one = home.remember("scout", PORT);
        let run = || {
            let gates = Gates::consolidation();
            home.memories.consolidate(&agent("scout"), &by().actor, &gates).unwrap().unwrap()
        };
        run();
        let other = home.remember("scout", OTHER_PORT);
        assert!(run().conflicts.contains(&(one, other)), "with a model: {with_model}");
        let found = home.search("scout", "port of the staging gateway");
        for (id, opposite) in [(one, other), (other, one)] {
            let hit = found.hits.iter().find(|hit| hit.row.id == id).unwrap();
            assert!(hit.conflicts.contains(&opposite), "{:?}", hit.conflicts);
            assert_eq!(hit.row.standing, Standing::Durable);
        }
        let made = pack(&home, "port of the staging gateway", 40_000);
        let item = made.items.iter().find(|item| item.id == one).unwrap();
        assert!(item.rationale.contains(&format!("contradicts {other}")), "{}", item.rationale);
    }
}

// shows: DOC-148, DOC-F03
#[test]
fn who_confirms_lifts_a_memory_once_and_no_file_says_who_it_was() {
    let home = Home::new(None);
    let (first, second) = (
        home.remember("scout", "The mirror in Ghent serves packages for the lab machines."),
        home.remember("scout", "The mirror in Leuven serves packages for the lab machines."),
    );
    let question = "which mirror serves packages for lab machines";
    assert_eq!(home.ids("scout", question), [first, second], "equals go by their age");
    let cite = |who: &str, voter| home.memories.cite(&agent("scout"), second, voter, who).unwrap();
    for _ in 0..50 {
        assert_eq!(cite("wilhelmina", Voter::Person), 1);
    }
    assert_eq!(cite("scribe", Voter::Agent), 2);
    let found = home.search("scout", question);
    assert_eq!(found.hits[0].row.id, second);
    assert!(found.hits[0].why.iter().any(|(why, _)| *why == "it was cited"), "{:?}", found.hits[0].why);
    assert_eq!(home.memories.show(&agent("scout"), second).unwrap().citations, 2);
    home.memories.flush().unwrap();
    assert_eq!(holds(home.house.path(), "wilhelmina"), None);

    // The spaces are made again, and the votes with them; the key of the tokens stays.
    let space = home.folder().join(agent("scout").id().to_string());
    let home = home.again_after(None, || std::fs::remove_dir_all(space).unwrap());
    assert_eq!(home.ids("scout", question)[0], second);
    assert_eq!(home.memories.cite(&agent("scout"), second, Voter::Person, "wilhelmina").unwrap(), 2);
}

// shows: MEM-011
#[test]
fn what_is_known_of_a_memory_says_where_it_comes_from_and_is_trusted_like_the_least_of_it() {
    let home = Home::new(None);
    let mut stranger = by();
    stranger.trust = Trust::Untrusted;
    let page = "The mirror page says that the archive moved to Antwerp.";
    let captured = match home.memories.capture(&agent("scout"), draft(page), &stranger, None).unwrap() {
        holdfast_memory_host::Outcome::Captured(captured) => captured,
        other => panic!("{other:?}"),
    };
    let said = "the archive moved to Antwerp";
    let at = page.find(said).unwrap() as u32;
    let span = holdfast_memory::Span::new(at, at + said.len() as u32).unwrap();
    let from = [Passage { seq: captured.seq, span: Some(span) }];
    let made = draft("The package archive of the lab is in Antwerp since the move.");
    home.memories.capture_from(&agent("scout"), made, &by(), &from, None).unwrap();
    let hit = &home.search("scout", "package archive Antwerp").hits[0];
    let provenance = &hit.entry.header.provenance;
    assert_eq!((hit.row.trust, provenance.trust()), (Trust::Untrusted, Trust::Untrusted));
    assert_eq!(provenance.actor().as_str(), "ana");
    assert_eq!(provenance.origins()[0].seq, captured.seq);
    assert_eq!(provenance.origins()[0].span.unwrap().of(page), Some(said));

    let nowhere = [Passage { seq: 1 << 40, span: None }];
    let made = draft("The archive of the lab has a second copy in Bruges.");
    assert!(home.memories.capture_from(&agent("scout"), made, &by(), &nowhere, None).is_err());
}

// shows: MEM-093, MEM-127, MEM-F44
#[test]
fn after_its_time_a_memory_leaves_planning_and_is_found_and_counted_as_before() {
    let home = Home::new(Some(model()));
    let old = home.remember("scout", PORT);
    home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
    assert_eq!(home.memories.archive(&agent("scout"), &by().actor).unwrap(), []);
    home.house.clock.advance(Duration::from_secs(91 * 24 * 3600));
    assert_eq!(home.memories.archive(&agent("scout"), &by().actor).unwrap(), [old]);
    assert_eq!(home.memories.archive(&agent("scout"), &by().actor).unwrap(), [], "once is enough");
    let found = home.search("scout", "staging gateway port");
    assert_eq!((found.hits[0].row.id, found.hits[0].row.standing), (old, Standing::Archived));
    let fresh = Only { fresh: true, ..Only::default() };
    assert!(home.search_only("scout", "staging gateway port", &fresh).hits.is_empty());
    // Said again, it is no second memory.
    home.remember("scout", "The gateway of the staging cluster is listening on port 9096.");
    let run = home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
    assert_eq!(run.unwrap().merged[0].discarded, old);
}

#[test]
fn an_export_is_what_an_import_takes_and_has_nothing_that_is_gone() {
    let home = Home::new(None);
    let gone = home.remember("scout", "The xylophonist of the office approves every firewall change.");
    for n in 0..300 {
        home.remember("scout", &format!("The worker w{n} of the billing cluster writes to queue q{n}."));
    }
    home.memories.forget(&agent("scout"), gone, &by().actor).unwrap();
    let lines: Vec<String> = home
        .memories
        .export(&agent("scout"))
        .unwrap()
        .map(|line| serde_json::to_string(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(lines.len(), 300);
    assert!(!lines.concat().contains("xylophonist"));
    let again: Vec<Line> = lines.iter().map(|line| Line::parse(line).unwrap()).collect();
    let imported = home.memories.import(&agent("copy"), again, &by(), false).unwrap();
    assert_eq!(imported.captured, 300);
    let texts = |name: &str| -> Vec<String> {
        home.memories.export(&agent(name)).unwrap().map(|line| line.unwrap().content).collect()
    };
    assert_eq!(texts("copy"), texts("scout"));
}

// shows: MEM-094, MEM-098
#[test]
fn figures_are_what_a_recount_gives() {
    let home = Home::new(None);
    for text in [PORT, BACKUP] {
        home.remember("scout", text);
    }
    let before = home.memories.stats(&agent("scout")).unwrap();
    assert_eq!((before.session_entries, before.durable_entries, before.last_consolidation), (2, 0, None));
    home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation()).unwrap();
    home.memories.flush().unwrap();
    let after = home.memories.stats(&agent("scout")).unwrap();
    assert_eq!((after.session_entries, after.durable_entries), (0, 2));
    assert!(after.last_consolidation.is_some());
    assert_eq!((after.kinds["session_fact"], after.months["2026-11"]), (2, 2), "{after:?}");
    let space = home.folder().join(agent("scout").id().to_string());
    assert_eq!(after.storage_bytes, recounted(&space));
}

fn recounted(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let bytes = |entry: std::fs::DirEntry| match entry.path().is_dir() {
        true => recounted(&entry.path()),
        false => entry.metadata().unwrap().len(),
    };
    entries.map(bytes).sum()
}

// shows: MEM-028
#[test]
fn a_level_of_the_context_is_told_once_and_written_down() {
    let home = Home::new(None);
    home.remember("scout", PORT);
    let limits = Limits::of_model(1_000).unwrap();
    let used = |tokens| {
        let by = by().actor;
        home.memories.context_used(&agent("scout"), limits, tokens, Counted::Reported, &by).unwrap()
    };
    let written = || count(&home.house.journal(), "memory.context.reached");
    assert_eq!(used(100).status, Level::Ok);
    assert_eq!(written(), 0, "nothing to tell is nothing written");
    assert!(used(650).message.is_some());
    assert!(used(660).message.is_none());
    assert_eq!(written(), 1);
    home.memories.context_begins(&agent("scout"));
    assert!(used(660).message.is_some());
}
