//! The laws themselves, each a short story with a target.

use holdfast_lifeline::{Ended, Refused};
use holdfast_steward::com::Difference;
use holdfast_steward::effect::{Activation, Answer, Fault, Verb};

use crate::bench::{Bench, Held, Law, Trial, holds};

pub(crate) const ALL: &[(&str, Law)] = &[
    ("looking changes nothing and says the same twice", looking),
    ("checking and staging change nothing", staging),
    ("what is built on something else is refused", another_base),
    ("a trial runs and is not what boots", trial),
    ("a boot undoes a trial", boot),
    ("keeping takes a standing lease, this episode, and what runs", keeping),
    ("one episode at a time", one_at_a_time),
    ("a lease is renewed up to its cap, ends by itself, and late words are refused", lease),
    ("going back is done once, however often it is said", going_back),
    ("what is given up is undone", giving_up),
    ("an identity is content", content),
    ("garbage is never what is needed", garbage),
];

fn looking(bench: &mut Bench<'_>) -> Held {
    let durable = bench.subject.durable();
    let (first, listed) = (bench.full()?, bench.generations());
    let (second, again) = (bench.full()?, bench.generations());
    holds!(
        first.running == second.running && first.boots_into == second.boots_into,
        "{first:?} then {second:?}"
    );
    holds!(first.boot == second.boot && first.people == second.people, "{first:?} then {second:?}");
    let (before, after) = (bench.of(&first)?, bench.of(&second)?);
    let texts = (before.com.canonical_text(), after.com.canonical_text());
    holds!(texts.0 == texts.1, "two looks at the configuration: {texts:?}");
    let texts = (before.baseline.canonical_text(), after.baseline.canonical_text());
    holds!(texts.0 == texts.1, "two looks at what people wrote: {texts:?}");
    holds!(listed == again, "two lists: {listed:?} and {again:?}");
    holds!(
        listed.contains(&first.boots_into),
        "{:?} is booted into and not listed: {listed:?}",
        first.boots_into
    );
    holds!(
        before.generations as usize == listed.len(),
        "{} generations, and {} are listed",
        before.generations,
        listed.len()
    );
    holds!(durable == bench.subject.durable(), "looking changed something");
    Ok(())
}

fn staging(bench: &mut Bench<'_>) -> Held {
    let (found, durable, listed) = (bench.full()?, bench.subject.durable(), bench.generations());
    let com = bench.of(&found)?.com.clone();
    let (changes, others) = (bench.change(1)?, bench.change(2)?);
    match bench.say(&Verb::Check { changes: changes.clone() }) {
        Ok(Answer::Checked(Ok(()))) => {}
        other => return Err(format!("checking: {other:?}").into()),
    }
    let (one, two, three) = (bench.episode(), bench.episode(), bench.episode());
    let first = bench.stage(&one, found.running, changes.clone())?;
    let other = bench.stage(&two, found.running, others)?;
    let again = bench.stage(&three, found.running, changes.clone())?;
    holds!(
        first.identity == again.identity,
        "the same twice is {:?} and {:?}",
        first.identity,
        again.identity
    );
    holds!(
        first.com.canonical_text() == again.com.canonical_text(),
        "the same twice is evaluated to two configurations"
    );
    holds!(first.identity != other.identity, "two values have the identity {:?}", first.identity);
    holds!(first.identity != found.running, "a change has the identity of what runs");
    let differences = com.differences(&first.com);
    let asked: Vec<Difference> = changes.into_iter().map(Difference::Setting).collect();
    holds!(differences == asked, "{asked:?} was asked, and {differences:?} was evaluated");
    let after = bench.full()?;
    holds!(
        (after.running, after.boots_into) == (found.running, found.boots_into),
        "{found:?} became {after:?}"
    );
    holds!(
        !after.leased && after.boot == found.boot && after.people == found.people,
        "{found:?} became {after:?}"
    );
    holds!(
        bench.of(&after)?.com.canonical_text() == com.canonical_text(),
        "staging changed the configuration"
    );
    holds!(bench.generations() == listed, "staging made a generation");
    holds!(durable == bench.subject.durable(), "staging changed something");
    Ok(())
}

fn another_base(bench: &mut Bench<'_>) -> Held {
    let staged = bench.staged(1)?;
    let changes = bench.change(2)?;
    let episode = bench.episode();
    let on_another = Verb::Stage { episode: episode.clone(), base: staged.candidate, changes };
    let refused = bench.refused(&on_another, "on something that does not run")?;
    holds!(refused == Refused::NotKnownGood, "staged on another base: {refused:?}");
    let arm = bench.arm(&Trial { episode, known_good: staged.candidate, candidate: staged.known_good });
    let refused = bench.refused(&arm, "for another known-good")?;
    holds!(refused == Refused::NotKnownGood, "armed for another known-good: {refused:?}");
    holds!(!bench.state()?.leased, "a refused lease stands");
    Ok(())
}

