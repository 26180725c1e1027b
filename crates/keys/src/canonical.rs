//! Canonical JSON (RFC 8785): one value, one sequence of bytes.
//!
//! Begin with [`parse`], [`from_value`] and [`from_serialize`]: the three doors to a [`Canonical`], which
//! holds the value and its encoding. What is inside promises:
//!
//! - its bytes parse to an equal `Canonical`, and two are equal exactly when their bytes are;
//! - no integer lost a digit on the way in: one that a double cannot hold is refused, not rounded;
//! - objects have no key twice, and nothing is nested deeper than [`DEPTH_MAX`].
//!
//! # Numbers
//!
//! RFC 8785 knows doubles only. A literal with a fraction or an exponent means the nearest double, as the
//! RFC says. An integer literal is refused when its magnitude is above 2^53: from 2^53 + 1 on, neighbours
//! share a double, and a reader with 64-bit integers would see another number than one with doubles. The
//! RFC writes doubles below 10^21 without exponent, so a double between 2^53 and 10^21 would be *written* as
//! such an integer and could not be read back; it is refused too, however it was spelled. Larger numbers
//! belong in a string.

mod build;

use std::fmt;

use holdfast_types::{Exit, Problem};
use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

use crate::problem::{self, NOTHING_CHANGED, advice};

/// Arrays and objects inside one another. Far above any document of ours, far below where a recursive
/// reader runs out of stack.
pub const DEPTH_MAX: usize = 64;

/// 2^53: up to here every integer has a double of its own.
const INTEGER_MAX: u64 = 1 << 53;

/// From here on RFC 8785 writes a double with an exponent.
const EXPONENT_FROM: f64 = 1e21;

/// A JSON value that has exactly one encoding, and that encoding.
#[derive(Clone)]
pub struct Canonical {
    value: Value,
    // Encoded in the constructor, so that nothing can fail later, between deciding to sign and signing.
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    #[error("the text is not UTF-8 from byte {offset} on")]
    NotUtf8 { offset: usize },
    #[error("not JSON at {path} (line {line}, column {column}): {message}")]
    Syntax { path: Path, line: usize, column: usize, message: String },
    #[error("the key at {path} is there twice")]
    DuplicateKey { path: Path },
    #[error(
        "the number {literal} at {path} is an integer beyond 2^53, which not every reader can hold exactly"
    )]
    InexactInteger { path: Path, literal: String },
    #[error("the number {literal} at {path} is larger than any double")]
    OutOfRange { path: Path, literal: String },
    #[error("the number at {path} is not finite, and JSON has no word for that")]
    NotFinite { path: Path },
    #[error("the value at {path} is nested deeper than {DEPTH_MAX} levels")]
    TooDeep { path: Path },
    #[error("the value at {path} has no JSON form: {message}")]
    Unserializable { path: Path, message: String },
}

/// Where in a document: `$.files["a b"][3]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

/// Reads one JSON text, and nothing after it but white space.
pub fn parse(text: impl AsRef<[u8]>) -> Result<Canonical, CanonicalError> {
    let bytes = text.as_ref();
    let text = std::str::from_utf8(bytes).map_err(|e| CanonicalError::NotUtf8 { offset: e.valid_up_to() })?;
    let mut walk = Walk { path: Path::default(), literals: Literals { rest: text }, refusal: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node(&mut walk).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) => Canonical::encode(value),
        Err(error) => Err(walk.explain(&error)),
    }
}

/// Takes a value that is already in memory; the same rules as [`parse`].
pub fn from_value(value: &Value) -> Result<Canonical, CanonicalError> {
    Canonical::encode(checked(value, 0)?)
}

/// Takes anything that serialises. Unlike `serde_json::to_value` it refuses NaN instead of writing `null`,
/// and a key that a map hands out twice.
pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Canonical, CanonicalError> {
    Canonical::encode(value.serialize(build::Builder::default())?)
}

impl Canonical {
    /// The bytes that are signed and hashed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    pub fn into_value(self) -> Value {
        self.value
    }

    /// Reads the value as a type of the caller's.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.value)
    }

    fn encode(value: Value) -> Result<Canonical, CanonicalError> {
        let unserializable = |e: serde_json::Error| CanonicalError::Unserializable {
            path: Path::default(),
            message: e.to_string(),
        };
        let bytes = serde_json_canonicalizer::to_vec(&value).map_err(unserializable)?;
        Ok(Canonical { value, bytes })
    }
}

