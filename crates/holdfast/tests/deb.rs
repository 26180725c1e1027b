//! The Debian package on a real machine: installed, upgraded, not downgraded, removed, purged; and that nothing is left of it but what
//! was recorded.
//!
//! It is packed as `make deb` does it, from the programs as they were built for the tests.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use holdfast_testkit::{Guest, lab, rounds};
use serde_json::{Value, json};

const UNITS: [&str; 2] = ["holdfast.service", "holdfast-tripwire.service"];
/// systemd holds the daemon's addresses by these, also while it is down.
const SOCKETS: [&str; 2] = ["holdfast.socket", "holdfast-ipv6.socket"];
const EGRESS: &str = "holdfast-egress.service";
const ACTIVE: [&str; 2] = ["active", "active"];
const PROGRAMS: [&str; 6] = [
    "holdfast",
    "holdfast-tripwire",
    "holdfast-egress",
    "holdfast-doorman",
    "holdfast-cage",
    "holdfast-intruder",
];
const OLD: &str = "0.1.0~test1";
const NEW: &str = "0.1.0~test2";
/// What the requirements allow; 10 is a service without any fence.
const EXPOSURE_MAX: f64 = 2.5;
/// Emulated, dpkg takes its time over sixty megabytes.
const DPKG_WITHIN: Duration = Duration::from_secs(150);
const SOON: Duration = Duration::from_secs(60);

/// A reload runs every generator anew, for hardware and shares that an emulated machine does not have. Without them it takes a fraction.
const WITHOUT_GENERATORS: &str = "mkdir -p /etc/systemd/system-generators && cd /usr/lib/systemd/system-generators && \
    for name in *; do ln -s /dev/null \"/etc/systemd/system-generators/$name\"; done";

/// What a purge leaves, and nothing else.
const STATE: [&str; 4] = [
    "/var/lib/holdfast",
    "/var/lib/holdfast-tripwire",
    "/var/lib/holdfast-egress",
    "/var/lib/holdfast-windows",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the programs lie that were built for the tests.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_holdfast")).parent().unwrap().to_owned()
}

fn packed(programs: &Path, version: &str, out: &Path) -> PathBuf {
    let mut pack = Command::new(root().join("scripts/deb.sh"));
    pack.arg("--from").arg(programs).arg("--out").arg(out).args(["--version", version]);
    let packed = pack.output().unwrap();
    assert!(packed.status.success(), "{}", text(&packed.stderr));
    PathBuf::from(text(&packed.stdout).trim())
}

