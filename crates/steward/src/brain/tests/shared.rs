//! Two managed units on one host: what is given to one is not paid for by the other, and goes back where it is.

use std::time::Duration;

use super::judgement::{held, hog, waiting, why};
use super::*;

fn other() -> UnitName {
    "z.service".parse().unwrap()
}

/// A unit beside it that uses and wants so much, at a nice value of 0.
fn beside(cpu_use: f64, cpu_wait: f64) -> UnitView {
    let facts = Facts {
        pressure: Some(0.0),
        cpu_use: Some(cpu_use),
        cpu_wait: Some(cpu_wait),
        cpu_peak: Some(cpu_use),
        ..Facts::default()
    };
    UnitView { facts, ..content() }
}

/// Both on a host of two processors, with a neighbour that takes whatever it gets.
fn both(first: UnitView, second: UnitView) -> View {
    let mut view = View { on_host: hog(0), ..view(first) };
    view.units.insert(other(), second);
    view
}

fn people(nice: i64, cpu_quota: u32) -> People {
    People {
        memory_max: mebi(1000),
        memory_high: mebi(800),
        cpu_quota: Value::Percent(cpu_quota),
        nice: Value::Number(nice),
    }
}

#[test]
fn nobody_is_given_processors_that_another_managed_unit_waits_for() {
    let stopped = || UnitView { throttled: 0.9, ..content() };
    for (waits, barred) in [(0.0, false), (2.9, false), (3.0, true), (60.0, true), (f64::NAN, false)] {
        let given =
            |change: [(&'static str, &'static str); 1]| if barred { Vec::new() } else { change.to_vec() };
        let weight = both(waiting(30.0), beside(0.2, waits));
        check(&format!("weight, the other waits {waits} %"), &weight, &given([("Nice", "1")]));
        // Processors are free here, so that the other's waiting is no trouble of its own.
        let free = HostView { processors: Some(8.0), ..hog(0) };
        let quota = View { on_host: free, ..both(stopped(), beside(0.2, waits)) };
        check(&format!("quota, the other waits {waits} %"), &quota, &given([("CPUQuota", "125%")]));
        let refusal = "another managed unit is short of the processors that it would take";
        assert_eq!(why(&quota).contains(refusal), barred, "{}", why(&quota));
    }
    let mut unknown = both(waiting(30.0), beside(0.2, 0.0));
    unknown.units.get_mut(&other()).unwrap().facts.cpu_wait = None;
    check("nothing is known of the other's waiting", &unknown, &[("Nice", "1")]);
    check("its own waiting bars nothing", &View { on_host: hog(0), ..view(waiting(30.0)) }, &[("Nice", "1")]);
    let memory =
        View { on_host: HostView { processors: Some(8.0), ..hog(0) }, ..both(held(60.0), beside(0.2, 60.0)) };
    check("memory is not paid for with processors", &memory, &[("MemoryHigh", "904M")]);
}

#[test]
fn weight_is_not_given_where_another_would_pay_at_its_peak() {
    let peaks_at = |peak: f64, quota: u32| {
        let mut other = UnitView { cpu_quota: Value::Percent(quota), ..beside(0.3, 0.0) };
        other.facts.cpu_peak = Some(peak);
        both(waiting(30.0), other)
    };
    check("it never wants more", &peaks_at(0.3, 200), &[("Nice", "1")]);
    check("its fair share holds the peak after the whole step", &peaks_at(0.7, 200), &[("Nice", "1")]);
    check("and here after a smaller one", &peaks_at(0.78, 200), &[("Nice", "3")]);
    check("at its peak it would pay for any", &peaks_at(0.95, 200), &[]);
    check("its quota keeps it from ever wanting that much", &peaks_at(0.95, 30), &[("Nice", "1")]);
    check("a peak that is none is not believed", &peaks_at(f64::NAN, 200), &[("Nice", "1")]);
}

/// A unit that was given weight in two steps, from 4 to 1 and from there to −1.
fn given(nice: i64) -> UnitView {
    let facts = Facts { cpu_use: Some(0.8), ..waiting(30.0).facts };
    UnitView { nice: Value::Number(nice), cpu_quota: Value::Percent(200), facts, ..content() }
}

