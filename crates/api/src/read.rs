//! Bytes of a call, read strictly: percent-encoding, queries, JSON without repeats, lines.

use std::fmt;

use holdfast_control::{MemoryLine, MemoryWrong};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::ApiError;

/// The longest path with its query; what is longer is no call of ours.
pub(crate) const TARGET_MAX: usize = 16 * 1024;

/// The most parameters a query may have: more than any route takes.
const PARAMETERS_MAX: usize = 64;

/// How deep JSON may be nested: what the log holds is bounded alike.
const DEPTH_MAX: usize = 64;

/// The longest line of an import: the longest memory with every character escaped, and what stands beside it.
pub(crate) const LINE_MAX: usize = 128 * 1024;

/// Lines of one import. Whoever has more sends them in several.
pub(crate) const LINES_MAX: usize = 20_000;

/// What a plus stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Itself,
    Space,
}

/// A piece of a path. A slash that was encoded would be a piece too many.
pub(crate) fn segment(text: &str) -> Result<String, ApiError> {
    let decoded = decoded(text, Plus::Itself, "the path")?;
    if decoded.contains('/') {
        return Err(ApiError::Encoding { place: "the path", why: "a slash is encoded in it" });
    }
    Ok(decoded)
}

/// The parameters of a query, in their order.
pub(crate) fn query(text: &str) -> Result<Vec<(String, String)>, ApiError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let broken = |why| ApiError::Encoding { place: "the query", why };
    let pairs: Vec<&str> = text.split('&').take(PARAMETERS_MAX + 1).collect();
    if pairs.len() > PARAMETERS_MAX {
        return Err(broken("it has too many parameters"));
    }
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or_else(|| broken("a parameter has no value"))?;
        Ok((decoded(name, Plus::Space, "the query")?, decoded(value, Plus::Space, "the query")?))
    };
    pairs.into_iter().map(pair).collect()
}

fn decoded(text: &str, plus: Plus, place: &'static str) -> Result<String, ApiError> {
    let broken = |why| ApiError::Encoding { place, why };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = rest.next().and_then(hex).zip(rest.next().and_then(hex));
                let (high, low) =
                    digits.ok_or_else(|| broken("a % is not followed by two hexadecimal digits"))?;
                high << 4 | low
            }
            b'+' if plus == Plus::Space => b' ',
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| broken("it is not UTF-8"))?;
    if text.contains('\0') { Err(broken("it has a zero byte")) } else { Ok(text) }
}

fn hex(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The text as it may stand in a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// One JSON object in which every name stands once, and what its text was.
pub(crate) fn object(bytes: &[u8]) -> Result<(Map<String, Value>, &str), ApiError> {
    let broken = |why: &str| ApiError::NotJson { why: why.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| broken("it is not UTF-8"))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut reader).map_err(|e| not_json(&e))?;
    reader.end().map_err(|e| not_json(&e))?;
    match value {
        Value::Object(object) => Ok((object, text)),
        _ => Err(broken("it is not an object")),
    }
}

/// The place alone where it is not JSON; the words are our own where they are about repeats or depth. Nothing that was sent is repeated.
fn not_json(e: &serde_json::Error) -> ApiError {
    let why = match e.classify() {
        serde_json::error::Category::Eof => "it ends too early".to_owned(),
        serde_json::error::Category::Data if e.to_string().starts_with(REPEATED) => REPEATED.to_owned(),
        serde_json::error::Category::Data if e.to_string().starts_with(TOO_DEEP) => TOO_DEEP.to_owned(),
        _ => format!("line {}, column {}", e.line(), e.column()),
    };
    ApiError::NotJson { why }
}

const REPEATED: &str = "a name stands in it twice";
const TOO_DEEP: &str = "it is nested too deep";

/// Reads any JSON, and refuses a name that stands twice in an object: two readers could believe two different ones.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Strict, E> {
        if self.depth == DEPTH_MAX { Err(E::custom(TOO_DEEP)) } else { Ok(Strict { depth: self.depth + 1 }) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Value, E> {
        Ok(Value::Bool(is))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let (deeper, mut all) = (self.deeper()?, Vec::new());
        while let Some(item) = items.next_element_seed(deeper)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let (deeper, mut all) = (self.deeper()?, Map::new());
        while let Some(name) = parts.next_key_seed(Name)? {
            let value = parts.next_value_seed(deeper)?;
            if all.insert(name, value).is_some() {
                return Err(de::Error::custom(REPEATED));
            }
        }
        Ok(Value::Object(all))
    }
}

/// A name in an object.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        String::deserialize(from)
    }
}

