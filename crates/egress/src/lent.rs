//! What is lent: places that no setting names yet, open to the daemon's user while root takes a host in or lets it go.
//!
//! Each lender has a file of its own, `lent-PID.json`, where the keeper tells how it is. It says what is open and until when, on the machine's
//! clock since boot, which nobody sets. A file is believed as the configuration is: it belongs to root, nobody else can write it, and it is no
//! link. Its end is renewed while the lender lives, so what a killed one leaves closes by itself.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdfast_durable::{Title, replace_as};
use holdfast_tripwire::clock::since_boot_ms;
use holdfast_types::{Timestamp, printable};
use serde::{Deserialize, Serialize};

use crate::book::Pace;
use crate::destination::{Destination, Host};
use crate::status::Status;
use crate::wanted::place_of;
use crate::world::{Unread, read_of_root};

/// No file's end is further away than this; one that says so is wrong.
const END_MAX: Duration = Duration::from_secs(15 * 60);
/// How far away a lender puts it, and how often: three renewals may be missed, and a lender that was killed is forgotten in a minute.
const LEASE: Duration = Duration::from_secs(60);
const RENEW_EVERY: Duration = Duration::from_secs(15);
/// Longer than any host takes to be taken in. Whoever is bound may hold up the command that asked, and keeps nothing open by it.
const LENT_MAX: Duration = Duration::from_secs(3600);
/// The host, another address of it, and what lies on the way.
pub const PLACES_MAX: usize = 4;
/// Lenders at once.
const LENDERS_MAX: usize = 8;
const REASON_LEN_MAX: usize = 80;
const BYTES_MAX: usize = 4 << 10;
const LOOK_EVERY: Duration = Duration::from_millis(50);
const VERSION: u32 = 1;

/// What one lender has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loan {
    pub destinations: Vec<Destination>,
    /// What for, in a few words.
    pub reason: String,
    /// Since the machine was started.
    until_ms: u64,
}

/// As it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    /// `host:port`, over TCP.
    places: Vec<String>,
    #[serde(rename = "for")]
    reason: String,
    until_ms: u64,
}

impl Loan {
    /// What a file says. Whether its time is over is another question; one that would last too long says nothing.
    fn read(bytes: &[u8], now_ms: u64) -> Result<Loan, String> {
        let written: Written = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if written.version != VERSION {
            return Err(format!("it is of version {}, and {VERSION} is known", written.version));
        }
        if written.until_ms > now_ms.saturating_add(END_MAX.as_millis() as u64) {
            return Err("its end is further away than any may be".to_owned());
        }
        let is_short =
            written.reason.chars().count() <= REASON_LEN_MAX && printable(&written.reason) == written.reason;
        if !is_short || !(1..=PLACES_MAX).contains(&written.places.len()) {
            return Err("it lends nothing, too much, or says too much of it".to_owned());
        }
        let read = |text: &String| destination(text).ok_or_else(|| "a place is HOST:PORT".to_owned());
        let destinations = written.places.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Loan { destinations, reason: written.reason, until_ms: written.until_ms })
    }

    pub fn is_over(&self, now_ms: u64) -> bool {
        self.until_ms <= now_ms
    }

    /// When it ends, for people.
    pub fn until(&self, now: Timestamp, now_ms: u64) -> Timestamp {
        now.plus(Duration::from_millis(self.until_ms.saturating_sub(now_ms)))
    }

    /// Whether it opens the same, for the same; it may last longer.
    pub(crate) fn is_same(&self, other: &Loan) -> bool {
        self.destinations == other.destinations && self.reason == other.reason
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let places = self.destinations.iter().map(ToString::to_string).collect();
        let Loan { reason, until_ms, .. } = self.clone();
        serde_json::to_vec(&Written { version: VERSION, places, reason, until_ms })
    }
}

/// `host:port`, as it is written and as people type it.
pub fn destination(text: &str) -> Option<Destination> {
    let (host, port) = place_of(text)?;
    Some(Destination::tcp(Host::read(&host)?, port))
}

