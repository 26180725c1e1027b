//! What a host was on the day it was taken in: kept in its record and in the journal, shown, and held against what it is later.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_api::{TargetInventory, TargetService};
use holdfast_steward::setting::UnitName;
use serde::{Deserialize, Serialize};

use super::survey::{Finding, Verdict, authority};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inventory {
    /// In its own words.
    pub(crate) os: String,
    pub(crate) kernel: String,
    pub(crate) machine: String,
    pub(crate) systemd: u32,
    /// Whether the kernel measures pressure.
    pub(crate) pressure: bool,
    /// The units that keep it reachable: its sshd, a private network, a firewall.
    pub(crate) reached_by: Vec<String>,
    /// What runs there, but for what belongs to any machine.
    pub(crate) services: Vec<Service>,
    /// What people and agents work with there and no unit tells of.
    pub(crate) tools: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Service {
    pub(crate) unit: String,
    /// Where it listens.
    pub(crate) ports: Vec<u16>,
}

/// What the host is to do, as it was said when it was taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Managed<'a> {
    pub(crate) units: &'a [UnitName],
    pub(crate) endpoint: Option<&'a str>,
}

impl Managed<'_> {
    fn has(&self, unit: &str) -> bool {
        self.units.iter().any(|it| it.as_str() == unit)
    }
}

impl Inventory {
    /// For whoever asks over the API or with `--json`.
    pub(crate) fn in_full(&self) -> TargetInventory {
        let Inventory { os, kernel, machine, systemd, pressure, reached_by, services, tools } = self.clone();
        let service = |it: Service| TargetService { unit: it.unit, ports: it.ports };
        let services = services.into_iter().map(service).collect();
        TargetInventory { os, kernel, machine, systemd, pressure, reached_by, services, tools }
    }

    /// So that it fits into an entry of the journal.
    pub(crate) const SERVICES_MAX: usize = 128;
    pub(crate) const TOOLS_MAX: usize = 32;

    /// What is another than on the first day. What it was to do and does no longer is bad; the rest somebody should know.
    pub(crate) fn differs(&self, now: &Inventory, managed: Managed<'_>) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut other = |what: &str, was: &str, is: &str| {
            if was != is {
                all.push(noted(format!("{what} is {is}, and was {was} when it was taken in")));
            }
        };
        other("its system", &self.os, &now.os);
        other("its kernel", &self.kernel, &now.kernel);
        other("its systemd", &self.systemd.to_string(), &now.systemd.to_string());
        other("what keeps it reachable", &self.reached_by.join(", "), &now.reached_by.join(", "));
        if !self.pressure && now.pressure {
            all.push(noted("the kernel measures pressure now, and did not when it was taken in".to_owned()));
        }
        all.extend(self.services_that_differ(now, managed));
        all.extend(managed.endpoint.and_then(|endpoint| self.endpoint_that_moved(now, endpoint, managed)));
        let (were, are) = (set(&self.tools), set(&now.tools));
        all.extend(listed("gone since it was taken in", were.difference(&are).copied()));
        all.extend(listed("there since it was taken in", are.difference(&were).copied()));
        all
    }

    fn running(&self) -> BTreeSet<&str> {
        self.services.iter().map(|it| it.unit.as_str()).collect()
    }

    fn services_that_differ(&self, now: &Inventory, managed: Managed<'_>) -> Vec<Finding> {
        let (ran, run) = (self.running(), now.running());
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            ran.difference(&run).copied().partition(|unit| managed.has(unit));
        let mut all: Vec<Finding> = ours
            .into_iter()
            .map(|unit| {
                Finding::new(
                    Verdict::Bad,
                    format!("{unit} does not run, and did when it was taken in: systemctl status {unit}"),
                )
            })
            .collect();
        all.extend(listed("no longer running", theirs.into_iter()));
        all.extend(listed("running since", run.difference(&ran).copied()));
        all
    }

    /// By port, who listens there.
    fn listeners(&self) -> BTreeMap<u16, BTreeSet<&str>> {
        let mut all: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
        for service in &self.services {
            for port in &service.ports {
                all.entry(*port).or_default().insert(&service.unit);
            }
        }
        all
    }

    /// An endpoint that was a managed unit's and is somebody else's now is watched in vain.
    fn endpoint_that_moved(&self, now: &Inventory, endpoint: &str, managed: Managed<'_>) -> Option<Finding> {
        let (_, port) = authority(endpoint)?;
        let was_ours =
            self.listeners().get(&port).is_some_and(|units| units.iter().any(|it| managed.has(it)));
        let listeners = now.listeners();
        let are = listeners.get(&port).filter(|units| !units.iter().any(|it| managed.has(it)))?;
        let names = are.iter().copied().collect::<Vec<_>>().join(", ");
        was_ours.then(|| {
            Finding::new(
                Verdict::Bad,
                format!(
                    "port {port}, where the endpoint is, is that of {names} now, which is not looked after"
                ),
            )
        })
    }

    /// A few lines for people.
    pub(crate) fn told(&self) -> Vec<String> {
        let pressure = if self.pressure { "pressure is measured" } else { "pressure is not measured" };
        let service = |it: &Service| match it.ports.as_slice() {
            [] => it.unit.clone(),
            ports => {
                let ports = ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                format!("{} (port {ports})", it.unit)
            }
        };
        let joined = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        vec![
            format!("system      {}, kernel {}, {}", self.os, self.kernel, self.machine),
            format!("manager     systemd {}, {pressure}", self.systemd),
            format!("reached by  {}", joined(self.reached_by.clone())),
            format!("services    {}", joined(self.services.iter().map(service).collect())),
            format!("tools       {}", joined(self.tools.clone())),
        ]
    }
}