impl PartialEq for Canonical {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Canonical {}

impl fmt::Debug for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Canonical({})", self.value)
    }
}

impl Serialize for Canonical {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl CanonicalError {
    pub fn problem(&self) -> Problem {
        let (number, hint) = match self {
            CanonicalError::NotUtf8 { .. } => (1, "save the text as UTF-8"),
            CanonicalError::Syntax { .. } => (2, "correct the JSON at the place named"),
            CanonicalError::DuplicateKey { .. } => {
                (3, "remove one of the two; which one counts is for you to say")
            }
            CanonicalError::InexactInteger { .. } => (4, "write the number as a string"),
            CanonicalError::OutOfRange { .. } => (5, "write the number as a string"),
            CanonicalError::NotFinite { .. } => (6, "leave the field out, or say null on purpose"),
            CanonicalError::TooDeep { .. } => {
                (7, "make the document flatter; no document of ours is this deep")
            }
            CanonicalError::Unserializable { .. } => {
                (8, "report this as a bug: the value was made by the program")
            }
        };
        problem::problem(self, advice(number, Exit::Negative, NOTHING_CHANGED, hint))
    }

    /// The same error seen from one level further out.
    fn within(mut self, step: impl FnOnce() -> Step) -> Self {
        match &mut self {
            CanonicalError::NotUtf8 { .. } => {}
            CanonicalError::Syntax { path, .. }
            | CanonicalError::DuplicateKey { path }
            | CanonicalError::InexactInteger { path, .. }
            | CanonicalError::OutOfRange { path, .. }
            | CanonicalError::NotFinite { path }
            | CanonicalError::TooDeep { path }
            | CanonicalError::Unserializable { path, .. } => path.0.insert(0, step()),
        }
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn key(key: &str) -> Step {
        // A path is for a message; a key can be as long as the document.
        const SHOWN_LEN_MAX: usize = 60;
        Step::Key(key.chars().take(SHOWN_LEN_MAX).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Index(n) => write!(f, "[{n}]"),
            Step::Key(key) if is_plain(key) => write!(f, ".{key}"),
            Step::Key(key) => write!(f, "[{key:?}]"),
        })
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What the reader keeps while it goes down the text. The path is not taken back on failure, so it still
/// names the place when the error arrives at the top.
struct Walk<'t> {
    path: Path,
    literals: Literals<'t>,
    refusal: Option<CanonicalError>,
}

impl Walk<'_> {
    /// Refuses with our own error; the one that travels through serde is only a signal.
    fn refuse<E: de::Error>(&mut self, refusal: CanonicalError) -> E {
        self.refusal = Some(refusal);
        E::custom("refused")
    }

    fn explain(mut self, error: &serde_json::Error) -> CanonicalError {
        if let Some(refusal) = self.refusal {
            return refusal;
        }
        let message = error.to_string();
        // serde_json does not show its error codes; a test holds this wording.
        if message.starts_with("number out of range") {
            let literal = shown(self.literals.next().unwrap_or_default());
            return CanonicalError::OutOfRange { path: self.path, literal };
        }
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        CanonicalError::Syntax { path: self.path, line: error.line(), column: error.column(), message }
    }
}

/// One value at the walk's current place.
struct Node<'w, 't>(&'w mut Walk<'t>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Node<'_, '_> {
    fn number<E: de::Error>(self, nearest: f64) -> Result<Value, E> {
        let literal = self.0.literals.next().unwrap_or_default();
        let is_integer = !literal.contains(['.', 'e', 'E']);
        // An integer literal that rounds to 2^53 may be 2^53 + 1, so its digits are asked, not the double.
        let fits =
            !is_integer || literal.trim_start_matches('-').parse().is_ok_and(|n: u64| n <= INTEGER_MAX);
        if let Some(number) = double(nearest).filter(|_| fits) {
            return Ok(Value::Number(number));
        }
        let path = self.0.path.clone();
        Err(self.0.refuse(CanonicalError::InexactInteger { path, literal: shown(literal) }))
    }

    fn enter<E: de::Error>(&mut self) -> Result<(), E> {
        if self.0.path.0.len() < DEPTH_MAX {
            return Ok(());
        }
        let path = self.0.path.clone();
        Err(self.0.refuse(CanonicalError::TooDeep { path }))
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.number(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.number(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.number(value)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        self.0.path.0.push(Step::Index(0));
        while let Some(item) = seq.next_element_seed(Node(self.0))? {
            items.push(item);
            self.0.path.0.pop();
            self.0.path.0.push(Step::Index(items.len()));
        }
        self.0.path.0.pop();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.path.0.push(Step::key(&key));
            if object.contains_key(&key) {
                let path = self.0.path.clone();
                return Err(self.0.refuse(CanonicalError::DuplicateKey { path }));
            }
            object.insert(key, map.next_value_seed(Node(self.0))?);
            self.0.path.0.pop();
        }
        Ok(Value::Object(object))
    }
}

/// The number literals of a JSON text in order. The reader hands numbers over without their spelling, and
/// whether `1000000000000000000000` or `1e21` was written decides if it is refused, so this walks beside it.
/// On a text that is not JSON it yields nonsense, which nobody gets to see.
struct Literals<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Literals<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.rest.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => at = end_of_string(bytes, at + 1),
                b'-' | b'0'..=b'9' => {
                    let len = bytes[at..].iter().take_while(|b| b"+-.eE0123456789".contains(b)).count();
                    let literal = &self.rest[at..at + len];
                    self.rest = &self.rest[at + len..];
                    return Some(literal);
                }
                _ => at += 1,
            }
        }
        self.rest = "";
        None
    }
}

