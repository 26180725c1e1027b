//! What of the Debian package needs no machine of its own (`deb.rs` has one): the list of parts in it, and its scripts under attack.
//!
//! The scripts run as root while somebody who acts as the daemon's user is at work in the folders that are the daemon's: whatever is put there
//! at the worst moment, nothing outside is written, given away or made readable. That is on a container with the scripts, users, folders and units
//! as they are shipped, and programs that do nothing. The moment is made rather than raced for: what the scripts call is wrapped, and the trap
//! is set just before.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holdfast_testkit::lab::{self, Container};
use serde_json::Value;

const CONFIG: &str = "/etc/holdfast/config.yaml";

/// Which trap lies where root is about to write, by the daemon's user.
const TRAPS: [(&str, &str); 5] = [
    ("a link to a folder", "ln -s /srv/decoys/folder /etc/holdfast/config.yaml"),
    ("a link to a file", "ln -s /srv/decoys/secret /etc/holdfast/config.yaml"),
    ("a link to what is not there yet", "ln -s /srv/decoys/folder/made /etc/holdfast/config.yaml"),
    ("a pipe that nobody reads", "mkfifo /etc/holdfast/config.yaml"),
    ("a file of its own", "echo 'version: 1' >/etc/holdfast/config.yaml"),
];

/// Sets the trap when a command is about to touch the settings, as the daemon's user, and then does what was asked.
const WRAPPED: &str = r#"#!/bin/sh
case "$*" in
  */holdfast/config.yaml*) [ ! -e /srv/trap ] || PATH=/usr/sbin:/usr/bin runuser -u holdfast -- sh /srv/trap ;;
esac
exec /usr/bin/"${0##*/}" "$@"
"#;

/// What a script may write, move or change files with.
const WRITERS: [&str; 10] = ["install", "cp", "mv", "ln", "chmod", "chown", "mkdir", "tee", "touch", "dd"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn copy(from: &str, to: &Path, mode: u32) {
    write(to, &std::fs::read_to_string(root().join("packaging").join(from)).unwrap(), mode);
}

/// The package with all that its scripts touch.
fn package(folder: &Path) -> PathBuf {
    let tree = folder.join("tree");
    let at = |path: &str| tree.join(path);
    let control =
        "Package: holdfast\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@x.invalid>\nDescription: x\n";
    write(&at("DEBIAN/control"), control, 0o644);
    for script in ["preinst", "postinst", "prerm", "postrm"] {
        copy(&format!("deb/{script}"), &at("DEBIAN").join(script), 0o755);
    }
    for program in
        ["bin/holdfast", "bin/holdfast-egress", "bin/holdfast-tripwire", "lib/holdfast/holdfast-doorman"]
    {
        write(&at("usr").join(program), "#!/bin/sh\nexit 0\n", 0o755);
    }
    // All of them, as the real package ships them: a script that names one which is not there fails.
    for unit in std::fs::read_dir(root().join("packaging/systemd")).unwrap() {
        let unit = unit.unwrap().file_name().into_string().unwrap();
        copy(&format!("systemd/{unit}"), &at("usr/lib/systemd/system").join(&unit), 0o644);
    }
    copy("sysusers.d/holdfast.conf", &at("usr/lib/sysusers.d/holdfast.conf"), 0o644);
    copy("tmpfiles.d/holdfast.conf", &at("usr/lib/tmpfiles.d/holdfast.conf"), 0o644);
    copy("deb/config.yaml", &at("usr/share/holdfast/config.yaml"), 0o644);
    let made = folder.join("holdfast.deb");
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Znone", "--build"]).arg(&tree).arg(&made);
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    made
}

struct Machine(Container);

impl Machine {
    #[track_caller]
    fn ask(&self, script: &str) -> Output {
        // A script that hangs on a trap is a finding, and not the end of the test.
        self.0.run(&["timeout", "--signal=KILL", "30", "sh", "-c", script])
    }

    /// What it says, when it ends well.
    #[track_caller]
    fn run(&self, script: &str) -> String {
        let output = self.ask(script);
        let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
        assert!(output.status.success(), "{script}: {}\n{said}", output.status);
        said
    }

    fn put(&self, folder: &Path, text: &str, remote: &str, mode: u32) {
        let local = folder.join("put");
        write(&local, text, mode);
        self.0.put(&local, remote).unwrap();
    }

    /// All that must stay as it is: kinds, modes, owners, times of change, contents.
    fn decoys(&self) -> String {
        self.run("find /srv/decoys -printf '%p %y %m %u:%g %s %C@\\n' | sort; sha256sum /srv/decoys/secret")
    }
}

fn machine(folder: &Path) -> Option<Machine> {
    let machine = Machine(lab::container("trixie")?);
    machine.0.put(package(folder), "/srv/holdfast.deb").unwrap();
    // The services are not what this is about: a policy keeps them from starting.
    machine.put(folder, "#!/bin/sh\nexit 101\n", "/usr/sbin/policy-rc.d", 0o755);
    for writer in WRITERS {
        machine.put(folder, WRAPPED, &format!("/usr/local/bin/{writer}"), 0o755);
    }
    machine
        .run("install -d -m 0755 /srv/decoys/folder && umask 077 && echo of root alone >/srv/decoys/secret");
    Some(machine)
}

#[test]
fn nothing_that_the_daemon_s_user_puts_in_its_folders_leads_the_package_s_scripts_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let Some(machine) = machine(folder.path()) else { return };
    machine.run("dpkg -i /srv/holdfast.deb");
    let settings = machine.run(&format!("stat -c '%a %U:%G' {CONFIG}; cat {CONFIG}"));
    let shipped = std::fs::read_to_string(root().join("packaging/deb/config.yaml")).unwrap();
    assert_eq!(settings, format!("644 root:root\n{shipped}"));
    assert_eq!(machine.run("stat -c '%U' /etc/holdfast"), "holdfast\n", "the folder is the daemon's");
    let before = machine.decoys();
    for (what, trap) in TRAPS {
        machine.run("dpkg -r holdfast");
        machine.run(&format!("rm -f {CONFIG}"));
        machine.put(folder.path(), &format!("rm -f {CONFIG}\n{trap}\n"), "/srv/trap", 0o644);
        let said = machine.run("dpkg -i /srv/holdfast.deb");
        assert_eq!(machine.decoys(), before, "{what}: {said}");
        assert!(
            machine.ask(&format!("test -e {CONFIG} -o -L {CONFIG}")).status.success(),
            "{what} was not set"
        );
        assert!(said.contains("was not made"), "{what}: {said}");
        machine.run("rm /srv/trap");
    }
    assert_eq!(
        machine.run("find /etc -maxdepth 1 -name '*holdfast*' | sort"),
        "/etc/holdfast\n/etc/holdfast-tripwire\n"
    );

    // And when all goes: what lies in the folders leads elsewhere.
    let traps = "cd /etc/holdfast && rm -rf keys && ln -s /srv/decoys/folder keys && ln -s /srv/decoys/secret secret && mkfifo pipe && \
        cd /var/lib/holdfast && ln -s /srv/decoys/folder journal && ln -s /srv/decoys/secret secret && mkfifo pipe";
    machine.run("install -d -o holdfast -g holdfast -m 0700 /var/lib/holdfast");
    machine.run(&format!("runuser -u holdfast -- sh -c '{traps}'"));
    let said = machine.run("dpkg -P holdfast");
    assert_eq!(machine.decoys(), before, "{said}");
    assert_eq!(machine.run("stat -c '%a %U:%G' /var/lib/holdfast"), "700 root:root\n", "{said}");
    assert!(!machine.ask("test -e /etc/holdfast").status.success(), "{said}");
}

