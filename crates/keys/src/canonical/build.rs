//! Turns anything that serialises into a JSON value under the rules of canonical JSON.
//!
//! `serde_json::to_value` and every serialiser built on it write NaN as `null` and keep the last of two equal
//! keys. In a document that is signed, both are silent changes, so the value is built here instead.

use std::fmt::Display;

use serde::ser::{self, Impossible, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{CanonicalError, Path, Step, enter, float, integer};

/// Builds one value; `depth` counts the containers around it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Builder {
    depth: usize,
}

impl ser::Error for CanonicalError {
    fn custom<T: Display>(message: T) -> Self {
        CanonicalError::Unserializable { path: Path::default(), message: message.to_string() }
    }
}

impl Builder {
    fn array(self) -> Result<Array, CanonicalError> {
        enter(self.depth)?;
        Ok(Array { inner: Builder { depth: self.depth + 1 }, items: Vec::new() })
    }

    fn object(self) -> Result<Object, CanonicalError> {
        enter(self.depth)?;
        Ok(Object { inner: Builder { depth: self.depth + 1 }, members: Map::new(), key: None })
    }

    /// Enum variants with data are objects of one member, as everywhere in serde_json.
    fn variant<C>(self, name: &'static str, open: impl FnOnce(Builder) -> Opened<C>) -> Opened<Variant<C>> {
        enter(self.depth)?;
        let content = open(Builder { depth: self.depth + 1 }).map_err(|e| e.within(|| Step::key(name)))?;
        Ok(Variant { name, content })
    }
}

type Built = Result<Value, CanonicalError>;
type Opened<C> = Result<C, CanonicalError>;

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, n: $type) -> Built {
            integer(i128::from(n)).map(Value::Number)
        }
    )*};
}

impl Serializer for Builder {
    type Ok = Value;
    type Error = CanonicalError;
    type SerializeSeq = Array;
    type SerializeTuple = Array;
    type SerializeTupleStruct = Array;
    type SerializeTupleVariant = Variant<Array>;
    type SerializeMap = Object;
    type SerializeStruct = Object;
    type SerializeStructVariant = Variant<Object>;

