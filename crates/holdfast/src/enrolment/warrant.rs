//! The hand that stays root while a command of root works as the service's user: `holdfast warrant`, which nobody types.
//!
//! It is reached out before root is given away, with what root said on the command line, and does nothing until it is asked. It lends what the
//! command has to call, and writes config.yaml, which is to stay root's. Whoever asks is no longer root, and much of what it goes by was
//! written by the user it became: so a host is lent only when root named it, by itself or in config.yaml, and a text is written only when
//! `edit.rs` finds nothing in it but the change that root asked for.

use std::io::{BufRead as _, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use holdfast_durable::{Title, replace_as};
use holdfast_egress::{Bound, Destination, Host, LEFT, Lender, PLACES_MAX, Standing, World, read_of_root};
use holdfast_journal::SystemClock;
use holdfast_types::{Clock as _, Exit};
use serde::{Deserialize, Serialize};

use super::configure::meaning;
use super::edit::Edit;
use crate::console::Console;
use crate::places::SYSTEM_ETC;
use crate::problem::{CliError, Result};

/// A text in JSON's quotes, and what is to be done with it.
const ASK_MAX: u64 = 4 * holdfast_config::BYTES_MAX as u64;
/// The filter is given what is new within a quarter of a second, once a name server has answered.
const OPEN_WITHIN: Duration = Duration::from_secs(20);
const NOTHING: &str = "version: 1\n";
/// As the package makes it.
const FRESH: Title = Title { uid: 0, gid: 0, mode: 0o644 };

/// What root said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Warrant {
    /// The target it is about
    #[arg(long, value_name = "NAME")]
    pub(crate) target: String,

    /// A host that root named
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,

    /// Where its first service answers
    #[arg(long, value_name = "ADDRESS:PORT|PAGE")]
    pub(crate) endpoint: Option<String>,

    /// Which command it was
    #[arg(long = "for", value_name = "WORDS", default_value = "")]
    pub(crate) reason: String,
}

