//! What can be asked of a target and what it replies, in the one form both sides use.
//!
//! The word goes on the command line, exactly; everything else is one JSON document on standard input, bounded, without
//! unknown fields and without a key that stands twice.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use holdfast_lifeline::{Armed, EpisodeId, Identity, Refused};
use holdfast_steward::effect::{Activation, Staged, TargetState, Verb};
use holdfast_steward::json::{self, Limits};
use holdfast_steward::setting::{Change, UnitName};
use serde::{Deserialize, Serialize};

/// An ask is some changes and a few names; a reply holds a whole evaluated configuration.
pub const ASK_MAX: usize = 64 << 10;
pub const REPLY_MAX: usize = 4 << 20;
const ASK_LIMITS: Limits = Limits { bytes_max: ASK_MAX, depth_max: 8 };
/// What is told about a refusal that quotes what somebody sent.
const QUOTED_MAX: usize = 120;
/// Beyond this a lease is no lease: the longest window there is, twice over.
const LEASE_MAX: Duration = Duration::from_secs(2 * 3600);
/// One change, or a coupled pair.
const CHANGES_MAX: usize = 2;

/// What may be said to a doorman.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Ping,
    Collect,
    Survey,
    State,
    List,
    Check,
    Stage,
    Arm,
    Try,
    Poll,
    Keep,
    Restore,
    Cancel,
    Clean,
}

