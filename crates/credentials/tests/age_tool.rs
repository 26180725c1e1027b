//! What the `age` tool encrypts is what we decrypt; and every age file that must not open.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{MARKER, Room, name};
use holdfast_credentials::{AgeFile, Credentials, Error, Failure, Source};

fn asking(room: &Room, file: &str) -> Credentials {
    Credentials::with_variables(vec![Source::AgeFile(room.age_file(file))], common::variables(&[]))
}

#[track_caller]
fn failure(credentials: &Credentials) -> Failure {
    match credentials.find(&name("k")) {
        Err(e @ Error::Failed { .. }) => {
            let said = format!("{e} {e:?} {:?} {credentials:?}", e.problem());
            assert!(!said.contains(MARKER), "{said}");
            let Error::Failed { failure, .. } = e else { unreachable!() };
            failure
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_age_tool_encrypts_is_found_binary_and_armoured() {
    let room = Room::new();
    let json = format!("{{\"k\": \"{MARKER}\", \"other\": \"x\", \"quoted\": \"a\\\"b\\u00e9\\n\"}}");
    room.encrypt("binary.age", &json, &[]);
    room.encrypt("armoured.age", &json, &["-a"]);
    assert!(std::fs::read(room.path("armoured.age")).unwrap().starts_with(b"-----BEGIN AGE"));
    for file in ["binary.age", "armoured.age"] {
        let credentials = asking(&room, file);
        assert!(credentials.find(&name("k")).unwrap().secret.matches(MARKER));
        assert!(credentials.find(&name("quoted")).unwrap().secret.matches("a\"bé\n"));
        assert!(matches!(credentials.find(&name("absent")), Err(Error::Missing { .. })));
    }
}

#[test]
fn a_changed_file_is_decrypted_anew() {
    let room = Room::new();
    room.encrypt("s.age", "{\"k\":\"first\"}", &[]);
    let credentials = asking(&room, "s.age");
    assert!(credentials.find(&name("k")).unwrap().secret.matches("first"));
    room.encrypt("s.age", "{\"k\":\"other\"}", &[]);
    assert!(credentials.find(&name("k")).unwrap().secret.matches("other"));
    std::fs::remove_file(room.path("s.age")).unwrap();
    assert!(matches!(failure(&credentials), Failure::Unreadable { .. }), "what was decrypted is not kept");
}

#[test]
fn an_identity_that_others_may_read_is_refused_also_later() {
    let room = Room::new();
    room.encrypt("s.age", "{\"k\":\"v\"}", &[]);
    let credentials = asking(&room, "s.age");
    assert!(credentials.find(&name("k")).is_ok());
    for mode in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(room.identity(), std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(failure(&credentials), Failure::TooOpen { .. }), "{mode:o}");
    }
    std::fs::set_permissions(room.identity(), std::fs::Permissions::from_mode(0o400)).unwrap();
    assert!(credentials.find(&name("k")).is_ok());
    std::fs::set_permissions(room.path("s.age"), std::fs::Permissions::from_mode(0o664)).unwrap();
    assert!(matches!(failure(&credentials), Failure::TooOpen { .. }), "others could put their own in");
}

#[test]
fn a_file_for_somebody_else_does_not_open() {
    let (room, other) = (Room::new(), Room::new());
    other.encrypt("s.age", "{\"k\":\"v\"}", &[]);
    let file = AgeFile::new(other.path("s.age"), room.identity()).unwrap();
    let credentials = Credentials::with_variables(vec![Source::AgeFile(file)], common::variables(&[]));
    assert!(matches!(failure(&credentials), Failure::WrongIdentity { .. }));
}

/// The tool asks for a passphrase at a terminal only, so the library locks this one, with little work.
fn lock_with_passphrase(path: &Path) {
    use std::io::Write;
    let mut recipient = age::scrypt::Recipient::new("a passphrase".to_owned().into());
    recipient.set_work_factor(2);
    let encryptor = age::Encryptor::with_recipients(std::iter::once(&recipient as _)).unwrap();
    let mut writer = encryptor.wrap_output(std::fs::File::create(path).unwrap()).unwrap();
    writer.write_all(b"{\"k\":\"v\"}").unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_file_with_a_passphrase_is_refused_and_nobody_is_asked() {
    let room = Room::new();
    lock_with_passphrase(&room.path("s.age"));
    let failure = failure(&asking(&room, "s.age"));
    assert!(matches!(failure, Failure::Passphrase { .. }));
    assert!(failure.to_string().contains("locked with a passphrase"), "{failure}");
}

#[test]
fn identities_that_cannot_be_used_are_named() {
    let room = Room::new();
    room.encrypt("s.age", "{\"k\":\"v\"}", &[]);
    let credentials = asking(&room, "s.age");
    let long = format!("# {}\n", "x".repeat(70_000));
    for text in ["", "# only a comment\n", MARKER, "AGE-PLUGIN-YUBIKEY-1QQPQZRFR7ZZ2WCV\n", &long] {
        room.write("identity", text.as_bytes(), 0o600);
        assert!(matches!(failure(&credentials), Failure::Identity { .. }), "{text:.40}");
    }
    lock_with_passphrase(&room.path("identity"));
    std::fs::set_permissions(room.identity(), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(failure(&credentials), Failure::Identity { .. }));
    std::fs::remove_file(room.identity()).unwrap();
    assert!(matches!(failure(&credentials), Failure::Unreadable { .. }));
}

#[test]
fn what_is_inside_must_be_one_object_of_texts() {
    let room = Room::new();
    for json in [
        String::new(),
        MARKER.to_owned(),
        format!("[\"{MARKER}\"]"),
        format!("{{\"k\":[\"{MARKER}\"]}}"),
        format!("{{\"k\":\"{MARKER}\""),
        format!("{{\"k\":\"{MARKER}\"}} x"),
        format!("{{\"{MARKER}!\":\"x\"}}"),
        format!("{{\"k\":\"{MARKER}\",\"k\":\"b\"}}"),
        "{\"k\":4711}".to_owned(),
        "{\"k\":\"\"}".to_owned(),
        "{\"k\":null}".to_owned(),
        format!("{{\"k\":\"{}\"}}", "x".repeat(65_537)),
        format!("{{\"k\":\"v\",\"j\":{}}}", " ".repeat(1_100_000)),
    ] {
        room.encrypt("s.age", &json, &[]);
        let failure = failure(&asking(&room, "s.age"));
        assert!(matches!(failure, Failure::Damaged { .. }), "{json:.60}");
        assert!(!failure.to_string().contains("4711"));
    }
}

#[test]
fn a_file_that_was_changed_or_cut_is_damaged() {
    let room = Room::new();
    room.encrypt("s.age", &format!("{{\"k\":\"{MARKER}\"}}"), &[]);
    let whole = std::fs::read(room.path("s.age")).unwrap();
    let credentials = asking(&room, "s.age");
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        room.write("s.age", &changed, 0o600);
        // A change in the recipient's line makes it somebody else's file.
        assert!(
            matches!(failure(&credentials), Failure::Damaged { .. } | Failure::WrongIdentity { .. }),
            "{at}"
        );
        room.write("s.age", &whole[..at], 0o600);
        assert!(matches!(failure(&credentials), Failure::Damaged { .. }), "cut at {at}");
    }
}

#[test]
fn paths_must_be_absolute() {
    assert!(matches!(AgeFile::new("s.age", "/etc/id"), Err(Error::NotASource { .. })));
    assert!(matches!(AgeFile::new("/etc/s.age", "id"), Err(Error::NotASource { .. })));
}

#[test]
fn files_that_others_could_have_put_there_are_refused() {
    let untrusted = |room: &Room, what: &str| {
        let failure = failure(&asking(room, "s.age"));
        assert!(matches!(failure, Failure::Untrusted { .. }), "{what}: {failure:?}");
    };
    let new_room = || {
        let room = Room::new();
        room.encrypt("s.age", "{\"k\":\"v\"}", &[]);
        assert!(asking(&room, "s.age").find(&name("k")).is_ok());
        room
    };
    for file in ["s.age", "identity"] {
        let room = new_room();
        std::fs::copy(room.path(file), room.path("elsewhere")).unwrap();
        std::fs::remove_file(room.path(file)).unwrap();
        std::os::unix::fs::symlink(room.path("elsewhere"), room.path(file)).unwrap();
        untrusted(&room, "a link");
    }
    let room = new_room();
    let folder = room.path("");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    untrusted(&room, "a folder for everybody");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(asking(&room, "s.age").find(&name("k")).is_ok(), "nobody can exchange what is ours in it");
    // Only root can give a file away.
    let root = rustix::process::geteuid().is_root();
    for file in ["s.age", "identity"].into_iter().filter(|_| root) {
        let room = new_room();
        std::os::unix::fs::chown(room.path(file), Some(12345), None).unwrap();
        untrusted(&room, "somebody else's");
    }
}
