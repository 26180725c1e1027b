//! Variables of the process, and the place that reads secrets from them.
//!
//! The weakest place: a variable is inherited by every child and shown to whoever may read `/proc`. It is for
//! containers and first steps.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use crate::error::{Error, Failure, Result};
use crate::name::SecretName;
use crate::secret::{NotASecret, Secret};

/// Variables whose names are a prefix and the secret's name in upper case, with `-` as `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    prefix: String,
}

/// Where variables are looked up: this process, or a fixed list.
#[derive(Clone)]
pub struct Variables(Option<BTreeMap<String, OsString>>);

impl Environment {
    /// `prefix` is not empty, so that no name reaches `PATH` or `HOME`.
    pub fn new(prefix: &str) -> Result<Environment> {
        let fits = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        let starts_well = prefix.bytes().next().is_some_and(|b| b.is_ascii_uppercase() || b == b'_');
        if !starts_well || prefix.len() > 64 || !prefix.bytes().all(fits) {
            let why = "the prefix must be 1 to 64 characters of A-Z 0-9 _ and not begin with a digit".into();
            return Err(Error::NotASource { place: "environment", why });
        }
        Ok(Environment { prefix: prefix.to_owned() })
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn ask(&self, name: &SecretName, variables: &Variables) -> Result<Option<Secret>, Failure> {
        let variable = format!("{}{}", self.prefix, name.as_str().to_ascii_uppercase().replace('-', "_"));
        let Some(value) = variables.get(&variable) else { return Ok(None) };
        let text = value.into_string().map_err(|_| NotASecret::NotText)?;
        Ok(Some(Secret::new(text)?))
    }
}

impl Variables {
    pub fn of_this_process() -> Variables {
        Variables(None)
    }

    pub fn fixed<V: Into<OsString>>(list: impl IntoIterator<Item = (String, V)>) -> Variables {
        Variables(Some(list.into_iter().map(|(name, value)| (name, value.into())).collect()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            Some(fixed) => fixed.get(name).cloned(),
            None => std::env::var_os(name),
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables(…)")
    }
}
