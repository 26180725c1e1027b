//! What root lends, as the keeper sees it: opened when its file is there, closed when it is gone or its time is over, and both written down.

use std::time::Duration;

use holdfast_logbook::KindDef;
use holdfast_tripwire::clock::since_boot_ms;
use serde_json::json;

use super::{KEPT, Keeper, say};
use crate::destination::{Destination, Host};
use crate::lent::{Loan, loans};
use crate::status::Lent;
use crate::wanted::Who;
use crate::world::Unread;

pub(super) const LENT: KindDef = KindDef {
    name: "egress.destination.lent",
    version: 1,
    when: "Root lent the daemon's user a destination that no setting names, while it takes a host in or lets it go.",
    fields: &[
        ("destinations", "host and port of each"),
        ("for", "what for"),
        ("until", "when it ends, unless it is renewed"),
    ],
};

pub(super) const RETURNED: KindDef = KindDef {
    name: "egress.destination.returned",
    version: 1,
    when: "What was lent is no longer open.",
    fields: &[
        ("destinations", "host and port of each"),
        ("for", "what for"),
        ("ended", "returned, or over where whoever lent it was killed"),
    ],
};

impl Keeper {
    /// In every turn: whoever lends waits for it.
    pub(super) fn look_at_loans(&mut self) {
        let now_ms = since_boot_ms();
        let (found, unread) = loans(&self.world.run, now_ms);
        self.complain_of_loans(unread.first());
        // The folder is ours: what a killed lender left goes when its time is over.
        for (path, _) in found.iter().filter(|(_, loan)| loan.is_over(now_ms)) {
            let _already_gone = std::fs::remove_file(path);
        }
        let is_there = |loan: &Loan| found.iter().any(|(_, it)| it.is_same(loan));
        let is_open = |(_, loan): &(_, Loan)| !loan.is_over(now_ms);
        let lent: Vec<Loan> = found.iter().filter(|it| is_open(it)).map(|(_, loan)| loan.clone()).collect();
        let has = |lent: &[Loan], loan: &Loan| lent.iter().any(|it| it.is_same(loan));
        let new: Vec<Loan> = lent.iter().filter(|loan| !has(&self.lent, loan)).cloned().collect();
        let gone = self.lent.iter().filter(|loan| !has(&lent, loan));
        let gone: Vec<(Loan, bool)> = gone.map(|loan| (loan.clone(), is_there(loan))).collect();
        self.lent = lent;
        if new.is_empty() && gone.is_empty() {
            return;
        }
        // A host that was taken in stands in the settings by now: in between it is not closed.
        self.look_again();
        self.combine();
        new.iter().for_each(|loan| self.note_lent(loan, now_ms));
        gone.iter().for_each(|(loan, is_over)| self.note_returned(loan, *is_over));
        self.next_status = Duration::ZERO;
    }

    fn complain_of_loans(&mut self, unread: Option<&Unread>) {
        let why = unread.map(|why| format!("nothing is lent by it: {why}"));
        if self.not_lent == why {
            return;
        }
        if let Some(why) = &why {
            say(4, why);
            self.write(&KEPT, json!({ "why": why }));
        }
        self.not_lent = why;
        self.next_status = Duration::ZERO;
    }

    fn note_lent(&mut self, loan: &Loan, now_ms: u64) {
        let (places, until) = (listed(loan), loan.until(self.clock.now(), now_ms));
        say(5, &format!("{} is lent to {}, for {}", places.join(" and "), Who::Daemon.user(), loan.reason));
        self.write_always(&LENT, json!({ "destinations": places, "for": loan.reason, "until": until }));
    }

    fn note_returned(&mut self, loan: &Loan, is_over: bool) {
        let places = listed(loan);
        let (ended, how) = match is_over {
            true => ("over", "is no longer lent: its time is over"),
            false => ("returned", "was returned"),
        };
        say(5, &format!("{} {how}", places.join(" and ")));
        self.write_always(&RETURNED, json!({ "destinations": places, "for": loan.reason, "ended": ended }));
    }

    pub(super) fn lent_status(&self) -> Vec<Lent> {
        let (now, now_ms) = (self.clock.now(), since_boot_ms());
        let given = self.loaded.as_ref().is_some_and(|(rules, _)| *rules == self.rules());
        let is_known = |host: &Host| match host {
            Host::Ip(_) => true,
            Host::Name(name) => self.book.addresses(name).next().is_some(),
        };
        let of = |loan: &Loan| {
            let until = loan.until(now, now_ms);
            let lent = |to: &Destination| Lent {
                destination: to.to_string(),
                reason: loan.reason.clone(),
                until,
                is_open: given && self.not_loaded.is_none() && is_known(&to.host),
            };
            loan.destinations.iter().map(lent).collect::<Vec<_>>()
        };
        self.lent.iter().flat_map(of).collect()
    }
}

fn listed(loan: &Loan) -> Vec<String> {
    loan.destinations.iter().map(ToString::to_string).collect()
}
