//! A secret value: bounded text that is wiped when dropped and has no printed form.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use zeroize::{Zeroize, Zeroizing};

/// Longest value. Keys and tokens are far below; whatever is longer is a file and not a secret.
pub const VALUE_MAX: usize = 64 * 1024;

/// A secret text. It cannot be printed, serialised or cloned by accident; [`Secret::expose`] is the one way out.
pub struct Secret(Zeroizing<String>);

/// Why bytes cannot be a secret. Says nothing about the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASecret {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {VALUE_MAX} bytes")]
    TooLong,
    #[error("it is not UTF-8 text")]
    NotText,
}

impl Secret {
    /// Takes the text over; it is wiped also when it is refused.
    pub fn new(text: String) -> Result<Secret, NotASecret> {
        let text = Zeroizing::new(text);
        match text.len() {
            0 => Err(NotASecret::Empty),
            len if len > VALUE_MAX => Err(NotASecret::TooLong),
            _ => Ok(Secret(text)),
        }
    }

    /// Takes bytes over that came from a file or a program, where a line end after the value is an accident of
    /// how it was written.
    pub(crate) fn from_line(mut bytes: Zeroizing<Vec<u8>>) -> Result<Secret, NotASecret> {
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        match String::from_utf8(std::mem::take(&mut *bytes)) {
            Ok(text) => Secret::new(text),
            Err(refused) => {
                refused.into_bytes().zeroize();
                Err(NotASecret::NotText)
            }
        }
    }

    /// The text itself. Where this is called, the secret leaves the type that protects it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `text` is this secret, in a time that depends on the lengths only.
    pub fn matches(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let differing = own.iter().zip(other).fold(0u8, |acc, (a, b)| std::hint::black_box(acc | (a ^ b)));
        own.len() == other.len() && differing == 0
    }

    /// A second copy, for a place that keeps what it decrypted.
    pub(crate) fn copy(&self) -> Secret {
        Secret(self.0.clone())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Read from a decrypted file. The messages say what was expected and never what was found.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Secret, E> {
                Secret::new(text.to_owned()).map_err(E::custom)
            }

            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Secret, E> {
                Secret::new(text).map_err(E::custom)
            }
        }
        deserializer
            .deserialize_str(Text)
            .map_err(|_| D::Error::custom("a secret is a text of 1 to 65536 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Result<String, NotASecret> {
        Secret::from_line(Zeroizing::new(bytes.to_vec())).map(|s| s.expose().to_owned())
    }

    #[test]
    fn one_line_end_is_taken_off_and_no_more() {
        for (bytes, text) in [
            (&b"abc"[..], "abc"),
            (b"abc\n", "abc"),
            (b"abc\r\n", "abc"),
            (b"abc\n\n", "abc\n"),
            (b" a ", " a "),
        ] {
            assert_eq!(line(bytes).as_deref(), Ok(text), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_empty_too_long_or_no_text_is_refused() {
        assert_eq!(line(b""), Err(NotASecret::Empty));
        assert_eq!(line(b"\n"), Err(NotASecret::Empty));
        assert_eq!(line(b"a\xff"), Err(NotASecret::NotText));
        assert_eq!(line(&[b'a'; VALUE_MAX + 1]), Err(NotASecret::TooLong));
        assert!(line(&[b'a'; VALUE_MAX]).is_ok());
    }

    #[test]
    fn it_matches_itself_only() {
        let secret = Secret::new("correct horse".into()).unwrap();
        assert!(secret.matches("correct horse"));
        for other in ["", "correct", "correct horse ", "Correct horse", "correct hors\u{0}", "correct horsf"]
        {
            assert!(!secret.matches(other), "{other:?}");
        }
    }

    #[test]
    fn its_debug_form_says_nothing() {
        // holdfast: allow named_secret — a marker, looked for in what is printed
        let secret = Secret::new("marker-4711".into()).unwrap();
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "Secret(…) Some(\n    Secret(…),\n)");
    }

    #[test]
    fn a_refusal_while_reading_does_not_quote_what_it_refused() {
        for json in ["4711", "[\"marker\"]", "{\"marker\":1}", "\"\"", "true"] {
            let e = serde_json::from_str::<Secret>(json).unwrap_err().to_string();
            assert!(!e.contains("marker") && !e.contains("4711") && !e.contains("true"), "{e}");
        }
    }
}
