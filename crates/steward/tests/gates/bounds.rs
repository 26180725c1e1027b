//! The edges of every bound, as properties: against the current value, the limits, and a week.

use holdfast_steward::com::Com;
use holdfast_steward::policy::{Allowed, Refusal, Standing, Tier, judge};
use holdfast_steward::setting::{Change, Property, Value};
use proptest::prelude::*;

use crate::world::*;

fn judged(
    service: &str,
    property: Property,
    from: Value,
    to: Value,
    recent: &[Change],
) -> Result<Allowed, Refusal> {
    let before = at(service, property.clone(), from);
    let after = at(service, property, to);
    judge_with(&before, &after, &before, recent)
}

/// The world with one value, and nothing that would interfere.
fn at(service: &str, property: Property, value: Value) -> Com {
    let mut before = com();
    if property == Property::MemoryMax {
        before.units.get_mut(&unit(service)).unwrap().settings.remove(&Property::MemoryHigh);
    }
    if property == Property::MemoryHigh {
        set(&mut before, service, Property::MemoryMax, Value::Bytes(u64::MAX));
    }
    set(&mut before, service, property, value);
    before
}

fn judge_with(before: &Com, after: &Com, baseline: &Com, recent: &[Change]) -> Result<Allowed, Refusal> {
    let rules = rules();
    judge(before, after, &Standing { rules: &rules, baseline, recent, revert_to: None, fresh: true })
}

/// Whether it is let pass in Tier 1 exactly when it should be.
fn agree(
    service: &str,
    property: Property,
    from: Value,
    to: Value,
    expected: bool,
) -> Result<(), TestCaseError> {
    if from == to {
        return Ok(());
    }
    let judged = judged(service, property, from, to, &[]);
    let passed = judged.as_ref().is_ok_and(|allowed| allowed.tier == Tier::One);
    prop_assert_eq!(passed, expected, "from {} to {}: {:?}", from, to, judged);
    Ok(())
}

fn within(from: u64, to: u64, percent: u64) -> bool {
    u128::from(from.abs_diff(to)) * 100 <= u128::from(from) * u128::from(percent)
}

/// Values around the edge of a step from `from`, so that the edge itself is met often.
fn near_step(from: u64, percent: u64, up: bool, off: i64) -> u64 {
    let step = u64::try_from(u128::from(from) * u128::from(percent) / 100).unwrap();
    let edge = if up { from + step } else { from - step };
    edge.saturating_add_signed(off)
}

