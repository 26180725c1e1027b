//! Log keys change hands without a gap, and the log belongs to its owner alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use holdfast_journal::{Journal, Options, Verification, VerifyOptions, verify};
use holdfast_keys::{KeyName, Role, SecretKey, TrustSet, TrustedKey};
use holdfast_testkit::House;

fn append(house: &House, signers: Vec<SecretKey>, n: u64) -> u64 {
    let journal = Journal::open(Options { signers, ..house.options() }).unwrap();
    for n in 0..n {
        journal.append(&house.note(n)).unwrap();
    }
    journal.checkpoint().unwrap().checkpoint.size
}

fn verified(house: &House, trust: &TrustSet) -> Verification {
    let options = VerifyOptions {
        trust: Some(trust),
        vault: None,
        archive: None,
        every_signature: true,
        progress: &mut |_| {},
    };
    verify(&house.journal(), options).unwrap()
}

fn trusted(house: &House, key: &SecretKey) -> TrustedKey {
    TrustedKey::new(
        key.public(),
        Role::Log,
        KeyName::from(&house.origin),
        holdfast_testkit::house::NOON.parse().unwrap(),
    )
}

#[test]
fn a_log_key_is_replaced_with_an_overlap_and_the_old_one_vouches_for_nothing_new() {
    let house = House::new();
    let (old, new) = (house.key(), SecretKey::from_seed(&[9; 32]));
    append(&house, vec![house.key()], 150);
    let overlap_ends = append(&house, vec![house.key(), SecretKey::from_seed(&[9; 32])], 150);
    let mut trust = house.trust();
    trust.add(trusted(&house, &new)).unwrap();
    trust.retire_log_key(old.id(), overlap_ends).unwrap();
    append(&house, vec![SecretKey::from_seed(&[9; 32])], 150);
    assert!(verified(&house, &trust).is_good());
    // Somebody who only knows the new key can still check what was signed from the overlap on.
    let mut only_new = TrustSet::default();
    only_new.add(trusted(&house, &new)).unwrap();
    let found = verified(&house, &only_new);
    assert!(found.is_damaged() && found.findings.len() == 3, "{:?}", found.findings);
    // The old key signs on, beyond what it was retired at: not accepted.
    append(&house, vec![house.key()], 10);
    assert!(verified(&house, &trust).is_damaged());
}

#[test]
fn a_revoked_key_and_a_stranger_s_key_vouch_for_nothing() {
    let house = House::new();
    append(&house, vec![house.key()], 120);
    assert!(verified(&house, &house.trust()).is_good());
    let mut revoked = house.trust();
    revoked.revoke(house.key().id(), holdfast_testkit::house::NOON.parse().unwrap(), "stolen").unwrap();
    assert!(verified(&house, &revoked).is_damaged());
    let mut stranger = TrustSet::default();
    stranger.add(trusted(&house, &SecretKey::from_seed(&[1; 32]))).unwrap();
    assert!(verified(&house, &stranger).is_damaged());
}

#[test]
fn a_history_slipped_in_by_a_stranger_is_found_also_after_the_rightful_key_signed_on() {
    let house = House::new();
    // The same origin, another key: what an intruder without our key can put in the place of our log.
    let intruder = || SecretKey::from_seed(&[66; 32]);
    std::fs::remove_dir_all(house.state()).unwrap();
    let clock = std::sync::Arc::new(house.clock.clone());
    Journal::create(&house.journal(), &house.origin, &[intruder()], clock).unwrap();
    append(&house, vec![intruder()], 350);
    append(&house, vec![house.key()], 150);
    let trust = house.trust();
    let options = VerifyOptions {
        trust: Some(&trust),
        vault: None,
        archive: None,
        every_signature: false,
        progress: &mut |_| {},
    };
    assert!(verify(&house.journal(), options).unwrap().is_damaged());
}

// shows: HRD-051, HRD-F25
#[test]
fn another_user_can_neither_read_nor_write_the_log() {
    let house = House::new();
    append(&house, vec![house.key()], 5);
    // Everybody may come as far as the home; the house itself must keep them out.
    open_up(house.path());
    assert!(
        as_nobody("true").status().unwrap().success(),
        "run this as root, or with sudo that asks nothing"
    );
    let before = holdfast_testkit::files::tree_bytes(house.state());
    for path in
        [house.segment(0), house.journal().join("META"), house.journal().join("LOCK"), house.vault_path()]
    {
        for (program, args) in [("cat", vec![]), ("tee", vec!["-a"])] {
            let status = as_nobody(program).args(args).arg(&path).status().unwrap();
            assert!(!status.success(), "{program} {}", path.display());
        }
    }
    assert_eq!(holdfast_testkit::files::tree_bytes(house.state()), before);
}

/// A program run as the user who owns nothing.
fn as_nobody(program: &str) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new(program);
        command.uid(65_534).gid(65_534);
        command
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", "-u", "nobody", "--", program]);
        command
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn open_up(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    for inner in ["etc", "state"] {
        let mode = std::fs::metadata(path.join(inner)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{inner} is its owner's alone");
    }
}

// shows: MEM-045, MEM-F01, MEM-F04
#[test]
fn appends_rotations_and_departures_at_once_get_in_nobody_s_way() {
    let archive = tempfile::tempdir().unwrap();
    let mut house = House::new();
    house.limits =
        holdfast_journal::Limits { segment_bytes: 16 * 1024, keep_segments: 2, ..Default::default() };
    house.archive = Some(std::sync::Arc::new(holdfast_journal::DirArchive::new(archive.path()).unwrap()));
    let journal = house.open();
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| (0..100).for_each(|n| assert!(journal.append(&house.note(n)).is_ok())));
        }
        s.spawn(|| (0..50).for_each(|_| journal.rotate().unwrap()));
        s.spawn(|| (0..50).for_each(|_| drop(journal.checkpoint().unwrap())));
        s.spawn(|| (0..20).for_each(|_| assert!(journal.read(0).all(|e| e.is_ok()))));
    });
    assert_eq!(journal.size(), 800);
    assert_eq!(journal.read(0).map(|e| e.unwrap().seq).collect::<Vec<_>>(), (0..800).collect::<Vec<_>>());
    drop(journal);
    let found = house.verify().unwrap();
    assert!(found.is_good(), "{:?}", found.findings);
}
