//! The mail sink: hands each message in at a mail server, as a mail program does.
//!
//! Encrypted, unless the server is on this machine; a user and a password are never said otherwise. The addresses that were
//! judged are the ones connected to. `smtp.rs` is the conversation, `letter.rs` what is handed in.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use holdfast_credentials::Secret;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::call::resolved;
use crate::destination::Leave;
use crate::error::{Error, Result};
use crate::letter::{Mailbox, letter};
use crate::message::Message;
use crate::sink::{Identity, Outcome, Sink, Trouble};
use crate::smtp::{Ended, Line, Offers};

/// A machine has some hundred and fifty.
const ROOTS_MAX: usize = 2_000;

/// How a mail server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Encrypted after a few lines, and not at all where the server does not offer it.
    StartTls,
    /// Encrypted from the first byte.
    Tls,
    /// Not encrypted, which is for a server on this machine alone.
    Plain,
}

/// Where and how mail is handed in, and for whom.
#[derive(Debug)]
pub struct MailSettings {
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub login: Option<Login>,
    pub from: Mailbox,
    /// At least one.
    pub to: Vec<Mailbox>,
    /// Whom the server's certificate may come from beside those this machine trusts, as PEM.
    pub authorities: Option<Vec<u8>>,
}

pub struct Login {
    pub user: Secret,
    pub password: Secret,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

pub struct Mail {
    settings: MailSettings,
    tls: Option<TlsConnector>,
    limit: Duration,
    identity: Identity,
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mail(…)")
    }
}

impl Mail {
    /// `limit` is for an attempt as a whole.
    pub fn new(settings: MailSettings, limit: Duration) -> Result<Mail> {
        let literal: Option<IpAddr> = settings.host.parse().ok();
        if literal.is_some_and(|ip| !may_be_called(ip, settings.security)) {
            return Err(Error::Address {
                why: "it leads where nobody may be called, or without encryption beyond this machine",
            });
        }
        let said = |secret: &Secret| secret.expose().bytes().any(|b| b.is_ascii_control());
        if settings.login.as_ref().is_some_and(|login| said(&login.user) || said(&login.password)) {
            return Err(Error::Login { why: "the user or the password has a control character" });
        }
        if settings.to.is_empty() {
            return Err(Error::Mailbox);
        }
        let tls = match settings.security {
            Security::Plain => None,
            Security::StartTls | Security::Tls => Some(connector(settings.authorities.as_deref())?),
        };
        let identity = identity(&settings, limit);
        Ok(Mail { settings, tls, limit, identity })
    }

    /// What the file of certificates holds, for [`MailSettings::authorities`].
    pub fn read_authorities(file: &Path) -> Result<Vec<u8>> {
        std::fs::read(file).map_err(|_| Error::Authorities { why: "it cannot be read" })
    }

    async fn hand_over(&self, message: &Message) -> Result<(), Ended> {
        let tcp = self.connect().await?;
        let name = own_name(&tcp);
        match self.settings.security {
            Security::Plain => {
                let mut line = Line::new(tcp);
                line.greeted().await?;
                let offers = line.hello(&name).await?;
                self.converse(line, &offers, message).await
            }
            Security::Tls => {
                let mut line = Line::new(self.encrypted(tcp).await?);
                line.greeted().await?;
                let offers = line.hello(&name).await?;
                self.converse(line, &offers, message).await
            }
            Security::StartTls => {
                let mut line = Line::new(tcp);
                line.greeted().await?;
                if !line.hello(&name).await?.starttls {
                    return Err(Trouble::Encryption.into());
                }
                let mut line = Line::new(self.encrypted(line.start_tls().await?).await?);
                // What was offered before does not count: anybody could have said that.
                let offers = line.hello(&name).await?;
                self.converse(line, &offers, message).await
            }
        }
    }

    /// One whom the server does not take keeps nobody else from being told; the letter says so.
    async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        mut line: Line<S>,
        offers: &Offers,
        message: &Message,
    ) -> Result<(), Ended> {
        let MailSettings { login, from, to, .. } = &self.settings;
        if let Some(Login { user, password }) = login {
            line.log_in(offers, user, password).await?;
        }
        line.from(from.as_str()).await?;
        let (mut taken, mut refused) = (0, Vec::new());
        for mailbox in to {
            match line.to(mailbox.as_str()).await {
                Ok(()) => taken += 1,
                Err(Ended::No(code)) => refused.push(code),
                Err(broken) => return Err(broken),
            }
        }
        if let (0, Some(code)) = (taken, refused.first()) {
            return Err(Ended::No(*code));
        }
        line.announce().await?;
        let handed_in = line.hand_in(&letter(message, from, to, refused.len())).await;
        line.quit().await;
        handed_in.map_err(of_the_letter)
    }

    async fn connect(&self) -> Result<TcpStream, Ended> {
        let MailSettings { host, port, security, .. } = &self.settings;
        // That the host is named in the settings is leave enough.
        let found =
            resolved(host, *port, Leave { allowed: true, plain: *security == Security::Plain }).await?;
        if !found.iter().all(|address| may_be_called(address.ip(), *security)) {
            return Err(Trouble::Destination.into());
        }
        self.first_to_answer(&found).await
    }

    /// Each address gets its part of the time, or one that leads nowhere would take it all.
    async fn first_to_answer(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Ended> {
        let share = self.limit / u32::try_from(addresses.len().clamp(1, 3)).unwrap_or(1);
        for address in addresses {
            if let Ok(Ok(tcp)) = tokio::time::timeout(share, TcpStream::connect(address)).await {
                return Ok(tcp);
            }
        }
        Err(Trouble::Network.into())
    }

    async fn encrypted(&self, tcp: TcpStream) -> Result<TlsStream<TcpStream>, Ended> {
        let name = ServerName::try_from(self.settings.host.clone()).map_err(|_| Trouble::Encryption)?;
        let tls = self.tls.as_ref().ok_or(Trouble::Encryption)?;
        tls.connect(name, tcp).await.map_err(|_| Trouble::Encryption.into())
    }
}

