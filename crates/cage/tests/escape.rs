//! Every way out that is known, tried from inside: all are refused, and those that are harmless to let through do get
//! through when the layers that refuse them are switched off. So the suite can see.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast_cage::{Access, Destination, Files, Input, Layer, Sinks};
use holdfast_intruder::{ATTEMPTS, Attempt, Group, Layer as Named, Outcome, Report, SECRET, Stage};
use support::{Kept, Trial, folder, identity, launcher, until};

/// A network of this thread's own, with a link-local address and another interface in it; only root can have one. What is started from here on is
/// in it too.
#[expect(deprecated, reason = "it is unsound for descriptors alone, which are shared here")]
fn own_network() -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    rustix::thread::unshare(rustix::thread::UnshareFlags::NEWNET).unwrap();
    for arguments in [
        &["link", "set", "lo", "up"][..],
        &["addr", "add", "169.254.169.254/32", "dev", "lo"],
        &["link", "add", "decoy0", "type", "veth", "peer", "name", "decoy1"],
        &["addr", "add", "192.0.2.7/32", "dev", "decoy0"],
        &["link", "set", "decoy0", "up"],
    ] {
        assert!(Command::new("ip").args(arguments).status().unwrap().success(), "{arguments:?}");
    }
    true
}

/// The intruder's program lies beside the launcher.
fn intruder() -> PathBuf {
    launcher().path().with_file_name("holdfast-intruder")
}

struct Theatre {
    stage: Stage,
    trial: Trial,
    _work: tempfile::TempDir,
}

impl Theatre {
    fn open() -> Theatre {
        let work = folder();
        let who = identity();
        let mut stage = Stage::set(who.uid, who.gid, &intruder()).unwrap();
        let (host, port) = stage.with_proxy(SocketAddr::from(([127, 0, 0, 1], 3128)));
        let mut trial = Trial::of("online", work.path());
        trial.environment = vec![(SECRET.to_owned(), "set outside".to_owned())];
        trial.policy.destinations.push(Destination::by_hand(
            host,
            vec![port],
            true,
            "the decoy that is granted",
        ));
        let mut grant = |path: &Path, access, run| {
            trial.policy.files.push(Files::by_hand(
                path.display().to_string(),
                access,
                run,
                false,
                "a decoy",
            ));
        };
        grant(&stage.readonly(), Access::Read, false);
        grant(&stage.hidden(), Access::Hidden, false);
        grant(&stage.work(), Access::Write, true);
        grant(stage.programs(), Access::Read, true);
        Theatre { stage, trial, _work: work }
    }

    fn attempts(&mut self, names: &[&str], off: &[Layer]) -> Vec<Report> {
        self.trial.off = off.to_vec();
        let program = self.stage.intruder().display().to_string();
        let argv: Vec<&str> = [program.as_str(), "try"].into_iter().chain(names.iter().copied()).collect();
        let (out, err) = (Kept::default(), Kept::default());
        let sinks = Sinks { output: Box::new(out.clone()), errors: Box::new(err.clone()) };
        let input = Input::From(self.stage.decoys_on_a_pipe().unwrap());
        let running = launcher().start(&self.trial.plan(&argv), &self.trial.policy, input, sinks);
        let evidence = running.unwrap_or_else(|e| panic!("{off:?}: {e}")).wait().unwrap();
        assert_eq!(evidence.code(), 0, "{off:?} {} {}", evidence.end(), err.text());
        out.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A layer of the catalogue that a plan can be without.
fn switchable(named: Named) -> Option<Layer> {
    Some(match named {
        Named::View => Layer::View,
        Named::PidNamespace => Layer::PidNamespace,
        Named::NetNamespace => Layer::NetNamespace,
        Named::IpcNamespace => Layer::IpcNamespace,
        Named::UtsNamespace => Layer::UtsNamespace,
        Named::CgroupNamespace => Layer::CgroupNamespace,
        Named::Capabilities => Layer::Capabilities,
        Named::NoNewPrivileges => Layer::NoNewPrivileges,
        Named::Landlock => Layer::Landlock,
        Named::Seccomp => Layer::Seccomp,
        Named::Limits => Layer::Limits,
        _ => return None,
    })
}

/// What a machine may not have set up: its decoy is missing, and the report says so.
fn is_not_here(report: &Report, stage: &Stage) -> bool {
    let decoys = serde_json::to_value(&stage.decoys).unwrap();
    match &report.outcome {
        Outcome::CouldNotTry { why } => {
            let decoy = why.split('`').nth(1).unwrap_or_default();
            why.ends_with("is not set up") && decoys[decoy].is_null()
        }
        _ => false,
    }
}

#[test]
fn every_way_out_is_refused() {
    let has_network = own_network();
    let mut theatre = Theatre::open();
    if has_network {
        assert_eq!(theatre.stage.decoys.link_local.unwrap().to_string(), "169.254.169.254:80");
    }
    let reports = theatre.attempts(&[], &[]);
    assert_eq!(reports.len(), ATTEMPTS.len());
    assert!(reports.len() >= 190);
    let open: Vec<&Report> = reports
        .iter()
        .filter(|report| {
            !matches!(report.outcome, Outcome::Refused { .. }) && !is_not_here(report, &theatre.stage)
        })
        .collect();
    assert!(open.is_empty(), "{open:#?}");
    let untried = reports.iter().filter(|report| is_not_here(report, &theatre.stage)).count();
    let most = if has_network { 1 } else { 4 };
    assert!(untried <= most, "{untried} could not be tried");
    let groups: BTreeSet<Group> = reports.iter().map(|report| report.group).collect();
    assert_eq!(groups.len(), Group::ALL.len(), "every kind of way out was tried");
    until("nothing is left behind", || theatre.stage.traces().is_empty() && theatre.stage.is_unspoilt());
}

/// Of each attempt, the layers that have to be off for it to get through; none where one of them cannot be.
fn layers_of(attempt: &Attempt) -> Option<BTreeSet<Layer>> {
    attempt.layers.iter().map(|layer| switchable(*layer)).collect()
}

#[test]
fn what_is_harmless_gets_through_when_its_layers_are_off() {
    own_network();
    let mut theatre = Theatre::open();
    let mut by_layers: BTreeMap<Vec<Layer>, Vec<&str>> = BTreeMap::new();
    for attempt in ATTEMPTS.iter().filter(|attempt| attempt.harmless) {
        if let Some(layers) = layers_of(attempt) {
            by_layers.entry(layers.into_iter().collect()).or_default().push(attempt.name);
        }
    }
    let (mut seen, mut shut) = (0, Vec::new());
    for (layers, names) in &by_layers {
        for report in theatre.attempts(names, layers) {
            match report.outcome {
                Outcome::Through { .. } => seen += 1,
                _ if is_not_here(&report, &theatre.stage) => {}
                _ => shut.push(format!("{layers:?} {report:?}")),
            }
        }
    }
    assert!(shut.is_empty(), "{}", shut.join("\n"));
    assert!(seen >= 145, "{seen}");
    until("nothing is left behind", || theatre.stage.traces().is_empty() && theatre.stage.is_unspoilt());
}