/// The package as it is, and the one of the next build: its program differs.
fn packages(folder: &Path) -> [PathBuf; 2] {
    let old = packed(&programs(), OLD, folder);
    let next = folder.join("next");
    std::fs::create_dir(&next).unwrap();
    for program in PROGRAMS {
        std::os::unix::fs::symlink(programs().join(program), next.join(program)).unwrap();
    }
    std::fs::remove_file(next.join("holdfast")).unwrap();
    let mut differ = Command::new("objcopy");
    let section = format!(".holdfast.build={}", root().join("LICENSE").display());
    differ.args(["--add-section", &section]).arg(programs().join("holdfast")).arg(next.join("holdfast"));
    assert!(differ.status().unwrap().success());
    [old, packed(&next, NEW, folder)]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A guest, and how long what is done there takes, for whoever reads a failure.
struct Machine {
    guest: Guest,
    began: Instant,
}

impl Machine {
    #[track_caller]
    fn ask(&self, argv: &[&str]) -> Output {
        let output = self.guest.call(argv).within(DPKG_WITHIN).run();
        #[expect(clippy::print_stderr, reason = "shown when the test fails")]
        {
            eprintln!("{:6.1?} {argv:?} {}", self.began.elapsed(), output.status);
        }
        output
    }

    /// What it says, when it ends well.
    #[track_caller]
    fn run(&self, argv: &[&str]) -> String {
        let output = self.ask(argv);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{argv:?}: {}\n{out}{err}", output.status);
        out.trim_end().to_owned()
    }

    /// What each of the two units does, as systemd calls it.
    fn states(&self) -> [String; 2] {
        self.of_both("ActiveState")
    }

    fn pids(&self) -> [String; 2] {
        self.of_both("MainPID")
    }

    fn of_both(&self, property: &str) -> [String; 2] {
        let said = self.run(&["systemctl", "show", "-p", property, "--value", UNITS[0], UNITS[1]]);
        let mut each = said.lines().filter(|line| !line.is_empty()).map(str::to_owned);
        [each.next().unwrap(), each.next().unwrap()]
    }

    /// Whether the rules about what may be reached are kept, now and after a boot.
    fn rules(&self) -> [String; 2] {
        let said =
            self.run(&["systemctl", "show", "-p", "ActiveState", "-p", "UnitFileState", "--value", EGRESS]);
        let mut each = said.lines().map(str::to_owned);
        [each.next().unwrap(), each.next().unwrap()]
    }

    /// The installed program, and the one that runs as this process: which file each is, and how long.
    fn program(&self, pid: &str) -> [String; 2] {
        let said = self.run(&["stat", "-L", "-c", "%i %s", "/usr/bin/holdfast", &format!("/proc/{pid}/exe")]);
        let (installed, runs) = said.split_once('\n').unwrap();
        [installed.to_owned(), runs.to_owned()]
    }

    fn write(&self, path: &str, content: &str) {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, content.as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let file: File = file;
        assert!(self.guest.call(&["tee", path]).stdin_from(file).run().status.success());
    }

    #[track_caller]
    fn wait_until(&self, what: &str, mut is: impl FnMut() -> bool) {
        let until = Instant::now() + SOON;
        while !is() {
            assert!(
                Instant::now() < until,
                "it did not come to that: {what}\n{}",
                self.run(&["journalctl", "-b", "-n", "40", "--no-pager", "-o", "cat"])
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Everything on its disk with kind, mode and owner, and for /etc with content; but for what a running system and dpkg's own books
    /// change by themselves, and the copies that programs which change users keep of the lists before.
    fn everything(&self) -> BTreeSet<String> {
        const PASSING: [&str; 6] =
            ["/root", "/tmp", "/var/tmp", "/var/log", "/var/lib/dpkg", "/var/lib/systemd"];
        let mut find = vec!["find", "/", "-xdev", "("];
        for path in PASSING {
            find.extend(["-path", path, "-o"]);
        }
        find.extend(["-path", "/var/cache", ")", "-prune", "-o", "-printf", "%p %y %m %u:%g %l\n"]);
        let books = ["find", "/var/lib/dpkg/info", "-printf", "%p\n"];
        let digests = ["find", "/etc", "-type", "f", "-exec", "sha256sum", "{}", "+"];
        let lines = [self.run(&find), self.run(&books), self.run(&digests)].join("\n");
        let is_copy = |line: &&str| {
            ["passwd", "group", "shadow", "gshadow", "subuid", "subgid"]
                .iter()
                .any(|name| line.ends_with(&format!("/etc/{name}-")))
        };
        lines.lines().filter(|line| !is_copy(line)).map(str::to_owned).collect()
    }
}

/// `→ Overall exposure level for holdfast.service: 1.3 OK`.
fn exposure(said: &str) -> f64 {
    let line = said.lines().find(|line| line.contains("Overall exposure level")).unwrap();
    line.split(": ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_package_comes_stays_and_goes() {
    comes_stays_and_goes("trixie");
    if rounds(0, 1) == 1 {
        comes_stays_and_goes("bookworm");
    }
}

fn comes_stays_and_goes(release: &str) {
    let Some(guest) = lab::guest(release) else { return };
    let machine = Machine { guest, began: Instant::now() };
    let folder = tempfile::tempdir().unwrap();
    for (package, name) in packages(folder.path()).iter().zip(["/root/old.deb", "/root/new.deb"]) {
        machine.guest.put(package, name).unwrap();
    }
    machine.run(&["sh", "-c", WITHOUT_GENERATORS]);
    let before = machine.everything();
    is_installed(&machine);
    has_its_addresses_held(&machine);
    is_fenced(&machine);
    if rounds(0, 1) == 1 {
        let config = takes_a_host_in_with_rules_kept(&machine);
        guards_the_host(&machine);
        is_let_go(&machine, &config);
    }
    has_a_guard(&machine);
    binds_its_users(&machine);
    is_upgraded(&machine);
    refuses_to_go_back(&machine);
    is_removed(&machine);
    if rounds(0, 1) == 1 {
        comes_back(&machine);
    }
    is_purged(&machine, &before);
}

fn is_installed(machine: &Machine) {
    machine.run(&["dpkg", "-i", "/root/old.deb"]);
    assert_eq!(machine.states(), ["active", "inactive"], "the tripwire has no settings yet");
    assert_eq!(machine.of_both("UnitFileState"), ["enabled", "enabled"]);
    assert_eq!(
        machine.rules(),
        ["active", "enabled"],
        "what may be reached is kept to from the first moment"
    );
    let status: Value = serde_json::from_str(&machine.run(&["holdfast", "--json", "status"])).unwrap();
    assert!(status.is_object(), "{status}");
    assert_eq!(machine.run(&["id", "-Gn", "holdfast"]), "holdfast holdfast-windows");
    assert_eq!(machine.run(&["id", "-Gn", "holdfast-tripwire"]), "holdfast-tripwire holdfast-windows");
    let places = [
        ("/etc/holdfast", "750 holdfast:holdfast"),
        ("/etc/holdfast/config.yaml", "644 root:root"),
        ("/etc/holdfast-tripwire", "750 root:holdfast-tripwire"),
        ("/etc/holdfast-tripwire/parts.sha256", "644 root:root"),
        ("/var/lib/holdfast", "700 holdfast:holdfast"),
        ("/var/lib/holdfast-windows", "2770 root:holdfast-windows"),
        ("/usr/lib/holdfast/holdfast-doorman", "755 root:root"),
    ];
    let asked: Vec<&str> =
        ["stat", "-c", "%n|%a %U:%G"].into_iter().chain(places.map(|(path, _)| path)).collect();
    let expected: Vec<String> = places.map(|(path, stat)| format!("{path}|{stat}")).to_vec();
    assert_eq!(machine.run(&asked), expected.join("\n"));
    machine.run(&["holdfast", "config", "check"]);
    machine.run(&[
        "holdfast",
        "audit",
        "log",
        "--actor",
        "ana",
        "--kind",
        "captain.watch.started",
        "--body",
        "{}",
    ]);
}

/// Both loopbacks are the daemon's, held while it is down, also where IPv6 is switched off; whoever comes starts it.
fn has_its_addresses_held(machine: &Machine) {
    let sockets = || machine.run(&[&["systemctl", "is-active"], &SOCKETS[..]].concat());
    assert_eq!(machine.run(&[&["systemctl", "is-enabled"], &SOCKETS[..]].concat()), "enabled\nenabled");
    assert_eq!(sockets(), "active\nactive");
    let log = machine.run(&["journalctl", "-b", "-u", UNITS[0], "--no-pager", "-o", "cat"]);
    assert!(!log.contains("does not hold every address"), "{log}");
    let status: Value = serde_json::from_str(&machine.run(&["holdfast", "--json", "status"])).unwrap();
    assert_eq!(status["listening"][1]["addresses"], json!(["127.0.0.1:9096", "[::1]:9096"]), "{status}");
    machine.run(&["systemctl", "stop", UNITS[0]]);
    let held = machine.run(&["ss", "-ltnpH"]);
    for address in ["127.0.0.1:9095", "127.0.0.1:9096", "[::1]:9095", "[::1]:9096"] {
        let by = held.lines().find(|line| line.contains(&format!(" {address} ")));
        assert!(
            by.is_some_and(|line| line.contains("\"systemd\",pid=1,")),
            "{address} while it is down: {held}"
        );
    }
    machine.run(&["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9096"]);
    machine.wait_until("a connection has started it", || machine.states()[0] == "active");
    let v6 = |off: u8| {
        machine.run(&["systemctl", "stop", SOCKETS[0], SOCKETS[1], UNITS[0]]);
        machine.run(&["sysctl", "-qw", &format!("net.ipv6.conf.all.disable_ipv6={off}")]);
        machine.run(&["systemctl", "start", SOCKETS[0], SOCKETS[1], UNITS[0]]);
        assert_eq!(sockets(), "active\nactive");
        assert_eq!(machine.states()[0], "active");
    };
    v6(1);
    v6(0);
}

fn is_fenced(machine: &Machine) {
    for unit in UNITS.into_iter().chain([EGRESS]) {
        let said = machine.run(&["systemd-analyze", "security", "--no-pager", unit]);
        let found = exposure(&said);
        assert!(found <= EXPOSURE_MAX, "{unit} is open by {found}\n{said}");
    }
}

const OWN: &str = "/var/lib/holdfast/own";
/// Where that host is: behind a wire, since nobody is kept from this machine itself.
const FAR: &str = "10.77.0.2";
/// A service, a key of root's that the daemon's user may use, and an sshd that reads people's own keys, at the other end of a wire; and all
/// of it away again.
const HOST: &str = r#"set -e
ip netns add far && ip link add near type veth peer name far netns far
ip addr add 10.77.0.1/24 dev near && ip link set near up
ip -n far addr add 10.77.0.2/24 dev far && ip -n far link set far up
printf '[Service]\nExecStart=/bin/sleep infinity\n' >/etc/systemd/system/web.service
printf 'AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\n' >/etc/ssh/sshd_config.d/00-keys.conf
systemctl daemon-reload && systemctl start web.service && systemctl reload ssh.service
ssh-keygen -q -t ed25519 -N '' -f /var/lib/holdfast/own && chown holdfast: /var/lib/holdfast/own
mkdir -p -m 700 /root/.ssh && cat /var/lib/holdfast/own.pub >>/root/.ssh/authorized_keys
nsenter --net=/run/netns/far /usr/sbin/sshd -o PidFile=/run/far.pid"#;
const NO_HOST: &str = r#"set -e
kill "$(cat /run/far.pid)" && ip netns delete far
systemctl stop web.service
rm /etc/systemd/system/web.service /etc/ssh/sshd_config.d/00-keys.conf /var/lib/holdfast/own /var/lib/holdfast/own.pub
systemctl daemon-reload && systemctl reload ssh.service"#;

/// As root on a machine with the package, all with its defaults: no setting names the host before it is taken in, and rules are kept. What root
/// says is lent for that time, and config.yaml stays root's.
fn takes_a_host_in_with_rules_kept(machine: &Machine) -> String {
    machine.run(&["sh", "-c", HOST]);
    let before = machine.run(&["cat", CONFIG]);
    assert!(!reaches(machine), "nothing names it");
    let account = format!("root@{FAR}");
    let add = ["holdfast", "target", "add", &account, "--name", "box-9", "--unit", "web.service"];
    machine.run(&[&add[..], &["--identity", OWN, "--yes"]].concat());
    is_roots(machine);
    let said = machine.run(&["journalctl", "-u", EGRESS, "-o", "cat"]);
    for line in ["10.77.0.2:22 is lent to holdfast, for target add box-9", "10.77.0.2:22 was returned"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let shown = machine.run(&["holdfast", "egress", "show"]);
    assert!(shown.contains("steward.targets box-9 address") && !shown.contains("lent"), "{shown}");
    assert!(reaches(machine), "config.yaml names it, and is believed");
    before
}

const CONFIG: &str = "/etc/holdfast/config.yaml";

fn is_roots(machine: &Machine) {
    assert_eq!(machine.run(&["stat", "-c", "%a %U:%G", CONFIG]), "644 root:root");
}

/// Whether the daemon's user gets through to the host.
fn reaches(machine: &Machine) -> bool {
    let knock = format!("exec 3<>/dev/tcp/{FAR}/22");
    machine.ask(&["runuser", "-u", "holdfast", "--", "timeout", "4", "bash", "-c", &knock]).status.success()
}

/// As it was, for whoever looks: the file's every byte, its owner, and the rules.
fn is_let_go(machine: &Machine, before: &str) {
    machine.run(&["holdfast", "target", "remove", "box-9", "--identity", OWN, "--yes"]);
    is_roots(machine);
    assert_eq!(machine.run(&["cat", CONFIG]), before);
    assert!(!reaches(machine), "nothing names it any more");
    assert_eq!(machine.states(), ["active", "inactive"]);
    let left = machine.run(&["find", "/etc/holdfast-tripwire", "-mindepth", "1"]);
    assert_eq!(left.trim(), "/etc/holdfast-tripwire/parts.sha256", "what the package was set up with");
    machine.run(&["sh", "-c", NO_HOST]);
}

/// The key that undoes is out of the daemon's reach, and the guard begins by itself.
// shows: STW-407
fn guards_the_host(machine: &Machine) {
    let guard = ["holdfast", "target", "guard", "box-9", "--reference", "127.0.0.1:22", "--yes"];
    let said = machine.run(&guard);
    assert!(said.contains("holdfast-tripwire.service was started with it"), "{said}");
    assert_eq!(machine.states(), ACTIVE);
    is_roots(machine);
    let places = [
        ("/etc/holdfast-tripwire/tripwire.json", "640 root:holdfast-tripwire"),
        ("/etc/holdfast-tripwire/box-9", "750 root:holdfast-tripwire"),
        ("/etc/holdfast-tripwire/box-9/rescue", "640 root:holdfast-tripwire"),
    ];
    for (path, expected) in places {
        assert_eq!(machine.run(&["stat", "-c", "%a %U:%G", path]), expected, "{path}");
    }
    machine.run(&["test", "!", "-e", "/var/lib/holdfast/steward/box-9/rescue"]);
    let daemon = ["runuser", "-u", "holdfast", "--"];
    let read = [&daemon[..], &["cat", "/etc/holdfast-tripwire/box-9/rescue"]].concat();
    assert!(!machine.ask(&read).status.success());
    // Nor can its user have it guard somebody else.
    let as_daemon = [&daemon[..], &["holdfast", "target", "remove", "box-9", "--forget", "--yes"]].concat();
    assert!(text(&machine.ask(&as_daemon).stderr).contains("HF-ENR-026"));
    let heart = ["cat", "/run/holdfast-tripwire/box-9.heart.json"];
    machine.wait_until("the way back was rehearsed", || {
        let heart: Value = serde_json::from_slice(&machine.ask(&heart).stdout).unwrap_or_default();
        heart["rehearsed"]["first route"].is_string()
    });
    machine.run(&["holdfast", "target", "check", "box-9"]);
}

/// The tripwire starts once it has settings, does its rounds behind its fence, and is out of the daemon's reach.
// shows: STW-042, STW-185
fn has_a_guard(machine: &Machine) {
    let key = "/etc/holdfast-tripwire/rescue";
    machine.run(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]);
    let host = machine.run(&["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]);
    machine.write("/etc/holdfast-tripwire/known_hosts", &format!("box-1 {host}\n"));
    let settings = json!({
        "windows": "/var/lib/holdfast-windows",
        "state": "/var/lib/holdfast-tripwire",
        "run": "/run/holdfast-tripwire",
        "targets": [{
            "name": "box-1", "first": { "address": "127.0.0.1" }, "key": key,
            "known_hosts": "/etc/holdfast-tripwire/known_hosts",
            "references": [{ "tcp": { "address": "127.0.0.1:22" } }],
        }],
    });
    machine.write("/etc/holdfast-tripwire/tripwire.json", &settings.to_string());
    machine.run(&["chgrp", "-R", "holdfast-tripwire", "/etc/holdfast-tripwire"]);
    machine.run(&["chmod", "640", key, "/etc/holdfast-tripwire/tripwire.json"]);
    machine.run(&["systemctl", "start", "holdfast-tripwire.service"]);
    assert_eq!(machine.states(), ACTIVE);

    // Its key opens nothing here; that sshd says so shows that ssh got as far, and the daemon can read it.
    let daemon = ["runuser", "-u", "holdfast", "--"];
    let heart = [&daemon[..], &["cat", "/run/holdfast-tripwire/box-1.heart.json"]].concat();
    let failing = || {
        let heart: Value = serde_json::from_slice(&machine.ask(&heart).stdout).unwrap_or_default();
        heart["failing"]["first route"].as_str().unwrap_or_default().to_owned()
    };
    machine.wait_until("the way back was tried", || !failing().is_empty());
    assert!(failing().contains("Permission denied"), "{}", failing());

    let pid = machine.pids()[1].clone();
    for stopping in
        [&["systemctl", "--no-ask-password", "stop", "holdfast-tripwire.service"][..], &["kill", &pid]]
    {
        let stopped = machine.ask(&[&daemon[..], stopping].concat());
        assert!(!stopped.status.success(), "{stopping:?}");
    }
    let settings = [&daemon[..], &["cat", "/etc/holdfast-tripwire/tripwire.json"]].concat();
    assert!(!machine.ask(&settings).status.success());
    assert_eq!(machine.pids()[1], pid);
    both_write_the_records(machine);
}

/// Each as its unit would have it: what one wrote the other replaces.
fn both_write_the_records(machine: &Machine) {
    for user in ["holdfast-tripwire", "holdfast"] {
        let user = format!("User={user}");
        let fence = [
            "systemd-run",
            "--quiet",
            "--wait",
            "--collect",
            "-p",
            &user,
            "-p",
            "SupplementaryGroups=holdfast-windows",
            "-p",
            "ProtectSystem=strict",
            "-p",
            "ReadWritePaths=/var/lib/holdfast-windows",
            "-p",
            "PrivateUsers=yes",
            "-p",
            "RestrictSUIDSGID=yes",
            "-p",
            "NoNewPrivileges=yes",
            "--",
        ];
        let write = "cd /var/lib/holdfast-windows && echo x >new && chmod 660 new && mv new record && : >>lock && chmod -f 660 lock; test -w lock";
        machine.run(&[&fence[..], &["/bin/sh", "-c", write]].concat());
    }
    assert_eq!(
        machine.run(&["stat", "-c", "%a %U:%G", "/var/lib/holdfast-windows/record"]),
        "660 holdfast:holdfast-windows"
    );
}

/// The users reach what is declared, and what they are refused is told; the daemon's user cannot change it.
fn binds_its_users(machine: &Machine) {
    assert_eq!(machine.rules(), ["active", "enabled"]);
    // A place in a net of this machine's own: the packet has somewhere to go. In one go, since an emulated machine takes its time over each.
    let send = "ip link add elsewhere type dummy && ip addr add 192.0.2.1/24 dev elsewhere && ip link set elsewhere up && \
        for user in nobody holdfast holdfast-tripwire; do \
        runuser -u $user -- bash -c 'echo x >/dev/udp/192.0.2.7/9' 2>/dev/null && echo $user; done; ip link delete elsewhere";
    assert_eq!(machine.run(&["sh", "-c", send]), "nobody", "whose packets get out");
    let refusals = || machine.run(&["holdfast", "--json", "egress", "refusals"]);
    machine.wait_until("both refusals are told", || refusals().matches("192.0.2.7").count() == 2);
    let check = machine.run(&["holdfast", "egress", "check"]);
    assert!(check.contains("rules     in force"), "{check}");
    assert!(machine.run(&["holdfast", "egress", "show"]).contains("tripwire box-1 first route"), "{check}");
    let unbind =
        "nft delete table inet holdfast_egress || systemctl --no-ask-password stop holdfast-egress.service";
    assert!(!machine.ask(&["runuser", "-u", "holdfast", "--", "sh", "-c", unbind]).status.success());
}

/// Also with rules that somebody has turned off: they stay off, and a removal takes away what is left of them all the same.
fn is_upgraded(machine: &Machine) {
    machine.run(&["systemctl", "disable", "--now", "--quiet", EGRESS]);
    let old = machine.pids();
    let [program, _] = machine.program(&old[0]);
    machine.run(&["dpkg", "-i", "/root/new.deb"]);
    assert_eq!(machine.states(), ACTIVE);
    assert_eq!(machine.rules(), ["inactive", "disabled"]);
    let new = machine.pids();
    assert!(old[0] != new[0] && old[1] != new[1], "{old:?} {new:?}");
    let [installed, runs] = machine.program(&new[0]);
    assert_ne!(installed, program);
    assert_eq!(runs, installed, "what runs is not what was installed");
    assert!(machine.run(&["holdfast", "audit", "tail"]).contains("captain.watch.started"));
}

fn refuses_to_go_back(machine: &Machine) {
    let pids = machine.pids();
    let refused = machine.ask(&["dpkg", "-i", "/root/old.deb"]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success());
    assert!(
        said.contains("0.1.0~test1 is older than 0.1.0~test2, which wrote what is in /var/lib/holdfast"),
        "{said}"
    );
    let is = machine.run(&["dpkg-query", "-W", "-f", "${Version} ${Status}", "holdfast"]);
    assert_eq!(is, format!("{NEW} install ok installed"));
    assert_eq!(machine.pids(), pids);
    assert_eq!(machine.states(), ACTIVE);
}

fn is_removed(machine: &Machine) {
    machine.run(&["dpkg", "-r", "holdfast"]);
    assert_eq!(machine.states(), ["inactive", "inactive"]);
    assert_eq!(machine.of_both("LoadState"), ["not-found", "not-found"]);
    machine.run(&["test", "-e", "/etc/holdfast/keys/log.key", "-a", "-d", "/var/lib/holdfast/journal"]);
    machine.run(&["test", "!", "-e", "/usr/bin/holdfast", "-a", "!", "-e", "/run/holdfast"]);
    machine.run(&["test", "!", "-e", "/etc/holdfast-tripwire/parts.sha256"]);
    assert!(!machine.run(&["nft", "list", "tables"]).contains("holdfast"), "the rules are left");
    let links = machine.run(&["find", "/etc/systemd", "-name", "holdfast*"]);
    assert_eq!(links, "");
}

/// Over what a removal left: as before, and an older one is refused all the same.
fn comes_back(machine: &Machine) {
    assert!(!machine.ask(&["dpkg", "-i", "/root/old.deb"]).status.success());
    machine.run(&["dpkg", "-i", "/root/new.deb"]);
    assert_eq!(machine.states(), ACTIVE);
    assert_eq!(machine.rules(), ["active", "enabled"]);
    assert!(machine.run(&["holdfast", "audit", "tail", "-n", "100"]).contains("captain.watch.started"));
    machine.run(&["env", "HOLDFAST_ALLOW_DOWNGRADE=1", "dpkg", "-i", "/root/old.deb"]);
    assert_eq!(machine.states(), ACTIVE);
}

fn is_purged(machine: &Machine, before: &BTreeSet<String>) {
    let purged = machine.ask(&["dpkg", "-P", "holdfast"]);
    assert!(purged.status.success(), "{}", text(&purged.stderr));
    assert!(text(&purged.stderr).contains("/var/lib/holdfast stays"), "{}", text(&purged.stderr));
    let after = machine.everything();
    let gone: Vec<&String> = before.difference(&after).collect();
    assert_eq!(gone, Vec::<&String>::new(), "something of others is gone");
    let is_state = |line: &str| {
        STATE.iter().any(|folder| {
            line.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest == " d 700 root:root ")
        })
    };
    let left: Vec<&String> = after.difference(before).filter(|line| !is_state(line)).collect();
    assert_eq!(left, Vec::<&String>::new(), "something of ours is left");
    machine.run(&["test", "-d", "/var/lib/holdfast/journal"]);
}

/// What decides about going back, without a machine.
#[test]
fn an_older_release_is_refused_unless_somebody_knows() {
    let upgrade = |last: &str, next: &str, allow: &str| {
        let mut script = Command::new("sh");
        script.arg(root().join("packaging/deb/preinst")).args(["upgrade", last, next]);
        script.env("HOLDFAST_ALLOW_DOWNGRADE", allow).output().unwrap().status.code()
    };
    let cases = [
        ("0.1.0", "0.1.0", "", 0),
        ("0.1.0", "0.2.0", "", 0),
        ("0.2.0~rc1", "0.2.0", "", 0),
        ("0.10.0", "0.9.0", "", 1),
        ("0.2.0", "0.2.0~rc1", "", 1),
        ("0.2.0", "0.1.0", "yes", 1),
        ("0.2.0", "0.1.0", "1", 0),
    ];
    for (last, next, allow, code) in cases {
        assert_eq!(upgrade(last, next, allow), Some(code), "{last} to {next}, {allow:?}");
    }
}