impl Sink for Mail {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            let ended = tokio::time::timeout(self.limit, self.hand_over(message))
                .with_subscriber(NoSubscriber::default())
                .await
                .unwrap_or(Err(Trouble::TimedOut.into()));
            match ended {
                Ok(()) => Outcome::Delivered,
                Err(Ended::Trouble(Trouble::Status(status))) => {
                    Outcome::Refused { why: Trouble::Status(status) }
                }
                Err(Ended::Trouble(why)) => Outcome::Unavailable { why, retry_after: None },
                // A user, an address or the server is out of order, and may be mended.
                Err(Ended::No(code)) => {
                    Outcome::Unavailable { why: Trouble::Status(code), retry_after: None }
                }
            }
        })
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

/// Only a no for good to the letter itself is about this very message.
fn of_the_letter(ended: Ended) -> Ended {
    match ended {
        Ended::No(code @ 500..=599) => Ended::Trouble(Trouble::Status(code)),
        other => other,
    }
}

fn may_be_called(address: IpAddr, security: Security) -> bool {
    match security {
        Security::Plain => address.to_canonical().is_loopback(),
        Security::StartTls | Security::Tls => Leave { allowed: true, plain: false }.covers(address),
    }
}

/// As the convention has it for a machine that has no name to give.
fn own_name(tcp: &TcpStream) -> String {
    match tcp.local_addr().map(|address| address.ip().to_canonical()) {
        Ok(IpAddr::V6(ip)) => format!("[IPv6:{ip}]"),
        Ok(IpAddr::V4(ip)) => format!("[{ip}]"),
        Err(_) => "localhost".to_owned(),
    }
}

fn connector(authorities: Option<&[u8]>) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(
        rustls_native_certs::load_native_certs().certs.into_iter().take(ROOTS_MAX),
    );
    if let Some(pem) = authorities {
        let wrong = || Error::Authorities { why: "it holds no certificate in the form of PEM" };
        let own: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
            .take(ROOTS_MAX)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        if own.is_empty() || roots.add_parsable_certificates(own).0 == 0 {
            return Err(wrong());
        }
    }
    if roots.is_empty() {
        return Err(Error::Client);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::Client)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn identity(settings: &MailSettings, limit: Duration) -> Identity {
    let MailSettings { host, port, security, login, from, to, authorities } = settings;
    let security: &[u8] = match security {
        Security::StartTls => b"starttls",
        Security::Tls => b"tls",
        Security::Plain => b"plain",
    };
    let (port, limit) = (port.to_le_bytes(), limit.as_micros().to_le_bytes());
    let secrets = login.iter().flat_map(|login| [&login.user, &login.password]);
    let own: [&[u8]; 7] = [
        b"mail",
        host.as_bytes(),
        &port,
        security,
        from.as_str().as_bytes(),
        authorities.as_deref().unwrap_or_default(),
        &limit,
    ];
    Identity::of(
        own.into_iter()
            .chain(secrets.map(|secret| secret.expose().as_bytes()))
            .chain(to.iter().map(|mailbox| mailbox.as_str().as_bytes())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(host: &str, security: Security) -> MailSettings {
        MailSettings {
            host: host.into(),
            port: 25,
            security,
            login: None,
            from: "holdfast@example.org".parse().unwrap(),
            to: vec!["ops@example.org".parse().unwrap()],
            authorities: None,
        }
    }

    #[test]
    fn without_encryption_mail_stays_on_this_machine() {
        use Security::{Plain, StartTls, Tls};
        for (host, security, ok) in [
            ("127.0.0.1", Plain, true),
            ("::1", Plain, true),
            ("::ffff:127.0.0.1", Plain, true),
            ("192.168.1.9", Plain, false),
            ("8.8.8.8", Plain, false),
            ("192.168.1.9", StartTls, true),
            ("8.8.8.8", Tls, true),
            ("169.254.169.254", Tls, false),
        ] {
            assert_eq!(
                Mail::new(settings(host, security), Duration::from_secs(1)).is_ok(),
                ok,
                "{host} {security:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_a_login_or_an_authority_is_refused_without_being_quoted() {
        let secret = |text: &str| Secret::new(text.into()).unwrap();
        let login =
            |user: &str, password: &str| Some(Login { user: secret(user), password: secret(password) });
        for (login, authorities) in [
            (login("ops", &["T0K3N", "\r\n", "QUIT"].concat()), None),
            (login("T0K3N\0", "x"), None),
            (None, Some(b"T0K3N".to_vec())),
            (None, Some(b"-----BEGIN CERTIFICATE-----\nVDBLM04=\n-----END CERTIFICATE-----\n".to_vec())),
        ] {
            let settings = MailSettings { login, authorities, ..settings("mail.example.org", Security::Tls) };
            let e = Mail::new(settings, Duration::from_secs(1)).unwrap_err();
            let said = format!("{e} {e:?} {:?}", e.problem());
            assert!(!said.contains("T0K3N"), "{said}");
        }
        let mail =
            MailSettings { login: login("T0K3N", "T0K3N"), ..settings("mail.example.org", Security::Tls) };
        assert!(!format!("{mail:?}").contains("T0K3N"));
        assert!(!format!("{:?}", Mail::new(mail, Duration::from_secs(1)).unwrap()).contains("example"));
    }
}
