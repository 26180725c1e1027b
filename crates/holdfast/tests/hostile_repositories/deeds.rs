//! Every command of ours that touches git, as it is run in each repository of the corpus, and what it may change there.

use std::path::Path;

/// A command, and how it is run.
pub struct Deed {
    pub name: &'static str,
    /// Capital words stand for something of the repository: `FOLDER` is where it is, `AGENT` an agent of its own, `FORGOTTEN` a memory.
    pub args: &'static [&'static str],
    pub how: How,
    /// Whether it is tried with every repository in `make test`. Each of the others asks git what one of these does, or nothing, and is tried there with
    /// every fifth.
    pub is_quick: bool,
}

/// Where and for whom it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// In the repository. Nothing there is changed.
    There,
    /// The same, as git starts a hook: it says where the repository is, and of a push what goes.
    Hook,
    /// Puts hooks of ours there or takes them away, and nothing else.
    Hooks,
    /// In a cage, as another user who owns the repository.
    Caged,
    /// With the repository in the place of our own one of notes: what it writes are objects and the branch of the agent.
    Notes,
    /// With the repository in the place of our own one of what was applied.
    Applied,
    /// Asked of a daemon.
    Daemon,
    /// A bundle of it, sent to a daemon over HTTP.
    Sent,
}

use How::{Applied, Caged, Daemon, Hook, Hooks, Notes, Sent, There};

const fn deed(name: &'static str, how: How, args: &'static [&'static str]) -> Deed {
    Deed { name, args, how, is_quick: true }
}

const fn in_the_soak(deed: Deed) -> Deed {
    Deed { is_quick: false, ..deed }
}

/// In this order, which matters to the hooks.
pub const ALL: &[Deed] = &[
    deed("scan", There, &["scan", "."]),
    deed("scan --staged", There, &["scan", "--staged"]),
    in_the_soak(deed("scan --staged --whole", There, &["scan", "--staged", "--whole"])),
    deed("scan --history", There, &["scan", "--history"]),
    in_the_soak(deed("scan --history=RANGE", There, &["scan", "--history=HEAD~2..HEAD"])),
    in_the_soak(deed("scan --explain", There, &["scan", "--explain", "old.py:1"])),
    in_the_soak(deed("scan --staged, by a hook", Hook, &["scan", "--staged"])),
    deed("scan --pushed, by a hook", Hook, &["scan", "--pushed", "origin"]),
    in_the_soak(deed("hook status", There, &["hook", "status"])),
    in_the_soak(deed("hook install --dry-run", There, &["hook", "install", "--pre-push", "--dry-run"])),
    deed("hook install", Hooks, &["hook", "install", "--pre-push"]),
    in_the_soak(deed("hook status, installed", There, &["hook", "status"])),
    deed("hook remove", Hooks, &["hook", "remove"]),
    in_the_soak(deed(
        "memory experience mine",
        There,
        &["memory", "experience", "mine", "FOLDER", "--agent", "AGENT"],
    )),
    deed(
        "memory experience mine, by a daemon",
        Daemon,
        &["memory", "experience", "mine", "FOLDER", "--agent", "AGENT"],
    ),
    deed("POST /api/v1/memory/mine", Sent, &[]),
    deed("steward history", Applied, &["steward", "history"]),
    in_the_soak(deed(
        "memory prove-forgotten",
        Notes,
        &["memory", "prove-forgotten", "FORGOTTEN", "--agent", "scout"],
    )),
    deed("memory notes", Notes, &["memory", "notes", "--agent", "scout", "--actor", "ana"]),
    in_the_soak(deed("cage run", Caged, &["cage", "run", "--user", "48211", "--", "true"])),
];

/// Commands that are not in the list although they touch git: what the daemon does with it is asked of it by others, which are.
pub const ASKED_BY_OTHERS: [&str; 1] = ["up"];

/// Whether a command may change this path of the repository, from where git keeps it.
pub fn may_change(how: How, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match how {
        Hooks => ["pre-commit", "pre-push"].iter().any(|hook| name.starts_with(hook)) || name == "hooks",
        // Git notes when it last used one of these, and nothing else.
        There | Hook | Notes if name.starts_with("sharedindex.") => true,
        Notes => path.components().any(|part| part.as_os_str() == "objects") || name.starts_with("agt_"),
        There | Hook | Caged | Applied | Daemon | Sent => false,
    }
}
