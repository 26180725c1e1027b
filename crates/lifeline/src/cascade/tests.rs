//! What is answered and what is ordered then: scripts, and a target that misbehaves as it likes until it does not.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{at, episode, identity};

const WANTED: u8 = 0;
const OTHER: u8 = 1;

const TIME: CascadeInput = CascadeInput::Time;
const YES: CascadeInput = CascadeInput::Accepted;
const NO: CascadeInput = CascadeInput::Failed;
const CUT: CascadeInput = CascadeInput::CutOff;
/// A person has put something of their own there.
const PERSON: CascadeInput = CascadeInput::Saw(Sighting {
    running: Identity([9; 32]),
    boots_into: Identity([9; 32]),
    boot: BootId(1),
    ended: Some(Ended::Overtaken),
    leased: false,
});

fn saw(running: u8, boots_into: u8, boot: u64) -> CascadeInput {
    CascadeInput::Saw(Sighting {
        running: identity(running),
        boots_into: identity(boots_into),
        boot: BootId(boot),
        ended: (running == WANTED && boots_into == WANTED).then_some(Ended::Restored),
        leased: false,
    })
}

fn begin(second_route: bool, reboot: bool) -> Cascade {
    let (cascade, order) = Cascade::begin(
        episode("ep"),
        identity(WANTED),
        identity(OTHER),
        second_route,
        reboot,
        at(0),
        Sound::YES,
    );
    assert_eq!(order, Order::Restore { over: Channel::First });
    cascade
}

fn say(step: CascadeStep) -> &'static str {
    let over = |first, second, channel| if channel == Channel::First { first } else { second };
    match step {
        CascadeStep::Nothing => "-",
        CascadeStep::Do(Order::Restore { over: channel }) => over("restore 1", "restore 2", channel),
        CascadeStep::Do(Order::Look { over: channel }) => over("look 1", "look 2", channel),
        CascadeStep::Do(Order::Reboot { reset: false }) => "reboot",
        CascadeStep::Do(Order::Reboot { reset: true }) => "reset",
        CascadeStep::Do(Order::Alarm) => "alarm",
        CascadeStep::Ended(CascadeEnd::Overtaken) => "overtaken",
        CascadeStep::Ended(CascadeEnd::Restored { by: Channel::First }) => "by 1",
        CascadeStep::Ended(CascadeEnd::Restored { by: Channel::Second }) => "by 2",
        CascadeStep::Ended(CascadeEnd::Restored { by: Channel::Reboot }) => "by reboot",
        CascadeStep::Ended(CascadeEnd::Restored { by: Channel::Reset }) => "by reset",
    }
}

/// Plays a script: at this second comes this, and that is ordered. The cascade always says when it wants to be asked.
fn check(name: &str, mut cascade: Cascade, script: &[(u64, CascadeInput, &str)]) -> Cascade {
    for (line, (second, input, expected)) in script.iter().enumerate() {
        let step = cascade.step(at(*second), *input);
        assert_eq!(say(step), *expected, "{name}, line {line}: {input:?} at {second}");
        let has_ended = matches!(step, CascadeStep::Ended(_));
        assert_eq!(cascade.wakes_at().is_none(), has_ended, "{name}, line {line}: nobody would wake it");
    }
    cascade
}

#[test]
fn the_first_route_works() {
    check("at once", begin(true, true), &[(1, YES, "look 1"), (2, saw(WANTED, WANTED, 1), "by 1")]);
    let slowly = [
        (1, YES, "look 1"),
        (2, saw(OTHER, WANTED, 1), "-"),
        (11, TIME, "-"),
        (12, TIME, "look 1"),
        (13, saw(WANTED, WANTED, 1), "by 1"),
    ];
    check("slowly", begin(true, true), &slowly);
}

#[test]
fn running_is_not_enough_while_a_boot_would_give_something_else() {
    let script = [(1, YES, "look 1"), (2, saw(WANTED, OTHER, 1), "-"), (3, saw(WANTED, WANTED, 1), "by 1")];
    check("half", begin(true, true), &script);
}

// shows: STW-177
#[test]
fn accepted_but_never_seen_goes_through_every_channel_and_begins_again() {
    let script = [
        (0, YES, "look 1"),
        (1, saw(OTHER, WANTED, 1), "-"),
        (60, TIME, "restore 1"),
        (61, YES, "look 1"),
        (62, saw(OTHER, WANTED, 1), "-"),
        (121, TIME, "restore 1"),
        (122, YES, "look 1"),
        (123, saw(OTHER, WANTED, 1), "-"),
        (182, TIME, "restore 2"),
        (183, YES, "look 2"),
        (184, NO, "-"),
        (243, TIME, "reboot"),
        (244, YES, "look 1"),
        (247, NO, "-"),
        (460, TIME, "look 1"),
        (461, NO, "-"),
        (484, TIME, "reset"),
        (485, YES, "look 1"),
        (486, NO, "-"),
        (700, TIME, "look 1"),
        (701, NO, "-"),
        (725, TIME, "alarm"),
        (784, TIME, "-"),
        (785, TIME, "restore 1"),
    ];
    check("never", begin(true, true), &script);
}

