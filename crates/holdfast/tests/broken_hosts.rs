//! Hosts that are broken in every way that people's hosts are: each ends with what is wrong, what was undone and what to do, and nothing is
//! left there or here.
//!
//! The hosts have a real sshd, real users, real files, real disks and addresses, and no systemd: one that plays its part says what a test
//! wants it to say. Played are besides: an old systemd (a release that has one is no longer to be had), a kernel without pressure (its files are
//! hidden) and a clock of another year (`date` says so; `enrolment.rs` sets a real one), and a sudo that asks nobody.

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
#[path = "enrolment/link.rs"]
mod link;

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_testkit::lab::{self, Host, Hosts};
use holdfast_testkit::rounds;
use home::{Home, Ran};
use hosts::{SUDO, doorman};
use link::Link;

/// Plays systemd for whoever asks: two units that run.
const SYSTEMCTL: &str = r#"cat >/usr/bin/systemctl <<'END' && chmod 755 /usr/bin/systemctl && mkdir -p /run/systemd/system
#!/bin/sh
case $* in
  --version) echo 'systemd 257 (257.1)' ;;
  list-unit-files*) printf 'ssh.service enabled\nweb.service enabled\n' ;;
  show*) for unit in ssh web; do
      printf 'Id=%s.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nFragmentPath=/etc/hostname\nMemoryCurrent=4096\nMainPID=1\n\n' $unit
    done ;;
esac
END
echo 'AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys' >/etc/ssh/sshd_config.d/00-keys.conf
mount -t tmpfs tmpfs /sys/fs/cgroup && echo 'cpu io memory pids' >/sys/fs/cgroup/cgroup.controllers"#;

struct Lab {
    hosts: Hosts,
    home: Home,
    folder: tempfile::TempDir,
    doorman: String,
    identity: String,
}

impl Lab {
    fn new() -> Option<Lab> {
        Lab::with(1)
    }

    /// So many hosts, of which the first is to be taken in.
    fn with(count: u32) -> Option<Lab> {
        let hosts = lab::hosts("trixie", count)?;
        let folder = tempfile::tempdir().unwrap();
        let (doorman, identity) = (doorman(folder.path()), hosts.key().display().to_string());
        let lab = Lab { hosts, home: Home::made("enrol"), folder, doorman, identity };
        lab.must(SYSTEMCTL);
        Some(lab)
    }

    fn host(&self) -> &Host {
        &self.hosts[0]
    }

    #[track_caller]
    fn must(&self, script: &str) -> String {
        let output = self.host().run(&["sh", "-c", script]);
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn add(&self, account: &str, more: &[&str]) -> Ran {
        let args = [
            "target",
            "add",
            account,
            "--name",
            "box-1",
            "--unit",
            "web.service",
            "--identity",
            &self.identity,
            "--doorman",
            &self.doorman,
        ];
        self.home.run(&[&args, more].concat())
    }

    /// The lab's link to its hosts, on this machine.
    fn link(&self) -> String {
        let [a, b, c, _] = self.host().address().octets();
        let shown = Command::new("ip").args(["-o", "addr", "show", "to", &format!("{a}.{b}.{c}.1")]).output();
        let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
        shown.split_whitespace().nth(1).unwrap().to_owned()
    }

    fn at(&self, user: &str) -> String {
        format!("{user}@{}", self.host().address())
    }

    /// Everything that people or we could have written there.
    fn files(&self) -> BTreeSet<String> {
        let list = "cd / && find etc root home usr/local var/lib -printf '%y %m %U:%G %l\t%p\n'; find etc root home usr/local var/lib -type f -print0 | xargs -0 sha256sum";
        let copies = ["etc/passwd-", "etc/shadow-", "etc/group-", "etc/gshadow-"];
        let theirs = |line: &&str| !copies.iter().any(|copy| line.ends_with(copy));
        self.must(list).lines().filter(theirs).map(str::to_owned).collect()
    }

    /// Refused with this code and these words; nothing is left, there or here.
    #[track_caller]
    fn refused(&self, account: &str, more: &[&str], code: i32, words: &[&str]) {
        let before = self.files();
        let ran = self.add(account, more).ends(code);
        for word in words.iter().chain(&["untouched: ", "next: "]) {
            assert!(ran.err.contains(word), "no {word:?} in\n{}", ran.err);
        }
        let after = self.files();
        let differing: Vec<_> = before.symmetric_difference(&after).collect();
        assert!(differing.is_empty(), "{differing:#?}\n{}", ran.err);
        self.nothing_here();
    }

    #[track_caller]
    fn nothing_here(&self) {
        assert!(!self.home.path().join("state/steward").exists());
        assert!(!self.home.path().join("etc/config.yaml").exists() || !self.config().contains("box-1"));
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.home.path().join("etc/config.yaml")).unwrap_or_default()
    }
}

