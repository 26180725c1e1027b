//! What holds a steward back whatever it thinks, as its daemon obeys it: trials a day, the breaker; and what it tidies up.

use holdfast_lifeline::EpisodeId;
use holdfast_steward::episode::Ending;
use holdfast_steward::event::Event;
use holdfast_steward::ladder::Level;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::trigger::Cause;
use serde_json::{Value, json};

use crate::home::Home;
use crate::receiver::Receiver;
use crate::running::{Looking, Running, wait_until};
use crate::{FAST, HOUR, SLOW, asked, ended, episodes, phase, target, untouched, write};

fn episode(number: u32) -> EpisodeId {
    format!("ep_{number:026}").parse().unwrap()
}

/// A home with one modelled host at the level where small changes need nobody, at a moment of its time.
fn at_work(target: &str, further: &str, at: u64, before: Vec<(u64, Event)>) -> Home {
    let home = Home::made("stw");
    home.configure(&format!(
        "{further}steward:\n  targets:\n    - {{ name: box-1, driver: sim, {target} }}\n"
    ));
    let why = "for a test".to_owned();
    let raised = Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why };
    write(
        &home,
        before.first().map_or(at, |(at, _)| *at),
        vec![Event::Enrolled { known_good: untouched() }, raised],
    );
    for (at, event) in before {
        write(&home, at, vec![event]);
    }
    passed(&home, at);
    home
}

/// The target's time has come to this, and nothing else has happened.
fn passed(home: &Home, at: u64) {
    write(home, at, vec![Event::Rehearsed { tripwire: false }]);
}

fn queued(home: &Home) -> usize {
    home.bodies("steward.trigger.queued").len()
}

fn of_kind(home: &Home, kind: &str) -> Vec<Value> {
    home.entries().into_iter().filter(|entry| entry["kind"] == kind).collect()
}

// shows: STW-028, STW-250
#[test]
fn the_third_rollback_in_a_row_opens_the_breaker_which_outlives_everything_but_a_person_s_reset() {
    let receiver = Receiver::away();
    receiver.come();
    let opened = |number| {
        let phase = json!({"looking": {"op": 1, "until": 0}});
        let whole = json!({
            "id": episode(number), "causes": [], "opened": 0, "phase": phase, "cleared": null, "approved": false,
            "exploration": false, "reverts": null, "refused_by": null,
        });
        Event::Opened { episode: serde_json::from_value(whole).unwrap() }
    };
    let rolled_back = |number| Event::Ended {
        episode: episode(number),
        ending: Ending { outcome: Outcome::RolledBack, reason: "for a test".to_owned(), tried: true },
    };
    // Two were undone before. This host wants for memory, and at the end of its day so much that it is killed for it. Somebody has
    // asked to look into it, minutes before that: a change is tried that cannot stand.
    let asks = Event::Queued { cause: Cause::Asked { by: "ana".parse().unwrap() } };
    let home = at_work(
        &format!("seed: 20, trouble: mixed, speed: {FAST}"),
        &receiver.settings(),
        24 * HOUR - HOUR / 12,
        vec![
            (14 * HOUR, opened(1)),
            (14 * HOUR, rolled_back(1)),
            (15 * HOUR, opened(2)),
            (15 * HOUR, rolled_back(2)),
            (24 * HOUR - HOUR / 12, asks),
        ],
    );
    assert_eq!(target(&home)["breaker_open"], false, "two are not three");
    let start = || Running::with(&home, |command| receiver.secrets(command));
    let daemon = start();
    let undone = ended(&home, "rolled_back");
    wait_until("it is open", || target(&home)["breaker_open"] == true);
    let said = "Too many trials in a row were undone on box-1: nothing is tried there until `holdfast steward reset box-1`.";
    wait_until("people are told", || receiver.said("Too many trials") == [said]);
    // Also in words that programs read, signed, with what it is about.
    let told = |event: &str| {
        let of = |one: &crate::receiver::Heard| serde_json::from_str::<Value>(&one.body).ok();
        let is_it = |body: &Value| body["context"]["event"] == event;
        receiver.heard().into_iter().find_map(|one| of(&one).filter(is_it).map(|body| (one.signature, body)))
    };
    wait_until("both are told", || told("circuit_opened").is_some() && told("rollback").is_some());
    let (signature, body) = told("rollback").unwrap();
    assert_eq!(
        (&body["severity"], &body["context"]["target"]),
        (&json!("warning"), &json!("box-1")),
        "{body}"
    );
    assert!(body["context"]["episode"].as_str().is_some_and(|it| it.starts_with("ep_")), "{body}");
    assert!(!signature.is_empty() && body["id"].is_string() && body["timestamp"].is_string(), "{body}");
    assert_eq!(target(&home)["level"], "approve-each", "and it asks again before each change");
    home.run(&["steward", "status"]).ends(1);
    home.run(&["steward", "trigger"]).ends(4).says("steward reset box-1");
    let opened = of_kind(&home, "steward.breaker.opened");
    assert_eq!(opened.len(), 1, "{opened:?}");

    // Nothing of it is in a file that could be deleted; and nothing is begun, whatever goes wrong on the host.
    let since = queued(&home);
    daemon.killed();
    let _gone = std::fs::remove_dir_all(home.state("steward"));
    let daemon = start();
    wait_until("it is at work again", || {
        target(&home)["trouble"].is_null() && target(&home)["noticed"].is_object()
    });
    assert_eq!(target(&home)["breaker_open"], true);
    home.run(&["steward", "trigger"]).ends(4).says("the breaker is open");
    assert_eq!((queued(&home), phase(&home)), (since, None), "no trigger is taken: {undone}");
    home.run(&["steward", "accept", "box-1"]).ok().shows("is what it was left as");
    home.run(&["steward", "reset", "box-1", "--dry-run"]).ok();
    assert_eq!(target(&home)["breaker_open"], true);

    let done = home.json(&["steward", "reset", "box-1", "--actor", "ana"]);
    assert_eq!((&done["repeated"], &done["dry_run"]), (&json!(false), &json!(false)), "{done}");
    assert_eq!(target(&home)["breaker_open"], false);
    home.run(&["steward", "reset", "box-1"]).ok().shows("the breaker is closed");
    let ordered = of_kind(&home, "holdfast.steward.ordered");
    let reset = of_kind(&home, "steward.breaker.reset");
    assert_eq!((ordered.len(), reset.len()), (1, 1), "once, by whoever did it: {ordered:?}");
    assert_eq!((&ordered[0]["actor"], &ordered[0]["body"]["order"]), (&json!("ana"), &json!("reset")));
    assert!(ordered[0]["seq"].as_u64() < reset[0]["seq"].as_u64());
    home.run(&["steward", "trigger"]).ok();
    daemon.killed();
    // The row begins anew.
    let _daemon = start();
    wait_until("it is at work again", || target(&home)["trouble"].is_null());
    assert_eq!(target(&home)["breaker_open"], false);
}