// shows: STW-177
#[test]
fn without_a_second_route_or_a_reboot_they_are_left_out() {
    let no_second =
        [(1, NO, "look 1"), (2, NO, "-"), (41, TIME, "reboot"), (42, NO, "reset"), (43, NO, "alarm")];
    check("no second route", begin(false, true), &no_second);
    let no_reboot =
        [(1, NO, "look 1"), (2, NO, "restore 2"), (3, NO, "look 2"), (4, NO, "-"), (43, TIME, "alarm")];
    check("no reboot", begin(true, false), &no_reboot);
    let neither = [(1, NO, "look 1"), (2, NO, "-"), (41, TIME, "alarm"), (101, TIME, "restore 1")];
    check("neither", begin(false, false), &neither);
}

#[test]
fn a_route_that_comes_back_within_its_time_saves_the_host_a_reboot() {
    let restarting = [
        (0, YES, "look 1"),
        (0, NO, "-"),
        (10, TIME, "look 1"),
        (10, NO, "-"),
        (20, TIME, "look 1"),
        (21, saw(WANTED, WANTED, 1), "by 1"),
    ];
    check("the way back restarts the daemon it came over", begin(false, true), &restarting);
}

#[test]
fn an_answer_that_was_lost_is_looked_for_before_anything_else_is_done() {
    for (name, lost) in [("failed", (3, NO, "look 1")), ("hung", (20, TIME, "look 1"))] {
        let done = [lost, (21, saw(WANTED, WANTED, 1), "by 1")];
        check(name, begin(true, true), &done);
        check(name, begin(false, true), &done);
    }
}

#[test]
fn a_slow_look_is_waited_for() {
    let script = [
        (0, YES, "look 1"),
        (15, saw(OTHER, WANTED, 1), "-"),
        (19, TIME, "-"),
        (20, TIME, "look 1"),
        (35, saw(WANTED, WANTED, 1), "by 1"),
    ];
    check("fifteen seconds", begin(true, true), &script);
    let lost = [(0, YES, "look 1"), (19, TIME, "-"), (20, TIME, "look 1"), (40, TIME, "look 1")];
    check("never answered", begin(true, true), &lost);
}

#[test]
fn whoever_is_cut_off_holds_and_reboots_nobody() {
    let mut cascade = begin(true, true);
    let mut second = 0;
    for _ in 0..50 {
        let script = [(second + 20, TIME, "look 1"), (second + 35, CUT, "-"), (second + 94, TIME, "-")];
        cascade = check("cut off", cascade, &script);
        second += 95;
        cascade = check("tries again", cascade, &[(second, TIME, "restore 1")]);
    }
    let back = [(second + 1, YES, "look 1"), (second + 2, saw(WANTED, WANTED, 1), "by 1")];
    check("the network is back", cascade, &back);
}

#[test]
fn looks_that_nobody_answers_are_no_reason_to_reboot() {
    let script = [
        (20, TIME, "look 1"),
        (40, TIME, "look 1"),
        (60, TIME, "restore 2"),
        (80, TIME, "look 2"),
        (100, TIME, "look 2"),
        (120, TIME, "-"),
        (179, TIME, "-"),
        (180, TIME, "restore 1"),
    ];
    check("blind", begin(true, true), &script);
}

#[test]
fn being_cut_off_neither_shortens_nor_prolongs_a_pause() {
    let script = [
        (1, NO, "look 1"),
        (2, NO, "-"),
        (41, TIME, "alarm"),
        (42, CUT, "-"),
        (100, CUT, "-"),
        (101, TIME, "restore 1"),
    ];
    check("pausing", begin(false, false), &script);
}

#[test]
fn what_a_person_did_ends_it_and_it_stays_ended() {
    let script = [
        (1, YES, "look 1"),
        (2, PERSON, "overtaken"),
        (3, saw(WANTED, WANTED, 1), "overtaken"),
        (4, CUT, "overtaken"),
        (5000, TIME, "overtaken"),
    ];
    check("overtaken", begin(true, true), &script);
    let script =
        [(1, saw(WANTED, WANTED, 1), "by 1"), (2, PERSON, "by 1"), (3, CUT, "by 1"), (4, NO, "by 1")];
    check("restored", begin(true, true), &script);
}

