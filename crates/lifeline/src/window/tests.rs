//! The whole table of who may do what when, and the race between keeping and undoing.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::desk::{Desk, Lease};
use crate::flaw::Sound;
use crate::testing::{at, episode, identity};

const ACTIVATE: Claim = Claim::Activate { since: Steady(2) };
const KEEP: Claim = Claim::Keep { since: Steady(3) };
const WATCH: Claim = Claim::Watch { until: Steady(4) };
const UNDO: Claim = Claim::Undo { by: Owner::Controller };
const TRIP: Claim = Claim::Undo { by: Owner::Tripwire };
const CLOSE: Claim = Claim::Close { by: Owner::Controller };
const FOLD: Claim = Claim::Close { by: Owner::Tripwire };
const CLAIMS: [Claim; 7] = [ACTIVATE, KEEP, WATCH, UNDO, TRIP, CLOSE, FOLD];

const OPEN: WindowState = WindowState::Open;
const ACTIVE: WindowState = WindowState::Active { since: Steady(2) };
const KEEPING: WindowState = WindowState::Keeping { since: Steady(3) };
const PROBATION: WindowState = WindowState::Probation { until: Steady(4) };
const UNDOING: WindowState = WindowState::Undoing { by: Owner::Controller };
const TRIPPED: WindowState = WindowState::Undoing { by: Owner::Tripwire };
const CLOSED: WindowState = WindowState::Closed;

fn record(state: WindowState) -> WindowRecord {
    WindowRecord {
        episode: episode("ep"),
        known_good: identity(0),
        candidate: identity(1),
        state,
        deadline: at(900),
    }
}

#[test]
fn every_claim_in_every_state() {
    let no = None;
    #[rustfmt::skip]
    let table = [
        //          activate      keep           watch            undo           trip           close         tripwire's close
        (OPEN,      [Some(ACTIVE), no,            no,              Some(UNDOING), Some(TRIPPED), Some(CLOSED), no]),
        (ACTIVE,    [no,           Some(KEEPING), no,              Some(UNDOING), Some(TRIPPED), Some(CLOSED), no]),
        (KEEPING,   [no,           Some(KEEPING), Some(PROBATION), Some(UNDOING), Some(TRIPPED), Some(CLOSED), no]),
        (PROBATION, [no,           no,            Some(PROBATION), Some(UNDOING), Some(TRIPPED), Some(CLOSED), no]),
        (UNDOING,   [no,           no,            no,              Some(UNDOING), no,            Some(CLOSED), no]),
        (TRIPPED,   [no,           no,            no,              no,            Some(TRIPPED), no, Some(CLOSED)]),
        (CLOSED,    [no,           no,            no,              no,            no,            Some(CLOSED), Some(CLOSED)]),
    ];
    for (state, row) in table {
        for (claim, expected) in CLAIMS.into_iter().zip(row) {
            let claimed = record(state).claimed(claim);
            assert_eq!(claimed, expected.map(record), "{state:?} and {claim:?}");
        }
    }
}

#[test]
fn keeping_again_does_not_put_off_whoever_waits_for_it() {
    let again = record(KEEPING).claimed(Claim::Keep { since: at(500) }).unwrap();
    assert_eq!(again.state, KEEPING);
}

