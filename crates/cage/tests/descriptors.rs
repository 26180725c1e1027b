//! A caller that runs out of descriptors. Alone in its file: the limit is the whole process's.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;

use holdfast_cage::wire::End;
use holdfast_cage::{Input, Service, Sinks};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Trial, folder, launcher, left_behind, until};

#[test]
fn a_caller_without_descriptors_to_spare_is_told_and_leaves_nothing_running() {
    let work = folder();
    let mut trial = Trial::of("work", work.path());
    for port in 9001..9009 {
        trial.policy.services.push(Service::by_hand(port, "127.0.0.1:9".to_owned(), "the test's"));
    }
    // The launcher has the same limit and none of these: it is the caller alone who runs out.
    let _held: Vec<fs::File> = (0..100).map(|_| fs::File::open("/dev/null").unwrap()).collect();
    let open = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let before = getrlimit(Resource::Nofile);
    let (mut failed, mut ran) = (0, 0);
    for spare in 0..24 {
        let plan = trial.plan(&["sleep", "931.7602"]);
        setrlimit(Resource::Nofile, Rlimit { current: Some(open + spare), ..before }).unwrap();
        let sinks = Sinks { output: Box::new(std::io::sink()), errors: Box::new(std::io::sink()) };
        let started = launcher().start(&plan, &trial.policy, Input::Nothing, sinks);
        setrlimit(Resource::Nofile, before).unwrap();
        match started {
            Ok(running) => {
                ran += 1;
                running.stop();
                assert_eq!(running.wait().unwrap().ended.end, End::Stopped);
            }
            Err(_) => failed += 1,
        }
        until("the end of it", || left_behind("931.7602").is_empty());
    }
    assert!(failed > 3 && ran > 3, "{failed} failed, {ran} ran");
}
