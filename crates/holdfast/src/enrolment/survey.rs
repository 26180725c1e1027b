//! What is there on a host, and whether it will do. The script that looks is fixed and the doorman's; what it says is judged here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast_doorman::SURVEY;
use holdfast_line::shown;
use holdfast_steward::setting::UnitName;

use super::Fault;
use super::inventory::{Inventory, Service};
use super::person::{Input, Person};
use crate::look;

/// An emulated machine with a slow link takes some seconds.
const LOOK_WITHIN: Duration = Duration::from_secs(120);
/// The first with what a trial rests on: limits that are read back, transient timers that are exact, `--runtime` that is live.
const SYSTEMD_LEAST: u32 = 249;
/// Beyond this what is told about times on that host would mislead.
const CLOCK_MOST: u64 = 120;
/// What is needed in each place: the program, the reserve twice over, the log.
const TO_COME: [(&str, u64); 3] = [("/usr/local/lib", 32 << 20), ("/etc", 16 << 20), ("/var/lib", 64 << 20)];
/// And once it is there: a drop-in, and a generation with its entry in the log.
const TO_STAY: [(&str, u64); 3] = [("/usr/local/lib", 0), ("/etc", 1 << 20), ("/var/lib", 16 << 20)];
const SUGGESTED_MAX: usize = 5;
/// What belongs to any machine and is no workload.
const OF_ANY_MACHINE: [&str; 14] = [
    "systemd-",
    "dbus",
    "ssh",
    "getty@",
    "serial-getty@",
    "user@",
    "cron",
    "polkit",
    "rsyslog",
    "chrony",
    "udisks",
    "networkd",
    "NetworkManager",
    "user-runtime-dir@",
];
const VPNS: [&str; 4] =
    ["tailscaled.service", "zerotier-one.service", "wg-quick@wg0.service", "openvpn.service"];
const FIREWALLS: [&str; 3] = ["nftables.service", "ufw.service", "firewalld.service"];
const SSHDS: [&str; 2] = ["ssh.service", "sshd.service"];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    fields: BTreeMap<String, String>,
    there: Vec<String>,
    files: BTreeSet<String>,
    tools: BTreeSet<String>,
    units: BTreeMap<String, Unit>,
    /// By port, the units that listen there; one without a unit is empty.
    listens: BTreeMap<u16, BTreeSet<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unit {
    is_loaded: bool,
    is_active: bool,
    memory: u64,
}

/// What people want of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) doorman: Doorman,
    pub(crate) units: Vec<UnitName>,
    pub(crate) endpoint: Option<String>,
    pub(crate) without_pressure: bool,
    /// What the doorman's program was built for.
    pub(crate) machine: String,
    /// Seconds since 1970, here.
    pub(crate) now: u64,
}

/// Whether a doorman is to come, or is there already and needs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doorman {
    Comes,
    Stays,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// It will do, and somebody should know.
    Noted,
    Bad,
}

impl Finding {
    pub(crate) fn new(verdict: Verdict, what: impl Into<String>) -> Finding {
        Finding { what: what.into(), verdict }
    }
}

/// Looks at the host.
pub(crate) fn look(person: &Person) -> Result<Found, Fault> {
    let said = person.call("it is looked at", "sh -s", Input::Text(SURVEY), LOOK_WITHIN)?;
    let (address, user) = (person.address.clone(), person.account.user.clone());
    let found = Found::read(&said.out);
    if found.field("hello") != "holdfast" {
        return Err(Fault::NoShell { address, user, said: said.complaint() });
    }
    if found.field("end") != "holdfast" {
        let said = "what was said about it is not whole".to_owned();
        return Err(Fault::Lost { address, step: "it is looked at".to_owned(), said });
    }
    match found.field("root") {
        "yes" => Ok(found),
        no => Err(Fault::NoRoot { address, user, said: shown(no.trim_start_matches("no: ")) }),
    }
}

impl Found {
    /// What the doorman said when it was asked to look; nothing where that is not whole.
    pub(crate) fn whole(text: &str) -> Option<Found> {
        let found = Found::read(text);
        let is_whole = ["hello", "end"].iter().all(|key| found.field(key) == "holdfast");
        (is_whole && found.field("root") == "yes").then_some(found)
    }

