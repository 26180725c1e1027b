//! What people see in a browser.
//!
//! A page is a function from a [`Frame`] (who looks, when, where) and a view (a plain struct of what is to be seen) to
//! HTML: [`overview`], [`hosts`], [`host`], [`episode`], [`memory`], [`memory_entry`], [`audit`], [`audit_entry`],
//! [`inbox`], [`ask`], [`settings`], [`confirm`], [`problem`]; before anybody is signed in [`sign_in`], [`register`],
//! [`recovery`], [`authority`] and [`problem_outside`]. What changes while a page is open has an id of its own and comes
//! out of a function named `…_fragments`. [`assets`] is everything a page loads.
//!
//! In reading order: `frame.rs` (what every page has around it), `pieces/` (what pages are put together from), then the
//! file of a page's name. The stylesheet and the module are in `assets/`.
//!
//! What holds:
//! - the same frame and the same view give the same bytes; nothing here reads a clock, a file or the network;
//! - no text of a view is ever anything but text: it is escaped, characters that hide or turn the text beside them are
//!   spelled out, and what is long is cut and says so;
//! - no page needs more than its own origin, and none has a script or a style inside it, so that the strictest
//!   Content-Security-Policy fits;
//! - every page can be read and every form sent without the module, but for passkeys;
//! - a state is a shape, a word and a colour; what is not known is never shown as good.
//!
//! Absent on purpose: serving, accounts, the journal. Whoever serves fills the views; whether somebody may do what a form
//! asks for is decided there again. A page only leaves out what its reader may not do.

mod assets;
mod audit;
mod confirm;
mod episode;
mod frame;
mod host;
mod inbox;
mod memory;
mod overview;
mod pieces;
mod problem;
mod settings;
mod sign_in;

pub use assets::{Asset, assets};
pub use audit::{
    Audit, AuditEntry, AuditFilter, EntryLine, Proof, SealedText, Shown, Verdict, Verification, Witness,
    audit, audit_entry, audit_fragments,
};
pub use confirm::{Confirm, Tone, confirm, pause_confirm};
pub use episode::{Episode, episode, episode_fragments};
pub use frame::{Fragment, Frame, Note, Pause, Person, Place, Role, Theme, frame_fragments};
pub use host::{
    Anomaly, EpisodeLine, Host, HostLine, Hosts, Level, Noticed, Unit, host, host_fragments, hosts,
    hosts_fragments,
};
pub use inbox::{Ask, AskLine, AskState, Decision, Inbox, ask, ask_fragments, inbox, inbox_fragments};
pub use memory::{
    Found, Hit, Memory, MemoryEntry, MemoryFilter, MemorySearch, Origin, Space, Standing, memory,
    memory_entry,
};
pub use overview::{Need, Overview, overview, overview_fragments};
pub use pieces::{Countdown, Told, Trial};
pub use problem::{Problem, problem, problem_outside};
pub use settings::{
    Channel, Device, House, KeyLine, Link, Member, News, Notices, Once, Part, People, Scope, Session,
    Settings, TokenLine, Tokens, TrustKind, You, settings,
};
pub use sign_in::{
    Adding, Authority, Outside, Recovery, Register, SignIn, authority, recovery, register, sign_in,
};

/// What plots, gates and scores are described with.
pub use holdfast_plot::{
    Band, Figure, Gate, GateState, Mark, Moment, Point, Probe, Score, Series, State, Threshold,
};
