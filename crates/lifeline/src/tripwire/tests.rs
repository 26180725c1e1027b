//! When the tripwire acts, when it does not, and that it goes on after a restart.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::cascade::{Channel, Sighting};
use crate::identity::BootId;
use crate::testing::{at, episode, identity};

const UNDO: TripwireEffect = TripwireEffect::Claim(Claim::Undo { by: Owner::Tripwire });
const CLOSE: TripwireEffect = TripwireEffect::Claim(Claim::Close { by: Owner::Tripwire });
const ACTIVE: WindowState = WindowState::Active { since: Steady(0) };
const TRIPPED: WindowState = WindowState::Undoing { by: Owner::Tripwire };

fn record(name: &str, state: WindowState) -> WindowRecord {
    WindowRecord {
        episode: episode(name),
        known_good: identity(0),
        candidate: identity(1),
        state,
        deadline: at(900),
    }
}

fn restore(name: &str) -> TripwireEffect {
    let order = Order::Restore { over: Channel::First };
    TripwireEffect::Order { episode: episode(name), wanted: identity(0), order }
}

/// A tripwire that is asked every ten seconds, and written down and read again at every step.
#[derive(Clone)]
struct Bench {
    tripwire: Tripwire,
    second: u64,
}

impl Bench {
    fn from(second: u64) -> Bench {
        Bench { tripwire: Tripwire::new(true, true, Sound::YES), second }
    }

    fn step(&mut self, input: TripwireInput) -> Vec<TripwireEffect> {
        let effects = self.tripwire.step(at(self.second), input);
        let text = serde_json::to_string(&self.tripwire).unwrap();
        let read = serde_json::from_str::<Tripwire>(&text).unwrap();
        assert_eq!(read, self.tripwire);
        self.tripwire = read;
        effects
    }

    fn look(&mut self, watch: Watch, sight: Sight) -> Vec<TripwireEffect> {
        let effects = self.step(TripwireInput::Looked { watch, sight });
        self.second += PERIOD.as_secs();
        effects
    }

    fn see(&mut self, state: WindowState, sight: Sight) -> Vec<TripwireEffect> {
        self.look(Watch::Record(record("ep", state)), sight)
    }

    fn claimed(&mut self, won: bool) -> Vec<TripwireEffect> {
        self.step(TripwireInput::Claimed(won))
    }

    fn seen_restored(&mut self) -> Vec<TripwireEffect> {
        let seen = Sighting {
            running: identity(0),
            boots_into: identity(0),
            boot: BootId(1),
            ended: Some(crate::desk::Ended::Restored),
            leased: false,
        };
        self.step(TripwireInput::Cascade(CascadeInput::Saw(seen)))
    }

    /// Three bad looks, and the claim of them won.
    fn undoing() -> Bench {
        let mut bench = Bench::from(100);
        bench.bad_looks(ACTIVE, 3);
        assert_eq!(bench.claimed(true), [restore("ep")]);
        bench
    }

    fn bad_looks(&mut self, state: WindowState, until_claim: usize) {
        for number in 1..=until_claim {
            let effects = self.see(state, Sight::Bad);
            let expected: &[TripwireEffect] = if number == until_claim { &[UNDO] } else { &[] };
            assert_eq!(effects, expected, "look {number} in {state:?}");
        }
    }
}

fn undone(name: &str) -> TripwireEffect {
    TripwireEffect::Undone { episode: episode(name), end: CascadeEnd::Restored { by: Channel::First } }
}

/// In which states bad looks count, and from when on.
#[test]
fn bad_looks_count_from_when_the_state_of_the_record_lets_them() {
    let table = [
        ("grace is not over", ACTIVE, 0, Some(6)),
        ("grace is over", ACTIVE, 30, Some(3)),
        ("being activated", WindowState::Open, 0, None),
        ("an activation that never ended", WindowState::Open, 901, Some(3)),
        ("being kept", WindowState::Keeping { since: at(0) }, 0, None),
        ("being kept for too long", WindowState::Keeping { since: at(0) }, 180, Some(3)),
        ("on probation", WindowState::Probation { until: at(7200) }, 0, Some(3)),
        ("probation is over", WindowState::Probation { until: at(7200) }, 7200, None),
        ("the controller undoes it", WindowState::Undoing { by: Owner::Controller }, 100, None),
        ("closed", WindowState::Closed, 100, None),
    ];
    for (name, state, from, expected) in table {
        let mut bench = Bench::from(from);
        // In grace the looks at 0, 10 and 20 do not count; ten looks are less than any of the other spans.
        let fired = (1..=10).find(|_| bench.see(state, Sight::Bad) == [UNDO]);
        assert_eq!(fired, expected, "{name}");
    }
}