fn trial(bench: &mut Bench<'_>) -> Held {
    let (found, durable, listed) = (bench.state()?, bench.subject.durable(), bench.generations());
    let trial = bench.tried(1)?;
    let state = bench.full()?;
    holds!(state.running == trial.candidate, "{trial:?} was to run: {state:?}");
    holds!(state.boots_into == found.boots_into && state.leased, "{state:?}");
    let (setting, wanted) = (bench.subject.setting(), bench.subject.value(1));
    let value = bench.of(&state)?.com.value(&setting);
    holds!(value == wanted, "{setting} was to be {wanted} and is {value}");
    holds!(bench.generations() == listed, "a trial made a generation");
    holds!(durable == bench.subject.durable(), "a trial changed what boots, or what people wrote");
    // Said again it is neither refused nor done again.
    bench.run(&trial)?;
    let restore = bench.restore(&trial);
    bench.accepted(&restore)?;
    bench.comes_back_to(found.running, "after a trial")?;
    holds!(durable == bench.subject.durable(), "going back from a trial changed something");
    Ok(())
}

fn boot(bench: &mut Bench<'_>) -> Held {
    let (found, durable) = (bench.state()?, bench.subject.durable());
    let trial = bench.tried(1)?;
    if let Err(not_here) = bench.subject.boot() {
        let restore = bench.restore(&trial);
        bench.accepted(&restore)?;
        bench.comes_back_to(found.running, "without a boot")?;
        return Err(not_here.into());
    }
    bench.comes_back_to(found.running, "after a boot")?;
    let state = bench.look(false, Some(&trial.episode))?;
    holds!(state.boot != found.boot, "it says that it did not boot");
    holds!(state.ended == Some(Ended::LostAtBoot), "{:?}", state.ended);
    let keep = bench.keep(&trial);
    let refused = bench.refused(&keep, "after a boot")?;
    holds!(refused == Refused::HasEnded(Ended::LostAtBoot), "{refused:?}");
    holds!(durable == bench.subject.durable(), "a boot changed something");
    Ok(())
}

fn keeping(bench: &mut Bench<'_>) -> Held {
    let (found, listed) = (bench.state()?, bench.generations());
    let staged = bench.staged(1)?;
    let keep = bench.keep(&staged);
    let refused = bench.refused(&keep, "without a lease")?;
    holds!(refused == Refused::NotArmed, "keeping without a lease: {refused:?}");
    let another = Trial { episode: bench.episode(), ..staged.clone() };
    // Armed for this one, and not tried yet.
    let armed = bench.armed(1)?;
    let keep = bench.keep(&armed);
    let refused = bench.refused(&keep, "before it runs")?;
    holds!(refused == Refused::NotTheCandidate, "keeping what does not run: {refused:?}");
    let try_another = Verb::Try { episode: armed.episode.clone(), candidate: found.running };
    let refused = bench.refused(&try_another, "for something else than was armed")?;
    holds!(refused == Refused::NotTheCandidate, "trying something else: {refused:?}");
    // Staged since, where that is taken at all while a lease stands: it is not what is kept in the end.
    let (later, changes) = (bench.episode(), bench.change(2)?);
    match bench.say(&Verb::Stage { episode: later, base: found.running, changes }) {
        Ok(Answer::Staged(Ok(_))) | Err(Fault::Refused(Refused::Busy)) => {}
        other => return Err(format!("staging while a lease stands: {other:?}").into()),
    }
    bench.run(&armed)?;
    let of_another = bench.keep(&another);
    let refused = bench.refused(&of_another, "for another episode")?;
    holds!(refused == Refused::NotArmed, "keeping for another episode: {refused:?}");
    let something_else = Verb::Keep { episode: armed.episode.clone(), candidate: found.running };
    let refused = bench.refused(&something_else, "for something that does not run")?;
    holds!(refused == Refused::NotTheCandidate, "keeping something else: {refused:?}");
    let state = bench.state()?;
    holds!(state.boots_into == found.boots_into && state.leased, "after refusals: {state:?}");
    bench.accepted(&keep)?;
    bench.comes_back_to(armed.candidate, "after it was kept")?;
    let after = bench.generations();
    holds!(
        after.last() == Some(&armed.candidate) && after.len() - listed.len() <= 1,
        "{listed:?} became {after:?}"
    );
    bench.accepted(&keep)?;
    bench.comes_back_to(armed.candidate, "after it was kept twice")?;
    holds!(bench.generations() == after, "keeping twice made two generations");
    let state = bench.look(false, Some(&armed.episode))?;
    holds!(state.ended == Some(Ended::Kept), "{:?}", state.ended);
    let restore = bench.restore(&armed);
    bench.accepted(&restore)?;
    bench.comes_back_to(found.running, "after what was kept was taken back")
}

