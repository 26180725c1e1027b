//! A ledger over a real journal and a real index, on a machine that uses what the test says.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "every test file uses a part of it, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holdfast_journal::{Entry, Journal};
use holdfast_ledger::{
    Ask, Error, Given, Holder, InUse, Ledger, LedgerProjection, Number, Occupied, Purpose, Result, Series,
    Space, State,
};
use holdfast_store::Index;
use holdfast_testkit::House;
use holdfast_types::Actor;

pub struct Counter {
    pub house: House,
    pub machine: Arc<Pretended>,
    /// Taken out while nobody has the home open.
    open: Option<(Journal, Ledger)>,
}

/// A machine on which the test says what is in use.
#[derive(Debug, Default)]
pub struct Pretended {
    uses: Mutex<BTreeMap<Space, Vec<u32>>>,
    blind: Mutex<bool>,
}

impl Pretended {
    pub fn uses(&self, space: Space, numbers: &[u32]) {
        self.uses.lock().unwrap().insert(space, numbers.to_vec());
    }

    /// From now on nothing can be seen.
    pub fn goes_blind(&self) {
        *self.blind.lock().unwrap() = true;
    }
}

impl InUse for Pretended {
    fn look(&self, space: Space) -> io::Result<Occupied> {
        if *self.blind.lock().unwrap() {
            return Err(io::Error::other("/proc/net/tcp: permission denied"));
        }
        Ok(self.uses.lock().unwrap().get(&space).into_iter().flatten().copied().collect())
    }
}

impl Counter {
    pub fn new() -> Counter {
        let house = House::new();
        let journal = house.open();
        Counter::of(house, journal)
    }

    /// On a journal that is there, as soon as nobody else has it open.
    pub fn attach(root: &Path) -> Counter {
        let house = House::attach(root, "test");
        let journal = loop {
            match house.try_open() {
                Err(holdfast_journal::Error::Busy { .. }) => std::thread::yield_now(),
                opened => break opened.unwrap(),
            }
        };
        Counter::of(house, journal)
    }

    fn of(house: House, journal: Journal) -> Counter {
        let mut counter = Counter { house, machine: Arc::default(), open: None };
        counter.open_with(journal);
        counter
    }

    /// Lets go of the journal and the index.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Closes everything and opens it again, as another process would.
    pub fn restart(&mut self) {
        self.open = None;
        let journal = self.house.open();
        self.open_with(journal);
    }

    fn open_with(&mut self, journal: Journal) {
        let ledger = self.further(&journal, "index.db");
        self.open = Some((journal, ledger));
    }

    /// The same with an index that is made anew.
    pub fn restart_from_the_journal(&mut self) {
        self.open = None;
        for name in ["index.db", "index.db-wal", "index.db-shm"] {
            let _ = std::fs::remove_file(self.house.state().join(name));
        }
        self.restart();
    }

    /// A further ledger over a journal that is open, with a table of its own.
    pub fn further(&self, journal: &Journal, index: &str) -> Ledger {
        let clock = Arc::new(self.house.clock.clone());
        let path = self.house.state().join(index);
        let projection = LedgerProjection::new(self.house.origin.clone());
        let (index, _) = Index::open(&path, vec![Box::new(projection)], clock).unwrap();
        let screen = Arc::new(holdfast_screen::GuardScreen::builtin());
        Ledger::new(journal.clone(), Arc::new(index), screen, self.machine.clone())
    }

    pub fn journal(&self) -> &Journal {
        &self.open.as_ref().unwrap().0
    }

    pub fn ledger(&self) -> &Ledger {
        &self.open.as_ref().unwrap().1
    }

    pub fn state(&self) -> State {
        self.ledger().state().unwrap()
    }

    pub fn ask(&self, ask: &Ask) -> Result<Given> {
        self.ledger().give(ask, &fabric())
    }

    /// The number of a holder, as it is used.
    pub fn give(&self, series: Series, holder: &str) -> String {
        self.ask(&wish(series, holder)).unwrap().number.to_string()
    }

    pub fn release(&self, series: Series, holder: &str) -> Result<holdfast_ledger::Line> {
        self.ledger().release(series, &named(holder), &purpose(), &fabric())
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<holdfast_ledger::Renamed> {
        self.ledger().rename(&named(from), &named(to), &fabric())
    }

    pub fn reclaim(&self, series: Series, value: &str) -> Result<holdfast_ledger::Line> {
        let evidence = "find on every disk shows no file of it".parse().unwrap();
        self.ledger().reclaim(number(series, value), &evidence, &fabric())
    }

    /// The entries of the log, by somebody who only reads.
    pub fn entries(&self) -> Vec<Entry> {
        entries(&self.house)
    }

    pub fn kinds(&self) -> Vec<String> {
        let entries = self.entries();
        let own = entries.iter().map(|entry| entry.kind.to_string());
        own.filter(|kind| kind.starts_with("ledger.")).collect()
    }

    /// What the raw log folds to, without an index.
    pub fn folded(&self) -> State {
        State::fold(&self.house.origin, &self.entries()).unwrap()
    }
}

pub fn entries(house: &House) -> Vec<Entry> {
    let view = holdfast_journal::View::open(&house.journal(), None).unwrap();
    view.entries(0).map(|raw| raw.unwrap().parse().unwrap()).collect()
}

pub fn fabric() -> Actor {
    "fabric".parse().unwrap()
}

pub fn named(text: &str) -> Holder {
    text.parse().unwrap()
}

pub fn purpose() -> Purpose {
    "main".parse().unwrap()
}

pub fn wish(series: Series, holder: &str) -> Ask {
    Ask::new(series, named(holder), purpose())
}

pub fn number(series: Series, value: &str) -> Number {
    Number::parse(series, value).unwrap()
}

/// The code of what was refused.
pub fn code<T: std::fmt::Debug>(refused: Result<T>) -> String {
    refused.map_err(|e: Error| e.problem().code.to_string()).unwrap_err()
}
