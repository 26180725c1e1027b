//! Who answered where a program behind the door should have: written down, and people are told.
//!
//! While such a program is down any user of this machine may listen at its port. They would be sent requests in the names of people, and what they
//! answered would have the program's origin. The door keeps requests back from whoever it is not; here it is said who that was.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use holdfast_door::Impostor;
use holdfast_journal::Draft;
use holdfast_types::{KindDef, Trust};
use serde_json::json;
use tracing::warn;

use crate::kinds::own_actor;
use crate::office::Office;
use crate::owner::user_named;

/// How often the door is asked.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// One service is written down once in this time, with how often it was: whoever reloads a page fills no log.
const FOLDED_FOR: Duration = Duration::from_secs(60);

pub(crate) const REFUSED: KindDef = KindDef {
    name: "gateway.service.refused",
    version: 1,
    when: "Somebody else answered where a program behind the gateway should, and was sent nothing; folded by program.",
    fields: &[
        ("service", "which program"),
        ("uid", "who answered the last time; null where that could not be told"),
        ("user", "their name, where /etc/passwd has one"),
        ("times", "requests that were kept back since the last entry"),
    ],
};

/// Looks for as long as the gateway lives.
pub(super) async fn watch(office: &Office, impostors: impl Fn() -> Vec<Impostor>) {
    // One for each service, of which there are few.
    let mut waiting: HashMap<String, (Option<Instant>, Impostor)> = HashMap::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        for found in impostors() {
            let (_, known) = waiting
                .entry(found.service.clone())
                .or_insert_with(|| (None, Impostor { times: 0, ..found.clone() }));
            known.times += found.times;
            known.uid = found.uid;
        }
        for (written, impostor) in waiting.values_mut() {
            if impostor.times > 0 && written.is_none_or(|at| at.elapsed() >= FOLDED_FOR) {
                tell(office, impostor);
                *written = Some(Instant::now());
                impostor.times = 0;
            }
        }
    }
}

fn tell(office: &Office, impostor: &Impostor) {
    let Impostor { service, uid, times } = impostor;
    let user = uid.and_then(user_named);
    warn!(
        service,
        uid,
        user,
        times,
        "somebody else answers where a program behind the gateway should: nothing was sent. If it is that program's user, say so: `user` in gateway.services"
    );
    let body = json!({ "service": service, "uid": uid, "user": user, "times": times });
    let (Ok(kind), Some(body)) = (REFUSED.name.parse(), body.as_object()) else { return };
    if let Err(e) = office.journal.append(&Draft::new(kind, own_actor(), Trust::Trusted, body.clone())) {
        warn!(error = %e, "who answered for a program could not be written down");
    }
}
