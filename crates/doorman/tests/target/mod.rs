//! A real machine with the doorman behind three keys of its sshd.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_doorman::{Place, authorized_line};
use holdfast_steward::effect::TargetState;
use holdfast_steward_host::Way;
use holdfast_testkit::{Guest, lab};
use serde_json::json;

/// A service that holds memory, and is given less without pressure.
pub fn service(high: u64) -> String {
    format!(
        "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py\nMemoryHigh={high}M\nRestart=always\nRestartSec=1\n\
         [Install]\nWantedBy=multi-user.target\n"
    )
}

pub fn program(held: u64) -> String {
    format!(
        "import time\nheld = bytearray({held} << 20)\nwhile True:\n    for at in range(0, len(held), 4096):\n        held[at] = 1\n    \
         time.sleep(0.05)\n"
    )
}

/// A reload runs every generator anew, for hardware and shares that an emulated machine does not have. Without them it takes a fraction.
const WITHOUT_GENERATORS: &str = "mkdir -p /etc/systemd/system-generators && cd /usr/lib/systemd/system-generators && \
    for name in *; do ln -s /dev/null \"/etc/systemd/system-generators/$name\"; done";

/// Where a guest sees this machine.
pub const HERE: &str = "10.0.2.2";

pub struct Target {
    pub guest: Guest,
    keys: tempfile::TempDir,
    units: Vec<String>,
}

impl Target {
    /// A service that holds so much memory and is throttled at so much, in MiB.
    pub fn enrolled(held: u64, high: u64) -> Option<Target> {
        Target::of("bookworm", &program(held), &service(high))
    }

    /// A machine of this release with a service `web` that runs this program of Python's.
    pub fn of(release: &str, program: &str, service: &str) -> Option<Target> {
        Target::with(release, &[("web", program, service)])
    }

    /// The same with several services: a name, a program and a unit file each.
    pub fn with(release: &str, services: &[(&str, &str, &str)]) -> Option<Target> {
        let guest = lab::guest(release)?;
        let units = services.iter().map(|(name, ..)| format!("{name}.service")).collect();
        let target = Target { guest, keys: tempfile::tempdir().unwrap(), units };
        let doorman = lab::stripped(doorman(), target.keys.path());
        target.guest.put(doorman, Place::default().program.to_str().unwrap()).unwrap();
        target.must(&["sh", "-c", WITHOUT_GENERATORS]);
        for (name, program, service) in services {
            target.write(&format!("/usr/local/lib/{name}.py"), program);
            target.write(&format!("/etc/systemd/system/{name}.service"), service);
        }
        target.must(&["systemctl", "daemon-reload"]);
        for unit in &target.units {
            target.must(&["systemctl", "enable", "--now", "--quiet", unit]);
        }
        let settings = json!({"units": target.units, "ssh": "ssh.service", "vpn": null, "firewall": null});
        target.must(&[Place::default().program.to_str().unwrap(), "enrol", &settings.to_string()]);
        target.must(&["usermod", "-aG", "systemd-journal", "agent"]);
        for role in Role::ALL {
            target.authorize(role);
        }
        // Beside the lab's own key, those of each user, as on any machine. The product's own ssh would agree on a secret in a way that
        // takes an emulated processor most of a second.
        let keys = "AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\nAcceptEnv *\nKexAlgorithms curve25519-sha256\n";
        target.write("/etc/ssh/sshd_config.d/00-keys.conf", keys);
        target.must(&["systemctl", "reload", "ssh.service"]);
        for role in Role::ALL {
            wait_until("sshd is back", Duration::from_secs(30), || {
                target.say(role, "ping", b"").status.success()
            });
        }
        // A machine whose power goes now has all of it afterwards.
        target.must(&["sync"]);
        Some(target)
    }

    fn authorize(&self, role: Role) {
        let key = self.key(role);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
            .arg(&key)
            .status();
        assert!(made.unwrap().success());
        let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        let line = authorized_line(&Place::default(), role, &public, &[HERE.parse().unwrap()]).unwrap();
        let (file, owner) = match user(role) {
            "root" => ("/root/.ssh/authorized_keys", "root"),
            other => ("/home/agent/.ssh/authorized_keys", other),
        };
        let append = r#"mkdir -p "${1%/*}" && printf '%s\n' "$2" >>"$1" && chown -R "$3" "${1%/*}" && chmod 700 "${1%/*}" && chmod 600 "$1""#;
        self.must(&["sh", "-c", append, "append", file, &line, owner]);
    }