    fn read(text: &str) -> Found {
        let mut found = Found::default();
        let mut unit: Option<(String, Unit)> = None;
        let mut listening: Vec<&str> = Vec::new();
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("hf:")) {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let value = value.trim();
            match key.split_once(':') {
                Some(("unit", "")) | Some(("unit", "Id")) | None if key.starts_with("unit:") => {
                    found.units.extend(unit.take());
                    if key == "unit:Id" {
                        unit = Some((value.to_owned(), Unit::default()));
                    }
                }
                Some(("unit", field)) => {
                    if let Some((_, unit)) = &mut unit {
                        match field {
                            "LoadState" => unit.is_loaded = value == "loaded",
                            "ActiveState" => unit.is_active = matches!(value, "active" | "reloading"),
                            "MemoryCurrent" => unit.memory = value.parse().unwrap_or(0),
                            _ => {}
                        }
                    }
                }
                Some(("of", process)) => drop(owners.insert(process, value)),
                _ if key == "there" => found.there.push(value.to_owned()),
                _ if key == "file" => {
                    found.files.extend(value.split(' ').next().map(str::to_owned));
                }
                _ if key == "tool" => drop(found.tools.insert(value.to_owned())),
                _ if key == "listen" => listening.push(value),
                _ => drop(found.fields.insert(key.to_owned(), value.to_owned())),
            }
        }
        found.units.extend(unit.take());
        for line in listening {
            let port =
                line.split_ascii_whitespace().nth(3).and_then(|at| at.rsplit(':').next()?.parse().ok());
            let Some(port) = port else { continue };
            let processes = line.split("pid=").skip(1).filter_map(|rest| rest.split(',').next());
            let units = processes.filter_map(|process| unit_of(owners.get(process)?));
            found.listens.entry(port).or_default().extend(units);
        }
        found
    }

    pub(crate) fn field(&self, key: &str) -> &str {
        self.fields.get(key).map_or("", String::as_str)
    }

    /// The operating system, in its own words.
    pub(crate) fn os(&self) -> String {
        match self.field("os") {
            "" => "an unknown system".to_owned(),
            os => shown(os),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.field("uid") == "0"
    }

    /// What of ours is there already.
    pub(crate) fn there(&self) -> Option<String> {
        let user = Some("the user holdfast-observer").filter(|_| !self.field("observer").is_empty());
        self.there.first().cloned().or_else(|| user.map(str::to_owned))
    }

    fn exists(&self, unit: &str) -> bool {
        let template = unit.split_once('@').map(|(name, _)| format!("{name}@.service"));
        self.units.get(unit).is_some_and(|it| it.is_loaded)
            || self.files.contains(unit)
            || template.is_some_and(|template| self.files.contains(&template))
    }

    fn is_active(&self, unit: &str) -> bool {
        self.units.get(unit).is_some_and(|it| it.is_active)
    }

    fn one_of(&self, names: &[&str], fits: impl Fn(&str) -> bool) -> Option<UnitName> {
        names.iter().find(|name| fits(name)).and_then(|name| name.parse().ok())
    }

    /// What keeps the host reachable: its sshd, a private network, a firewall.
    pub(crate) fn ssh(&self) -> Option<UnitName> {
        self.one_of(&SSHDS, |name| self.is_active(name))
            .or_else(|| self.one_of(&SSHDS, |name| self.exists(name)))
    }

    pub(crate) fn vpn(&self) -> Option<UnitName> {
        self.one_of(&VPNS, |name| self.is_active(name))
    }

    pub(crate) fn firewall(&self) -> Option<UnitName> {
        self.one_of(&FIREWALLS, |name| self.is_active(name))
    }

    /// What runs there and looks like a workload: who listens first, then who uses most memory.
    pub(crate) fn suggested(&self) -> Vec<String> {
        let listening: BTreeSet<&String> = self.listens.values().flatten().collect();
        let mut all: Vec<(&String, &Unit)> = self
            .units
            .iter()
            .filter(|(name, unit)| {
                unit.is_active && unit.memory > 0 && unit.is_loaded && name.parse::<UnitName>().is_ok()
            })
            .filter(|(name, _)| !OF_ANY_MACHINE.iter().any(|usual| name.starts_with(usual)))
            .collect();
        all.sort_by_key(|(name, unit)| (!listening.contains(name), u64::MAX - unit.memory));
        all.into_iter().take(SUGGESTED_MAX).map(|(name, _)| name.clone()).collect()
    }

    /// What is kept of it, to be shown and to be compared with later.
    pub(crate) fn inventory(&self) -> Inventory {
        let is_workload = |name: &str| !OF_ANY_MACHINE.iter().any(|usual| name.starts_with(usual));
        let ports = |name: &String| -> Vec<u16> {
            self.listens.iter().filter(|(_, units)| units.contains(name)).map(|(port, _)| *port).collect()
        };
        let services = self.units.iter().filter(|(name, unit)| unit.is_active && is_workload(name));
        Inventory {
            os: self.os(),
            kernel: shown(self.field("kernel")),
            machine: shown(self.field("machine")),
            systemd: self.field("systemd").parse().unwrap_or(0),
            pressure: self.field("pressure") == "some",
            reached_by: [self.ssh(), self.vpn(), self.firewall()]
                .into_iter()
                .flatten()
                .map(|unit| unit.to_string())
                .collect(),
            services: services
                .map(|(name, _)| Service { unit: shown(name), ports: ports(name) })
                .take(Inventory::SERVICES_MAX)
                .collect(),
            tools: self.tools.iter().map(|tool| shown(tool)).take(Inventory::TOOLS_MAX).collect(),
        }
    }

    /// What is good and what is not, in the order in which a person would ask.
    pub(crate) fn judge(&self, wanted: &Wanted) -> Vec<Finding> {
        let mut all = vec![self.systemd()];
        all.extend(self.kernel(wanted));
        all.extend(self.disk(wanted.doorman));
        all.push(self.clock(wanted.now));
        all.extend(self.accounts());
        all.extend(wanted.units.iter().map(|unit| self.unit(unit.as_str())));
        all.extend(wanted.endpoint.as_deref().map(|endpoint| self.endpoint(endpoint, wanted)));
        all.extend(self.machine(wanted));
        all
    }

    fn machine(&self, wanted: &Wanted) -> Option<Finding> {
        let (is, machine) = (shown(self.field("machine")), &wanted.machine);
        let what = match wanted.doorman {
            Doorman::Comes => {
                format!(
                    "it is a {is}, and the doorman's program is for {machine}: name another with --doorman"
                )
            }
            Doorman::Stays => format!("it is a {is}, and was a {machine} when it was taken in"),
        };
        (is != *machine).then(|| Finding::new(Verdict::Bad, what))
    }

    fn systemd(&self) -> Finding {
        match (self.field("systemd").parse::<u32>(), self.field("manager")) {
            (Ok(version), "yes") if version >= SYSTEMD_LEAST => {
                Finding::new(Verdict::Good, format!("systemd {version}"))
            }
            (Ok(version), "yes") => Finding::new(
                Verdict::Bad,
                format!(
                    "systemd {version} is there, and {SYSTEMD_LEAST} is needed: use a newer release of its system"
                ),
            ),
            _ => Finding::new(Verdict::Bad, "no systemd runs there: only such hosts can be looked after"),
        }
    }

    fn kernel(&self, wanted: &Wanted) -> Vec<Finding> {
        let controllers: BTreeSet<&str> = self.field("cgroup").split_ascii_whitespace().collect();
        let limits = match ["memory", "cpu"].iter().find(|name| !controllers.contains(**name)) {
            None => Finding::new(Verdict::Good, "control groups of version 2 with memory and cpu"),
            Some(name) => Finding::new(
                Verdict::Bad,
                format!(
                    "its control groups have no {name} controller: boot it with systemd.unified_cgroup_hierarchy=1"
                ),
            ),
        };
        let pressure = match (self.field("pressure"), wanted.without_pressure) {
            ("some", _) => Finding::new(Verdict::Good, "the kernel measures pressure"),
            (_, true) => {
                Finding::new(Verdict::Noted, "the kernel does not measure pressure; it is done without")
            }
            (_, false) => Finding::new(
                Verdict::Bad,
                "the kernel does not measure pressure: boot it with psi=1, or do without by --without-pressure",
            ),
        };
        vec![limits, pressure]
    }

    fn disk(&self, doorman: Doorman) -> Vec<Finding> {
        let mut all = Vec::new();
        let space = match doorman {
            Doorman::Comes => TO_COME,
            Doorman::Stays => TO_STAY,
        };
        for (place, needed) in space {
            if self.field(&format!("write:{place}")) != "yes" {
                all.push(Finding::new(
                    Verdict::Bad,
                    format!("{place} cannot be written: mount it read-write"),
                ));
                continue;
            }
            let free = self.field(&format!("free:{place}")).parse::<u64>().map(|kib| kib << 10);
            match free {
                Ok(free) if free < needed => all.push(Finding::new(
                    Verdict::Bad,
                    format!("{place} has {} free, and {} are needed", look::bytes(free), look::bytes(needed)),
                )),
                Ok(_) => {}
                Err(_) => all.push(Finding::new(
                    Verdict::Noted,
                    format!("nobody could say how much room {place} has"),
                )),
            }
        }
        if all.is_empty() {
            all.push(Finding::new(Verdict::Good, "room in /usr/local/lib, /etc and /var/lib"));
        }
        all
    }

    fn clock(&self, now: u64) -> Finding {
        let Ok(there) = self.field("clock").parse::<u64>() else {
            return Finding::new(Verdict::Bad, "it does not say what time it is");
        };
        let off = there.abs_diff(now);
        let by = look::span(off as f64);
        let way = if there < now { "behind" } else { "ahead" };
        match off <= CLOCK_MOST {
            true => Finding::new(Verdict::Good, "its clock is right"),
            false => Finding::new(
                Verdict::Bad,
                format!(
                    "its clock is {by} {way} of this one: set it, with timedatectl set-ntp true for instance"
                ),
            ),
        }
    }

    fn accounts(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut bad = |is: bool, what: &str| all.extend(is.then(|| Finding::new(Verdict::Bad, what)));
        bad(
            self.field("useradd").is_empty(),
            "there is no useradd: install the package passwd or shadow-utils",
        );
        bad(self.ssh().is_none(), "neither ssh.service nor sshd.service is a unit there");
        bad(
            self.field("sshd:root") == "no",
            "its sshd lets nobody in as root: PermitRootLogin forced-commands-only suffices",
        );
        bad(self.field("sshd:pubkey") == "no", "its sshd takes no keys: PubkeyAuthentication yes");
        let files = self.field("sshd:keys");
        let usual = files.is_empty()
            || files
                .split_ascii_whitespace()
                .any(|file| file.trim_start_matches("%h/") == ".ssh/authorized_keys");
        bad(!usual, "its sshd reads keys elsewhere: add .ssh/authorized_keys to AuthorizedKeysFile");
        if self.field("selinux") == "Enforcing" {
            all.push(Finding::new(
                Verdict::Noted,
                "SELinux is enforcing; the proofs will show whether it lets the doorman work",
            ));
        }
        all
    }

    fn unit(&self, unit: &str) -> Finding {
        match (self.exists(unit), self.is_active(unit)) {
            (true, true) => Finding::new(Verdict::Good, format!("{unit} runs")),
            (true, false) => Finding::new(Verdict::Noted, format!("{unit} is there and does not run")),
            (false, _) => {
                let hint = match self.suggested().as_slice() {
                    [] => String::new(),
                    some => format!("; what runs: {}", some.join(", ")),
                };
                Finding::new(Verdict::Bad, format!("there is no unit {unit}{hint}"))
            }
        }
    }

    /// An endpoint of a service that is not there would be watched for ever.
    fn endpoint(&self, endpoint: &str, wanted: &Wanted) -> Finding {
        let (_, port) = authority(endpoint).unwrap_or_default();
        if self.field("ss").is_empty() {
            return Finding::new(Verdict::Noted, format!("nobody could say who listens at port {port}"));
        }
        let managed = |unit: &&String| wanted.units.iter().any(|it| it.as_str() == unit.as_str());
        match self.listens.get(&port) {
            None => {
                Finding::new(Verdict::Bad, format!("nothing listens at port {port}, where the endpoint is"))
            }
            Some(units) if units.is_empty() || units.iter().any(|unit| managed(&unit)) => {
                Finding::new(Verdict::Good, format!("port {port} is listened at"))
            }
            Some(units) => {
                let names = units.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                Finding::new(
                    Verdict::Noted,
                    format!("port {port} is that of {names}, which is not looked after"),
                )
            }
        }
    }
}

