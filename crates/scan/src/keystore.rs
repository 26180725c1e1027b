//! Files that are a secret as a whole: key stores and binary private keys, told by what is in them.
//!
//! A name alone proves nothing: `.key` and `.keystore` are used for many things. So the structure is read as far as it
//! takes to know that there is a private key in it, or that its only purpose is to hold secrets.

use crate::text::has_ending;

/// A file that holds keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keystore {
    pub(crate) what: &'static str,
    /// In percent.
    pub(crate) confidence: u8,
}

pub(crate) const RULE: &str = "keystore_file";

const KEEPASS: [u8; 4] = [0x03, 0xd9, 0xa2, 0x9a];
const JAVA: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
const JAVA_EXTENDED: [u8; 4] = [0xce, 0xce, 0xce, 0xce];

const OID_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
const OID_SIGNED: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02";
const OID_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
const OID_EC: &[u8] = b"\x2a\x86\x48\xce\x3d\x02\x01";
const OID_ED25519: &[u8] = b"\x2b\x65\x70";
const OID_PBES2: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d";

/// The key store these bytes are, if they are one. `bytes` may be only the beginning.
pub(crate) fn of(name: &str, bytes: &[u8]) -> Option<Keystore> {
    let is = |what, confidence| Some(Keystore { what, confidence });
    match bytes {
        [0x30, ..] => der(bytes),
        [a, b, c, d, kind, 0xfb, 0x4b, 0xb5, ..]
            if [*a, *b, *c, *d] == KEEPASS && matches!(kind, 0x65..=0x67) =>
        {
            is("KeePass database", 95)
        }
        [a, b, c, d, rest @ ..] if [*a, *b, *c, *d] == JAVA || [*a, *b, *c, *d] == JAVA_EXTENDED => {
            java_has_private_key(rest)
                .then_some(Keystore { what: "Java key store with a private key", confidence: 95 })
        }
        [0x94 | 0x95 | 0xc5, ..] if has_ending(name, ".gpg") || has_ending(name, ".pgp") => {
            is("OpenPGP secret key ring", 85)
        }
        _ if bytes.starts_with(b"(11:private-key") || bytes.starts_with(b"(21:protected-private-key") => {
            is("GnuPG private key", 90)
        }
        _ => None,
    }
}

/// PKCS #12, PKCS #8, PKCS #1 and SEC 1, by the first fields of their sequence.
fn der(bytes: &[u8]) -> Option<Keystore> {
    let is = |what, confidence| Some(Keystore { what, confidence });
    let (whole, after) = element(bytes, 0x30)?;
    if !after.is_empty() {
        return None;
    }
    if let Some((version, rest)) = element(whole, 0x02) {
        return match (version, rest.first()?) {
            ([3], 0x30) if holds_oid(rest, &[OID_DATA, OID_SIGNED]) => is("PKCS #12 key store", 85),
            ([0 | 1], 0x30) if holds_oid(rest, &[OID_RSA, OID_EC, OID_ED25519]) => {
                is("private key, PKCS #8", 95)
            }
            // Modulus, exponent and what makes it private: a public key has only two numbers and no version.
            ([0 | 1], 0x02) if numbers(rest) >= 8 => is("private RSA key, PKCS #1", 95),
            ([1], 0x04) if element(rest, 0x04).is_some_and(|(key, _)| (24..=66).contains(&key.len())) => {
                is("private EC key, SEC 1", 95)
            }
            _ => None,
        };
    }
    if holds_oid(whole, &[OID_PBES2]) { is("encrypted private key, PKCS #8", 80) } else { None }
}

/// A sequence that begins with one of these object identifiers.
fn holds_oid(bytes: &[u8], known: &[&[u8]]) -> bool {
    let oid = element(bytes, 0x30).and_then(|(inner, _)| element(inner, 0x06));
    oid.is_some_and(|(oid, _)| known.contains(&oid))
}