#[track_caller]
fn ip(args: &[&str]) {
    assert!(Command::new("ip").args(args).status().unwrap().success(), "ip {args:?}");
}

const NOTHING: &str = "Nothing was changed, there or here.";

#[test]
fn who_is_not_who_he_was_said_to_be_gets_nothing_and_who_cannot_be_root_is_told() {
    let Some(lab) = Lab::new() else { return };
    let (root, agent) = (lab.at("root"), lab.at("agent"));
    // Another key than the one that was named.
    let other = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    lab.refused(
        &root,
        &["--yes", "--host-key", other],
        4,
        &["HF-ENR-002", "shows the host key SHA256:", NOTHING],
    );
    // Nobody has compared it.
    lab.refused(&root, &[], 2, &["HF-ENR-003", "--host-key SHA256:", NOTHING]);
    // An account that is not let in, one that cannot become root, and one behind whose key something else stands.
    lab.refused(&lab.at("nobody"), &["--yes"], 3, &["HF-ENR-004", "nobody", NOTHING]);
    lab.refused(&agent, &["--yes"], 4, &["HF-ENR-006", "neither root", "sudo", "NOPASSWD", NOTHING]);
    lab.must("cp /etc/ssh/lab_keys /etc/ssh/lab_keys.whole && sed -i 's/^/command=\"echo this account is for copies\" /' /etc/ssh/lab_keys");
    let forced = lab.add(&root, &["--yes"]).ends(4);
    assert!(
        forced.err.contains("HF-ENR-005") && forced.err.contains("this account is for copies"),
        "{}",
        forced.err
    );
    lab.nothing_here();
    // Nobody at all.
    lab.home
        .run(&["target", "add", "root@127.0.0.1", "--port", "1", "--name", "box-1", "--yes"])
        .ends(3)
        .says("HF-ENR-001");
}

#[test]
fn a_host_that_will_not_do_is_told_so_before_anything_is_done() {
    let Some(lab) = Lab::new() else { return };
    let root = lab.at("root");
    let unfit =
        |words: &[&str]| lab.refused(&root, &["--yes"], 1, &[&["HF-ENR-007", NOTHING], words].concat());
    lab.refused(
        &root,
        &["--yes", "--unit", "wob.service"],
        1,
        &["there is no unit wob.service; what runs: web.service"],
    );
    lab.refused(&root, &["--yes", "--endpoint", "box-1.lan:8080"], 1, &["nothing listens at port 8080"]);
    // An old systemd, and none.
    lab.must("sed -i s/257/241/ /usr/bin/systemctl");
    unfit(&["systemd 241 is there, and 249 is needed"]);
    lab.must("sed -i s/241/257/ /usr/bin/systemctl; rmdir /run/systemd/system");
    unfit(&["no systemd runs there"]);
    lab.must("mkdir /run/systemd/system; mount -t tmpfs none /proc/pressure || mount --bind /run/systemd/system /proc/pressure");
    unfit(&["boot it with psi=1, or do without by --without-pressure"]);
    lab.must("umount /proc/pressure");
    // A disk that is full, and no way to write.
    lab.must("mount -t tmpfs -o size=80m,mode=755 none /var/lib && fallocate -l 72m /var/lib/fill");
    unfit(&["/var/lib has 8.0 MiB free, and 64.0 MiB are needed"]);
    lab.must("umount /var/lib && mount --bind /etc /etc && mount -o remount,bind,ro /etc");
    unfit(&["/etc cannot be written: mount it read-write"]);
    lab.must("umount /etc");
    // A year ahead.
    lab.must("mv /usr/bin/date /usr/bin/date.real && printf '#!/bin/sh\\necho $(($(/usr/bin/date.real +%%s) + 31539600))\\n' >/usr/bin/date && chmod 755 /usr/bin/date");
    unfit(&["its clock is 365 days ahead of this one"]);
    lab.must("mv /usr/bin/date.real /usr/bin/date");
    lab.must("echo 'PermitRootLogin no' >/etc/ssh/sshd_config.d/00-no.conf");
    unfit(&["lets nobody in as root"]);
}