/// The lines of an import that are not blank, by their numbers, and those that are none.
pub(crate) fn lines(bytes: &[u8]) -> Result<(Vec<MemoryLine>, Vec<MemoryWrong>), ApiError> {
    let (mut lines, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) if text.len() <= LINE_MAX => lines.push(MemoryLine { number, text: text.to_owned() }),
            Ok(_) => {
                wrong.push(MemoryWrong { line: number, why: format!("it has more than {LINE_MAX} bytes") })
            }
            Err(e) => {
                let why = format!("it is not UTF-8 from byte {} on", e.valid_up_to() + 1);
                wrong.push(MemoryWrong { line: number, why });
            }
        }
        if lines.len() + wrong.len() > LINES_MAX {
            let why = format!("at most {LINES_MAX} lines");
            return Err(ApiError::Wrong { field: "the body".to_owned(), why });
        }
    }
    Ok((lines, wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percent_encoding_is_taken_in_one_reading_only() {
        for (text, read) in [
            ("box-1", Some("box-1")),
            ("a%20b", Some("a b")),
            ("a+b", Some("a+b")),
            ("%C3%A4", Some("ä")),
            ("%c3%a4", Some("ä")),
            ("%2F", None),
            ("a/b", None),
            ("%00", None),
            ("%ff", None),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%+4", None),
        ] {
            assert_eq!(segment(text).ok().as_deref(), read, "{text}");
        }
    }

    #[test]
    fn a_query_is_pairs_and_nothing_else() {
        let read = query("a=1&b=x+y%2Bz&a=2").unwrap();
        let expected = [("a", "1"), ("b", "x y+z"), ("a", "2")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(query("").unwrap(), []);
        let many = vec!["a=1"; PARAMETERS_MAX + 1].join("&");
        for text in ["a", "&", "a=1&", "a=%", "=%ff", many.as_str()] {
            assert!(query(text).is_err(), "{text}");
        }
    }

    #[test]
    fn json_is_one_object_without_repeats() {
        assert!(object(br#" {"a":{"b":[1,-2,3.5,"x",null,true]},"c":{}} "#).is_ok());
        let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(object(deep(DEPTH_MAX - 1).as_bytes()).is_ok());
        for (text, why) in [
            (r#"{"a":1,"a":1}"#, "twice"),
            (r#"{"a":{"b":1,"b":2}}"#, "twice"),
            (r#"{"a":[{"b":1,"\u0062":2}]}"#, "twice"),
            (&deep(DEPTH_MAX), "deep"),
            (&deep(500), "deep"),
            ("[]", "object"),
            ("null", "object"),
            ("", "early"),
            ("{", "early"),
            (r#"{"a":1}{"a":1}"#, "line 1"),
            (r#"{"a":1e999}"#, "line 1"),
            (r#"{'a':1}"#, "line 1"),
        ] {
            let said = object(text.as_bytes()).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
        assert!(object(b"{\"a\":\"\xff\"}").unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn what_was_sent_is_not_in_what_is_said_of_it() {
        for text in [r#"{"a":hunter}"#, r#"{"hunter":1,"hunter":2}"#, r#"{"a": "hunter"#] {
            let said = object(text.as_bytes()).unwrap_err().to_string();
            assert!(!said.contains("hunter"), "{said}");
        }
    }

    #[test]
    fn lines_keep_their_numbers_and_what_is_none_does_not_end_it() {
        let long = "x".repeat(LINE_MAX + 1);
        let text = [b"{}\n\n \r\n\xff\n".as_slice(), long.as_bytes(), b"\nlast"].concat();
        let (lines, wrong) = lines(&text).unwrap();
        let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
        assert_eq!((numbers, lines[1].text.as_str()), (vec![1, 6], "last"));
        assert_eq!(wrong.iter().map(|wrong| wrong.line).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn an_import_of_too_many_lines_is_refused_whole() {
        assert!(lines("x\n".repeat(LINES_MAX).as_bytes()).is_ok());
        assert!(lines("x\n".repeat(LINES_MAX + 1).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(text in "[^/\0]{0,40}") {
            prop_assert_eq!(segment(&encoded(&text)).unwrap(), text.clone());
            let read = query(&format!("{}={}", encoded(&text), encoded(&text))).unwrap();
            prop_assert_eq!(read, vec![(text.clone(), text)]);
        }

        #[test]
        fn no_bytes_make_a_reader_fall(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (object(&bytes), lines(&bytes));
            let text = String::from_utf8_lossy(&bytes);
            let _ = (query(&text), segment(&text));
        }

        #[test]
        fn json_is_read_as_everybody_reads_it(value in crate::tests::any_json()) {
            let text = serde_json::json!({ "a": value }).to_string();
            let (read, same) = object(text.as_bytes()).unwrap();
            prop_assert_eq!((&read["a"], same), (&value, text.as_str()));
        }
    }
}
