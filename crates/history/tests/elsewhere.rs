//! The repository elsewhere and its forge: what is pushed and when, requests, what people do there, outages, and old branches. The
//! forge is a scripted peer over real HTTP, its repository is real and served by git itself.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod peer;
mod tale;

use std::time::Duration;

use holdfast_credentials::Secret;
use holdfast_history::{Also, Elsewhere, Event, Forge, ForgeKind, Gone, NotYet, Outward, Remote, round};
use holdfast_steward::outcome::Outcome;
use holdfast_types::Timestamp;
use peer::{MARKER, Peer};
use tale::{BEGAN, Desk, Tale, memory};

const DAY: u64 = 86_400;

/// A house, its repository, and what is remembered of the one elsewhere.
struct House {
    desk: Desk,
    peer: Peer,
    place: Elsewhere,
    outward: Outward,
    /// What was written down.
    noted: Vec<Event>,
    now: Timestamp,
}

impl House {
    fn new(forge: Option<ForgeKind>) -> House {
        let (desk, peer) = (Desk::new(), Peer::start());
        let token = || Secret::new(MARKER.to_owned()).unwrap();
        let address: holdfast_history::Address = peer.address().parse().unwrap();
        let forge = forge.map(|kind| Forge::of(kind, &address, "main", token()).unwrap());
        let place = Elsewhere { remote: Remote::new(address, Some(token())), base: "main".to_owned(), forge };
        let now = Timestamp::from_micros(BEGAN).unwrap().plus(Duration::from_secs(3 * 3600));
        House { desk, peer, place, outward: Outward::default(), noted: Vec::new(), now }
    }

    /// Writes the tale down here, then goes there.
    fn round(&mut self, tale: &Tale, also: Also) -> Result<Vec<String>, NotYet> {
        self.desk.keep(tale);
        let mut noted = Vec::new();
        let mut note = |event: &Event| {
            noted.push(event.clone());
            Ok(())
        };
        let (book, at) = (tale.book(), &self.place);
        let told = round(at, &self.desk.repository, &book, &mut self.outward, also, self.now, &mut note);
        self.noted.extend(noted);
        told
    }

    fn well(&mut self, tale: &Tale) -> Vec<String> {
        self.round(tale, Also::default()).unwrap()
    }

    /// Everything is forgotten but what was written down.
    fn restarted(&mut self) {
        self.outward = Outward::default();
        self.noted.iter().for_each(|event| self.outward.take(event, self.now));
    }

