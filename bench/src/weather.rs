//! How busy others keep the machine, so that a round they disturbed can be told from a calm one.
//!
//! What counts is the time other processes spent in user mode: time in the kernel is in part caused by our own
//! syncs. Children that have ended count as our own, and so do daemons that are named. Nothing that was measured
//! enters the judgement, so leaving disturbed rounds out favours nobody.
//! Others who keep only the disk busy are not noticed; against them there is the interleaving, and the spread.

use std::time::{Duration, Instant};

/// Others may use this much of one core in a calm round. The kernel counts in steps of 10 ms, so a round of a
/// tenth of a second with a single foreign step in it is just calm.
const CALM_MAX: f64 = 0.15;
/// The length of the kernel's step; it is 100 a second on every Linux that matters here.
const STEP: Duration = Duration::from_millis(10);

/// Counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather<'a> {
    at: Instant,
    all: u64,
    own: u64,
    beside: &'a [u32],
}

/// How many rounds there were and which of them count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rounds {
    pub(crate) calm: usize,
    pub(crate) disturbed: usize,
    /// There were too few calm ones, so all of them count.
    pub(crate) all_count: bool,
}

impl Rounds {
    /// Both together, as the page speaks of them.
    pub(crate) fn and(self, other: Rounds) -> Rounds {
        Rounds {
            calm: self.calm + other.calm,
            disturbed: self.disturbed + other.disturbed,
            all_count: self.all_count || other.all_count,
        }
    }
}

impl Weather<'_> {
    /// Looks now. The processes `beside` this one are measured too, and are nobody else's.
    pub(crate) fn look(beside: &[u32]) -> Weather<'_> {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let steps = |who: &str| own_steps(&read(&format!("/proc/{who}/stat"))).unwrap_or(0);
        Weather {
            at: Instant::now(),
            all: user_steps(&read("/proc/stat")).unwrap_or(0),
            own: steps("self") + beside.iter().map(|pid| steps(&pid.to_string())).sum::<u64>(),
            beside,
        }
    }

    /// Whether others left the machine alone since this look.
    pub(crate) fn was_calm(&self) -> bool {
        let now = Weather::look(self.beside);
        let others = (now.all - self.all).saturating_sub(now.own.saturating_sub(self.own));
        let busy = STEP.as_secs_f64() * others as f64;
        busy / (now.at - self.at).as_secs_f64() <= CALM_MAX
    }
}

/// Keeps calling `round` until `wanted` rounds were calm or the time is up, then gives those that count.
pub(crate) fn calm_rounds<T>(
    wanted: usize,
    time_max: Duration,
    round: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<(Vec<T>, Rounds)> {
    calm_rounds_beside(&[], wanted, time_max, round)
}

/// The same while processes run that are part of what is measured.
pub(crate) fn calm_rounds_beside<T>(
    beside: &[u32],
    wanted: usize,
    time_max: Duration,
    mut round: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<(Vec<T>, Rounds)> {
    let (mut calm, mut disturbed) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while calm.len() < wanted && (began.elapsed() < time_max || calm.len() + disturbed.len() < wanted) {
        let weather = Weather::look(beside);
        let measured = round(calm.len() + disturbed.len())?;
        if weather.was_calm() {
            calm.push(measured);
        } else {
            disturbed.push(measured);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(choose(calm, disturbed, wanted))
}

/// One turn of each of `N`; who begins moves on from round to round.
pub(crate) fn in_turns<T, const N: usize>(
    number: usize,
    mut turn: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<[Option<T>; N]> {
    let mut out = [const { None }; N];
    for n in 0..N {
        let who = (number + n) % N;
        out[who] = Some(turn(who)?);
    }
    Ok(out)
}

/// The calm rounds where they are at least half of what was wanted, else all.
fn choose<T>(calm: Vec<T>, disturbed: Vec<T>, wanted: usize) -> (Vec<T>, Rounds) {
    let rounds = Rounds { calm: calm.len(), disturbed: disturbed.len(), all_count: calm.len() * 2 < wanted };
    let mut chosen = calm;
    if rounds.all_count {
        chosen.extend(disturbed);
    }
    (chosen, rounds)
}

/// User time of all processes, from `/proc/stat`: the first two numbers, plain and nice.
fn user_steps(stat: &str) -> Option<u64> {
    let mut numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let mut number = || numbers.next()?.parse::<u64>().ok();
    Some(number()? + number()?)
}

/// User time of a process and of its children that have ended, from `/proc/PID/stat`: the twelfth and the
/// fourteenth field after the name in brackets.
fn own_steps(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).step_by(2);
    let mut number = || fields.next()?.parse::<u64>().ok();
    Some(number()? + number()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read() {
        assert_eq!(user_steps("cpu  100 20 30 40\ncpu0 1 2 3\n"), Some(120));
        assert_eq!(user_steps(""), None);
        let stat = "77 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 1234 55 300 7 0 0";
        assert_eq!(own_steps(stat), Some(1534));
        assert_eq!(own_steps("77"), None);
    }

    #[test]
    fn disturbed_rounds_count_only_where_calm_ones_are_few() {
        let (chosen, rounds) = choose(vec![1, 2, 3], vec![4, 5, 6, 7], 6);
        assert_eq!((chosen, rounds.all_count), (vec![1, 2, 3], false));
        let (chosen, rounds) = choose(vec![1, 2], vec![3, 4, 5], 6);
        assert_eq!((chosen, rounds.all_count), (vec![1, 2, 3, 4, 5], true));
        assert_eq!((rounds.calm, rounds.disturbed), (2, 3));
    }
}