/// What all lenders have written, also what is over; and which files are not believed.
pub(crate) fn loans(run: &Path, now_ms: u64) -> (Vec<(PathBuf, Loan)>, Vec<Unread>) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(run)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_lenders))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let (mut loans, mut unread) = (Vec::new(), Vec::new());
    for path in files.into_iter().take(LENDERS_MAX) {
        match loan(&path, now_ms) {
            Ok(Some(loan)) => loans.push((path, loan)),
            // It was given back since the folder was read.
            Ok(None) => {}
            Err(e) => unread.push(e),
        }
    }
    (loans, unread)
}

fn loan(path: &Path, now_ms: u64) -> Result<Option<Loan>, Unread> {
    let Some(bytes) = read_of_root(path)? else { return Ok(None) };
    if bytes.len() > BYTES_MAX {
        return Err(Unread::TooLarge { path: path.to_owned() });
    }
    let wrong = |why: String| Unread::Wrong { why: format!("{}: {}", path.display(), printable(&why)) };
    Loan::read(&bytes, now_ms).map(Some).map_err(wrong)
}

fn is_lenders(name: &str) -> bool {
    let number = name.strip_prefix("lent-").and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|it| (1..=10).contains(&it.len()) && it.bytes().all(|b| b.is_ascii_digit()))
}

/// Lends for as long as it lives, and gives back when it is dropped.
#[derive(Debug)]
pub struct Lender {
    run: PathBuf,
    path: PathBuf,
    destinations: Vec<Destination>,
    /// Closed to end it.
    stop: Option<Sender<()>>,
    renews: Option<JoinHandle<()>>,
}

/// Whether what was lent is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Open,
    /// Nobody is bound here, so nothing has to be lent.
    NotNeeded,
    /// Not in the time that was given, and why.
    NotYet(String),
}

impl Lender {
    /// `run` is where the keeper tells how it is.
    pub fn lend(
        run: &Path,
        destinations: Vec<Destination>,
        reason: &str,
        pace: Pace,
    ) -> std::io::Result<Lender> {
        let path = run.join(format!("lent-{}.json", std::process::id()));
        let reason: String = printable(reason).chars().take(REASON_LEN_MAX).collect();
        let loan = Loan { destinations: destinations.clone(), reason, until_ms: 0 };
        let (lease, every) = (LEASE / pace.max(1), RENEW_EVERY / pace.max(1));
        renew(&path, &loan, lease)?;
        let (stop, stopped) = channel::<()>();
        let (file, until) = (path.clone(), Instant::now() + LENT_MAX / pace.max(1));
        let renewing = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) && Instant::now() < until {
                // One that is missed is made up for by the next.
                let _missed = renew(&file, &loan, lease);
            }
        };
        let renews = std::thread::Builder::new().name("lender".to_owned()).spawn(renewing)?;
        Ok(Lender { run: run.to_owned(), path, destinations, stop: Some(stop), renews: Some(renews) })
    }

    /// Waits until the filter has it.
    pub fn wait(&self, within: Duration, now: impl Fn() -> Timestamp) -> Standing {
        let until = Instant::now() + within;
        loop {
            let standing = standing(Status::read(&self.run).ok().flatten(), &self.destinations, now());
            match standing {
                Standing::NotYet(_) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
                known => return known,
            }
        }
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        self.stop = None;
        let _ended = self.renews.take().map(JoinHandle::join);
        let _over_soon = std::fs::remove_file(&self.path);
    }
}

/// Whether rules bind anybody here, by what the keeper last said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nothing has to be lent.
    None,
    /// Their keeper has ended, and what it gave to the filter stays: nothing can be lent.
    Left,
    Kept,
}

impl Bound {
    pub fn of(run: &Path, now: Timestamp) -> Bound {
        Bound::by(Status::read(run).ok().flatten().as_ref(), now)
    }

