//! Runs checks side by side under one deadline. A check that hangs is left behind and reported; it holds nothing
//! that others need.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Check, Finding, Round, Scene, State};

/// Runs them all; ends when all are done or the time is over.
pub(crate) fn round(checks: &'static [Check], scene: &Arc<Scene>, limit: Duration) -> Round {
    let began = Instant::now();
    let (send, receive) = mpsc::channel();
    for (at, check) in checks.iter().enumerate() {
        let (send, scene) = (send.clone(), scene.clone());
        let look = move || {
            // Nobody waits any more when the time was over.
            let _ = send.send((at, (check.look)(&scene)));
        };
        let started = std::thread::Builder::new().name(format!("check-{}", check.name)).spawn(look);
        // Then it has no result, and is reported as not finished.
        drop(started);
    }
    drop(send);
    let mut found: Vec<Option<Finding>> = checks.iter().map(|_| None).collect();
    loop {
        match receive.recv_timeout(limit.saturating_sub(began.elapsed())) {
            Ok((at, finding)) => found[at] = Some(finding),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let out_of_time = began.elapsed() >= limit;
    let missing = |check: &Check| unfinished(check, limit, out_of_time);
    let findings = checks.iter().zip(found).map(|(check, found)| found.unwrap_or_else(|| missing(check)));
    Round { findings: findings.collect(), took: began.elapsed() }
}

fn unfinished(check: &Check, limit: Duration, out_of_time: bool) -> Finding {
    let (state, said) = if out_of_time {
        (State::TimedOut, format!("it did not end within {} s", limit.as_secs()))
    } else {
        (State::Unknown, "the check itself broke off".to_owned())
    };
    Finding {
        check: check.name,
        state,
        looked_at: check.purpose.to_owned(),
        said,
        hint: Some("Look at what it was waiting for; the others were not held up.".to_owned()),
        figures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    const fn check(name: &'static str, look: fn(&Scene) -> Finding) -> Check {
        Check { name, purpose: "p", owner: "o", not: "n", look }
    }

    fn healthy(_: &Scene) -> Finding {
        Finding {
            check: "quick",
            state: State::Healthy,
            looked_at: "nothing".into(),
            said: "fine".into(),
            hint: None,
            figures: vec![],
        }
    }

    // shows: HRD-113, HRD-F64
    #[test]
    fn a_check_that_hangs_times_out_and_holds_up_no_other() {
        static CHECKS: [Check; 2] = [
            check("quick", healthy),
            check("hangs", |_| {
                std::thread::sleep(Duration::from_secs(60));
                unreachable!("the round is over long before")
            }),
        ];
        let round = round(&CHECKS, &Arc::new(Scene::for_tests()), Duration::from_millis(200));
        assert_eq!(round.verdict(), Verdict::TimedOut);
        assert_eq!(round.findings[0].state, State::Healthy);
        assert_eq!(round.findings[1].state, State::TimedOut);
    }

    // shows: HRD-F61
    #[test]
    fn a_check_that_panics_is_unknown_and_not_good() {
        static CHECKS: [Check; 2] = [check("quick", healthy), check("breaks", |_| panic!("a bug"))];
        let round = round(&CHECKS, &Arc::new(Scene::for_tests()), Duration::from_secs(20));
        assert_eq!(round.verdict(), Verdict::CouldNotCheck);
        assert_eq!(round.verdict().exit().code(), 3);
    }
}
