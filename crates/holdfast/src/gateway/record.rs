//! What is written down of the gateway: every sign-in, every act on an account, every refusal.

use std::sync::Arc;
use std::time::Duration;

use holdfast_door::{Counted, TurnedAway, household_text};
use holdfast_gateway::{Accounts, Event, Owed, PersonId, Recorded, Recorder, Signed, Unrecorded, Why};
use holdfast_journal::{Draft, Journal};
use holdfast_notice::{Notice, Severity};
use holdfast_types::{Actor, Kind, KindDef, Problem, Trust};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::fold::{Folding, Refused};
use super::reserve::ReserveShares;
use crate::kinds::own_actor;
use crate::office::Office;

/// What the door turned away within this time is one entry.
const FOLDED_FOR: Duration = Duration::from_secs(60);
/// How often the door is asked whether it turned somebody away.
const DOOR_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether refusals that were counted are to be told.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often it is tried to record what is owed to the log.
const OWED_EVERY: Duration = Duration::from_secs(5);

const LINK_MADE: KindDef = KindDef {
    name: "gateway.link.made",
    version: 1,
    when: "A one-time link was made: at the machine, or by somebody for another device of theirs.",
    fields: &[
        ("event", "that it was made"),
        ("name", "for whom, where it was made at the machine"),
        ("by", "who made it for themselves"),
        ("link", "its number"),
        ("from", "the address it was made from, where it was not at the machine"),
    ],
};

const REFUSED: KindDef = KindDef {
    name: "gateway.request.refused",
    version: 1,
    when: "Somebody tried what they may not. The first of a reason is an entry of its own; more of that reason are one entry, sixteen times at most and then once a minute. What the door itself turned away is one entry for all of a minute.",
    fields: &[
        ("event", "that it was refused; for one alone with whom and from which address"),
        ("why", "the reason; `door` where nobody behind the door heard of it"),
        ("times", "for several: how many they were"),
        (
            "most",
            "for several: at most 16 who came most, each with its address, the person where one was signed in, and how often at least; of IPv6 the network of a household. For `door` by reason",
        ),
        ("others", "for several: how often it was anybody else. For `door` by reason"),
    ],
};

const UNDONE: KindDef = KindDef {
    name: "gateway.act.undone",
    version: 1,
    when: "What earlier entries say of accounts did not come about: they were written, and then the accounts could not be.",
    fields: &[("of", "the seqs of those entries")],
};

/// How much of it is recorded: more than any act has.
const UNREADABLE_CHARS_MAX: usize = 2_000;

const UNREADABLE: KindDef = KindDef {
    name: "gateway.act.unreadable",
    version: 1,
    when: "Something was done while there was no room in the log, and what was kept of it until there was could not be read.",
    fields: &[
        ("event", "that it could not be read"),
        ("kind", "what was kept as the kind of entry it would have been"),
        ("text", "what was kept of it"),
        ("done_at", "when it was done"),
    ],
};

const FAILED: KindDef = KindDef {
    name: "gateway.act.failed",
    version: 1,
    when: "Somebody confirmed something with a passkey, and it was then refused or failed. It was not done.",
    fields: &[
        ("event", "that it failed"),
        ("person", "who confirmed it"),
        ("what", "what it was, as in `gateway.passkey.confirmed`"),
        ("code", "the error they were answered with, where it has a code"),
    ],
};

/// The entry that follows a passkey's where what it confirmed was not done.
pub(crate) fn draft_failed(who: &Signed, what: &str, problem: Option<&Problem>) -> Draft {
    let mut body = Map::from_iter([
        ("event".to_owned(), json!("failed")),
        ("person".to_owned(), json!(who.person)),
        ("what".to_owned(), json!(what)),
    ]);
    body.extend(problem.map(|problem| ("code".to_owned(), json!(problem.code.to_string()))));
    let kind = FAILED.name.parse().unwrap_or_else(|_| unreachable!("a fixed, proper name"));
    Draft::new(kind, own_actor(), Trust::Trusted, body).reserved()
}

/// Records that what a passkey confirmed was not done, without blocking.
pub(crate) async fn record_failed(office: &Office, who: &Signed, what: &str, problem: Option<&Problem>) {
    let written = match office.journal.submit(&draft_failed(who, what, problem)) {
        Ok(on_its_way) => on_its_way.await.map(drop),
        Err(e) => Err(e),
    };
    if let Err(e) = written {
        warn!(error = %e, what, "it could not be written down that this was not done");
    }
}

