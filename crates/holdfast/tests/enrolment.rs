//! A real host taken in, guarded, checked and let go: through an ordinary account with sudo, and it is as it was found.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "enrolment/hosts.rs"]
mod hosts;
#[path = "enrolment/link.rs"]
mod link;
#[path = "daemon/running.rs"]
mod running;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_testkit::{Guest, lab, rounds};
use home::{Home, Ran};
use hosts::{SUDO, doorman, program};
use link::Link;
use running::{Looking as _, Running, wait_until};
use serde_json::{Value, json};

/// A guest with a workload that answers here too, an account that may become root, and an sshd that reads people's own keys.
struct Machine {
    guest: Guest,
    folder: tempfile::TempDir,
    web: Link,
}

/// A page, at the port of its own number and at the one of the lab's that is forwarded, with what the small Python of the lab has.
const ANSWERS: &str = "import selectors, socket, sys
s = selectors.DefaultSelector()
for port in (2222, int(sys.argv[1])):
    s.register(socket.create_server(('', port)), selectors.EVENT_READ)
while True:
    for key, _ in s.select():
        with key.fileobj.accept()[0] as c:
            c.recv(4096)
            c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\nwell')
";
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
        let web = Link::listening("127.0.0.1:0", SocketAddr::from(([127, 0, 0, 1], guest.second_port())));
        let machine = Machine { guest, folder: tempfile::tempdir().unwrap(), web };
        machine.write("/usr/local/lib/web.py", ANSWERS);
        let service = format!(
            "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py {}\n[Install]\nWantedBy=multi-user.target\n",
            machine.web.port()
        );
        machine.write("/etc/systemd/system/web.service", &service);
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
    let differing = differing(before, after);
    assert!(differing.is_empty(), "{differing:#?}");
}

/// The paths of which anything is another.
fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

/// All that taking a host in makes or changes there; below the last two folders whatever the doorman keeps.
const MADE: [&str; 10] = [
    "etc/group",
    "etc/gshadow",
    "etc/holdfast-doorman",
    "etc/holdfast-doorman/settings.json",
    "etc/passwd",
    "etc/shadow",
    "root/.ssh/authorized_keys",
    "usr/local/lib/holdfast",
    "usr/local/lib/holdfast/holdfast-doorman",
    "var/lib/holdfast-doorman",
];
const BELOW: [&str; 2] = ["var/lib/holdfast-doorman/", "var/lib/holdfast-observer"];

/// Somebody who takes connections and has nothing to do with the host.
fn a_reference() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// The real guard, until it is ended.
struct Guard(Child);

