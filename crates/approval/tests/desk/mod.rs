//! An inbox over a real journal and a real index, and a person with a key beside it.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "every test file uses a part of it, and stops where it cannot go on"
)]

use std::path::Path;
use std::sync::Arc;

use holdfast_approval::{
    Action, ApprovalProjection, Approvals, Asked, Life, NewAsk, Now, Redeemed, Result, Taken, Verdict, Word,
    sign,
};
use holdfast_journal::{Entry, Journal};
use holdfast_keys::{KeyName, Role, SecretKey, TrustSet, TrustedKey};
use holdfast_store::Index;
use holdfast_testkit::House;
use holdfast_types::{Actor, ApprovalId, Origin, Timestamp};
use serde_json::json;

pub struct Desk {
    pub house: House,
    /// Taken out while nobody has the home open.
    open: Option<Approvals>,
    pub key: SecretKey,
    pub trust: TrustSet,
    pub good: bool,
}

impl Desk {
    pub fn new() -> Desk {
        let house = House::new();
        let journal = house.open();
        Desk::of(house, &journal)
    }

    /// On a journal that is there, as soon as nobody else has it open.
    pub fn attach(root: &Path) -> Desk {
        let house = House::attach(root, "test");
        let journal = loop {
            match house.try_open() {
                Err(holdfast_journal::Error::Busy { .. }) => std::thread::yield_now(),
                opened => break opened.unwrap(),
            }
        };
        Desk::of(house, &journal)
    }

    fn of(house: House, journal: &Journal) -> Desk {
        let key = SecretKey::from_seed(&[42; 32]);
        let mut trust = house.trust();
        let from = house.clock.now();
        let name = KeyName::from(&house.origin);
        trust.add(TrustedKey::new(key.public(), Role::Approvals, name, from)).unwrap();
        let open = Some(approvals(journal, &house, "index.db"));
        Desk { house, open, key, trust, good: true }
    }

    /// Lets go of the journal and the index.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Closes everything and opens it again, as another process would.
    pub fn restart(&mut self) {
        self.open = None;
        let journal = self.house.open();
        self.open = Some(approvals(&journal, &self.house, "index.db"));
    }

    /// A further inbox over a journal that somebody has open, with tables of its own.
    pub fn further(&self, journal: &Journal, index: &str) -> Approvals {
        approvals(journal, &self.house, index)
    }

    /// One whose tables are of a log of another name.
    pub fn further_of(&self, own: Origin, journal: &Journal) -> Approvals {
        approvals_of(own, journal, &self.house, "elsewhere.db")
    }

    pub fn approvals(&self) -> &Approvals {
        self.open.as_ref().unwrap()
    }

    pub fn at(&self) -> Timestamp {
        self.house.clock.now()
    }

    pub fn now(&self) -> Now {
        if self.good { Now::Good(self.at()) } else { Now::Unsure(self.at()) }
    }

    pub fn ask(&self, action: &Action) -> Result<Asked> {
        self.approvals().ask(NewAsk::new(action.clone(), steward(), "Raise swap by 512 MiB."), self.now())
    }

    pub fn asked(&self, action: &Action) -> Life {
        self.ask(action).unwrap().life
    }

    /// What a person would sign now.
    pub fn verdict(&self, life: &Life, verdict: Word) -> Verdict {
        Verdict {
            ask: life.ask.id,
            digest: life.ask.digest(),
            verdict,
            by: "uid:1000".parse().unwrap(),
            reason: None,
            issued_at: self.at(),
            expires_at: life.ask.expires_at,
            origin: self.house.origin.clone(),
        }
    }

    pub fn signed(&self, verdict: &Verdict) -> Vec<u8> {
        sign(verdict, &self.key).unwrap().to_bytes().unwrap()
    }

    pub fn give(&self, document: &[u8]) -> Result<Taken> {
        self.approvals().give(document, &self.trust, &"uid:1000".parse().unwrap(), self.now())
    }

    pub fn approve(&self, life: &Life) -> Result<Taken> {
        self.give(&self.signed(&self.verdict(life, Word::Approve)))
    }

    pub fn redeem(&self, ask: ApprovalId, action: &Action) -> Result<Redeemed> {
        self.approvals().redeem(ask, action, &steward(), &self.trust, self.now())
    }

    /// An approved ask.
    pub fn approved(&self, action: &Action) -> Life {
        let life = self.asked(action);
        self.approve(&life).unwrap();
        life
    }

    /// The entries of the log, by somebody who only reads.
    pub fn entries(&self) -> Vec<Entry> {
        entries(&self.house)
    }

    pub fn kinds(&self) -> Vec<String> {
        self.entries().iter().map(|entry| entry.kind.to_string()).collect()
    }
}

pub fn entries(house: &House) -> Vec<Entry> {
    let view = holdfast_journal::View::open(&house.journal(), None).unwrap();
    view.entries(0).map(|raw| raw.unwrap().parse().unwrap()).collect()
}

fn approvals(journal: &Journal, house: &House, index: &str) -> Approvals {
    approvals_of(house.origin.clone(), journal, house, index)
}

fn approvals_of(own: Origin, journal: &Journal, house: &House, index: &str) -> Approvals {
    let clock = Arc::new(house.clock.clone());
    let path = house.state().join(index);
    let (index, _) = Index::open(&path, vec![Box::new(ApprovalProjection::new(own))], clock).unwrap();
    Approvals::new(journal.clone(), Arc::new(index), Arc::new(holdfast_screen::GuardScreen::builtin()))
}

pub fn steward() -> Actor {
    "steward".parse().unwrap()
}

pub fn action(n: u64) -> Action {
    let what = json!({"option": "swapDevices[0].size", "from": 1024, "to": 1024 + n});
    Action::new("steward.trial".parse().unwrap(), "web-1".parse().unwrap(), &what).unwrap()
}