    fn by(status: Option<&Status>, now: Timestamp) -> Bound {
        match status.filter(|status| status.in_force) {
            None => Bound::None,
            Some(status) if status.is_stale(now) => Bound::Left,
            Some(_) => Bound::Kept,
        }
    }
}

/// What to do where rules are left.
pub const LEFT: &str =
    "holdfast-egress does not run, and the rules it gave stay: systemctl start holdfast-egress";

fn renew(path: &Path, loan: &Loan, lease: Duration) -> std::io::Result<()> {
    let until_ms = since_boot_ms() + lease.as_millis() as u64;
    let text = Loan { until_ms, ..loan.clone() }.text().map_err(std::io::Error::other)?;
    replace_as(path, &text, Title { uid: 0, gid: 0, mode: 0o644 })
}

fn standing(status: Option<Status>, wanted: &[Destination], now: Timestamp) -> Standing {
    let status = match (Bound::by(status.as_ref(), now), status) {
        (Bound::None, _) | (_, None) => return Standing::NotNeeded,
        (Bound::Left, _) => return Standing::NotYet(LEFT.to_owned()),
        (Bound::Kept, Some(status)) => status,
    };
    let is_open = |to: &Destination| {
        let to = to.to_string();
        status.lent.iter().any(|lent| lent.is_open && lent.destination == to)
    };
    let Some(closed) = wanted.iter().find(|to| !is_open(to)) else { return Standing::Open };
    let name = closed.host.to_string();
    let trouble = status.names.iter().find(|known| known.name == name).and_then(|it| it.trouble.clone());
    Standing::NotYet(trouble.map_or_else(
        || format!("the packet filter does not let {closed} through yet"),
        |trouble| format!("{name}: {trouble}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Lent;

    const NOW: u64 = 1_000_000;

    fn read(places: &str, reason: &str, until_ms: u64) -> Result<Loan, String> {
        let text = format!(r#"{{"version":1,"places":{places},"for":"{reason}","until_ms":{until_ms}}}"#);
        Loan::read(text.as_bytes(), NOW)
    }

    #[test]
    fn a_loan_is_read_as_it_was_written() {
        let loan = read(r#"["Box-1.lan:22","[2001:db8::7]:2222"]"#, "target add box-1", NOW + 5000).unwrap();
        let shown: Vec<String> = loan.destinations.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["box-1.lan:22", "[2001:db8::7]:2222"]);
        assert_eq!(Loan::read(&loan.text().unwrap(), NOW), Ok(loan.clone()));
        assert!(!loan.is_over(NOW + 4999) && loan.is_over(NOW + 5000));
        let now = Timestamp::EPOCH;
        assert_eq!(loan.until(now, NOW).since(now), Duration::from_secs(5));
        // A loan that is renewed is the same.
        assert!(loan.is_same(&Loan { until_ms: NOW + 9000, ..loan.clone() }));
        assert!(!loan.is_same(&Loan { reason: "another".to_owned(), ..loan.clone() }));
    }

    #[test]
    fn what_would_last_too_long_or_is_no_place_lends_nothing() {
        let quarter = END_MAX.as_millis() as u64;
        assert!(read(r#"["a.lan:22"]"#, "x", NOW + quarter).is_ok());
        let refused = |places: &str, reason: &str, until: u64| read(places, reason, until).unwrap_err();
        assert!(refused(r#"["a.lan:22"]"#, "x", NOW + quarter + 1).contains("further away"));
        assert!(refused(r#"["a.lan:22"]"#, "x", u64::MAX).contains("further away"));
        for places in ["a.lan", "a.lan:0", "a.lan:x", "0.0.0.0/0:22", "{ accept }:22", "127.1:22", ""] {
            assert_eq!(refused(&format!("[{places:?}]"), "x", NOW), "a place is HOST:PORT", "{places}");
        }
        for (places, reason) in [("[]", "x"), (r#"["a:1","a:2","a:3","a:4","a:5"]"#, "x")] {
            assert!(refused(places, reason, NOW).contains("too much"), "{places}");
        }
        assert!(refused(r#"["a.lan:22"]"#, &"x".repeat(81), NOW).contains("too much"));
        assert!(refused(r#"["a.lan:22"]"#, "\\u001b[2J", NOW).contains("too much"));
        let other = |text: &str| Loan::read(text.as_bytes(), NOW).unwrap_err();
        assert!(other(r#"{"version":2,"places":["a:1"],"for":"x","until_ms":1}"#).contains("version 2"));
        let more = r#"{"version":1,"places":["a:1"],"for":"x","until_ms":1,"user":"tripwire"}"#;
        assert!(other(more).contains("unknown field"));
    }

    #[test]
    fn a_file_that_is_not_root_s_or_not_plain_lends_nothing() {
        assert!(rustix::process::geteuid().is_root(), "this takes root: whose a file is counts");
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let path = run.join("lent-7.json");
        let loan = Loan {
            destinations: vec![destination("a.lan:22").unwrap()],
            reason: "x".to_owned(),
            until_ms: NOW + 1,
        };
        let put = |mode: u32| {
            replace_as(&path, &loan.text().unwrap(), Title { uid: 0, gid: 0, mode }).unwrap();
        };
        let why = || loans(run, NOW).1.first().map(ToString::to_string).unwrap_or_default();
        put(0o644);
        assert_eq!(loans(run, NOW).0, [(path.clone(), loan.clone())]);
        // Beside it lie the keeper's own, and what a lender writes aside.
        for name in ["status.json", "lent-7.json.new-1-2", "lent-.json", "lent-x.json"] {
            std::fs::copy(&path, run.join(name)).unwrap();
        }
        assert_eq!(loans(run, NOW).0.len(), 1);
        std::os::unix::fs::chown(&path, Some(47_001), None).unwrap();
        assert!(why().contains("does not belong to root"), "{}", why());
        put(0o664);
        assert!(why().contains("can be written by others"), "{}", why());
        put(0o644);
        std::fs::hard_link(&path, run.join("second")).unwrap();
        assert!(why().contains("not a plain file of one name"), "{}", why());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("second", &path).unwrap();
        assert!(why().contains("not a plain file of one name"), "{}", why());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, " ".repeat(BYTES_MAX + 1)).unwrap();
        assert!(why().contains("larger than it may be"), "{}", why());
        // Who fills the folder does not fill the keeper.
        put(0o644);
        for n in 100..200 {
            std::fs::copy(&path, run.join(format!("lent-{n}.json"))).unwrap();
        }
        assert_eq!(loans(run, NOW).0.len(), LENDERS_MAX);
    }

    #[test]
    fn a_lender_waits_only_where_rules_are_kept() {
        let at = Timestamp::EPOCH;
        let wanted = [destination("a.lan:22").unwrap()];
        let status = |is_open: bool| Status {
            version: 1,
            at,
            in_force: true,
            loaded_at: None,
            refreshed_at: None,
            restored: 0,
            trouble: Vec::new(),
            users: Vec::new(),
            names: Vec::new(),
            refusals: Vec::new(),
            refusals_unlisted: 0,
            lent: vec![Lent {
                destination: "a.lan:22".to_owned(),
                reason: "x".to_owned(),
                until: at,
                is_open,
            }],
        };
        assert_eq!(standing(None, &wanted, at), Standing::NotNeeded);
        assert_eq!(
            standing(Some(Status { in_force: false, ..status(true) }), &wanted, at),
            Standing::NotNeeded
        );
        assert_eq!(standing(Some(status(true)), &wanted, at), Standing::Open);
        assert!(matches!(standing(Some(status(false)), &wanted, at), Standing::NotYet(_)));
        let other = [destination("a.lan:23").unwrap()];
        assert!(matches!(standing(Some(status(true)), &other, at), Standing::NotYet(_)));
        let later = at.plus(Duration::from_secs(61));
        let Standing::NotYet(why) = standing(Some(status(true)), &wanted, later) else { panic!("stale") };
        assert!(why.contains("systemctl start holdfast-egress"), "{why}");
    }
}