#[test]
fn without_a_record_nothing_is_undone() {
    let mut bench = Bench::from(100);
    for _ in 0..10 {
        assert_eq!(bench.look(Watch::Nothing, Sight::Bad), []);
        assert_eq!(
            bench.look(Watch::Unreadable, Sight::Bad),
            [],
            "nothing was ever read: nobody knows what to go back to"
        );
    }
    assert!(!bench.tripwire.is_watching());
}

#[test]
fn three_bad_looks_in_a_row_are_needed() {
    use Sight::{Bad, Unsure, Well};
    let table: &[(&str, &[Sight], bool)] = &[
        ("two", &[Bad, Bad], false),
        ("three", &[Bad, Bad, Bad], true),
        ("a good one in between", &[Bad, Bad, Well, Bad, Bad], false),
        ("and three after it", &[Bad, Well, Bad, Bad, Bad], true),
        ("unsure breaks the row", &[Bad, Bad, Unsure, Bad, Bad, Unsure, Bad], false),
        ("three after it", &[Bad, Unsure, Bad, Bad, Bad], true),
        ("unsure does not count", &[Bad, Bad, Unsure, Unsure, Unsure], false),
        ("nobody can tell", &[Unsure; 12], false),
    ];
    for (name, sights, fires) in table {
        let mut bench = Bench::from(100);
        let fired = sights.iter().any(|sight| bench.see(ACTIVE, *sight) == [UNDO]);
        assert_eq!(fired, *fires, "{name}");
    }
}

#[test]
fn bad_looks_of_one_episode_do_not_count_against_the_next() {
    let mut bench = Bench::from(100);
    for _ in 0..2 {
        assert_eq!(bench.look(Watch::Record(record("ep", ACTIVE)), Sight::Bad), []);
    }
    for _ in 0..2 {
        assert_eq!(bench.look(Watch::Record(record("next", ACTIVE)), Sight::Bad), []);
    }
    assert_eq!(bench.look(Watch::Record(record("next", ACTIVE)), Sight::Bad), [UNDO]);
}

#[test]
fn a_record_that_cannot_be_read_any_more_means_open() {
    let mut bench = Bench::from(100);
    assert_eq!(bench.see(ACTIVE, Sight::Well), []);
    assert_eq!(bench.step(TripwireInput::Started), []);
    for _ in 0..2 {
        assert_eq!(bench.look(Watch::Unreadable, Sight::Bad), []);
    }
    assert_eq!(bench.look(Watch::Unreadable, Sight::Bad), [UNDO]);
    assert_eq!(bench.claimed(true), [restore("ep")]);
}

#[test]
fn a_lost_claim_does_nothing_and_the_count_begins_anew() {
    let mut bench = Bench::from(100);
    bench.bad_looks(ACTIVE, 3);
    assert_eq!(bench.claimed(false), []);
    assert!(!bench.tripwire.is_undoing());
    bench.bad_looks(ACTIVE, 3);
    assert_eq!(bench.claimed(false), []);
    assert_eq!(bench.see(WindowState::Undoing { by: Owner::Controller }, Sight::Bad), []);
}

#[test]
fn a_claim_that_is_never_answered_does_not_silence_it() {
    let mut bench = Bench::from(100);
    bench.bad_looks(ACTIVE, 3);
    assert_eq!(bench.see(ACTIVE, Sight::Bad), [], "the claim is out");
    bench.bad_looks(ACTIVE, 3);
    assert_eq!(bench.claimed(true), [restore("ep")]);
}

