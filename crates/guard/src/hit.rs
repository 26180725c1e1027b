//! What a detector reports to the engine, before overlaps are resolved.

use crate::finding::Method;

/// The kinds that are found by code, because a shape cannot say them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    PrivateKey,
    PasswordInUrl,
    AwsSecret,
    EntraSecret,
    BearerToken,
    BasicAuth,
    NamedSecret,
    NamedPassword,
    HighEntropy,
    Email,
    Phone,
    Ssn,
    CreditCard,
    Iban,
    IpAddress,
    MacAddress,
    Coordinates,
    BirthDate,
    Url,
    NationalId(&'static str),
}

/// Something a detector found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) known: Known,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Percent.
    pub(crate) confidence: u8,
    pub(crate) reason: &'static str,
}

impl Known {
    pub(crate) fn method(self) -> Method {
        if self == Known::HighEntropy { Method::Entropy } else { Method::Pattern }
    }
}
