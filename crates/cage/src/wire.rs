//! What the one who runs a cage and the launcher say to each other, over one socket: the plan, then what comes of it.
//!
//! The launcher's standard input is the socket. Its other end closing is how it learns that nobody is left to run the
//! program for. How messages go over it is `line.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::planted::LeftBehind;

/// What the launcher is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Run this. The program's standard input comes beside it.
    Run(Box<Plan>),
    /// End the program: first ask it to, then do.
    Stop { why: Stop },
}

/// Why a program is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    Asked,
    Output,
}

/// What the launcher says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// It runs; the sockets that listen inside come beside it, in the order of the plan.
    Running,
    /// It does not run.
    NotStarted {
        step: String,
        why: String,
    },
    Ended(Ended),
}

/// What ended a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum End {
    Exited {
        code: i32,
    },
    /// A signal that was not the cage's.
    Signalled {
        signal: i32,
    },
    TimeUp,
    OutOfMemory,
    TooMuchOutput,
    DiskFull,
    Stopped,
    /// Whoever ran it was gone.
    Abandoned,
}

/// The evidence of an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    #[serde(flatten)]
    pub end: End,
    pub wall: Duration,
    pub user: Duration,
    pub system: Duration,
    /// The most memory: of the whole cage where a cgroup counted or the launcher watched, else of its largest process.
    pub memory: u64,
    pub memory_of: Counted,
    /// Calls that were refused, and how often; those the kernel answers by itself are not among them.
    pub refused: BTreeMap<String, u64>,
    /// Whether it had to be killed because asking was not enough.
    pub killed: bool,
    /// The fences the kernel really put up, where that could be less than was planned.
    pub landlock: String,
    /// What is there now that others run by themselves.
    #[serde(default)]
    pub left_behind: Vec<LeftBehind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    Cgroup,
    Watched,
    LargestProcess,
}
