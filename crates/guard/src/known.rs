//! The kinds that are found by code: their names, and what stands in their place.

use std::collections::HashMap;

use crate::hit::Known;
use crate::kind::{Action, Family, Kind};
use crate::pii;

#[derive(Debug)]
pub(crate) struct KnownKinds {
    kinds: Vec<Kind>,
    by_known: HashMap<Known, usize>,
}

impl KnownKinds {
    pub(crate) fn new() -> KnownKinds {
        use Family::{Personal, Secret};
        let fixed = [
            (Known::PrivateKey, "private_key_pem", "private key", "", Secret, Action::Block),
            (
                Known::PasswordInUrl,
                "password_in_url",
                "password in an address",
                "[REDACTED_PASSWORD]",
                Secret,
                Action::Replace,
            ),
            (
                Known::AwsSecret,
                "aws_secret",
                "AWS secret access key",
                "[REDACTED_AWS_SECRET]",
                Secret,
                Action::Replace,
            ),
            (
                Known::EntraSecret,
                "azure_client_secret",
                "Microsoft Entra client secret",
                "[REDACTED_API_KEY]",
                Secret,
                Action::Replace,
            ),
            (
                Known::BearerToken,
                "bearer_token",
                "token of an authorization header",
                "[REDACTED_TOKEN]",
                Secret,
                Action::Replace,
            ),
            (
                Known::BasicAuth,
                "basic_auth",
                "name and password of a basic header",
                "[REDACTED_PASSWORD]",
                Secret,
                Action::Replace,
            ),
            (
                Known::NamedSecret,
                "named_secret",
                "value of a name that promises a secret",
                "[REDACTED_SECRET]",
                Secret,
                Action::Replace,
            ),
            (
                Known::NamedPassword,
                "named_password",
                "value of a name that says password",
                "[REDACTED_PASSWORD]",
                Secret,
                Action::Replace,
            ),
            (
                Known::HighEntropy,
                "high_entropy_secret",
                "string that looks random",
                "[REDACTED_HIGH_ENTROPY]",
                Secret,
                Action::Replace,
            ),
            (Known::Email, "email", "e-mail address", "[REDACTED_EMAIL]", Personal, Action::Replace),
            (Known::Phone, "phone", "phone number", "[REDACTED_PHONE]", Personal, Action::Replace),
            (Known::Ssn, "ssn", "US social security number", "[REDACTED_SSN]", Personal, Action::Replace),
            (
                Known::CreditCard,
                "credit_card",
                "payment card number",
                "[REDACTED_CC]",
                Personal,
                Action::Replace,
            ),
            (Known::Iban, "iban", "bank account number", "[REDACTED_IBAN]", Personal, Action::Replace),
            (Known::IpAddress, "ip_address", "IP address", "[REDACTED_IP]", Personal, Action::Replace),
            (
                Known::MacAddress,
                "mac_address",
                "hardware address",
                "[REDACTED_MAC]",
                Personal,
                Action::Replace,
            ),
            (
                Known::Coordinates,
                "coordinates",
                "place on a map",
                "[REDACTED_LOCATION]",
                Personal,
                Action::Replace,
            ),
            (
                Known::BirthDate,
                "birth_date",
                "date of birth",
                "[REDACTED_BIRTH_DATE]",
                Personal,
                Action::Replace,
            ),
            (Known::Url, "url", "web address", "[REDACTED_URL]", Personal, Action::Replace),
        ];
        let mut all = KnownKinds { kinds: Vec::new(), by_known: HashMap::new() };
        for (known, id, what, replacement, family, action) in fixed {
            all.add(
                known,
                Kind {
                    id: id.to_owned(),
                    what: what.to_owned(),
                    replacement: replacement.to_owned(),
                    family,
                    action,
                },
            );
        }
        for id in pii::national_ids() {
            let kind = Kind {
                id: id.to_owned(),
                what: "number a state gives its people".to_owned(),
                replacement: "[REDACTED_ID]".to_owned(),
                family: Personal,
                action: Action::Replace,
            };
            all.add(Known::NationalId(id), kind);
        }
        all
    }

    fn add(&mut self, known: Known, kind: Kind) {
        self.by_known.insert(known, self.kinds.len());
        self.kinds.push(kind);
    }

    pub(crate) fn kind(&self, known: Known) -> &Kind {
        // Every kind is entered above; a national id by its own list.
        &self.kinds[self.by_known.get(&known).copied().unwrap_or(0)]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(|k| k.id.as_str())
    }
}
