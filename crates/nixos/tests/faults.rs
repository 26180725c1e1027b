//! What goes wrong on a NixOS host, over the scripted peer: whatever breaks, one system runs, boots and is the one that should.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod peer;

use std::fs;
use std::time::Duration;

use holdfast_laws::Subject as _;
use holdfast_lifeline::{Ended, EpisodeId, Identity, Refused};
use holdfast_nixos::{How, Place, Step};
use holdfast_steward::effect::{Activation, Answer, Fault, TargetState, Verb};
use holdfast_steward::setting::{Change, Property, Setting, Value};
use holdfast_steward_host::Driver as _;
use holdfast_testkit::rounds;
use peer::{MIB, Mishap, Scripted};

fn episode(number: u32) -> EpisodeId {
    format!("ep_{number}").parse().unwrap()
}

fn change(unit: &str, property: Property, to: Value) -> Change {
    Change { setting: Setting { unit: unit.parse().unwrap(), property }, from: Value::Unset, to }
}

fn more_memory() -> Vec<Change> {
    vec![change("web.service", Property::MemoryMax, Value::Bytes(1200 * MIB))]
}

/// What the words of an episode are about.
struct Words {
    episode: EpisodeId,
    known_good: Identity,
    candidate: Identity,
}

impl Words {
    fn arm(&self) -> Verb {
        let (lasts, cap) = (Duration::from_secs(60), Duration::from_secs(90));
        Verb::Arm {
            episode: self.episode.clone(),
            known_good: self.known_good,
            candidate: self.candidate,
            lasts,
            cap,
        }
    }

    fn begin(&self) -> Verb {
        Verb::Try { episode: self.episode.clone(), candidate: self.candidate }
    }

    fn poll(&self) -> Verb {
        Verb::Poll { episode: self.episode.clone() }
    }

    fn keep(&self) -> Verb {
        Verb::Keep { episode: self.episode.clone(), candidate: self.candidate }
    }

    fn restore(&self) -> Verb {
        Verb::Restore { episode: self.episode.clone(), wanted: self.known_good }
    }
}

fn state(host: &mut Scripted) -> TargetState {
    host.driver.state(false, None, Some(&episode(1))).unwrap()
}

#[track_caller]
fn staged(host: &mut Scripted, number: u32, changes: Vec<Change>) -> Result<Words, String> {
    let known_good = state(host).running;
    let episode = episode(number);
    match host.driver.call(&Verb::Stage { episode: episode.clone(), base: known_good, changes }) {
        Ok(Answer::Staged(staged)) => {
            staged.map(|staged| Words { episode, known_good, candidate: staged.identity })
        }
        other => panic!("{other:?}"),
    }
}

/// Armed and begun; whether it gets anywhere is another matter.
#[track_caller]
fn begun(host: &mut Scripted, number: u32) -> Words {
    let words = staged(host, number, more_memory()).unwrap();
    assert!(matches!(host.driver.call(&words.arm()), Ok(Answer::Armed(_))));
    assert_eq!(host.driver.call(&words.begin()), Ok(Answer::Accepted));
    words
}

#[track_caller]
fn tried(host: &mut Scripted, number: u32) -> Words {
    let words = begun(host, number);
    host.pass(Duration::from_secs(10));
    let polled = host.driver.call(&words.poll());
    assert!(matches!(polled, Ok(Answer::Activation(Activation::Done { .. }))), "{polled:?}");
    words
}

#[track_caller]
fn is_settled_on(host: &mut Scripted, wanted: Identity) {
    host.is_one();
    let state = state(host);
    assert_eq!((state.running, state.boots_into, state.leased), (wanted, wanted, false));
}