    integers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128);
    integers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);

    fn serialize_u128(self, n: u128) -> Built {
        // Above i128 it is refused like anything else above 2^53; only the digits shown would differ.
        integer(i128::try_from(n).unwrap_or(i128::MAX)).map(Value::Number)
    }

    fn serialize_f32(self, x: f32) -> Built {
        float(f64::from(x)).map(Value::Number)
    }

    fn serialize_f64(self, x: f64) -> Built {
        float(x).map(Value::Number)
    }

    fn serialize_bool(self, value: bool) -> Built {
        Ok(Value::Bool(value))
    }

    fn serialize_char(self, c: char) -> Built {
        Ok(Value::String(c.to_string()))
    }

    fn serialize_str(self, text: &str) -> Built {
        Ok(Value::String(text.to_owned()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Built {
        enter(self.depth)?;
        Ok(Value::Array(bytes.iter().map(|&b| Value::from(b)).collect()))
    }

    fn serialize_none(self) -> Built {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Built {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Built {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Built {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Built {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Built {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Built {
        self.variant(variant, |inner| value.serialize(inner)).map(|v| wrapped(v.name, v.content))
    }

    fn serialize_seq(self, _: Option<usize>) -> Opened<Array> {
        self.array()
    }

    fn serialize_tuple(self, _: usize) -> Opened<Array> {
        self.array()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Opened<Array> {
        self.array()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Opened<Variant<Array>> {
        self.variant(variant, Builder::array)
    }

    fn serialize_map(self, _: Option<usize>) -> Opened<Object> {
        self.object()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Opened<Object> {
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Opened<Variant<Object>> {
        self.variant(variant, Builder::object)
    }
}

#[derive(Debug)]
pub(super) struct Array {
    inner: Builder,
    items: Vec<Value>,
}

impl Array {
    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CanonicalError> {
        let n = self.items.len();
        self.items.push(item.serialize(self.inner).map_err(|e| e.within(|| Step::Index(n)))?);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Object {
    inner: Builder,
    members: Map<String, Value>,
    key: Option<String>,
}

impl Object {
    fn put<T: Serialize + ?Sized>(&mut self, key: String, value: &T) -> Result<(), CanonicalError> {
        let value = value.serialize(self.inner).map_err(|e| e.within(|| Step::key(&key)))?;
        if self.members.contains_key(&key) {
            return Err(CanonicalError::DuplicateKey { path: Path(vec![Step::key(&key)]) });
        }
        self.members.insert(key, value);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Variant<C> {
    name: &'static str,
    content: C,
}

fn wrapped(name: &str, content: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), content)]))
}

impl ser::SerializeSeq for Array {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CanonicalError> {
        self.push(item)
    }

    fn end(self) -> Built {
        Ok(Value::Array(self.items))
    }
}

impl ser::SerializeTuple for Array {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CanonicalError> {
        self.push(item)
    }

    fn end(self) -> Built {
        Ok(Value::Array(self.items))
    }
}

impl ser::SerializeTupleStruct for Array {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CanonicalError> {
        self.push(item)
    }

    fn end(self) -> Built {
        Ok(Value::Array(self.items))
    }
}

impl ser::SerializeTupleVariant for Variant<Array> {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CanonicalError> {
        self.content.push(item).map_err(|e| e.within(|| Step::key(self.name)))
    }

    fn end(self) -> Built {
        Ok(wrapped(self.name, Value::Array(self.content.items)))
    }
}

impl ser::SerializeMap for Object {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        self.key = Some(key.serialize(KeyText)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        match self.key.take() {
            Some(key) => self.put(key, value),
            None => Err(ser::Error::custom("a value came without its key")),
        }
    }

    fn end(self) -> Built {
        Ok(Value::Object(self.members))
    }
}

impl ser::SerializeStruct for Object {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        self.put(key.to_owned(), value)
    }

    fn end(self) -> Built {
        Ok(Value::Object(self.members))
    }
}

impl ser::SerializeStructVariant for Variant<Object> {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        self.content.put(key.to_owned(), value).map_err(|e| e.within(|| Step::key(self.name)))
    }

    fn end(self) -> Built {
        Ok(wrapped(self.name, Value::Object(self.content.members)))
    }
}

/// Object keys are text. Integers are spelled out, as serde_json does; anything else is refused.
struct KeyText;

macro_rules! spelled_keys {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, key: $type) -> Result<String, CanonicalError> {
            Ok(key.to_string())
        }
    )*};
}

macro_rules! refused_keys {
    ($($method:ident($($arg:ty),*) -> $out:ty;)*) => {$(
        fn $method(self, $(_: $arg),*) -> Result<$out, CanonicalError> {
            Err(key_not_text())
        }
    )*};
}

fn key_not_text() -> CanonicalError {
    ser::Error::custom("a key that is not text")
}

type No = Impossible<String, CanonicalError>;

impl Serializer for KeyText {
    type Ok = String;
    type Error = CanonicalError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    spelled_keys!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128);
    spelled_keys!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128);
    spelled_keys!(serialize_bool: bool, serialize_char: char, serialize_str: &str);

    refused_keys! {
        serialize_f32(f32) -> String;
        serialize_f64(f64) -> String;
        serialize_bytes(&[u8]) -> String;
        serialize_none() -> String;
        serialize_unit() -> String;
        serialize_unit_struct(&'static str) -> String;
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct(&'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<String, CanonicalError> {
        key.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<String, CanonicalError> {
        Ok(name.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        key: &T,
    ) -> Result<String, CanonicalError> {
        key.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, CanonicalError> {
        Err(key_not_text())
    }
}
