//! A corpus of hostile repositories goes through every command of ours that touches git. No program of theirs runs, nothing is connected to and nothing is
//! written but what is the command's work (the kernel tells, by strace), and the command does its work or says why not, within a bounded time.
//!
//! `corpus/` has the repositories, each with a control that shows with plain git that what is planted works. `deeds.rs` lists the commands, `desk.rs` runs
//! them, `watched.rs` reads what the kernel tells, and `told.rs` puts what came of it into a line. The snapshot has, of each repository, the lines that are
//! not those of a repository without anything hostile. After a change: `HOLDFAST_SOAK=1 INSTA_UPDATE=always cargo nextest run -p holdfast --test
//! hostile_repositories`; without the first of these, every fifth repository goes through all commands, and the others through the most telling.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

#[path = "gateway/browser.rs"]
mod browser;
#[path = "hostile_repositories/corpus/mod.rs"]
mod corpus;
#[path = "hostile_repositories/deeds.rs"]
mod deeds;
#[path = "hostile_repositories/desk.rs"]
mod desk;
mod home;
#[path = "gateway/house.rs"]
mod house;
#[path = "foreign_programs/repository.rs"]
mod repository;
#[path = "daemon/running.rs"]
mod running;
#[path = "matrix/table.rs"]
mod table;
#[path = "hostile_repositories/told.rs"]
mod told;
#[path = "hostile_repositories/watched.rs"]
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use corpus::kit::Kit;
use corpus::{catalogue, control};
use deeds::{Deed, How};
use desk::{Cell, Desk, Traced};
use watched::Files;

/// Repositories that are looked at at once; more than processors, since some of it waits.
const AT_ONCE: usize = 3;

/// Does this for each of so many, some at once, and gives what came of each in order.
fn for_each<T: Send, W>(
    count: usize,
    worker: impl Fn() -> W + Sync,
    one: impl Fn(&W, usize) -> T + Sync,
) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                let worker = worker();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        break;
                    }
                    let came = one(&worker, n);
                    done.lock().unwrap().insert(n, came);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

#[test]
fn every_plant_works() {
    let told = for_each(
        catalogue::ALL.len(),
        || (),
        |(), n| {
            let hostile = &catalogue::ALL[n];
            let checked = std::panic::catch_unwind(|| control::check(hostile));
            (hostile.name, checked.map_err(|_| "it does not work"))
        },
    );
    let mut table = String::new();
    for (name, checked) in &told {
        writeln!(table, "{name}: {}", checked.as_deref().unwrap_or("IT DOES NOT WORK")).unwrap();
    }
    println!("{table}");
    assert!(told.iter().all(|(_, checked)| checked.is_ok()), "{table}");
}

/// What came of a repository, by its number.
type Came = (usize, Vec<Cell>);