    fn there(&self) -> Vec<String> {
        let said =
            tale::git(&self.peer.repository(), &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        said.lines().map(str::to_owned).collect()
    }

    fn at(&self, name: &str) -> String {
        tale::git(&self.peer.repository(), &["rev-parse", name]).trim().to_owned()
    }
}

fn kept(number: u32) -> Tale {
    let mut tale = Tale::enrolled("web");
    tale.change("web", number, memory(512, 640));
    tale
}

const ASK: Also = Also { ask: true, clean: false };
const CLEAN: Also = Also { ask: false, clean: true };

// shows: STW-238, STW-405, STW-304
#[test]
fn nothing_is_pushed_before_it_was_verified_and_an_outage_delays_only_the_push() {
    let mut house = House::new(None);
    let mut tale = Tale::enrolled("web");
    // Rejected by a gate here, rejected on the target, and undone: none of them was ever there.
    tale.opened("web", 1).refused("web", 1, memory(1, 2)).ended("web", 1, Outcome::GateRejected, "no");
    tale.opened("web", 2).judged("web", 2, memory(512, 640));
    house.well(&tale);
    assert!(house.desk.short().contains(&"heads/steward/ep_0002".to_owned()), "it is judged here");
    assert_eq!(house.there(), ["deployed/web", "main"]);
    house.well(tale.ended("web", 2, Outcome::GateRejected, "it cannot be built"));
    assert_eq!(house.desk.short(), ["heads/deployed/web", "heads/main"], "the branch here is gone");
    tale.opened("web", 3).judged("web", 3, memory(512, 640)).ended("web", 3, Outcome::RolledBack, "worse");
    tale.opened("web", 4).judged("web", 4, memory(512, 640));
    house.well(&tale);
    let pushes = house.peer.inside().pushes;
    assert_eq!(pushes, 1, "what is deployed, and main; nothing since");
    // Kept while the forge is down: everything here goes on.
    house.peer.change(|inside| inside.down = true);
    tale.kept("web", 4, memory(512, 640));
    assert!(matches!(house.round(&tale, Also::default()), Err(NotYet::Git(_))));
    assert_eq!(
        house.desk.git(&["rev-parse", "deployed/web"]),
        house.desk.git(&["rev-parse", "steward/ep_0004"])
    );
    house.peer.change(|inside| inside.down = false);
    house.well(&tale);
    assert_eq!(house.there(), ["deployed/web", "main", "steward/ep_0004"]);
    assert_eq!(house.at("deployed/web"), house.desk.git(&["rev-parse", "deployed/web"]).trim());
}

// shows: STW-237
#[test]
fn what_is_taken_back_after_it_was_pushed_is_removed_there() {
    let mut house = House::new(None);
    let mut tale = Tale::enrolled("web");
    let change = memory(512, 640);
    house.well(tale.opened("web", 1).judged("web", 1, change.clone()).kept("web", 1, change));
    assert!(house.there().contains(&"steward/ep_0001".to_owned()));
    // Going back is not done yet: the branch stays until it is.
    house.well(tale.going_back("web", 1));
    assert!(house.there().contains(&"steward/ep_0001".to_owned()));
    house.peer.change(|inside| inside.down = true);
    tale.restored("web", 1).ended("web", 1, Outcome::RolledBack, "on probation, an endpoint was not healthy");
    assert!(house.round(&tale, Also::default()).is_err());
    house.peer.change(|inside| inside.down = false);
    house.restarted();
    house.well(&tale);
    assert_eq!(house.there(), ["deployed/web", "main"]);
    assert_eq!(
        house.at("deployed/web"),
        house.desk.git(&["rev-parse", "deployed/web"]).trim(),
        "with its revert"
    );
    assert!(
        matches!(house.noted.last(), Some(Event::Removed { why: Gone::TakenBack, .. })),
        "{:?}",
        house.noted
    );
    let calls = house.noted.len();
    house.well(&tale);
    assert_eq!(house.noted.len(), calls, "once");
}

// shows: STW-236
#[test]
fn a_kept_change_has_one_labelled_request_whatever_is_cut_off_in_between() {
    for kind in [ForgeKind::Forgejo, ForgeKind::Github] {
        let mut house = House::new(Some(kind));
        let mut tale = Tale::enrolled("web");
        let change = memory(512, 640);
        house.well(tale.opened("web", 1).judged("web", 1, change.clone()));
        assert!(house.peer.inside().requests.is_empty(), "nothing was switched yet");
        // It is opened, and the answer is lost.
        house.peer.change(|inside| inside.cuts_off = true);
        assert!(matches!(house.round(tale.kept("web", 1, change), Also::default()), Err(NotYet::Forge(_))));
        house.restarted();
        house.well(&tale);
        house.restarted();
        house.well(&tale);
        let requests = house.peer.inside().requests;
        assert_eq!(requests.len(), 1, "{kind:?}: {requests:?}");
        assert_eq!(
            (requests[0].0.as_str(), &requests[0].3),
            ("steward/ep_0001", &vec!["steward".to_owned()])
        );
        assert!(matches!(house.noted.last(), Some(Event::Requested { number: 1, .. })), "{:?}", house.noted);
    }
}

// shows: STW-403
#[test]
fn what_people_do_there_is_told_once_and_nothing_of_it_reaches_a_target() {
    for kind in [ForgeKind::Forgejo, ForgeKind::Github] {
        let mut house = House::new(Some(kind));
        let mut tale = kept(1);
        tale.change("web", 2, memory(640, 768));
        house.well(&tale);
        assert!(house.round(&tale, ASK).unwrap().is_empty(), "both are open");
        // What is there is exactly what is here, by name and by signature.
        let signers =
            format!("gpg.ssh.allowedSignersFile={}", house.desk.path().join("allowed_signers").display());
        for branch in ["deployed/web", "steward/ep_0001", "steward/ep_0002"] {
            tale::git(&house.peer.repository(), &["-c", &signers, "verify-commit", branch]);
        }
        assert_eq!(house.at("deployed/web"), house.at("steward/ep_0002"));
        house.peer.change(|inside| (inside.requests[0].1, inside.requests[0].2) = ("closed", true));
        assert!(house.round(&tale, ASK).unwrap().is_empty(), "merged is as it should be");
        house.peer.change(|inside| inside.requests[1].1 = "closed");
        let told = house.round(&tale, ASK).unwrap();
        assert!(
            told.len() == 1 && told[0].contains("2 for ep_0002 was closed without being merged"),
            "{told:?}"
        );
        house.restarted();
        assert!(house.round(&tale, ASK).unwrap().is_empty(), "told once");
        // Every candidate is made from what is deployed, whatever became of requests.
        house.well(tale.opened("web", 3).judged("web", 3, memory(768, 800)));
        let (base, tip) = (["rev-parse", "steward/ep_0003^"], ["rev-parse", "deployed/web"]);
        assert_eq!(house.desk.git(&base), house.desk.git(&tip));
        // Somebody moves what is deployed: it is told, left, and neither taken over nor taken for what is in force.
        let tree = house.at("deployed/web^{tree}");
        let theirs = tale::git(&house.peer.repository(), &["commit-tree", "-m", "mine", &tree]);
        tale::git(&house.peer.repository(), &["update-ref", "refs/heads/deployed/web", theirs.trim()]);
        let before = house.desk.refs();
        let told = house.round(&tale, ASK).unwrap();
        assert!(told.len() == 1 && told[0].contains("Somebody moved deployed/web"), "{told:?}");
        assert_eq!((house.at("deployed/web"), house.desk.refs()), (theirs.trim().to_owned(), before));
        house.restarted();
        assert!(house.round(&tale, ASK).unwrap().is_empty(), "told once");
        // Put back by a person, it follows again.
        tale::git(&house.peer.repository(), &["update-ref", "-d", "refs/heads/deployed/web"]);
        house.well(&tale);
        assert_eq!(house.at("deployed/web"), house.desk.git(&tip).trim());
    }
}

// shows: STW-239, STW-205
#[test]
fn old_branches_go_after_seven_days_unless_people_are_still_asked() {
    let cases = [
        (7 * DAY, "closed", true),
        (8 * DAY, "closed", false),
        (8 * DAY, "open", true),
        (7 * DAY, "open", true),
    ];
    for (age, state, stays) in cases {
        for kind in [ForgeKind::Forgejo, ForgeKind::Github] {
            let mut house = House::new(Some(kind));
            let tale = kept(1);
            house.well(&tale);
            house.peer.change(|inside| inside.requests[0].1 = state);
            house.now = house.now.plus(Duration::from_secs(age));
            house.round(&tale, CLEAN).unwrap();
            let branch = house.there().contains(&"steward/ep_0001".to_owned());
            assert_eq!(branch, stays, "{age} s, {state}, {kind:?}");
            assert!(house.there().contains(&"deployed/web".to_owned()), "never pruned");
            // Gone for good: the next round does not bring it back.
            house.restarted();
            house.round(&tale, CLEAN).unwrap();
            assert_eq!(house.there().contains(&"steward/ep_0001".to_owned()), stays);
        }
    }
    // Without a forge there are no requests.
    let (mut house, tale) = (House::new(None), kept(1));
    house.well(&tale);
    house.now = house.now.plus(Duration::from_secs(8 * DAY));
    house.round(&tale, CLEAN).unwrap();
    assert_eq!(house.there(), ["deployed/web", "main"]);
}

#[test]
fn what_was_kept_long_ago_is_in_the_line_and_gets_no_branch_and_no_request() {
    let (mut house, tale) = (House::new(Some(ForgeKind::Forgejo)), kept(1));
    house.now = house.now.plus(Duration::from_secs(30 * DAY));
    house.well(&tale);
    assert_eq!(house.there(), ["deployed/web", "main"]);
    assert!(house.peer.inside().requests.is_empty());
}

#[test]
fn a_token_is_in_no_argument_no_message_and_no_record() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut house = House::new(Some(ForgeKind::Forgejo));
    let (program, seen) = (house.desk.folder.path().join("git"), house.desk.folder.path().join("seen"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec git \"$@\"\n", seen.display()))
        .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    house.desk.repository = house.desk.repository.clone().with_program(&program);
    let tale = kept(1);
    house.well(&tale);
    house.peer.change(|inside| inside.down = true);
    let failed = house.round(&tale, ASK).unwrap_err();
    let arguments = std::fs::read_to_string(&seen).unwrap();
    assert!(arguments.contains("push") && arguments.contains("ls-remote"), "{arguments}");
    use base64::Engine as _;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{MARKER}"));
    let all = format!("{arguments} {failed} {failed:?} {:?} {:?}", house.noted, house.place);
    assert!(!all.contains(MARKER) && !all.contains(&basic), "{all}");
    for file in ["config", "config.aside"] {
        let text = std::fs::read_to_string(house.desk.path().join(file)).unwrap_or_default();
        assert!(!text.contains(MARKER) && !text.contains(&basic), "{file}");
    }
}
