//! What is written down of the gateway: every sign-in, every act on an account, every refusal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_door::TurnedAway;
use holdfast_gateway::{Event, Recorder};
use holdfast_journal::Draft;
use holdfast_notice::{Notice, Severity};
use holdfast_types::{KindDef, Trust};
use serde_json::{Map, Value, json};
use tracing::warn;

use crate::kinds::own_actor;
use crate::office::Office;

/// Refusals of one kind from one place that are written down within this time are one entry.
const FOLDED_FOR: Duration = Duration::from_secs(60);
/// How often the door is asked whether it turned somebody away.
const DOOR_EVERY: Duration = Duration::from_secs(5);
/// Places that are remembered; beyond it the oldest are forgotten, and written down anew.
const PLACES_MAX: usize = 1_024;

/// Written by the office, which makes it.
pub(crate) const LINK_MADE: KindDef = KindDef {
    name: "gateway.link.made",
    version: 1,
    when: "A one-time link was made at the machine.",
    fields: &[("event", "that it was made"), ("name", "for whom")],
};

const REFUSED: KindDef = KindDef {
    name: "gateway.request.refused",
    version: 1,
    when: "Somebody tried what they may not; folded by reason and place. What the door itself turned away is one entry for all of a minute.",
    fields: &[
        ("event", "what happened, with whom and from which address"),
        ("why", "the reason; `door` where nobody behind the door heard of it"),
        ("before", "how often the same was passed over since the last entry"),
        (
            "most",
            "for `door`: by reason, at most 16 addresses that came most, each with how often at least; of IPv6 the network of a household",
        ),
        ("others", "for `door`: by reason, how often it was anybody else"),
    ],
};

macro_rules! kinds {
    ($($name:literal, $when:literal;)*) => {
        /// The kinds of entry the gateway writes. Their fields are those of the event, and the address it came from.
        pub(crate) const KINDS: &[KindDef] = &[LINK_MADE, super::impostors::REFUSED, $(KindDef {
            name: $name,
            version: 1,
            when: $when,
            fields: &[("event", "what happened, with whom and from which address")],
        },)* REFUSED];
    };
}

kinds! {
    "gateway.device.registered", "A passkey was registered, by a link or by somebody who is signed in.";
    "gateway.session.started", "Somebody signed in.";
    "gateway.session.left", "Somebody signed out.";
    "gateway.code.used", "A recovery code was used.";
    "gateway.codes.renewed", "Recovery codes were made anew; the old ones hold no more.";
    "gateway.device.removed", "A passkey was removed.";
    "gateway.device.renamed", "A passkey was given another name.";
    "gateway.sessions.ended", "Sessions were ended from elsewhere.";
    "gateway.person.invited", "An owner invited somebody.";
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
    folded: Mutex<HashMap<String, (Instant, u64)>>,
}

impl Scribe {
    pub(crate) fn new(office: Arc<Office>) -> Scribe {
        Scribe { office, folded: Mutex::default() }
    }

    /// How many of the same were passed over, when this one is to be written down.
    fn fold(&self, key: &str) -> Option<u64> {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        if folded.len() >= PLACES_MAX {
            folded.retain(|_, (at, _)| at.elapsed() < FOLDED_FOR);
        }
        if folded.len() >= PLACES_MAX
            && let Some(oldest) = folded.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone())
        {
            folded.remove(&oldest);
        }
        match folded.get_mut(key) {
            Some((at, more)) if at.elapsed() < FOLDED_FOR => {
                *more += 1;
                None
            }
            found => {
                let more = found.map_or(0, |(_, more)| *more);
                folded.insert(key.to_owned(), (Instant::now(), 0));
                Some(more)
            }
        }
    }
}

impl Recorder for Scribe {
    fn note(&self, event: Event) {
        let more = match event.fold_key() {
            Some(key) => match self.fold(&key) {
                Some(more) => more,
                None => return,
            },
            None => 0,
        };
        let Ok(Value::Object(mut body)) = serde_json::to_value(&event) else { return };
        // The guard takes out what is called a session, and this one is only its number.
        if let Some(session) = body.remove("session") {
            body.insert("visit".to_owned(), session);
        }
        if more > 0 {
            body.insert("before".to_owned(), json!(more));
        }
        let Ok(kind) = event.kind().parse() else { return };
        // Written by somebody else's request, so not on the thread that answers it.
        let (office, needs_telling) = (self.office.clone(), event.needs_telling());
        tokio::task::spawn_blocking(move || {
            let draft = Draft::new(kind, own_actor(), Trust::Trusted, body);
            if let Err(e) = office.journal.append(&draft) {
                warn!(error = %e, "what happened at the gateway could not be written down");
            }
            if needs_telling {
                let text = "Somebody came in by a recovery code, or a passkey may have been copied. Look at your devices and sessions; end what is not yours.";
                let notice = Notice::new(Severity::Critical, own_actor(), text).folding("gateway-doubt");
                if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
                    warn!(error = %e, "nobody could be told of it");
                }
            }
        });
    }
}

/// Writes down what the door itself turned away, which reaches nobody who could: once it happens, and then all of a while as one entry.
pub(crate) async fn at_the_door(office: &Arc<Office>, turned_away: impl Fn() -> Vec<TurnedAway>) {
    loop {
        tokio::time::sleep(DOOR_EVERY).await;
        let body = told_of(&turned_away());
        if body.is_empty() {
            continue;
        }
        let office = office.clone();
        let written = tokio::task::spawn_blocking(move || write_down(&office, body));
        if written.await.is_err() {
            warn!("what the door turned away could not be written down");
        }
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

fn write_down(office: &Office, mut body: Map<String, Value>) {
    body.insert("event".to_owned(), json!("refused"));
    body.insert("why".to_owned(), json!("door"));
    let Ok(kind) = REFUSED.name.parse() else { return };
    if let Err(e) = office.journal.append(&Draft::new(kind, own_actor(), Trust::Trusted, body)) {
        warn!(error = %e, "what the door turned away could not be written down");
    }
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
