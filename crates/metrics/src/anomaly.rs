//! What was wrong, from when to when. Told once while it lasts. Pure.

use std::fmt;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::metric::Scope;

/// What happens in a moment (a kill, an error) is over when it has not happened for so long.
const QUIET: Duration = Duration::from_secs(3600);
/// What nobody looks at any more, because its unit is watched no longer, is closed.
const FORGOTTEN: Duration = Duration::from_secs(86_400);
pub(crate) const MESSAGE_MAX: usize = 500;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal),* $(,)?) => {
        /// The closed list of what can be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum AnomalyKind { $($(#[$doc])* #[serde(rename = $text)] $kind),* }

        impl AnomalyKind {
            pub const ALL: &[AnomalyKind] = &[$(AnomalyKind::$kind),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(AnomalyKind::$kind => $text),* }
            }
        }
    };
}

kinds! {
    /// The kernel killed something for want of memory.
    Oom = "oom",
    /// The journal has an error or worse.
    ErrorLog = "error_log",
    /// A place that is asked from outside does not answer well.
    HealthFail = "health_fail",
    /// Pressure is beyond what is taken for a spike.
    PsiSpike = "psi_spike",
    /// Something that has to be read could not be.
    CollectionFailure = "collection_failure",
    /// Nothing was collected for too long.
    Stale = "stale",
}

impl AnomalyKind {
    pub(crate) fn named(text: &str) -> Option<AnomalyKind> {
        AnomalyKind::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// Over in a moment, unlike a state that lasts.
    const fn is_event(self) -> bool {
        matches!(self, AnomalyKind::Oom | AnomalyKind::ErrorLog)
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something that is wrong now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    pub kind: AnomalyKind,
    pub scope: Scope,
    /// A sentence for people; bounded, and nothing in it drives a terminal.
    pub message: String,
}

/// One that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    pub id: i64,
    pub kind: AnomalyKind,
    pub scope: Scope,
    pub message: String,
    pub detected_at: Timestamp,
    pub last_seen: Timestamp,
    pub times: u64,
    pub resolved_at: Option<Timestamp>,
}

/// What becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Opens { kind: AnomalyKind, scope: Scope, message: String, times: u64 },
    Again { id: i64, message: String, times: u64 },
    Resolves { id: i64 },
}

/// What a look comes to, given what is open: each kind is open once for a scope, and is resolved only by a look that found it well.
pub(crate) fn judge(
    open: &[Anomaly],
    signs: &[Sign],
    well: &[(AnomalyKind, Scope)],
    at: Timestamp,
) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (n, sign) in signs.iter().enumerate() {
        let same = |other: &Sign| (other.kind, &other.scope) == (sign.kind, &sign.scope);
        if signs[..n].iter().any(same) {
            continue;
        }
        let times = signs.iter().filter(|other| same(other)).count() as u64;
        let message = bounded(&sign.message);
        let is_it = |it: &&Anomaly| (it.kind, &it.scope) == (sign.kind, &sign.scope);
        match open.iter().find(is_it) {
            Some(it) => changes.push(Change::Again { id: it.id, message, times }),
            None => {
                changes.push(Change::Opens { kind: sign.kind, scope: sign.scope.clone(), message, times });
            }
        }
    }
    for it in open {
        let is_seen = signs.iter().any(|sign| (sign.kind, &sign.scope) == (it.kind, &it.scope));
        let is_well = well.iter().any(|(kind, scope)| (*kind, scope) == (it.kind, &it.scope));
        let quiet = at.since(it.last_seen);
        let is_over = if it.kind.is_event() { is_well && quiet >= QUIET } else { is_well };
        if !is_seen && (is_over || quiet >= FORGOTTEN) {
            changes.push(Change::Resolves { id: it.id });
        }
    }
    changes
}

pub(crate) fn bounded(text: &str) -> String {
    holdfast_types::printable(text).chars().take(MESSAGE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    fn open(kind: AnomalyKind) -> Anomaly {
        Anomaly {
            id: 7,
            kind,
            scope: Scope::Host,
            message: String::new(),
            detected_at: at(0),
            last_seen: at(0),
            times: 1,
            resolved_at: None,
        }
    }

    fn sign(kind: AnomalyKind) -> Sign {
        Sign { kind, scope: Scope::Host, message: "it is\u{1b}[31m so".to_owned() }
    }

    #[test]
    fn each_kind_is_open_once_and_resolved_only_by_a_look() {
        use AnomalyKind::{Oom, PsiSpike};
        let again = |times| vec![Change::Again { id: 7, message: "it is\\u{1b}[31m so".to_owned(), times }];
        let resolves = vec![Change::Resolves { id: 7 }];
        let check =
            |open: &[Anomaly], signs: &[Sign], well: &[(AnomalyKind, Scope)], now, expected: &[Change]| {
                assert_eq!(judge(open, signs, well, at(now)), expected, "{open:?} {signs:?} {well:?} {now}");
            };
        let opened = judge(&[], &[sign(Oom), sign(Oom)], &[], at(1));
        assert!(matches!(opened.as_slice(), [Change::Opens { kind: Oom, times: 2, .. }]), "{opened:?}");
        check(&[open(PsiSpike)], &[sign(PsiSpike), sign(PsiSpike)], &[], 9, &again(2));
        // Seen and well at once: it is seen.
        check(&[open(PsiSpike)], &[sign(PsiSpike)], &[(PsiSpike, Scope::Host)], 9, &again(1));
        check(&[open(PsiSpike)], &[], &[(PsiSpike, Scope::Host)], 9, &resolves);
        check(&[open(PsiSpike)], &[], &[(PsiSpike, Scope::unit("a.service").unwrap())], 9, &[]);
        check(&[open(PsiSpike)], &[], &[], 86_399, &[]);
        check(&[open(PsiSpike)], &[], &[], 86_400, &resolves);
        // A kill is over when there was none for an hour.
        check(&[open(Oom)], &[], &[(Oom, Scope::Host)], 3599, &[]);
        check(&[open(Oom)], &[], &[(Oom, Scope::Host)], 3600, &resolves);
    }

    #[test]
    fn a_message_is_short_and_every_kind_is_read_back() {
        assert_eq!(bounded(&"x".repeat(9999)).len(), MESSAGE_MAX);
        for kind in AnomalyKind::ALL {
            assert_eq!(AnomalyKind::named(kind.as_str()), Some(*kind));
        }
        assert_eq!(AnomalyKind::named("OOM"), None);
    }
}
