//! The gateway inside the daemon: one door with passkeys, pages, an API and live events.
//!
//! The rooms it is made of know nothing of each other: `holdfast-gateway` (who may come in), `holdfast-pages` (what is seen), `holdfast-api`
//! (what can be asked), `holdfast-door` (what faces the network). Here they are put together with the house. In reading order: `site.rs` (from
//! the configuration to an open door), `app.rs` (every route and who may take it), `shown.rs` (pages), `acts.rs` (forms), `live.rs` (what is
//! pushed to an open page), `calls.rs`, `looks.rs` and `events.rs` (the API), `confirm.rs` (what a passkey confirms), `services.rs` (programs behind the
//! door), `tickets.rs` (what they are entered with), `rights.rs` (what each form takes), `shares.rs` (how many looks one person gets), `record.rs` (what is written down), `reserve.rs` (what of a full log's last room is whose), `fold.rs` (how refusals are counted), `certificate.rs` (how it stands with the certificate), `impostors.rs` (who answered in the place of such a program), `views/` (from the house to views), `stories.rs` (the steward's records, followed), `names.rs`
//! (who a person is in the journal), `zipped.rs` (answers that go out compressed).
//!
//! What holds:
//! - everything a person does is done in their name and written down by whoever does it;
//! - an approval is signed only after a passkey confirmed exactly that ask and that verdict;
//! - nothing that blocks runs on the runtime's own threads, and only so much of it at once.

mod acts;
mod app;
mod calls;
mod certificate;
mod confirm;
mod events;
mod fold;
mod impostors;
mod live;
mod looks;
mod names;
mod record;
mod reserve;
mod rights;
mod services;
mod shares;
mod shown;
mod site;
mod stories;
mod tickets;
mod views;
mod zipped;

pub(crate) use app::THREADS;
pub(crate) use record::{AtTheMachine, KINDS};
pub(crate) use site::{accounts_of, address_of, run};
