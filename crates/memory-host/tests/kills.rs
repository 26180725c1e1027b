//! A process that captures, consolidates, embeds, writes notes, shares and forgets is killed at any moment: nothing that it said was captured is
//! lost, nothing is promoted twice, nothing that it said was forgotten is in any file, and spaces and notes are what a rebuild from the
//! journal gives.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod home;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_memory::{Gates, MemoryId, Standing, Voter};
use holdfast_memory_host::{Portion, Row};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::house::House;
use holdfast_testkit::{rounds, with_seeds};
use home::{Home, agent, by, holds, model};

const NAME: &str = "scout";

/// The child, when this is it.
#[test]
fn rememberer() {
    crash::child_main("rememberer", |args, report| {
        let house = House::attach(Path::new(&args[0]), "test");
        let with_model = args[2] == "model";
        let home = Home::of(house, with_model.then(model));
        report.line("open");
        let mut mine: Vec<MemoryId> = Vec::new();
        for n in 0u32.. {
            let word = format!("quark{}x{n}z", args[1]);
            let text = format!("The worker named {word} of the billing cluster writes to queue q{n}.");
            let id = home.remember(NAME, &text);
            report.line(format!("captured {id} {word}"));
            mine.push(id);
            match n % 6 {
                0 => {
                    home.memories.write_notes(&agent(NAME), &by()).unwrap();
                    report.line("noted");
                }
                1 => {
                    let (what, with) = (Portion::One(id), agent("other"));
                    home.memories.share(&agent(NAME), &what, &with, &by().actor).unwrap();
                    home.memories.cite(&agent(NAME), id, Voter::Person, "ana").unwrap();
                    if n % 12 == 1 {
                        home.memories.commit_notes(&agent(NAME)).unwrap();
                        report.line("committed");
                    }
                }
                2 => {
                    home.memories.consolidate(&agent(NAME), &by().actor, &Gates::consolidation()).unwrap();
                    report.line("consolidated");
                }
                3 => {
                    let id = mine[mine.len() / 2];
                    report.line(format!("forgetting {id}"));
                    home.memories.forget(&agent(NAME), id, &by().actor).unwrap();
                    report.line(format!("forgotten {id}"));
                    mine.retain(|it| *it != id);
                }
                4 => {
                    home.memories.tend(&|| true).unwrap();
                    home.memories.flush().unwrap();
                    report.line("flushed");
                }
                _ => {}
            }
        }
    });
}

/// What was said of each memory.
#[derive(Default)]
struct Told {
    captured: BTreeMap<MemoryId, String>,
    /// Whether it was said to be gone, or only to be going.
    forgotten: BTreeMap<MemoryId, bool>,
}

impl Told {
    fn remember(&mut self, lines: &[String]) {
        for line in lines {
            match line.split_once(' ') {
                Some(("captured", told)) => {
                    let (id, word) = told.split_once(' ').unwrap();
                    let before = self.captured.insert(id.parse().unwrap(), word.to_owned());
                    assert_eq!(before, None, "{id} was given twice")
                }
                Some(("forgetting", id)) => drop(self.forgotten.entry(id.parse().unwrap()).or_insert(false)),
                Some(("forgotten", id)) => drop(self.forgotten.insert(id.parse().unwrap(), true)),
                _ => {}
            }
        }
    }
}

// shows: MEM-006, MEM-007, MEM-008, MEM-026, MEM-057, MEM-087, MEM-091, MEM-F20, MEM-128
#[test]
fn killed_at_any_moment_nothing_said_is_lost_doubled_or_comes_back() {
    let mut said = 0;
    with_seeds(1, |seed| {
        let mut rng = seed.child("kills").rng();
        let (mut house, mut told) = (House::new(), Told::default());
        for round in 0..rounds(60, 300) {
            if round % 20 == 19 {
                (house, told) = (House::new(), Told::default());
            }
            let with = if rng.chance(0.3) { "model" } else { "words" };
            let child =
                Crash::new("rememberer").arg(house.path().display()).arg(round).arg(with).spawn().unwrap();
            if let Some(line) = [
                None,
                Some("open"),
                Some("captured"),
                Some("noted"),
                Some("committed"),
                Some("consolidated"),
                Some("forgetting"),
                Some("forgotten"),
            ][rng.range(0..8) as usize]
            {
                child.wait_line(line, Duration::from_secs(60)).unwrap();
            }
            let remains = child.kill_after(Duration::from_micros(rng.range(0..30_000))).unwrap();
            assert!(remains.was_killed(), "round {round}: it ended by itself, {}", remains.status);
            said += remains.lines.len();
            told.remember(&remains.lines);
            house = check(house, &told, round);
        }
    });
    assert!(said >= 60, "only {said} lines: the children need more time");
}

fn check(house: House, told: &Told, round: u32) -> House {
    let home = Home::of(house, None);
    if told.captured.is_empty() {
        return home.closed();
    }
    let rows = home.memories.rows(&agent(NAME), 0, usize::MAX >> 1).unwrap();
    let by_id: BTreeMap<MemoryId, &Row> = rows.iter().map(|row| (row.id, row)).collect();
    assert_eq!(by_id.len(), rows.len(), "round {round}: an id is there twice");
    for (id, word) in &told.captured {
        let row = by_id.get(id).unwrap_or_else(|| panic!("round {round}: {id} is lost"));
        match told.forgotten.get(id) {
            None => {
                assert!(row.standing.is_live() || matches!(row.standing, Standing::Merged { .. }), "{row:?}")
            }
            // It was going, and may have come that far or not.
            Some(false) => {}
            Some(true) => {
                assert_eq!(row.standing, Standing::Forgotten, "round {round}");
                let proof = home.memories.prove_forgotten(&agent(NAME), *id).unwrap();
                assert!(proof.holds(), "round {round}: {proof:?}");
                assert_eq!(holds(home.house.path(), word), None, "round {round}: {id}");
            }
        }
    }
    let counted = home.memories.counted(&agent(NAME)).unwrap();
    assert_eq!(counted.strange, 0, "round {round}: something was promoted or forgotten twice: {counted:?}");
    let (ids, space) = (home.ids(NAME, "worker of the billing cluster"), home.folder());
    let shared = home.memories.stats(&agent(NAME)).unwrap().shared;
    let notes = written(&home);
    // Thrown away and made again, it is the same.
    let home = home.again_after(None, || std::fs::remove_dir_all(&space).unwrap());
    assert_eq!(home.memories.rows(&agent(NAME), 0, usize::MAX >> 1).unwrap(), rows, "round {round}");
    assert_eq!(home.memories.counted(&agent(NAME)).unwrap(), counted, "round {round}");
    assert_eq!(home.ids(NAME, "worker of the billing cluster"), ids, "round {round}");
    assert_eq!(home.memories.stats(&agent(NAME)).unwrap().shared, shared, "round {round}");
    assert_eq!(written(&home), notes, "round {round}");
    home.closed()
}

/// The notes, brought up to date.
fn written(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    home.memories.write_notes(&agent(NAME), &by()).unwrap();
    let folder = home.memories.notes_folder(&agent(NAME));
    let folders = [folder.clone(), folder.join("memory"), folder.join("archive")];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