/// Takes repositories through commands, and gives what came of each; a fault of any is a fault of the test.
fn taken_through(asked: &[(usize, Vec<&'static Deed>)], git: Option<&Path>) -> Vec<Came> {
    let takes_a_daemon = |deed: &&&Deed| matches!(deed.how, How::Daemon | How::Sent);
    let with_a_daemon = asked.iter().any(|(_, deeds)| deeds.iter().any(|deed| takes_a_daemon(&deed)));
    let daemon = with_a_daemon.then(Traced::new);
    let began = Instant::now();
    let one = |desk: &Desk, n: usize| {
        let (number, deeds) = &asked[n];
        (*number, desk.goes_to(&catalogue::ALL[*number], *number, deeds, daemon.as_ref()))
    };
    let all = for_each(asked.len(), || Desk::new(git), one);
    let pairs: usize = all.iter().map(|(_, cells)| cells.len()).sum();
    println!(
        "{} repositories, {pairs} pairs of a repository and a command, {:.1} s",
        all.len(),
        began.elapsed().as_secs_f64()
    );
    let mut faults = String::new();
    for (number, cells) in &all {
        for Cell { deed, faults: found, .. } in cells {
            found.iter().for_each(|fault| {
                writeln!(faults, "{}: {deed}: {fault}", catalogue::ALL[*number].name).unwrap()
            });
        }
    }
    for fault in daemon.map(Traced::ends).into_iter().flatten() {
        writeln!(faults, "the daemon: {fault}").unwrap();
    }
    assert!(faults.is_empty(), "\n{faults}");
    all
}

fn is_soak() -> bool {
    std::env::var_os("HOLDFAST_SOAK").is_some()
}

#[test]
fn no_repository_runs_anything_through_any_command_of_ours() {
    let wanted = |number: usize| {
        deeds::ALL.iter().filter(move |deed| deed.is_quick || number.is_multiple_of(5) || is_soak()).collect()
    };
    let asked: Vec<(usize, Vec<&'static Deed>)> =
        (0..catalogue::ALL.len()).map(|number| (number, wanted(number))).collect();
    let all = taken_through(&asked, None);
    if is_soak() {
        insta::assert_snapshot!("what_came_of_it", table(&all));
    }
    let (known, mut other) = (Known::read(), String::new());
    for (number, cells) in &all {
        let name = catalogue::ALL[*number].name;
        for Cell { deed, told, .. } in
            cells.iter().filter(|cell| known.of(name, cell.deed) != Some(&cell.told))
        {
            writeln!(
                other,
                "{name}\n-    {deed}: {}\n+    {deed}: {told}",
                known.of(name, deed).map_or("?", String::as_str)
            )
            .unwrap();
        }
    }
    assert!(other.is_empty(), "it is not as the snapshot has it\n{other}");
}

/// Some of what git takes from a repository was closed in one release or another. What runs nothing with ours runs nothing with any other, and
/// comes to the same.
#[test]
fn with_every_git_of_this_machine_it_comes_to_the_same() {
    let some = [
        "none",
        "lazy fetch",
        "log.showSignature with gpg.program",
        "hooks in",
        "core.fsmonitor",
        "grafts",
        "a commit-graph that lies",
    ];
    let is_wanted =
        |number: &usize| is_soak() || some.iter().any(|name| catalogue::ALL[*number].name.starts_with(name));
    let without_a_daemon =
        |deed: &&Deed| matches!(deed.how, How::There | How::Hook | How::Notes | How::Applied);
    let deeds: Vec<&'static Deed> = deeds::ALL
        .iter()
        .filter(without_a_daemon)
        .filter(|deed| deed.is_quick || is_soak() || deed.name == "memory experience mine")
        .collect();
    let asked: Vec<_> =
        (0..catalogue::ALL.len()).filter(is_wanted).map(|number| (number, deeds.clone())).collect();
    let gits = watched::gits();
    if let [only] = gits.as_slice() {
        println!("NOTHING WAS COMPARED: {} is the only git of this machine", only.display());
    }
    let ours = taken_through(&asked, None);
    for git in &gits[1..] {
        for ((number, with_it), (_, with_ours)) in taken_through(&asked, Some(git)).iter().zip(&ours) {
            let told = |cells: &[Cell]| {
                cells.iter().map(|cell| format!("{}: {}", cell.deed, cell.told)).collect::<Vec<_>>()
            };
            assert_eq!(
                told(with_it),
                told(with_ours),
                "{} with {}",
                catalogue::ALL[*number].name,
                git.display()
            );
        }
    }
}

/// Every command is in one of two lists: it is taken through the corpus, or it is shown here to start no git at all.
#[test]
fn the_commands_that_are_not_tried_start_no_git() {
    let is_tried = |command: &str| {
        deeds::ALL.iter().any(|deed| deed.args.join(" ").starts_with(command))
            || deeds::ASKED_BY_OTHERS.contains(&command)
    };
    let kit = Kit::new();
    kit.set("[core]\n\tfsmonitor = {fsmonitor}\n\tpager = {pager}\n\teditor = {editor}\n");
    kit.set_hooks(&kit.file(".git/hooks"));
    let before = Files::below(kit.all());
    let others: Vec<&table::Row> = table::TABLE.iter().filter(|row| !is_tried(row.command)).collect();
    let faults = for_each(
        others.len(),
        || Desk::new(None),
        |desk, n| {
            let row = others[n];
            let words: Vec<String> =
                row.command.split(' ').chain(row.args.iter().copied()).map(|word| desk.word(word)).collect();
            let (ran, started) = desk.runs_any(&kit, &words);
            let fault = started.contains("git").then(|| format!("{} starts git", row.command));
            fault.or_else(|| (ran.code == 137).then(|| format!("{} does not end", row.command)))
        },
    );
    let faults: BTreeSet<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(kit.marks(), Vec::<String>::new());
    assert_eq!(before.changed(&Files::below(kit.all())), BTreeSet::new());
    println!("{} rows of the table of commands start no git", others.len());
}

/// Of each repository what is not as it is with the first, in which nothing is hostile.
fn table(all: &[Came]) -> String {
    let mut table = String::new();
    let (_, usual) = &all[0];
    for (number, cells) in all {
        writeln!(table, "{}", catalogue::ALL[*number].name).unwrap();
        for (cell, usually) in cells.iter().zip(usual) {
            if *number == 0 || cell.told != usually.told {
                writeln!(table, "    {}: {}", cell.deed, cell.told).unwrap();
            }
        }
    }
    table
}

/// What the snapshot has, by repository and command.
struct Known(BTreeMap<String, BTreeMap<&'static str, String>>);

impl Known {
    fn read() -> Known {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/snapshots/hostile_repositories__what_came_of_it.snap");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (_, text) = text.strip_prefix("---\n").unwrap().split_once("---\n").unwrap();
        let (mut all, mut name) = (BTreeMap::<String, BTreeMap<&str, String>>::new(), "");
        for line in text.lines() {
            match line.strip_prefix("    ") {
                None => {
                    name = line;
                    all.entry(name.to_owned()).or_default();
                }
                Some(line) => {
                    let deed = deeds::ALL
                        .iter()
                        .find(|deed| line.strip_prefix(deed.name).is_some_and(|rest| rest.starts_with(": ")));
                    let deed = deed.unwrap_or_else(|| panic!("no command of the list: {line}")).name;
                    all.entry(name.to_owned()).or_default().insert(deed, line[deed.len() + 2..].to_owned());
                }
            }
        }
        Known(all)
    }

    fn of(&self, name: &str, deed: &str) -> Option<&String> {
        let usual = self.0.get(catalogue::ALL[0].name)?;
        self.0.get(name)?.get(deed).or_else(|| usual.get(deed))
    }
}