/// The host and port of an endpoint, which is those two or a page.
pub(crate) fn authority(endpoint: &str) -> Option<(String, u16)> {
    let (usual, rest) = match (endpoint.strip_prefix("https://"), endpoint.strip_prefix("http://")) {
        (Some(rest), _) => (Some(443), rest),
        (_, Some(rest)) => (Some(80), rest),
        _ => (None, endpoint),
    };
    let place = rest.split('/').next()?;
    let named = place.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = named.or_else(|| Some((place, usual?)))?;
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// The service a process belongs to, by the path of its control group.
fn unit_of(cgroup: &str) -> Option<String> {
    cgroup.rsplit('/').find(|part| part.ends_with(".service")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "motd of somebody\nhf:hello=holdfast\nhf:uid=1000\nhf:root=yes\nhf:clock=1000\nhf:machine=x86_64\nhf:os=Debian 13\n\
        hf:systemd=257\nhf:manager=yes\nhf:cgroup=cpu io memory pids\nhf:pressure=some\nhf:useradd=/usr/sbin/useradd\n\
        hf:free:/usr/local/lib=999999\nhf:write:/usr/local/lib=yes\nhf:free:/etc=999999\nhf:write:/etc=yes\n\
        hf:free:/var/lib=999999\nhf:write:/var/lib=yes\nhf:sshd:root=prohibit-password\nhf:sshd:keys=.ssh/authorized_keys .ssh/authorized_keys2\n\
        hf:file=ssh.service enabled\nhf:file=batch@.service static\nhf:unit:Id=web.service\nhf:unit:LoadState=loaded\nhf:unit:ActiveState=active\n\
        hf:unit:MemoryCurrent=5000\nhf:unit:\nhf:unit:Id=big.service\nhf:unit:LoadState=loaded\nhf:unit:ActiveState=active\nhf:unit:MemoryCurrent=90000\n\
        hf:unit:\nhf:unit:Id=gone.service\nhf:unit:LoadState=not-found\nhf:unit:ActiveState=inactive\n\
        hf:listen=LISTEN 0 128 0.0.0.0:8080 0.0.0.0:* users:((\"web\",pid=77,fd=3))\nhf:of:77=0::/system.slice/web.service\nhf:ss=yes\nhf:end=holdfast\n";

    fn wanted() -> Wanted {
        Wanted {
            doorman: Doorman::Comes,
            units: vec!["web.service".parse().unwrap()],
            endpoint: Some("box-1:8080".to_owned()),
            without_pressure: false,
            machine: "x86_64".to_owned(),
            now: 1003,
        }
    }

    fn bad(text: &str, wanted: &Wanted) -> Vec<String> {
        let found = Found::read(text).judge(wanted);
        found.into_iter().filter(|it| it.verdict == Verdict::Bad).map(|it| it.what).collect()
    }

    #[test]
    fn a_good_host_has_nothing_against_it_and_what_listens_is_suggested_first() {
        assert_eq!(bad(GOOD, &wanted()), Vec::<String>::new());
        let found = Found::read(GOOD);
        assert_eq!(found.suggested(), ["web.service", "big.service"]);
        assert_eq!(found.ssh().unwrap().as_str(), "ssh.service");
        assert!(found.exists("batch@7.service") && !found.exists("gone.service"));
    }

    #[test]
    fn what_is_there_is_kept_and_a_later_look_needs_less_room_and_has_to_be_whole() {
        let text = GOOD.replace("hf:clock", "hf:kernel=6.12.1\nhf:tool=git\nhf:clock");
        let inventory = Found::read(&text).inventory();
        assert_eq!((inventory.os.as_str(), inventory.kernel.as_str()), ("Debian 13", "6.12.1"));
        assert_eq!((inventory.systemd, inventory.pressure), (257, true));
        assert_eq!(inventory.reached_by, ["ssh.service"]);
        assert_eq!(inventory.tools, ["git"]);
        let services: Vec<(&str, &[u16])> =
            inventory.services.iter().map(|it| (it.unit.as_str(), it.ports.as_slice())).collect();
        assert_eq!(services, [("big.service", &[][..]), ("web.service", &[8080])]);
        let stays = Wanted { doorman: Doorman::Stays, ..wanted() };
        let tight = GOOD.replace("free:/var/lib=999999", "free:/var/lib=20000");
        assert!(bad(&tight, &stays).is_empty() && !bad(&tight, &wanted()).is_empty());
        assert!(
            bad(&GOOD.replace("free:/var/lib=999999", "free:/var/lib=900"), &stays)[0]
                .contains("/var/lib has")
        );
        assert!(Found::whole(GOOD).is_some());
        for cut in ["hf:end=holdfast", "hf:hello=holdfast", "hf:root=yes"] {
            assert_eq!(Found::whole(&GOOD.replace(cut, "")), None, "{cut}");
        }
    }

    #[test]
    fn an_endpoint_is_an_address_and_a_port_or_a_page() {
        for (endpoint, host, port) in [
            ("box-1.lan:8080", "box-1.lan", 8080),
            ("[2001:db8::1]:80", "2001:db8::1", 80),
            ("https://box-1.lan/health", "box-1.lan", 443),
            ("http://[::1]:8080/", "::1", 8080),
            ("http://[2001:db8::1]/", "2001:db8::1", 80),
        ] {
            assert_eq!(authority(endpoint), Some((host.to_owned(), port)), "{endpoint}");
        }
        assert_eq!(authority("box-1.lan"), None);
    }

    // shows: STW-009, STW-012
    #[test]
    fn each_fault_of_a_host_is_told_with_what_to_do() {
        let without = |from: &str, to: &str| bad(&GOOD.replace(from, to), &wanted()).join("|");
        for (from, to, said) in [
            ("systemd=257", "systemd=241", "systemd 241 is there, and 249 is needed"),
            ("hf:manager=yes", "hf:manager=", "no systemd runs there"),
            ("cpu io memory pids", "", "no memory controller"),
            ("pressure=some", "pressure=", "boot it with psi=1"),
            (
                "free:/var/lib=999999",
                "free:/var/lib=900",
                "/var/lib has 900.0 KiB free, and 64.0 MiB are needed",
            ),
            ("hf:write:/etc=yes\n", "", "/etc cannot be written"),
            ("clock=1000", "clock=31537003", "its clock is 365 days ahead of this one"),
            ("sshd:root=prohibit-password", "sshd:root=no", "lets nobody in as root"),
            ("keys=.ssh/authorized_keys .ssh/authorized_keys2", "keys=/etc/keys/%u", "reads keys elsewhere"),
            ("hf:useradd=/usr/sbin/useradd", "hf:useradd=", "there is no useradd"),
            (
                "unit:Id=web.service",
                "unit:Id=wob.service",
                "there is no unit web.service; what runs: big.service",
            ),
            (":8080 ", ":8081 ", "nothing listens at port 8080"),
            ("machine=x86_64", "machine=aarch64", "it is a aarch64"),
        ] {
            let found = without(from, to);
            assert!(found.contains(said), "{said}: {found}");
        }
        assert!(
            bad(&GOOD.replace("pressure=some", "pressure="), &Wanted { without_pressure: true, ..wanted() })
                .is_empty()
        );
    }
}
