//! Every step on a NixOS host, as one program with its exact arguments. No shell, nothing passed through: what varies is a commit, a path of
//! the store, a number, a name of ours, or a unit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::setting::UnitName;

use crate::place::Place;
use crate::store::{Commit, StorePath};

/// What a host is evaluated to, for the gates.
pub(crate) const COM: &str = include_str!("com.nix");

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    // --- looking
    /// Which system runs.
    Current,
    /// Which system the profile names: what a boot gives.
    Profile,
    /// Every numbered link of the profile and where it leads.
    Generations,
    Uptime,
    BootId,
    Memory,
    Pressure,
    Space,
    Units {
        units: Vec<UnitName>,
    },
    /// How often the kernel killed something of a unit.
    Kills {
        group: String,
    },
    // --- judging and building it
    Parse {
        file: PathBuf,
    },
    Evaluate {
        commit: Commit,
    },
    FlakeCheck {
        commit: Commit,
    },
    Build {
        commit: Commit,
        link: PathBuf,
    },
    /// A link that keeps it in the store.
    Root {
        system: StorePath,
        link: PathBuf,
    },
    /// Whether it is whole in the store.
    IsValid {
        system: StorePath,
    },
    // --- running it
    Switch {
        system: StorePath,
        how: How,
    },
    Activate {
        unit: String,
        episode: EpisodeId,
        candidate: Identity,
    },
    IsActive {
        unit: String,
    },
    Stop {
        unit: String,
    },
    /// Has the lease looked at when it may have run out.
    Timer {
        unit: String,
        after: Duration,
    },
    // --- what boots, and what may go
    SetProfile {
        system: StorePath,
    },
    SwitchGeneration {
        number: u32,
    },
    DeleteGenerations {
        numbers: Vec<u32>,
    },
    CollectStore,
}

/// What an activation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Run it; what boots stays.
    Test,
    /// Boot into it; what runs stays.
    Boot,
    /// Both.
    Switch,
}

impl How {
    pub const fn as_str(self) -> &'static str {
        match self {
            How::Test => "test",
            How::Boot => "boot",
            How::Switch => "switch",
        }
    }
}

const LOOK_WITHIN: Duration = Duration::from_secs(20);
const EVALUATE_WITHIN: Duration = Duration::from_secs(300);
/// A build of a few unit files, on a small host, with everything else at hand.
const BUILD_WITHIN: Duration = Duration::from_secs(1800);
const SWITCH_WITHIN: Duration = Duration::from_secs(600);
/// As little as can be of the host's memory pressure is ours.
const NIX: [&str; 8] = [
    "nix",
    "--extra-experimental-features",
    "nix-command flakes",
    "--option",
    "allow-import-from-derivation",
    "false",
    "--max-jobs",
    "1",
];
const LOCKED: [&str; 2] = ["--no-write-lock-file", "--no-update-lock-file"];

