//! How well the gates tell noise from what is worth keeping, on generated messages.

#![allow(clippy::print_stdout)] // The shares are what one wants to see of this test.

mod messages;

use std::collections::BTreeMap;

use holdfast_memory::{Confidence, Gates, Refusal};
use messages::{Half, Message, facts, instructions, noise};

fn refused(text: &str) -> Option<Refusal> {
    // Confidence is high on purpose: the wording alone has to decide.
    Gates::capture().judge(text, Confidence::new(0.9).expect("a confidence")).refused
}

/// The share that is refused, and by label what was judged wrongly.
fn share_refused(messages: &[Message], expected: bool) -> (f64, BTreeMap<&'static str, Vec<String>>) {
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for message in messages {
        let refusal = refused(&message.text);
        count += usize::from(refusal.is_some());
        if refusal.is_some() != expected {
            let why = refusal.map(|r| r.reason.sentence()).unwrap_or("passed");
            wrong.entry(message.label).or_default().push(format!("{:?}: {why}", message.text));
        }
    }
    (count as f64 / messages.len() as f64, wrong)
}

fn told(half: Half, what: &str, share: f64, wrong: &BTreeMap<&str, Vec<String>>) {
    println!("{half:?}, {what}: {:.2} % refused", share * 100.0);
    let looked_at = half != Half::HeldOut || std::env::var_os("HOLDFAST_LOOK").is_some();
    for (label, texts) in wrong {
        println!("  {label}: {}", texts.len());
        let mut texts = texts.clone();
        texts.sort();
        texts.iter().filter(|_| looked_at).for_each(|text| println!("    {text}"));
    }
}

fn check(half: Half) {
    for seed in [1, 2] {
        let (junk, missed) = share_refused(&noise(half, 500, seed), true);
        let (lost, wrongly) = share_refused(&facts(half, 500, seed), false);
        told(half, "noise", junk, &missed);
        told(half, "facts", lost, &wrongly);
        assert!(junk >= 0.98, "{half:?}: only {junk} of the noise is refused");
        assert!(lost <= 0.02, "{half:?}: {lost} of the facts are refused");
    }
}

// Two thousand messages in all: half noise, half facts; half of each from templates nobody looked at while tuning.
#[test]
fn noise_is_refused_and_facts_are_kept() {
    check(Half::Tuned);
}

#[test]
fn noise_and_facts_nobody_looked_at_are_told_apart_as_well() {
    check(Half::HeldOut);
}

// shows: MEM-032, MEM-F25
#[test]
fn instructions_to_the_agent_are_refused_and_plain_facts_are_not() {
    for half in [Half::Tuned, Half::HeldOut] {
        let (share, missed) = share_refused(&instructions(half, 200, 1), true);
        told(half, "instructions", share, &missed);
        assert!(share >= 0.9, "{half:?}: only {share} of the instructions are refused");
        let taken = |m: &&Message| refused(&m.text).is_some_and(|r| r.gate.as_str() == "instruction");
        let facts = facts(half, 500, 3);
        let lost = facts.iter().filter(taken).count();
        assert_eq!(lost, 0, "{half:?}: plain facts are taken for instructions");
    }
}

// Two smaller sets in other voices. When first looked at, the gates refused 63 % and 70 % of their noise and lost 15 % and 12.5 % of
// their facts; the rules were widened then. So expect no more than that of wording nobody thought of.
#[test]
fn noise_and_facts_in_other_voices_are_told_apart_once_the_rules_know_them() {
    check(Half::Later);
    check(Half::Fresh);
}
