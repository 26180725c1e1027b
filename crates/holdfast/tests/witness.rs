//! Two homes: one keeps a log, the other witnesses it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use home::{Home, Ran};

const W: &str = "witness.example/w1";

struct Pair {
    log: Home,
    witness: Home,
}

impl Pair {
    /// Both trust each other.
    fn new() -> Pair {
        let log = Home::made("web-1");
        // A witness needs no log of its own.
        let witness = Home::bare();
        let made = witness.json(&["audit", "witness", "init", "--name", W]);
        log.run(&["audit", "witness", "trust", made["vkey"].as_str().unwrap()])
            .ok()
            .shows("● trusted: witness.example/w1 as witness");
        let vkey = log.json(&["init"])["vkey"].as_str().unwrap().to_owned();
        witness.run(&["audit", "witness", "trust", &vkey]).ok().shows("● trusted: holdfast/web-1 as log");
        Pair { log, witness }
    }

    fn request(&self) -> String {
        self.log.run(&["audit", "witness", "request", "--witness", W]).ok().out
    }

    fn cosign(&self, request: &str) -> Ran {
        self.witness.run_with(&["audit", "witness", "cosign", "-"], request.as_bytes())
    }

    fn accept(&self, note: &str) -> Ran {
        self.log.run_with(&["audit", "witness", "accept", "-"], note.as_bytes())
    }
}

#[test]
fn a_log_is_witnessed_again_and_again_as_it_grows() {
    let pair = Pair::new();
    for round in 1..=3 {
        pair.log.log_many(round);
        let cosigned = pair.cosign(&pair.request()).ok().out;
        pair.accept(&cosigned).ok().shows("● witnessed:").shows("by witness.example/w1 at ");
    }
    pair.log.run(&["audit", "verify"]).ok().shows("3 cosignatures hold");
    pair.log
        .run(&["audit", "witness", "list"])
        .ok()
        .shows("● witness  witness.example/w1  saw 7 entries at ");
    pair.witness.run(&["audit", "witness", "list"]).ok().shows("log      holdfast/web-1");
    let list = pair.log.json(&["audit", "witness", "list"]);
    assert_eq!(list["witnesses"][0]["last"]["size"], 7);
}

#[test]
fn a_witness_refuses_strangers_and_logs_that_went_back() {
    let pair = Pair::new();
    pair.log.log_many(2);
    let early = pair.request();
    pair.log.log_many(2);
    let late = pair.request();
    let cosigned = pair.cosign(&late).ok().out;
    pair.cosign(&early).ends(4).says("HF-JRN-019").says("fewer than the 5 cosigned before");
    pair.accept(&cosigned).ok();
    let stranger = Home::made("web-2");
    let request = stranger.run(&["audit", "witness", "request", "--witness", W]).ok().out;
    pair.cosign(&request).ends(4).says("no trusted key has signed it");
    pair.cosign("nonsense").ends(4).says("HF-JRN-019");
    pair.log.run_with(&["audit", "witness", "accept", "-"], b"nonsense").ends(4);
    stranger
        .run_with(&["audit", "witness", "accept", "-"], cosigned.as_bytes())
        .ends(4)
        .says("holdfast/web-1");
}

#[test]
fn a_log_shortened_behind_its_witness_is_an_alarm() {
    let pair = Pair::new();
    pair.log.log_many(1);
    let old = pair.log.beside("old-state");
    holdfast_testkit::files::copy_tree(pair.log.path().join("state"), &old);
    pair.log.log_many(3);
    let cosigned = pair.cosign(&pair.request()).ok().out;
    std::fs::remove_dir_all(pair.log.path().join("state")).unwrap();
    holdfast_testkit::files::copy_tree(&old, pair.log.path().join("state"));
    pair.accept(&cosigned).ends(4).says("entries were lost or taken away").says("alarm");
}

#[test]
fn the_names_and_keys_of_a_witness_stay() {
    let witness = Home::bare();
    witness.run_with(&["audit", "witness", "cosign", "-"], b"").ends(2).says("HF-CLI-015");
    let first = witness.json(&["audit", "witness", "init", "--name", W]);
    let again = witness.json(&["audit", "witness", "init", "--name", W]);
    assert_eq!((&first["vkey"], &again["made"]), (&again["vkey"], &false.into()));
    witness.run(&["audit", "witness", "init", "--name", "other"]).ends(2).says("HF-CLI-016");
    witness.run_with(&["audit", "witness", "cosign", "--name", "other", "-"], b"").ends(2).says("HF-CLI-016");
    witness.run(&["audit", "witness", "init", "--name", "a+b"]).ends(2);
}

#[test]
fn trust_is_added_once_and_never_under_ones_own_name() {
    let log = Home::made("web-1");
    let own = log.json(&["init"])["vkey"].as_str().unwrap().to_owned();
    log.run(&["audit", "witness", "trust", &own]).ends(2).says("own name");
    let twin = Home::made("web-1").json(&["init"])["vkey"].as_str().unwrap().to_owned();
    log.run(&["audit", "witness", "trust", &twin]).ends(2);
    let witness =
        Home::bare().json(&["audit", "witness", "init", "--name", W])["vkey"].as_str().unwrap().to_owned();
    let before = std::fs::read(log.path().join("etc/trust.json")).unwrap();
    log.run(&["audit", "witness", "trust", &witness, "--dry-run"]).ok().shows("○ would be trusted");
    assert_eq!(std::fs::read(log.path().join("etc/trust.json")).unwrap(), before);
    log.run(&["audit", "witness", "trust", &witness]).ok();
    log.run(&["audit", "witness", "trust", &witness]).ok().shows("trusted already");
    log.run(&["audit", "witness", "trust", "w+1+x"]).ends(2).says("HF-KEY-081");
    log.run(&["audit", "witness", "list"]).ok().shows("○ witness  witness.example/w1  nothing cosigned yet");
    Home::made("web-9").run(&["audit", "witness", "list"]).ok().shows("No witnesses yet.");
}
