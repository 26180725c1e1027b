//! Each step of taking a host in, and its undoing. What is run there is fixed text; what differs goes over standard input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_doorman::wire::Role;
use holdfast_doorman::{Arrival, Enrolment, Left};
use holdfast_durable::Mode;
use holdfast_line::shown;
use sha2::{Digest as _, Sha256};

use super::configure::{self, Inserted};
use super::edit::{Edit, New};
use super::error::remedy;
use super::hands::Hands;
use super::person::{HostKey, Input, Person, bounded, here};
use super::record::{Record, Step};
use super::{Aftermath, Fault, guard, interrupt};
use crate::places::Places;

/// Five megabytes over a line of a modem's speed.
const PUT_WITHIN: Duration = Duration::from_secs(900);
const ARRIVE_WITHIN: Duration = Duration::from_secs(180);
const REMOVE_WITHIN: Duration = Duration::from_secs(30);
const KEY_WITHIN: Duration = Duration::from_secs(20);
/// The largest program that is sent.
const PROGRAM_MAX: u64 = 256 << 20;

const ARRIVE: &str = "/usr/local/lib/holdfast/holdfast-doorman arrive";
/// A doorman that is gone has left nothing; one whose memory is there without it is told.
const LEAVE: &str = "sh -c 'if [ -x /usr/local/lib/holdfast/holdfast-doorman ]; then exec /usr/local/lib/holdfast/holdfast-doorman leave; \
fi; if [ -e /var/lib/holdfast-doorman ]; then echo \"the program is gone and /var/lib/holdfast-doorman is not\" >&2; exit 1; fi; \
echo {\\\"undone\\\":[],\\\"remains\\\":[]}'";
const REMOVE_PROGRAM: &str = "sh -c 'cd /usr/local/lib/holdfast 2>/dev/null || exit 0; echo had; rm -f holdfast-doorman holdfast-doorman.new && cd / && \
{ rmdir /usr/local/lib/holdfast 2>/dev/null || :; }'";

/// What arrives whole gets its name; what does not is gone. The digest is the one thing that is put in, and it is hexadecimal.
fn put_script(digest: &str) -> String {
    debug_assert!(digest.bytes().all(|b| b.is_ascii_hexdigit()));
    format!(
        "sh -c 'umask 022; d=/usr/local/lib/holdfast; mkdir $d 2>/dev/null; n=$d/holdfast-doorman.new; \
         if cat >$n && echo \"{digest}  $n\" | sha256sum -c - >/dev/null 2>&1 && chmod 755 $n && $n --version && mv -f $n $d/holdfast-doorman; \
         then exit 0; fi; [ -s $n ] && ls -l $n >&2; rm -f $n; rmdir $d 2>/dev/null; echo \"the program did not arrive whole, or does not run there\" >&2; exit 9'"
    )
}

/// A host that is being taken in or let go.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) places: &'a Places,
    pub(crate) person: &'a Person,
    pub(crate) record: Record,
    /// What changes files that are not the caller's.
    pub(crate) hands: Hands,
}

