//! What the guard lets through to where Holdfast writes.
//!
//! Neither the journal nor the guard knows the other. Here they meet: [`GuardScreen`] is the journal's screen, [`Rules`]
//! the policy behind it, which the sieve of logs, errors and bundles uses as well.
//!
//! What holds, whatever the rules: a text with a key that cannot be cut out is kept nowhere. Secrets are taken out by their
//! form, by their name and by what stands around them. What only looks random goes from sentences and stays in bare
//! values, because digests, ids and signatures are values of that kind and the product's own. People stay in the journal
//! unless the rules say otherwise: who did what is what it is for.

mod own;
mod rules;
mod screen;

pub use rules::{PersonalData, Rules};
pub use screen::GuardScreen;
