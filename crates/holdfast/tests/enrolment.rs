//! A real host taken in, checked and let go: through an ordinary account with sudo, and it is as it was found.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "enrolment/hosts.rs"]
mod hosts;

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_testkit::{Guest, lab};
use home::{Home, Ran};
use hosts::{SUDO, doorman};

/// A guest with a workload, an account that may become root, and an sshd that reads people's own keys.
struct Machine {
    guest: Guest,
    folder: tempfile::TempDir,
}

/// Listens with what the small Python of the lab has.
const LISTENS: &str =
    "import socket\ns = socket.create_server(('', 8080))\nwhile True:\n    s.accept()[0].close()\n";
const SERVICE: &str =
    "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py\n[Install]\nWantedBy=multi-user.target\n";
const SSHD: &str =
    "AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\nKexAlgorithms curve25519-sha256\n";

/// As the doorman writes it when a change is kept.
const KEPT: &str = "# Written by holdfast, which takes it away by itself. Yours go beside it.\n[Service]\nMemoryHigh=900000000\n";
/// A reload runs every generator anew, for hardware and shares that an emulated machine does not have. Without them it takes a fraction.
const WITHOUT_GENERATORS: &str = "mkdir -p /etc/systemd/system-generators && cd /usr/lib/systemd/system-generators && \
    for name in *; do ln -s /dev/null \"/etc/systemd/system-generators/$name\"; done";

impl Machine {
    fn new(release: &str) -> Option<Machine> {
        let guest = lab::guest(release)?;
        let machine = Machine { guest, folder: tempfile::tempdir().unwrap() };
        machine.write("/usr/local/lib/web.py", LISTENS);
        machine.write("/etc/systemd/system/web.service", SERVICE);
        machine.write("/etc/ssh/sshd_config.d/00-keys.conf", SSHD);
        machine.must(&["sh", "-c", WITHOUT_GENERATORS]);
        machine.must(&["sh", "-c", SUDO]);
        machine.must(&["systemctl", "daemon-reload"]);
        machine.must(&["systemctl", "enable", "--now", "--quiet", "web.service"]);
        machine.must(&["systemctl", "reload", "ssh.service"]);
        // A line without an end, as people leave them.
        machine.must(&["sh", "-c", "mkdir -m 700 -p /root/.ssh && printf '# mine\\nssh-ed25519 AAAA nobody' >/root/.ssh/authorized_keys"]);
        std::thread::sleep(Duration::from_secs(1));
        Some(machine)
    }

    #[track_caller]
    fn must(&self, argv: &[&str]) -> String {
        let output = self.guest.run(argv);
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn write(&self, path: &str, text: &str) {
        self.must(&["sh", "-c", r#"printf '%s' "$2" >"$1""#, "write", path, text]);
    }

    /// The lab's key, by which its accounts are entered.
    fn identity(&self) -> String {
        let key = self.guest.known_hosts().with_file_name("key");
        let own = self.folder.path().join("key");
        std::fs::copy(key, &own).unwrap();
        own.display().to_string()
    }

    /// Every file that people or we could have written: kind, mode, owner, and what is in it; of the packages' own, how long they are.
    fn files(&self) -> BTreeMap<String, String> {
        let list = "cd / && find etc root home usr/local var/lib var/spool -xdev -not -path 'var/lib/systemd/*' \
            \\( -type f -printf '%y %m %U:%G %s\\t%p\\n' -o -printf '%y %m %U:%G %l\\t%p\\n' \\)";
        let stats = self.must(&["sh", "-c", list]);
        let sums = self.must(&["sh", "-c", "cd / && find etc root home usr/local var/lib -xdev -type f ! -path 'var/lib/systemd/*' ! -path 'var/lib/dpkg/*' ! -path 'var/lib/apt/*' -print0 | xargs -0 sha256sum"]);
        let mut all: BTreeMap<String, String> = stats
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(what, path)| (path.to_owned(), what.to_owned()))
            .collect();
        for (sum, path) in sums.lines().filter_map(|line| line.split_once("  ")) {
            all.entry(path.to_owned()).or_default().push_str(sum);
        }
        // Copies of the files before the last change, which useradd and userdel keep.
        for copy in ["passwd-", "shadow-", "group-", "gshadow-"] {
            all.remove(&format!("etc/{copy}"));
        }
        all
    }
}

#[track_caller]
fn same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let differing: Vec<_> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| format!("{path}: {:?} -> {:?}", before.get(path), after.get(path)))
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn a_host_is_taken_in_through_sudo_checked_and_left_as_it_was_found() {
    let Some(machine) = Machine::new("trixie") else { return };
    let home = Home::made("enrol");
    let config = home.path().join("etc/config.yaml");
    let config_before = std::fs::read_to_string(&config).ok();
    let before = machine.files();
    let (port, identity) = (machine.guest.port().to_string(), machine.identity());
    let doorman = doorman(machine.folder.path());
    let run = |args: &[&str]| -> Ran { home.run(args) };
    let add = [
        "target",
        "add",
        "agent@127.0.0.1",
        "--port",
        &port,
        "--name",
        "box-1",
        "--unit",
        "web.service",
        "--endpoint",
        "127.0.0.1:8080",
        "--identity",
        &identity,
        "--doorman",
        &doorman,
    ];
    // Looking changes nothing, and without --yes nothing is done.
    run(&[&add[..], &["--dry-run"]].concat()).ok().shows("nothing was changed");
    let wanted = run(&add).ends(2);
    assert!(wanted.err.contains("HF-ENR-003"), "{}", wanted.err);
    assert!(!home.path().join("state/steward").exists());
    let added = run(&[&add[..], &["--yes"]].concat()).ok();
    assert!(added.out.contains("box-1 is taken in, at the level observe"), "{}", added.out);
    for said in [
        "the key for rescue is refused what is not its own",
        "a change of web.service would fit",
        "the way back is open",
    ] {
        assert!(added.err.contains(said), "{said}: {}", added.err);
    }
    let keys = machine.must(&["cat", "/root/.ssh/authorized_keys"]);
    assert!(keys.starts_with("# mine\nssh-ed25519 AAAA nobody\ncommand=\"/usr/local/lib/holdfast/holdfast-doorman act\",restrict "), "{keys}");
    assert_eq!(home.json(&["config", "show", "--changed"])["settings"][0]["key"], "steward.targets");
    // It is looked after: nothing of it can be taken in twice, here or from elsewhere.
    run(&add).ends(2).says("HF-ENR-010");
    // The endpoint is forwarded by nobody here.
    let checked = home.run(&["--json", "target", "check", "box-1"]);
    let findings = checked.json()["findings"].as_array().unwrap().clone();
    let bad: Vec<_> =
        findings.iter().filter(|it| it["verdict"] == "bad").map(|it| it["what"].as_str().unwrap()).collect();
    assert_eq!(bad, ["127.0.0.1:8080 does not answer"], "{findings:#?}");
    // What was kept there goes too.
    machine.must(&["mkdir", "/etc/systemd/system/web.service.d"]);
    machine.write("/etc/systemd/system/web.service.d/50-holdfast-MemoryHigh.conf", KEPT);
    run(&["target", "remove", "box-1", "--identity", &identity]).ends(2).says("HF-ENR-012");
    run(&["target", "remove", "box-1", "--identity", &identity, "--yes"]).ok().shows("is as it was found");
    same(&before, &machine.files());
    assert_eq!(std::fs::read_to_string(&config).ok(), config_before);
    assert!(!home.path().join("state/steward").exists());
    run(&["target", "check", "box-1"]).ends(1).says("HF-ENR-017");
}