// shows: STW-127, STW-129, STW-130, STW-270, STW-273, STW-340
#[test]
fn a_candidate_that_cannot_be_is_told_why_and_nothing_runs() {
    let mut host = Scripted::enrolled();
    let before = (host.is_one(), host.durable());
    for (changes, why) in [
        (vec![change("web.service", Property::MemoryMax, Value::Bytes(666_666_666))], "nix build: "),
        (
            vec![change("clash.slice", Property::MemoryMax, Value::Bytes(MIB))],
            "has conflicting definition values",
        ),
        (
            vec![change("web.service", Property::CpuQuota, Value::Percent(150))],
            "comes to 100% and not to 150%",
        ),
        (
            vec![change("sshd.service", Property::Nice, Value::Number(5))],
            "is not a unit that may be changed here",
        ),
        (
            vec![change("web.service", "ExecStartPre".parse().unwrap(), Value::Number(1))],
            "is never written here",
        ),
        (vec![change("web.service", Property::Nice, Value::Number(50))], "cannot be 50"),
    ] {
        let refused = staged(&mut host, 1, changes.clone()).map(|_| ()).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        let checked = host.driver.call(&Verb::Check { changes });
        let builds = why == "nix build: ";
        assert!(
            matches!(checked, Ok(Answer::Checked(checked)) if checked.is_ok() == builds),
            "only a build finds out that it fails"
        );
    }
    assert_eq!((host.is_one(), host.durable()), before);
    assert!(!host.peer.place.state.join("borrowed").exists(), "nothing is left behind");
}

#[test]
fn enrolment_takes_a_host_that_runs_what_its_repository_builds() {
    let mut host = Scripted::found();
    let web = "hosts/target-1/configuration.nix";
    let path = host.peer.place.repository.join(web);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"1G\"", "\"3G\"")).unwrap();
    host.peer.git(&["commit", "--quiet", "--all", "--message", "not deployed yet"]);
    let refused = host.target().enrol().unwrap_err().to_string();
    assert!(refused.starts_with("what runs is not what"), "{refused}");
    assert_eq!(
        host.driver.state(false, None, None),
        Err(Fault::Broken),
        "a host that is not enrolled says nothing"
    );
    host.peer.deploy();
    host.target().enrol().unwrap();
    host.target().enrol().unwrap();
    let full = host.driver.state(true, None, None).unwrap().full.unwrap();
    let max = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryMax };
    assert_eq!((full.com.value(&max), full.generations), (Value::Bytes(3 << 30), 2));
}

#[test]
fn an_activation_that_goes_wrong_has_failed_and_what_ran_runs_again() {
    let mut host = Scripted::enrolled();
    let found = state(&mut host).running;
    for (number, how, mishap) in [
        (1, "test", Mishap::UnitsFail),
        (2, "test", Mishap::Locked),
        (3, "test", Mishap::Fails),
        (4, "activate", Mishap::DiesBefore),
        (5, "activate", Mishap::DiesAfter),
    ] {
        host.peer.next(how, mishap);
        let words = begun(&mut host, number);
        assert_eq!(host.driver.call(&words.poll()), Ok(Answer::Activation(Activation::Running)));
        host.pass(Duration::from_secs(10));
        assert_eq!(host.driver.call(&words.poll()), Ok(Answer::Activation(Activation::Failed)), "{mishap:?}");
        let switched = matches!(mishap, Mishap::UnitsFail | Mishap::DiesAfter);
        assert_eq!(state(&mut host).running == words.candidate, switched, "{mishap:?}");
        assert_eq!(host.driver.call(&words.restore()), Ok(Answer::Accepted), "{mishap:?}");
        is_settled_on(&mut host, found);
        // Whatever a dead activation left undone was gone over again, also where the link had not moved yet.
        let told = host.peer.told();
        let last = told.iter().rev().find(|argv| argv[0].ends_with("switch-to-configuration")).unwrap();
        assert_eq!(*last, [format!("{}/bin/switch-to-configuration", host.is_one()), "test".to_owned()]);
    }
}

