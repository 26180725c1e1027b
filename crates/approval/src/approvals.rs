//! The inbox at work: the only file here that writes.
//!
//! Every call takes its turn, brings the tables up to date with the journal, decides by the pure rules and appends at
//! most one entry that matters. Whatever goes wrong on the way, nothing was approved and nothing may begin.
//!
//! People decide also while the disk takes no write and the tables stay behind: a verdict, a withdrawal and a look read what the
//! tables lack from the journal itself ([`Rest`]). Asking and redeeming wait for the tables, since they begin something.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_journal::{Appended, Entries, Journal, Screen};
use holdfast_keys::{KeyId, Moment, Role, TrustSet};
use holdfast_store::Index;
use holdfast_types::{Actor, ApprovalId, Digest, Key, Kind, Timestamp, Trust};
use serde_json::{Map, Value, json};
use ulid::Ulid;

use crate::action::Action;
use crate::ask::NewAsk;
use crate::decide::{self, HOUR, Taking};
use crate::error::{Error, Result};
use crate::event::{self, Event, KEY_PREFIX, REFUSED};
use crate::ledger::next;
use crate::life::Life;
use crate::name::{Subject, Target};
use crate::projection::{self, NAME};
use crate::refusal::Refusal;
use crate::time::Now;
use crate::verdict::{self, Word, believe};

/// Refused attempts that are written down within an hour. Each is refused all the same; the journal is not theirs to fill.
const REFUSALS_PER_HOUR: usize = 30;

/// Most asks that one answer holds.
const LIST_MAX: u64 = 1_000;

/// What the line of every entry has that may change an ask.
const OF_THIS_ROOM: &str = "\"kind\":\"approval.";

/// Expiries written down by one sweep; the next one goes on.
const SWEEP_MAX: u64 = 256;

/// The inbox of one log.
#[derive(Debug)]
pub struct Approvals {
    journal: Journal,
    index: Arc<Index>,
    /// The one the journal was opened with.
    screen: Arc<dyn Screen>,
    /// Held from the look at the tables to the append. Guards no value but the times of refusals written down.
    turn: Mutex<Vec<Timestamp>>,
}

/// What the journal says of asks and the tables do not have yet. Empty unless the tables cannot be written.
#[derive(Debug, Default)]
struct Rest {
    lives: BTreeMap<ApprovalId, Life>,
}

/// A caller's turn, with what the tables lack.
struct Turn<'a> {
    refused_at: MutexGuard<'a, Vec<Timestamp>>,
    rest: Rest,
}

/// An ask that is in the inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub life: Life,
    /// It was not there before, so somebody should be told.
    pub fresh: bool,
}

/// A verdict that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub ask: ApprovalId,
    pub verdict: Word,
    /// The entry it stands in.
    pub seq: u64,
    /// It was there before.
    pub repeated: bool,
}

/// An approval that has just been used up. Whatever needs one takes this; nothing but [`Approvals::redeem`] makes it,
/// and it cannot be copied.
#[derive(Debug)]
#[must_use = "the approval is used up, whether or not the action follows"]
pub struct Redeemed {
    ask: ApprovalId,
    subject: Subject,
    target: Target,
    digest: Digest,
    approved_by: Actor,
    seq: u64,
}

impl Redeemed {
    pub fn ask(&self) -> ApprovalId {
        self.ask
    }

    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Of the action it allows, and of no other.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn approved_by(&self) -> &Actor {
        &self.approved_by
    }

    /// The entry that says it was used: the cause of everything the action writes.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

impl Approvals {
    /// `index` must have the [`ApprovalProjection`](crate::ApprovalProjection) of this journal; `screen` is the one the
    /// journal was opened with.
    pub fn new(journal: Journal, index: Arc<Index>, screen: Arc<dyn Screen>) -> Approvals {
        Approvals { journal, index, screen, turn: Mutex::default() }
    }

