//! Who may come in: people, their passkeys, sessions, one-time links, recovery codes and tokens, and the HTTP requests
//! by which they sign in.
//!
//! Two halves. [`Accounts`] is the first: blocking, over `gateway.db`, it knows nothing of HTTP. `settings.rs` says which
//! site this is, `role.rs` who may do what, `secret.rs` what every random value is and what is kept of it, `ceremony.rs`
//! what is under way, `sealed.rs` the sign-ins that browsers carry themselves, `passkeys.rs` what is asked of an authenticator and checked of its answer, and `accounts/` has one
//! file for each thing that is stored. The second half is [`router`] and [`guard()`]: `guard.rs` has every check of a
//! request as a pure function, `http/` puts them before the routes. What the room needs of others are traits:
//! [`Recorder`] (what happened), [`Confirm`] (what a person confirms with a passkey), [`Faces`] (what a refusal looks like).
//!
//! What holds:
//! - nobody registers without a link that local root or an owner made, and a link is used once, whoever hurries;
//! - a ceremony is good for five minutes, once, in the browser that began it; a passkey is found by the authenticator
//!   itself and only after it has verified its user;
//! - of every cookie, link, token and code only a hash is stored: a stolen database signs nobody in;
//! - a session has a new random name at every sign-in, ends when it is idle or old, and can be ended from elsewhere:
//!   a stream that watches it ([`Watch`]) ends within seconds;
//! - what changes something needs our own origin and, with a cookie, the session's anti-forgery word; a token is never
//!   taken where a cookie is expected;
//! - what makes a way in, widens what machines do by themselves, or destroys, needs a passkey used for exactly that, in
//!   that very request: no cookie and no token is enough, and having signed in a moment ago counts for nothing;
//! - no stranger's tries count for everybody: each place, each browser that was here before and each code has its own limit, and nothing that
//!   is kept of a stranger's attempt takes room from anybody else's;
//! - there is always an owner; nobody gives away more than they have;
//! - everything that can be sent from outside is bounded: lengths, counts, tries, memory, hashing.
//!
//! There is no signing key for cookies, and so none to keep, rotate or lose. A cookie is 256 random bits that name a row;
//! an altered one names none. The anti-forgery word is made of the row's name with a secret of the database: who sees a
//! cookie cannot make it.
//!
//! Absent on purpose: passwords, pages, TLS, listening, the JSON API, the journal. No clock but the one handed in.

mod accounts;
mod browser;
mod ceremony;
mod client;
mod code;
mod cookie;
mod error;
mod event;
mod guard;
mod headers;
mod http;
mod id;
mod limit;
mod name;
mod passkeys;
mod path;
mod port;
mod proof;
mod role;
mod schema;
mod sealed;
mod secret;
mod settings;
mod shown;
mod signed;

pub use self::guard::{CSRF_FIELD, CSRF_HEADER, Place, check_csrf, check_host, check_origin, sent_proof};
pub use self::http::{
    AUTH_BODY_MAX, AuthRoute, Brought, GATE_THREADS, Gate, GateState, Need, ROUTES, guard, router,
};
pub use accounts::{
    Accounts, Acting, Confirmed, Device, Ended, Finished, LinkPurpose, LockedOut, NewLink, NewSession,
    NewToken, News, NewsKind, OpenLink, Owed, Passing, Person, Previous, Proved, Recovered, Registration,
    SessionSeen, TokenSeen, Tokens, Watch,
};
pub use ceremony::{Holder, Started};
pub use client::{Caller, Locator};
pub use code::{CODES, CodeCost};
pub use cookie::{CookieKind, CookieNames, Cookies};
pub use error::{Error, Result};
pub use event::{Event, Why};
pub use headers::{CONTENT_SECURITY_POLICY, dress, headers};
pub use id::{DeviceId, IdError, LinkId, PersonId, SessionId, TokenId};
pub use limit::{Buckets, Kind as LimitKind, Rate};
pub use name::{LABEL_MAX, Label, NAME_MAX, PersonName};
pub use path::local_path;
pub use port::{Confirm, Confirmable, Faces, PlainFaces, Ports, Recorded, Recorder, Unrecorded};
pub use proof::{Act, PROOF_FIELD, PROOF_HEADER, Proof};
pub use role::{NotARole, Role, Scope};
pub use secret::Secret;
pub use settings::{RpIdChange, Settings, Site};
pub use shown::Shown;
pub use signed::{By, Csrf, Signed};