// shows: STW-308
#[test]
fn an_activation_that_never_ends_is_stopped_before_what_ran_runs_again() {
    let mut host = Scripted::enrolled();
    let found = state(&mut host).running;
    host.peer.next("activate", Mishap::Hangs);
    let words = begun(&mut host, 1);
    host.pass(Duration::from_secs(20));
    assert_eq!(host.driver.call(&words.poll()), Ok(Answer::Activation(Activation::Running)));
    assert_eq!(host.driver.call(&words.restore()), Ok(Answer::Accepted));
    let told: Vec<String> = host.peer.told().iter().map(|argv| argv.join(" ")).collect();
    let at = |part: &str| told.iter().rposition(|argv| argv.contains(part)).unwrap();
    assert!(at("systemctl stop -- holdfast-trial-") < at("/bin/switch-to-configuration test"), "{told:#?}");
    host.pass(Duration::from_secs(200));
    is_settled_on(&mut host, found);
    // The same without anybody: the lease stops it.
    host.peer.next("activate", Mishap::Hangs);
    begun(&mut host, 2);
    host.cut();
    host.pass(Duration::from_secs(200));
    host.join();
    is_settled_on(&mut host, found);
    assert_eq!(host.driver.state(false, None, Some(&episode(2))).unwrap().ended, Some(Ended::Expired));
}

#[test]
fn a_way_back_that_is_blocked_is_said_so_and_tried_again_by_the_lease() {
    let mut host = Scripted::enrolled();
    let found = state(&mut host).running;
    let words = tried(&mut host, 1);
    host.peer.next("test", Mishap::Locked);
    assert_eq!(host.driver.call(&words.restore()), Err(Fault::Broken));
    let seen = state(&mut host);
    assert_eq!(
        (seen.running, seen.leased, seen.ended),
        (words.candidate, true, None),
        "nothing was written down as done"
    );
    // The lease meets somebody else's switch too, twice.
    host.peer.next("test", Mishap::Locked);
    host.peer.next("test", Mishap::Fails);
    host.cut();
    host.pass(Duration::from_secs(100));
    host.join();
    is_settled_on(&mut host, found);
    assert_eq!(state(&mut host).ended, Some(Ended::Expired));
}

#[test]
fn keeping_that_fails_half_way_boots_what_it_booted_before() {
    let mut host = Scripted::enrolled();
    let (found, listed) = (state(&mut host).running, host.driver.generations());
    for (number, mishap) in [(1, Mishap::Fails), (2, Mishap::Locked), (3, Mishap::UnitsFail)] {
        let words = tried(&mut host, number);
        host.peer.next("switch", mishap);
        assert_eq!(host.driver.call(&words.keep()), Err(Fault::Broken), "{mishap:?}");
        let seen = host.driver.state(false, None, Some(&words.episode)).unwrap();
        assert_eq!((seen.boots_into, seen.leased, seen.ended), (found, true, None), "{mishap:?}");
        assert_eq!(host.driver.generations(), listed, "nothing is left in the profile: {mishap:?}");
        host.pass(Duration::from_secs(100));
        is_settled_on(&mut host, found);
    }
}

#[test]
fn a_line_that_breaks_between_any_two_steps_leaves_one_system() {
    let mut host = Scripted::enrolled();
    let found = state(&mut host).running;
    let every = rounds(4, 1);
    let mut number = 0;
    for word in ["arm", "try", "keep", "restore"] {
        let mut steps = number % every;
        loop {
            number += 1;
            let words = staged(&mut host, number, more_memory()).unwrap();
            let verbs = [words.arm(), words.begin(), words.keep(), words.restore()];
            let at = verbs.iter().position(|verb| verb.name() == word).unwrap();
            for verb in &verbs[..at] {
                host.driver.call(verb).unwrap();
                host.pass(Duration::from_secs(7));
            }
            host.cut_after(Some(steps));
            let answer = host.driver.call(&verbs[at]);
            host.cut_after(None);
            // Whatever was under way: time passes, somebody looks, and one system runs, boots and is in the profile.
            host.pass(Duration::from_secs(100));
            let seen = host.driver.state(false, None, Some(&words.episode)).unwrap();
            host.is_one();
            assert!(!seen.leased && seen.running == seen.boots_into, "{word} after {steps}: {seen:?}");
            let kept = seen.ended == Some(Ended::Kept);
            assert_eq!(
                seen.running,
                if kept { words.candidate } else { found },
                "{word} after {steps}: {seen:?}"
            );
            if kept {
                assert!(host.driver.call(&words.restore()).is_ok());
                is_settled_on(&mut host, found);
            }
            if answer.is_ok() {
                break;
            }
            assert_eq!(answer, Err(Fault::Unreachable), "{word} after {steps}");
            steps += every;
        }
    }
}

