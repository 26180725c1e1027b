//! An authority of this house: made once, for its own names only, and the certificates it signs.
//!
//! In its folder are `authority.key` (0600), `authority.pem`, `authority.json` (its name, and the hosts it may speak for) and
//! `leaf.pem` (0600; certificate and key in one file, so that they change together). The authority's certificate carries name
//! constraints: a device that trusts it trusts it for these hosts and what is below them, and for nothing else on the network, also if
//! the key is stolen.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::{Mode, create, create_dir, replace};
use holdfast_types::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::shelf::Held;
use super::{at, from_pem, mobileconfig, renewal};
use crate::error::{Error, Result};
use crate::host::HostName;

const DAY: Duration = Duration::from_secs(86_400);
/// Putting it on every device by hand is work; ten years is as long as a house keeps its devices.
const AUTHORITY_LIFE: Duration = Duration::from_secs(3_650 * 86_400);
/// Browsers take no longer one than 398 days.
const LEAF_LIFE: Duration = Duration::from_secs(397 * 86_400);
/// Clocks of devices differ; a certificate made a moment ago should be good there too.
const BACKDATED: Duration = Duration::from_secs(3_600);

/// What people put on their devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityCertificate {
    pub name: String,
    pub der: Vec<u8>,
    pub pem: String,
}

impl AuthorityCertificate {
    /// The authority whose files lie in this folder, as [`Certificates::Local`](super::Certificates::Local) has them.
    pub fn at(dir: &Path) -> Result<AuthorityCertificate> {
        authority(dir)
    }

    /// SHA-256 of the certificate in pairs of digits, as phones show it.
    pub fn fingerprint(&self) -> String {
        let pairs: Vec<String> = Sha256::digest(&self.der).iter().map(|byte| format!("{byte:02X}")).collect();
        pairs.join(":")
    }

    /// For iOS and iPadOS.
    pub fn mobileconfig(&self) -> String {
        mobileconfig::profile(&self.name, &self.der)
    }
}

/// What is known of the authority besides its certificate.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Charter {
    name: String,
    hosts: Vec<String>,
}

struct Paths {
    dir: PathBuf,
    key: PathBuf,
    certificate: PathBuf,
    charter: PathBuf,
    leaf: PathBuf,
}

impl Paths {
    fn of(dir: &Path) -> Paths {
        let file = |name: &str| dir.join(name);
        Paths {
            dir: dir.to_owned(),
            key: file("authority.key"),
            certificate: file("authority.pem"),
            charter: file("authority.json"),
            leaf: file("leaf.pem"),
        }
    }
}

/// A certificate for these names that is not due for renewal: the one that is there, or a new one.
pub(super) fn leaf(dir: &Path, names: &[HostName], now: Timestamp) -> Result<Held> {
    let paths = Paths::of(dir);
    let charter = match read_charter(&paths)? {
        Some(charter) => charter,
        None => found(&paths, names, now)?,
    };
    let permitted = |name: &&HostName| !charter.permits(name);
    if let Some(name) = names.iter().find(permitted) {
        return Err(Error::NotPermitted { dir: paths.dir, name: name.to_string() });
    }
    match read_leaf(&paths) {
        Some(held) if held.uncovered(names).is_empty() && !renewal::is_due(&held.life, now) => Ok(held),
        _ => sign_leaf(&paths, &charter, names, now),
    }
}

pub(super) fn authority(dir: &Path) -> Result<AuthorityCertificate> {
    let paths = Paths::of(dir);
    let pem = std::fs::read_to_string(&paths.certificate).map_err(at(&paths.certificate))?;
    let charter = read_charter(&paths)?.ok_or_else(|| unusable(&paths.charter, "it is not there"))?;
    let der = CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| unusable(&paths.certificate, "it is not PEM"))?
        .to_vec();
    Ok(AuthorityCertificate { name: charter.name, der, pem })
}