#[test]
fn a_record_is_read_as_it_was_written_and_nothing_else() {
    for state in [OPEN, ACTIVE, KEEPING, PROBATION, UNDOING, TRIPPED, CLOSED] {
        let text = serde_json::to_string(&record(state)).unwrap();
        assert_eq!(serde_json::from_str::<WindowRecord>(&text).unwrap(), record(state));
        let more = text.replacen('{', "{\"more\":1,", 1);
        assert!(serde_json::from_str::<WindowRecord>(&more).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// What controller and tripwire win, in any order of their claims: once one undoes, nobody keeps, watches or undoes beside
    /// it; once it is closed, nothing is won.
    #[test]
    fn whoever_undoes_is_alone_until_it_is_closed(claims in vec(0..CLAIMS.len(), 0..24)) {
        let mut now = record(OPEN);
        let mut undone_by = None;
        for claim in claims.into_iter().map(|at| CLAIMS[at]) {
            let Some(next) = now.claimed(claim) else { continue };
            match (now.state, undone_by, claim) {
                (WindowState::Closed, ..) | (_, Some(_), Claim::Close { .. }) => prop_assert_eq!(next.state, CLOSED),
                (_, Some(owner), _) => prop_assert_eq!(claim, Claim::Undo { by: owner }),
                (_, None, Claim::Undo { by }) => undone_by = Some(by),
                (_, None, _) => {}
            }
            prop_assert_eq!((next.known_good, next.candidate, &next.episode), (now.known_good, now.candidate, &now.episode));
            now = next;
        }
    }
}

/// Controller and tripwire with the record between them and the target's own desk behind it.
struct Race {
    record: WindowRecord,
    desk: Desk,
    running: Identity,
    /// What each still has to do, and whether it may.
    keeping: bool,
    undoing: bool,
    kept: bool,
    watched: bool,
}

/// How often each part of the race moves: claim, word to the target, claim after it.
const MOVES: usize = 3;

impl Race {
    fn new() -> Race {
        let mut desk = Desk::new(identity(0), Sound::YES);
        let lease = Lease {
            episode: episode("ep"),
            known_good: identity(0),
            candidate: identity(1),
            lasts: Duration::from_secs(60),
            expires: at(60),
            cap: at(600),
        };
        desk.arm(lease, identity(0)).unwrap();
        desk.may_try(&episode("ep"), identity(1), at(1)).unwrap();
        Race {
            record: record(ACTIVE),
            desk,
            running: identity(1),
            keeping: false,
            undoing: false,
            kept: false,
            watched: false,
        }
    }

    fn claim(&mut self, claim: Claim) -> bool {
        let claimed = self.record.claimed(claim);
        let won = claimed.is_some();
        self.record = claimed.unwrap_or_else(|| self.record.clone());
        won
    }

    fn controller(&mut self, step: usize) {
        match step {
            0 => self.keeping = self.claim(KEEP),
            1 if self.keeping => {
                self.kept = self.desk.keep(&episode("ep"), identity(1), self.running, at(10)).is_ok();
            }
            2 if self.kept => self.watched = self.claim(WATCH),
            _ => {}
        }
    }

    fn tripwire(&mut self, step: usize) {
        match step {
            0 => self.undoing = self.claim(TRIP),
            1 if self.undoing => self.restore(),
            // Another route, because the first answer was lost.
            2 if self.undoing => self.restore(),
            _ => {}
        }
    }

    fn restore(&mut self) {
        use crate::desk::Restored::{Already, Kept, Trial};
        match self.desk.restore(&episode("ep"), identity(0)).unwrap() {
            Trial(identity) | Kept(identity) => self.running = identity,
            Already(_) => {}
        }
    }
}

// shows: STW-312
#[test]
fn in_every_interleaving_of_keeping_and_undoing_the_loser_does_nothing() {
    let mut seen = [0; 2];
    for order in 0..1_u32 << (2 * MOVES) {
        if order.count_ones() as usize != MOVES {
            continue;
        }
        let mut race = Race::new();
        let (mut controller, mut tripwire) = (0, 0);
        for at in 0..2 * MOVES {
            if order >> at & 1 == 0 {
                race.controller(controller);
                controller += 1;
            } else {
                race.tripwire(tripwire);
                tripwire += 1;
            }
        }
        let tripwire_first = order & 1 == 1;
        assert_eq!(
            race.keeping, !tripwire_first,
            "{order:06b}: exactly the first of the two wins from where both may"
        );
        // A violation while it is being kept, or after, restores what was there before, whichever word arrived first.
        assert!(race.undoing, "{order:06b}");
        assert_eq!((race.running, race.desk.boots_into()), (identity(0), identity(0)), "{order:06b}");
        assert_eq!(race.record.state, TRIPPED, "{order:06b}");
        assert!(race.desk.lease().is_none(), "{order:06b}");
        seen[usize::from(race.kept)] += 1;
    }
    assert!(
        seen.iter().all(|count| *count > 0),
        "both a keep that came in time and one that was refused: {seen:?}"
    );
}

#[test]
fn an_undo_that_comes_after_the_close_is_lost_and_what_was_kept_stays() {
    let mut race = Race::new();
    (0..MOVES).for_each(|step| race.controller(step));
    assert!(race.watched && race.claim(CLOSE));
    (0..MOVES).for_each(|step| race.tripwire(step));
    assert!(!race.undoing);
    assert_eq!((race.running, race.desk.boots_into()), (identity(1), identity(1)));
}