fn step(from: i64, to: i64, outcome: Outcome, hours: u64) -> Earlier {
    let age = Some(Duration::from_secs(hours * 3600));
    Earlier { age, ..earlier(Property::Nice, Value::Number(from), Value::Number(to), outcome) }
}

fn both_steps(outcome: Outcome) -> Vec<Earlier> {
    vec![step(4, 1, Outcome::Kept, 30), step(1, -1, outcome, 20)]
}

#[test]
fn weight_that_another_pays_for_goes_back_a_step_at_a_time() {
    // Without the two steps the other would have all of the 0.76 processors it wants; with them it has 0.62, with one 0.71.
    let now = |nice, outcomes| View { outcomes, ..both(given(nice), beside(0.7, 8.0)) };
    let first = now(-1, both_steps(Outcome::Inconclusive));
    check("the last step first", &first, &[("Nice", "1")]);
    assert_eq!(answer(&first)["target_service"], json!("a.service"), "it is the one that was given weight");
    let mut outcomes = both_steps(Outcome::Kept);
    outcomes.push(step(-1, 1, Outcome::Kept, 3));
    check("then the one before", &now(1, outcomes.clone()), &[("Nice", "4")]);
    outcomes.push(step(1, 4, Outcome::Kept, 1));
    check("then nobody pays any more", &now(4, outcomes.clone()), &[]);
    let calm = |outcomes| View { outcomes, ..both(given(4), beside(0.2, 0.0)) };
    check("nor is it given again when the other is calm", &calm(outcomes.clone()), &[]);
    let long_ago =
        outcomes.into_iter().map(|it| Earlier { age: Some(Duration::from_secs(8 * 86_400)), ..it });
    check("until a week has passed", &calm(long_ago.collect()), &[("Nice", "1")]);
}

#[test]
fn nothing_goes_back_that_nobody_pays_for() {
    let with = |first: UnitView, second: UnitView, outcomes| View { outcomes, ..both(first, second) };
    let kept = || both_steps(Outcome::Kept);
    check("the other hardly waits", &with(given(-1), beside(0.7, 2.0), kept()), &[]);
    check("nothing was changed here", &with(given(-1), beside(0.7, 8.0), Vec::new()), &[]);
    let undone = vec![step(4, 1, Outcome::RolledBack, 30)];
    check("what was changed is undone already", &with(given(4), beside(0.7, 8.0), undone), &[]);
    let long_ago = vec![step(4, -1, Outcome::Kept, 200)];
    check("longer ago than a week", &with(given(-1), beside(0.7, 8.0), long_ago), &[]);
    // People gave it half a processor, which it still has; what it waits for is more than that.
    let raised = UnitView { people: Some(people(0, 50)), ..beside(0.6, 8.0) };
    check("it waits for what it was given beside", &with(given(-1), raised, kept()), &[]);
    let unknown = HostView { processors: None, ..hog(0) };
    check(
        "nobody knows the processors",
        &View { on_host: unknown, ..with(given(-1), beside(0.7, 8.0), kept()) },
        &[],
    );
}

#[test]
fn whoever_can_be_given_weight_without_a_payer_needs_nothing_back() {
    // The first wants little enough that it has all of it whatever the other weighs.
    let mut first = given(-1);
    (first.facts.cpu_use, first.facts.cpu_wait) = (Some(0.3), Some(0.0));
    let view = View { outcomes: both_steps(Outcome::Kept), ..both(first, beside(0.8, 8.0)) };
    assert_eq!(answer(&view)["target_service"], json!("z.service"));
    check("the one that waits is given weight", &view, &[("Nice", "-1")]);
}

#[test]
fn what_was_undone_is_not_proposed_again_and_people_are_not_gone_beyond() {
    let now = |undone: i64| {
        let mut outcomes = both_steps(Outcome::Kept);
        outcomes.push(step(-1, undone, Outcome::RolledBack, 3));
        View { outcomes, ..both(given(-1), beside(0.7, 8.0)) }
    };
    check("going back to 1 was undone", &now(1), &[("Nice", "2")]);
    let from_people = View {
        outcomes: vec![step(1, -1, Outcome::Kept, 20), step(-1, 1, Outcome::RolledBack, 3)],
        ..both(UnitView { people: Some(people(1, 200)), ..given(-1) }, beside(0.7, 8.0))
    };
    check("and that was all there is", &from_people, &[]);
}