impl Step {
    /// The program and its arguments, whole.
    pub fn argv(&self, place: &Place) -> Vec<String> {
        match self {
            Step::Current => words(&["readlink", "--canonicalize-existing", "--"], [path(&place.current)]),
            Step::Profile => words(&["readlink", "--canonicalize-existing", "--"], [path(&place.profile)]),
            Step::Generations => {
                let (folder, name) = split(&place.profile);
                let links = format!("{name}-*-link");
                let mut argv = words(&["find"], [folder]);
                argv.extend(words(
                    &["-maxdepth", "1", "-type", "l", "-name", &links, "-printf", "%f %l\\n"],
                    [],
                ));
                argv
            }
            Step::Uptime => words(&["cat", "--", "/proc/uptime"], []),
            Step::BootId => words(&["cat", "--", "/proc/sys/kernel/random/boot_id"], []),
            Step::Memory => words(&["cat", "--", "/proc/meminfo"], []),
            Step::Pressure => words(&["cat", "--", "/proc/pressure/memory"], []),
            Step::Space => words(&["df", "--block-size=1", "--output=avail", "--"], [path(&place.store)]),
            Step::Units { units } => words(
                &["systemctl", "show", "--property=Id,ActiveState,NRestarts,ControlGroup", "--"],
                units.iter().map(ToString::to_string),
            ),
            Step::Kills { group } => words(&["cat", "--"], [format!("/sys/fs/cgroup{group}/memory.events")]),
            Step::Parse { file } => words(&["nix-instantiate", "--parse", "--"], [path(file)]),
            Step::Evaluate { commit } => {
                let of =
                    format!("{}#nixosConfigurations.\"{}\".config", flake(place, commit), place.attribute);
                nix(&["eval", "--json"], &[&of, "--apply", COM])
            }
            Step::FlakeCheck { commit } => nix(&["flake", "check", "--no-build"], &[&flake(place, commit)]),
            Step::Build { commit, link } => {
                let of = format!(
                    "{}#nixosConfigurations.\"{}\".config.system.build.toplevel",
                    flake(place, commit),
                    place.attribute
                );
                nix(&["build", "--cores", "1", "--out-link", &path(link)], &[&of])
            }
            Step::Root { system, link } => words(
                &["nix-store", "--add-root", &path(link), "--indirect", "--realise", "--"],
                [system.to_string()],
            ),
            Step::IsValid { system } => words(&["nix-store", "--check-validity", "--"], [system.to_string()]),
            Step::Switch { system, how } => {
                words(&[&format!("{system}/bin/switch-to-configuration"), how.as_str()], [])
            }
            Step::Activate { unit, episode, candidate } => {
                let mut argv =
                    words(&["systemd-run", "--quiet", "--collect", "--no-block"], [format!("--unit={unit}")]);
                argv.extend(words(&["--", &path(&place.program), "activate"], []));
                argv.extend([episode.to_string(), candidate.to_string()]);
                argv
            }
            Step::IsActive { unit } => {
                words(&["systemctl", "show", "--property=ActiveState", "--value", "--"], [service(unit)])
            }
            Step::Stop { unit } => words(&["systemctl", "stop", "--"], [service(unit)]),
            Step::Timer { unit, after } => {
                let mut argv = words(&["systemd-run", "--quiet", "--collect"], [format!("--unit={unit}")]);
                // What could not be undone is tried again until it is: nobody else may be there to do it.
                argv.extend(words(
                    &[
                        &format!("--on-active={}s", after.as_secs()),
                        "--timer-property=AccuracySec=100ms",
                        "--property=Restart=on-failure",
                        "--property=RestartSec=5s",
                        "--property=StartLimitIntervalSec=0",
                        "--",
                        &path(&place.program),
                        "expire",
                    ],
                    [],
                ));
                argv
            }
            Step::SetProfile { system } => nix_env(place, &["--set", system.as_str()]),
            Step::SwitchGeneration { number } => {
                nix_env(place, &["--switch-generation", &number.to_string()])
            }
            Step::DeleteGenerations { numbers } => {
                let mut argv = nix_env(place, &["--delete-generations"]);
                argv.extend(numbers.iter().map(u32::to_string));
                argv
            }
            Step::CollectStore => words(&["nix-store", "--gc"], []),
        }
    }

    /// How long it may take before it is ended.
    pub fn within(&self) -> Duration {
        match self {
            Step::Evaluate { .. } | Step::FlakeCheck { .. } => EVALUATE_WITHIN,
            Step::Build { .. } | Step::CollectStore => BUILD_WITHIN,
            Step::Switch { .. } | Step::Stop { .. } => SWITCH_WITHIN,
            _ => LOOK_WITHIN,
        }
    }
}

fn words(fixed: &[&str], more: impl IntoIterator<Item = String>) -> Vec<String> {
    fixed.iter().map(|&word| word.to_owned()).chain(more).collect()
}

fn nix(command: &[&str], args: &[&str]) -> Vec<String> {
    [NIX.as_slice(), command, LOCKED.as_slice(), args]
        .into_iter()
        .flatten()
        .map(|&word| word.to_owned())
        .collect()
}

fn nix_env(place: &Place, args: &[&str]) -> Vec<String> {
    words(&["nix-env", "--profile", &path(&place.profile)], args.iter().map(|&arg| arg.to_owned()))
}

/// Exactly this commit, from the repository of ours: Nix runs git there, and git there has no settings of people.
fn flake(place: &Place, commit: &Commit) -> String {
    format!("git+file://{}?rev={commit}", place.borrowed().display())
}

fn service(unit: &str) -> String {
    format!("{unit}.service")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn split(path: &Path) -> (String, String) {
    let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    (folder, path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
}