macro_rules! kinds {
    ($($name:literal, $when:literal;)*) => {
        /// The kinds of entry the gateway writes. Their fields are those of the event, and the address it came from.
        pub(crate) const KINDS: &[KindDef] = &[LINK_MADE, super::impostors::REFUSED, $(KindDef {
            name: $name,
            version: 1,
            when: $when,
            fields: &[
                ("event", "what happened, with whom and from which address"),
                ("done_at", "when it was done, where there was no room in the log at that time"),
            ],
        },)* REFUSED, UNDONE, FAILED, UNREADABLE];
    };
}

kinds! {
    "gateway.device.registered", "A passkey was registered, by a link or by somebody who is signed in.";
    "gateway.session.started", "Somebody signed in.";
    "gateway.session.left", "Somebody signed out, or somebody signed in anew in the same browser.";
    "gateway.code.used", "A recovery code was used.";
    "gateway.codes.renewed", "Recovery codes were made anew; the old ones hold no more.";
    "gateway.device.removed", "A passkey was removed.";
    "gateway.device.renamed", "A passkey was given another name.";
    "gateway.sessions.ended", "Sessions were ended from elsewhere.";
    "gateway.person.invited", "An owner invited somebody.";
    "gateway.news.known", "Somebody said that they know of the new ways in that were made in their name, up to the one that was shown last.";
    "gateway.link.revoked", "A one-time link was taken back before it was used.";
    "gateway.role.changed", "Somebody was given another role.";
    "gateway.person.removed", "Somebody may not come in any more.";
    "gateway.token.made", "A token for scripts was made.";
    "gateway.token.revoked", "A token was revoked.";
    "gateway.passkey.confirmed", "Something was confirmed with a passkey.";
    "gateway.passkey.doubted", "A passkey's counter went backwards: there may be a copy of it.";
}

/// Writes into the journal.
#[derive(Debug)]
pub(crate) struct Scribe {
    office: Arc<Office>,
    folding: Folding,
    reserve: ReserveShares,
}

impl Scribe {
    pub(crate) fn new(office: Arc<Office>) -> Scribe {
        let reserve = ReserveShares::new(&office.journal.status().limits);
        Scribe { office, folding: Folding::default(), reserve }
    }

    /// Tells what was counted when it is due, and records what is owed to the log. Goes on for ever; may be dropped at any time.
    pub(crate) async fn look_after(&self, accounts: &Arc<Accounts>) {
        let mut tried = self.now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.tell(self.folding.due(self.now()));
            if self.now() >= tried + OWED_EVERY {
                tried = self.now();
                self.settle_owed(accounts).await;
            }
        }
    }

    /// Tells what was counted and is not due yet, for a gateway that stops.
    pub(crate) fn tell_the_rest(&self) {
        self.tell(self.folding.rest());
    }

    async fn settle_owed(&self, accounts: &Arc<Accounts>) {
        let (accounts, scribe) = (accounts.clone(), Scribe::new(self.office.clone()));
        let done = tokio::task::spawn_blocking(move || accounts.settle_owed(&scribe)).await;
        match done {
            Ok(Ok(0)) => {}
            Ok(Ok(n)) => tracing::info!(n, "acts that were owed to the log are recorded"),
            Ok(Err(e)) => warn!(error = %e, "what is owed to the log could not be read"),
            Err(_) => warn!("what is owed to the log could not be recorded"),
        }
    }

    fn now(&self) -> Duration {
        self.office.clock.monotonic()
    }

    fn tell(&self, folded: Vec<(Why, Counted<Refused>)>) {
        for (why, counted) in folded {
            self.put(draft_refused(folded_body(why, &counted)));
        }
    }

    /// Puts an entry on its way. The journal's own thread writes it, so that this waits for nobody and nobody for it.
    fn put(&self, draft: Draft) {
        const FAILED: &str = "what happened at the gateway could not be written down";
        match self.office.journal.submit(&draft) {
            Ok(on_its_way) => drop(tokio::spawn(async move {
                if let Err(e) = on_its_way.await {
                    warn!(error = %e, "{FAILED}");
                }
            })),
            Err(e) => warn!(error = %e, "{FAILED}"),
        }
    }

    /// Tells people of what may be somebody getting in who should not. What they are told is worth the reserve.
    fn warn_people(&self) {
        let text = "Somebody came in by a recovery code, or a passkey may have been copied. Look at your devices and sessions; end what is not yours.";
        let notice = Notice::new(Severity::Critical, own_actor(), text).folding("gateway-doubt");
        self.put(notice.draft(self.office.journal.origin()).reserved());
    }
}

