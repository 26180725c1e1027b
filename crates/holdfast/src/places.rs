//! Where Holdfast's files lie. A pure decision: what the process was told and what the machine looks like
//! go in as values, paths come out.
//!
//! | told | then |
//! |---|---|
//! | `--home`, or else `HOLDFAST_HOME` | `etc/ state/ run/` below it |
//! | neither; started by systemd with the three directories of a unit | those |
//! | neither; root or the service's user, and `/etc/holdfast` is there | the places a system install has |
//! | neither | `etc/ state/ run/` below `~/.local/state/holdfast` |

use std::path::{Path, PathBuf};

use crate::problem::CliError;

/// What the decision rests on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// `--home`.
    pub(crate) flag: Option<PathBuf>,
    /// `HOLDFAST_HOME`; empty means unset, as for most variables.
    pub(crate) holdfast_home: Option<PathBuf>,
    /// `CONFIGURATION_DIRECTORY`, `STATE_DIRECTORY` and `RUNTIME_DIRECTORY`, as systemd sets them for a unit.
    pub(crate) unit: [Option<PathBuf>; 3],
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    pub(crate) is_root: bool,
    /// Whether `/etc/holdfast` is there.
    pub(crate) system_install: bool,
    /// Whether `/var/lib/holdfast` belongs to this user: the one the service runs as.
    pub(crate) owns_system: bool,
}

/// The three directories, and how the user would name them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) etc: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) run: PathBuf,
    /// The one directory above the three, unless this is a system install.
    pub(crate) home: Option<PathBuf>,
    /// `--home` was given, so a command shown to the user has to give it too.
    pub(crate) named_by_flag: bool,
}

/// Where a file is in the machine's memory whose name begins like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFolder {
    pub(crate) path: PathBuf,
    pub(crate) beginning: String,
    /// It is used only where it is the home's owner's, and nobody else may enter it.
    pub(crate) owners_alone: bool,
}

pub(crate) const SYSTEM_ETC: &str = "/etc/holdfast";
pub(crate) const SYSTEM_STATE: &str = "/var/lib/holdfast";

impl Places {
    pub(crate) fn find(facts: &Facts) -> Result<Places, CliError> {
        let set = |path: &Option<PathBuf>| path.clone().filter(|p| !p.as_os_str().is_empty());
        if let Some(home) = set(&facts.flag) {
            return Ok(Places { named_by_flag: true, ..Places::below(&home) });
        }
        if let Some(home) = set(&facts.holdfast_home) {
            return Ok(Places::below(&home));
        }
        // Another service's directories are none of ours, though we may have been started from it.
        let ours = |path: &Option<PathBuf>| set(path).filter(|path| path.ends_with("holdfast"));
        if let [Some(etc), Some(state), Some(run)] = &facts.unit.each_ref().map(ours) {
            let (etc, state, run) = (etc.clone(), state.clone(), run.clone());
            return Ok(Places { etc, state, run, home: None, named_by_flag: false });
        }
        if (facts.is_root || facts.owns_system) && facts.system_install {
            return Ok(Places::system());
        }
        match set(&facts.home) {
            Some(home) => Ok(Places::below(&home.join(".local/state/holdfast"))),
            None => Err(CliError::NoHome),
        }
    }

    fn below(home: &Path) -> Places {
        // The current directory may be gone; then the path stays as it was given.
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        Places {
            etc: home.join("etc"),
            state: home.join("state"),
            run: home.join("run"),
            home: Some(home),
            named_by_flag: false,
        }
    }

    fn system() -> Places {
        Places {
            etc: SYSTEM_ETC.into(),
            state: SYSTEM_STATE.into(),
            run: "/run/holdfast".into(),
            home: None,
            named_by_flag: false,
        }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.state.join("journal")
    }