    /// Asks for an approval. Where the same action is open already, that ask is the answer.
    pub fn ask(&self, new: NewAsk, now: Now) -> Result<Asked> {
        let _turn = self.turn()?;
        let at = now.good()?;
        let digest = new.action.digest();
        if let Some(life) = self.read(|conn| projection::open_for(conn, digest, at))? {
            return Ok(Asked { life, fresh: false });
        }
        let since = Timestamp::from_micros(at.as_micros().saturating_sub(HOUR.as_micros() as i64));
        let since = since.unwrap_or(Timestamp::EPOCH);
        let crowd = self.read(|conn| projection::crowd(conn, &new.actor, at, since))?;
        decide::may_ask(crowd, &new.actor)?;
        let ask = new.made(new_id(at)?, at)?;
        self.screened_as_it_is(&ask.action)?;
        let actor = ask.actor.clone();
        let event = Event::Made(Box::new(ask.clone()));
        let Appended { seq, redactions, .. } = self.journal.append(&event.draft(&actor)?)?;
        let life = match redactions {
            0 => Life::new(ask, seq),
            // What people will read is what was stored.
            _ => self.fresh_look(ask.id)?,
        };
        Ok(Asked { life, fresh: true })
    }

    /// Takes a signed verdict. `from` is whoever handed it in: an attempt that does not count is written down with
    /// that name.
    pub fn give(&self, document: &[u8], trust: &TrustSet, from: &Actor, now: Now) -> Result<Taken> {
        let mut turn = self.turn_to_decide()?;
        let taken = self.take(&turn.rest, document, trust, now);
        if let Err(Error::Refused(refusal)) = &taken {
            self.note_refusal(document, refusal, from, now, &mut turn.refused_at);
        }
        taken
    }

    /// Uses an approval up. When this returns, the use is on the disk: from here on the action may begin, and if it
    /// does not, it has to be asked for again.
    pub fn redeem(
        &self,
        ask: ApprovalId,
        action: &Action,
        by: &Actor,
        trust: &TrustSet,
        now: Now,
    ) -> Result<Redeemed> {
        let _turn = self.turn()?;
        let life = self.find(&Rest::default(), ask)?;
        let given = decide::approved(&life, action, now)?;
        let bytes = serde_json::to_vec(&given.document).unwrap_or_default();
        let verdict = believe(&bytes, trust, self.journal.origin())?;
        decide::may_use(&life, &verdict, now)?;
        let digest = action.digest();
        let used = Event::Used { ask, by: by.clone(), digest };
        let Appended { seq, repeated, .. } = self.journal.append(&used.draft(by)?)?;
        if repeated {
            // Somebody else used it between our look and our append.
            return Err(Refusal::SecondUse { ask, seq }.into());
        }
        Ok(Redeemed {
            ask,
            subject: action.subject().clone(),
            target: action.target().clone(),
            digest,
            approved_by: verdict.by,
            seq,
        })
    }

    /// Takes an ask back that nobody has decided yet.
    pub fn withdraw(&self, ask: ApprovalId, by: &Actor, why: Option<&str>) -> Result<u64> {
        let turn = self.turn_to_decide()?;
        decide::may_withdraw(&self.find(&turn.rest, ask)?, by)?;
        let why = why.map(|why| why.chars().take(verdict::REASON_CHARS_MAX).collect());
        let withdrawn = Event::Withdrawn { ask, by: by.clone(), why };
        Ok(self.journal.append(&withdrawn.draft(by)?)?.seq)
    }

    /// Writes down what has expired, so that a clock that goes back later changes nothing about it. Returns how many.
    pub fn expire(&self, by: &Actor, now: Now) -> Result<u64> {
        let Now::Good(at) = now else { return Ok(0) };
        let _turn = self.turn()?;
        let overdue = self.read(|conn| projection::overdue(conn, at, SWEEP_MAX))?;
        for life in &overdue {
            self.journal.append(&Event::Expired { ask: life.ask.id }.draft(by)?)?;
        }
        Ok(overdue.len() as u64)
    }

    /// The open asks, or all of them; the newest first, and not more than a thousand.
    pub fn list(&self, all: bool) -> Result<Vec<Life>> {
        let _turn = self.turn()?;
        self.read(|conn| projection::newest(conn, all, LIST_MAX))
    }

    pub fn find_ask(&self, ask: ApprovalId) -> Result<Life> {
        let _turn = self.turn()?;
        self.find(&Rest::default(), ask)
    }

