//! Every refusal of the door, and that none of them says anything of the secret.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::trust::TrustedKey;

const SEED: [u8; 32] = [0xa7; 32];

/// A folder with one good key file for the log.
struct Folder {
    dir: TempDir,
    path: PathBuf,
}

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.key");
        create_key(&path, &SecretKey::from_seed(&SEED), Role::Log, created()).unwrap();
        Folder { dir, path }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    /// The same file with another content, private as before.
    fn with(text: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        fs::write(&folder.path, text).unwrap();
        folder
    }

    fn refusal(&self) -> FileError {
        checked(read_key(&self.path, Role::Log).unwrap_err())
    }
}

/// Looks at an error in every form it has: the path is there, the secret is not.
fn checked(error: FileError) -> FileError {
    let mut forms = format!("{error} {error:?} {error:#?} {:?}", error.problem());
    let mut cause = error.source();
    while let Some(inner) = cause {
        forms += &format!(" {inner} {inner:?}");
        cause = inner.source();
    }
    let seed = SecretKey::from_seed(&SEED).seed_text();
    // In no piece of it either: eight characters in a row would be 48 bits.
    for start in 0..seed.len() - 8 {
        assert!(!forms.contains(&seed[start..start + 8]), "{forms}");
    }
    assert!(!forms.contains("a7a7") && !forms.contains("167, 167"), "{forms}");
    assert!(error.to_string().contains('/'), "no path in: {error}");
    error
}