proptest! {
    // shows: STW-189
    #[test]
    fn memory_max_moves_by_a_fifth_between_256m_and_3g(from in 200 * MIB..4 * GIB, up: bool, off in -3i64..=3) {
        let to = near_step(from, 20, up, off);
        let expected = within(from, to, 20) && (256 * MIB..=3 * GIB).contains(&to);
        agree(WORKLOAD, Property::MemoryMax, Value::Bytes(from), Value::Bytes(to), expected)?;
    }

    #[test]
    fn memory_max_stops_at_its_limits(near in -3i64..=3, low: bool) {
        let edge = if low { 256 * MIB } else { 3 * GIB };
        let (from, to) = (if low { 300 * MIB } else { 2800 * MIB }, edge.saturating_add_signed(near));
        let expected = (256 * MIB..=3 * GIB).contains(&to);
        agree(WORKLOAD, Property::MemoryMax, Value::Bytes(from), Value::Bytes(to), expected)?;
    }

    #[test]
    fn memory_high_moves_by_a_fifth_from_128m_on(from in 100 * MIB..4 * GIB, up: bool, off in -3i64..=3) {
        let to = near_step(from, 20, up, off);
        let expected = within(from, to, 20) && (128 * MIB..=3 * GIB).contains(&to);
        agree(WORKLOAD, Property::MemoryHigh, Value::Bytes(from), Value::Bytes(to), expected)?;
    }

    // shows: STW-190
    #[test]
    fn memory_high_never_passes_memory_max(from in 300 * MIB..GIB, up: bool, off in -2i64..=2, room in 0..200 * MIB, exact: bool) {
        let to = near_step(from, 20, up, off);
        let max = if exact { to.saturating_add_signed(off) } else { from + room };
        let mut before = at(WORKLOAD, Property::MemoryHigh, Value::Bytes(from));
        set(&mut before, WORKLOAD, Property::MemoryMax, Value::Bytes(max));
        let mut after = before.clone();
        set(&mut after, WORKLOAD, Property::MemoryHigh, Value::Bytes(to));
        let judged = judge_with(&before, &after, &before, &[]);
        prop_assert_eq!(judged.is_ok(), within(from, to, 20) && to <= max, "from {} to {} of {}: {:?}", from, to, max, judged);
    }

    // shows: STW-191
    #[test]
    fn the_cpu_quota_moves_by_a_quarter_between_25_and_400(from in 1u32..500, to in 1u32..500, near: bool, up: bool, off in -2i64..=2) {
        let edge = near_step(u64::from(from), 25, up, off);
        let to = if near { u32::try_from(edge).unwrap() } else { to };
        let expected = within(from.into(), to.into(), 25) && (25..=400).contains(&to);
        agree(WORKLOAD, Property::CpuQuota, Value::Percent(from), Value::Percent(to), expected)?;
    }

    // shows: STW-192
    #[test]
    fn nice_moves_by_three_and_alone_not_below_minus_five(from in -25i64..25, step in -5i64..=5) {
        let to = from + step;
        let (from, value) = (Value::Number(from), Value::Number(to));
        agree(WORKLOAD, Property::Nice, from, value, step.abs() <= 3 && (-5..=19).contains(&to))?;
        if step != 0 {
            let judged = judged(WORKLOAD, Property::Nice, from, value, &[]);
            prop_assert_eq!(judged.is_ok(), step.abs() <= 3 && (-20..=19).contains(&to));
        }
    }

    // shows: STW-193
    #[test]
    fn jobs_and_cores_move_by_one(from in -2i64..70, step in -3i64..=3, cores: bool) {
        let property = if cores { Property::Cores } else { Property::MaxJobs };
        let to = from + step;
        let expected = step.abs() <= 1 && (1..=64).contains(&to);
        agree("nix-daemon.service", property, Value::Number(from), Value::Number(to), expected)?;
    }

    // shows: STW-387
    #[test]
    fn steps_do_not_compound_beyond_half_of_what_people_set(ups in prop::collection::vec(any::<bool>(), 1..12)) {
        let start = 1024 * MIB;
        let baseline = at(WORKLOAD, Property::MemoryMax, Value::Bytes(start));
        let (mut recent, mut current, mut lowest, mut highest) = (Vec::new(), start, start, start);
        for up in ups {
            let to = near_step(current, 20, up, 0);
            let (before, after) = (Value::Bytes(current), Value::Bytes(to));
            let made = change(WORKLOAD, Property::MemoryMax, before, after);
            let (old, new) = (at(WORKLOAD, Property::MemoryMax, before), at(WORKLOAD, Property::MemoryMax, after));
            let spread = highest.max(to) - lowest.min(to);
            let judged = judge_with(&old, &new, &baseline, &recent);
            let limits = (256 * MIB..=3 * GIB).contains(&to);
            prop_assert_eq!(judged.is_ok(), limits && spread * 2 <= start, "{} to {}: {:?}", current, to, judged);
            if judged.is_ok() {
                recent.push(made);
                (current, lowest, highest) = (to, lowest.min(to), highest.max(to));
            }
        }
        // Where nothing was said, or no end, there is nothing to measure against, and a person agrees.
        for nothing in [Value::Unset, Value::Infinity] {
            for (from, to) in [(nothing, Value::Bytes(start)), (Value::Bytes(start), nothing)] {
                let judged = judged(WORKLOAD, Property::MemoryMax, from, to, &recent);
                prop_assert_eq!(judged.map(|allowed| allowed.tier), Ok(Tier::Two));
            }
            let unset = at(WORKLOAD, Property::MemoryMax, nothing);
            let (old, new) = (at(WORKLOAD, Property::MemoryMax, Value::Bytes(start)), at(WORKLOAD, Property::MemoryMax, Value::Bytes(start + MIB)));
            prop_assert_eq!(judge_with(&old, &new, &unset, &[]).map(|allowed| allowed.tier), Ok(Tier::Two));
        }
    }

    #[test]
    fn no_value_however_large_breaks_the_arithmetic(from: u64, to: u64, number: i64, percent: u32) {
        let _ = judged(WORKLOAD, Property::MemoryMax, Value::Bytes(from), Value::Bytes(to), &[]);
        let _ = judged(WORKLOAD, Property::Nice, Value::Number(number), Value::Number(i64::MIN), &[]);
        let _ = judged(WORKLOAD, Property::CpuQuota, Value::Percent(percent), Value::Percent(u32::MAX), &[]);
    }
}

#[test]
fn three_full_steps_in_one_week_are_one_too_many() {
    let mib = |n: u64| Value::Bytes(n * MIB);
    let made = |from, to| change(WORKLOAD, Property::MemoryMax, mib(from), mib(to));
    let baseline = at(WORKLOAD, Property::MemoryMax, mib(1000));
    let step = |from, to, recent: &[Change]| {
        let (old, new) =
            (at(WORKLOAD, Property::MemoryMax, mib(from)), at(WORKLOAD, Property::MemoryMax, mib(to)));
        judge_with(&old, &new, &baseline, recent).map_err(|refusal| refusal.reason)
    };
    assert!(step(1000, 1200, &[]).is_ok());
    assert!(step(1200, 1440, &[made(1000, 1200)]).is_ok());
    let third = step(1440, 1728, &[made(1000, 1200), made(1200, 1440)]).unwrap_err();
    assert!(third.contains("it was 1000M within the last 7 days"), "{third}");
    // A week later the earlier steps are no longer recent.
    assert!(step(1440, 1728, &[]).is_ok());
    // Of another unit they never were.
    assert!(step(1440, 1728, &[change("other.service", Property::MemoryMax, mib(1), mib(2))]).is_ok());
}