#[test]
fn what_was_claimed_is_undone_whatever_was_read_since() {
    for watch in [Watch::Nothing, Watch::Unreadable, Watch::Record(record("next", WindowState::Open))] {
        let mut bench = Bench::from(100);
        bench.bad_looks(ACTIVE, 3);
        assert_eq!(bench.look(watch, Sight::Bad), []);
        assert_eq!(bench.claimed(true), [restore("ep")]);
    }
}

#[test]
fn an_answer_that_no_claim_waits_for_changes_nothing() {
    let mut bench = Bench::from(100);
    assert_eq!(bench.see(ACTIVE, Sight::Bad), []);
    assert_eq!(bench.claimed(true), []);
    assert!(!bench.tripwire.is_undoing());
}

#[test]
fn it_goes_back_until_the_known_good_is_seen_and_then_closes() {
    let mut bench = Bench::undoing();
    assert_eq!(bench.see(TRIPPED, Sight::Bad), [], "its looks are the cascade's now");
    assert!(bench.tripwire.wakes_at().is_some());
    let look = TripwireEffect::Order {
        episode: episode("ep"),
        wanted: identity(0),
        order: Order::Look { over: Channel::First },
    };
    assert_eq!(bench.step(TripwireInput::Cascade(CascadeInput::Accepted)), [look]);
    assert_eq!(bench.seen_restored(), [undone("ep"), CLOSE]);
    assert_eq!((bench.tripwire.is_undoing(), bench.tripwire.wakes_at()), (false, None));
}

#[test]
fn a_restart_in_the_middle_begins_the_way_back_again() {
    let mut bench = Bench::undoing();
    bench.step(TripwireInput::Cascade(CascadeInput::Accepted));
    for _ in 0..3 {
        assert_eq!(bench.step(TripwireInput::Started), [restore("ep")]);
    }
    assert_eq!(bench.seen_restored(), [undone("ep"), CLOSE]);
}

#[test]
fn what_a_person_takes_care_of_is_left_to_them() {
    let mut bench = Bench::undoing();
    assert_eq!(bench.tripwire.undoing(), Some(&episode("ep")));
    assert_eq!(bench.step(TripwireInput::Acknowledged), [CLOSE]);
    assert_eq!((bench.tripwire.undoing(), bench.tripwire.wakes_at()), (None, None));
    // The closing was lost: it is closed again, and not undone again.
    assert_eq!(bench.see(TRIPPED, Sight::Bad), [CLOSE]);
    assert_eq!(bench.step(TripwireInput::Acknowledged), [], "there is nothing to leave");
}

#[test]
fn a_restart_between_the_claim_and_the_way_back_begins_it() {
    let mut bench = Bench::from(100);
    bench.bad_looks(ACTIVE, 3);
    assert_eq!(bench.step(TripwireInput::Started), []);
    assert_eq!(bench.see(TRIPPED, Sight::Unsure), [restore("ep")]);
    let mut empty = Bench::from(100);
    assert_eq!(empty.step(TripwireInput::Started), []);
    assert_eq!(empty.see(TRIPPED, Sight::Well), [restore("ep")], "even when its own state was lost");
}

#[test]
fn a_restart_forgets_the_bad_looks() {
    let mut bench = Bench::from(100);
    for _ in 0..2 {
        assert_eq!(bench.see(ACTIVE, Sight::Bad), []);
    }
    bench.step(TripwireInput::Started);
    bench.bad_looks(ACTIVE, 3);
}

#[test]
fn an_episode_is_undone_once_and_its_closing_repeated_until_it_is_closed() {
    let mut bench = Bench::undoing();
    bench.seen_restored();
    assert_eq!(bench.claimed(false), [], "the closing was lost");
    for _ in 0..5 {
        assert_eq!(bench.see(TRIPPED, Sight::Bad), [CLOSE]);
        assert_eq!(bench.claimed(true), []);
        assert_eq!(bench.step(TripwireInput::Started), []);
    }
    for _ in 0..5 {
        assert_eq!(bench.see(ACTIVE, Sight::Bad), [], "an old copy of the record");
        assert_eq!(bench.see(WindowState::Closed, Sight::Bad), []);
    }
    assert!(!bench.tripwire.is_watching());
}