impl Guard {
    fn with(settings: &PathBuf) -> Guard {
        let mut guard = Command::new(program("holdfast-tripwire"));
        guard.arg("run").arg(settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Guard(guard.spawn().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bad(findings: &Value) -> Vec<String> {
    let found = findings["findings"].as_array().unwrap().iter();
    found.filter(|it| it["verdict"] == "bad").map(|it| it["what"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn says(found: &Value, verdict: &str, what: &str) {
    let all = found["findings"].as_array().unwrap();
    let is_said =
        all.iter().any(|it| it["verdict"] == verdict && it["what"].as_str().unwrap().contains(what));
    assert!(is_said, "no {verdict} {what:?} in {all:#?}");
}

#[test]
fn a_host_is_taken_in_through_sudo_guarded_checked_and_left_as_it_was_found() {
    whole("trixie");
    if rounds(0, 1) == 1 {
        whole("bookworm");
    }
}

/// What is used of a home and a machine by every part below.
struct Scene<'a> {
    machine: &'a Machine,
    home: Home,
    identity: String,
}

impl Scene<'_> {
    fn run(&self, args: &[&str]) -> Ran {
        self.home.run(args)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn config(&self) -> Option<String> {
        std::fs::read_to_string(self.place("etc/config.yaml")).ok()
    }

    fn checked(&self) -> Value {
        self.run(&["--json", "target", "check", "box-1"]).json()
    }
}

/// How far it is, for whoever reads a failure.
fn at(began: Instant, what: &str) {
    eprintln!("{:6.1?} {what}", began.elapsed());
}

fn whole(release: &str) {
    let began = Instant::now();
    let Some(machine) = Machine::new(release) else { return };
    at(began, "the machine is there");
    let scene = Scene { machine: &machine, home: Home::made("enrol"), identity: machine.identity() };
    let config = scene.config();
    let before = machine.files();
    is_taken_in(&scene, &before);
    at(began, "taken in");
    is_guarded(&scene);
    at(began, "guarded");
    does_not_do_what_it_has_to(&scene);
    at(began, "checked");
    let kept = scene.machine.folder.path().join("kept");
    let copied = Command::new("cp").arg("-a").arg(scene.place("state/steward")).arg(&kept).status().unwrap();
    assert!(copied.success());
    is_let_go(&scene, &before, config);
    at(began, "let go");
    is_forgotten(&scene, &kept);
}

// shows: STW-013
fn is_taken_in(scene: &Scene<'_>, before: &BTreeMap<String, String>) {
    let machine = scene.machine;
    let (port, doorman) = (machine.guest.port().to_string(), doorman(machine.folder.path()));
    let endpoint = format!("http://127.0.0.1:{}/", machine.web.port());
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
        &endpoint,
        "--identity",
        &scene.identity,
        "--doorman",
        &doorman,
    ];
    // Looking changes nothing, and without --yes nothing is done.
    scene.run(&[&add[..], &["--dry-run"]].concat()).ok().shows("nothing was changed");
    let wanted = scene.run(&add).ends(2);
    assert!(wanted.err.contains("HF-ENR-003"), "{}", wanted.err);
    assert!(!scene.place("state/steward").exists());
    let added = scene.run(&[&add[..], &["--yes"]].concat()).ok();
    assert!(added.out.contains("box-1 is taken in, at the level observe"), "{}", added.out);
    assert!(added.out.contains("nobody guards it yet, so nothing is ever tried there"), "{}", added.out);
    for said in [
        "the key for rescue is refused what is not its own",
        "a change of web.service would fit",
        "the way back is open",
    ] {
        assert!(added.err.contains(said), "{said}: {}", added.err);
    }
    let keys = machine.must(&["cat", "/root/.ssh/authorized_keys"]);
    assert!(keys.starts_with("# mine\nssh-ed25519 AAAA nobody\ncommand=\"/usr/local/lib/holdfast/holdfast-doorman act\",restrict "), "{keys}");
    // Exactly what the plan says was made there, and nothing else.
    let made: Vec<String> = differing(before, &machine.files())
        .into_iter()
        .filter(|path| !BELOW.iter().any(|folder| path.starts_with(folder)))
        .collect();
    assert_eq!(made, MADE);
    assert_eq!(scene.home.json(&["config", "show", "--changed"])["settings"][0]["key"], "steward.targets");
    // It is looked after: nothing of it can be taken in twice, here or from elsewhere.
    scene.run(&add).ends(2).says("HF-ENR-010");
    is_in_the_inventory(scene);
}

/// What was found there is in the journal and is shown; no key is.
fn is_in_the_inventory(scene: &Scene<'_>) {
    let entries = scene.home.bodies("holdfast.target.taken_in");
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    let inventory = &entry["inventory"];
    assert!(inventory["os"].as_str().unwrap().starts_with("Debian"), "{entry}");
    assert_eq!((&inventory["pressure"], &entry["units"][0]), (&true.into(), &"web.service".into()));
    let web =
        inventory["services"].as_array().unwrap().iter().find(|it| it["unit"] == "web.service").unwrap();
    let ports = web["ports"].as_array().unwrap();
    assert!(ports.contains(&scene.machine.web.port().into()), "{web}");
    assert!(inventory["tools"].as_array().unwrap().contains(&"python3".into()), "{entry}");
    assert_eq!(inventory["reached_by"][0], "ssh.service");
    assert!(!entry.to_string().contains("PRIVATE"), "{entry}");
    let shown = scene.home.json(&["target", "show", "box-1"]);
    assert_eq!(shown["targets"][0]["inventory"], *inventory);
    scene.run(&["target", "show"]).ok().shows("web.service (port ").shows("nobody guards it");
}

/// Another host at the second address, nobody who answers, and then everything.
// shows: STW-319, STW-401
fn is_guarded(scene: &Scene<'_>) {
    let machine = scene.machine;
    let ssh = SocketAddr::from(([127, 0, 0, 1], machine.guest.port()));
    let second = Link::listening("127.0.0.1:0", ssh);
    let (listener, reference) = a_reference();
    let route = format!("127.0.0.1:{}", second.port());
    let guard = |second: &str, more: &[&str]| {
        let args = ["target", "guard", "box-1", "--second", second, "--reference", &reference];
        scene.run(&[&args[..], more].concat())
    };
    let config = scene.config();
    let unguarded = || {
        assert!(scene.place("state/steward/box-1/rescue").exists());
        assert!(!scene.place("etc/tripwire").exists());
        assert_eq!(scene.config(), config);
    };
    scene.run(&["target", "guard", "box-1", "--yes"]).ends(2).says("HF-ENR-024");
    guard(&route, &[]).ends(2).says("HF-ENR-012");
    guard(&route, &["--dry-run"]).ok().shows("nothing was changed");
    let Some(others) = lab::hosts("trixie", 1) else { return };
    let other = others[0].address().to_string();
    guard(&other, &["--yes"]).ends(4).says("HF-ENR-002");
    unguarded();
    // Nobody answers who has nothing to do with it: whose network is down could not be told.
    drop(listener);
    if rounds(0, 1) == 1 {
        let refused = guard(&route, &["--yes"]).ends(1).says("HF-ENR-025");
        assert!(refused.err.contains("the references would not work: none answers"), "{}", refused.err);
        assert!(refused.err.contains("What was done is undone: its guard."), "{}", refused.err);
        unguarded();
    }
    let (_listener, reference) = a_reference();
    let args = ["target", "guard", "box-1", "--second", &route, "--reference", &reference, "--yes"];
    let guarded = scene.run(&args).ok();
    for way in ["the first route would work", "the second route would work", "the references answer"] {
        assert!(guarded.err.contains(way), "{way}: {}", guarded.err);
    }
    let settings = scene.place("etc/tripwire/tripwire.json");
    assert!(
        guarded.out.contains(&format!("holdfast-tripwire run {}", settings.display())),
        "{}",
        guarded.out
    );
    // The key has moved, and is its owner's alone.
    assert!(!scene.place("state/steward/box-1/rescue").exists());
    let key = scene.place("etc/tripwire/box-1/rescue");
    assert_eq!(std::fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
    assert_eq!(scene.home.bodies("holdfast.target.guarded")[0]["ways"][1], "second route");
    scene.run(&args).ends(2).says("HF-ENR-023");
    scene.run(&["config", "check"]).ok();
    scene.run(&["target", "show", "box-1"]).ok().shows("is guarded");
    is_well_with_its_guard(scene, &settings);
    another_key_is_talked_to_by_nobody(scene, &settings);
}

fn is_well_with_its_guard(scene: &Scene<'_>, settings: &PathBuf) {
    let _guard = Guard::with(settings);
    let heart = scene.place("run/tripwire/box-1.heart.json");
    wait_until("both routes were rehearsed", || {
        let heart: Value =
            serde_json::from_slice(&std::fs::read(&heart).unwrap_or_default()).unwrap_or_default();
        heart["rehearsed"]["second route"].is_string()
    });
    let found = scene.checked();
    assert_eq!(bad(&found), Vec::<String>::new(), "{found:#?}");
    says(&found, "good", "its guard lives, and has tried the first route and the second route");
    assert!(found["inventory"]["systemd"].as_u64().unwrap() >= 252, "{found}");
}

/// Whoever provides the machine, and people's webhook: over HTTP, they say yes. Gives what was asked, first line and body.
fn a_peer() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let into = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut text, mut piece) = (Vec::new(), [0; 4096]);
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // Head and body may come apart; the head says how long the body is.
            while !is_whole(&text) {
                match stream.read(&mut piece) {
                    Ok(read @ 1..) => text.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            into.lock().unwrap().push(String::from_utf8_lossy(&text).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        }
    });
    (address, asked)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

/// What is pinned counts for every address: a host that shows another key is asked nothing over either route, people are told, and whoever
/// provides the machine could still start it again.
fn another_key_is_talked_to_by_nobody(scene: &Scene<'_>, settings: &PathBuf) {
    let pinned = settings.with_file_name("box-1").join("known_hosts");
    let (known, told) =
        (std::fs::read_to_string(&pinned).unwrap(), std::fs::read_to_string(settings).unwrap());
    let other = scene.machine.folder.path().join("other");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&other).status();
    assert!(made.unwrap().success());
    let line = std::fs::read_to_string(other.with_extension("pub")).unwrap();
    let line: Vec<&str> = line.split(' ').take(2).collect();
    std::fs::write(&pinned, format!("box-1 {}\n", line.join(" "))).unwrap();
    let (peer, asked) = a_peer();
    let webhook = scene.machine.folder.path().join("webhook");
    std::fs::write(&webhook, format!("http://{peer}/told")).unwrap();
    let call = |path: &str| json!({"url": format!("http://{peer}/{path}")});
    let mut with: Value = serde_json::from_str(&told).unwrap();
    with["webhook"] = json!(webhook);
    with["targets"][0]["provider"] =
        json!({"http": {"reboot": call("reboot"), "reset": call("reset"), "check": call("check")}});
    std::fs::write(settings, with.to_string()).unwrap();
    let guard = Guard::with(settings);
    let heart = scene.place("run/tripwire/box-1.heart.json");
    wait_until("every way was tried, and the provider's alone works", || {
        let heart: Value =
            serde_json::from_slice(&std::fs::read(&heart).unwrap_or_default()).unwrap_or_default();
        let is_another =
            |way: &str| heart["failing"][way].as_str().is_some_and(|why| why.contains("another host key"));
        is_another("first route")
            && is_another("second route")
            && heart["failing"]["provider"].is_null()
            && heart["rehearsed"]["provider"].is_string()
    });
    wait_until("people were told of both", || {
        asked.lock().unwrap().iter().filter(|it| it.contains("rehearsal_failed")).count() >= 2
    });
    drop(guard);
    let asked = asked.lock().unwrap();
    assert!(asked.iter().any(|it| it.starts_with("POST /check")), "{asked:?}");
    assert!(!asked.iter().any(|it| it.starts_with("POST /re")), "nothing was to be done: {asked:?}");
    std::fs::write(&pinned, known).unwrap();
    std::fs::write(settings, told).unwrap();
}

/// The service and its unit are gone and another runs, the system is another, the kernel measures no pressure, the disk is full, and it is
/// a year later; and all of it back.
const SPOIL: &str = r#"set -e
systemctl stop web.service
mv /etc/systemd/system/web.service /root/web.service
systemctl daemon-reload
systemd-run --quiet --unit=other sleep 600
mv /etc/os-release /root/os-release && echo 'PRETTY_NAME="Other 99"' >/etc/os-release
mkdir /run/nothing && mount --bind /run/nothing /proc/pressure
set -- $(df -Pk /var/lib | tail -n 1) && fallocate -l $(($4 - 8192))K /var/lib/fill
date -s @$(($(date +%s) + 31536000))"#;
const MEND: &str = r#"set -e
date -s @$(($(date +%s) - 31536000))
rm /var/lib/fill
umount /proc/pressure && rmdir /run/nothing
mv -f /root/os-release /etc/os-release
systemctl stop other.service
mv /root/web.service /etc/systemd/system/web.service
systemctl daemon-reload
systemctl start web.service"#;

/// Everything that can go wrong with a host later, at once: each is told.
fn does_not_do_what_it_has_to(scene: &Scene<'_>) {
    let machine = scene.machine;
    // The guard is gone with a boot of this machine.
    std::fs::remove_dir_all(scene.place("run/tripwire")).unwrap();
    let port = machine.web.port().to_string();
    machine.must(&["sh", "-c", SPOIL]);
    let found = scene.checked();
    machine.must(&["sh", "-c", MEND]);
    says(&found, "bad", "its guard does not run: holdfast-tripwire run ");
    says(&found, "bad", "there is no unit web.service");
    says(&found, "bad", "web.service does not run, and did when it was taken in");
    says(&found, "bad", &format!("nothing listens at port {port}, where the endpoint is"));
    says(&found, "bad", &format!("http://127.0.0.1:{port}/ does not answer"));
    says(&found, "noted", "running since: other.service");
    says(&found, "noted", "its system is Other 99, and was Debian");
    says(&found, "bad", "the kernel does not measure pressure");
    says(&found, "bad", "/var/lib has ");
    says(&found, "bad", " days ahead of this one");
}

fn is_let_go(scene: &Scene<'_>, before: &BTreeMap<String, String>, config: Option<String>) {
    let machine = scene.machine;
    // What was kept there goes too.
    machine.must(&["mkdir", "/etc/systemd/system/web.service.d"]);
    machine.write("/etc/systemd/system/web.service.d/50-holdfast-MemoryHigh.conf", KEPT);
    let remove = ["target", "remove", "box-1", "--identity", &scene.identity];
    scene.run(&remove).ends(2).says("HF-ENR-012");
    scene.run(&[&remove[..], &["--yes"]].concat()).ok().shows("is as it was found");
    same(before, &machine.files());
    assert_eq!(scene.config(), config);
    for gone in ["state/steward", "etc/tripwire", "state/windows"] {
        assert!(!scene.place(gone).exists(), "{gone}");
    }
    let entries = scene.home.bodies("holdfast.target.let_go");
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((&entry["forgotten"], &entry["remains"]), (&false.into(), &Value::Array(Vec::new())));
    assert!(entry["undone"].as_array().unwrap().contains(&"its guard".into()), "{entry}");
    scene.run(&["target", "check", "box-1"]).ends(1).says("HF-ENR-017");
}

/// The host is gone for good; a daemon writes it down.
fn is_forgotten(scene: &Scene<'_>, kept: &PathBuf) {
    assert!(Command::new("mv").arg(kept).arg(scene.place("state/steward")).status().unwrap().success());
    let daemon = Running::on(&scene.home);
    let forgotten = scene.run(&["--json", "target", "remove", "box-1", "--forget", "--yes"]).ok().json();
    assert_eq!(forgotten["remains"].as_array().unwrap().len(), 2, "{forgotten}");
    let entries = scene.home.bodies("holdfast.target.let_go");
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["forgotten"], true);
    assert!(forgotten["recorded_as"].is_u64(), "{forgotten}");
    assert!(!scene.place("state/steward/box-1").exists());
    daemon.terminated();
}
