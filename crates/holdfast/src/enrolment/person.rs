//! The person's own ssh: their configuration, their agent, their account. It is used while a host is taken in or let go, and never after.
//!
//! Every call is one program run by its argument list, over one connection; it has a limit in time and in output. What it runs
//! there are fixed words of ours. The host's key is the one that was pinned.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use holdfast_line::shown;
use sha2::{Digest as _, Sha256};

use super::warrant::Place;
use super::{Fault, interrupt};

const SAID_MAX: u64 = 4 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(5);
const CONNECT_WITHIN: &str = "20";
/// Every kind of key that a host may show.
const KINDS: &str = "ed25519,ecdsa,rsa";
const SCAN_WITHIN: Duration = Duration::from_secs(45);
const RESOLVE_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const HANG_UP_WITHIN: Duration = Duration::from_secs(5);

/// Who is to be taken in, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: String,
    pub(crate) host: String,
}

impl std::str::FromStr for Account {
    type Err = String;

    fn from_str(text: &str) -> Result<Account, String> {
        let (user, host) = text.rsplit_once('@').ok_or("it is USER@HOST, as ssh takes it")?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let plain = |text: &str, more: &[u8]| {
            (1..=253).contains(&text.len())
                && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b))
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
        };
        if !plain(user, b"_.-") {
            return Err("the user is a plain name of letters, digits and . _ -".to_owned());
        }
        if !plain(host, b"_.:-") {
            return Err("the host is a name or an address of letters, digits and . : _ -".to_owned());
        }
        Ok(Account { user: user.to_owned(), host: host.to_owned() })
    }
}

/// A host's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostKey {
    kind: String,
    key: String,
}

impl HostKey {
    /// The one that was pinned, by its line in a file of known hosts.
    pub(crate) fn pinned(text: &str) -> Option<HostKey> {
        text.lines().find_map(key_of)
    }

    /// As `ssh-keyscan` names its kind.
    pub(crate) fn scanned_as(&self) -> &'static str {
        match self.kind.as_str() {
            "ssh-ed25519" => "ed25519",
            "ssh-rsa" => "rsa",
            _ => "ecdsa",
        }
    }

    /// As `ssh-keygen -l` shows it.
    pub(crate) fn fingerprint(&self) -> String {
        let blob = STANDARD.decode(&self.key).unwrap_or_default();
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob)))
    }

    /// Its line in a file of known hosts, under the name of the target.
    pub(crate) fn line(&self, alias: &str) -> String {
        format!("{alias} {} {}\n", self.kind, self.key)
    }
}

/// How a call there ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// What it complained of, short and safe to show.
    pub(crate) fn complaint(&self) -> String {
        let text = if self.err.trim().is_empty() { &self.out } else { &self.err };
        match shown(text) {
            said if said.is_empty() => format!("it ended with {}", self.code),
            said => said,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) account: Account,
    /// Where the steward will go: where the host is by the person's configuration, or where the person says that it is reached straight.
    pub(crate) address: String,
    pub(crate) port: u16,
    /// Where the person's own connection begins: at another host, where it goes through one. Where a program makes it nobody knows.
    begins: Option<Place>,
    /// The port was said, and is not the configuration's.
    named_port: Option<u16>,
    identity: Option<PathBuf>,
    /// Whether somebody is there to be asked for a passphrase.
    is_there: bool,
    alias: String,
    /// The pinned key and the connection; gone with this.
    folder: tempfile::TempDir,
}

