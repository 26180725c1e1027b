//! What TLS looks at in every handshake: the certificate in use, and proofs for an authority while one asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::ALPN_ACME;
use super::validity::{self, Life};
use crate::host::HostName;

/// More than a chain ever has.
const CHAIN_MAX: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) life: Life,
}

impl Held {
    /// Checks that it is a certificate, that its dates can be read and that the key is its own. Words, not an error type: the
    /// caller says which file it was.
    pub(super) fn from_pem(chain: &[u8], key: &[u8]) -> Result<Held, String> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
            .take(CHAIN_MAX)
            .collect::<Result<_, _>>()
            .map_err(|_| "the chain is not PEM")?;
        let first = chain.first().ok_or("there is no certificate in it")?;
        let life = validity::life(first).ok_or("the certificate's dates cannot be read")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "there is no private key in it")?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .map_err(|e| format!("certificate and key do not fit: {e}"))?;
        Ok(Held { key: Arc::new(key), life })
    }

    /// Names it does not speak for.
    pub(super) fn uncovered(&self, names: &[HostName]) -> Vec<HostName> {
        let parsed = self.key.cert.first().and_then(|first| ParsedCertificate::try_from(first).ok());
        let covers = |name: &HostName| {
            let name = ServerName::try_from(name.as_str()).ok();
            parsed
                .as_ref()
                .zip(name)
                .is_some_and(|(parsed, name)| rustls::client::verify_server_name(parsed, &name).is_ok())
        };
        names.iter().filter(|name| !covers(name)).cloned().collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Shelf {
    held: RwLock<Option<Held>>,
    /// While an order is open: at most one per name of it.
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    /// By host name, for TLS-ALPN-01.
    certificates: HashMap<String, Arc<CertifiedKey>>,
    /// By token, for HTTP-01.
    proofs: HashMap<String, String>,
}

impl Shelf {
    pub(super) fn put(&self, held: Held) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    pub(super) fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn show_certificate(&self, name: &str, certificate: CertifiedKey) {
        self.asked().certificates.insert(name.to_owned(), Arc::new(certificate));
    }

    pub(super) fn show_proof(&self, token: &str, proof: &str) {
        self.asked().proofs.insert(token.to_owned(), proof.to_owned());
    }

    pub(super) fn proof(&self, token: &str) -> Option<String> {
        self.asked().proofs.get(token).cloned()
    }

    /// The order is over, one way or the other.
    pub(super) fn clear(&self) {
        *self.asked() = Asked::default();
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for Shelf {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_authority =
            hello.alpn().is_some_and(|mut protocols| protocols.any(|protocol| protocol == ALPN_ACME));
        if is_authority {
            let name = hello.server_name()?.to_ascii_lowercase();
            return self.asked().certificates.get(&name).cloned();
        }
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|held| held.key.clone())
    }
}
