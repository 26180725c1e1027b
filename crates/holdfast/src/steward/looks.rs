//! How a real host is looked at from outside: the looks of the configuration, and what a round of them comes to.

use holdfast_config as config;
use holdfast_lifeline::Steady;
use holdfast_metrics::Endpoint;
use holdfast_probe::{Check, Found, Terms};
use holdfast_steward::invariant::{Health, Seen};
use holdfast_types::Timestamp;

use super::eyes::PROBE_WITHIN;

/// As long as an endpoint's name may be.
const NAME_LEN_MAX: usize = 128;

/// The looks at one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    /// All of these have to be well. The first is where the first service answers.
    named: Vec<(String, Check)>,
    /// What somebody else believes of the host, which proves nothing alone.
    hearsay: Vec<Check>,
    /// Who answers whatever becomes of the host.
    references: Vec<Check>,
}

/// What a round came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) found: Vec<(String, Found)>,
    /// Nothing where nobody is asked.
    pub(super) vpn: Option<Seen>,
    /// Whether this machine's own network is well, as far as anybody was asked.
    pub(super) references: bool,
}

impl Looks {
    /// The configuration is refused where a look is none.
    pub(super) fn of(target: &config::StewardTarget) -> Looks {
        let endpoint =
            target.endpoint.as_deref().and_then(|text| Some((endpoint_name(text), endpoint(text)?)));
        let probes =
            target.probes.iter().filter_map(|text| Some((probe_name(text), text.parse::<Check>().ok()?)));
        let (evidence, hearsay): (Vec<_>, Vec<_>) = probes.partition(|(_, check)| check.is_evidence());
        let mut named: Vec<(String, Check)> = Vec::new();
        for (name, check) in endpoint.into_iter().chain(evidence) {
            let taken = |name: &String| named.iter().any(|(other, _)| other == name);
            let others = (2..).map(|n: u32| format!("{name}@{n}"));
            if let Some(name) = std::iter::once(name.clone()).chain(others).find(|name| !taken(name)) {
                named.push((name, check));
            }
        }
        Looks {
            named,
            hearsay: hearsay.into_iter().map(|(_, check)| check).collect(),
            references: target.references.iter().filter_map(|text| text.parse().ok()).collect(),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.named.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Looks at everything at once. What a monitor measured up to `not_before` says nothing.
    pub(super) fn round(&self, now: Timestamp, not_before: Option<Timestamp>) -> Round {
        let terms = Terms { within: PROBE_WITHIN, now, not_before };
        let checks = self.named.iter().map(|(_, check)| check).chain(&self.hearsay).chain(&self.references);
        let mut found = holdfast_probe::all(&checks.cloned().collect::<Vec<_>>(), &terms);
        let references = found.split_off(self.named.len() + self.hearsay.len());
        let hearsay = found.split_off(self.named.len());
        let is_down = found.iter().any(|it| matches!(it, Found::Failed { .. } | Found::TimedOut));
        let somebody = |found: &[Found]| found.iter().any(|it| matches!(it, Found::Passed { .. }));
        // A network that goes away while everything is looked at is nobody's fault, so they are asked once more.
        let references = references.is_empty()
            || (somebody(&references)
                && (!is_down || somebody(&holdfast_probe::all(&self.references, &terms))));
        let vpn = hearsay.iter().map(seen).reduce(worse);
        Round { found: self.names().into_iter().zip(found).collect(), vpn, references }
    }

    /// What a collection keeps of a look at the host itself.
    pub(super) fn measure(&self, now: Timestamp) -> Vec<Endpoint> {
        let terms = Terms { within: PROBE_WITHIN, now, not_before: None };
        let checks: Vec<Check> = self.named.iter().map(|(_, check)| check.clone()).collect();
        let found = holdfast_probe::all(&checks, &terms);
        self.named.iter().zip(found).filter_map(|((name, check), found)| kept(name, check, &found)).collect()
    }

    /// How long the first service took to answer, in milliseconds.
    pub(super) fn latency(&self, measured: &[Endpoint]) -> Option<f64> {
        let (first, _) = self.named.first()?;
        measured.iter().find(|it| it.name == *first)?.latency_ms.map(|it| it as f64)
    }

    /// The same of what was kept.
    pub(super) fn latency_kept(&self, outside: &serde_json::Value) -> Option<f64> {
        let (first, _) = self.named.first()?;
        outside.as_array()?.iter().find(|it| it["name"] == first.as_str())?["latency_ms"].as_f64()
    }
}

/// What nobody can tell is not kept, and how long a monitor takes to answer says nothing about the host.
fn kept(name: &str, check: &Check, found: &Found) -> Option<Endpoint> {
    let healthy = health(found, Steady(0))?.healthy;
    let took = match found {
        Found::Passed { took } if !matches!(check, Check::Gatus { .. }) => Some(took.as_millis() as u64),
        _ => None,
    };
    Some(Endpoint { name: name.to_owned(), healthy, latency_ms: took })
}

pub(super) fn health(found: &Found, at: Steady) -> Option<Health> {
    match found {
        Found::Passed { .. } => Some(Health { healthy: true, at }),
        Found::Failed { .. } | Found::TimedOut => Some(Health { healthy: false, at }),
        Found::Unknown { .. } => None,
    }
}

fn seen(found: &Found) -> Seen {
    health(found, Steady(0)).map_or(Seen::Unknown, |it| if it.healthy { Seen::Yes } else { Seen::No })
}

fn worse(one: Seen, other: Seen) -> Seen {
    match (one, other) {
        (Seen::No, _) | (_, Seen::No) => Seen::No,
        (Seen::Unknown, _) | (_, Seen::Unknown) => Seen::Unknown,
        (Seen::Yes, Seen::Yes) => Seen::Yes,
    }
}

/// An address has to take a connection, a page to answer with a status below 400.
fn endpoint(text: &str) -> Option<Check> {
    if text.contains("://") { text.parse().ok() } else { format!("tcp://{text}").parse().ok() }
}

/// An address and port as an endpoint is called, which knows no brackets; of a page those of its server.
fn endpoint_name(endpoint: &str) -> String {
    let page = endpoint.parse::<holdfast_probe::Url>().ok();
    page.map_or_else(|| endpoint.to_owned(), |url| url.address().to_string()).replace(['[', ']'], "")
}

/// The look as it is written, in the characters an endpoint's name has, and without a query, which may have a secret in it.
fn probe_name(text: &str) -> String {
    let shown = text.split_once('?').map_or(text, |(before, _)| before);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/:@-".contains(c);
    let named = shown.replace("://", ":").replace(['[', ']'], "").replace("/#", ":");
    named.chars().map(|c| if plain(c) { c } else { '-' }).take(NAME_LEN_MAX - 4).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn looks(endpoint: Option<&str>, probes: &[&str], references: &[&str]) -> Looks {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let target = config::StewardTarget {
            endpoint: endpoint.map(str::to_owned),
            probes: list(probes),
            references: list(references),
            ..config::StewardTarget::named("box-1".to_owned())
        };
        Looks::of(&target)
    }

    fn now() -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000).unwrap()
    }

