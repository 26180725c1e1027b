//! Certificates from an authority that checks names by itself (RFC 8555), through `instant-acme`.
//!
//! In its folder are `account.json` (0600; the account and its key), `certificate.pem` (0600; chain and key in one file, so that they
//! change together) and `tries.json`. An order that fails at any step leaves all of them as they were.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::{Mode, create_dir, replace};
use holdfast_types::with_causes;
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier, NewAccount, NewOrder, Order,
    OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use super::renewal::Tries;
use super::shelf::{Held, Shelf};
use super::{Acme, Challenge, at, from_pem};
use crate::error::{Error, Result};
use crate::host::HostName;

/// For a whole order: authorities look from several places and may take a minute; beyond this something is wrong.
const ORDER_WITHIN: Duration = Duration::from_secs(180);

/// What an earlier run left.
pub(super) struct Stored {
    pub(super) held: Option<Held>,
    pub(super) tries: Tries,
}

fn account_path(acme: &Acme) -> PathBuf {
    acme.dir.join("account.json")
}

fn certificate_path(acme: &Acme) -> PathBuf {
    acme.dir.join("certificate.pem")
}

fn tries_path(acme: &Acme) -> PathBuf {
    acme.dir.join("tries.json")
}

/// A damaged certificate is as good as none: a new one is ordered. Tries that cannot be read are forgotten.
pub(super) fn stored(acme: &Acme) -> Result<Stored> {
    create_dir(&acme.dir).map_err(at(&acme.dir))?;
    let held = read(&certificate_path(acme))?.and_then(|pem| Held::from_pem(&pem, &pem).ok());
    let tries = read(&tries_path(acme))?.and_then(|json| serde_json::from_slice(&json).ok());
    Ok(Stored { held, tries: tries.unwrap_or_default() })
}

pub(super) fn remember(acme: &Acme, tries: Tries) -> Result<()> {
    let path = tries_path(acme);
    let json = serde_json::to_vec(&tries).map_err(|e| at(&path)(e.into()))?;
    replace(&path, &json, Mode::Private).map_err(at(&path))
}

/// Addresses are left out: few authorities issue for them, and the local one does.
pub(super) fn orderable(names: &[HostName]) -> Vec<HostName> {
    names.iter().filter(|name| name.address().is_none()).cloned().collect()
}

/// Orders a certificate for the names, answers what the authority asks through the shelf, and keeps what it gives.
pub(super) async fn issue(acme: &Acme, names: &[HostName], shelf: &Shelf) -> Result<Held> {
    let ordered = tokio::time::timeout(ORDER_WITHIN, order(acme, names, shelf)).await;
    shelf.clear();
    let pem = ordered.unwrap_or_else(|_| Err(Error::Issuing { why: "it took too long".into() }))?;
    let path = certificate_path(acme);
    // Looked at before it is kept: what does not fit never replaces what does.
    let held = from_pem(&path, pem.as_bytes(), pem.as_bytes())?;
    if let Some(name) = held.uncovered(names).first() {
        return Err(Error::Issuing { why: format!("what was issued does not speak for {name}") });
    }
    replace(&path, pem.as_bytes(), Mode::Private).map_err(at(&path))?;
    Ok(held)
}

async fn order(acme: &Acme, names: &[HostName], shelf: &Shelf) -> Result<Zeroizing<String>> {
    let account = account(acme).await?;
    let identifiers: Vec<Identifier> = names.iter().map(|name| Identifier::Dns(name.to_string())).collect();
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await.map_err(reaching)?;
    show_proofs(acme, &mut order, shelf).await?;
    match order.poll_ready(&RetryPolicy::new().timeout(ORDER_WITHIN)).await.map_err(issuing)? {
        OrderStatus::Ready => {}
        _ => return Err(Error::Issuing { why: refusal(&mut order).await }),
    }
    let key = KeyPair::generate().map_err(Error::Making)?;
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(texts).map_err(Error::Making)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    let request = params.serialize_request(&key).map_err(Error::Making)?;
    order.finalize_csr(request.der()).await.map_err(issuing)?;
    let chain = order.poll_certificate(&RetryPolicy::new().timeout(ORDER_WITHIN)).await.map_err(issuing)?;
    Ok(Zeroizing::new(format!("{chain}\n{}", *Zeroizing::new(key.serialize_pem()))))
}

async fn account(acme: &Acme) -> Result<Account> {
    let builder = match &acme.extra_root {
        Some(root) => Account::builder_with_root(root),
        None => Account::builder(),
    }
    .map_err(issuing)?;
    let path = account_path(acme);
    if let Some(json) = read(&path)? {
        let credentials: AccountCredentials =
            serde_json::from_slice(&json).map_err(|e| at(&path)(e.into()))?;
        return builder.from_credentials(credentials).await.map_err(reaching);
    }
    let contact: Vec<&str> = acme.contact.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let (account, credentials) =
        builder.create(&new, acme.directory.clone(), None).await.map_err(reaching)?;
    let json = Zeroizing::new(serde_json::to_vec(&credentials).map_err(|e| at(&path)(e.into()))?);
    replace(&path, &json, Mode::Private).map_err(at(&path))?;
    Ok(account)
}

async fn show_proofs(acme: &Acme, order: &mut Order, shelf: &Shelf) -> Result<()> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(issuing)?;
        // A name that was shown to be ours a while ago is not asked about again.
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let kind = match acme.challenge {
            Challenge::TlsAlpn => ChallengeType::TlsAlpn01,
            Challenge::Http => ChallengeType::Http01,
        };
        let mut challenge = authorization
            .challenge(kind)
            .ok_or_else(|| Error::Issuing { why: "it does not offer the way it is to be shown".into() })?;
        let proof = challenge.key_authorization();
        match acme.challenge {
            Challenge::TlsAlpn => {
                let name = challenge.identifier().to_string();
                let certificate = proof_certificate(&name, proof.digest().as_ref())?;
                shelf.show_certificate(&name, certificate);
            }
            Challenge::Http => shelf.show_proof(&challenge.token, proof.as_str()),
        }
        challenge.set_ready().await.map_err(issuing)?;
    }
    Ok(())
}

/// The self-signed certificate that is the proof in TLS-ALPN-01.
fn proof_certificate(name: &str, digest: &[u8]) -> Result<CertifiedKey> {
    let mut params = CertificateParams::new([name.to_owned()]).map_err(Error::Making)?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate().map_err(Error::Making)?;
    let certificate = params.self_signed(&key).map_err(Error::Making)?;
    let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // Not checked against each other: the check does not know the one extension that makes this a proof.
    let secret = aws_lc_rs::default_provider().key_provider.load_private_key(secret).map_err(Error::Tls)?;
    Ok(CertifiedKey::new(vec![certificate.der().clone()], secret))
}

/// What the authority found wrong, in its own words, cut to a line.
async fn refusal(order: &mut Order) -> String {
    let mut authorizations = order.authorizations();
    while let Some(Ok(authorization)) = authorizations.next().await {
        let error = authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(error) = error {
            return bounded(&error.to_string());
        }
    }
    "it refused the order".into()
}

/// Before there is an order: whoever did not answer at all does not know of one either.
fn reaching(e: instant_acme::Error) -> Error {
    match e {
        instant_acme::Error::Hyper(_) | instant_acme::Error::Other(_) => {
            Error::Unreached { why: bounded(&with_causes(&e)) }
        }
        answered => issuing(answered),
    }
}

fn issuing(e: instant_acme::Error) -> Error {
    Error::Issuing { why: bounded(&with_causes(&e)) }
}

fn bounded(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(at(path)(e)),
    }
}