/// How many integers stand in a row.
fn numbers(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((_, rest)) = element(bytes, 0x02) {
        count += 1;
        bytes = rest;
    }
    count
}

/// One element with this tag: its content and what stands after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, first, rest @ ..] = bytes else { return None };
    if *found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Walks the entries of a Java key store until one is a private or a secret key. Stores of certificates have none.
fn java_has_private_key(rest: &[u8]) -> bool {
    let mut reader = Fields(rest);
    let (Some(1 | 2), Some(count)) = (reader.number(), reader.number()) else { return false };
    for _ in 0..count {
        match reader.number() {
            Some(1 | 3) => return true,
            Some(2) => {}
            _ => return false,
        }
        // Name, time, type of certificate, certificate.
        if reader.text().and_then(|()| reader.skip(8)).and_then(|()| reader.text()).is_none() {
            return false;
        }
        let Some(length) = reader.number() else { return false };
        if reader.skip(length as usize).is_none() {
            return false;
        }
    }
    false
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn text(&mut self) -> Option<()> {
        let (length, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        self.skip(usize::from(u16::from_be_bytes(*length)))
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.split_at_checked(count)?.1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let body = parts.concat();
        let mut out = vec![tag, 0x82];
        out.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        out.extend(body);
        out
    }

    fn java(tag: u32) -> Vec<u8> {
        let mut out = JAVA.to_vec();
        for number in [2_u32, 2, 2] {
            out.extend(number.to_be_bytes());
        }
        out.extend(b"\0\x02ca12345678\0\x05X.509\0\0\0\x03abc");
        out.extend(tag.to_be_bytes());
        out
    }

    fn check(name: &str, bytes: &[u8], expected: Option<&str>) {
        assert_eq!(of(name, bytes).map(|k| k.what), expected, "{name}");
    }

    #[test]
    fn what_holds_private_keys_is_told_by_its_structure() {
        let oid = |oid: &[u8]| sequence(0x30, &[&sequence(0x06, &[oid]), &[0x05, 0]]);
        let number = |n: u8| vec![2, 1, n];
        check("a.p12", &sequence(0x30, &[&number(3), &oid(OID_DATA)]), Some("PKCS #12 key store"));
        check(
            "a.der",
            &sequence(0x30, &[&number(0), &oid(OID_RSA), b"\x04\x01x"]),
            Some("private key, PKCS #8"),
        );
        check(
            "a.der",
            &sequence(0x30, &[&number(0); 9].map(|n| n.as_slice())),
            Some("private RSA key, PKCS #1"),
        );
        check("a.der", &sequence(0x30, &[&number(1), &[4, 32], &[7; 32]]), Some("private EC key, SEC 1"));
        check(
            "a.der",
            &sequence(0x30, &[&oid(OID_PBES2), b"\x04\x01x"]),
            Some("encrypted private key, PKCS #8"),
        );
        check("a.jks", &java(1), Some("Java key store with a private key"));
        check("a.kdbx", b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5rest", Some("KeePass database"));
        check("secring.gpg", b"\x95\x03\x98\x04", Some("OpenPGP secret key ring"));
        check("x.key", b"(11:private-key(3:rsa", Some("GnuPG private key"));
    }

    #[test]
    fn certificates_public_keys_and_names_alone_are_no_finding() {
        let oid = |oid: &[u8]| sequence(0x30, &[&sequence(0x06, &[oid])]);
        check("cacerts.jks", &java(2), None);
        check("public.der", &sequence(0x30, &[&oid(OID_RSA), b"\x03\x01x"]), None);
        check("cert.der", &sequence(0x30, &[&sequence(0x30, &[b"\xa0\x03\x02\x01\x02"])]), None);
        check("a.p12", b"0123456789", None);
        check("a.key", b"just text", None);
        check("a.kdbx", b"", None);
        check("pubring.gpg", b"\x99\x03\x98\x04", None);
    }
}
