//! A message as mail: headers and a text that every program reads. Pure: the same message is the same letter, to the byte.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, Result};
use crate::message::Message;
use crate::notice::Severity;
use crate::telling;
use crate::text::{clean, cut};

const SUBJECT_MAX: usize = 140;
/// Bytes of text in one encoded word: with what stands around it a line has less than 76 characters then.
const WORD_BYTES: usize = 42;
/// Characters of a line of base64.
const LINE_CHARS: usize = 76;

/// An address of mail: one mailbox, in ASCII, with nothing that a header or a command could take for its end.
#[derive(Clone, PartialEq, Eq)]
pub struct Mailbox(String);

impl Mailbox {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("localhost", |(_, domain)| domain)
    }
}

impl FromStr for Mailbox {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mailbox> {
        let local = |text: &str| {
            let sign = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b);
            text.len() <= 64 && text.split('.').all(|part| !part.is_empty() && part.bytes().all(sign))
        };
        let domain = |text: &str| {
            let sign = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
            text.split('.').all(|part| (1..=63).contains(&part.len()) && part.bytes().all(sign))
        };
        let good = text.len() <= 254 && text.split_once('@').is_some_and(|(a, b)| local(a) && domain(b));
        if good { Ok(Mailbox(text.to_owned())) } else { Err(Error::Mailbox) }
    }
}

/// People are in it.
impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailbox(…)")
    }
}

/// Headers and text, with CR LF. `left_out` counts those of `to` whom the server did not take.
pub(crate) fn letter(message: &Message, from: &Mailbox, to: &[Mailbox], left_out: usize) -> String {
    let to: Vec<&str> = to.iter().map(Mailbox::as_str).collect();
    let importance = match message.severity {
        Severity::Critical => "high",
        Severity::Warning | Severity::Info => "normal",
    };
    let date = telling::moment(message.timestamp).strftime("%a, %d %b %Y %H:%M:%S +0000");
    let id: String =
        message.id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
    let headers = [
        ("Date", date.to_string()),
        ("From", format!("Holdfast <{}>", from.as_str())),
        ("To", to.join(",\r\n ")),
        ("Subject", header_text(&subject(message))),
        ("Message-ID", format!("<{id}@{}>", from.domain())),
        ("Auto-Submitted", "auto-generated".to_owned()),
        ("Importance", importance.to_owned()),
        ("MIME-Version", "1.0".to_owned()),
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Content-Transfer-Encoding", "base64".to_owned()),
    ];
    let mut letter: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    letter.push_str("\r\n");
    let encoded = STANDARD.encode(text(message, left_out).replace('\n', "\r\n"));
    for line in encoded.as_bytes().chunks(LINE_CHARS) {
        // Base64 is ASCII.
        letter.push_str(&String::from_utf8_lossy(line));
        letter.push_str("\r\n");
    }
    letter
}

/// One line without control characters, whatever the notice says.
fn subject(message: &Message) -> String {
    let said = format!("{}: {}", telling::title(message), message.message);
    cut(&clean(&said, SUBJECT_MAX + 1), SUBJECT_MAX)
}

fn text(message: &Message, left_out: usize) -> String {
    let mut out = format!("{}\n\n{}\n", telling::title(message), message.message);
    let lines = telling::lines(message);
    if !lines.is_empty() {
        out.push('\n');
        lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
    }
    let facts = telling::facts(message);
    if !facts.is_empty() {
        out.push('\n');
        facts.iter().for_each(|(name, value)| out.push_str(&format!("  {name}: {value}\n")));
    }
    out.push_str(&format!("\n{}\n", telling::next(message)));
    if left_out > 0 {
        out.push_str(&format!(
            "\nThe mail server did not take {left_out} of the addresses in notifications.mail.to; they did not get this.\n"
        ));
    }
    out
}

/// A header's text: as it is where that is plain ASCII, else in encoded words, of which none cuts a character apart.
fn header_text(text: &str) -> String {
    let plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if plain && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words: Vec<String> = vec![String::new()];
    for c in text.chars() {
        if words.last().is_some_and(|word| word.len() + c.len_utf8() > WORD_BYTES) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let encoded: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    encoded.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mailbox(text: &str) -> Mailbox {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_one_mailbox_and_nothing_else() {
        for (text, good) in [
            ("ops@example.org", true),
            ("o.p+s@mail.example.org", true),
            ("root@localhost", true),
            ("ops", false),
            ("@example.org", false),
            ("ops@", false),
            ("ops@example..org", false),
            (".ops@example.org", false),
            ("a@b@c", false),
            ("ops@example.org\r\nBcc: all@example.org", false),
            ("ops@example.org>\r\nRCPT TO:<x@y", false),
            ("ops@example.org, x@y", false),
            ("Ops <ops@example.org>", false),
            ("\"o p\"@example.org", false),
            ("öps@example.org", false),
            ("ops@[127.0.0.1]", false),
            ("ops@exa mple.org", false),
            ("ops\0@example.org", false),
        ] {
            assert_eq!(text.parse::<Mailbox>().is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn a_letter_says_what_where_and_what_next() {
        let mut message = Message::bare("the disk is nearly full");
        message.context.insert("disk".into(), "/var".into());
        let letter =
            letter(&message, &mailbox("holdfast@example.org"), &[mailbox("a@b.c"), mailbox("d@e.f")], 1);
        let (headers, body) = letter.split_once("\r\n\r\n").unwrap();
        insta::assert_snapshot!(headers.replace("\r\n", "\n"), @"
        Date: Thu, 01 Jan 1970 00:00:00 +0000
        From: Holdfast <holdfast@example.org>
        To: a@b.c,
         d@e.f
        Subject: =?utf-8?B?4pqg77iPIFdBUk5JTkcgb24gdGVzdDogdGhlIGRpc2sgaXMgbmVhcmx5?=
         =?utf-8?B?IGZ1bGw=?=
        Message-ID: <ntc_test_1@example.org>
        Auto-Submitted: auto-generated
        Importance: normal
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: base64
        ");
        let body = STANDARD.decode(body.replace("\r\n", "")).unwrap();
        insta::assert_snapshot!(String::from_utf8(body).unwrap().replace("\r\n", "\n"), @"
        ⚠️ WARNING on test

        the disk is nearly full

          disk: /var

        What to do: run `holdfast status` on test; it says what needs you.

        The mail server did not take 1 of the addresses in notifications.mail.to; they did not get this.
        ");
    }

    proptest! {
        // Whatever a notice says, in whatever part, there are these headers and no other.
        #[test]
        fn no_text_makes_a_header(said in "(?s).{0,300}", source in "(?s).{0,40}", id in "(?s).{0,40}") {
            let message = Message { source, id, ..Message::bare(&said) };
            let letter = letter(&message, &mailbox("h@example.org"), &[mailbox("a@b.c")], 0);
            let (headers, body) = letter.split_once("\r\n\r\n").unwrap();
            let names: Vec<&str> = headers.split("\r\n").filter(|line| !line.starts_with(' '))
                .map(|line| line.split_once(": ").unwrap().0).collect();
            prop_assert_eq!(names, ["Date", "From", "To", "Subject", "Message-ID", "Auto-Submitted", "Importance",
                "MIME-Version", "Content-Type", "Content-Transfer-Encoding"]);
            let clean = |line: &str| line.len() <= 200 && !line.bytes().any(|b| b.is_ascii_control()) && line.is_ascii();
            prop_assert!(headers.split("\r\n").chain(body.split("\r\n")).all(clean));
        }
    }
}
