//! Somebody who goes with every command of ours to a repository of the corpus, and writes down what came of it.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use holdfast_steward::ladder::Level;
use holdfast_testkit::files::copy_tree;

use crate::browser::{Reply, call_with};
use crate::corpus::catalogue::Hostile;
use crate::corpus::kit::Kit;
use crate::deeds::{self, Deed, How};
use crate::home::{Home, Ran};
use crate::house::House;
use crate::running::Running;
use crate::told;
use crate::watched::{self, Allowed, Files, WITHIN_S};

/// The user that programs in a cage run as; nobody on the machine is.
const CAGED: u32 = 48_211;
/// A host that the steward of every home looks after, so that there is something to tell about what was applied.
const TARGETS: &str =
    "steward:\n  targets:\n    - { name: box-1, driver: sim, seed: 7, speed: 1, trouble: memory }\n";

/// A home in which every command has something to do.
pub struct Desk {
    house: House,
    forgotten: String,
    /// Another git than the one that is found.
    git: Option<PathBuf>,
    /// Where traces and temporary files are.
    beside: tempfile::TempDir,
}

/// A daemon that is traced, and somebody who may send it something over HTTP.
pub struct Traced {
    house: House,
    token: String,
    /// One history is learnt from at a time.
    web: Mutex<tokio::runtime::Runtime>,
    beside: tempfile::TempDir,
}

/// What came of one command in one repository.
pub struct Cell {
    pub deed: &'static str,
    pub told: String,
    pub faults: Vec<String>,
}

impl Desk {
    /// With the git that is found, or with another.
    pub fn new(git: Option<&Path>) -> Desk {
        let house = House::planned(TARGETS);
        house.trusted(Level::Observe, "a test");
        let home = &house.home;
        let memory = |text: &str| {
            let said = home.json(&["memory", "add", text, "--agent", "scout", "--actor", "ana"]);
            said["id"].as_str().unwrap().to_owned()
        };
        memory("The gateway of staging listens on port 9096.");
        let forgotten = memory("The ferry of the harbour leaves at nine on weekdays.");
        home.run(&["memory", "consolidate", "--agent", "scout", "--actor", "ana"]).ok();
        home.run(&["memory", "notes", "--agent", "scout", "--actor", "ana"]).ok();
        home.run(&["memory", "forget", &forgotten, "--agent", "scout", "--actor", "ana", "--yes"]).ok();
        for ours in places(home) {
            let _none_yet = std::fs::remove_dir_all(&ours);
            std::fs::create_dir_all(ours.parent().unwrap()).unwrap();
        }
        Desk { house, forgotten, git: git.map(Path::to_owned), beside: tempfile::tempdir().unwrap() }
    }

    /// Every command that is wanted, in a repository of its own kind.
    pub fn goes_to(
        &self,
        hostile: &Hostile,
        number: usize,
        wanted: &[&'static Deed],
        daemon: Option<&Traced>,
    ) -> Vec<Cell> {
        let kit = Kit::new();
        (hostile.plant)(&kit);
        kit.clear_marks();
        let there = There { kit: &kit, agent: format!("r{number}") };
        wanted.iter().map(|deed| self.does(deed, &there, daemon)).collect()
    }

    fn does(&self, deed: &'static Deed, there: &There<'_>, daemon: Option<&Traced>) -> Cell {
        let kit = there.kit;
        self.prepares(deed.how, kit);
        let bundle = (deed.how == How::Sent).then(|| kit.bundle());
        kit.clear_marks();
        let (before, began) = (Files::below(kit.all()), Instant::now());
        let (told, mut faults) = match (deed.how, daemon, bundle) {
            (How::Sent | How::Daemon, None, _) => panic!("{} takes a daemon", deed.name),
            (How::Sent, Some(daemon), Some(Some(bundle))) => {
                (told::reply(&daemon.sends(&there.agent, bundle)), BTreeSet::new())
            }
            (How::Sent, ..) => ("git makes no bundle of it".to_owned(), BTreeSet::new()),
            (How::Daemon, Some(daemon), _) => self.runs(&daemon.house.home, deed, there),
            _ => self.runs(&self.house.home, deed, there),
        };
        let took = began.elapsed();
        if took >= Duration::from_secs(u64::from(WITHIN_S)) {
            faults.insert(format!("took {} s", took.as_secs()));
        }
        faults.extend(kit.marks().iter().map(|mark| format!("the trap {mark} sprang")));
        let (mut expected, mut odd): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) = Default::default();
        for path in before.changed(&Files::below(kit.all())) {
            if deeds::may_change(deed.how, &path) {
                expected.insert(path)
            } else {
                odd.insert(path)
            };
        }
        faults.extend(odd.iter().map(|path| format!("changed {}", path.display())));
        let written = told::changes(kit, &expected);
        let told = [told, written].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        Cell {
            deed: deed.name,
            told: told::same(&told, kit, &self.house.home),
            faults: faults.into_iter().collect(),
        }
    }

