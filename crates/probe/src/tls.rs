//! TLS over a line: who the host proves to be, and for how long yet.
//!
//! How long a chain lasts is asked of the verifier, with a later time: so the whole chain counts and no certificate is taken apart here.
//! Nothing is kept between two calls; certificates of the machine are some hundred kilobytes that a process at rest need not hold.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdfast_types::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, DnsName, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::address::{Host, Known};
use crate::found::{Trouble, shown};
use crate::line::Line;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A file of authorities; the machine's own has about 150.
const ROOTS_MAX: usize = 1000;

pub(crate) type Stream = StreamOwned<ClientConnection, Line>;

/// Whom to believe, and as of when.
pub(crate) struct Trust {
    verifier: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
    now: Timestamp,
}

impl Trust {
    /// The authorities in this file, or those of the machine.
    pub(crate) fn new(roots: Option<&Path>, now: Timestamp) -> Result<Trust, Trouble> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let store = Arc::new(match roots {
            Some(file) => from_file(file)?,
            None => from_machine()?,
        });
        let verifier = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(&provider))
            .build()
            .map_err(|_| Trouble::ours("there are no certificates to trust"))?;
        Ok(Trust { verifier, provider, now })
    }

    /// Shakes hands; when this returns, the host has proved to be `name`.
    pub(crate) fn greet(&self, name: &Host, mut line: Line) -> Result<Stream, Trouble> {
        let config = ClientConfig::builder_with_details(Arc::clone(&self.provider), Arc::new(At(self.now)))
            .with_safe_default_protocol_versions()
            .map_err(|_| Trouble::ours("TLS could not be set up"))?
            .with_webpki_verifier(Arc::clone(&self.verifier))
            .with_no_client_auth();
        let mut talk = ClientConnection::new(Arc::new(config), server_name(name)?)
            .map_err(|_| Trouble::ours("TLS could not be set up"))?;
        while talk.is_handshaking() {
            talk.complete_io(&mut line).map_err(plainly)?;
        }
        Ok(StreamOwned::new(talk, line))
    }

    /// Whether what was shown is still valid in so many days.
    pub(crate) fn lasts(&self, stream: &Stream, name: &Host, days: u32) -> Result<(), Trouble> {
        let name = server_name(name)?;
        let Some((own, others)) = stream.conn.peer_certificates().and_then(<[_]>::split_first) else {
            return Err(Trouble::theirs("it showed no certificate"));
        };
        let is_valid_in = |days: u32| {
            let then = unix(self.now.plus(DAY * days));
            self.verifier.verify_server_cert(own, others, &name, &[], then).is_ok()
        };
        if is_valid_in(days) {
            return Ok(());
        }
        // It is valid today, or there would have been no handshake: between today and that day it ends once.
        let (mut valid, mut ended) = (0, days);
        while ended - valid > 1 {
            let middle = valid + (ended - valid) / 2;
            if is_valid_in(middle) { valid = middle } else { ended = middle }
        }
        Err(Trouble::Theirs(format!("its certificate has {valid} days left, and {days} are wanted")))
    }
}

/// The time that was handed in.
#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(unix(self.0))
    }
}

fn unix(time: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(time.since(Timestamp::EPOCH))
}

fn server_name(host: &Host) -> Result<ServerName<'static>, Trouble> {
    match host.known() {
        Known::ByIp(ip) => Ok(ServerName::IpAddress((*ip).into())),
        Known::ByName(name) => DnsName::try_from(name.clone())
            .map(ServerName::DnsName)
            .map_err(|_| Trouble::ours("no certificate can have this name")),
    }
}

fn from_file(file: &Path) -> Result<RootCertStore, Trouble> {
    let unread = |e: &dyn fmt::Display| Trouble::Ours(format!("roots: {}", shown(e.to_string().as_bytes())));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| unread(&e))?.take(ROOTS_MAX) {
        store.add(certificate.map_err(|e| unread(&e))?).map_err(|e| unread(&e))?;
    }
    if store.is_empty() {
        Err(Trouble::ours("roots: there is no certificate in the file"))
    } else {
        Ok(store)
    }
}

/// One that cannot be read is left out: there are always some on a machine that nobody misses.
fn from_machine() -> Result<RootCertStore, Trouble> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(
        rustls_native_certs::load_native_certs().certs.into_iter().take(ROOTS_MAX),
    );
    match store.is_empty() {
        true => Err(Trouble::ours("this machine has no certificates to trust (the package ca-certificates)")),
        false => Ok(store),
    }
}

/// The usual mistakes in words of ours: the library's also list names, which may be long and are a stranger's.
fn plainly(e: io::Error) -> Trouble {
    let tls = e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(tls) = tls else { return e.into() };
    let rustls::Error::InvalidCertificate(certificate) = tls else {
        return Trouble::Theirs(format!("no TLS came about: {}", shown(tls.to_string().as_bytes())));
    };
    match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            Trouble::theirs("its certificate has run out")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Trouble::theirs("its certificate is not valid yet")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Trouble::theirs("its certificate is for another name")
        }
        CertificateError::UnknownIssuer => Trouble::theirs("its certificate is from nobody that is trusted"),
        other => {
            Trouble::Theirs(format!("its certificate is refused: {}", shown(other.to_string().as_bytes())))
        }
    }
}