impl Scribe {
    /// Tells of a new way in. It is mostly its person who made it, and then it is one line; when it was not, nothing matters more.
    fn tell_of_way_in(&self, person: PersonId, said: &'static str) {
        let office = self.office.clone();
        // Later: whoever records this holds the accounts, which are asked for the name.
        tokio::task::spawn_blocking(move || {
            let name = office.accounts.get().and_then(|accounts| accounts.person(person).ok());
            let name =
                name.map_or_else(|| "somebody who is gone".to_owned(), |person| person.name.to_string());
            let text =
                format!("{said} {name}. If that was not you, end all other sessions under Settings now.");
            let notice = Notice::new(Severity::Warning, own_actor(), &text);
            if let Err(e) = office.journal.append(&notice.draft(office.journal.origin()).reserved()) {
                warn!(error = %e, "nobody could be told of a new way in");
            }
        });
    }
}

impl Recorder for Scribe {
    fn note(&self, event: Event) {
        if let Event::Refused { why, person, from } = event
            && !self.folding.is_news(why, (from, person), self.now())
        {
            return;
        }
        let Some(draft) = draft_of(&event) else { return };
        self.put(draft);
        if event.needs_telling() {
            self.warn_people();
        }
    }

    fn record(&self, events: &[Event]) -> Result<Recorded, Unrecorded> {
        let drafts: Vec<Draft> = events.iter().filter_map(draft_of).collect();
        let recorded = append_all(&self.office.journal, drafts.clone()).or_else(|full| {
            let by = events.iter().find_map(Event::by);
            if by.is_some_and(|person| !self.reserve.take(person, self.now())) {
                let what = format!(
                    "{}, and your share of the room that is kept for people is used up for now",
                    full.0.what
                );
                return Err(Unrecorded(Problem { what, ..full.0 }));
            }
            append_all(&self.office.journal, drafts.into_iter().map(Draft::reserved).collect())
        })?;
        if events.iter().any(Event::needs_telling) {
            self.warn_people();
        }
        for (person, said) in events.iter().filter_map(Event::new_way_in) {
            self.tell_of_way_in(person, said);
        }
        Ok(recorded)
    }

    fn take_back(&self, recorded: Recorded) {
        append_taken_back(&self.office.journal, recorded);
    }

    fn record_late(&self, owed: &Owed) -> Result<(), Unrecorded> {
        let (kind, body) = match (owed.kind.parse(), body_of(owed.event.clone())) {
            (Ok(kind), Some(body)) => (kind, body),
            _ => {
                warn!(
                    number = owed.number,
                    "an act that is owed to the log cannot be read; that is recorded"
                );
                unreadable(owed)
            }
        };
        let mut body = body;
        body.insert("done_at".to_owned(), json!(owed.at));
        // Whoever is killed between the entry and the row's end writes the same one again.
        let key = format!("gateway-owed:{}:{}", owed.number, owed.at.as_micros()).parse().ok();
        let draft = Draft { key, ..Draft::new(kind, own_actor(), Trust::Trusted, body).reserved() };
        self.office.journal.append(&draft).map(drop).map_err(|e| Unrecorded(e.problem()))
    }
}