fn noted(what: String) -> Finding {
    Finding::new(Verdict::Noted, what)
}

fn set(words: &[String]) -> BTreeSet<&str> {
    words.iter().map(String::as_str).collect()
}

fn listed<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<Finding> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| noted(format!("{what}: {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(unit: &str, ports: &[u16]) -> Service {
        Service { unit: unit.to_owned(), ports: ports.to_vec() }
    }

    fn inventory() -> Inventory {
        Inventory {
            os: "Debian 13".to_owned(),
            kernel: "6.12.1".to_owned(),
            machine: "x86_64".to_owned(),
            systemd: 257,
            pressure: true,
            reached_by: vec!["ssh.service".to_owned()],
            services: vec![service("web.service", &[8080]), service("mail.service", &[])],
            tools: vec!["git".to_owned()],
        }
    }

    fn differs(change: impl FnOnce(&mut Inventory)) -> Vec<(Verdict, String)> {
        let mut now = inventory();
        change(&mut now);
        let units = ["web.service".parse().unwrap()];
        let managed = Managed { units: &units, endpoint: Some("box-1.lan:8080") };
        inventory().differs(&now, managed).into_iter().map(|it| (it.verdict, it.what)).collect()
    }

    #[test]
    fn each_difference_is_told_and_what_it_was_to_do_and_does_not_is_bad() {
        assert_eq!(differs(|_| {}), []);
        let one = |change: fn(&mut Inventory), verdict, said: &str| {
            let found = differs(change);
            assert!(
                found.iter().any(|(it, what)| *it == verdict && what.contains(said)),
                "{said}: {found:?}"
            );
        };
        one(
            |it| it.os = "Debian 14".to_owned(),
            Verdict::Noted,
            "its system is Debian 14, and was Debian 13",
        );
        one(|it| it.kernel = "6.18".to_owned(), Verdict::Noted, "its kernel is 6.18");
        one(|it| it.systemd = 259, Verdict::Noted, "its systemd is 259, and was 257");
        one(|it| it.reached_by.clear(), Verdict::Noted, "what keeps it reachable");
        one(|it| it.services.remove(1).ports.clear(), Verdict::Noted, "no longer running: mail.service");
        one(|it| it.services.push(service("new.service", &[])), Verdict::Noted, "running since: new.service");
        one(|it| it.tools.clear(), Verdict::Noted, "gone since it was taken in: git");
        one(|it| it.tools.push("node".to_owned()), Verdict::Noted, "there since it was taken in: node");
        one(|it| drop(it.services.remove(0)), Verdict::Bad, "web.service does not run, and did");
        one(
            |it| {
                it.services[0].ports.clear();
                it.services[1].ports.push(8080);
            },
            Verdict::Bad,
            "port 8080, where the endpoint is, is that of mail.service now",
        );
    }

    #[test]
    fn it_is_told_in_a_few_lines() {
        assert_eq!(
            inventory().told(),
            [
                "system      Debian 13, kernel 6.12.1, x86_64",
                "manager     systemd 257, pressure is measured",
                "reached by  ssh.service",
                "services    web.service (port 8080), mail.service",
                "tools       git",
            ]
        );
    }
}