    /// As [`Approvals::list`], for a look: also on a disk that takes no write.
    pub fn look_at_list(&self, all: bool) -> Result<Vec<Life>> {
        let rest = self.rest_for_look()?;
        let mut lives = self.read(|conn| projection::newest(conn, all, LIST_MAX))?;
        lives.retain(|life| !rest.lives.contains_key(&life.ask.id));
        lives.extend(rest.lives.into_values().filter(|life| all || life.is_open()));
        lives.sort_by_key(|life| std::cmp::Reverse(life.made_as));
        lives.truncate(usize::try_from(LIST_MAX).unwrap_or(usize::MAX));
        Ok(lives)
    }

    /// As [`Approvals::find_ask`], for a look.
    pub fn look_at_ask(&self, ask: ApprovalId) -> Result<Life> {
        let rest = self.rest_for_look()?;
        self.find(&rest, ask)
    }

    fn take(&self, rest: &Rest, document: &[u8], trust: &TrustSet, now: Now) -> Result<Taken> {
        let verdict = believe(document, trust, self.journal.origin())?;
        let life = self.find(rest, verdict.ask)?;
        let (ask, word) = (verdict.ask, verdict.verdict);
        if let Taking::Repeated(seq) = decide::may_take(&life, &verdict, now)? {
            return Ok(Taken { ask, verdict: word, seq, repeated: true });
        }
        if let Now::Good(at) = now {
            // It was valid at the time the signature claims; whoever kept an ended key could claim any.
            let key =
                key_of(document).ok_or_else(|| Refusal::Malformed { why: "it is not signed".into() })?;
            trust.accepts(key, Role::Approvals, Moment::At(at)).map_err(Refusal::from)?;
        }
        let document: Value =
            serde_json::from_slice(document).map_err(|e| Refusal::Malformed { why: e.to_string() })?;
        let by = verdict.by.clone();
        let draft = Event::Given { verdict: Box::new(verdict), document }.draft(&by)?;
        // What was signed must stand in the log as it was signed, or nobody can check it later.
        let preview = draft.preview(self.journal.origin(), self.screen.as_ref());
        if preview.map_err(holdfast_journal::Error::from)?.redactions > 0 {
            return Err(Error::Secret);
        }
        let seq = self.journal.append(&draft)?.seq;
        Ok(Taken { ask, verdict: word, seq, repeated: false })
    }

    /// Writes down that somebody tried. That it could not be written down changes nothing about the refusal.
    fn note_refusal(
        &self,
        document: &[u8],
        refusal: &Refusal,
        from: &Actor,
        now: Now,
        refused_at: &mut Vec<Timestamp>,
    ) {
        // A clock that went back starts the hour again.
        refused_at.retain(|then| *then <= now.at() && now.at().since(*then) < HOUR);
        if refused_at.len() >= REFUSALS_PER_HOUR {
            return;
        }
        refused_at.push(now.at());
        let mut body = Map::new();
        if let Ok((_, verdict)) = verdict::read(document) {
            body.insert("ask".into(), json!(verdict.ask));
        }
        if let Some(key) = key_of(document) {
            body.insert("key".into(), json!(key));
        }
        body.insert("code".into(), json!(Error::Refused(refusal.clone()).problem().code));
        body.insert("why".into(), json!(refusal.to_string().chars().take(300).collect::<String>()));
        if let Ok(draft) = event::entry(&REFUSED, from, Trust::Untrusted, body) {
            let _ = self.journal.append(&draft);
        }
    }

