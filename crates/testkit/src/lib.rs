//! What the tests of every room share. Dev only: no crate lists this outside `[dev-dependencies]`.
//!
//! - [`crash`]: a real child process, killed with SIGKILL at a chosen or random moment; begin here for
//!   tests of anything durable.
//! - [`House`]: a state directory with a journal, its key, vault and clock, and the drafts to fill it.
//! - [`SmallDisk`]: a real filesystem that is full or read-only.
//! - [`lab`]: real machines: guests with systemd and cgroups, resumed in seconds.
//! - [`authority`]: certificate authorities, one of them real.
//! - [`files`]: damage to files, copies of folders, a search for bytes that must not be there.
//! - [`made`]: vectors made up of a seed, for the index of them.
//! - [`TestClock`]: time that moves when the test says so.
//! - [`block_on`]: waits for a future without a runtime.
//! - [`Seed`]: randomness that a failing test can print and a person can repeat.
//! - [`Stranger`]: another user of this machine, who takes an address.
//! - [`shared_data`]: the measuring data beside the checkout, which a user's clone does not have.
//!
//! Helpers panic rather than return an error wherever a test could only unwrap it. Nothing is skipped in
//! silence: what cannot run here fails or says so in one line.

pub mod authenticator;
#[cfg(feature = "authority")]
pub mod authority;
mod clock;
pub mod crash;
mod data;
mod disk;
pub mod files;
mod guest;
pub mod house;
pub mod lab;
pub mod locomo;
pub mod made;
mod seed;
mod stranger;
mod task;

pub use clock::TestClock;
pub use data::{shared_data, shared_data_or_say};
pub use disk::{NoDisk, SmallDisk, require};
pub use guest::{Guest, GuestCall, GuestError};
pub use house::House;
pub use seed::{Rng, Seed, rounds, with_seeds};
pub use stranger::{IMPOSTURE, STRANGER, Stranger, Taking, as_user};
pub use task::block_on;