    /// How a controller reaches it.
    pub fn way(&self) -> Way {
        let sockets = self.keys.path().join("sockets");
        std::fs::create_dir_all(&sockets).unwrap();
        Way {
            address: "127.0.0.1".to_owned(),
            port: self.guest.port(),
            alias: "guest".to_owned(),
            known_hosts: self.guest.known_hosts(),
            keys: self.keys.path().to_owned(),
            observer: user(Role::Observe).to_owned(),
            actor: user(Role::Act).to_owned(),
            sockets,
        }
    }

    fn key(&self, role: Role) -> PathBuf {
        self.keys.path().join(role.as_str())
    }

    /// ssh with the key of this role; what is added is its command. Many go over one connection, but not those with options.
    pub fn ssh(&self, role: Role, options: &[&str]) -> Command {
        let mut command = lab::ssh(&self.guest.known_hosts(), &self.key(role));
        command.args(["-o", "HostKeyAlias=guest", "-o", "ConnectTimeout=30"]);
        if options.is_empty() {
            command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=30"]);
            command.arg("-o").arg(format!("ControlPath={}/m-%C-{role}", self.keys.path().display()));
        }
        command.args(["-p", &self.guest.port().to_string(), "-l", user(role)]);
        command.args(options).arg("127.0.0.1");
        command
    }

    /// Says these bytes as the command, with these as input.
    pub fn say(&self, role: Role, words: &str, input: &[u8]) -> Output {
        let mut ssh = self.ssh(role, &[]);
        ssh.args(["--", words]);
        run(ssh, input)
    }

    #[track_caller]
    pub fn ask(&self, role: Role, ask: &Ask) -> Reply {
        let output = self.say(role, ask.word().as_str(), &serde_json::to_vec(ask).unwrap());
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(text.trim())
            .unwrap_or_else(|e| panic!("{ask:?}: {e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    #[track_caller]
    pub fn state(&self) -> TargetState {
        match self
            .ask(Role::Act, &Ask::State { full: true, renew: None, about: Some("ep_1".parse().unwrap()) })
        {
            Reply::State(state) => *state,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub fn must(&self, argv: &[&str]) -> String {
        let output = self.guest.run(argv);
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn write(&self, path: &str, text: &str) {
        self.must(&["sh", "-c", r#"printf '%s' "$2" >"$1""#, "write", path, text]);
    }

    /// A limit as the kernel has it; without its controller there is none.
    pub fn limit(&self, file: &str) -> String {
        self.limit_of("web.service", file)
    }

    pub fn limit_of(&self, unit: &str, file: &str) -> String {
        let path = format!("/sys/fs/cgroup/system.slice/{unit}/{file}");
        self.must(&["sh", "-c", r#"cat "$1" 2>/dev/null || echo none"#, "limit", &path]).trim().to_owned()
    }

    /// Everything that must be as it was: people's files, what the manager has at run time, the limits. Not the scopes of logins.
    pub fn everything(&self) -> BTreeSet<String> {
        let files = "cd / && find etc run/systemd/system run/systemd/system.control run/systemd/transient -type f ! -path 'etc/.*' 2>/dev/null \
            | grep -v '^run/systemd/transient/\\(holdfast-\\|session-\\)' | LC_ALL=C sort | xargs -d '\\n' sha256sum";
        let limits: String = self
            .units
            .iter()
            .flat_map(|unit| ["memory.max", "memory.high", "cpu.max"].map(|file| (unit, file)))
            .map(|(unit, file)| format!("{unit} {file}={}\n", self.limit_of(unit, file)))
            .collect();
        (self.must(&["sh", "-c", files]) + &limits).lines().map(str::to_owned).collect()
    }

    /// Says only what differs, which is short.
    #[track_caller]
    pub fn is_as(&self, before: &BTreeSet<String>, when: &str) {
        let now = self.everything();
        let differing: Vec<&String> = before.symmetric_difference(&now).collect();
        assert!(differing.is_empty(), "{when}: {differing:#?}");
    }
}

pub fn run(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _closed = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The program. Tests of other crates find it beside their own: one build makes both.
fn doorman() -> PathBuf {
    let beside = || {
        let test = std::env::current_exe().unwrap();
        test.parent().and_then(|deps| deps.parent()).unwrap().join("holdfast-doorman")
    };
    option_env!("CARGO_BIN_EXE_holdfast-doorman").map_or_else(beside, PathBuf::from)
}

fn user(role: Role) -> &'static str {
    if role == Role::Observe { "agent" } else { "root" }
}

#[track_caller]
pub fn wait_until(what: &str, within: Duration, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    while !is() {
        assert!(Instant::now() < until, "it did not come to that: {what}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

impl Target {
    /// Ends the connections, as a network that forgets them would.
    pub fn hang_up(&self) {
        for role in Role::ALL {
            let mut ssh = self.ssh(role, &[]);
            ssh.args(["-O", "exit"]);
            let _none_was_open = run(ssh, b"");
        }
    }
}
