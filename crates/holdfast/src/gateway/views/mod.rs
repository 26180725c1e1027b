//! What pages show, made from the house as it is: each method gives a view that `holdfast-pages` draws. All of them block.

mod api;
mod audit;
mod inbox;
mod memory;
mod overview;
mod settings;
mod steward;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_control::{Answer, Request, Status};
use holdfast_gateway::{Accounts, Signed};
use holdfast_pages::{Frame, Note, Pause, Person, Place, Theme};
use holdfast_types::Timestamp;

use super::stories::Stories;
use crate::office::{Office, pause_state};
use crate::problem::Result;

pub(crate) use settings::role;

/// How old what is measured of the whole house may be: going through its folders is no work for every page.
const STATUS_FOR: Duration = Duration::from_secs(5);

/// The pieces of a page that is kept live are told a time that moves in steps of this, so that only what changed is sent. The page itself is
/// told the time as it is: what counts down in it goes by that.
const LIVE_STEP: Duration = Duration::from_secs(20);

/// The house, as pages see it.
#[derive(Debug)]
pub(crate) struct Views {
    pub(crate) office: Arc<Office>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) stories: Stories,
    /// Held by whoever takes a look that goes elsewhere or takes long.
    pub(crate) long_look: Mutex<()>,
    status: Mutex<Option<(Instant, Arc<Status>)>>,
}

impl Views {
    pub(crate) fn new(office: Arc<Office>, accounts: Arc<Accounts>) -> Views {
        Views {
            office,
            accounts,
            stories: Stories::default(),
            long_look: Mutex::default(),
            status: Mutex::default(),
        }
    }

    /// What is around every page.
    pub(crate) fn frame(
        &self,
        who: &Signed,
        place: Place,
        live: Option<String>,
        note: Option<Note>,
    ) -> Result<Frame> {
        Ok(Frame {
            place,
            now: self.office.clock.now(),
            house: self.office.journal.origin().to_string(),
            person: Person { name: who.name.to_string(), role: role(who.role) },
            csrf: self.accounts.page_word(who),
            inbox_open: self.open_asks()?.len() as u64,
            pause: self.pause(),
            live,
            theme: Theme::System,
            note: match note {
                Some(note) => Some(note),
                None => self.news_note(who)?,
            },
        })
    }

    /// That something was made in their name which they have not said they know of.
    fn news_note(&self, who: &Signed) -> Result<Option<Note>> {
        let new = self.accounts.news(who)?.len();
        let said = match new {
            0 => return Ok(None),
            1 => "A new way in was made in your name. Settings says which.".to_owned(),
            n => format!("{n} new ways in were made in your name. Settings says which."),
        };
        Ok(Some(Note { state: holdfast_plot::State::NeedsYou, said }))
    }

    fn pause(&self) -> Pause {
        let state = pause_state(&self.office.is_paused());
        match state.paused {
            false => Pause::GoesOn,
            true => Pause::Paused {
                since: state.since,
                by: state.by.map(|by| by.to_string()),
                reason: state.reason,
            },
        }
    }

    fn paused(&self) -> bool {
        self.office.is_paused().is_paused()
    }

    /// How everything is, as of a moment ago.
    pub(crate) fn status(&self) -> Result<Arc<Status>> {
        let mut kept = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, status)) = kept.as_ref().filter(|(at, _)| at.elapsed() < STATUS_FOR) {
            return Ok(status.clone());
        }
        let status = Arc::new(self.office.status()?);
        *kept = Some((Instant::now(), status.clone()));
        Ok(status)
    }

    /// Asks the office as a command would.
    pub(crate) fn ask_office(&self, request: Request) -> Result<Answer> {
        self.office.carry_out(request, &mut |_| ControlFlow::Continue(()))
    }
}

/// A time that moves in steps, and is never before what was just seen.
pub(super) fn stepped(now: Timestamp) -> Timestamp {
    let step = LIVE_STEP.as_micros() as i64;
    Timestamp::from_micros((now.as_micros().div_euclid(step) + 1) * step).unwrap_or(now)
}
