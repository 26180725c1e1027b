//! Hashes of passwords, as system files and databases keep them. They have the shape; nothing was hashed.

use crate::rng::Rng;
use crate::shapes;

const CRYPT: &str = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) fn draw(rng: &mut Rng, name: &str) -> Option<String> {
    let mut crypt = |n: usize| rng.text(CRYPT, n);
    Some(match name {
        "hash.bcrypt" => format!("$2b$12${}", crypt(53)),
        "hash.bcrypt2y" => format!("$2y$10${}", crypt(53)),
        "hash.apr1" => format!("$apr1${}${}", crypt(8), crypt(22)),
        "hash.sha512crypt" => format!("$6${}${}", crypt(16), crypt(86)),
        "hash.sha256crypt" => format!("$5$rounds=5000${}${}", crypt(16), crypt(43)),
        "hash.yescrypt" => format!("$y$j9T${}${}", crypt(22), crypt(43)),
        "hash.md5crypt" => format!("$1${}${}", crypt(8), crypt(22)),
        "hash.sha1" => format!("{{SHA}}{}", bytes(rng, "20")),
        "hash.ssha" => format!("{{SSHA}}{}", bytes(rng, "24")),
        "hash.scram" => {
            format!("SCRAM-SHA-256$4096:{}${}:{}", bytes(rng, "16"), bytes(rng, "32"), bytes(rng, "32"))
        }
        "hash.pbkdf2" => format!(
            "pbkdf2_sha256$600000${}${}",
            rng.text("abcdefghjkmnpqrstuvwxyzABCDEF0123456789", 22),
            bytes(rng, "32")
        ),
        "hash.argon2" => {
            format!("$argon2id$v=19$m=65536,t=3,p=4${}${}", bytes_open(rng, "16"), bytes_open(rng, "32"))
        }
        "hash.phpass" => format!("$P$B{}", crypt(30)),
        "hash.mysql" => format!("*{}", rng.text("0123456789ABCDEF", 40)),
        "hash.ntlm" => rng.text("0123456789abcdef", 32),
        _ => return None,
    })
}

fn bytes(rng: &mut Rng, n: &str) -> String {
    shapes::draw(rng, "bytes64", n).unwrap_or_default()
}

/// Argon2's text form leaves the padding away.
fn bytes_open(rng: &mut Rng, n: &str) -> String {
    bytes(rng, n).trim_end_matches('=').to_owned()
}
