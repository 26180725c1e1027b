//! Where certificates come from, and how the one in use stays good.
//!
//! [`Keeper::open`] reads or makes what is needed to start; [`Keeper::tend`], called now and then, reads changed files again and
//! renews what has lived two thirds of its life. `shelf.rs` is what TLS looks at; `files.rs`, `local.rs` and `acme.rs` are the
//! three sources; `renewal.rs` decides when (pure); `validity.rs` reads a certificate's dates.
//!
//! What holds: whatever goes wrong while tending, the certificate in use stays in use, and [`Keeper::status`] says what went wrong
//! and when it is tried again; private keys are in files only their owner can read, and in no message.

mod acme;
mod files;
mod local;
mod mobileconfig;
mod renewal;
mod shelf;
mod validity;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_types::{Clock, Timestamp, with_causes};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tracing::warn;

use crate::error::{Error, Result};
use crate::host::HostName;

pub use local::AuthorityCertificate;

use renewal::{Got, Tries};
use shelf::{Held, Shelf};

/// How often the door has the keeper look, at most.
const TEND_EVERY: Duration = Duration::from_secs(10);
/// The same for files, where a look costs two calls to the system: whoever puts a new pair there waits to see it in use.
const FILES_EVERY: Duration = Duration::from_secs(2);
/// A try whose moment is near is not put off to the next look, nor asked for at every turn of the clock.
const TEND_EVERY_LEAST: Duration = Duration::from_secs(1);

/// The protocol in which a certificate authority asks a TLS listener for its proof (RFC 8737).
pub(crate) const ALPN_ACME: &[u8] = b"acme-tls/1";

/// Where certificates come from.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// Plain HTTP, which is spoken on loopback only.
    None,
    /// PEM files that somebody else renews; they are read again when they change.
    Files { chain: PathBuf, key: PathBuf },
    /// An authority of this house, made once, for devices that are told to trust it.
    Local { dir: PathBuf },
    /// An authority that checks names by itself, such as Let's Encrypt.
    Acme(Acme),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acme {
    /// The address of the authority's directory.
    pub directory: String,
    /// `mailto:` addresses it may write to.
    pub contact: Vec<String>,
    /// Where the account and the certificate are kept.
    pub dir: PathBuf,
    /// A PEM file that is trusted for the authority's own address instead of the system's roots.
    pub extra_root: Option<PathBuf>,
    pub challenge: Challenge,
}

/// How the authority is shown that a name is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// Through the main listener, which the authority must reach on port 443.
    TlsAlpn,
    /// Through the redirect listener, which the authority must reach on port 80.
    Http,
}

/// What is in use, and what came of the last try to renew it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub standing: Standing,
    /// Not empty when the last look went wrong.
    pub trouble: Option<String>,
    /// When the next try is made, after one that failed.
    pub next_try: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No certificate is wanted.
    Plain,
    /// One is wanted and there is none yet; encrypted connections fail.
    Missing,
    InUse {
        not_before: Timestamp,
        not_after: Timestamp,
        /// From when on it is renewed; `None` where somebody else does that.
        renews_at: Option<Timestamp>,
        /// Names that are to be answered for and are not in it.
        uncovered: Vec<HostName>,
    },
}

#[derive(Debug)]
pub struct Keeper {
    source: Certificates,
    names: Vec<HostName>,
    clock: Arc<dyn Clock>,
    shelf: Arc<Shelf>,
    tls: Option<Arc<ServerConfig>>,
    known: Mutex<Known>,
    /// One round at a time.
    tending: tokio::sync::Mutex<()>,
}

/// What the keeper remembers from round to round.
#[derive(Debug, Default)]
struct Known {
    trouble: Option<String>,
    tries: Tries,
    /// What the files looked like when they were last read, and what was wrong with them.
    seen: Option<(files::Look, Option<String>)>,
}

impl Keeper {
    /// Reads or makes what there is to start with. `names` are all hosts that will be answered for.
    pub fn open(source: Certificates, names: Vec<HostName>, clock: Arc<dyn Clock>) -> Result<Arc<Keeper>> {
        let shelf = Arc::new(Shelf::default());
        let tls = match source {
            Certificates::None => None,
            _ => Some(server_config(shelf.clone())?),
        };
        let known = Mutex::default();
        let keeper = Keeper { source, names, clock, shelf, tls, known, tending: tokio::sync::Mutex::new(()) };
        keeper.begin()?;
        Ok(Arc::new(keeper))
    }

    /// Looks once: reads again, or renews, what is due. Never fails; see [`Keeper::status`].
    pub async fn tend(&self) {
        let _one = self.tending.lock().await;
        match &self.source {
            Certificates::None => {}
            Certificates::Files { .. } => self.note(self.read_again()),
            Certificates::Local { dir } => self.note(self.renew_local(dir)),
            Certificates::Acme(acme) => self.renew_acme(acme).await,
        }
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        match self.source {
            Certificates::Files { .. } => FILES_EVERY,
            Certificates::None | Certificates::Local { .. } | Certificates::Acme(_) => {
                let next = self.status().next_try.map(|next| next.since(self.clock.now()));
                next.map_or(TEND_EVERY, |next| next.clamp(TEND_EVERY_LEAST, TEND_EVERY))
            }
        }
    }

