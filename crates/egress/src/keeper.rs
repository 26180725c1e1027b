//! Keeps the rules true: reads the settings when they change, asks for names when they are due, gives the filter what is new, looks whether it
//! still has it, and writes down what was refused.
//!
//! Three threads: this one decides and acts; one asks name servers, which takes time; one hears from the filter. None of them waits for
//! another. What fails leaves the rules as they are. When the program ends, however, the rules stay.

mod lending;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_logbook::{KindDef, Logbook};
use holdfast_types::{Clock, Timestamp};
use serde_json::{Value, json};

use crate::book::{Answers, Book, Known, Pace};
use crate::destination::Host;
use crate::dns::{Family, Said, Unanswered, look_up};
use crate::lent::Loan;
use crate::listen::{Heard, Listener};
use crate::machine::{Resolvers, Uids};
use crate::nft;
use crate::packet::Refused;
use crate::refusals::{Lines, Refusals};
use crate::rules::Rules;
use crate::status::{Memory, Status, UserStatus};
use crate::wanted::{Wanted, Who};
use crate::world::{Seen, Stamp, Unread, World};

/// A turn without news.
const TURN: Duration = Duration::from_millis(250);
/// How often files are looked at, and the filter asked what it has. At a pace, these are shorter.
const FILES_EVERY: Duration = Duration::from_secs(2);
const FILTER_EVERY: Duration = Duration::from_secs(10);
const STATUS_EVERY: Duration = Duration::from_secs(10);
const LISTEN_AGAIN: Duration = Duration::from_secs(10);
/// Names that are asked for side by side.
const AT_ONCE: usize = 8;
const STACK: usize = 256 * 1024;
/// How long a name of /etc/hosts holds.
const HOSTS_HOLD: Duration = Duration::from_secs(60);

const LOADED: KindDef = KindDef {
    name: "egress.rules.loaded",
    version: 1,
    when: "The rules about what users may reach were given to the packet filter because the program began or its settings changed.",
    fields: &[
        ("destinations", "how many are declared, by user"),
        ("uids", "the numbers of the users they are about"),
        ("unknown", "settings whose destination is not known"),
    ],
};

const RESTORED: KindDef = KindDef {
    name: "egress.rules.restored",
    version: 1,
    when: "The packet filter no longer had the rules as they should be, and they were put back.",
    fields: &[("found", "gone or changed")],
};

const KEPT: KindDef = KindDef {
    name: "egress.settings.refused",
    version: 1,
    when: "Settings could not be read or not be believed, and the rules were left as they were.",
    fields: &[("why", "what is wrong with them")],
};

const REFUSED: KindDef = KindDef {
    name: "egress.destination.refused",
    version: 1,
    when: "A user was refused a destination that is not declared, for the first time in a day.",
    fields: &[
        ("user", "whose packet it was"),
        ("protocol", "tcp, udp, icmp or other"),
        ("address", "where it was to go"),
        ("port", "the port there; 0 where there is none"),
        ("name", "the name that is declared with this address, for something else"),
    ],
};

