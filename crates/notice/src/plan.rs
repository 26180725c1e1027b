//! What a sink is told next: repeats folded, the rate kept, everything else in order. Pure.
//!
//! The pending notices are looked at a window at a time. Notices with the same fold key form one parcel, also
//! when others stand between them; every other notice is a parcel of its own. Parcels go out in the order of
//! their first notice and under its id. A parcel whose key was told a short while ago waits for more repeats, but
//! only as long as nothing new stands behind it, and never when it is critical. Beyond the rate a parcel waits; a
//! critical notice lifts the rate for itself and for everything before it, so that it is told at once and still in
//! order.
//!
//! What was raised in quiet hours and is not critical forms one parcel, a digest, after their end. Until then whoever
//! looks shows only what is critical.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::digest::digest;
use crate::message::{Folded, Message, Raised};
use crate::notice::Severity;
use crate::quiet::QuietHours;
use crate::retry::Pace;

/// How many pending notices are looked at together.
pub(crate) const LOOKAHEAD: usize = 512;
/// How many fold keys are remembered as told; the oldest is forgotten first.
const KEYS_MAX: usize = 256;
const MINUTE: Duration = Duration::from_secs(60);

/// What is remembered of a sink between two steps: only how it is paced. Lost at a restart, after which repeats are
/// held back from the next one on.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// When a fold key was last told.
    told: BTreeMap<String, Duration>,
    /// When the last messages went out.
    sent: VecDeque<Duration>,
}

/// One message and the notices it tells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parcel {
    pub(crate) message: Message,
    pub(crate) fold: Option<String>,
    /// Ascending, never empty.
    pub(crate) seqs: Vec<u64>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Send(Box<Parcel>),
    /// Nothing before this time, unless something new is raised.
    WaitUntil(Duration),
    Idle,
}

/// How a sink wants to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner<'a> {
    pub(crate) pace: &'a Pace,
    pub(crate) quiet: Option<&'a QuietHours>,
}

impl Manner<'_> {
    /// Whether a notice was raised at a time when it had to wait.
    pub(crate) fn made_wait(self, raised: &Message) -> bool {
        raised.severity < Severity::Critical
            && self.quiet.is_some_and(|quiet| quiet.end(raised.timestamp).is_some())
    }
}

pub(crate) fn step(
    pending: &[Raised],
    memory: &Memory,
    last_critical: Option<u64>,
    manner: Manner<'_>,
    now: Duration,
) -> Step {
    let (mut parcels, pace) = (parcels(pending, manner), manner.pace);
    if parcels.is_empty() {
        return Step::Idle;
    }
    let held: Option<Vec<Duration>> = parcels.iter().map(|p| memory.held_until(p, pace, now)).collect();
    if let Some(until) = held.and_then(|all| all.into_iter().min())
        && pending.len() < LOOKAHEAD
    {
        return Step::WaitUntil(until);
    }
    let parcel = parcels.swap_remove(0);
    let urgent = last_critical.is_some_and(|seq| parcel.seqs[0] <= seq);
    match memory.free_at(pace, now) {
        Some(until) if !urgent => Step::WaitUntil(until),
        _ => Step::Send(Box::new(parcel)),
    }
}

fn parcels(pending: &[Raised], manner: Manner<'_>) -> Vec<Parcel> {
    let (waited, others): (Vec<Raised>, Vec<Raised>) =
        pending.iter().cloned().partition(|raised| manner.made_wait(&raised.message));
    let mut parcels = folded(&others, manner.pace);
    if let Some(digest) = Parcel::again(&waited) {
        let at = parcels.partition_point(|parcel| parcel.notice() < digest.notice());
        parcels.insert(at, digest);
    }
    parcels
}

fn folded(pending: &[Raised], pace: &Pace) -> Vec<Parcel> {
    let mut parcels: Vec<Parcel> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for raised in pending {
        let joined = raised.fold.as_deref().and_then(|key| open.get(key)).copied();
        match joined.map(|at| &mut parcels[at]).filter(|p| p.takes(raised, pace)) {
            Some(parcel) => parcel.add(raised),
            None => {
                if let Some(key) = raised.fold.as_deref() {
                    open.insert(key, parcels.len());
                }
                parcels.push(Parcel::of(raised));
            }
        }
    }
    parcels
}