    pub fn status(&self) -> Status {
        let known = self.known();
        Status {
            standing: self.standing(),
            trouble: known.trouble.clone(),
            next_try: known.tries.next().filter(|_| known.trouble.is_some()),
        }
    }

    /// The local authority's certificate, for people to put on their devices.
    pub fn authority(&self) -> Option<AuthorityCertificate> {
        match &self.source {
            Certificates::Local { dir } => local::authority(dir).ok(),
            Certificates::None | Certificates::Files { .. } | Certificates::Acme(_) => None,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.clone()
    }

    /// The proof for a token of the authority's, while it is wanted.
    pub(crate) fn challenge(&self, token: &str) -> Option<String> {
        self.shelf.proof(token)
    }

    fn begin(&self) -> Result<()> {
        match &self.source {
            Certificates::None => Ok(()),
            Certificates::Files { .. } => self.read_again(),
            Certificates::Local { dir } => self.renew_local(dir),
            Certificates::Acme(acme) => {
                let found = acme::stored(acme)?;
                self.known().tries = found.tries;
                if let Some(held) = found.held {
                    self.shelf.put(held);
                }
                Ok(())
            }
        }
    }

    /// Files are small and seldom change: looking at them costs two calls to the system.
    fn read_again(&self) -> Result<()> {
        let Certificates::Files { chain, key } = &self.source else { return Ok(()) };
        let look = files::look(chain, key)?;
        let before = self.known().seen.clone();
        let wrong = match before {
            Some((seen, wrong)) if seen == look => wrong,
            _ => {
                let read = files::read(chain, key);
                let wrong = read.map(|held| self.shelf.put(held)).err();
                self.known().seen = Some((look, wrong.clone()));
                wrong
            }
        };
        wrong.map_or(Ok(()), |why| Err(Error::BadCertificate { path: chain.clone(), why }))
    }

    fn renew_local(&self, dir: &std::path::Path) -> Result<()> {
        let now = self.clock.now();
        let due = self
            .shelf
            .held()
            .is_none_or(|held| renewal::is_due(&held.life, now) || renewal::is_early(&held.life, now));
        if due {
            self.shelf.put(local::leaf(dir, &self.names, now)?);
        }
        Ok(())
    }

    async fn renew_acme(&self, acme: &Acme) {
        let now = self.clock.now();
        let tries = self.known().tries;
        let names = acme::orderable(&self.names);
        let lacking = self.shelf.held().is_none_or(|held| !held.uncovered(&names).is_empty());
        let due = self.shelf.held().is_some_and(|held| renewal::is_due(&held.life, now));
        // A new name does not wait until a success is old; nothing comes before a pause after a failure is over.
        let may = tries.may(now) || (lacking && !tries.are_failing());
        if !may || !(lacking || due) {
            return;
        }
        let issued = acme::issue(acme, &names, &self.shelf).await;
        let tries = match &issued {
            Ok(_) => Tries::succeeded(now),
            Err(Error::Unreached { .. }) => tries.failed(Got::Nowhere, now, renewal::luck()),
            Err(_) => tries.failed(Got::ToTheAuthority, now, renewal::luck()),
        };
        self.known().tries = tries;
        if let Err(e) = acme::remember(acme, tries) {
            warn!(error = %with_causes(&e), "when to try again could not be written down");
        }
        self.note(issued.map(|held| self.shelf.put(held)));
    }

    fn note(&self, done: Result<()>) {
        let trouble = done.err().map(|e| with_causes(&e));
        let mut known = self.known();
        if known.trouble != trouble
            && let Some(why) = &trouble
        {
            warn!(why, "the certificate could not be renewed or read; the one in use stays");
        }
        known.trouble = trouble;
    }

    fn standing(&self) -> Standing {
        match self.shelf.held() {
            _ if self.tls.is_none() => Standing::Plain,
            None => Standing::Missing,
            Some(held) => Standing::InUse {
                not_before: held.life.not_before,
                not_after: held.life.not_after,
                renews_at: match self.source {
                    Certificates::Local { .. } | Certificates::Acme(_) => {
                        Some(renewal::renews_at(&held.life))
                    }
                    Certificates::None | Certificates::Files { .. } => None,
                },
                uncovered: held.uncovered(&self.names),
            },
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// TLS 1.2 and 1.3 by the one provider of the house, with whatever lies on the shelf at the moment of a handshake.
fn server_config(shelf: Arc<Shelf>) -> Result<Arc<ServerConfig>> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(Error::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(shelf);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec(), ALPN_ACME.to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(Error::Tls)?;
    Ok(Arc::new(config))
}

/// A certificate with its key, from PEM: the shape every source keeps or finds them in.
fn from_pem(path: &std::path::Path, chain: &[u8], key: &[u8]) -> Result<Held> {
    Held::from_pem(chain, key).map_err(|why| Error::BadCertificate { path: path.to_owned(), why })
}

fn at(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    |source| Error::File { path, source }
}
