//! The one way to run git: exact arguments, an environment of its own, a deadline, and bounded output.
//!
//! Nothing of whoever started us reaches it: no settings of a user or of the machine, no hooks, no helpers, no questions at a terminal. Nothing that a
//! repository says runs a program or opens a connection: `settings.rs` has how for each of git's settings, and the verbs that may be asked. What may go
//! over the network is said for each call ([`Network`]).
//!
//! There are three kinds of repositories, and a way to open each:
//!
//! - [`Git::at`]: one that we made. Its folder and settings have to belong to us, or git is not asked.
//! - [`Git::around`]: one that a person works in and has us scan (`holdfast scan`). It has to belong to them, as git itself demands; git's own check
//!   does not work where the repository is named to it, so it is made here.
//! - [`Borrowed`]: anybody's. Only its objects are read, from an empty repository of ours; git never sees its settings. A program that runs git itself
//!   (`nix`) is given that empty repository too.

mod alternates;
mod borrow;
mod owner;
mod place;
mod run;
mod settings;
mod survey;

pub use borrow::{Borrowed, head_of_ours};
pub use place::{Place, surround};
pub use run::{Ask, Git, Network, NotDone, why};