impl Word {
    pub const ALL: [Word; 14] = [
        Word::Ping,
        Word::Collect,
        Word::Survey,
        Word::State,
        Word::List,
        Word::Check,
        Word::Stage,
        Word::Arm,
        Word::Try,
        Word::Poll,
        Word::Keep,
        Word::Restore,
        Word::Cancel,
        Word::Clean,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Word::Ping => "ping",
            Word::Collect => "collect",
            Word::Survey => "survey",
            Word::State => "state",
            Word::List => "list",
            Word::Check => "check",
            Word::Stage => "stage",
            Word::Arm => "arm",
            Word::Try => "try",
            Word::Poll => "poll",
            Word::Keep => "keep",
            Word::Restore => "restore",
            Word::Cancel => "cancel",
            Word::Clean => "clean",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Word {
    type Err = NotAdmitted;

    /// The word, byte by byte. What has anything around it is no word.
    fn from_str(text: &str) -> Result<Word, NotAdmitted> {
        let known = Word::ALL.into_iter().find(|word| word.as_str() == text);
        known.ok_or_else(|| NotAdmitted::NoSuchWord { said: quoted(text.as_bytes()) })
    }
}

/// What a key is for. It stands in the key's own line on the target, where its holder cannot change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks, as a user without rights.
    Observe,
    /// Changes, and undoes.
    Act,
    /// Undoes, and nothing else: the key of whoever guards.
    Rescue,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Observe, Role::Act, Role::Rescue];

    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Observe => "observe",
            Role::Act => "act",
            Role::Rescue => "rescue",
        }
    }

    pub fn named(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// The words this key may say.
    pub const fn admits(self, word: Word) -> bool {
        match self {
            Role::Observe => matches!(word, Word::Ping | Word::Collect | Word::State),
            Role::Rescue => matches!(word, Word::Ping | Word::State | Word::List | Word::Restore),
            // It looks too: what it does has to be read back.
            Role::Act => true,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An ask with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    Ping {},
    /// Metrics and what the journal has since the cursor.
    Collect {
        cursor: Option<String>,
    },
    /// What is on the target: the look of the first day again.
    Survey {},
    State {
        full: bool,
        renew: Option<EpisodeId>,
        about: Option<EpisodeId>,
    },
    List {},
    Check {
        changes: Vec<Change>,
    },
    Stage {
        episode: EpisodeId,
        base: Identity,
        changes: Vec<Change>,
    },
    Arm {
        episode: EpisodeId,
        known_good: Identity,
        candidate: Identity,
        lasts_seconds: u64,
        cap_seconds: u64,
    },
    Try {
        episode: EpisodeId,
        candidate: Identity,
    },
    Poll {
        episode: EpisodeId,
    },
    Keep {
        episode: EpisodeId,
        candidate: Identity,
    },
    Restore {
        episode: EpisodeId,
        wanted: Identity,
    },
    Cancel {
        episode: EpisodeId,
    },
    /// Removes all generations but the newest few, of those that were kept longer ago than this, and never one that is needed.
    Clean {
        keep: u32,
        #[serde(default)]
        older_seconds: u64,
    },
}

impl Ask {
    pub fn word(&self) -> Word {
        match self {
            Ask::Ping {} => Word::Ping,
            Ask::Collect { .. } => Word::Collect,
            Ask::Survey {} => Word::Survey,
            Ask::State { .. } => Word::State,
            Ask::List {} => Word::List,
            Ask::Check { .. } => Word::Check,
            Ask::Stage { .. } => Word::Stage,
            Ask::Arm { .. } => Word::Arm,
            Ask::Try { .. } => Word::Try,
            Ask::Poll { .. } => Word::Poll,
            Ask::Keep { .. } => Word::Keep,
            Ask::Restore { .. } => Word::Restore,
            Ask::Cancel { .. } => Word::Cancel,
            Ask::Clean { .. } => Word::Clean,
        }
    }

    /// What the steward's word comes to here.
    pub fn of(verb: &Verb) -> Ask {
        match verb.clone() {
            Verb::Check { changes } => Ask::Check { changes },
            Verb::Stage { episode, base, changes } => Ask::Stage { episode, base, changes },
            Verb::Arm { episode, known_good, candidate, lasts, cap } => Ask::Arm {
                episode,
                known_good,
                candidate,
                lasts_seconds: lasts.as_secs(),
                cap_seconds: cap.as_secs(),
            },
            Verb::Try { episode, candidate } => Ask::Try { episode, candidate },
            Verb::Poll { episode } => Ask::Poll { episode },
            Verb::Keep { episode, candidate } => Ask::Keep { episode, candidate },
            Verb::Restore { episode, wanted } => Ask::Restore { episode, wanted },
            Verb::Cancel { episode } => Ask::Cancel { episode },
        }
    }

    /// Reads what came with a word. A word that needs nothing may come with nothing.
    pub fn read(word: Word, bytes: &[u8]) -> Result<Ask, NotAdmitted> {
        let malformed = |why: String| NotAdmitted::Malformed { word, why };
        let text = std::str::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let ask = match (word, text.trim_ascii()) {
            (Word::Ping, "") => Ask::Ping {},
            (Word::List, "") => Ask::List {},
            (Word::Survey, "") => Ask::Survey {},
            (_, text) => {
                let value = json::read(text, ASK_LIMITS).map_err(|e| malformed(e.to_string()))?;
                serde_json::from_value(value).map_err(|e| malformed(quoted(e.to_string().as_bytes())))?
            }
        };
        if ask.word() != word {
            return Err(malformed(format!(
                "the word is {word}, and what came with it is for {}",
                ask.word()
            )));
        }
        ask.within_bounds().map_err(malformed)?;
        Ok(ask)
    }

    fn within_bounds(&self) -> Result<(), String> {
        match self {
            Ask::Collect { cursor: Some(cursor) } if !is_cursor(cursor) => {
                Err("the cursor is none that a journal gives".to_owned())
            }
            Ask::Check { changes } | Ask::Stage { changes, .. }
                if !(1..=CHANGES_MAX).contains(&changes.len()) =>
            {
                Err(format!("{} changes, and one is made at a time, or a pair", changes.len()))
            }
            Ask::Arm { lasts_seconds, cap_seconds, .. } => {
                let sane = |seconds: u64| (1..=LEASE_MAX.as_secs()).contains(&seconds);
                if sane(*lasts_seconds) && sane(*cap_seconds) && lasts_seconds <= cap_seconds {
                    Ok(())
                } else {
                    Err(format!("a lease lasts 1 to {} s and no longer than its cap", LEASE_MAX.as_secs()))
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether only looking is meant: a renewal keeps a trial alive, and that is for the key that may try.
    pub fn is_for(&self, role: Role) -> bool {
        role.admits(self.word()) && (role == Role::Act || !matches!(self, Ask::State { renew: Some(_), .. }))
    }
}

/// As `journalctl` writes them: `s=…;i=…;b=…;m=…;t=…;x=…`.
pub fn is_cursor(text: &str) -> bool {
    (1..=256).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"=;-".contains(&b))
        && !text.starts_with('-')
}

/// What comes back. One line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Pong {
        version: String,
        boot: holdfast_lifeline::BootId,
    },
    Collected(Box<Collected>),
    /// What the look said, line by line; whoever asked reads it.
    Surveyed {
        said: String,
    },
    State(Box<TargetState>),
    Generations(Vec<Generation>),
    Checked(Result<(), String>),
    Staged(Result<Staged, String>),
    Armed(Armed),
    Accepted,
    Activation(Activation),
    Cleaned {
        removed: u32,
    },
    /// The desk says no.
    Refused(Refused),
    /// It could not be done, and why.
    Broken {
        why: String,
    },
    /// It is not for this key, or not for anybody.
    NotAdmitted {
        why: String,
    },
}

/// A state that can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    pub number: u32,
    pub identity: Identity,
}

/// One collection. What is unknown is absent, and why stands in `failed` or `absent`; it is never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Collected {
    pub boot: Option<holdfast_lifeline::BootId>,
    /// The number of the generation that a boot gives.
    pub generation: Option<u32>,
    /// What truly runs.
    pub running: Option<Identity>,
    /// Bytes free where the state of the target lies.
    pub free_space: Option<u64>,
    /// Pressure by resource: `some` and `full` over 10, 60 and 300 s. Nothing where the kernel does not measure it.
    pub pressure: Vec<Pressure>,
    pub units: Vec<UnitFigures>,
    pub memory_total: Option<u64>,
    pub memory_available: Option<u64>,
    pub swap_total: Option<u64>,
    pub load: Option<f64>,
    pub processors: Option<u32>,
    pub entries: Vec<Entry>,
    /// Entries that were left off because there were too many.
    pub left_off: u32,
    /// Where the journal was read to.
    pub cursor: Option<String>,
    /// Reads that failed, by what they were for, with why.
    pub failed: Vec<(String, String)>,
    /// What this target does not measure or does not have, with why. That is no failure.
    pub absent: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// A resource of the host, or of one unit.
    pub unit: Option<UnitName>,
    pub resource: String,
    pub some: [f64; 3],
    pub full: Option<[f64; 3]>,
}

/// What is measured of a unit. Nothing where it could not be read or is not set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitFigures {
    pub unit: UnitName,
    pub active: bool,
    pub memory: Option<u64>,
    pub memory_peak: Option<u64>,
    /// Nanoseconds since it was started: a counter.
    pub cpu_nanos: Option<u64>,
    pub throttled_micros: Option<u64>,
    /// Scheduling periods with a quota since it was started, and those in which the quota stopped it: counters.
    pub periods: Option<u64>,
    pub periods_throttled: Option<u64>,
    pub nice: Option<i64>,
    pub restarts: Option<u32>,
    pub kills: Option<u64>,
    /// When it was started, on the clock since the boot, in microseconds.
    pub started_micros: Option<u64>,
}

/// One line of the journal that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at_micros: u64,
    pub priority: u8,
    pub unit: String,
    pub message: String,
    pub out_of_memory: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    #[error("there is no word {said}")]
    NoSuchWord { said: String },
    #[error("the key for {role} may not say {word}")]
    NotForThisKey { role: Role, word: Word },
    #[error("{word}: {why}")]
    Malformed { word: Word, why: String },
    #[error("more than {ASK_MAX} bytes came with the word")]
    TooLong,
    #[error("what came with the word was not whole within its time")]
    TooSlow,
    #[error("no word was said, and there is no shell here")]
    NoWord,
}

/// Somebody else's bytes in a sentence of ours: short, and nothing a terminal would obey.
pub fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * QUOTED_MAX)]);
    format!("{:?}", text.chars().take(QUOTED_MAX).collect::<String>())
}

#[cfg(test)]
mod tests;