    #[test]
    fn a_look_is_called_as_it_is_written_and_each_has_a_name_of_its_own() {
        let probes = [
            "https://box/health?token=x",
            "https://box/health?token=y",
            "tls://[fd00::1]:443?days=14",
            "gatus+https://status.lan/#home_web,home_db",
            "tailscale:nAbC",
        ];
        let looks = looks(Some("https://[fd00::1]/x"), &probes, &[]);
        let names = [
            "fd00::1:443",
            "https:box/health",
            "https:box/health@2",
            "tls:fd00::1:443",
            "gatus-https:status.lan:home_web-home_db",
        ];
        assert_eq!(looks.names(), names);
        let endpoints = looks.names().into_iter();
        for name in endpoints {
            name.parse::<holdfast_steward::sample::EndpointName>().unwrap();
        }
    }

    #[test]
    fn a_host_is_blamed_only_while_somebody_else_answers() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let well = open.local_addr().unwrap();
        let shut = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (well, ill) = (format!("tcp://{well}"), format!("tcp://{shut}"));
        let round = |probes: &[&str], references: &[&str]| looks(None, probes, references).round(now(), None);

        assert!(round(&[&well], &[]).references, "nobody is asked");
        let seen = round(&[&ill], &[&ill, &well]);
        assert!(seen.references && matches!(seen.found[0].1, Found::Failed { .. }));
        assert!(!round(&[&ill], &[&ill]).references);
        assert!(!round(&[&well], &[&ill]).references, "nor is it praised");
        assert_eq!(round(&[&well], &[]).vpn, None);
    }

    #[test]
    fn what_somebody_believes_is_kept_apart_and_what_nobody_can_tell_is_not_kept() {
        // There is no such program here, so nobody can tell.
        let looks = looks(None, &["gatus+http://127.0.0.1:1/#web", "tailscale:nAbC"], &[]);
        let seen = looks.round(now(), None);
        assert_eq!(seen.vpn, Some(Seen::Unknown));
        assert!(matches!(&seen.found[..], [(_, Found::Unknown { .. })]), "{seen:?}");
        assert_eq!(looks.measure(now()), []);
        assert_eq!(
            (worse(Seen::Yes, Seen::Unknown), worse(Seen::Unknown, Seen::No)),
            (Seen::Unknown, Seen::No)
        );
    }

    #[test]
    fn a_page_that_is_not_well_is_told_from_one_that_is() {
        use std::io::{Read as _, Write as _};
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let page = format!("http://{}/health", open.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            for status in [200, 503] {
                let (mut stream, _) = open.accept().unwrap();
                let _ = stream.read(&mut [0; 1024]);
                let said = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(said.as_bytes()).unwrap();
            }
        });
        let looks = looks(Some(&page), &[], &[]);
        let measured = looks.measure(now());
        assert!(measured[0].healthy && looks.latency(&measured).is_some());
        assert_eq!(looks.latency_kept(&serde_json::to_value(&measured).unwrap()), looks.latency(&measured));
        let measured = looks.measure(now());
        assert!(!measured[0].healthy, "it is there, and not well");
        assert_eq!(looks.latency(&measured), None);
        answering.join().unwrap();
        assert!(!looks.measure(now())[0].healthy, "it is gone");
    }
}