/// What an act is recorded as that was owed and cannot be read any more.
fn unreadable(owed: &Owed) -> (Kind, Map<String, Value>) {
    let text = match &owed.event {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut = |text: &str| text.chars().take(UNREADABLE_CHARS_MAX).collect::<String>();
    let body = Map::from_iter([
        ("event".to_owned(), json!("unreadable")),
        ("kind".to_owned(), json!(cut(&owed.kind))),
        ("text".to_owned(), json!(cut(&text))),
    ]);
    (UNREADABLE.name.parse().unwrap_or_else(|_| unreachable!("a fixed, proper name")), body)
}

/// Records what is done at the machine itself: in the name of whoever does it there.
pub(crate) struct AtTheMachine {
    pub(crate) journal: Journal,
    pub(crate) actor: Actor,
}

impl Recorder for AtTheMachine {
    fn note(&self, event: Event) {
        let _told_where_it_failed = self.record(&[event]);
    }

    fn record(&self, events: &[Event]) -> Result<Recorded, Unrecorded> {
        let by = |draft: Draft| Draft { actor: self.actor.clone(), ..draft.reserved() };
        append_all(&self.journal, events.iter().filter_map(draft_of).map(by).collect())
    }

    fn take_back(&self, recorded: Recorded) {
        append_taken_back(&self.journal, recorded);
    }

    fn record_late(&self, _owed: &Owed) -> Result<(), Unrecorded> {
        // Making a link owes nothing: what cannot be recorded is not made.
        Ok(())
    }
}

/// All of them or none.
fn append_all(journal: &Journal, drafts: Vec<Draft>) -> Result<Recorded, Unrecorded> {
    let appended = journal.append_many(&drafts).map_err(|e| Unrecorded(e.problem()))?;
    let (done, failed): (Vec<_>, Vec<_>) = appended.into_iter().partition(Result::is_ok);
    let recorded = Recorded(done.into_iter().flatten().map(|one| one.seq).collect());
    if let Some(Err(e)) = failed.into_iter().next() {
        if !recorded.0.is_empty() {
            append_taken_back(journal, recorded);
        }
        return Err(Unrecorded(e.problem()));
    }
    Ok(recorded)
}

fn append_taken_back(journal: &Journal, recorded: Recorded) {
    let Ok(kind) = UNDONE.name.parse() else { return };
    let body = Map::from_iter([("of".to_owned(), json!(recorded.0))]);
    let draft = Draft::new(kind, own_actor(), Trust::Trusted, body).reserved();
    if let Err(e) = journal.append(&draft) {
        warn!(error = %e, of = ?recorded.0, "it could not be written down that these entries did not come about");
    }
}

fn draft_of(event: &Event) -> Option<Draft> {
    let body = body_of(serde_json::to_value(event).ok()?)?;
    Some(Draft::new(event.kind().parse().ok()?, own_actor(), Trust::Trusted, body))
}

fn body_of(event: Value) -> Option<Map<String, Value>> {
    let Value::Object(mut body) = event else { return None };
    // The guard takes out what is called a session, and this one is only its number.
    if let Some(session) = body.remove("session") {
        body.insert("visit".to_owned(), session);
    }
    Some(body)
}

fn folded_body(why: Why, counted: &Counted<Refused>) -> Map<String, Value> {
    let line = |((from, person), times): &(Refused, u64)| match person {
        Some(person) => json!({ "from": household_text(*from), "person": person, "times": times }),
        None => json!({ "from": household_text(*from), "times": times }),
    };
    let mut body = Map::from_iter([
        ("event".to_owned(), json!("refused")),
        ("why".to_owned(), json!(why)),
        ("times".to_owned(), json!(counted.times)),
        ("most".to_owned(), counted.most.iter().map(line).collect()),
    ]);
    if counted.others > 0 {
        body.insert("others".to_owned(), json!(counted.others));
    }
    body
}

/// Writes down what the door itself turned away, which reaches nobody who could: once it happens, and then all of a while as one entry.
pub(crate) async fn at_the_door(scribe: &Scribe, turned_away: impl Fn() -> Vec<TurnedAway>) {
    loop {
        tokio::time::sleep(DOOR_EVERY).await;
        let body = told_of(&turned_away());
        if body.is_empty() {
            continue;
        }
        scribe.put(of_the_door(body));
        tokio::time::sleep(FOLDED_FOR).await;
    }
}

/// How many of each sort, from where most of them came, and how many came from elsewhere.
fn told_of(turned_away: &[TurnedAway]) -> Map<String, Value> {
    let (mut body, mut most, mut others) = (Map::new(), Map::new(), Map::new());
    for TurnedAway { why, times, most: from, others: elsewhere } in turned_away {
        let line = |(from, times): &(String, u64)| json!({ "from": from, "times": times });
        body.insert((*why).to_owned(), json!(times));
        most.insert((*why).to_owned(), from.iter().map(line).collect());
        if *elsewhere > 0 {
            others.insert((*why).to_owned(), json!(elsewhere));
        }
    }
    if !body.is_empty() {
        body.insert("most".to_owned(), most.into());
        body.insert("others".to_owned(), others.into());
    }
    body
}

fn of_the_door(mut body: Map<String, Value>) -> Draft {
    body.insert("event".to_owned(), json!("refused"));
    body.insert("why".to_owned(), json!("door"));
    draft_refused(body)
}

fn draft_refused(body: Map<String, Value>) -> Draft {
    let kind = REFUSED.name.parse().unwrap_or_else(|_| unreachable!("a fixed, proper name"));
    Draft::new(kind, own_actor(), Trust::Trusted, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_door_turned_away_is_told_by_sort_with_those_who_came_most() {
        let named = |all: &[(&str, u64)]| all.iter().map(|(from, n)| ((*from).to_owned(), *n)).collect();
        let away = [
            TurnedAway { why: "unknown_host", times: 9, most: named(&[("192.0.2.7", 5)]), others: 4 },
            TurnedAway { why: "plain", times: 1, most: named(&[("192.0.2.8", 1)]), others: 0 },
        ];
        let wanted = json!({
            "unknown_host": 9,
            "plain": 1,
            "most": {
                "unknown_host": [{ "from": "192.0.2.7", "times": 5 }],
                "plain": [{ "from": "192.0.2.8", "times": 1 }],
            },
            "others": { "unknown_host": 4 },
        });
        assert_eq!(Value::Object(told_of(&away)), wanted);
        assert!(told_of(&[]).is_empty());
    }
}