/// Both routes are dead, and the host is told to reboot at second 45.
fn rebooting(seen: Option<u64>) -> Cascade {
    let script = [(5, NO, "look 1"), (6, NO, "-"), (16, TIME, "look 1"), (17, NO, "-"), (45, TIME, "reboot")];
    let cascade = check("dead routes", begin(false, true), &script);
    Cascade { boot: seen.map(BootId), ..cascade }
}

// shows: STW-292
#[test]
fn a_boot_into_something_else_is_restored_from_there() {
    let kept = [
        (46, YES, "look 1"),
        (47, NO, "-"),
        (90, TIME, "look 1"),
        (91, saw(OTHER, OTHER, 2), "restore 1"),
        (92, YES, "look 1"),
        (93, saw(WANTED, WANTED, 2), "by 1"),
    ];
    check("kept before", rebooting(Some(1)), &kept);
    check("never seen before", rebooting(None), &kept);
    let trial = [(46, YES, "look 1"), (90, saw(WANTED, WANTED, 2), "by reboot")];
    check("only tried", rebooting(Some(1)), &trial);
}

#[test]
fn a_host_that_has_not_gone_down_yet_is_not_taken_for_booted() {
    let script = [
        (46, YES, "look 1"),
        (47, saw(OTHER, OTHER, 1), "-"),
        (57, TIME, "look 1"),
        (58, NO, "-"),
        (68, TIME, "look 1"),
        (69, saw(OTHER, OTHER, 2), "restore 1"),
    ];
    check("still the old boot", rebooting(Some(1)), &script);
    let ignores = [
        (46, YES, "look 1"),
        (47, saw(OTHER, OTHER, 1), "-"),
        (57, TIME, "look 1"),
        (58, NO, "-"),
        (258, TIME, "look 1"),
        (259, NO, "-"),
        (286, TIME, "reset"),
        (287, YES, "look 1"),
        (320, saw(WANTED, WANTED, 2), "by reset"),
    ];
    check("it ignores the reboot", rebooting(Some(1)), &ignores);
    let recovers = [
        (46, YES, "look 1"),
        (47, NO, "-"),
        (258, TIME, "look 1"),
        (259, saw(OTHER, OTHER, 1), "-"),
        (286, TIME, "restore 1"),
    ];
    check("it answers again without having booted", rebooting(Some(1)), &recovers);
}

#[test]
fn a_restore_that_fails_after_the_reboot_is_an_alarm_and_no_other_reboot() {
    let script = [
        (46, YES, "look 1"),
        (90, saw(OTHER, OTHER, 2), "restore 1"),
        (91, NO, "look 1"),
        (92, NO, "-"),
        (131, TIME, "alarm"),
        (191, TIME, "restore 1"),
        (192, NO, "look 1"),
        (193, NO, "-"),
        (232, TIME, "reboot"),
    ];
    check("refused", rebooting(Some(1)), &script);
}

#[test]
fn rounds_go_on_for_ever_with_pauses_that_double_up_to_a_quarter_of_an_hour() {
    let mut cascade = begin(true, true);
    let mut second = 0;
    for pause in [60, 120, 240, 480, 900, 900, 900, 900] {
        let round = [
            (second, NO, "look 1"),
            (second, NO, "restore 2"),
            (second, NO, "look 2"),
            (second, NO, "-"),
            (second + 40, TIME, "reboot"),
            (second + 40, NO, "reset"),
            (second + 40, NO, "alarm"),
            (second + 39 + pause, TIME, "-"),
            (second + 40 + pause, TIME, "restore 1"),
        ];
        cascade = check("for ever", cascade, &round);
        second += 40 + pause;
    }
}

#[test]
fn it_is_read_back_as_it_was_written() {
    let cascade = rebooting(Some(1));
    let text = serde_json::to_string(&cascade).unwrap();
    assert_eq!(serde_json::from_str::<Cascade>(&text).unwrap(), cascade);
}

/// A target and a network that do what they like: after so many milliseconds comes this.
fn chaos() -> impl Strategy<Value = Vec<(u64, CascadeInput)>> {
    let input = prop_oneof![
        4 => Just(TIME),
        3 => Just(YES),
        4 => Just(NO),
        1 => Just(CUT),
        3 => (0..2u8, 0..3u64).prop_map(|(boots_into, boot)| saw(OTHER, boots_into, boot)),
    ];
    let wait = prop_oneof![4 => Just(0), 4 => 0..30_000u64, 1 => 0..300_000u64];
    vec((wait, input), 0..80)
}

/// Asks the cascade whenever it wants to be asked until this moment.
fn pass(cascade: &mut Cascade, now: &mut Steady, until: Steady, mut each: impl FnMut(Steady, CascadeStep)) {
    while let Some(wake) = cascade.wakes_at().filter(|wake| *wake <= until) {
        *now = wake.max(*now);
        each(*now, cascade.step(*now, TIME));
    }
    *now = until;
}

