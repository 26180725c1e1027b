//! What a call said, after every rule was kept: values by their names.
//!
//! A getter that does not find what its row promises is a mistake in the table and is told as the field that is wrong; the tests build
//! every row.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::ApiError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) values: Map<String, Value>,
    /// A signed document, byte for byte.
    pub(crate) document: Option<String>,
    /// A body of another type than JSON.
    pub(crate) raw: Vec<u8>,
}

impl Given {
    pub(crate) fn new(values: Map<String, Value>, document: Option<String>, raw: Vec<u8>) -> Given {
        Given { values, document, raw }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, ApiError> {
        self.maybe_text(name).ok_or_else(|| ApiError::Missing { field: name.to_owned() })
    }

    pub(crate) fn maybe_text(&self, name: &str) -> Option<String> {
        self.values.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, ApiError> {
        self.maybe_number(name).ok_or_else(|| ApiError::Missing { field: name.to_owned() })
    }

    pub(crate) fn maybe_number(&self, name: &str) -> Option<u64> {
        let value = self.values.get(name)?;
        // 7.0 is as whole as 7; the rule has seen to it that nothing is cut off here.
        value.as_u64().or_else(|| value.as_f64().map(|n| n as u64))
    }

    pub(crate) fn small(&self, name: &str) -> Result<u32, ApiError> {
        u32::try_from(self.number(name)?).map_err(|_| wrong(name, "a smaller number"))
    }

    pub(crate) fn fraction(&self, name: &str) -> Result<f64, ApiError> {
        let found = self.values.get(name).and_then(Value::as_f64);
        found.ok_or_else(|| ApiError::Missing { field: name.to_owned() })
    }

    /// What is not said is not so.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let items = self.values.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(crate) fn object(&self, name: &str) -> Option<Map<String, Value>> {
        self.values.get(name).and_then(Value::as_object).cloned()
    }

    pub(crate) fn objects(&self, name: &str) -> Vec<Map<String, Value>> {
        let items = self.values.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_object).cloned().collect()
    }

    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<T, ApiError> {
        self.text(name)?.parse().map_err(|_| wrong(name, "in another form"))
    }

    pub(crate) fn maybe_parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        self.maybe_text(name).map(|text| text.parse().map_err(|_| wrong(name, "in another form"))).transpose()
    }
}

fn wrong(name: &str, why: &str) -> ApiError {
    ApiError::Wrong { field: name.to_owned(), why: why.to_owned() }
}