const SUMMED: KindDef = KindDef {
    name: "egress.refusals.summed",
    version: 1,
    when: "An hour in which packets were refused was over.",
    fields: &[
        ("packets", "how many were told of"),
        ("destinations", "to how many destinations that are listed"),
        ("most", "those with the most: user, protocol, address, port, packets"),
    ],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[LOADED, RESTORED, KEPT, lending::LENT, lending::RETURNED, REFUSED, SUMMED];

/// A round of questions.
struct Questions {
    names: Vec<String>,
    resolvers: Resolvers,
    hosts: BTreeMap<String, Vec<IpAddr>>,
}

#[derive(Debug)]
pub struct Keeper {
    world: World,
    pace: Pace,
    clock: Arc<dyn Clock>,
    logbook: Logbook,
    lines: Lines,
    uids: Uids,
    seen: Seen,
    /// What root lends.
    lent: Vec<Loan>,
    /// The list with what is lent.
    wanted: Wanted,
    /// The configuration that was last believed.
    config: Option<String>,
    stamps: Vec<Stamp>,
    book: Book,
    /// What the filter was last given, and how it showed it then.
    loaded: Option<(Rules, Value)>,
    refusals: Arc<Mutex<Refusals>>,
    deaf: Arc<Mutex<Option<String>>>,
    unread: Option<String>,
    not_lent: Option<String>,
    not_loaded: Option<String>,
    not_written: Option<String>,
    loaded_at: Option<Timestamp>,
    refreshed_at: Option<Timestamp>,
    restored: u64,
    /// Packets refused under tables that are gone, and by the one that is there.
    refused_before: BTreeMap<Who, u64>,
    refused_now: BTreeMap<Who, u64>,
    ask: SyncSender<Questions>,
    answers: Receiver<Answers>,
    /// How many answers of the round under way are still to come.
    awaited: usize,
    next_files: Duration,
    next_filter: Duration,
    next_status: Duration,
    remembered: Memory,
}

impl std::fmt::Debug for Questions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Questions").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Reads everything and gives the filter its first rules. Users that no rule can be about, or a filter that takes none, end it; settings that
    /// cannot be read do not.
    pub fn start(world: World, pace: Pace, clock: Arc<dyn Clock>) -> Result<Keeper, String> {
        for folder in [&world.state, &world.run] {
            holdfast_durable::create_dir(folder).map_err(|e| e.to_string())?;
        }
        let uids = world.uids().map_err(|e| e.to_string())?;
        let logbook = Logbook::of("egress", world.state.clone());
        if let Err(e) = logbook.begin() {
            say(4, &format!("the log of refusals: {e}"));
        }
        let memory = Memory::read(&world.state);
        let refusals = Arc::new(Mutex::new(Refusals::default()));
        locked(&refusals).remember(memory.refusals.clone());
        let deaf = Arc::new(Mutex::new(None));
        listen(refusals.clone(), deaf.clone(), clock.clone(), LISTEN_AGAIN / pace.max(1))?;
        let (ask, answers) = ask_in_a_thread()?;
        let mut book = Book::at_pace(pace);
        let now = clock.monotonic();
        book.remember(memory.names.clone(), now);
        let mut keeper = Keeper {
            stamps: world.stamps(),
            seen: world.least(memory.config.as_deref()),
            lent: Vec::new(),
            wanted: Wanted::default(),
            config: memory.config.clone(),
            world,
            pace: pace.max(1),
            clock,
            logbook,
            lines: Lines::default(),
            uids,
            book,
            loaded: None,
            refusals,
            deaf,
            unread: None,
            not_lent: None,
            not_loaded: None,
            not_written: None,
            loaded_at: None,
            refreshed_at: None,
            restored: 0,
            refused_before: BTreeMap::new(),
            refused_now: BTreeMap::new(),
            ask,
            answers,
            awaited: 0,
            next_files: now,
            next_filter: now + FILTER_EVERY / pace.max(1),
            next_status: now,
            remembered: memory,
        };
        keeper.look();
        keeper.combine();
        keeper.load_first()?;
        keeper.note_loaded();
        keeper.publish();
        Ok(keeper)
    }

    /// One turn: a quarter of a second, or less when there is news.
    pub fn turn(&mut self) -> Result<(), String> {
        self.hear()?;
        let now = self.clock.monotonic();
        if now >= self.next_files {
            self.next_files = now + FILES_EVERY / self.pace;
            self.look_again();
        }
        self.look_at_loans();
        self.nudge(now);
        self.ask_for_names(now)?;
        self.give();
        if now >= self.next_filter {
            self.next_filter = now + FILTER_EVERY / self.pace;
            self.see_to_it();
        }
        self.write_refusals();
        if now >= self.next_status {
            self.publish();
        }
        Ok(())
    }

    // --- settings

    /// Reads what is to hold. What cannot be believed changes nothing.
    fn look(&mut self) {
        let read = self.world.uids().and_then(|uids| self.world.look().map(|seen| (uids, seen)));
        match read {
            Ok((uids, (seen, config))) => {
                (self.uids, self.seen, self.config) = (uids, seen, Some(config));
                if self.unread.take().is_some() {
                    say(6, "the settings can be read again");
                }
            }
            Err(e) => self.refuse(&e),
        }
    }

    fn refuse(&mut self, why: &Unread) {
        let why = why.to_string();
        if self.unread.as_deref() == Some(&why) {
            return;
        }
        say(4, &format!("the rules stay as they are: {why}"));
        self.write(&KEPT, json!({ "why": why }));
        self.unread = Some(why);
    }

    fn look_again(&mut self) {
        let stamps = self.world.stamps();
        if stamps == self.stamps {
            return;
        }
        self.stamps = stamps;
        let before = (self.uids, self.seen.wanted.clone());
        self.look();
        self.combine();
        if before != (self.uids, self.seen.wanted.clone()) {
            self.note_loaded();
        }
        self.next_status = Duration::ZERO;
    }

    /// The list is what the settings say and what is lent; its names are asked for.
    fn combine(&mut self) {
        self.wanted = self.seen.wanted.clone();
        for loan in &self.lent {
            self.wanted.lend(loan, "lent");
        }
        self.book.keep(&self.wanted.names());
    }

    fn note_loaded(&mut self) {
        let wanted = &self.seen.wanted;
        let count = |who: Who| wanted.reachable(who).destinations.len();
        let unknown: Vec<&str> = wanted.gaps.iter().map(|gap| gap.setting.as_str()).collect();
        let body = json!({
            "destinations": { "daemon": count(Who::Daemon), "tripwire": count(Who::Tripwire) },
            "uids": { "daemon": self.uids.daemon, "tripwire": self.uids.tripwire },
            "unknown": unknown,
        });
        say(
            6,
            &format!(
                "{} destinations of the daemon and {} of the tripwire are declared",
                count(Who::Daemon),
                count(Who::Tripwire)
            ),
        );
        self.write(&LOADED, body);
    }

    // --- names

    fn hear(&mut self) -> Result<(), String> {
        let mut wait = TURN;
        loop {
            match self.answers.recv_timeout(wait) {
                Ok(answers) => {
                    self.awaited = self.awaited.saturating_sub(1);
                    self.refreshed_at = Some(self.clock.now());
                    if self.book.heard(answers, self.clock.monotonic()) {
                        self.next_status = Duration::ZERO;
                    }
                    wait = Duration::ZERO;
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("nobody asks for names any more".to_owned());
                }
            }
        }
    }

    /// Whoever was refused may have meant a name whose address is new.
    fn nudge(&mut self, now: Duration) {
        for (who, protocol, port) in locked(&self.refusals).nudges() {
            let meant = self.wanted.reachable(who).destinations.keys();
            let meant = meant.filter(|it| it.protocol == protocol && it.port == port);
            let names: BTreeSet<&str> = meant
                .filter_map(|it| match &it.host {
                    Host::Name(name) => Some(name.as_str()),
                    Host::Ip(_) => None,
                })
                .collect();
            self.book.nudge(&names, now);
        }
    }

    /// One round at a time: a name server that is slow is not asked more for it.
    fn ask_for_names(&mut self, now: Duration) -> Result<(), String> {
        if self.awaited > 0 {
            return Ok(());
        }
        let names = self.book.due(now);
        if names.is_empty() {
            return Ok(());
        }
        self.awaited = names.len();
        let (resolvers, hosts) = (self.seen.resolvers.clone(), self.seen.hosts.clone());
        let sent = self.ask.send(Questions { names, resolvers, hosts });
        sent.map_err(|_| "nobody asks for names any more".to_owned())
    }

    // --- the filter

    fn rules(&self) -> Rules {
        Rules::of(&self.wanted, self.uids, &self.seen.resolvers, &self.book)
    }

    /// A table that an earlier life left is not touched while the settings cannot be read: it knew more.
    fn load_first(&mut self) -> Result<(), String> {
        let there = nft::in_force().map_err(|e| e.to_string())?;
        if let (Some(there), Some(_)) = (there, &self.unread) {
            self.loaded = Some((self.rules(), there));
            return Ok(());
        }
        self.load_whole(&self.rules()).map_err(|e| e.to_string())
    }

    fn load_whole(&mut self, rules: &Rules) -> Result<(), nft::NotDone> {
        self.count();
        nft::load(&rules.whole())?;
        for (who, packets) in std::mem::take(&mut self.refused_now) {
            *self.refused_before.entry(who).or_default() += packets;
        }
        self.is_loaded(rules)
    }

    fn is_loaded(&mut self, rules: &Rules) -> Result<(), nft::NotDone> {
        let shown = nft::in_force()?.ok_or(nft::NotDone::NotUnderstood)?;
        self.loaded = Some((rules.clone(), shown));
        self.loaded_at = Some(self.clock.now());
        Ok(())
    }

    /// Gives the filter what is new.
    fn give(&mut self) {
        let rules = self.rules();
        let before = self.loaded.as_ref().map(|(before, _)| before);
        if before == Some(&rules) {
            return;
        }
        let in_sets = before.is_some_and(|before| before.differ_in_sets_alone(&rules));
        // Somebody may have taken the table away: then all of it is given.
        let exchanged = in_sets && nft::load(&rules.exchange()).is_ok();
        let done = if exchanged { self.is_loaded(&rules) } else { self.load_whole(&rules) };
        self.tell_load(done);
        self.next_status = Duration::ZERO;
    }

    fn tell_load(&mut self, done: Result<(), nft::NotDone>) {
        match done {
            Ok(()) => self.not_loaded = None,
            Err(e) => {
                let why = e.to_string();
                if self.not_loaded.as_deref() != Some(&why) {
                    say(3, &format!("the rules could not be given to the packet filter: {why}"));
                }
                self.not_loaded = Some(why);
            }
        }
    }

    /// Whether the filter still has what it was given; puts it back where it has not.
    fn see_to_it(&mut self) {
        self.count();
        let should = self.loaded.as_ref().map(|(_, shown)| shown);
        let found = match nft::in_force() {
            Ok(Some(shown)) if Some(&shown) == should => {
                self.not_loaded = None;
                return;
            }
            Ok(Some(_)) => "changed",
            Ok(None) => "gone",
            Err(e) => return self.tell_load(Err(e)),
        };
        let done = self.load_whole(&self.rules());
        if done.is_ok() {
            self.restored += 1;
            say(4, &format!("somebody had changed the packet filter: the rules were {found}, and are back"));
            self.write(&RESTORED, json!({ "found": found }));
        }
        self.tell_load(done);
        self.next_status = Duration::ZERO;
    }

    fn count(&mut self) {
        if let Ok(counts) = nft::refused() {
            self.refused_now = counts.into_iter().collect();
        }
    }

    // --- what was refused

    fn write_refusals(&mut self) {
        let now = self.clock.now();
        let (news, sum) = {
            let mut refusals = locked(&self.refusals);
            refusals.age(now);
            (refusals.news(now), refusals.sum(now))
        };
        for refused in &news {
            let name = self.name_of(&refused.address);
            let to = shown(refused, name.as_deref());
            say(5, &format!("{} was refused {to}", refused.who.user()));
            self.write_always(
                &REFUSED,
                json!({
                    "user": refused.who.user(), "protocol": refused.protocol.word(),
                    "address": refused.address, "port": refused.port, "name": name,
                }),
            );
        }
        if !news.is_empty() {
            self.next_status = Duration::ZERO;
        }
        if let Some(sum) = sum {
            say(
                5,
                &format!(
                    "{} refused packets in the last hour, to {} destinations",
                    sum.packets, sum.destinations
                ),
            );
            let most: Vec<Value> = sum
                .most
                .iter()
                .map(|(it, packets)| {
                    json!({
                        "user": it.who.user(), "protocol": it.protocol.word(),
                        "address": it.address, "port": it.port, "packets": packets,
                    })
                })
                .collect();
            let body = json!({ "packets": sum.packets, "destinations": sum.destinations, "most": most });
            self.write_always(&SUMMED, body);
        }
    }

    /// The name of an address: one that was looked up, or none where it was declared as it is.
    fn name_of(&self, ip: &IpAddr) -> Option<String> {
        self.book.name_of(ip).map(str::to_owned)
    }

    // --- telling others

    /// An entry, as long as this hour has lines left: somebody who flushes the filter every second fills no disk.
    fn write(&mut self, kind: &KindDef, body: Value) {
        if self.lines.take(self.clock.now()) {
            self.write_always(kind, body);
        }
    }

    fn write_always(&mut self, kind: &KindDef, body: Value) {
        match self.logbook.write(kind, body) {
            Ok(()) => self.not_written = None,
            Err(e) => {
                let why = format!("the log of refusals cannot be written: {e}");
                if self.not_written.as_deref() != Some(&why) {
                    say(4, &why);
                }
                self.not_written = Some(why);
            }
        }
    }

    fn publish(&mut self) {
        self.next_status = self.clock.monotonic() + STATUS_EVERY / self.pace;
        let rows = locked(&self.refusals).rows(|ip| self.name_of(ip));
        let names = self.book.known();
        let memory = Memory { names: names.clone(), refusals: rows.clone(), config: self.config.clone() };
        if memory != self.remembered {
            match memory.write(&self.world.state) {
                Ok(()) => self.remembered = memory,
                Err(e) => say(4, &format!("what is known of names cannot be kept: {e}")),
            }
        }
        let status = Status {
            version: 1,
            at: self.clock.now(),
            in_force: self.loaded.is_some() && self.not_loaded.is_none(),
            loaded_at: self.loaded_at,
            refreshed_at: self.refreshed_at,
            restored: self.restored,
            trouble: self.trouble(),
            users: Who::ALL.into_iter().map(|who| self.user(who)).collect(),
            names,
            refusals: rows,
            refusals_unlisted: locked(&self.refusals).unlisted(),
            lent: self.lent_status(),
        };
        if let Err(e) = status.write(&self.world.run) {
            say(4, &format!("how it is cannot be told: {e}"));
        }
    }

    fn user(&self, who: Who) -> UserStatus {
        let count = |counts: &BTreeMap<Who, u64>| counts.get(&who).copied().unwrap_or(0);
        UserStatus {
            user: who.user().to_owned(),
            uid: self.uids.of(who),
            places: self.loaded.as_ref().map_or(0, |(rules, _)| rules.count(who)),
            refused_packets: count(&self.refused_before) + count(&self.refused_now),
        }
    }

    fn trouble(&self) -> Vec<String> {
        let unread = self.unread.as_ref().map(|why| format!("the rules stay as they were: {why}"));
        let not_loaded =
            self.not_loaded.as_ref().map(|why| format!("the packet filter does not have the rules: {why}"));
        let deaf = locked(&self.deaf).clone();
        [unread, self.not_lent.clone(), not_loaded, deaf, self.not_written.clone()]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `tcp 192.0.2.7 port 443 (declared as a.example for something else)`.
fn shown(refused: &Refused, name: Option<&str>) -> String {
    let port = if refused.port == 0 { String::new() } else { format!(" port {}", refused.port) };
    let name = name.map(|name| format!(" ({name} is declared there for something else)")).unwrap_or_default();
    format!("{} {}{port}{name}", refused.protocol.word(), refused.address)
}

/// A line on standard error, which the service manager keeps; the number is how bad it is, as syslog has it.
fn say(level: u8, line: &str) {
    let _nobody_reads = writeln!(std::io::stderr(), "<{level}>{}", line.replace('\n', " "));
}

// --- the two other threads

/// Hears what is refused, for as long as the program lives.
fn listen(
    refusals: Arc<Mutex<Refusals>>,
    deaf: Arc<Mutex<Option<String>>>,
    clock: Arc<dyn Clock>,
    again: Duration,
) -> Result<(), String> {
    let listening = move || {
        loop {
            let why = heard_until_trouble(&refusals, &deaf, &*clock);
            let mut deaf = locked(&deaf);
            if deaf.as_deref() != Some(&why) {
                say(4, &why);
            }
            *deaf = Some(why);
            drop(deaf);
            std::thread::sleep(again);
        }
    };
    let thread = std::thread::Builder::new().name("listen".to_owned()).stack_size(STACK);
    thread.spawn(listening).map(drop).map_err(|e| e.to_string())
}

fn heard_until_trouble(
    refusals: &Mutex<Refusals>,
    deaf: &Mutex<Option<String>>,
    clock: &dyn Clock,
) -> String {
    let mut listener = match Listener::open() {
        Ok(listener) => listener,
        Err(e) => return e.to_string(),
    };
    *locked(deaf) = None;
    loop {
        match listener.hear() {
            Ok(Heard::Packets(packets)) => {
                let (now, mut refusals) = (clock.now(), locked(refusals));
                packets.into_iter().for_each(|refused| refusals.note(refused, now));
            }
            Ok(Heard::Nothing) => {}
            Ok(Heard::TooMuch) => locked(refusals).lost(),
            Err(e) => return e.to_string(),
        }
    }
}

/// Asks for names, a round at a time, and gives each answer as it comes.
fn ask_in_a_thread() -> Result<(SyncSender<Questions>, Receiver<Answers>), String> {
    let (ask, asked) = sync_channel::<Questions>(1);
    let (tell, told) = sync_channel(AT_ONCE);
    let asking = move || {
        while let Ok(questions) = asked.recv() {
            if !answer_all(&questions, &tell) {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("names".to_owned()).stack_size(STACK);
    thread.spawn(asking).map_err(|e| e.to_string())?;
    Ok((ask, told))
}

/// Whether anybody still wants to know. When none of so many names is answered the others are not asked for in this round.
fn answer_all(questions: &Questions, tell: &SyncSender<Answers>) -> bool {
    let mut silent = false;
    for names in questions.names.chunks(AT_ONCE) {
        let answers: Vec<Answers> = std::thread::scope(|scope| {
            let asked: Vec<_> = names
                .iter()
                .map(|name| scope.spawn(move || if silent { unasked(name) } else { answer(questions, name) }))
                .collect();
            asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        silent |=
            answers.iter().all(|it| it.v4 == Err(Unanswered::Silent) && it.v6 == Err(Unanswered::Silent));
        if answers.into_iter().any(|answers| tell.send(answers).is_err()) {
            return false;
        }
    }
    true
}

/// The book for somebody who only looks: what is known, and what name servers say now of the rest.
pub fn resolved(seen: &Seen, known: Vec<Known>) -> Book {
    let mut book = Book::at_pace(1);
    book.remember(known, Duration::ZERO);
    book.keep(&seen.wanted.names());
    let missing = book.known().into_iter().filter(|known| known.addresses.is_empty());
    let questions = Questions {
        names: missing.map(|known| known.name).collect(),
        resolvers: seen.resolvers.clone(),
        hosts: seen.hosts.clone(),
    };
    let (tell, told) = sync_channel(questions.names.len());
    answer_all(&questions, &tell);
    drop(tell);
    for answers in told {
        book.heard(answers, Duration::ZERO);
    }
    book
}

fn unasked(name: &str) -> Answers {
    Answers { name: name.to_owned(), v4: Err(Unanswered::Silent), v6: Err(Unanswered::Silent) }
}

/// What the machine knows by itself, or what a name server says.
fn answer(questions: &Questions, name: &str) -> Answers {
    let of = |family: Family| match questions.hosts.get(name) {
        Some(addresses) => Ok(Said {
            addresses: addresses.iter().filter(|ip| family.has(ip)).copied().collect(),
            holds: HOSTS_HOLD,
        }),
        None => look_up(&questions.resolvers, name, family),
    };
    let v4 = of(Family::V4);
    // Nobody is there: the other question would wait as long.
    let v6 = if v4 == Err(Unanswered::Silent) { Err(Unanswered::Silent) } else { of(Family::V6) };
    Answers { name: name.to_owned(), v4, v6 }
}