#[test]
fn what_fails_in_the_middle_is_undone_to_the_first_step() {
    let Some(lab) = Lab::new() else { return };
    lab.must(SUDO);
    let agent = lab.at("agent");
    // What SELinux does to a program in a place it does not know.
    lab.must("mkdir /usr/local/lib/holdfast && mount -t tmpfs -o noexec,size=200m,mode=755 none /usr/local/lib/holdfast");
    lab.refused(
        &agent,
        &["--yes"],
        3,
        &["HF-ENR-014", "does not run there", "What was done is undone: the program there, the keys here."],
    );
    lab.must("umount /usr/local/lib/holdfast && rmdir /usr/local/lib/holdfast");
    // A disk that is full although it has room, since nothing more has a name on it: from the first file that cannot be made to the last.
    for inodes in 2..=rounds(5, 12) {
        lab.must(&format!("mount -t tmpfs -o size=200m,nr_inodes={inodes},mode=755 none /var/lib"));
        lab.refused(
            &agent,
            &["--yes"],
            3,
            &["HF-ENR-014", "No space left on device", "What was done is undone:"],
        );
        lab.must("umount /var/lib");
    }
    // The manager does not know the unit after all; a user of that name is there; root's keys cannot be written.
    lab.must("mv /usr/sbin/useradd /usr/sbin/useradd.real && printf '#!/bin/sh\\necho useradd: no >&2; exit 1\\n' >/usr/sbin/useradd && chmod 755 /usr/sbin/useradd");
    lab.refused(
        &agent,
        &["--yes"],
        3,
        &["HF-ENR-014", "useradd: no; what was done before is undone", "What was done is undone:"],
    );
    lab.must("mv /usr/sbin/useradd.real /usr/sbin/useradd");
    // All was done, and the proofs fail: nothing is measured without a manager. All is undone, the user too.
    lab.refused(
        &agent,
        &["--yes"],
        1,
        &[
            "HF-ENR-016",
            "the lines in root's authorized_keys",
            "the user who looks",
            "the doorman's memory",
            "the keys here",
        ],
    );
}

#[test]
fn a_host_with_nothing_but_ipv6_is_reached() {
    let Some(lab) = Lab::new() else { return };
    // An address of its own on the lab's link, which this machine has one on too; and what it had before goes.
    let old = lab.host().address();
    let network = format!("fd00:7a11:1{:02x}:", old.octets()[2]);
    let (here, there) = (format!("{network}:1"), format!("{network}:10"));
    let link = lab.link();
    ip(&["-6", "addr", "add", &format!("{here}/64"), "dev", &link, "nodad"]);
    lab.must(&format!("ip -6 addr add {there}/64 dev eth0 nodad"));
    lab.add(&format!("root@[{there}]"), &["--dry-run"]).ok().shows("nothing was changed");
    lab.must(&format!("nohup sh -c 'sleep 1; ip addr del {old}/24 dev eth0' >/dev/null 2>&1 </dev/null &"));
    let gone = Instant::now() + Duration::from_secs(30);
    let is_there = || TcpStream::connect_timeout(&(old, 22).into(), Duration::from_millis(300)).is_ok();
    while is_there() {
        assert!(Instant::now() < gone, "it still has {old}");
    }
    let failed = lab.add(&format!("root@{there}"), &["--yes"]).ends(1);
    assert!(
        failed.err.contains("HF-ENR-016") && failed.err.contains("the key for act is let in"),
        "{}",
        failed.err
    );
    assert!(failed.err.contains(&format!("address: \"{there}\"")), "{}", failed.err);
    assert!(failed.err.contains("What was done is undone:"), "{}", failed.err);
    lab.nothing_here();
}

