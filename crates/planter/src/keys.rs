//! Private keys in every armour, and the public things that look like them. They have the right head and length; what
//! follows is noise, so none opens anything.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::rng::Rng;

// The first bytes of each structure, which give its text the beginning everybody knows.
const RSA: &[u8] = &[0x30, 0x82, 0x04, 0xA4, 0x02, 0x01, 0x00, 0x02, 0x82, 0x01, 0x01, 0x00];
const PKCS8_RSA: &[u8] = &[
    0x30, 0x82, 0x04, 0xBE, 0x02, 0x01, 0x00, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D,
    0x01, 0x01, 0x01, 0x05, 0x00, 0x04, 0x82, 0x04, 0xA8, 0x30, 0x82, 0x04, 0xA4, 0x02, 0x01, 0x00, 0x02,
    0x82, 0x01, 0x01, 0x00,
];
const PKCS8_ED25519: &[u8] =
    &[0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const PKCS8_SEALED: &[u8] = &[
    0x30, 0x82, 0x05, 0x2D, 0x30, 0x57, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D,
    0x30, 0x4A, 0x30, 0x29, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0C, 0x30, 0x1C,
    0x04, 0x08,
];
const EC: &[u8] = &[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
const DSA: &[u8] = &[0x30, 0x82, 0x03, 0x56, 0x02, 0x01, 0x00, 0x02, 0x82, 0x01, 0x01, 0x00];
const CERTIFICATE: &[u8] =
    &[0x30, 0x82, 0x03, 0x5E, 0x30, 0x82, 0x02, 0x46, 0xA0, 0x03, 0x02, 0x01, 0x02, 0x02, 0x10];
const PUBLIC: &[u8] = &[
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
    0x05, 0x00, 0x03, 0x82, 0x01, 0x0F, 0x00, 0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0x01, 0x01, 0x00,
];
const OPENSSH: &[u8] = b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33\0\0\0\x0bssh-ed25519\0\0\0\x20";
const SSH_RSA: &[u8] = b"\0\0\0\x07ssh-rsa\0\0\0\x03\x01\0\x01\0\0\x01\x81\0";
const SSH_ED25519: &[u8] = b"\0\0\0\x0bssh-ed25519\0\0\0\x20";

pub(crate) fn draw(rng: &mut Rng, name: &str) -> Option<String> {
    Some(match name {
        "pem.rsa" => pem("RSA PRIVATE KEY", &body(rng, RSA, 1180, 64)),
        "pem.rsa.sealed" => pem("RSA PRIVATE KEY", &sealed(rng)),
        "pem.pkcs8" => pem("PRIVATE KEY", &body(rng, PKCS8_RSA, 1180, 64)),
        "pem.ed25519" => pem("PRIVATE KEY", &body(rng, PKCS8_ED25519, 32, 64)),
        "pem.pkcs8.sealed" => pem("ENCRYPTED PRIVATE KEY", &body(rng, PKCS8_SEALED, 1297, 64)),
        "pem.ec" => pem("EC PRIVATE KEY", &body(rng, EC, 114, 64)),
        "pem.dsa" => pem("DSA PRIVATE KEY", &body(rng, DSA, 846, 64)),
        "pem.openssh" => pem("OPENSSH PRIVATE KEY", &body(rng, OPENSSH, 200, 70)),
        "pem.pgp" => pem("PGP PRIVATE KEY BLOCK", &pgp(rng)),
        "pem.certificate" => pem("CERTIFICATE", &body(rng, CERTIFICATE, 850, 64)),
        "pem.public" => pem("PUBLIC KEY", &body(rng, PUBLIC, 261, 64)),
        "pem.pgp.public" => pem("PGP PUBLIC KEY BLOCK", &pgp(rng)),
        "ssh.rsa" => format!("ssh-rsa {}", flat(rng, SSH_RSA, 384)),
        "ssh.ed25519" => format!("ssh-ed25519 {}", flat(rng, SSH_ED25519, 32)),
        "putty.lines" => wrap(&flat(rng, &[], 672), 64),
        "openvpn.lines" => wrap(&rng.text("0123456789abcdef", 512), 32),
        _ => return None,
    })
}

fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----")
}

fn flat(rng: &mut Rng, head: &[u8], noise: usize) -> String {
    BASE64_STANDARD.encode([head, &rng.bytes(noise)].concat())
}

fn body(rng: &mut Rng, head: &[u8], noise: usize, width: usize) -> String {
    wrap(&flat(rng, head, noise), width)
}

fn wrap(text: &str, width: usize) -> String {
    let lines: Vec<String> =
        text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    lines.join("\n")
}

/// The old way to lock a key with a passphrase: two headers and a blank line before the text.
fn sealed(rng: &mut Rng) -> String {
    let salt = rng.text("0123456789ABCDEF", 32);
    format!("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{salt}\n\n{}", body(rng, &[], 1200, 64))
}

fn pgp(rng: &mut Rng) -> String {
    let check = rng.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 4);
    format!("\n{}\n={check}", body(rng, &[0x95, 0x03, 0x98, 0x04], 700, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn armour_begins_and_ends_as_everybody_knows_it() {
        let mut rng = Rng::new(1);
        for (name, begin) in [
            ("pem.rsa", "MIIEpAIBAAKCAQEA"),
            ("pem.pkcs8", "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQ"),
            ("pem.ec", "MHcCAQEEI"),
            ("pem.openssh", "b3BlbnNzaC1rZXktdjEAAAAA"),
            ("pem.certificate", "MIIDXjCCAkagAwIBAgIQ"),
            ("pem.public", "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"),
        ] {
            let text = draw(&mut rng, name).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert!(
                lines[0].starts_with("-----BEGIN ") && lines[lines.len() - 1].starts_with("-----END "),
                "{name}"
            );
            assert!(lines[1].starts_with(begin), "{name}: {}", lines[1]);
            assert!(lines.iter().all(|l| l.len() <= 70), "{name}");
        }
        assert!(draw(&mut rng, "ssh.rsa").unwrap().starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ"));
    }
}
