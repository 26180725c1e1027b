//! What can go wrong before or beside serving, one variant per thing a caller could do differently.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "plain HTTP is spoken on loopback only, and {address} is not: give a certificate, or listen on 127.0.0.1"
    )]
    PlainBeyondLoopback { address: SocketAddr },
    #[error("a listener cannot be used")]
    Listener(#[source] io::Error),
    #[error("{text:?} is not a host name or an address")]
    BadHost { text: String },
    #[error("the host {host} is claimed twice")]
    HostTwice { host: String },
    #[error(
        "{text:?} is not an address or a network of proxies, like 10.0.0.2 or 10.0.0.0/24, and not more of the world than /8, or /32 of IPv6"
    )]
    BadNetwork { text: String },
    #[error("there is no host name to answer for")]
    NoHost,
    #[error(
        "the service {name:?} has a name that is not 1 to 32 lower-case letters, digits and hyphens, or not a way to reach it"
    )]
    BadService { name: String },
    #[error("the service {name} is at {address}, which is not loopback")]
    ServiceBeyondLoopback { name: String, address: SocketAddr },
    #[error("{path} cannot be read or written")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} holds no usable certificate and key: {why}")]
    BadCertificate { path: PathBuf, why: String },
    #[error(
        "the local authority in {dir} was made for other names and may not speak for {name}: move the folder away to make a new one, which every device has to trust anew"
    )]
    NotPermitted { dir: PathBuf, name: String },
    #[error("a certificate could not be made")]
    Making(#[source] rcgen::Error),
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    #[error("the certificate authority did not issue: {why}")]
    Issuing { why: String },
    #[error("the certificate authority cannot be reached: {why}")]
    Unreached { why: String },
    #[error("the system gave no random bytes")]
    NoRandomness,
}
