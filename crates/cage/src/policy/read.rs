//! Policies from their text, and whether they are true to their examples.

use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::calls::Calls;
use crate::plan::PROXY_PORT;

/// Why a policy was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("{0}")]
    Text(String),
    #[error("{grant}: {what}")]
    Grant { grant: String, what: &'static str },
    #[error("{grant}: the example {example:?} is no deed: {what}")]
    Example { grant: String, example: String, what: &'static str },
    #[error("{grant}: {example:?} is to be allowed, and is refused")]
    Narrow { grant: String, example: String },
    #[error("{grant}: {example:?} is to be refused, and is allowed")]
    Wide { grant: String, example: String },
    #[error("there is no policy {0:?}; there are: {names}", names = names())]
    NoBase(String),
}

const BUILTIN: &[(&str, &str)] = &[
    ("quiet", include_str!("../../policies/quiet.toml")),
    ("work", include_str!("../../policies/work.toml")),
    ("online", include_str!("../../policies/online.toml")),
    ("model", include_str!("../../policies/model.toml")),
];

fn names() -> String {
    BUILTIN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    why: String,
    extends: Option<String>,
    #[serde(default)]
    files: Vec<Files>,
    #[serde(default)]
    service: Vec<Service>,
    #[serde(default)]
    destination: Vec<Destination>,
    namespace: Option<PathBuf>,
    #[serde(default)]
    variable: Vec<Variable>,
    #[serde(default)]
    calls: Vec<CallGroup>,
    #[serde(default)]
    limits: Limits,
    lacking: Option<Lacking>,
    /// Leaves git's hooks and configuration writable.
    let_planted_code_run_outside_later: Option<bool>,
}

/// How many policies may extend one another.
const DEEPEST: usize = 4;

impl Policy {
    /// The policies that come with the program: name and text.
    pub fn builtin() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUILTIN.iter().copied()
    }

    /// One that comes with the program.
    pub fn named(name: &str) -> Result<Policy, PolicyError> {
        let text = BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        Policy::parse(text.ok_or_else(|| PolicyError::NoBase(name.to_owned()))?)
    }

    /// From its text, with everything it extends; checked against its examples.
    pub fn parse(text: &str) -> Result<Policy, PolicyError> {
        Policy::merged(text, DEEPEST)
    }

    fn merged(text: &str, deeper: usize) -> Result<Policy, PolicyError> {
        let written: Written =
            toml::from_str(text).map_err(|e| PolicyError::Text(e.to_string().trim().to_owned()))?;
        let mut policy = match &written.extends {
            None => Policy {
                name: String::new(),
                why: String::new(),
                files: vec![],
                services: vec![],
                destinations: vec![],
                namespace: None,
                variables: vec![],
                calls: vec![],
                limits: Limits::default(),
                lacking: Lacking::default(),
                planting: Planting::default(),
            },
            Some(base) if deeper > 0 => {
                let found = BUILTIN.iter().find(|(name, _)| name == base);
                let base = found.ok_or_else(|| PolicyError::NoBase(base.clone()))?.1;
                Policy::merged(base, deeper - 1)?.opened_for_more()
            }
            Some(base) => return Err(PolicyError::NoBase(base.clone())),
        };
        policy.name = written.name;
        policy.why = written.why;
        // A grant at the same path takes the place of the one before it.
        policy.files.retain(|old| !written.files.iter().any(|new| new.path == old.path));
        policy.files.extend(written.files);
        policy.services.extend(written.service);
        policy.destinations.extend(written.destination);
        policy.namespace = written.namespace.or(policy.namespace);
        policy.variables.retain(|old| !written.variable.iter().any(|new| new.name == old.name));
        policy.variables.extend(written.variable);
        policy.calls.extend(written.calls);
        policy.limits = policy.limits.with(written.limits);
        policy.lacking = written.lacking.unwrap_or(policy.lacking);
        policy.planting = match written.let_planted_code_run_outside_later {
            Some(true) => Planting::RunsOutsideLater,
            Some(false) => Planting::Prevented,
            None => policy.planting,
        };
        policy.check()?;
        Ok(policy)
    }

    /// What it refuses has been shown; whoever extends it may grant more.
    fn opened_for_more(mut self) -> Policy {
        self.files.iter_mut().for_each(|grant| grant.shown = true);
        self.services.iter_mut().for_each(|grant| grant.shown = true);
        self.destinations.iter_mut().for_each(|grant| grant.shown = true);
        self.variables.iter_mut().for_each(|grant| grant.shown = true);
        self.calls.iter_mut().for_each(|grant| grant.shown = true);
        self
    }

    /// Whether it is whole, and true to its examples.
    fn check(&self) -> Result<(), PolicyError> {
        let of_policy = |what| PolicyError::Grant { grant: format!("policy {:?}", self.name), what };
        let named = |name: &str| {
            !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if !named(&self.name) {
            return Err(of_policy("a name is letters, digits, hyphens and underscores, 64 at most"));
        }
        if self.why.trim().is_empty() {
            return Err(of_policy("it does not say what it is for"));
        }
        for grant in &self.files {
            self.file_grant(grant)?;
        }
        for (at, grant) in self.services.iter().enumerate() {
            let taken = self.services[..at].iter().any(|other| other.port == grant.port);
            let proxy = grant.port == PROXY_PORT && !self.destinations.is_empty();
            if grant.port == 0 || taken || proxy {
                let grant = format!("service {}", grant.port);
                return Err(PolicyError::Grant {
                    grant,
                    what: "every service has a port of its own, and 3128 is the proxy's where there are destinations",
                });
            }
            if !grant.to.starts_with('/') && grant.to.parse::<std::net::SocketAddr>().is_err() {
                let grant = format!("service {}", grant.port);
                return Err(PolicyError::Grant {
                    grant,
                    what: "it leads to an address with a port, or to the path of a socket",
                });
            }
            self.examples(&format!("service {}", grant.port), grant.reason())?;
        }
        for grant in &self.destinations {
            let name = format!("destination {}", grant.host);
            if grant.ports.is_empty()
                || grant.host.is_empty()
                || grant.host != grant.host.to_ascii_lowercase()
            {
                return Err(PolicyError::Grant {
                    grant: name,
                    what: "it has ports, and its host is in small letters",
                });
            }
            self.examples(&name, grant.reason())?;
        }
        for grant in &self.variables {
            let name = format!("variable {}", grant.name);
            if grant.name.is_empty() || grant.name.contains(['=', '\0']) {
                return Err(PolicyError::Grant {
                    grant: name,
                    what: "a variable has a name without an equals sign",
                });
            }
            self.examples(&name, grant.reason())?;
        }
        for grant in &self.calls {
            let name = format!("calls {}", grant.group);
            if Calls::builtin().group(&grant.group).is_none() {
                return Err(PolicyError::Grant {
                    grant: name,
                    what: "there is no such group of system calls",
                });
            }
            self.examples(&name, grant.reason())?;
        }
        // Whatever it is, it is started, tells how that went, and ends.
        if !self.calls.iter().any(|grant| grant.group == "plain") {
            return Err(of_policy("no program starts without the calls of the group plain"));
        }
        if [self.limits.processes, self.limits.descriptors].contains(&Some(0)) {
            return Err(of_policy("nothing runs with a limit of none; leave a limit out to have none"));
        }
        if self.namespace.is_some() && !(self.services.is_empty() && self.destinations.is_empty()) {
            return Err(of_policy(
                "a given network namespace has its own ways out; services and destinations are for one of its own",
            ));
        }
        Ok(())
    }

    fn file_grant(&self, grant: &Files) -> Result<(), PolicyError> {
        Policy::check_path(grant)?;
        self.examples(&format!("files {}", grant.path), grant.reason())
    }

    pub(super) fn check_path(grant: &Files) -> Result<(), PolicyError> {
        let wrong = |what| Err(PolicyError::Grant { grant: format!("files {}", grant.path), what });
        let rooted = ["/", "{work}", "{home}"].iter().any(|root| grant.path.starts_with(root));
        if !rooted || grant.path.contains("..") || grant.path.contains('\0') {
            return wrong("a path begins with /, {work} or {home} and climbs nowhere");
        }
        let whole = normal(Path::new(&grant.path));
        let own = ["/proc", "/dev"].iter().any(|own| whole.starts_with(own));
        if !grant.path.starts_with('{') && (whole == Path::new("/") || own) {
            return wrong("the root, /proc and /dev are the cage's own");
        }
        if grant.access == Access::Hidden && grant.run {
            return wrong("what is hidden cannot be run");
        }
        Ok(())
    }

    fn examples(&self, grant: &str, reason: Reason<'_>) -> Result<(), PolicyError> {
        let wrong = |what| PolicyError::Grant { grant: grant.to_owned(), what };
        if reason.why.trim().is_empty() {
            return Err(wrong("it gives no reason"));
        }
        if reason.refused.is_empty() {
            return Err(wrong("no example shows what is still refused"));
        }
        let places = Places { work: PathBuf::from("/work"), home: PathBuf::from(HOME) };
        let granted = |example: &String| {
            let deed = Deed::parse(example).map_err(|what| PolicyError::Example {
                grant: grant.to_owned(),
                example: example.clone(),
                what,
            })?;
            Ok(self.permits(&deed, &places))
        };
        for example in reason.allowed {
            if !granted(example)? {
                return Err(PolicyError::Narrow { grant: grant.to_owned(), example: example.clone() });
            }
        }
        for example in reason.refused.iter().filter(|_| !reason.shown) {
            if granted(example)? {
                return Err(PolicyError::Wide { grant: grant.to_owned(), example: example.clone() });
            }
        }
        Ok(())
    }
}

impl Limits {
    /// These, and where they say nothing, those of the policy that is extended.
    fn with(self, over: Limits) -> Limits {
        Limits {
            time: over.time.or(self.time),
            grace: over.grace.or(self.grace),
            memory: over.memory.or(self.memory),
            cpu: over.cpu.or(self.cpu),
            processes: over.processes.or(self.processes),
            disk: over.disk.or(self.disk),
            output: over.output.or(self.output),
            descriptors: over.descriptors.or(self.descriptors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policies_that_come_with_the_program_are_true_to_their_examples() {
        for (name, _) in Policy::builtin() {
            let policy = Policy::named(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(policy.name, name);
            let grants = policy.files.len() + policy.variables.len() + policy.calls.len();
            assert!(grants > 5 && policy.limits.time.is_some() && policy.limits.memory.is_some(), "{name}");
        }
    }

    const GOOD: &str = r#"
        name = "mine"
        why = "a test"
        extends = "quiet"
        [[files]]
        path = "/srv/data"
        access = "read"
        why = "what is worked on"
        allowed = ["read /srv/data/a"]
        refused = ["write /srv/data/a", "run /srv/data/a", "read /srv/data/../other"]
        [[files]]
        path = "/srv/data/keys"
        access = "hidden"
        why = "not what is in here"
        refused = ["read /srv/data/keys/k"]
        [[destination]]
        host = "*.example.org"
        ports = [443]
        why = "the test's host"
        allowed = ["reach a.example.org:443"]
        refused = ["reach example.org:443", "reach a.example.org:80", "reach badexample.org:443"]
    "#;

    #[test]
    fn a_policy_is_refused_for_what_is_wrong_with_it() {
        assert_eq!(Policy::parse(GOOD).map(|p| p.name).unwrap(), "mine");
        let service = |port: u16| {
            format!(
                "[[service]]\nport = {port}\nto = \"127.0.0.1:1\"\nwhy = \"a\"\nrefused = [\"reach a:1\"]\n"
            )
        };
        let table = [
            ("why = \"a test\"", "why = \" \"", "does not say what it is for"),
            ("extends = \"quiet\"", "extends = \"loud\"", "no policy \"loud\""),
            ("path = \"/srv/data\"", "path = \"srv/data\"", "begins with /"),
            ("path = \"/srv/data\"", "path = \"/srv/../etc\"", "climbs nowhere"),
            ("path = \"/srv/data\"", "path = \"/proc/sys\"", "the cage's own"),
            ("access = \"read\"", "access = \"write\"", "is to be refused, and is allowed"),
            (
                "allowed = [\"read /srv/data/a\"]",
                "allowed = [\"read /srv/date/a\"]",
                "is to be allowed, and is refused",
            ),
            ("refused = [\"read /srv/data/keys/k\"]", "", "no example shows"),
            ("refused = [\"read /srv/data/keys/k\"]", "refused = [\"eat /x\"]", "begins with read"),
            ("access = \"hidden\"", "access = \"hidden\"\nrun = true", "cannot be run"),
            ("why = \"what is worked on\"", "why = \"\"", "gives no reason"),
            ("access = \"read\"", "access = \"all\"", "all"),
            ("access = \"read\"", "acess = \"read\"", "acess"),
            ("ports = [443]", "ports = []", "it has ports"),
            ("extends = \"quiet\"", "", "without the calls of the group plain"),
            ("host = \"*.example.org\"", "host = \"*.Example.org\"", "small letters"),
            ("why = \"a test\"", "why = \"a test\"\nlimits = { processes = 0 }", "a limit of none"),
            ("[[destination]]", &(service(0) + "[[destination]]"), "a port of its own"),
            ("[[destination]]", &(service(3128) + "[[destination]]"), "a port of its own"),
            ("[[destination]]", &(service(9) + &service(9) + "[[destination]]"), "a port of its own"),
        ];
        for (old, new, says) in table {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD);
            let told = Policy::parse(&text).unwrap_err().to_string();
            assert!(told.contains(says), "{new}: {told}");
        }
    }

    #[test]
    fn any_text_is_refused_or_read_and_nothing_panics() {
        use proptest::prelude::*;
        proptest!(ProptestConfig::with_cases(300), |(cut in 0usize..1200, noise in ".{0,20}")| {
            let mut text: Vec<char> = GOOD.chars().collect();
            let cut = cut.min(text.len());
            text.splice(cut..cut, noise.chars());
            let _ = Policy::parse(&text.into_iter().collect::<String>());
        });
    }
}