fn play(
    cascade: &mut Cascade,
    chaos: &[(u64, CascadeInput)],
    mut each: impl FnMut(Steady, CascadeInput, CascadeStep),
) -> Steady {
    let mut now = at(0);
    for (wait, input) in chaos {
        let until = now.plus(Duration::from_millis(*wait));
        pass(cascade, &mut now, until, |now, step| each(now, TIME, step));
        each(now, *input, cascade.step(now, *input));
    }
    now
}

/// A target that does what it is told, and boots into what it was left with.
struct Proper {
    running: u8,
    boots_into: u8,
    boot: u64,
    /// No two boots have the same number.
    boots: u64,
}

impl Proper {
    fn answer(&mut self, order: Order) -> CascadeInput {
        match order {
            Order::Restore { .. } => {
                (self.running, self.boots_into) = (WANTED, WANTED);
                YES
            }
            Order::Reboot { .. } => {
                self.running = self.boots_into;
                self.boots += 1;
                self.boot = self.boots;
                YES
            }
            Order::Look { .. } => saw(self.running, self.boots_into, self.boot),
            Order::Alarm => TIME,
        }
    }
}

/// The longest way out of any state: a reset that was ignored (240 s), the longest pause (900 s), and then one restore and
/// one look at the slowest.
const BACK_WITHIN: Duration = Duration::from_secs(1200);

/// Orders in any minute: one round whose every answer comes at once.
const ORDERS_A_MINUTE: usize = 14;
const BETWEEN_REBOOTS: Duration = Duration::from_secs(100);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn from_wherever_it_is_a_target_that_answers_again_is_back_in_time(
        chaos in chaos(),
        (second_route, reboot) in (any::<bool>(), any::<bool>()),
        (boots_into, boot) in (0..2u8, 0..4u64),
        latency in 0..15_000u64,
    ) {
        let mut cascade = begin(second_route, reboot);
        let mut now = play(&mut cascade, &chaos, |_, _, _| {});
        let better = now;
        let mut target = Proper { running: OTHER, boots_into, boot, boots: 10 };
        while let Some(wake) = cascade.wakes_at() {
            now = now.max(wake);
            prop_assert!(now.since(better) <= BACK_WITHIN, "{:?} {:?}", now.since(better), cascade);
            let mut step = cascade.step(now, TIME);
            while let CascadeStep::Do(order) = step {
                let answer = target.answer(order);
                now = now.plus(Duration::from_millis(latency));
                step = cascade.step(now, answer);
            }
        }
        prop_assert!(now.since(better) <= BACK_WITHIN);
        let restored = matches!(cascade.trying(), Trying::Ended(CascadeEnd::Restored { .. }));
        prop_assert!(restored, "{:?}", cascade);
    }

    #[test]
    fn orders_never_come_faster_than_their_bound(
        chaos in chaos(),
        (second_route, reboot) in (any::<bool>(), any::<bool>()),
    ) {
        let mut cascade = begin(second_route, reboot);
        let mut orders = vec![(at(0), Order::Restore { over: Channel::First })];
        let mut answered = false;
        let mut blind = false;
        play(&mut cascade, &chaos, |now, input, step| {
            answered |= matches!(input, NO | CascadeInput::Saw(_));
            let CascadeStep::Do(order) = step else { return };
            blind |= matches!(order, Order::Reboot { .. }) && !answered;
            if matches!(order, Order::Restore { .. }) {
                answered = false;
            }
            orders.push((now, order));
        });
        prop_assert!(!blind, "a reboot that nobody looked before");
        for (first, (from, _)) in orders.iter().enumerate() {
            let minute = orders[first..].iter().take_while(|(now, _)| now.since(*from) < Duration::from_secs(60));
            prop_assert!(minute.count() <= ORDERS_A_MINUTE, "{:?}", &orders[first..]);
        }
        for reset in [false, true] {
            let times = orders.iter().filter(|(_, order)| *order == Order::Reboot { reset }).map(|(now, _)| *now);
            let times = times.collect::<Vec<_>>();
            for pair in times.windows(2) {
                prop_assert!(pair[1].since(pair[0]) >= BETWEEN_REBOOTS, "{:?}", orders);
            }
        }
    }

    #[test]
    fn it_wakes_up_by_itself_until_it_has_ended(chaos in chaos()) {
        let mut cascade = begin(true, true);
        play(&mut cascade, &chaos, |_, _, _| {});
        let wake = cascade.wakes_at();
        prop_assert!(wake.is_some(), "nothing in it ends a cascade: {:?}", cascade);
    }
}