impl Site<'_> {
    fn folder(&self) -> PathBuf {
        Record::folder(self.places, &self.record.target)
    }

    fn as_root(&self, words: &str) -> String {
        if self.record.is_root { words.to_owned() } else { format!("sudo -n {words}") }
    }

    /// The three keys, and the host's own under the name of the target.
    pub(crate) fn make_keys(&mut self, host_key: &HostKey) -> Result<(), Fault> {
        self.record.begin(Step::Keys, self.places)?;
        let folder = self.folder();
        let line = host_key.line(&self.record.target);
        holdfast_durable::replace(&folder.join("known_hosts"), line.as_bytes(), Mode::Private)
            .map_err(here("pinning the host key"))?;
        for role in Role::ALL {
            let mut command = holdfast_subprocess::command("ssh-keygen").map_err(here("ssh-keygen"))?;
            let file = std::path::absolute(folder.join(role.as_str())).map_err(here("ssh-keygen"))?;
            command.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(file);
            let made = bounded(command, None, KEY_WITHIN).map_err(here("ssh-keygen"))?;
            let failed = |said: String| Fault::Here { what: "a key could not be made".to_owned(), said };
            match made {
                Some(said) if said.code == 0 => {}
                Some(said) => return Err(failed(said.complaint())),
                None if interrupt::has_left() => {
                    return Err(Fault::Interrupted { step: "keys are made".to_owned() });
                }
                None => return Err(failed("it took too long".to_owned())),
            }
        }
        holdfast_durable::sync_dir(&folder).map_err(here("the keys"))
    }

    pub(crate) fn put_program(&mut self, program: &Path) -> Result<String, Fault> {
        let bytes = std::fs::read(program).map_err(here(&format!("reading {}", program.display())))?;
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        drop(bytes);
        self.record.begin(Step::Program, self.places)?;
        let step = "the program is put there";
        let words = self.as_root(&put_script(&digest));
        let said = self.person.call(step, &words, Input::File(program), PUT_WITHIN)?;
        let address = self.person.address.clone();
        match said.code {
            0 => Ok(shown(&said.out)),
            _ => Err(Fault::Failed { address, step: step.to_owned(), said: said.complaint() }),
        }
    }

    pub(crate) fn arrive(&mut self, settings: Enrolment) -> Result<(), Fault> {
        let folder = self.folder();
        let public = |role: Role| {
            let path = folder.join(role.as_str()).with_extension("pub");
            std::fs::read_to_string(&path).map_err(here(&format!("reading {}", path.display())))
        };
        let keys = Role::ALL
            .into_iter()
            .map(|role| Ok((role, public(role)?.trim().to_owned())))
            .collect::<Result<BTreeMap<Role, String>, Fault>>()?;
        let arrival = Arrival { settings, keys, from: self.record.from.clone() };
        let text = serde_json::to_string(&arrival)
            .map_err(|e| Fault::Here { what: "what is sent".to_owned(), said: e.to_string() })?;
        self.record.begin(Step::Arrival, self.places)?;
        let step = "the doorman is taken in";
        let said = self.person.call(step, &self.as_root(ARRIVE), Input::Text(&text), ARRIVE_WITHIN)?;
        let address = self.person.address.clone();
        match said.code {
            0 => Ok(()),
            _ => Err(Fault::Failed {
                address,
                step: step.to_owned(),
                said: said.complaint().trim_start_matches("holdfast-doorman: ").to_owned(),
            }),
        }
    }

    /// Puts the target into config.yaml. Says whether there was a place for it.
    pub(crate) fn configure(&mut self, new: &New) -> Result<bool, Fault> {
        let path = self.places.config();
        let before = configure::read(&path).map_err(here(&format!("reading {}", path.display())))?;
        let text = before.clone().unwrap_or_else(|| "version: 1\n".to_owned());
        let edit = Edit::Put(new.clone());
        let Some((with, Some(inserted))) = edit.applied(&text) else { return Ok(false) };
        self.record.config = Some(Inserted { made_file: before.is_none(), ..inserted });
        self.record.begin(Step::Config, self.places)?;
        self.hands.write(&path, &edit, &with)?;
        Ok(true)
    }

    // --- undoing

    /// Everything that was begun, in reverse. What could not be undone stays in the record.
    pub(crate) fn undo(&mut self) -> Aftermath {
        interrupt::undoing();
        let mut after = Aftermath::default();
        while let Some(step) = self.record.begun.last().copied() {
            let (undone, remains) = self.undo_one(step);
            after.undone.extend(undone);
            if !remains.is_empty() {
                after.remains.extend(remains);
                break;
            }
            self.record.ended(step);
            if step != Step::Keys
                && let Err(e) = self.record.write(self.places)
            {
                after.remains.push(e.to_string());
                break;
            }
        }
        if after.remains.is_empty() {
            if let Err(e) = forget(self.places, &self.record.target) {
                after.remains.push(e.to_string());
            }
        } else {
            self.record.finished = false;
            let rest: Vec<&str> = self.record.begun.iter().rev().skip(1).map(|step| step.what()).collect();
            after.remains.extend(rest.into_iter().map(str::to_owned));
            after.remedy = Some(remedy(&self.record.target));
            let _ = self.record.write(self.places);
        }
        after
    }

    fn undo_one(&mut self, step: Step) -> (Vec<String>, Vec<String>) {
        let failed = |why: String| (Vec::new(), vec![format!("{}: {why}", step.what())]);
        match step {
            Step::Guard => match guard::undo(&mut self.record, self.places, &mut self.hands) {
                Ok(true) => (vec![step.what().to_owned()], Vec::new()),
                Ok(false) => (Vec::new(), Vec::new()),
                Err(e) => failed(e.to_string()),
            },
            Step::Config => match self.unconfigure() {
                Ok(true) => (vec![step.what().to_owned()], Vec::new()),
                Ok(false) => (Vec::new(), Vec::new()),
                Err(e) => failed(e.to_string()),
            },
            Step::Arrival => match self.leave() {
                Ok(left) => (left.undone, left.remains),
                Err(e) => failed(e.to_string()),
            },
            Step::Program => {
                let words = self.as_root(REMOVE_PROGRAM);
                match self.person.call("the program is removed", &words, Input::Text(""), REMOVE_WITHIN) {
                    // The doorman takes its program with it when it leaves.
                    Ok(said) if said.code == 0 && !said.out.contains("had") => (Vec::new(), Vec::new()),
                    Ok(said) if said.code == 0 => (vec![step.what().to_owned()], Vec::new()),
                    Ok(said) => failed(said.complaint()),
                    Err(e) => failed(e.to_string()),
                }
            }
            Step::Keys => match remove_keys(&self.folder()) {
                Ok(()) => (vec![step.what().to_owned()], Vec::new()),
                Err(e) => failed(e.to_string()),
            },
        }
    }

    fn leave(&self) -> Result<Left, Fault> {
        let step = "the doorman leaves";
        let said = self.person.call(step, &self.as_root(LEAVE), Input::Text(""), ARRIVE_WITHIN)?;
        let failed =
            |said| Fault::Failed { address: self.person.address.clone(), step: step.to_owned(), said };
        if said.code != 0 {
            return Err(failed(said.complaint()));
        }
        let line = said.out.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
        serde_json::from_str(line).map_err(|_| failed(shown(&said.out)))
    }

    /// Takes the target out of config.yaml. Nothing where a person has done so.
    fn unconfigure(&mut self) -> Result<bool, Fault> {
        unconfigure(self.places, &self.record, &mut self.hands)
    }
}