#[test]
fn a_host_behind_a_slow_link_is_looked_at_in_its_own_time() {
    let Some(lab) = Lab::new() else { return };
    let to = (lab.host().address(), 22).into();
    let slow = Link::listening("127.0.0.1:0", to);
    slow.delay(120);
    lab.add("root@127.0.0.1", &["--port", &slow.port().to_string(), "--dry-run"])
        .ok()
        .shows("nothing was changed");
}

/// When a connection is lost.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// No more than so many are made.
    Connections(u64),
    /// So many bytes have gone over.
    Bytes(u64),
    /// This step has begun, as the record says.
    Begun(&'static str),
}

const SLOW_USERADD: &str = r#"mv /usr/sbin/useradd /usr/sbin/useradd.real
printf '#!/bin/sh\nsleep 3\nexec /usr/sbin/useradd.real "$@"\n' >/usr/sbin/useradd && chmod 755 /usr/sbin/useradd"#;

/// Every step that talks to a host, with when it is cut off and what is said of it. The key is asked for over three connections, one for each
/// kind; the person's is the fourth, and every one after it is of the keys that are proved.
const STEPS: [(Cut, &str); 8] = [
    (Cut::Connections(0), "nothing speaks SSH at"),
    (Cut::Connections(3), "was lost while it is looked at"),
    (Cut::Bytes(6_000), "was lost while it is looked at"),
    (Cut::Begun("keys"), "was lost while the program is put there"),
    (Cut::Begun("program"), "was lost while the program is put there"),
    (Cut::Connections(4), "the key for observe is not let in"),
    (Cut::Connections(5), "the key for act is not let in"),
    (Cut::Begun("arrival"), "was lost while the doorman is taken in"),
];

impl Lab {
    /// Takes the host in over a link that is cut there, and gives what was said.
    fn add_cut(&self, link: &Link, cut: Cut) -> Ran {
        match cut {
            Cut::Connections(count) => link.admit(count),
            Cut::Bytes(bytes) => link.cut_after(bytes),
            // A step that is over in a moment could not be cut off in time.
            Cut::Begun("arrival") => drop(self.must(SLOW_USERADD)),
            Cut::Begun(_) => link.delay(2),
        }
        let port = link.port().to_string();
        let add =
            ["target", "add", "root@127.0.0.1", "--port", &port, "--name", "box-1", "--unit", "web.service"];
        let more = ["--yes", "--identity", &self.identity, "--doorman", &self.doorman];
        let mut command = self.home.command(&[&add[..], &more].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        if let Cut::Begun(step) = cut {
            let record = self.home.path().join("state/steward/box-1/enrolment.json");
            let begun = format!("\"{step}\"");
            while !std::fs::read_to_string(&record).is_ok_and(|text| text.contains(&begun)) {
                assert!(child.try_wait().unwrap().is_none(), "it was over before {step} began");
                std::thread::sleep(Duration::from_millis(1));
            }
            link.cut();
        }
        Ran::of(child.wait_with_output().unwrap(), format!("target add, {cut:?}"))
    }
}

#[test]
fn a_connection_that_is_lost_in_any_step_leaves_what_target_remove_takes_away() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.files();
    for (cut, said) in STEPS {
        let link = Link::listening("127.0.0.1:0", (lab.host().address(), 22).into());
        let ran = lab.add_cut(&link, cut);
        assert!([1, 3].contains(&ran.code), "{cut:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{cut:?}: no {said:?} in\n{}", ran.err);
        assert!(ran.err.contains("untouched: ") && ran.err.contains("next: "), "{cut:?}: {}", ran.err);
        link.heal();
        link.delay(0);
        if ran.err.contains("Not undone") {
            let remedy = "`holdfast target remove box-1` takes the rest away";
            assert!(ran.err.contains(remedy), "{cut:?}: {}", ran.err);
            lab.removed_although_cut(&link);
        }
        let after = lab.files();
        let differing: Vec<_> = before.symmetric_difference(&after).collect();
        assert!(differing.is_empty(), "{cut:?}: {differing:#?}\n{}", ran.err);
        lab.nothing_here();
    }
}