fn created() -> Timestamp {
    "2026-11-15T08:17:16.000000Z".parse().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_key_file_gives_back_the_key_and_only_its_owner_may_read_it() {
    let folder = Folder::new();
    let read = read_key(&folder.path, Role::Log).unwrap();
    assert_eq!(
        (read.key.public(), read.role, read.created),
        (SecretKey::from_seed(&SEED).public(), Role::Log, created())
    );
    assert_eq!(mode_of(&folder.path), 0o600);
    set_mode(&folder.path, 0o400);
    assert!(read_key(&folder.path, Role::Log).is_ok());
    let shown = format!("{read:?}");
    assert!(!shown.contains(&*SecretKey::from_seed(&SEED).seed_text()), "{shown}");
}

#[test]
fn the_file_form_is_the_one_that_was_published() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("k");
    create_key(&path, &SecretKey::from_seed(&[1; 32]), Role::Manifest, created()).unwrap();
    let expected = concat!(
        r#"{"format":1,"kind":"holdfast key","role":"manifest","id":"ed25519:34750f98bd59fcfc","#,
        r#""created":"2026-11-15T08:17:16.000000Z","#,
        r#""public":"ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=","#,
        // holdfast: allow holdfast_secret_key — the seed is 32 times the byte 1
        r#""secret":"ed25519-seed:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="}"#,
        "\n"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn a_key_is_never_written_over() {
    let folder = Folder::new();
    let before = folder.text();
    let refused = create_key(&folder.path, &SecretKey::from_seed(&[9; 32]), Role::Log, created());
    assert!(matches!(checked(refused.unwrap_err()), FileError::Exists { .. }));
    assert_eq!(folder.text(), before);
    // Nor through a link that points nowhere yet.
    let link = folder.dir.path().join("link.key");
    symlink(folder.dir.path().join("elsewhere"), &link).unwrap();
    assert!(create_key(&link, &SecretKey::from_seed(&SEED), Role::Log, created()).is_err());
    assert!(!folder.dir.path().join("elsewhere").exists());
}

#[test]
fn a_key_file_that_others_may_use_is_refused_with_its_mode_and_the_way_out() {
    let folder = Folder::new();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o660, 0o777, 0o700 | 0o040] {
        set_mode(&folder.path, mode);
        let error = folder.refusal();
        assert!(matches!(error, FileError::Exposed { mode: found, .. } if found == mode), "{error}");
        assert!(error.to_string().contains(&format!("mode {mode:04o}")), "{error}");
        let hint = error.problem().hint;
        assert!(hint.contains(&format!("chmod 600 {}", folder.path.display())), "{hint}");
    }
}

#[test]
fn links_folders_and_pipes_are_refused() {
    let folder = Folder::new();
    let at = |name: &str| folder.dir.path().join(name);
    symlink(&folder.path, at("link")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    fs::create_dir(at("dir")).unwrap();
    set_mode(&at("dir"), 0o700);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let refusal = |name| checked(read_key(&at(name), Role::Log).unwrap_err());
    assert!(matches!(refusal("link"), FileError::SymbolicLink { .. }));
    assert!(matches!(refusal("dangling"), FileError::SymbolicLink { .. }));
    assert!(matches!(refusal("dir"), FileError::NotAFile { .. }));
    assert!(matches!(refusal("pipe"), FileError::NotAFile { .. }));
    assert!(matches!(refusal("nothing"), FileError::Missing { .. }));
    assert!(matches!(refusal("dir/../log.key/x"), FileError::Io { .. }));
}

#[test]
fn a_key_file_of_another_user_is_refused() {
    let folder = Folder::new();
    if rustix::process::geteuid().is_root() {
        chown(&folder.path, Some(54321), None).unwrap();
        let error = folder.refusal();
        assert!(matches!(error, FileError::ForeignOwner { uid: 54321, .. }), "{error}");
    } else {
        // Only root can give a file away, and then the kernel refuses it before we can.
        let given =
            std::process::Command::new("sudo").args(["-n", "chown", "54321"]).arg(&folder.path).status();
        assert!(given.unwrap().success(), "run this as root, or with sudo that asks nothing");
        folder.refusal();
    }
}

#[test]
fn a_key_file_cut_off_anywhere_is_refused() {
    let whole = Folder::new().text();
    let folder = Folder::new();
    for end in 0..whole.len() {
        fs::write(&folder.path, &whole[..end]).unwrap();
        let error = folder.refusal();
        assert!(matches!(error, FileError::Malformed { .. }), "cut at {end}: {error}");
        assert_eq!(folder.text(), whole[..end], "the file was touched");
    }
}

#[test]
fn a_key_file_with_any_byte_changed_is_refused_or_means_the_same() {
    let whole = Folder::new().text();
    let folder = Folder::new();
    for at in 0..whole.len() {
        for to in [b'0', b'A', b'"', b'\\', b' ', 0xff] {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = to;
            fs::write(&folder.path, &bytes).unwrap();
            match read_key(&folder.path, Role::Log).map_err(checked) {
                Ok(read) => assert_eq!(read.key.public(), SecretKey::from_seed(&SEED).public(), "byte {at}"),
                Err(_) => continue,
            }
        }
    }
}

#[test]
fn a_key_file_that_is_not_exactly_right_is_refused() {
    let good = Folder::new().text();
    let other = SecretKey::from_seed(&[9; 32]);
    let (id, public) =
        (SecretKey::from_seed(&SEED).id().to_string(), SecretKey::from_seed(&SEED).public().to_string());
    let seed = SecretKey::from_seed(&SEED).seed_text();
    let edit = |from: &str, to: &str| {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        Folder::with(bad).refusal()
    };
    assert!(matches!(
        edit("\"log\"", "\"policy\""),
        FileError::WrongRole { found: Role::Policy, wanted: Role::Log, .. }
    ));
    assert!(matches!(edit(&public, &other.public().to_string()), FileError::PublicMismatch { .. }));
    assert!(matches!(edit(&id, &other.id().to_string()), FileError::IdMismatch { .. }));
    assert!(matches!(edit(&seed, &other.seed_text()), FileError::PublicMismatch { .. }));
    assert!(matches!(edit("holdfast key", "other key"), FileError::OtherKind { .. }));
    // What a parser would quote: the secret as a field's name, and in the place of a number.
    let as_name = format!("\"format\":1,\"{}\":0", seed.as_str());
    let as_number = format!("\"format\":\"{}\"", seed.as_str());
    for to in [
        "\"format\":0",
        "\"format\":-1",
        "\"format\":1,\"x\":0",
        "\"format\":1,\"format\":1",
        &as_name,
        &as_number,
    ] {
        assert!(matches!(edit("\"format\":1", to), FileError::Malformed { .. }), "{to}");
    }
    for (from, to) in [
        ("ed25519-seed:", ""),
        ("ed25519-seed:", "ed25519-seed:AAAA"),
        ("\"role\":\"log\",", ""),
        ("\"log\"", "\"root\""),
    ] {
        assert!(matches!(edit(from, to), FileError::Malformed { .. }), "{to}");
    }
    assert!(matches!(Folder::with(good.clone() + "{}\n").refusal(), FileError::Malformed { .. }));
    assert!(matches!(
        Folder::with(good + &" ".repeat(5000)).refusal(),
        FileError::TooLarge { limit: 4096, .. }
    ));
}

#[test]
fn a_newer_key_file_is_called_newer_and_left_alone() {
    let newer = Folder::new().text().replacen("\"format\":1", "\"format\":2,\"sealed\":{\"by\":\"tpm\"}", 1);
    let folder = Folder::with(&newer);
    let error = folder.refusal();
    assert!(matches!(error, FileError::NewerFormat { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("has format 2; this program reads up to 1"), "{error}");
    assert_eq!(folder.text(), newer);
}

#[test]
fn asking_for_another_role_is_refused() {
    let folder = Folder::new();
    let error = checked(read_key(&folder.path, Role::Policy).unwrap_err());
    assert!(matches!(error, FileError::WrongRole { found: Role::Log, wanted: Role::Policy, .. }));
    assert!(error.to_string().contains("is for log, and one for policy is needed"), "{error}");
}

fn trust() -> TrustSet {
    let mut set = TrustSet::default();
    let name = || "holdfast/web-1".parse().unwrap();
    let key =
        |seed| TrustedKey::new(SecretKey::from_seed(&[seed; 32]).public(), Role::Manifest, name(), created());
    set.add(key(1)).unwrap();
    set.rotate(SecretKey::from_seed(&[1; 32]).id(), key(2), created(), Duration::from_secs(3600)).unwrap();
    set
}

#[test]
fn a_saved_trust_set_loads_and_anyone_may_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trust.json");
    for set in [TrustSet::default(), trust()] {
        save_trust(&path, &set).unwrap();
        assert_eq!(load_trust(&path).unwrap(), set);
        assert_eq!(mode_of(&path), 0o644);
    }
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "something was left aside");
}

#[test]
fn a_trust_set_that_others_may_write_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trust.json");
    save_trust(&path, &trust()).unwrap();
    for (mode, ok) in
        [(0o644, true), (0o640, true), (0o600, true), (0o664, false), (0o646, false), (0o666, false)]
    {
        set_mode(&path, mode);
        let refused = load_trust(&path).map_err(checked);
        assert_eq!(refused.is_ok(), ok, "{mode:o}");
        assert!(ok || matches!(refused, Err(FileError::Writable { mode: found, .. }) if found == mode));
    }
    symlink(&path, dir.path().join("link")).unwrap();
    assert!(matches!(load_trust(&dir.path().join("link")), Err(FileError::SymbolicLink { .. })));
}

#[test]
fn a_damaged_or_huge_trust_set_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trust.json");
    save_trust(&path, &trust()).unwrap();
    let good = fs::read(&path).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    let error = load_trust(&path).unwrap_err();
    assert!(matches!(error, FileError::Trust { source: TrustError::NotCanonical(_), .. }), "{error}");
    fs::write(&path, [good, vec![b' '; TRUST_FILE_SIZE_MAX as usize]].concat()).unwrap();
    assert!(matches!(load_trust(&path), Err(FileError::TooLarge { .. })));
}

#[test]
fn a_newer_trust_set_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trust.json");
    let newer = "{\"format\": 2, \"keyrings\": []}\n";
    fs::write(&path, newer).unwrap();
    set_mode(&path, 0o644);
    let error = checked(save_trust(&path, &trust()).unwrap_err());
    assert!(
        matches!(error, FileError::Trust { source: TrustError::NewerFormat { found: 2 }, .. }),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}

#[test]
fn no_error_of_this_module_in_any_form_holds_the_secret() {
    samples().into_iter().for_each(|error| drop(checked(error)));
}