/// The package as `make deb` packs it, with programs that are small but for the one that writes its own manual. Its bytes, and those of the list
/// beside it.
fn packed(programs: &Path, out: &Path) -> [Vec<u8>; 2] {
    let mut pack = Command::new(root().join("scripts/deb.sh"));
    let packed = pack
        .arg("--from")
        .arg(programs)
        .arg("--out")
        .arg(out)
        .args(["--version", "1.0~list"])
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    ["deb", "cdx.json"]
        .map(|kind| std::fs::read(out.join(format!("holdfast_1.0~list_amd64.{kind}"))).unwrap())
}

/// Where `scripts/schemas.sh` puts the schemas, and how they name each other.
fn is_valid(bom: &Value) -> Result<(), String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))).unwrap();
    let folder = set("HOLDFAST_TOOLS").unwrap_or_else(|| cache().join("holdfast/tools")).join("cyclonedx");
    let schema = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json")));
        serde_json::from_str(
            &text.unwrap_or_else(|e| panic!("{e}: run scripts/schemas.sh (`make lab` does)")),
        )
        .unwrap()
    };
    let mut registry = jsonschema::Registry::new();
    for name in ["spdx", "jsf-0.82"] {
        let uri = format!("http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json");
        registry = registry.add(uri, schema(name)).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let validator = jsonschema::options().with_registry(&registry).build(&schema("bom-1.5")).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(bom).map(|e| format!("{}: {e}", e.instance_path())).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[test]
fn the_package_carries_the_list_of_its_parts_and_the_same_tree_gives_the_same_package() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for program in
        ["holdfast-tripwire", "holdfast-egress", "holdfast-doorman", "holdfast-cage", "holdfast-intruder"]
    {
        std::os::unix::fs::symlink("/bin/true", programs.join(program)).unwrap();
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_holdfast"), programs.join("holdfast")).unwrap();
    let [first, second] = ["first", "second"].map(|name| packed(&programs, &folder.path().join(name)));
    assert!(first == second, "the same tree, and two packages");

    let mut unpack = Command::new("dpkg-deb");
    unpack
        .arg("-x")
        .arg(folder.path().join("first/holdfast_1.0~list_amd64.deb"))
        .arg(folder.path().join("tree"));
    assert!(unpack.status().unwrap().success());
    let carried = std::fs::read(folder.path().join("tree/usr/share/doc/holdfast/sbom.cdx.json")).unwrap();
    assert_eq!(carried, first[1], "the list in the package, and the one beside it");
    let bom: Value = serde_json::from_slice(&carried).unwrap();
    assert_eq!(is_valid(&bom), Ok(()));
    let mut broken = bom.clone();
    broken["components"][0]["type"] = "nothing".into();
    assert!(is_valid(&broken).is_err(), "the schemas say nothing");

    assert_eq!(bom["metadata"]["component"]["version"], "1.0~list");
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let components = bom["components"].as_array().unwrap();
    let (fetched, own): (Vec<&Value>, Vec<&Value>) =
        components.iter().partition(|part| part["purl"].is_string());
    assert!(fetched.len() > 100, "{}", fetched.len());
    for part in fetched {
        let sum = part["hashes"][0]["content"].as_str().unwrap();
        assert!(lock.contains(&format!("checksum = \"{sum}\"")), "{}", part["name"]);
    }
    for name in ["holdfast", "holdfast-doorman", "std", "glibc", "libgcc-s1", "sqlite"] {
        assert!(own.iter().any(|part| part["name"] == name), "{name}");
    }
}