// shows: STW-027
#[test]
fn of_any_24_hours_three_trials_are_had_and_the_fourth_waits_also_over_restarts() {
    let counted = |number| Event::Counted { episode: episode(number) };
    let home = at_work(
        &format!("seed: 7, trouble: memory, speed: {SLOW}"),
        "",
        37 * HOUR,
        vec![(14 * HOUR, counted(1)), (20 * HOUR, counted(2)), (36 * HOUR, counted(3))],
    );
    let trials = || of_kind(&home, "steward.trial.counted").len();
    let spent = |after: usize| {
        wait_until("the day is spent", || {
            let all = episodes(&home);
            let is_spent =
                |one: &&Value| one["reason"].as_str().is_some_and(|it| it.contains("as a day may have"));
            all.iter().filter(is_spent).count() > after
        });
    };
    let daemon = Running::on(&home);
    asked(&home);
    spent(0);
    assert_eq!(trials(), 3);
    daemon.killed();
    // A day after the first of them, not at midnight: one more, and again none.
    passed(&home, 38 * HOUR + HOUR / 2);
    let daemon = Running::on(&home);
    asked(&home);
    wait_until("the fourth is tried", || trials() == 4);
    wait_until("it is watched", || phase(&home).as_deref() == Some("verifying"));
    home.run(&["steward", "rollback"]).ok();
    wait_until("it is over", || phase(&home).is_none());
    daemon.killed();
    // What was taken back was a trial too.
    passed(&home, 40 * HOUR);
    let _daemon = Running::on(&home);
    asked(&home);
    spent(1);
    assert_eq!(trials(), 4);
}

// shows: STW-241, STW-410
#[test]
fn old_generations_are_looked_for_once_a_day_and_not_in_the_middle_of_an_episode() {
    let home = at_work(&format!("seed: 7, trouble: memory, speed: {SLOW}"), "", 13 * HOUR, vec![]);
    let tidied = || of_kind(&home, "holdfast.target.tidied");
    let daemon = Running::on(&home);
    asked(&home);
    wait_until("a trial is watched", || phase(&home).as_deref() == Some("verifying"));
    assert!(tidied().is_empty(), "it is too early");
    daemon.killed();
    // The trial is undone when it is back; then, ten minutes into its life, nothing is under way.
    home.configure(&format!(
        "steward:\n  targets:\n    - {{ name: box-1, driver: sim, seed: 7, trouble: nothing, speed: {FAST} }}\n"
    ));
    let daemon = Running::on(&home);
    wait_until("it is done", || tidied().len() == 1);
    let first = tidied().remove(0);
    let (body, seq) = (&first["body"], first["seq"].as_u64().unwrap());
    assert_eq!(
        (&body["target"], &body["older_days"], &body["keep"]),
        (&json!("box-1"), &json!(14), &json!(3))
    );
    let over = of_kind(&home, "steward.episode.ended");
    assert!(
        over.iter().all(|entry| entry["seq"].as_u64().unwrap() < seq),
        "not before the episode was over: {over:?}"
    );
    daemon.terminated().well();
    // A start is no new day.
    let steady = body["steady"].as_u64().unwrap();
    passed(&home, steady + 23 * HOUR);
    let daemon = Running::on(&home);
    wait_until("a day has passed", || tidied().len() == 2);
    let second = tidied()[1]["body"]["steady"].as_u64().unwrap();
    assert!(second >= steady + 24 * HOUR && second < steady + 25 * HOUR, "{steady}, {second}");
    daemon.terminated().well();
}