fn one_at_a_time(bench: &mut Bench<'_>) -> Held {
    let found = bench.state()?;
    let second = bench.staged(2)?;
    let first = bench.armed(1)?;
    let arm_second = bench.arm(&second);
    let refused = bench.refused(&arm_second, "while another lease stands")?;
    holds!(refused == Refused::Busy, "a second lease: {refused:?}");
    for verb in
        [Verb::Try { episode: second.episode.clone(), candidate: second.candidate }, bench.keep(&second)]
    {
        let refused = bench.refused(&verb, "without a lease of its own")?;
        holds!(refused == Refused::NotArmed, "{} without a lease: {refused:?}", verb.name());
    }
    let other = bench.arm(&Trial { candidate: second.candidate, ..first.clone() });
    let refused = bench.refused(&other, "for another candidate")?;
    holds!(refused == Refused::NotTheCandidate, "armed again for something else: {refused:?}");
    // Somebody else's undoing does not end this one.
    bench.run(&first)?;
    let restore_second = bench.restore(&second);
    bench.accepted(&restore_second)?;
    let state = bench.state()?;
    holds!(state.running == first.candidate && state.leased, "another episode was undone: {state:?}");
    let restore = bench.restore(&first);
    bench.accepted(&restore)?;
    bench.comes_back_to(found.running, "after the first")
}

fn lease(bench: &mut Bench<'_>) -> Held {
    let (found, durable, lasts) = (bench.state()?, bench.subject.durable(), bench.subject.lease());
    let staged = bench.staged(1)?;
    let begun = bench.subject.clock();
    let arm = bench.arm(&staged);
    match bench.say(&arm) {
        Ok(Answer::Armed(_)) => {}
        other => return Err(format!("arming: {other:?}").into()),
    }
    bench.run(&staged)?;
    bench.pass_until(begun + lasts * 7 / 10);
    bench.renew(&staged.episode)?;
    bench.pass_until(begun + lasts * 6 / 5);
    let state = bench.renew(&staged.episode)?;
    holds!(
        state.running == staged.candidate && state.leased,
        "a lease that was renewed has ended: {state:?}"
    );
    // Once more would reach beyond the cap. Nobody is there to see it end.
    bench.subject.cut();
    let unheard = bench.say(&Verb::Poll { episode: staged.episode.clone() });
    bench.pass_until(begun + lasts * 3 / 2);
    bench.a_moment();
    bench.subject.join();
    holds!(
        matches!(unheard, Err(Fault::Unreachable | Fault::TimedOut)),
        "over a line that is cut: {unheard:?}"
    );
    bench.comes_back_to(found.running, "when the lease has run out")?;
    let took = bench.subject.clock() - begun;
    holds!(took < lasts * 2, "the last renewal reached beyond the cap: {took:?}");
    let state = bench.renew(&staged.episode)?;
    holds!(state.ended == Some(Ended::Expired) && !state.leased, "{state:?}");
    let ended = Refused::HasEnded(Ended::Expired);
    let late = [
        arm,
        Verb::Try { episode: staged.episode.clone(), candidate: staged.candidate },
        bench.keep(&staged),
    ];
    for verb in &late {
        let refused = bench.refused(verb, "when its lease has run out")?;
        holds!(refused == ended, "{} too late: {refused:?}", verb.name());
    }
    let restore = bench.restore(&staged);
    bench.accepted(&restore)?;
    bench.comes_back_to(found.running, "after late words")?;
    holds!(durable == bench.subject.durable(), "a lease that ran out changed something");
    Ok(())
}