impl Parcel {
    /// The parcel of just these notices, the same as when it was made before; nothing when there are none. Repeats
    /// of one kind are folded, and what differs becomes a digest.
    pub(crate) fn again(gathered: &[Raised]) -> Option<Parcel> {
        let (first, rest) = gathered.split_first()?;
        let mut parcel = Parcel::of(first);
        if rest.iter().all(|raised| raised.fold.is_some() && raised.fold == first.fold) {
            rest.iter().for_each(|raised| parcel.add(raised));
            return Some(parcel);
        }
        let seqs = gathered.iter().map(|raised| raised.seq).collect();
        Some(Parcel { message: digest(first, rest), fold: None, seqs })
    }

    fn of(raised: &Raised) -> Parcel {
        Parcel { message: raised.message.clone(), fold: raised.fold.clone(), seqs: vec![raised.seq] }
    }

    /// The first and the last time told in one message.
    fn span(&self) -> Folded {
        let at = self.message.timestamp;
        self.message.folded.unwrap_or(Folded { count: 1, first: at, last: at })
    }

    /// Whether it is near enough, on either side: the clock may have been set back in between.
    fn takes(&self, raised: &Raised, pace: &Pace) -> bool {
        let (first, at) = (self.span().first, raised.message.timestamp);
        at.since(first).max(first.since(at)) <= pace.fold_window
    }

    /// The last repeat speaks for all, under the id of the first.
    fn add(&mut self, raised: &Raised) {
        let span = self.span();
        let folded = Folded { count: span.count + 1, first: span.first, last: raised.message.timestamp };
        let id = std::mem::take(&mut self.message.id);
        self.message = Message { id, folded: Some(folded), ..raised.message.clone() };
        self.seqs.push(raised.seq);
    }

    /// The notice whose id the message has.
    pub(crate) fn notice(&self) -> u64 {
        self.seqs.first().copied().unwrap_or_default()
    }
}

impl Memory {
    /// Until when a parcel waits for more of its kind. What is critical does not wait.
    fn held_until(&self, parcel: &Parcel, pace: &Pace, now: Duration) -> Option<Duration> {
        let until = self.told.get(parcel.fold.as_deref()?)?.saturating_add(pace.fold_window);
        (until > now && parcel.message.severity < Severity::Critical).then_some(until)
    }

    /// When the rate allows the next message, if not now.
    fn free_at(&self, pace: &Pace, now: Duration) -> Option<Duration> {
        let nth = self.sent.len().checked_sub(pace.per_minute?.get() as usize)?;
        let free = self.sent.get(nth)?.saturating_add(MINUTE);
        (free > now).then_some(free)
    }