/// Where the text goes on after the string whose first character is at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Rebuilds a value under the rules; `depth` counts the containers around it.
fn checked(value: &Value, depth: usize) -> Result<Value, CanonicalError> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(value.clone()),
        Value::Number(number) => checked_number(number).map(Value::Number),
        Value::Array(items) => {
            let item = |(n, item)| checked(item, depth + 1).map_err(|e| e.within(|| Step::Index(n)));
            enter(depth)?;
            items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(object) => {
            let member = |(key, member): (&String, &Value)| match checked(member, depth + 1) {
                Ok(member) => Ok((key.clone(), member)),
                Err(e) => Err(e.within(|| Step::key(key))),
            };
            enter(depth)?;
            object.iter().map(member).collect::<Result<_, _>>().map(Value::Object)
        }
    }
}

fn enter(depth: usize) -> Result<(), CanonicalError> {
    if depth < DEPTH_MAX { Ok(()) } else { Err(CanonicalError::TooDeep { path: Path::default() }) }
}

fn checked_number(number: &Number) -> Result<Number, CanonicalError> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(n), _, _) => integer(i128::from(n)),
        (_, Some(n), _) => integer(i128::from(n)),
        (_, _, Some(x)) => float(x),
        _ => Err(CanonicalError::OutOfRange { path: Path::default(), literal: shown(&number.to_string()) }),
    }
}

fn integer(n: i128) -> Result<Number, CanonicalError> {
    match i64::try_from(n) {
        Ok(fits) if fits.unsigned_abs() <= INTEGER_MAX => Ok(Number::from(fits)),
        _ => Err(CanonicalError::InexactInteger { path: Path::default(), literal: n.to_string() }),
    }
}

fn float(x: f64) -> Result<Number, CanonicalError> {
    if !x.is_finite() {
        return Err(CanonicalError::NotFinite { path: Path::default() });
    }
    double(x).ok_or_else(|| CanonicalError::InexactInteger { path: Path::default(), literal: x.to_string() })
}

/// The one form of a finite double: as an integer when it is one, so that 5.0 equals 5 and -0 equals 0.
/// None between 2^53 and 10^21, where the encoding could not be read back.
fn double(x: f64) -> Option<Number> {
    if x.abs() <= INTEGER_MAX as f64 && x.fract() == 0.0 {
        return Some(Number::from(x as i64));
    }
    let writable = x.abs() < INTEGER_MAX as f64 || x.abs() >= EXPONENT_FROM;
    if writable { Number::from_f64(x) } else { None }
}

fn shown(literal: &str) -> String {
    const SHOWN_LEN_MAX: usize = 40;
    literal.chars().take(SHOWN_LEN_MAX).collect()
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<CanonicalError> {
    let path = Path::default;
    vec![
        CanonicalError::NotUtf8 { offset: 3 },
        CanonicalError::Syntax { path: path(), line: 1, column: 2, message: "x".into() },
        CanonicalError::DuplicateKey { path: path() },
        CanonicalError::InexactInteger { path: path(), literal: "9007199254740993".into() },
        CanonicalError::OutOfRange { path: path(), literal: "1e400".into() },
        CanonicalError::NotFinite { path: path() },
        CanonicalError::TooDeep { path: path() },
        CanonicalError::Unserializable { path: path(), message: "x".into() },
    ]
}

#[cfg(test)]
mod tests;