    /// Brings about what a command expects.
    fn prepares(&self, how: How, kit: &Kit) {
        let [notes, applied] = places(&self.house.home);
        let link = |at: &Path| {
            let _none_yet = std::fs::remove_file(at);
            symlink(kit.git_dir(), at).unwrap();
        };
        match how {
            How::Notes => link(&notes),
            How::Applied => {
                link(&applied);
                // As if what is deployed were there.
                if let Some(head) = kit.head() {
                    let branch = kit.git_dir().join("refs/heads/deployed/box-1");
                    std::fs::create_dir_all(branch.parent().unwrap()).unwrap();
                    std::fs::write(branch, head + "\n").unwrap();
                }
            }
            // Root works in no cage.
            How::Caged => {
                kit.run("chown", &["-Rh", "--from=0", &CAGED.to_string(), kit.all().to_str().unwrap()])
            }
            _ => {}
        }
    }

    fn runs(&self, home: &Home, deed: &Deed, there: &There<'_>) -> (String, BTreeSet<String>) {
        let kit = there.kit;
        let args: Vec<String> = deed.args.iter().map(|word| self.filled(word, there)).collect();
        let mut ours = home.command(&["--json"]);
        ours.args(&args).current_dir(kit.stand()).env("TMPDIR", kit.beside("tmp"));
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"] {
            ours.env_remove(name);
        }
        let mut input = None;
        if deed.how == How::Hook {
            ours.env("GIT_DIR", kit.git_dir()).env("GIT_INDEX_FILE", kit.git_dir().join("index"));
            let head = kit.head().unwrap_or_else(|| "1".repeat(40));
            input = Some(format!("refs/heads/main {head} refs/heads/main {}\n", "0".repeat(40)));
        }
        let log = self.beside.path().join("trace");
        let (ran, trace) =
            watched::traced(&ours, self.git.as_deref(), &log, input.as_deref().map(str::as_bytes));
        let mut faults = if deed.how == How::Caged {
            odd_in_a_cage(&trace)
        } else {
            watched::odd(&trace, &self.allowed(home, kit, deed.how))
        };
        if ran.code == 137 {
            faults.insert(format!("did not end within {WITHIN_S} s"));
        }
        if ran.err.contains("panicked") {
            faults.insert(format!("panicked: {}", ran.err));
        }
        (told::ran(&ran), faults)
    }

    fn filled(&self, word: &str, there: &There<'_>) -> String {
        match word {
            "FOLDER" => there.kit.stand().display().to_string(),
            "AGENT" => there.agent.clone(),
            "FORGOTTEN" => self.forgotten.clone(),
            other => other.to_owned(),
        }
    }

    fn allowed(&self, home: &Home, kit: &Kit, how: How) -> Allowed {
        let mut folders = vec![home.path().to_owned(), kit.beside("tmp")];
        if matches!(how, How::Hooks | How::Notes) {
            // What of it may be changed is looked at afterwards.
            folders.push(kit.all().to_owned());
        }
        let (mut programs, mut passing) = (Vec::new(), Vec::new());
        if how == How::Applied {
            passing.push("/tmp/.git_vtag_tmp");
            // What checks a signature is named by us: OpenSSH, and for other kinds a program that says no.
            programs.extend(
                ["ssh-keygen", "false"].iter().filter_map(|name| holdfast_subprocess::find(name).ok()),
            );
        }
        Allowed {
            stands: kit.stand(),
            programs,
            sockets: vec![home.path().join("run/holdfast.sock")],
            folders,
            passing,
        }
    }
}