    /// Remembers that a parcel was told.
    pub(crate) fn told(&mut self, parcel: &Parcel, pace: &Pace, now: Duration) {
        if let Some(key) = &parcel.fold {
            self.told.insert(key.clone(), now);
        }
        if self.told.len() > KEYS_MAX
            && let Some(oldest) = self.told.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone())
        {
            self.told.remove(&oldest);
        }
        let Some(per_minute) = pace.per_minute else { return };
        self.sent.push_back(now);
        while self.sent.len() > per_minute.get() as usize {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_types::Timestamp;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn raised(seq: u64, fold: Option<&str>, severity: Severity, at_secs: u64) -> Raised {
        let at = Timestamp::EPOCH.plus(Duration::from_secs(at_secs));
        let message = Message {
            id: format!("ntc_test_{seq}"),
            timestamp: at,
            severity,
            ..Message::bare(&format!("message {seq}"))
        };
        Raised { seq, fold: fold.map(str::to_owned), message }
    }

    /// A receiver that accepts everything, one message in 10 ms; gives what it got and when.
    fn run(all: &[Raised], until: Duration) -> Vec<(Duration, Parcel)> {
        let pace = Pace::default();
        let raised_at = |r: &Raised| r.message.timestamp.since(Timestamp::EPOCH);
        let (mut memory, mut done, mut now) = (Memory::default(), BTreeSet::new(), Duration::ZERO);
        let mut got = Vec::new();
        while now < until {
            let to = all.partition_point(|r| raised_at(r) <= now);
            let left: Vec<&Raised> = all[..to].iter().filter(|r| !done.contains(&r.seq)).collect();
            let pending: Vec<Raised> = left.iter().take(LOOKAHEAD).copied().cloned().collect();
            let is_critical = |r: &&&Raised| r.message.severity == Severity::Critical;
            let critical = left.iter().rfind(is_critical).map(|r| r.seq);
            let next_raised = all.get(to).map_or(until, raised_at);
            match step(&pending, &memory, critical, Manner { pace: &pace, quiet: None }, now) {
                Step::Send(parcel) => {
                    done.extend(parcel.seqs.iter().copied());
                    memory.told(&parcel, &pace, now);
                    got.push((now, *parcel));
                    now += Duration::from_millis(10);
                }
                Step::WaitUntil(at) => {
                    assert!(at > now, "it would wait without end");
                    now = at.min(next_raised);
                }
                Step::Idle => now = next_raised,
            }
        }
        got
    }

    fn seqs_of(got: &[(Duration, Parcel)]) -> Vec<u64> {
        let mut seqs: Vec<u64> = got.iter().flat_map(|(_, p)| p.seqs.clone()).collect();
        seqs.sort_unstable();
        seqs
    }

    #[test]
    fn distinct_notices_are_told_in_order_and_no_faster_than_the_rate() {
        let all: Vec<Raised> = (1..=100).map(|seq| raised(seq, None, Severity::Warning, 0)).collect();
        let got = run(&all, Duration::from_secs(200));
        assert_eq!(got.iter().map(|(_, p)| p.notice()).collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>());
        for (i, (at, _)) in got.iter().enumerate().skip(30) {
            assert!(*at >= got[i - 30].0 + MINUTE, "message {i}");
        }
    }

    #[test]
    fn a_critical_notice_is_not_delayed_and_still_comes_in_its_order() {
        let mut all: Vec<Raised> = (1..=100).map(|seq| raised(seq, None, Severity::Warning, 0)).collect();
        all.push(raised(101, None, Severity::Critical, 2));
        all.push(raised(102, None, Severity::Warning, 2));
        let got = run(&all, Duration::from_secs(300));
        assert_eq!(got.iter().map(|(_, p)| p.notice()).collect::<Vec<_>>(), (1..=102).collect::<Vec<_>>());
        let at = |seq: u64| got.iter().find(|(_, p)| p.notice() == seq).unwrap().0;
        assert!(at(101) < Duration::from_secs(4), "{:?}", at(101));
        assert!(at(102) > Duration::from_secs(60), "{:?}", at(102));
    }

    #[test]
    fn a_storm_of_a_thousand_gives_few_messages_that_count_them_all() {
        // One kind of repeat; two kinds by turns; all at once or over a minute.
        for (kinds, spread) in [(1, 0), (1, 60), (2, 0), (2, 60), (5, 60)] {
            let all: Vec<Raised> = (1..=1000u64)
                .map(|seq| {
                    raised(seq, Some(&format!("k{}", seq % kinds)), Severity::Warning, seq * spread / 1000)
                })
                .collect();
            let got = run(&all, Duration::from_secs(700));
            assert_eq!(seqs_of(&got), (1..=1000).collect::<Vec<_>>(), "each is told once");
            assert!(got.len() as u64 <= 4 * kinds, "{kinds} kinds gave {} messages", got.len());
            let counted: u64 = got.iter().map(|(_, p)| p.span().count).sum();
            assert_eq!(counted, 1000);
        }
    }

    #[test]
    fn a_critical_notice_is_never_held_and_repeats_that_wait_together_are_still_one() {
        let mut all: Vec<Raised> =
            (1..=5).map(|seq| raised(seq, Some("k"), Severity::Critical, seq)).collect();
        all.extend((6..=50).map(|seq| raised(seq, Some("k"), Severity::Critical, 9)));
        let got = run(&all, Duration::from_secs(20));
        for (at, parcel) in &got {
            let waited = *at - parcel.span().first.since(Timestamp::EPOCH);
            assert!(waited < Duration::from_secs(1), "{:?} waited {waited:?}", parcel.seqs);
        }
        assert_eq!(got.len(), 6);
        assert_eq!(got[5].1.span().count, 45);
    }

    #[test]
    fn the_first_gives_the_id_and_the_newest_the_text() {
        let all = [1, 4, 9].map(|seq| raised(seq, Some("k"), Severity::Warning, seq));
        let parcel = Parcel::again(&all).unwrap();
        assert_eq!(
            (parcel.message.id.as_str(), parcel.message.message.as_str()),
            ("ntc_test_1", "message 9")
        );
        assert_eq!((parcel.notice(), parcel.span().count), (1, 3));
        assert_eq!(folded(&all, &Pace::default()), [parcel]);
        assert_eq!(Parcel::again(&[]), None);
    }

    #[test]
    fn held_repeats_go_out_when_something_new_stands_behind_them() {
        let all = [
            raised(1, Some("k"), Severity::Warning, 0),
            raised(2, Some("k"), Severity::Warning, 1),
            raised(3, Some("k"), Severity::Warning, 2),
            raised(4, None, Severity::Warning, 3),
        ];
        let got = run(&all, Duration::from_secs(5));
        let told: Vec<Vec<u64>> = got.into_iter().map(|(_, p)| p.seqs).collect();
        assert_eq!(told, [vec![1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn repeats_far_apart_are_told_apart() {
        // Also when the clock was set back in between.
        for (first, second, count) in [(0, 600, 1), (0, 601, 2), (600, 0, 1), (601, 0, 2)] {
            let all = [first, second].map(|at| raised(at + 1, Some("k"), Severity::Warning, at));
            assert_eq!(folded(&all, &Pace::default()).len(), count, "{first} {second}");
        }
    }

    /// What is told, after quiet hours that ended at six, of what was raised at these hours.
    fn after_the_night(all: &[(u64, Option<&str>, Severity)]) -> Vec<(String, Vec<u64>)> {
        let quiet = QuietHours::parse("00:00-06:00 UTC", |_| Some(jiff::tz::TimeZone::UTC)).unwrap();
        let raised: Vec<Raised> = (1..)
            .zip(all)
            .map(|(seq, (hour, fold, severity))| raised(seq, *fold, *severity, hour * 3_600))
            .collect();
        let manner = Manner { pace: &Pace::default(), quiet: Some(&quiet) };
        parcels(&raised, manner).into_iter().map(|p| (p.message.id, p.seqs)).collect()
    }

    #[test]
    fn what_waited_in_the_night_is_one_digest_in_the_place_of_its_first() {
        use Severity::{Critical, Info, Warning};
        let told = |id: &str, seqs: &[u64]| (format!("ntc_test_{id}"), seqs.to_vec());
        for (all, expected) in [
            (vec![(7, None, Info), (8, None, Warning)], vec![told("1", &[1]), told("2", &[2])]),
            (vec![(1, None, Info), (3, None, Warning)], vec![told("1_and_1_more", &[1, 2])]),
            // One alone is itself; repeats of one kind are folded as ever, also when they lie hours apart.
            (vec![(1, None, Info), (7, None, Info)], vec![told("1", &[1]), told("2", &[2])]),
            (vec![(1, Some("k"), Info), (5, Some("k"), Info)], vec![told("1", &[1, 2])]),
            (
                vec![(1, Some("k"), Info), (2, None, Info), (5, Some("k"), Info)],
                vec![told("1_and_2_more", &[1, 2, 3])],
            ),
            // What is critical stays by itself, and the order of the rest is that of their first.
            (
                vec![(1, None, Info), (2, None, Critical), (3, None, Info), (6, None, Info)],
                vec![told("1_and_1_more", &[1, 3]), told("2", &[2]), told("4", &[4])],
            ),
        ] {
            assert_eq!(after_the_night(&all), expected, "{all:?}");
        }
    }

    #[test]
    fn a_digest_is_made_again_from_its_notices_alone() {
        let all: Vec<Raised> = (1..=9)
            .map(|seq| raised(seq, (seq % 3 == 0).then_some("k"), Severity::of_rank((seq % 2) as i64), seq))
            .collect();
        let parcel = Parcel::again(&all).unwrap();
        assert_eq!(Parcel::again(&all).unwrap(), parcel);
        assert_eq!((parcel.seqs.len(), parcel.message.digest.len(), parcel.span().count), (9, 7, 9));
    }

    proptest! {
        #[test]
        fn whatever_is_raised_is_told_exactly_once_and_distinct_ones_in_order(
            kinds in proptest::collection::vec((0u8..6, 0u8..3, 0u64..900), 1..120)
        ) {
            let mut at = kinds.iter().map(|(_, _, at)| *at).collect::<Vec<_>>();
            at.sort_unstable();
            let all: Vec<Raised> = kinds.iter().zip(at).enumerate().map(|(i, ((kind, severity, _), at))| {
                let key = format!("k{kind}");
                let fold = (*kind > 2).then_some(key.as_str());
                raised(i as u64 + 1, fold, Severity::of_rank(i64::from(*severity)), at)
            }).collect();
            let got = run(&all, Duration::from_secs(2_400));
            prop_assert_eq!(seqs_of(&got), (1..=all.len() as u64).collect::<Vec<_>>());
            let distinct: Vec<u64> = got.iter().filter(|(_, p)| p.fold.is_none()).map(|(_, p)| p.notice()).collect();
            prop_assert!(distinct.is_sorted());
        }
    }
}
