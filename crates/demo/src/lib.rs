//! What `holdfast demo` shows: the real loop on a modelled host in memory, in three acts, in less than a minute.
//!
//! Nothing on the screen is made up. A [`Director`] carries shown time to a world in which the real runner, controller, gates,
//! lease and verification work on a modelled host, and reads what to show from the loop's records, the host and the
//! detector. It gives a [`Scene`]; [`frame`] makes lines of it for a screen of any size; [`play`] paints them, waits, and hears
//! the reader who wants to leave. [`plain_lines`] and [`document`] tell the same facts without a screen.
//!
//! In reading order: `script.rs` (acts and beats), `director.rs`, `world.rs` with `host.rs`, `around.rs`, `load.rs` and `lookout.rs`,
//! `chronicle.rs` (from records to facts), `scene.rs`, `frame.rs`, `tell.rs`, `document.rs`, `play.rs`.
//!
//! What holds:
//! - time there is accelerated, and the screen says by how much at every moment;
//! - nothing is read or written but the terminal: no host, no key, no network, no file;
//! - everything but [`play`] is pure, and the same on every run;
//! - however it ends, the terminal is left as it was found.

mod around;
mod chronicle;
mod director;
mod document;
mod frame;
mod host;
mod load;
mod lookout;
mod play;
mod scene;
mod script;
mod tell;
mod world;

pub use chronicle::{Facts, Said, Settled, UndoneBy};
pub use director::{Director, TICK, whole};
pub use document::document;
pub use frame::{fits, frame};
pub use lookout::Noticed;
pub use play::{Ended, Heard, Look, Terminal, play};
pub use scene::Scene;
pub use tell::{plain_lines, summary};