#[test]
fn what_vanished_from_the_store_is_found_out_before_anything_is_tried_or_undone() {
    let mut host = Scripted::enrolled();
    let found = state(&mut host).running;
    // A candidate that somebody deleted.
    let words = staged(&mut host, 1, more_memory()).unwrap();
    let root = host.peer.place.state.join("roots").join(words.candidate.to_string());
    let system = fs::read_link(&root).unwrap();
    host.peer.must(&["nix-store", "--delete", "--ignore-liveness", system.to_str().unwrap()]);
    assert_eq!(host.driver.call(&words.arm()), Err(Fault::Broken));
    is_settled_on(&mut host, found);
    // Staged again it is built again.
    let kept = tried(&mut host, 2);
    assert_eq!(host.driver.call(&kept.keep()), Ok(Answer::Accepted));
    // What it replaced is deleted behind our back: going back cannot be, and says so, and what runs goes on.
    let old = fs::read_link(host.peer.place.profile.with_file_name("system-1-link")).unwrap();
    fs::remove_file(host.peer.place.profile.with_file_name("system-1-link")).unwrap();
    fs::remove_file(host.peer.folder.path().join("peoples-build")).unwrap();
    host.peer.must(&["nix-store", "--delete", "--ignore-liveness", old.to_str().unwrap()]);
    assert_eq!(host.driver.call(&kept.restore()), Err(Fault::Broken));
    is_settled_on(&mut host, kept.candidate);
    // People's own repository still builds it; then it can be gone back to.
    let rebuilt = host.peer.built();
    assert_eq!(rebuilt, old, "the same content is the same path");
    assert_eq!(host.driver.call(&kept.restore()), Ok(Answer::Accepted));
    is_settled_on(&mut host, found);
}

