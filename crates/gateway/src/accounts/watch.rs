//! Tells a stream that goes on for long when whoever it was opened for may see it no more.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Accounts, Passing};
use crate::error::{Error, Result};
use crate::role::Role;
use crate::secret::Stamp;
use crate::signed::{By, Signed};

/// How often it looks by itself: time passes without anybody changing a row. A stream closes within five seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Threads that look for all of them together: one is enough for thousands, as long as the disk answers.
pub(crate) const WATCHERS_MAX: usize = 4;

/// Why a stream is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The session or token is over.
    Gone,
    /// The person has another role now: what is shown may be too much, or too little.
    OtherRole,
}

/// Watches one session or token. Cheap: a stream each may have one.
#[derive(Debug)]
pub struct Watch {
    accounts: Arc<Accounts>,
    stamp: Stamp,
    kind: Kind,
    role: Role,
    turns: watch::Receiver<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Session,
    Token,
}

impl Watch {
    pub fn new(accounts: Arc<Accounts>, signed: &Signed) -> Watch {
        let kind = match signed.by {
            By::Session { .. } => Kind::Session,
            By::Token { .. } => Kind::Token,
        };
        let turns = accounts.known.turns();
        Watch { accounts, stamp: signed.stamp, kind, role: signed.role, turns }
    }

    /// The same for somebody who was passed on.
    pub fn of_passing(accounts: Arc<Accounts>, passing: &Passing) -> Watch {
        let turns = accounts.known.turns();
        Watch { accounts, stamp: passing.stamp, kind: Kind::Session, role: passing.role, turns }
    }

    /// Comes back when it is over, within some seconds. May be dropped at any time.
    pub async fn over(&mut self) -> Ended {
        loop {
            self.turns.borrow_and_update();
            if let Some(ended) = self.look().await {
                return ended;
            }
            // Both sides may be dropped: what happened is read from the database in the next round.
            tokio::select! {
                _ = self.turns.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn look(&self) -> Option<Ended> {
        if let Kind::Session = self.kind
            && let Some(row) = self.accounts.known.get(self.stamp)
        {
            let live = row.is_live(self.accounts.now(), self.accounts.settings.session_idle);
            return verdict(live.then_some(row.role), self.role);
        }
        let (accounts, stamp, kind) = (self.accounts.clone(), self.stamp, self.kind);
        let seat = accounts.watching.clone().acquire_owned().await;
        let found = tokio::task::spawn_blocking(move || {
            let _seat = seat;
            match kind {
                Kind::Session => Ok(accounts.live_row(stamp)?.map(|row| row.role)),
                Kind::Token => accounts.token_role(stamp),
            }
        });
        let found: Result<Option<Role>> = found.await.unwrap_or(Err(Error::Interrupted));
        // What cannot be checked is not shown further.
        verdict(found.ok().flatten(), self.role)
    }
}

fn verdict(now: Option<Role>, then: Role) -> Option<Ended> {
    match now {
        None => Some(Ended::Gone),
        Some(role) if role != then => Some(Ended::OtherRole),
        Some(_) => None,
    }
}