impl Step {
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Step::Keys => "the keys here",
            Step::Program => "the program there",
            Step::Arrival => "what the doorman made there",
            Step::Config => "the target in config.yaml",
            Step::Guard => "its guard",
        }
    }
}

pub(crate) fn unconfigure(places: &Places, record: &Record, hands: &mut Hands) -> Result<bool, Fault> {
    let path = places.config();
    let wrong = |said: &str| Fault::Here {
        what: format!("{} was left alone", path.display()),
        said: said.to_owned(),
    };
    let text = configure::read(&path).map_err(here(&format!("reading {}", path.display())))?;
    let (Some(text), Some(inserted)) = (text, &record.config) else { return Ok(false) };
    let targets = configure::targets_of(&text).ok_or_else(|| wrong("it cannot be read"))?;
    if targets.iter().all(|target| target.name != record.target) {
        return Ok(false);
    }
    let edit = Edit::TakeOut { name: record.target.clone(), inserted: inserted.clone() };
    let (without, _) = edit.applied(&text).ok_or_else(|| {
        wrong("the target stands there otherwise than it was written: take it out by hand, then say it again")
    })?;
    // What root keeps there stays, with nothing in it.
    if inserted.made_file && without == "version: 1\n" && !hands.is_root() {
        holdfast_durable::remove(&path).map_err(here(&format!("writing {}", path.display())))?;
    } else {
        hands.write(&path, &edit, &without)?;
    }
    Ok(true)
}

fn remove_keys(folder: &Path) -> std::io::Result<()> {
    for role in Role::ALL {
        let key = folder.join(role.as_str());
        holdfast_durable::remove(&key)?;
        holdfast_durable::remove(&key.with_extension("pub"))?;
    }
    holdfast_durable::remove(&folder.join("known_hosts"))
}

/// What is here of a target goes; what else people put into its folder stays.
pub(crate) fn forget(places: &Places, name: &str) -> Result<(), Fault> {
    let folder = Record::folder(places, name);
    remove_keys(&folder).and_then(|()| Record::remove(&folder)).map_err(here("removing what is here"))?;
    let _ = std::fs::remove_dir(&folder);
    // Where it was the first, the folder of all of them was made for it.
    let _ = std::fs::remove_dir(places.state.join("steward"));
    Ok(())
}

/// The doorman's program: the one that was named, the package's, or one beside this program.
pub(crate) fn doorman(named: Option<&Path>) -> Result<PathBuf, Fault> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("holdfast-doorman")));
    let places: Vec<PathBuf> = match named {
        Some(named) => vec![named.to_owned()],
        None => [Some(PathBuf::from("/usr/lib/holdfast/holdfast-doorman")), beside]
            .into_iter()
            .flatten()
            .collect(),
    };
    let is_one = |path: &&PathBuf| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= PROGRAM_MAX)
    };
    places.iter().find(is_one).cloned().ok_or_else(|| {
        let looked = places.iter().map(|path| format!("{} is not there", path.display())).collect::<Vec<_>>();
        Fault::NoDoorman { looked: looked.join(", ") }
    })
}