impl Lab {
    /// Letting go may find nobody too, as often as it likes.
    fn removed_although_cut(&self, link: &Link) {
        let remove = ["target", "remove", "box-1", "--yes", "--identity", &self.identity];
        link.admit(0);
        let cut = self.home.run(&remove).ends(3);
        assert!(cut.err.contains("HF-ENR-018") && cut.err.contains("next: "), "{}", cut.err);
        link.heal();
        self.home.run(&remove).ok();
    }
}

/// The person's own ssh with another file of configuration: it reads the one of the account, wherever its home is said to be.
fn configured(lab: &Lab, config: &str) -> String {
    let folder = lab.folder.path().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config"), config).unwrap();
    let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", folder.join("config").display());
    std::fs::write(folder.join("ssh"), script).unwrap();
    std::fs::set_permissions(folder.join("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", folder.display())
}

#[test]
fn a_host_behind_another_is_taken_in_through_it_and_the_steward_goes_straight() {
    let Some(lab) = Lab::with(2) else { return };
    let (host, between) = (lab.hosts[0].address(), lab.hosts[1].address());
    let known = lab.folder.path().join("known");
    // The person knows the one between, and does not know where the other is.
    std::fs::copy(lab.hosts.known_hosts(), &known).unwrap();
    let path = configured(
        &lab,
        &format!(
            "Host between\n  HostName {between}\n  User root\n  IdentityFile {key}\n  UserKnownHostsFile {known}\nHost box\n  HostName {host}\n  ProxyJump between\n",
            key = lab.identity,
            known = known.display(),
        ),
    );
    let add = |more: &[&str]| {
        let args = ["target", "add", "root@box", "--unit", "web.service", "--identity", &lab.identity];
        let args = [&args[..], &["--doorman", &lab.doorman], more].concat();
        let mut command = lab.home.command(&args);
        command.env("PATH", &path);
        home::run(command, None)
    };
    // The steward could not follow.
    let refused = add(&["--yes"]).ends(4).says("HF-ENR-021");
    assert!(
        refused.err.contains("box is reached through between") && refused.err.contains("--address"),
        "{}",
        refused.err
    );
    lab.nothing_here();
    let straight = host.to_string();
    add(&["--address", &straight, "--dry-run"]).ok().shows("nothing was changed");
    // All goes through the other, and what is proved goes straight. Without a systemd the last proofs fail, and all is undone.
    let before = lab.files();
    let through = lab.hosts[1].log().matches("Accepted publickey").count();
    let failed = add(&["--address", &straight, "--yes"]).ends(1).says("HF-ENR-016");
    assert!(failed.err.contains("the key for rescue is let in"), "{}", failed.err);
    assert!(
        failed.err.contains(&format!("name: box, driver: systemd, address: \"{straight}\"")),
        "{}",
        failed.err
    );
    assert_eq!(
        lab.hosts[1].log().matches("Accepted publickey").count(),
        through + 1,
        "one connection through it"
    );
    assert!(before.symmetric_difference(&lab.files()).next().is_none());
    lab.nothing_here();
}

#[test]
fn a_person_who_leaves_half_way_finds_everything_as_it_was() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.files();
    // The program goes over for a while.
    let link = Link::listening("127.0.0.1:0", (lab.host().address(), 22).into());
    let port = link.port().to_string();
    let add = [
        "target",
        "add",
        "root@127.0.0.1",
        "--port",
        &port,
        "--name",
        "box-1",
        "--unit",
        "web.service",
        "--yes",
    ];
    let args = [&add[..], &["--identity", &lab.identity, "--doorman", &lab.doorman]].concat();
    let mut command = lab.home.command(&args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begun = lab.home.path().join("state/steward/box-1/act.pub");
    let until = Instant::now() + Duration::from_secs(30);
    while !begun.exists() && Instant::now() < until {
        link.delay(u64::from(begun.with_file_name("enrolment.json").exists()) * 20);
        std::thread::sleep(Duration::from_millis(2));
    }
    let process = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    link.delay(0);
    let ran = Ran::of(child.wait_with_output().unwrap(), "target add".to_owned()).ends(3);
    assert!(ran.err.contains("HF-ENR-020") && ran.err.contains("What was done is undone: "), "{}", ran.err);
    let after = lab.files();
    let differing: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(differing.is_empty(), "{differing:#?}\n{}", ran.err);
    lab.nothing_here();
}