    /// The turn of whoever only decides. Where the tables cannot be brought up to date, the journal says what they lack.
    fn turn_to_decide(&self) -> Result<Turn<'_>> {
        let refused_at = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Turn { refused_at, rest: self.rest()? })
    }

    /// The turn, with tables that hold everything the journal does.
    fn turn(&self) -> Result<MutexGuard<'_, Vec<Timestamp>>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.catch_up()?;
        Ok(turn)
    }

    fn catch_up(&self) -> Result<()> {
        let done = self.index.catch_up(&self.journal, &mut |_| ControlFlow::Continue(()))?;
        match done.halted.iter().find(|halted| halted.name == NAME) {
            None => Ok(()),
            Some(halted) => {
                let why = format!("it stands still at entry {}: {}", halted.seq, halted.reason);
                Err(Error::Behind { why })
            }
        }
    }

    /// What the tables lack after an attempt to bring them up to date. Tables that cannot be written are behind at most; whatever else is
    /// wrong with them is an error.
    fn rest(&self) -> Result<Rest> {
        let Err(failed) = self.catch_up() else { return Ok(Rest::default()) };
        if !matches!(failed, Error::Store(_)) {
            return Err(failed);
        }
        let own = self.journal.origin();
        let mut newer = None;
        let fold = |conn: &rusqlite::Connection, entries: Entries| {
            let mut lives = BTreeMap::new();
            for raw in entries {
                let raw = raw?;
                if !std::str::from_utf8(&raw.line).is_ok_and(|line| line.contains(OF_THIS_ROOM)) {
                    continue;
                }
                let entry = raw.parse()?;
                if entry.origin != *own {
                    continue;
                }
                if projection::is_newer(entry.kind.as_str(), entry.version) {
                    newer = Some(entry.seq);
                    break;
                }
                let Some(event) = Event::read(&entry) else { continue };
                let ask = event.ask();
                let before = match lives.remove(&ask) {
                    Some(life) => Some(life),
                    None => projection::by_id(conn, ask)?,
                };
                lives.extend(next(before, event, entry.seq).map(|life| (ask, life)));
            }
            Ok(lives)
        };
        let lives = self.index.read_with_rest(&self.journal, NAME, fold)?;
        if let Some(seq) = newer {
            let why = format!("entry {seq} was written by a newer holdfast");
            return Err(Error::Behind { why });
        }
        lives.map(|lives| Rest { lives }).ok_or(failed)
    }

    /// For a look, tables that are behind are better than none.
    fn rest_for_look(&self) -> Result<Rest> {
        match self.rest() {
            Err(Error::Store(_)) => Ok(Rest::default()),
            other => other,
        }
    }

    fn find(&self, rest: &Rest, ask: ApprovalId) -> Result<Life> {
        let found = match rest.lives.get(&ask) {
            Some(life) => Some(life.clone()),
            None => self.read(|conn| projection::by_id(conn, ask))?,
        };
        Ok(found.ok_or(Refusal::UnknownAsk { ask })?)
    }

    fn fresh_look(&self, ask: ApprovalId) -> Result<Life> {
        self.catch_up()?;
        self.find(&Rest::default(), ask)
    }

    fn read<T>(&self, look: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.index.read(|conn| Ok(look(conn)?))?)
    }

    /// Refuses an action that the screen would change: the digest would stand for something nobody can read.
    fn screened_as_it_is(&self, action: &Action) -> Result<()> {
        let body = Map::from_iter([
            ("subject".to_owned(), json!(action.subject())),
            ("target".to_owned(), json!(action.target())),
            ("action".to_owned(), action.what().clone()),
        ]);
        let actor = "approval".parse().map_err(|_| Error::Secret)?;
        let draft = event::entry(&event::MADE, &actor, Trust::SemiTrusted, body)?;
        match draft.preview(self.journal.origin(), self.screen.as_ref()) {
            Ok(preview) if preview.redactions == 0 => Ok(()),
            Ok(_) | Err(_) => Err(Error::Secret),
        }
    }
}

/// Refuses an entry that only this room may write, wherever entries are taken from outside.
pub fn refuse_reserved(kind: &Kind, key: Option<&Key>) -> Result<()> {
    if kind.room().as_str() == NAME {
        return Err(Error::Reserved { kind: kind.clone() });
    }
    match key.filter(|key| key.as_str().starts_with(KEY_PREFIX)) {
        Some(key) => Err(Error::ReservedKey { key: key.clone() }),
        None => Ok(()),
    }
}

/// The key a document says it was signed with.
fn key_of(document: &[u8]) -> Option<KeyId> {
    let (document, _) = verdict::read(document).ok()?;
    document.signatures.first().map(|signature| signature.key)
}

fn new_id(at: Timestamp) -> Result<ApprovalId> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| Error::NoRandomness)?;
    let millis = u64::try_from(at.as_micros() / 1_000).unwrap_or(0);
    Ok(Ulid::from_parts(millis, u128::from_be_bytes(random)).into())
}