/// What may be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Whether config.yaml can be written, and rules are kept here.
    Look {},
    /// To reach these, until it is drawn back.
    Lend { places: Vec<Place> },
    /// To write config.yaml.
    Write { edit: Edit, text: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Answer {
    /// `not_roots` is why config.yaml is not believed to be root's.
    Seen {
        not_roots: Option<String>,
        rules: bool,
    },
    /// What was not lent since root did not name it, and why the rest is not open yet.
    Lent {
        refused: Vec<Place>,
        not_yet: Option<String>,
    },
    Written {},
    Refused {
        why: String,
    },
}

/// Answers until there is nothing more to read, and gives back what it lent.
pub(crate) fn run(warrant: &Warrant, console: &mut Console) -> Result<Exit> {
    if !rustix::process::geteuid().is_root() {
        let message = "this is said by `holdfast target` to itself, as root".to_owned();
        return Err(CliError::Usage { message }.into());
    }
    let mut desk = Desk {
        warrant: warrant.clone(),
        config: Path::new(SYSTEM_ETC).join("config.yaml"),
        run: World::of_system().run,
        clock: SystemClock::new(),
        lender: None,
    };
    let mut asked = std::io::stdin().lock();
    loop {
        let mut line = String::new();
        match asked.by_ref().take(ASK_MAX).read_line(&mut line) {
            Ok(1..) => {}
            _ => return Ok(Exit::Ok),
        }
        let answer = match serde_json::from_str(&line) {
            Ok(request) => desk.answer(&request),
            Err(_) => Answer::Refused { why: "it was not understood".to_owned() },
        };
        console.json(&serde_json::json!(answer))?;
        console.flush()?;
    }
}

struct Desk {
    warrant: Warrant,
    config: PathBuf,
    run: PathBuf,
    clock: SystemClock,
    lender: Option<Lender>,
}

impl Desk {
    fn answer(&mut self, request: &Request) -> Answer {
        match request {
            Request::Look {} => Answer::Seen {
                not_roots: read_of_root(&self.config).err().map(|e| e.to_string()),
                rules: Bound::of(&self.run, self.clock.now()) != Bound::None,
            },
            Request::Lend { places } => self.lend(places),
            Request::Write { edit, text } => match self.write(edit, text) {
                Ok(()) => Answer::Written {},
                Err(why) => Answer::Refused { why },
            },
        }
    }

    fn lend(&mut self, places: &[Place]) -> Answer {
        let mut refused = Vec::new();
        match Bound::of(&self.run, self.clock.now()) {
            Bound::Kept => {}
            Bound::None => return Answer::Lent { refused, not_yet: None },
            Bound::Left => return Answer::Lent { refused, not_yet: Some(LEFT.to_owned()) },
        }
        let config = read_of_root(&self.config).ok().flatten();
        let config = config.and_then(|bytes| meaning(&String::from_utf8(bytes).ok()?));
        let named = config.as_ref().and_then(|it| {
            it.steward.targets.iter().find(|target| target.name == self.warrant.target).map(|it| &it.reach)
        });
        let mut lent: Vec<Destination> = Vec::new();
        for place in places.iter().take(PLACES_MAX) {
            match self.warrant.lends(place, named) {
                Some(to) if lent.contains(&to) => {}
                Some(to) => lent.push(to),
                None => refused.push(place.clone()),
            }
        }
        if lent.is_empty() {
            return Answer::Lent { refused, not_yet: None };
        }
        // The one before goes first: both have the same file.
        self.lender = None;
        let not_yet = match Lender::lend(&self.run, lent, &self.warrant.reason, 1) {
            Err(e) => Some(e.to_string()),
            Ok(lender) => {
                let standing = lender.wait(OPEN_WITHIN, || self.clock.now());
                self.lender = Some(lender);
                match standing {
                    Standing::Open | Standing::NotNeeded => None,
                    Standing::NotYet(why) => Some(why),
                }
            }
        };
        Answer::Lent { refused, not_yet }
    }

    fn write(&self, edit: &Edit, text: &str) -> Result<(), String> {
        self.warrant.covers(edit)?;
        let there = read_of_root(&self.config).map_err(|e| e.to_string())?;
        let before = match &there {
            Some(bytes) => std::str::from_utf8(bytes).map_err(|e| e.to_string())?,
            None => NOTHING,
        };
        edit.is_all(before, text).map_err(|e| e.to_string())?;
        let title = match there {
            Some(_) => title(&self.config).map_err(|e| e.to_string())?,
            None => FRESH,
        };
        replace_as(&self.config, text.as_bytes(), title).map_err(|e| e.to_string())
    }
}

/// Whose it is stays as it was. Whoever has put another in its place since it was read gains nothing by it: it stays root's.
fn title(path: &Path) -> std::io::Result<Title> {
    let about = path.symlink_metadata()?;
    let plain = about.is_file() && about.uid() == 0;
    let mode = about.mode() & 0o7755;
    if plain { Ok(Title { uid: 0, gid: about.gid(), mode }) } else { Ok(FRESH) }
}

impl Warrant {
    /// As it is handed over. Each word stands behind its own name, so that none of them is taken for another.
    pub(crate) fn words(&self) -> Vec<String> {
        let hosts = self.hosts.iter().map(|host| format!("--host={host}"));
        let endpoint = self.endpoint.iter().map(|endpoint| format!("--endpoint={endpoint}"));
        let rest = [format!("--target={}", self.target), format!("--for={}", self.reason)];
        rest.into_iter().chain(hosts).chain(endpoint).collect()
    }

    /// A host that root named, at the port where it answers; or where config.yaml says that the target is.
    fn lends(&self, place: &Place, named: Option<&holdfast_config::Reach>) -> Option<Destination> {
        let host = Host::read(&place.host)?;
        let is_it = |text: &str| Host::read(text).as_ref() == Some(&host);
        let by_root = self.hosts.iter().any(|it| is_it(it));
        let by_settings = named.is_some_and(|it| is_it(&it.address) && it.port == u32::from(place.port));
        (place.port != 0 && (by_root || by_settings)).then(|| Destination::tcp(host.clone(), place.port))
    }

    /// A change of what root spoke of.
    fn covers(&self, edit: &Edit) -> Result<(), String> {
        let not = |what: &str| Err(format!("root did not say so: {what}"));
        match edit {
            Edit::Put(new) if new.name != self.target => not(&new.name),
            Edit::TakeOut { name, .. } if *name != self.target => not(name),
            Edit::Put(new) if !self.hosts.iter().any(|it| Host::read(it) == Host::read(&new.address)) => {
                not(&new.address)
            }
            Edit::Put(new) if Host::read(&new.address).is_none() => not(&new.address),
            Edit::Put(new) if new.endpoint != self.endpoint => {
                not(new.endpoint.as_deref().unwrap_or("no endpoint"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;
    use crate::enrolment::edit::New;

    const DAEMON: u32 = 47_001;

    fn warrant() -> Warrant {
        Warrant {
            target: "box-1".to_owned(),
            hosts: vec!["Box-1.lan".to_owned()],
            endpoint: None,
            reason: "target add box-1".to_owned(),
        }
    }

    fn new() -> New {
        New {
            name: "box-1".to_owned(),
            address: "box-1.lan".to_owned(),
            port: 22,
            units: vec!["web.service".to_owned()],
            endpoint: None,
        }
    }

    struct Scene {
        folder: tempfile::TempDir,
    }

    impl Scene {
        /// A file of root's in a folder of the daemon's.
        fn new() -> Scene {
            assert!(rustix::process::geteuid().is_root(), "this takes root: whose a file is counts");
            let scene = Scene { folder: tempfile::tempdir().unwrap() };
            chown(scene.folder.path(), Some(DAEMON), Some(DAEMON)).unwrap();
            replace_as(&scene.config(), NOTHING.as_bytes(), Title { uid: 0, gid: DAEMON, mode: 0o640 })
                .unwrap();
            scene
        }

        fn config(&self) -> PathBuf {
            self.folder.path().join("config.yaml")
        }

        fn ask(&self, edit: &Edit, text: &str) -> Answer {
            let mut desk = Desk {
                warrant: warrant(),
                config: self.config(),
                run: self.folder.path().join("run"),
                clock: SystemClock::new(),
                lender: None,
            };
            desk.answer(&Request::Write { edit: edit.clone(), text: text.to_owned() })
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.config()).unwrap()
        }
    }

    #[track_caller]
    fn refused(answer: &Answer, said: &str) {
        assert!(matches!(answer, Answer::Refused { why } if why.contains(said)), "{said}: {answer:?}");
    }

    #[test]
    fn what_is_written_stays_root_s_and_has_the_mode_it_had() {
        let scene = Scene::new();
        let edit = Edit::Put(new());
        let (text, inserted) = edit.applied(NOTHING).unwrap();
        assert_eq!(scene.ask(&edit, &text), Answer::Written {});
        assert_eq!(scene.text(), text);
        let whose = || {
            let about = scene.config().symlink_metadata().unwrap();
            (about.uid(), about.gid(), about.mode() & 0o7777)
        };
        assert_eq!(whose(), (0, DAEMON, 0o640));
        let out = Edit::TakeOut { name: "box-1".to_owned(), inserted: inserted.unwrap() };
        assert_eq!(scene.ask(&out, NOTHING), Answer::Written {});
        assert_eq!((scene.text().as_str(), whose()), (NOTHING, (0, DAEMON, 0o640)));
        // Where there is none it is made as the package makes it.
        std::fs::remove_file(scene.config()).unwrap();
        assert_eq!(scene.ask(&edit, &text), Answer::Written {});
        assert_eq!(whose(), (0, 0, 0o644));
    }

    #[test]
    fn a_file_that_the_daemon_s_user_put_there_is_built_upon_by_nobody() {
        let scene = Scene::new();
        let edit = Edit::Put(new());
        let (text, _) = edit.applied(NOTHING).unwrap();
        let stays = |said: &str| {
            refused(&scene.ask(&edit, &text), said);
            assert_eq!(scene.text(), NOTHING, "{said}");
        };
        chown(scene.config(), Some(DAEMON), None).unwrap();
        stays("does not belong to root");
        chown(scene.config(), Some(0), None).unwrap();
        std::fs::hard_link(scene.config(), scene.folder.path().join("second")).unwrap();
        stays("not a plain file of one name");
        std::fs::remove_file(scene.config()).unwrap();
        symlink("second", scene.config()).unwrap();
        stays("not a plain file of one name");
        std::fs::remove_file(scene.config()).unwrap();
        replace_as(&scene.config(), NOTHING.as_bytes(), Title { mode: 0o666, ..FRESH }).unwrap();
        stays("can be written by others");
    }

    #[test]
    fn what_root_did_not_say_is_refused() {
        let scene = Scene::new();
        let ask = |edit: &Edit| {
            let text = edit.applied(NOTHING).map_or_else(|| NOTHING.to_owned(), |(text, _)| text);
            scene.ask(edit, &text)
        };
        let put = |change: fn(&mut New)| {
            let mut new = new();
            change(&mut new);
            Edit::Put(new)
        };
        refused(&ask(&put(|it| it.name = "box-2".to_owned())), "box-2");
        refused(&ask(&put(|it| it.address = "evil.example".to_owned())), "evil.example");
        refused(&ask(&put(|it| it.endpoint = Some("evil.example:443".to_owned()))), "evil.example:443");
        refused(&ask(&put(|it| it.address = "not a host".to_owned())), "not a host");
        let inserted = super::super::configure::Inserted { text: String::new(), made_file: false };
        refused(&ask(&Edit::TakeOut { name: "box-2".to_owned(), inserted }), "box-2");
        // A text that was made for another file, or with something in it.
        let edit = Edit::Put(new());
        let (text, _) = edit.applied(NOTHING).unwrap();
        refused(&scene.ask(&edit, &format!("# mine\n{text}")), "changed since it was read");
        let also = "egress: { also: [{ host: evil.example, port: 443, for: me }] }\n";
        refused(&scene.ask(&edit, &format!("{text}{also}")), "more would be changed");
        assert_eq!(scene.text(), NOTHING);
    }

    #[test]
    fn only_hosts_that_root_named_are_lent() {
        let lends = |host: &str, port, reach: Option<&holdfast_config::Reach>| {
            let place = Place { host: host.to_owned(), port };
            warrant().lends(&place, reach).map(|to| to.to_string())
        };
        assert_eq!(lends("box-1.LAN.", 2222, None).as_deref(), Some("box-1.lan:2222"));
        for (host, port) in [("evil.example", 22), ("box-1.lan", 0), ("box-1.lan.evil.example", 22), ("", 22)]
        {
            assert_eq!(lends(host, port, None), None, "{host}");
        }
        let reach = holdfast_config::Reach {
            address: "192.0.2.7".to_owned(),
            port: 2222,
            ..holdfast_config::Reach::default()
        };
        assert_eq!(lends("192.0.2.7", 2222, Some(&reach)).as_deref(), Some("192.0.2.7:2222"));
        assert_eq!(lends("192.0.2.7", 22, Some(&reach)), None);
    }

    #[test]
    fn where_no_rules_are_kept_nothing_is_lent_and_nothing_fails() {
        let scene = Scene::new();
        let mut desk = Desk {
            warrant: warrant(),
            config: scene.config(),
            run: scene.folder.path().join("run"),
            clock: SystemClock::new(),
            lender: None,
        };
        let places = vec![Place { host: "anything".to_owned(), port: 22 }];
        let answer = desk.answer(&Request::Lend { places });
        assert_eq!(answer, Answer::Lent { refused: Vec::new(), not_yet: None });
        assert_eq!(desk.answer(&Request::Look {}), Answer::Seen { not_roots: None, rules: false });
    }
}