impl Person {
    /// Asks ssh where the host is by the person's own configuration. One behind another host needs an address for the steward, whose own
    /// line goes straight.
    pub(crate) fn new(
        account: Account,
        port: Option<u16>,
        straight: Option<String>,
        identity: Option<PathBuf>,
        is_there: bool,
        alias: &str,
    ) -> Result<Person, Fault> {
        let folder =
            tempfile::Builder::new().prefix("hf-").tempdir().map_err(here("a folder for a connection"))?;
        let (address, alias) = (account.host.clone(), alias.to_owned());
        let mut person = Person {
            account,
            begins: None,
            address,
            port: port.unwrap_or(22),
            named_port: port,
            identity,
            is_there,
            alias,
            folder,
        };
        let mut command = holdfast_subprocess::of_the_person("ssh").map_err(here("ssh"))?;
        command.arg("-G").args(port.map(|port| format!("-p{port}")));
        command.args(["-l", &person.account.user, "--", &person.account.host]);
        let said = bounded(command, None, RESOLVE_WITHIN).map_err(here("ssh"))?;
        let field = |name: &str| {
            let lines = said.iter().flat_map(|said| said.out.lines());
            lines
                .filter_map(|line| line.split_once(' '))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let through = |name: &str| field(name).filter(|via| via != "none");
        let (jump, program) = (through("proxyjump"), through("proxycommand"));
        if let (Some(via), None) = (jump.as_ref().or(program.as_ref()), &straight) {
            return Err(Fault::Through { host: person.account.host.clone(), via: shown(via) });
        }
        let (address, port) = (field("hostname"), field("port").and_then(|port| port.parse().ok()));
        let address = address.unwrap_or_else(|| person.account.host.clone());
        person.port = port.unwrap_or(person.port);
        person.begins = match (jump, program) {
            (Some(jump), _) => first_hop(&jump),
            (None, Some(_)) => None,
            (None, None) => Some(Place { host: address.clone(), port: person.port }),
        };
        person.address = straight.unwrap_or(address);
        Ok(person)
    }

    /// The key the host shows where the steward will go.
    pub(crate) fn scan(&self) -> Result<HostKey, Fault> {
        scan(&self.address, self.port, KINDS)
    }

    /// What is called while it is taken in or let go: first where the steward will go, then where the person's connection begins.
    pub(crate) fn calls(&self) -> Vec<Place> {
        let straight = Place { host: self.address.clone(), port: self.port };
        let begins = self.begins.iter().filter(|place| **place != straight).cloned();
        [straight.clone()].into_iter().chain(begins).collect()
    }

    /// From now on only the host with this key is talked to.
    pub(crate) fn pin(&self, line: &str) -> Result<(), Fault> {
        std::fs::write(self.known_hosts(), line).map_err(here("the host key"))
    }

    fn known_hosts(&self) -> PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// The person's own ssh, as they would start it: their settings say how the host is reached.
    fn command(&self, options: &[&str]) -> Result<Command, Fault> {
        let mut command = holdfast_subprocess::of_the_person("ssh").map_err(here("ssh"))?;
        command.arg("-T");
        let batch = if self.is_there { "no" } else { "yes" };
        let folder = self.folder.path().display();
        for option in [
            format!("BatchMode={batch}"),
            "StrictHostKeyChecking=yes".to_owned(),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            format!("UserKnownHostsFile={}", self.known_hosts().display()),
            format!("HostKeyAlias={}", self.alias),
            "UpdateHostKeys=no".to_owned(),
            format!("ConnectTimeout={CONNECT_WITHIN}"),
            "ServerAliveInterval=5".to_owned(),
            "ServerAliveCountMax=3".to_owned(),
            "ControlMaster=auto".to_owned(),
            "ControlPersist=60".to_owned(),
            format!("ControlPath={folder}/m"),
            "ForwardAgent=no".to_owned(),
            "ForwardX11=no".to_owned(),
            "ClearAllForwardings=yes".to_owned(),
            "RequestTTY=no".to_owned(),
            "RemoteCommand=none".to_owned(),
            "LogLevel=ERROR".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        if let Some(identity) = &self.identity {
            command.args(["-o", "IdentitiesOnly=yes", "-i"]).arg(identity);
        }
        command.args(self.named_port.map(|port| format!("-p{port}")));
        command.args(["-l", &self.account.user]).args(options);
        // As it was typed, so that everything the person's configuration says of it counts.
        command.args(["--", &self.account.host]);
        Ok(command)
    }

    /// Runs fixed words of ours there. `step` says what for, should it be cut off.
    pub(crate) fn call(
        &self,
        step: &str,
        words: &str,
        input: Input,
        within: Duration,
    ) -> Result<Said, Fault> {
        if interrupt::has_left() {
            return Err(Fault::Interrupted { step: step.to_owned() });
        }
        let mut command = self.command(&[])?;
        command.arg(words);
        let input = input.file().map_err(here("what is sent"))?;
        let said = bounded(command, Some(input), within).map_err(here("ssh"))?;
        if interrupt::has_left() {
            return Err(Fault::Interrupted { step: step.to_owned() });
        }
        let (address, user, step) = (self.address.clone(), self.account.user.clone(), step.to_owned());
        let Some(said) = said else {
            return Err(Fault::Lost {
                address,
                step,
                said: format!("nothing within {} s", within.as_secs()),
            });
        };
        let complaint = said.complaint();
        match said.code {
            255 if complaint.contains("Host key verification failed")
                || complaint.contains("HOST IDENTIFICATION HAS CHANGED") =>
            {
                let expected = std::fs::read_to_string(self.known_hosts()).unwrap_or_default();
                let expected =
                    expected.lines().find_map(key_of).map(|key| key.fingerprint()).unwrap_or_default();
                let shown = self.scan().map_or_else(|_| "another".to_owned(), |key| key.fingerprint());
                Err(Fault::OtherKey { address, shown, expected })
            }
            255 if complaint.contains("Permission denied")
                || complaint.contains("Too many authentication failures") =>
            {
                Err(Fault::NotLetIn { address, user, said: complaint })
            }
            // ssh's own end, or one by a signal.
            255 | -1 => Err(Fault::Lost { address, step, said: complaint }),
            _ => Ok(said),
        }
    }
}

impl Drop for Person {
    /// Ends the connection.
    fn drop(&mut self) {
        if self.folder.path().join("m").exists() {
            let Ok(mut command) = self.command(&["-O", "exit"]) else { return };
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Ok(mut child) = command.spawn() {
                let _ = holdfast_doorman::ended_within(&mut child, HANG_UP_WITHIN);
            }
        }
    }
}

/// What goes over standard input.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    Text(&'a str),
    File(&'a Path),
}

impl Input<'_> {
    fn file(&self) -> std::io::Result<File> {
        match self {
            Input::File(path) => File::open(path),
            Input::Text(text) => {
                let mut file = tempfile::tempfile()?;
                file.write_all(text.as_bytes())?;
                file.rewind()?;
                Ok(file)
            }
        }
    }
}

/// The key that is shown at an address: the strongest kind there is of these.
pub(crate) fn scan(address: &str, port: u16, kinds: &str) -> Result<HostKey, Fault> {
    let mut command = holdfast_subprocess::command("ssh-keyscan").map_err(here("ssh-keyscan"))?;
    command.args(["-T", "15", "-p", &port.to_string(), "-t", kinds, "--", address]);
    let said = bounded(command, None, SCAN_WITHIN).map_err(here("ssh-keyscan"))?;
    let text = said.as_ref().map_or("", |said| said.out.as_str());
    let mut keys: Vec<HostKey> = text.lines().filter_map(key_of).collect();
    let rank = |key: &HostKey| {
        ["ssh-ed25519", "ecdsa", "ssh-rsa"].iter().position(|kind| key.kind.starts_with(kind))
    };
    keys.sort_by_key(rank);
    let unreachable = || {
        // What the tool says of it differs from release to release: whoever connects says it plainly.
        let said = connect(address, port)
            .map_or_else(|e| plainly(&e), |()| "it answers, and shows no host key".to_owned());
        Fault::Unreachable { address: address.to_owned(), port, said }
    };
    keys.into_iter().find(|key| rank(key).is_some()).ok_or_else(unreachable)
}

/// `[user@]host[:port]`, and others after it that this machine does not call.
fn first_hop(jump: &str) -> Option<Place> {
    let hop = jump.split(',').next()?.trim_start_matches("ssh://");
    let hop = hop.rsplit_once('@').map_or(hop, |(_, host)| host);
    let route = super::guard::route(hop).ok()?;
    Some(Place { host: route.address, port: route.port })
}

fn connect(address: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::other("it has no address");
    for address in (address, port).to_socket_addrs()?.take(4) {
        match TcpStream::connect_timeout(&address, ANSWER_WITHIN) {
            Ok(_) => return Ok(()),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A line of a scan or of known hosts.
fn key_of(line: &str) -> Option<HostKey> {
    let mut parts = line.split_ascii_whitespace();
    let (name, kind, key) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = kind.bytes().all(|b| b.is_ascii_alphanumeric() || b"-@.".contains(&b));
    let whole = key.len() < 4096 && STANDARD.decode(key).is_ok();
    (!name.starts_with('#') && plain && whole).then(|| HostKey { kind: kind.to_owned(), key: key.to_owned() })
}

fn plainly(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

pub(crate) fn here(what: &str) -> impl FnOnce(std::io::Error) -> Fault + use<> {
    let what = what.to_owned();
    move |e| Fault::Here { what, said: plainly(&e) }
}

/// Runs a program to its end; nothing when it took too long or said too much, and then it is ended. A connection that stays behind keeps
/// what it was given, so it is given files and no pipes.
pub(super) fn bounded(
    mut command: Command,
    input: Option<File>,
    within: Duration,
) -> std::io::Result<Option<Said>> {
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    command.stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = command.spawn()?;
    let Some(code) = ended(&mut child, within, &[&out, &err])? else { return Ok(None) };
    Ok(Some(Said { code, out: contents(&mut out)?, err: contents(&mut err)? }))
}

fn ended(child: &mut Child, within: Duration, written: &[&File]) -> std::io::Result<Option<i32>> {
    let until = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        let too_much = written.iter().any(|file| file.metadata().is_ok_and(|it| it.len() > SAID_MAX));
        if too_much || Instant::now() >= until || interrupt::has_left() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn contents(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(SAID_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_plain_and_nothing_in_it_is_an_option() {
        let parsed = |text: &str| text.parse::<Account>().map(|it| (it.user, it.host)).ok();
        let pair = |user: &str, host: &str| Some((user.to_owned(), host.to_owned()));
        assert_eq!(parsed("root@box-1.lan"), pair("root", "box-1.lan"));
        assert_eq!(parsed("ana@[2001:db8::1]"), pair("ana", "2001:db8::1"));
        assert_eq!(parsed("ana@::1"), pair("ana", "::1"));
        for bad in [
            "box-1",
            "@box-1",
            "root@",
            "root@-oProxyCommand=id",
            "-l@box",
            "a b@box",
            "root@$(id)",
            "root@a;b",
            "root@fe80::1%eth0",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn whoever_goes_through_others_calls_the_first_of_them() {
        let hop = |jump: &str| first_hop(jump).map(|place| format!("{} {}", place.host, place.port));
        assert_eq!(hop("bastion.example").as_deref(), Some("bastion.example 22"));
        assert_eq!(hop("ana@bastion.example:2222,box@other").as_deref(), Some("bastion.example 2222"));
        assert_eq!(hop("ssh://ana@[2001:db8::1]:2222").as_deref(), Some("2001:db8::1 2222"));
        assert_eq!(hop("$(id)"), None);
    }

    #[test]
    fn a_fingerprint_is_the_one_that_ssh_keygen_shows() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
        assert!(made.unwrap().success());
        let listed = Command::new("ssh-keygen").arg("-lf").arg(&key).output().unwrap();
        let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        let ours = key_of(&format!("box {public}")).unwrap().fingerprint();
        assert!(String::from_utf8_lossy(&listed.stdout).contains(&ours), "{ours}");
    }
}