/// Somebody who may write into the clone has git run a program of theirs in every way that a setting can name for what is done here. The control shows
/// that each works: with git as it is, and with Nix on the clone itself.
#[test]
fn nothing_that_a_clone_names_runs() {
    let mut host = Scripted::found();
    let clone = host.peer.place.repository.clone();
    let folder = host.peer.folder.path().to_owned();
    let (trap, marks) = (folder.join("trap.sh"), folder.join("marks"));
    // As a filter it hands on what it reads; as an upload-pack it sends nothing.
    let text = format!("#!/bin/sh\necho \"$1\" >>'{}'\ncase $1 in filter-*) cat ;; esac\n", marks.display());
    fs::write(&trap, text).unwrap();
    fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sprung = || {
        let text = fs::read_to_string(&marks).unwrap_or_default();
        let _none_yet = fs::remove_file(&marks);
        text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<String>>()
    };
    // The attributes are people's, as they would be for large files.
    fs::write(clone.join(".gitattributes"), "* filter=large diff=large merge=large\n").unwrap();
    host.peer.git(&["add", "--all"]);
    host.peer.git(&["commit", "--quiet", "--message", "large files"]);
    host.peer.deploy();
    let t = trap.display();
    let settings = format!(
        "[filter \"large\"]\n\tsmudge = {t} filter-smudge\n\tclean = {t} filter-clean\n\
         [diff \"large\"]\n\ttextconv = {t} textconv\n\tcommand = {t} diff\n\
         [core]\n\tfsmonitor = {t} fsmonitor\n\thooksPath = {}\n\tsshCommand = {t} ssh\n\tpager = {t} pager\n\
         [log]\n\tshowSignature = true\n[gpg]\n\tprogram = {t}\n\
         [extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\turl = /nowhere\n\tpromisor = true\n\tuploadpack = {t} upload\n",
        folder.join("hooks").display(),
    );
    let config = clone.join(".git/config");
    let without = fs::read_to_string(&config)
        .unwrap()
        .replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    fs::create_dir(folder.join("hooks")).unwrap();
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "post-commit", "pre-commit"] {
        let path = folder.join("hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\nexec {t} hook-{hook}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    fs::write(&config, without + &settings).unwrap();

    // The control.
    let beside = folder.join("beside");
    host.peer.git(&["worktree", "add", "--quiet", "--detach", beside.to_str().unwrap()]);
    fs::write(beside.join("hosts/target-1/holdfast/x.nix"), "1\n").unwrap();
    host.peer.must_git(&["-C", beside.to_str().unwrap(), "add", "--all"]);
    let with_git = sprung();
    for trap in ["filter-smudge", "filter-clean", "fsmonitor", "hook-post-checkout", "hook-post-index-change"]
    {
        assert!(with_git.contains(trap), "{trap} does not work: {with_git:?}");
    }
    host.peer.git(&["worktree", "remove", "--force", beside.to_str().unwrap()]);
    sprung();
    let rev = host.peer.git(&["rev-parse", "HEAD"]);
    let of = format!("git+file://{}?rev={rev}#nixosConfigurations.\"target-1\".config", clone.display());
    let nix = ["nix", "--extra-experimental-features", "nix-command flakes"];
    host.peer.forget_fetched();
    host.peer.must(&[nix.as_slice(), &["eval", &format!("{of}.system.build.toplevel.drvPath")]].concat());
    assert!(sprung().contains("filter-smudge"), "Nix runs the filters of the repository that it is given");
    host.peer.forget_fetched();

    // Everything that is done with a clone.
    let before = host.peer.git_state();
    sprung();
    host.target().enrol().unwrap();
    assert_eq!(sprung(), Default::default(), "enrolling");
    let words = tried(&mut host, 1);
    assert_eq!(host.driver.call(&words.keep()), Ok(Answer::Accepted));
    let checked = host
        .driver
        .call(&Verb::Check { changes: vec![change("web.service", Property::Nice, Value::Number(3))] });
    assert!(matches!(checked, Ok(Answer::Checked(Ok(_)))), "{checked:?}");
    assert!(host.driver.state(true, None, None).unwrap().full.is_some());
    assert_eq!(sprung(), Default::default(), "a trial that was kept, a check and a look");
    assert_eq!(host.peer.git_state(), before, "nothing was written into the clone");
    assert!(!host.peer.place.state.join("borrowed").exists());
}

// shows: STW-287
#[test]
fn what_people_deploy_meanwhile_stands() {
    let mut host = Scripted::enrolled();
    let words = tried(&mut host, 1);
    let path = host.peer.place.repository.join("hosts/target-1/configuration.nix");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Nice = 0", "Nice = 1")).unwrap();
    let people = state(&mut host).people;
    host.peer.git(&["commit", "--quiet", "--all", "--message", "people are at work"]);
    host.peer.deploy();
    let deployed = host.is_one();
    let seen = state(&mut host);
    assert_eq!(
        (seen.running == seen.boots_into, seen.leased, seen.ended),
        (true, false, Some(Ended::Overtaken))
    );
    assert_ne!(seen.people, people);
    for verb in [words.keep(), words.begin(), words.arm()] {
        assert_eq!(
            host.driver.call(&verb),
            Err(Fault::Refused(Refused::HasEnded(Ended::Overtaken))),
            "{}",
            verb.name()
        );
    }
    assert_eq!(host.driver.call(&words.restore()), Ok(Answer::Accepted));
    host.pass(Duration::from_secs(200));
    assert_eq!(host.is_one(), deployed, "nothing was put over it");
    // Their commit is the base of what comes next.
    let next = tried(&mut host, 2);
    assert_eq!(host.driver.call(&next.keep()), Ok(Answer::Accepted));
    let full = host.driver.state(true, None, None).unwrap().full.unwrap();
    let nice = Setting { unit: "web.service".parse().unwrap(), property: Property::Nice };
    assert_eq!(full.com.value(&nice), Value::Number(1));
    assert_eq!(host.peer.git(&["status", "--porcelain"]), "", "their tree is as they left it");
}

// shows: STW-007, STW-350
#[test]
fn every_step_has_exactly_these_arguments() {
    let place = Place::of("target-1".parse().unwrap());
    let commit = || "98b9c4ac6d2bbdc91930ca057538c4082351aa7c".to_owned().try_into().unwrap();
    let path = "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-nixos-system-target-1";
    let system = || holdfast_nixos::StorePath::parse(&place.store, path).unwrap();
    let unit = || "holdfast-trial-1-2".to_owned();
    let nix = "nix --extra-experimental-features nix-command flakes --option allow-import-from-derivation false --max-jobs 1";
    let flake = "git+file:///var/lib/holdfast-nixos/borrowed?rev=98b9c4ac6d2bbdc91930ca057538c4082351aa7c";
    let profile = "nix-env --profile /nix/var/nix/profiles/system";
    for (step, argv) in [
        (Step::Current, "readlink --canonicalize-existing -- /run/current-system".to_owned()),
        (Step::Profile, "readlink --canonicalize-existing -- /nix/var/nix/profiles/system".to_owned()),
        (
            Step::FlakeCheck { commit: commit() },
            format!("{nix} flake check --no-build --no-write-lock-file --no-update-lock-file {flake}"),
        ),
        (
            Step::Build { commit: commit(), link: "/var/lib/holdfast-nixos/staging".into() },
            format!(
                "{nix} build --cores 1 --out-link /var/lib/holdfast-nixos/staging --no-write-lock-file --no-update-lock-file \
                 {flake}#nixosConfigurations.\"target-1\".config.system.build.toplevel"
            ),
        ),
        (Step::Switch { system: system(), how: How::Test }, format!("{path}/bin/switch-to-configuration test")),
        (Step::Switch { system: system(), how: How::Boot }, format!("{path}/bin/switch-to-configuration boot")),
        (Step::Switch { system: system(), how: How::Switch }, format!("{path}/bin/switch-to-configuration switch")),
        (Step::SetProfile { system: system() }, format!("{profile} --set {path}")),
        (Step::SwitchGeneration { number: 7 }, format!("{profile} --switch-generation 7")),
        (Step::DeleteGenerations { numbers: vec![1, 2] }, format!("{profile} --delete-generations 1 2")),
        (
            Step::Activate { unit: unit(), episode: episode(1), candidate: Identity([1; 32]) },
            format!(
                "systemd-run --quiet --collect --no-block --unit=holdfast-trial-1-2 -- /run/current-system/sw/bin/holdfast-doorman activate ep_1 {}",
                "01".repeat(32)
            ),
        ),
        (
            Step::Timer { unit: "holdfast-lease-1-3".to_owned(), after: Duration::from_secs(61) },
            "systemd-run --quiet --collect --unit=holdfast-lease-1-3 --on-active=61s --timer-property=AccuracySec=100ms \
             --property=Restart=on-failure --property=RestartSec=5s --property=StartLimitIntervalSec=0 -- \
             /run/current-system/sw/bin/holdfast-doorman expire"
                .to_owned(),
        ),
        (Step::Stop { unit: unit() }, "systemctl stop -- holdfast-trial-1-2.service".to_owned()),
    ] {
        assert_eq!(step.argv(&place).join(" "), argv);
    }
}
