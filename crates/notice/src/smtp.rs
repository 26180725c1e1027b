//! The client's side of SMTP, as far as handing in one message takes it. Every answer is bounded and none is repeated: a
//! server's words may hold addresses or what it was told.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdfast_credentials::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeroize::Zeroizing;

use crate::sink::Trouble;

/// The convention allows a line 512 bytes; some servers are wordy.
const LINE_MAX: usize = 2_048;
const LINES_MAX: usize = 64;

/// Why a conversation ended. What a status means is for whoever speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Trouble(Trouble),
    /// The server said no to what was asked.
    No(u16),
}

impl From<Trouble> for Ended {
    fn from(why: Trouble) -> Ended {
        Ended::Trouble(why)
    }
}

/// What a server can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) starttls: bool,
    pub(crate) plain: bool,
    pub(crate) login: bool,
}

/// A connection to a server, by lines.
#[derive(Debug)]
pub(crate) struct Line<S> {
    stream: S,
    /// What came and was not looked at yet.
    unread: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    pub(crate) fn new(stream: S) -> Line<S> {
        Line { stream, unread: Vec::new() }
    }

    /// The server speaks first.
    pub(crate) async fn greeted(&mut self) -> Result<(), Ended> {
        self.expect(220).await.map(drop)
    }

    pub(crate) async fn hello(&mut self, name: &str) -> Result<Offers, Ended> {
        self.say(&format!("EHLO {name}")).await?;
        Ok(offers(&self.expect(250).await?))
    }

    /// Gives the connection back to be encrypted. What came before that is from somebody in between.
    pub(crate) async fn start_tls(mut self) -> Result<S, Ended> {
        self.say("STARTTLS").await?;
        self.expect(220).await?;
        if self.unread.is_empty() { Ok(self.stream) } else { Err(Trouble::Encryption.into()) }
    }

    pub(crate) async fn log_in(
        &mut self,
        offers: &Offers,
        user: &Secret,
        password: &Secret,
    ) -> Result<(), Ended> {
        let encoded =
            |parts: &[&str]| Zeroizing::new(STANDARD.encode(Zeroizing::new(parts.join("\0")).as_bytes()));
        let (user, password) = (user.expose(), password.expose());
        if offers.plain {
            let line = Zeroizing::new(format!("AUTH PLAIN {}", *encoded(&["", user, password])));
            self.say(&line).await?;
        } else if offers.login {
            for line in ["AUTH LOGIN", &encoded(&[user])] {
                self.say(line).await?;
                self.expect(334).await.map_err(not_let_in)?;
            }
            self.say(&encoded(&[password])).await?;
        } else {
            return Err(Trouble::Login.into());
        }
        self.expect(235).await.map_err(not_let_in).map(drop)
    }

    pub(crate) async fn from(&mut self, address: &str) -> Result<(), Ended> {
        self.say(&format!("MAIL FROM:<{address}>")).await?;
        self.expect(250).await.map(drop)
    }

    /// 250, or 251 where the server forwards it.
    pub(crate) async fn to(&mut self, address: &str) -> Result<(), Ended> {
        self.say(&format!("RCPT TO:<{address}>")).await?;
        match self.reply().await? {
            Reply { code: 250 | 251, .. } => Ok(()),
            Reply { code, .. } => Err(Ended::No(code)),
        }
    }

    pub(crate) async fn announce(&mut self) -> Result<(), Ended> {
        self.say("DATA").await?;
        self.expect(354).await.map(drop)
    }

    /// The message itself. From here on nobody knows whether it arrived until the server says so.
    pub(crate) async fn hand_in(&mut self, letter: &str) -> Result<(), Ended> {
        let mut all = stuffed(letter);
        all.push_str(".\r\n");
        self.write(all.as_bytes()).await?;
        self.expect(250).await.map(drop)
    }

    /// What comes of it does not matter any more.
    pub(crate) async fn quit(&mut self) {
        let _ = self.say("QUIT").await;
    }

    async fn expect(&mut self, code: u16) -> Result<Reply, Ended> {
        let reply = self.reply().await?;
        if reply.code == code { Ok(reply) } else { Err(Ended::No(reply.code)) }
    }

    async fn say(&mut self, command: &str) -> Result<(), Ended> {
        // Everything that is said was parsed before; a second line would be a second command.
        if command.bytes().any(|b| b.is_ascii_control()) {
            return Err(Trouble::Destination.into());
        }
        let line = Zeroizing::new(format!("{command}\r\n"));
        self.write(line.as_bytes()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let broken = |_| Ended::from(Trouble::Network);
        self.stream.write_all(bytes).await.map_err(broken)?;
        self.stream.flush().await.map_err(broken)
    }

    async fn reply(&mut self) -> Result<Reply, Ended> {
        let mut texts = Vec::new();
        for _ in 0..LINES_MAX {
            let line = self.line().await?;
            let (code, last, text) = parts(&line).ok_or(Trouble::Answer)?;
            texts.push(text.to_owned());
            if last {
                return Ok(Reply { code, texts });
            }
        }
        Err(Trouble::Answer.into())
    }

    async fn line(&mut self) -> Result<String, Ended> {
        loop {
            if let Some(end) = self.unread.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
            }
            if self.unread.len() > LINE_MAX {
                return Err(Trouble::Answer.into());
            }
            let mut piece = [0; 1_024];
            match self.stream.read(&mut piece).await {
                Ok(0) | Err(_) => return Err(Trouble::Network.into()),
                Ok(n) => self.unread.extend_from_slice(&piece[..n]),
            }
        }
    }
}