fn going_back(bench: &mut Bench<'_>) -> Held {
    let found = bench.state()?;
    // Out of a trial, also when it is said too early, twice, or with another wish.
    let trial = bench.tried(1)?;
    let restore = bench.restore(&trial);
    for _ in 0..3 {
        bench.accepted(&restore)?;
        bench.comes_back_to(found.running, "out of a trial, again")?;
    }
    let keep = bench.keep(&trial);
    let refused = bench.refused(&keep, "after it was undone")?;
    holds!(refused == Refused::HasEnded(Ended::Restored), "{refused:?}");
    // Out of what was kept: one back, and never one further.
    let (first, second) = (bench.kept(1)?, bench.kept(2)?);
    let restore = bench.restore(&second);
    for _ in 0..3 {
        bench.accepted(&restore)?;
        bench.comes_back_to(first.candidate, "out of what was kept, again")?;
    }
    let further = bench.restore(&first);
    let refused = bench.refused(&further, "when it is not the last that was kept")?;
    holds!(refused == Refused::Stale, "one further back: {refused:?}");
    bench.comes_back_to(first.candidate, "after one further back was asked")?;
    // An episode not heard of may still be under way: its words are refused when they come.
    let unheard = bench.staged(3)?;
    let restore = bench.restore(&unheard);
    bench.accepted(&restore)?;
    let arm = bench.arm(&unheard);
    let refused = bench.refused(&arm, "after its undoing")?;
    holds!(refused == Refused::HasEnded(Ended::Restored), "{refused:?}");
    bench.comes_back_to(first.candidate, "after an episode that was not heard of")?;
    bench.back_to_people()?;
    let back = bench.state()?;
    holds!(back.running == found.running, "{:?} is not {:?} again", back.running, found.running);
    Ok(())
}

fn giving_up(bench: &mut Bench<'_>) -> Held {
    let found = bench.state()?;
    let trial = bench.tried(1)?;
    let cancel = Verb::Cancel { episode: trial.episode.clone() };
    bench.accepted(&cancel)?;
    bench.comes_back_to(found.running, "given up")?;
    bench.accepted(&cancel)?;
    let keep = bench.keep(&trial);
    let refused = bench.refused(&keep, "after it was given up")?;
    holds!(matches!(refused, Refused::HasEnded(_)), "{refused:?}");
    let unheard = bench.staged(2)?;
    bench.accepted(&Verb::Cancel { episode: unheard.episode.clone() })?;
    let arm = bench.arm(&unheard);
    let refused = bench.refused(&arm, "after it was given up")?;
    holds!(matches!(refused, Refused::HasEnded(_)), "{refused:?}");
    match bench.say(&Verb::Poll { episode: unheard.episode }) {
        Ok(Answer::Activation(Activation::Unknown)) => Ok(()),
        other => Err(format!("what was never tried: {other:?}").into()),
    }
}

fn content(bench: &mut Bench<'_>) -> Held {
    let found = bench.state()?;
    let first = bench.kept(1)?;
    let second = bench.kept(2)?;
    holds!(first.candidate != second.candidate, "two values have the identity {:?}", first.candidate);
    let again = bench.kept(1)?;
    holds!(
        again.candidate == first.candidate,
        "{:?} and {:?} are the same content",
        first.candidate,
        again.candidate
    );
    bench.back_to_people()?;
    let back = bench.state()?;
    holds!(back.running == found.running, "{:?} is not {:?} again", back.running, found.running);
    Ok(())
}

fn garbage(bench: &mut Bench<'_>) -> Held {
    const KEPT: usize = 3;
    let found = bench.state()?;
    for number in 1..=4 {
        bench.kept(number)?;
    }
    let trial = bench.tried(5)?;
    let before = bench.generations();
    let removed = bench.subject.driver().collect_garbage(1).map_err(|e| format!("collecting: {e}"))?;
    let after = bench.generations();
    holds!(before.len() - after.len() == removed, "{removed} went, and {before:?} became {after:?}");
    holds!(removed > 0, "nothing of {} generations went", before.len());
    holds!(after.contains(&trial.known_good), "{:?} would be gone back to: {after:?}", trial.known_good);
    holds!(
        after.len() >= KEPT && before.ends_with(&after[after.len() - KEPT..]),
        "{before:?} became {after:?}"
    );
    let state = bench.state()?;
    holds!(state.running == trial.candidate && state.leased, "{state:?}");
    let restore = bench.restore(&trial);
    bench.accepted(&restore)?;
    bench.comes_back_to(trial.known_good, "after garbage was collected")?;
    let again = bench.subject.driver().collect_garbage(KEPT).map_err(|e| format!("collecting again: {e}"))?;
    let left = bench.generations();
    holds!(
        left.contains(&trial.known_good) && left.len() == after.len() - again,
        "{after:?} became {left:?}"
    );
    bench.back_to_people()?;
    let back = bench.state()?;
    holds!(back.running == found.running, "{:?} is not {:?} again", back.running, found.running);
    Ok(())
}