    /// Whether there is a journal: a directory that a killed start left is none yet.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal().join("META").exists()
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.etc.join("keys")
    }

    pub(crate) fn log_key(&self) -> PathBuf {
        self.keys().join("log.key")
    }

    pub(crate) fn manifest_key(&self) -> PathBuf {
        self.keys().join("manifest.key")
    }

    pub(crate) fn approvals_key(&self) -> PathBuf {
        self.keys().join("approvals.key")
    }

    pub(crate) fn witness_key(&self) -> PathBuf {
        self.keys().join("witness.key")
    }

    /// Signs verdicts that a passkey confirmed.
    pub(crate) fn gateway_key(&self) -> PathBuf {
        self.keys().join("gateway.key")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.keys().join("vault")
    }

    pub(crate) fn trust(&self) -> PathBuf {
        self.etc.join("trust.json")
    }

    /// The control plane's own settings.
    pub(crate) fn config(&self) -> PathBuf {
        self.etc.join("config.yaml")
    }

    /// There once the home was made whole: a journal that is gone then is lost, not yet to be made.
    pub(crate) fn made(&self) -> PathBuf {
        self.etc.join("made.json")
    }

    /// Where the daemon listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.run.join("holdfast.sock")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.state.join("index.db")
    }

    pub(crate) fn metrics(&self) -> PathBuf {
        self.state.join("metrics.db")
    }

    /// Who may come in, and who is signed in.
    pub(crate) fn gateway_db(&self) -> PathBuf {
        self.state.join("gateway.db")
    }

    /// What services behind the gateway recognise its people by.
    pub(crate) fn services_key(&self) -> PathBuf {
        self.state.join("gateway/services.key")
    }

    /// The gateway's certificates, and the authority of this house.
    pub(crate) fn gateway_certificates(&self) -> PathBuf {
        self.state.join("gateway/certificates")
    }

    /// What agents remember, as it is searched; all of it is made from the journal.
    pub(crate) fn memory(&self) -> PathBuf {
        self.state.join("memory")
    }

    /// Models that were fetched, a folder each.
    pub(crate) fn models(&self) -> PathBuf {
        self.state.join("models")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.state.join("backups")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.state.join("log")
    }

    /// What was applied to hosts, as git, and the key its commits are signed with.
    pub(crate) fn history(&self) -> PathBuf {
        self.state.join("history/repository.git")
    }

    pub(crate) fn history_key(&self) -> PathBuf {
        self.state.join("history/signing.key")
    }

    /// What people were told.
    pub(crate) fn notices(&self) -> PathBuf {
        self.logs().join("notices.jsonl")
    }

    /// What the health checks said.
    pub(crate) fn health_log(&self) -> PathBuf {
        self.logs().join("health.jsonl")
    }

    /// What is wrong now; not there when nothing is.
    pub(crate) fn findings(&self) -> PathBuf {
        self.state.join("findings.json")
    }

    /// Its presence halts all autonomy.
    pub(crate) fn paused(&self) -> PathBuf {
        self.state.join("paused.json")
    }

    /// The same while the disk of [`Places::paused`] takes no write: in the machine's memory, which outlives the daemon. A system install has
    /// a directory there. A home has a name of its own in the folder that the system gives its owner (`uid`) while they are signed in, or else where
    /// everybody may write. It goes by the home alone and not by the environment: every process finds it.
    pub(crate) fn paused_in_memory(&self, uid: u32) -> Vec<MemoryFolder> {
        let Some(home) = &self.home else {
            return vec![MemoryFolder {
                path: self.run.clone(),
                beginning: "paused".into(),
                owners_alone: false,
            }];
        };
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        let digest = blake3::hash(home.as_os_str().as_encoded_bytes()).to_hex();
        let beginning = format!("holdfast-paused-{}", &digest[..32]);
        let folder = |path: PathBuf, owners_alone| {
            let beginning = beginning.clone();
            MemoryFolder { path, beginning, owners_alone }
        };
        vec![folder(format!("/run/user/{uid}").into(), true), folder("/dev/shm".into(), false)]
    }

    /// Under which name this home cosigns for others.
    pub(crate) fn witness_name(&self) -> PathBuf {
        self.etc.join("witness.json")
    }

    /// What this home has cosigned for others.
    pub(crate) fn witness_seen(&self) -> PathBuf {
        self.state.join("witness.json")
    }

    /// A path as shown to people: relative to the home where there is one.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        below.unwrap_or(path).display().to_string()
    }

    /// How to call the program for this home again, up to the subcommand.
    pub(crate) fn program(&self) -> String {
        match &self.home {
            Some(home) if self.named_by_flag => format!("holdfast --home {}", quoted(home)),
            _ => "holdfast".to_owned(),
        }
    }
}