#[derive(Debug)]
struct Reply {
    code: u16,
    texts: Vec<String>,
}

/// `250-text` has more to come, `250 text` is the last.
fn parts(line: &str) -> Option<(u16, bool, &str)> {
    let (code, rest) = line.split_at_checked(3)?;
    let digits = code.bytes().all(|b| b.is_ascii_digit());
    let code: u16 = code.parse().ok().filter(|code| digits && (200..600).contains(code))?;
    match rest.as_bytes().first() {
        None => Some((code, true, "")),
        Some(b' ') => Some((code, true, &rest[1..])),
        Some(b'-') => Some((code, false, &rest[1..])),
        Some(_) => None,
    }
}

fn offers(reply: &Reply) -> Offers {
    let mut offers = Offers::default();
    for text in &reply.texts {
        let text = text.to_ascii_uppercase();
        let mut words = text.split([' ', '=']);
        match words.next() {
            Some("STARTTLS") => offers.starttls = true,
            Some("AUTH") => {
                for word in words {
                    offers.plain |= word == "PLAIN";
                    offers.login |= word == "LOGIN";
                }
            }
            _ => {}
        }
    }
    offers
}

/// A no for good to a user and a password is about them.
fn not_let_in(ended: Ended) -> Ended {
    match ended {
        Ended::No(500..=599) => Trouble::Login.into(),
        other => other,
    }
}

/// A line that begins with a full stop gets another, or it could end the message.
fn stuffed(letter: &str) -> String {
    let mut out = String::with_capacity(letter.len() + 8);
    for line in letter.lines() {
        if line.starts_with('.') {
            out.push('.');
        }
        out.push_str(line);
        out.push_str("\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_to_the_letter() {
        for (line, read) in [
            ("250 ok", Some((250, true, "ok"))),
            ("250-AUTH PLAIN", Some((250, false, "AUTH PLAIN"))),
            ("354", Some((354, true, ""))),
            ("25", None),
            ("", None),
            ("2500 ok", None),
            ("+50 ok", None),
            ("999 ok", None),
            ("é50 ok", None),
            ("HTTP/1.1 400 Bad Request", None),
        ] {
            assert_eq!(parts(line), read, "{line}");
        }
    }

    #[test]
    fn offers_are_found_however_they_are_written() {
        let of = |texts: &[&str]| {
            offers(&Reply { code: 250, texts: texts.iter().map(|text| (*text).to_owned()).collect() })
        };
        let all = Offers { starttls: true, plain: true, login: true };
        assert_eq!(of(&["mail.example.org", "starttls", "AUTH CRAM-MD5 LOGIN PLAIN"]), all);
        assert_eq!(of(&["mail.example.org", "AUTH=LOGIN"]), Offers { login: true, ..Offers::default() });
        assert_eq!(of(&["mail.example.org", "XSTARTTLS", "AUTHPLAIN"]), Offers::default());
    }

    #[test]
    fn no_line_of_a_message_ends_it() {
        assert_eq!(stuffed("a\r\n.\r\n..b\r\n"), "a\r\n..\r\n...b\r\n");
        assert_eq!(stuffed("a\n.\nQUIT"), "a\r\n..\r\nQUIT\r\n");
    }

    /// A server that says its part, whatever it hears.
    async fn told<T>(said: &[u8], ask: impl AsyncFnOnce(Line<tokio::io::DuplexStream>) -> T) -> T {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        theirs.write_all(said).await.unwrap();
        let line = Line::new(ours);
        let answered = ask(line).await;
        drop(theirs);
        answered
    }

    #[tokio::test]
    async fn what_was_slipped_in_before_encryption_ends_it() {
        let bad =
            told(b"220 go\r\n250 I am the server, believe me\r\n", async |line| line.start_tls().await.err());
        assert_eq!(bad.await, Some(Ended::Trouble(Trouble::Encryption)));
        let good = told(b"220 go\r\n", async |line| line.start_tls().await.is_ok());
        assert!(good.await);
    }

    #[tokio::test]
    async fn an_answer_without_end_is_left() {
        for said in [vec![b'2'; 100_000], b"250-more\r\n".repeat(1_000)] {
            let ended = told(&said, async |mut line| line.hello("x").await.err()).await;
            assert_eq!(ended, Some(Ended::Trouble(Trouble::Answer)));
        }
    }

    #[tokio::test]
    async fn a_second_line_is_not_said() {
        let ended = told(b"250 ok\r\n", async |mut line| line.from("a@b>\r\nRCPT TO:<c@d").await.err()).await;
        assert_eq!(ended, Some(Ended::Trouble(Trouble::Destination)));
    }
}
