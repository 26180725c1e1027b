//! What the health page says: parts, findings, disk, and how it stands with each target. Pure; everything in it was noted before, so that
//! it can be said while the disk or a target does not answer.

use std::time::Duration;

use holdfast_supervisor::{Importance, PartState, PartStatus};
use serde_json::{Value, json};

use crate::disk::Level;
use crate::steward::Vitals;

/// Everything that is known.
#[derive(Debug)]
pub(super) struct Known<'a> {
    /// Whether all parts that safety rests on are alive.
    pub(super) parts_safe: bool,
    pub(super) parts: &'a [PartStatus],
    pub(super) findings: usize,
    /// How much space there was when it was last looked.
    pub(super) disk: Option<Level>,
    pub(super) targets: &'a [Vitals],
    /// The present, by the monotonic clock.
    pub(super) now: Duration,
}

/// Whether the daemon and what it looks after can be relied on, and the page that says so.
///
/// Who asks is not known, so it says how things are and not what is wrong in detail; `holdfast status` tells that to its owner.
pub(super) fn page(known: &Known<'_>) -> (bool, Value) {
    let safe = known.parts_safe && known.targets.iter().all(Vitals::is_safe);
    let well = known.findings == 0 && known.parts.iter().all(PartStatus::is_well);
    let parts = known.parts.iter().map(|part| {
        json!({"name": part.name, "state": word(part), "safety": part.importance == Importance::Safety})
    });
    let ages = known.targets.iter().map(|target| age(target, known.now));
    let body = json!({
        "healthy": safe && well,
        "safe": safe,
        "findings": known.findings,
        "disk": known.disk.map(Level::word),
        // Of the targets together: the oldest, any, and all of them.
        "last_collection_age_seconds": ages.max(),
        "last_collection_failures": known.targets.iter().map(|target| target.failures).sum::<u64>(),
        "circuit_breaker_open": known.targets.iter().any(|target| target.breaker_open),
        "overdue_retrospectives": known.targets.iter().map(|target| target.overdue).sum::<u64>(),
        // The brain that is built in has no credential that could run out.
        "auth": "not needed",
        "targets": known.targets.iter().map(|target| told(target, known.now)).collect::<Vec<_>>(),
        "parts": parts.collect::<Vec<_>>(),
    });
    (safe, body)
}

fn told(target: &Vitals, now: Duration) -> Value {
    let open = target.open.as_ref();
    json!({
        "target": target.target,
        "last_collection_age_seconds": age(target, now),
        "last_collection_failures": target.failures,
        "circuit_breaker_open": target.breaker_open,
        "open_episode": open.map(|open| json!({"episode": open.episode, "phase": open.phase})),
        "overdue_retrospectives": target.overdue,
        "tripwire": target.guarding().word(),
    })
}

fn age(target: &Vitals, now: Duration) -> u64 {
    now.saturating_sub(target.collected).as_secs()
}

fn word(part: &PartStatus) -> &'static str {
    match part.state {
        PartState::Running => "running",
        PartState::Stale => "stale",
        PartState::Waiting { .. } => "waiting",
        PartState::Stopped => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steward::{Guard, Open};

    fn target(name: &str) -> Vitals {
        Vitals {
            target: name.parse().unwrap(),
            collected: Duration::from_secs(1000),
            failures: 0,
            breaker_open: false,
            open: None,
            overdue: 0,
            guard: Guard::NotNeeded,
        }
    }

    fn page_of(targets: &[Vitals], parts_safe: bool, now: u64) -> (bool, Value) {
        let now = Duration::from_secs(now);
        page(&Known { parts_safe, parts: &[], findings: 0, disk: Some(Level::Roomy), targets, now })
    }

    /// What a monitor makes of a page by the check that is shipped: each condition of it with whether it holds.
    fn conditions(page: &(bool, Value)) -> Vec<(String, bool)> {
        const SHIPPED: &str = include_str!("../../../../packaging/gatus/holdfast.yaml");
        let status = if page.0 { 200 } else { 503 };
        let line = |line: &str| line.trim().strip_prefix("- \"")?.strip_suffix('"').map(str::to_owned);
        let holds = |condition: &str| {
            let [left, sign, right] = condition.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{condition}")
            };
            let left = match left.strip_prefix("[BODY].") {
                Some(field) => page.1[field].clone(),
                None => json!(status),
            };
            let right: Value = serde_json::from_str(right).unwrap();
            match sign {
                "==" => left == right,
                "<" => left.as_u64().zip(right.as_u64()).is_some_and(|(left, right)| left < right),
                _ => panic!("{condition}"),
            }
        };
        SHIPPED.lines().filter_map(line).map(|it| (it.clone(), holds(&it))).collect()
    }

    // shows: STW-252, STW-253
    #[test]
    fn each_condition_of_the_shipped_check_flips_with_what_it_is_about() {
        let failing = |page: &(bool, Value)| -> Vec<String> {
            conditions(page).into_iter().filter(|(_, holds)| !holds).map(|(what, _)| what).collect()
        };
        assert_eq!(conditions(&page_of(&[target("a")], true, 1299)).len(), 3);
        assert_eq!(failing(&page_of(&[target("a"), target("b")], true, 1299)), [""; 0]);
        // The oldest of several counts, and five minutes are too old.
        let fresh = Vitals { collected: Duration::from_secs(1290), ..target("a") };
        let old = "[BODY].last_collection_age_seconds < 300";
        assert_eq!(failing(&page_of(&[fresh, target("b")], true, 1300)), [old]);
        let open = Vitals { breaker_open: true, ..target("a") };
        let circuit = "[BODY].circuit_breaker_open == false";
        assert_eq!(failing(&page_of(&[target("b"), open], true, 1299)), [circuit]);
        assert_eq!(failing(&page_of(&[target("a")], false, 1299)), ["[STATUS] == 200"]);
        // A house that looks after nothing has nothing that could be old; the check is for one that does.
        assert_eq!(page_of(&[], true, 1299).1["last_collection_age_seconds"], Value::Null);
    }

    // shows: STW-413
    #[test]
    fn what_else_is_asked_for_is_there_and_a_trial_without_a_guard_is_not_safe() {
        let open = Open { episode: "ep_1".to_owned(), phase: "verifying", on_trial: true };
        let busy = Vitals {
            failures: 2,
            overdue: 1,
            open: Some(open),
            guard: Guard::Beside { hearts: None },
            ..target("a")
        };
        let (safe, body) = page_of(&[busy], true, 1001);
        assert!(!safe && body["healthy"] == false);
        assert_eq!((&body["disk"], &body["auth"]), (&json!("roomy"), &json!("not needed")));
        assert_eq!(
            (&body["last_collection_failures"], &body["overdue_retrospectives"]),
            (&json!(2), &json!(1))
        );
        let told = &body["targets"][0];
        assert_eq!(told["open_episode"], json!({"episode": "ep_1", "phase": "verifying"}));
        assert_eq!((&told["tripwire"], &told["target"]), (&json!("absent"), &json!("a")));
        let (safe, body) = page_of(&[target("a")], true, 1001);
        assert!(safe && body["healthy"] == true && body["targets"][0]["open_episode"].is_null());
    }
}
