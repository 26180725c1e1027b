//! JSON that somebody else wrote, read without benefit of the doubt.
//!
//! A usual reader takes the last of two equal keys and any depth it has stack for. Two readers that disagree about
//! a text are how one of them is passed by, so here a text is bounded in length and depth, and a key stands once.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a text may be at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub bytes_max: usize,
    /// Objects and lists inside one another.
    pub depth_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the text is {bytes} bytes long, and may be {max}")]
    TooLong { bytes: usize, max: usize },
    #[error("the text is not JSON as it is read here: {why}")]
    Malformed { why: String },
}

/// The one value that the whole text is.
pub fn read(text: &str, limits: Limits) -> Result<Value, Unreadable> {
    if text.len() > limits.bytes_max {
        return Err(Unreadable::TooLong { bytes: text.len(), max: limits.bytes_max });
    }
    let malformed = |error: serde_json::Error| Unreadable::Malformed { why: shortened(&error.to_string()) };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Depth(limits.depth_max).deserialize(&mut reader).map_err(malformed)?;
    reader.end().map_err(malformed)?;
    Ok(value)
}

/// An error may quote the text it is about; what is kept of it is short and safe to show.
fn shortened(text: &str) -> String {
    holdfast_types::printable(&text.chars().take(200).collect::<String>())
}

/// How many levels may still be entered.
#[derive(Clone, Copy)]
struct Depth(usize);

impl Depth {
    fn inner<E: serde::de::Error>(self) -> Result<Depth, E> {
        self.0.checked_sub(1).map(Depth).ok_or_else(|| E::custom("too many values inside one another"))
    }
}

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_f64<E: serde::de::Error>(self, it: f64) -> Result<Value, E> {
        Number::from_f64(it).map(Value::Number).ok_or_else(|| E::custom("a number without end"))
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(inner)?;
            if object.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice")));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { bytes_max: 64, depth_max: 3 };

    fn check(text: &str, expected: Result<(), &str>) {
        match (read(text, LIMITS), expected) {
            (Ok(value), Ok(())) => assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (result, expected) => panic!("{text}: {result:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_text_is_read_only_when_it_can_be_read_in_one_way() {
        check(r#"{"a": [1, -2, 0.5, null, true, "x"]}"#, Ok(()));
        check(r#"[[[]]]"#, Ok(()));
        check(r#"[[[[]]]]"#, Err("inside one another"));
        check(r#"{"a": 1, "a": 1}"#, Err("stands twice"));
        check(r#"{"b": {"a": 1, "\u0061": 2}}"#, Err("stands twice"));
        check(r#"{} {}"#, Err("trailing"));
        check(r#"{"a": 1e999}"#, Err("out of range"));
        check(r#"{"a": 1"#, Err("EOF"));
        check(&"[".repeat(65), Err("65 bytes"));
        check("", Err("EOF"));
    }
}