impl Desk {
    /// Runs any command there, in a copy of the home, and gives the programs that it started and the faults.
    pub fn runs_any(&self, kit: &Kit, words: &[String]) -> (Ran, BTreeSet<String>) {
        let copy = tempfile::tempdir().unwrap();
        copy_tree(self.house.home.path(), copy.path().join("home"));
        let home = Home::at(&copy.path().join("home"));
        let mut ours = home.command(&[]);
        ours.args(words).current_dir(kit.stand()).env("TMPDIR", kit.beside("tmp")).env("HOME", copy.path());
        let (ran, trace) = watched::traced(&ours, None, &self.beside.path().join("trace"), None);
        (ran, watched::started(&trace))
    }

    /// What a word of the table of all commands stands for.
    pub fn word(&self, word: &str) -> String {
        let file = self.beside.path().join(word.to_lowercase());
        let text = match word {
            "MEMORY" => return self.forgotten.clone(),
            "SERIES" => "timestamp,value\n2026-11-15,3\n2026-11-16,4\n",
            "LINES" | "QUERIES" => {
                "{\"id\":\"D1\",\"content\":\"The harbour master is called Ines.\",\"query\":\"which port\"}\n"
            }
            "TEXT" | "NOTES" | "PROOF" | "REQUEST" | "COSIGNED" | "STRANGER" => {
                "# Ferry\n\nThe ferry leaves at nine on weekdays.\n"
            }
            "OUT" | "BESIDE" | "NOWHERE" => return file.display().to_string(),
            other => return other.replace("ADDRESS", "127.0.0.1:1"),
        };
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

/// Where our own repositories are: of notes, and of what was applied.
fn places(home: &Home) -> [PathBuf; 2] {
    ["state/memory/notes.git", "state/history/repository.git"].map(|name| home.path().join(name))
}

/// A cage is made of programs of ours, and of the one that was asked for.
fn odd_in_a_cage(trace: &str) -> BTreeSet<String> {
    let expected = ["timeout", "holdfast", "holdfast-cage", "true"];
    watched::started(trace)
        .into_iter()
        .filter(|name| !expected.contains(&name.as_str()))
        .map(|name| format!("started {name}"))
        .collect()
}

/// A repository, and whose memory is of it.
struct There<'a> {
    kit: &'a Kit,
    agent: String,
}

impl Traced {
    pub fn new() -> Traced {
        let beside = tempfile::tempdir().unwrap();
        std::fs::create_dir(beside.path().join("tmp")).unwrap();
        let mut house = House::planned("");
        let log = beside.path().join("trace");
        // The tracer stands aside, so that whoever ends the daemon ends the daemon.
        let through: Vec<String> = ["/usr/bin/strace".to_owned(), "-D".to_owned()]
            .into_iter()
            .chain(watched::strace(&log))
            .collect();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let mut command: Command = house.up(&through);
        command.env("TMPDIR", beside.path().join("tmp"));
        house.daemon = Some(Running::start(command));
        let web = tokio::runtime::Runtime::new().unwrap();
        let token = web.block_on(async { house.owner().await.token("manage").await.1 });
        Traced { house, token, web: Mutex::new(web), beside }
    }

    fn sends(&self, agent: &str, bundle: Vec<u8>) -> Reply {
        let target = format!("/api/v1/memory/mine?agent={agent}-sent&name=repository");
        let kind = Some("application/octet-stream");
        self.web.lock().unwrap().block_on(call_with(
            self.house.port,
            &self.token,
            ("POST", &target),
            kind,
            bundle,
        ))
    }

    /// Stops it, and gives everything that it should not have done.
    pub fn ends(mut self) -> BTreeSet<String> {
        self.house.stop().well();
        let trace = std::fs::read_to_string(self.beside.path().join("trace")).unwrap();
        assert!(watched::started(&trace).contains("git"), "nothing was asked of git");
        let home = self.house.home.path();
        let left = std::fs::read_dir(self.beside.path().join("tmp")).unwrap().flatten();
        let mut faults: BTreeSet<String> =
            left.map(|entry| format!("left {}", entry.path().display())).collect();
        let sockets = vec![home.join("run/holdfast.sock")];
        let allowed = Allowed {
            sockets,
            folders: vec![home.to_owned(), self.beside.path().join("tmp")],
            ..Allowed::default()
        };
        faults.extend(watched::odd(&trace, &allowed));
        faults
    }
}
