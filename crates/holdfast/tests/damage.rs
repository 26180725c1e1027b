//! What a flipped bit and a torn end look like to an operator.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use std::io::Write as _;

use holdfast_testkit::files::{flip_bit, tree_bytes};
use home::{Home, filters};

#[test]
fn a_flipped_bit_is_found_with_its_place_and_stops_the_next_write() {
    let home = Home::made("web-1");
    home.log_many(3);
    home.run(&["audit", "checkpoint", "--new"]).ok();
    let line = std::fs::read_to_string(home.segment()).unwrap();
    let at = line.find("\"n\":1").unwrap() as u64 + 4;
    flip_bit(home.segment(), at, 1);
    let before = tree_bytes(home.path());
    let said = home.run(&["audit", "verify"]).ends(7).out;
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(said);
    });
    let report = home.run(&["--json", "audit", "verify"]).ends(7).json();
    assert_eq!(report["verdict"], "damaged");
    assert_eq!(report["findings"][0]["kind"], "damaged");
    assert_eq!(report["findings"][0]["seq"], 2);
    assert_eq!(tree_bytes(home.path()), before);
}

#[test]
fn damage_after_the_last_checkpoint_refuses_the_start() {
    let home = Home::made("web-1");
    home.log_many(3);
    let line = std::fs::read_to_string(home.segment()).unwrap();
    let at = line.find("\"n\":0").unwrap() as u64 + 4;
    flip_bit(home.segment(), at, 1);
    home.run(&["audit", "verify"]).ends(7);
    home.log("{}").ends(7).says("HF-JRN-005").says("next: Run `holdfast audit verify`");
    home.run(&["audit", "checkpoint", "--new"]).ends(7);
    home.run(&["audit", "tail"]).ends(7);
}

#[test]
fn a_torn_end_is_told_set_aside_by_the_next_write_and_goes_on() {
    let home = Home::made("web-1");
    home.log_many(2);
    let mut bytes = std::fs::read(home.segment()).unwrap();
    let end = bytes.iter().rposition(|b| *b != b'\n').unwrap() + 2;
    let torn = b"{\"seq\":3,\"v\":1,\"at\":\"2026-11-1";
    bytes[end..end + torn.len()].copy_from_slice(torn);
    std::fs::File::create(home.segment()).unwrap().write_all(&bytes).unwrap();

    home.run(&["audit", "verify"])
        .ends(1)
        .shows("▲ torn end: 3 entries are whole; the next write sets the rest aside");
    assert_eq!(home.run(&["--json", "audit", "verify"]).ends(1).json()["verdict"], "torn");
    home.run(&["audit", "tail"]).ok();
    home.log("{}")
        .ok()
        .says("▲ torn end set aside: 30 bytes")
        .says(".torn-")
        .shows("4  captain.note.added  durable");
    home.run(&["audit", "verify"]).ok().shows("● verified: 5 entries");
    home.run(&["audit", "tail", "-n", "2"]).ok().shows("journal.tail.set_aside");
}

#[test]
fn without_a_trust_set_nothing_is_called_verified() {
    let home = Home::made("web-1");
    std::fs::remove_file(home.path().join("etc/trust.json")).unwrap();
    home.run(&["audit", "verify"])
        .ends(3)
        .shows("○ signatures not checked")
        .shows("○ not fully checked: 1 entry");
    let report = home.run(&["--json", "audit", "verify"]).ends(3).json();
    assert_eq!((&report["verdict"], &report["trusted"]), (&"unchecked".into(), &false.into()));
}

#[test]
fn without_a_vault_sealed_texts_are_said_to_be_unopened() {
    let home = Home::made("web-1");
    let log = ["audit", "log", "--actor", "ana", "--kind", "memory.text.kept", "--blob", "-"];
    home.run_with(&log, b"text").ok();
    std::fs::remove_file(home.path().join("etc/keys/vault")).unwrap();
    home.run(&["audit", "verify"]).ok().shows("○ sealed texts not checked: there is no vault here");
    home.run(&["audit", "text", "1"]).ends(2).says("HF-JRN-016");
}

#[test]
fn a_checkpoint_signed_by_a_stranger_is_damage() {
    let home = Home::made("web-1");
    let stranger = Home::made("web-1");
    std::fs::copy(stranger.path().join("etc/trust.json"), home.path().join("etc/trust.json")).unwrap();
    home.run(&["audit", "verify"]).ends(7).shows("is not trusted");
}