#[test]
fn the_next_episode_is_watched_like_the_first() {
    let mut bench = Bench::undoing();
    bench.seen_restored();
    for _ in 0..2 {
        assert_eq!(bench.look(Watch::Record(record("next", ACTIVE)), Sight::Bad), []);
    }
    assert_eq!(bench.look(Watch::Record(record("next", ACTIVE)), Sight::Bad), [UNDO]);
    assert_eq!(bench.claimed(true), [restore("next")]);
}

#[test]
fn what_a_person_did_ends_its_way_back() {
    let mut bench = Bench::undoing();
    let end = CascadeEnd::Overtaken;
    let (running, boots_into) = (identity(9), identity(9));
    let theirs = Sighting { running, boots_into, boot: BootId(1), ended: None, leased: false };
    let expected = [TripwireEffect::Undone { episode: episode("ep"), end }, CLOSE];
    assert_eq!(bench.step(TripwireInput::Cascade(CascadeInput::Saw(theirs))), expected);
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Look(Sight),
    /// The record cannot be read this time.
    LookBlind(Sight),
    /// The last claim is tried on the record, if it was not yet, and answered.
    Answer,
    /// A claim that is out is tried and its answer lost.
    Restart,
    Cascade(CascadeInput),
    Controller(Claim),
    Restored,
}

fn happening() -> impl Strategy<Value = Happening> {
    let sight = || prop_oneof![4 => Just(Sight::Bad), 1 => Just(Sight::Well), 1 => Just(Sight::Unsure)];
    let cascade = prop_oneof![
        Just(CascadeInput::Time),
        Just(CascadeInput::Accepted),
        Just(CascadeInput::Failed),
        Just(CascadeInput::CutOff),
    ];
    let claim = prop_oneof![
        Just(Claim::Keep { since: at(150) }),
        Just(Claim::Watch { until: at(7200) }),
        Just(Claim::Undo { by: Owner::Controller }),
    ];
    prop_oneof![
        8 => sight().prop_map(Happening::Look),
        1 => sight().prop_map(Happening::LookBlind),
        3 => Just(Happening::Answer),
        1 => Just(Happening::Restart),
        2 => cascade.prop_map(Happening::Cascade),
        1 => claim.prop_map(Happening::Controller),
        1 => Just(Happening::Restored),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// It orders nothing that it has not won, goes back once, and after a restart and a look is again where it was.
    #[test]
    fn it_acts_only_on_what_it_owns_and_only_once(happenings in vec(happening(), 0..60)) {
        let mut bench = Bench::from(200);
        let mut now = record("ep", ACTIVE);
        let mut claim_out: Option<Claim> = None;
        let mut restored = 0;
        for happening in happenings {
            let mut won = None;
            if let (Happening::Answer | Happening::Restart, Some(claim)) = (happening, claim_out) {
                let claimed = now.claimed(claim);
                won = Some(claimed.is_some());
                now = claimed.unwrap_or(now);
                claim_out = None;
            }
            let effects = match happening {
                Happening::Look(sight) => bench.look(Watch::Record(now.clone()), sight),
                Happening::LookBlind(sight) => bench.look(Watch::Unreadable, sight),
                Happening::Answer => won.map_or_else(Vec::new, |won| bench.claimed(won)),
                Happening::Restart => bench.step(TripwireInput::Started),
                Happening::Cascade(input) => bench.step(TripwireInput::Cascade(input)),
                Happening::Controller(claim) => {
                    now = now.claimed(claim).unwrap_or(now);
                    Vec::new()
                }
                Happening::Restored => bench.seen_restored(),
            };
            for effect in effects {
                match effect {
                    TripwireEffect::Claim(claim) => claim_out = Some(claim),
                    TripwireEffect::Order { wanted, .. } => {
                        prop_assert_eq!(now.state, TRIPPED);
                        prop_assert_eq!(wanted, now.known_good);
                        prop_assert_eq!(restored, 0, "an order after it was restored");
                    }
                    TripwireEffect::Undone { .. } => restored += 1,
                }
            }
        }
        prop_assert!(restored <= 1);
        if now.state == TRIPPED && restored == 0 {
            bench.step(TripwireInput::Started);
            bench.look(Watch::Record(now), Sight::Well);
            prop_assert!(bench.tripwire.is_undoing(), "what it owns is not gone on with");
        }
    }
}