impl Charter {
    fn permits(&self, name: &HostName) -> bool {
        let below = |host: &String| {
            name.as_str()
                .strip_suffix(host.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        match name.address() {
            Some(_) => self.hosts.iter().any(|host| host == name.as_str()),
            None => self.hosts.iter().any(below),
        }
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.hosts.iter().filter_map(|host| host.parse().ok())
    }
}

fn read_charter(paths: &Paths) -> Result<Option<Charter>> {
    match std::fs::read(&paths.charter) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|_| unusable(&paths.charter, "it does not say what an authority may speak for")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(at(&paths.charter)(e)),
    }
}

/// Makes the authority. The charter is written last: while it is not there, there is no authority, and a try that was cut short is
/// made again from the beginning.
fn found(paths: &Paths, names: &[HostName], now: Timestamp) -> Result<Charter> {
    create_dir(&paths.dir).map_err(at(&paths.dir))?;
    let mark = random::<3>()?;
    let first = names.first().ok_or(Error::NoHost)?;
    let charter = Charter {
        name: format!("Holdfast of {first} ({:02x}{:02x}{:02x})", mark[0], mark[1], mark[2]),
        hosts: names.iter().map(ToString::to_string).collect(),
    };
    let key = KeyPair::generate().map_err(Error::Making)?;
    let mut params = authority_params(&charter);
    set_life(&mut params, now, AUTHORITY_LIFE)?;
    params.name_constraints = Some(constraints(&charter));
    let certificate = params.self_signed(&key).map_err(Error::Making)?;
    let secret = Zeroizing::new(key.serialize_pem());
    replace(&paths.key, secret.as_bytes(), Mode::Private).map_err(at(&paths.key))?;
    replace(&paths.certificate, certificate.pem().as_bytes(), Mode::Readable)
        .map_err(at(&paths.certificate))?;
    let bytes =
        serde_json::to_vec_pretty(&charter).map_err(|_| unusable(&paths.charter, "it cannot be written"))?;
    create(&paths.charter, &bytes, Mode::Readable).map_err(at(&paths.charter))?;
    Ok(charter)
}

fn authority_params(charter: &Charter) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&charter.name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A kind of name that is not mentioned would be unbounded, so each kind is: where there is no address, all are excluded, and where
/// there is no name, only one that cannot exist is permitted.
fn constraints(charter: &Charter) -> NameConstraints {
    let address = |a: IpAddr| {
        GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(a, if a.is_ipv4() { 32 } else { 128 }))
    };
    let mut permitted: Vec<_> = charter
        .hosts
        .iter()
        .filter(|host| host.parse::<IpAddr>().is_err())
        .map(|host| GeneralSubtree::DnsName(host.clone()))
        .collect();
    if permitted.is_empty() {
        permitted.push(GeneralSubtree::DnsName("holdfast.invalid".into()));
    }
    permitted.extend(charter.addresses().map(address));
    let none_at_all = || {
        vec![
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([0; 4], 0)),
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix([0; 16], 0)),
        ]
    };
    let excluded = if charter.addresses().next().is_none() { none_at_all() } else { Vec::new() };
    NameConstraints { permitted_subtrees: permitted, excluded_subtrees: excluded }
}

fn read_leaf(paths: &Paths) -> Option<Held> {
    let pem = Zeroizing::new(std::fs::read(&paths.leaf).ok()?);
    Held::from_pem(&pem, &pem).ok()
}

fn sign_leaf(paths: &Paths, charter: &Charter, names: &[HostName], now: Timestamp) -> Result<Held> {
    let secret = Zeroizing::new(std::fs::read_to_string(&paths.key).map_err(at(&paths.key))?);
    let authority_key =
        KeyPair::from_pem(&secret).map_err(|_| unusable(&paths.key, "it is not a private key"))?;
    let issuer = Issuer::new(authority_params(charter), authority_key);
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(texts).map_err(Error::Making)?;
    params.distinguished_name = named(names.first().ok_or(Error::NoHost)?.as_str());
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    set_life(&mut params, now, LEAF_LIFE)?;
    let key = KeyPair::generate().map_err(Error::Making)?;
    let certificate = params.signed_by(&key, &issuer).map_err(Error::Making)?;
    let pem = Zeroizing::new(format!("{}{}", certificate.pem(), *Zeroizing::new(key.serialize_pem())));
    let held = from_pem(&paths.leaf, pem.as_bytes(), pem.as_bytes())?;
    replace(&paths.leaf, pem.as_bytes(), Mode::Private).map_err(at(&paths.leaf))?;
    Ok(held)
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

fn set_life(params: &mut CertificateParams, now: Timestamp, life: Duration) -> Result<()> {
    let now = now.since(Timestamp::EPOCH).max(DAY);
    let begin = rcgen::date_time_ymd(1970, 1, 1) + (now - BACKDATED);
    params.not_before = begin;
    params.not_after = begin + life;
    // 15 bytes: positive whatever the first one is, and below the 20 that are allowed.
    let mut serial = random::<16>()?;
    serial[0] = 0x01;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(())
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::NoRandomness)?;
    Ok(bytes)
}

fn unusable(path: &Path, why: &str) -> Error {
    Error::BadCertificate { path: path.to_owned(), why: why.to_owned() }
}