/// A path as it can be pasted into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(facts: Facts, etc: &str) {
        let found = Places::find(&facts).map(|p| p.etc.display().to_string());
        assert_eq!(found.unwrap_or_else(|e| e.to_string()), etc, "{facts:?}");
    }

    fn some(path: &str) -> Option<PathBuf> {
        Some(path.into())
    }

    #[test]
    fn the_flag_wins_over_the_variable_and_both_over_the_system() {
        let all = Facts {
            flag: some("/f"),
            holdfast_home: some("/v"),
            unit: [some("/u/etc/holdfast"), some("/u/lib/holdfast"), some("/u/run/holdfast")],
            home: some("/h"),
            is_root: true,
            system_install: true,
            owns_system: false,
        };
        check(all.clone(), "/f/etc");
        check(Facts { flag: None, ..all.clone() }, "/v/etc");
        let unit = Facts { flag: None, holdfast_home: None, ..all };
        check(unit.clone(), "/u/etc/holdfast");
        let other = Facts { unit: [some("/e/agent"), some("/l/agent"), some("/r/agent")], ..unit.clone() };
        check(other, "/etc/holdfast");
        // Two of them are no unit's: somebody else's variable must not move half a home.
        let bare = Facts { unit: [some("/u/etc/holdfast"), some("/u/lib/holdfast"), None], ..unit };
        check(bare.clone(), "/etc/holdfast");
        let no_system = Facts { system_install: false, ..bare.clone() };
        check(no_system, "/h/.local/state/holdfast/etc");
        let user = Facts { is_root: false, ..bare };
        let service = Facts { owns_system: true, ..user.clone() };
        check(service, "/etc/holdfast");
        check(user, "/h/.local/state/holdfast/etc");
    }

    #[test]
    fn without_any_home_there_is_no_place_and_an_empty_name_is_none() {
        assert!(matches!(Places::find(&Facts::default()), Err(CliError::NoHome)));
        let empty = Facts { flag: some(""), holdfast_home: some(""), home: some(""), ..Facts::default() };
        assert!(matches!(Places::find(&empty), Err(CliError::NoHome)));
    }

    #[test]
    fn a_command_shown_to_the_user_names_the_home_as_the_user_did() {
        let flag = Facts { flag: some("/my home"), ..Facts::default() };
        assert_eq!(Places::find(&flag).unwrap().program(), "holdfast --home '/my home'");
        let variable = Facts { holdfast_home: some("/v"), ..Facts::default() };
        assert_eq!(Places::find(&variable).unwrap().program(), "holdfast");
    }

    #[test]
    fn every_home_has_its_own_place_for_a_pause_in_memory() {
        let folders = |places: Places| places.paused_in_memory(1_000);
        let (a, b) = (folders(Places::below(Path::new("/a"))), folders(Places::below(Path::new("/b"))));
        let paths: Vec<_> = a.iter().map(|folder| folder.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/run/user/1000", "/dev/shm"]);
        assert!(a[0].owners_alone && a[0].beginning == a[1].beginning && a[0].beginning != b[0].beginning);
        let system = folders(Places::system());
        assert_eq!((system.len(), system[0].path.as_path()), (1, Path::new("/run/holdfast")));
    }

    #[test]
    fn a_path_is_quoted_where_a_shell_would_take_it_apart() {
        assert_eq!(quoted(Path::new("/a-b/c.d")), "/a-b/c.d");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
