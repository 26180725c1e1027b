//! What the name of a setting, variable or field says of its value.
//!
//! `DB_PASSWORD`, `dbPassword` and `db.password` say the same: the name is cut into words at separators and humps, and the
//! last words decide. `password_min_length` and `token_url` speak of secrets and hold none.

use crate::words::{Tails, Whole};

/// What a name promises of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    /// Something secret if it looks thoroughly random: `session`, `stripe_key`.
    Weak,
    /// A secret if it looks like a token: `token`, `auth`.
    Token,
    /// A secret unless it plainly is none: `client_secret`, `api_key`.
    Secret,
    /// A password, also one a person made up.
    Password,
}

/// Longer names are not looked at as a whole; the words at their end are.
const LONGEST: usize = 80;

/// The words of a name, in small letters.
struct Words {
    letters: [u8; LONGEST],
    /// Ends of the words in `letters`.
    ends: [u8; 16],
    count: usize,
}

impl Words {
    fn of(name: &[u8]) -> Words {
        let name = &name[name.len().saturating_sub(LONGEST)..];
        let mut words = Words { letters: [0; LONGEST], ends: [0; 16], count: 0 };
        let mut filled = 0;
        let mut begun = 0;
        for (i, byte) in name.iter().enumerate() {
            let hump = byte.is_ascii_uppercase()
                && i > 0
                && (name[i - 1].is_ascii_lowercase()
                    || name[i - 1].is_ascii_digit()
                    || (name[i - 1].is_ascii_uppercase()
                        && name.get(i + 1).is_some_and(u8::is_ascii_lowercase)
                        && !plural_of_capitals(name, i)));
            if (hump || !byte.is_ascii_alphanumeric()) && filled > begun {
                words.close(filled);
                begun = filled;
            }
            if byte.is_ascii_alphanumeric() {
                words.letters[filled] = byte.to_ascii_lowercase();
                filled += 1;
            }
        }
        if filled > begun {
            words.close(filled);
        }
        words
    }

    fn close(&mut self, end: usize) {
        if self.count == self.ends.len() {
            self.ends.rotate_left(1);
            self.count -= 1;
            // The first word now begins where it began; words before it are forgotten.
        }
        self.ends[self.count] = end as u8;
        self.count += 1;
    }

    fn get(&self, index: usize) -> &[u8] {
        let from = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.letters[from..self.ends[index] as usize]
    }

    /// The word `back` from the end; empty where there is none.
    fn nth_last(&self, back: usize) -> &[u8] {
        match self.count.checked_sub(back + 1) {
            Some(index) => self.get(index),
            None => b"",
        }
    }
}

/// `APIs`, `URLs`: the small s belongs to the capitals.
fn plural_of_capitals(name: &[u8], i: usize) -> bool {
    name.get(i + 1) == Some(&b's') && name.get(i + 2).is_none_or(|b| !b.is_ascii_lowercase())
}

/// Ends of words that make a name worth a look. The pass asks this of every word of every text, so the first question is
/// answered from two small tables; see [`Stems`].
#[rustfmt::skip]
const STEM_ENDS: &[&str] = &[
    "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "pass", "passwort", "kennwort",
    "contrasena", "wachtwoord", "motdepasse", "passe", "senha", "haslo", "heslo", "parola", "losenord",
    "salasana", "psk", "secret", "secrets", "token", "tokens", "key", "keys", "cred", "creds", "credential",
    "credentials", "auth", "authorization", "bearer", "salt", "cookie", "session", "sessionid", "bindpw",
    "rootpw", "userpw", "otp", "totp", "mnemonic", "passin", "storepass", "keypass", "requirepass",
    "identified", "pepper", "sid", "passw", "secretkey", "apikey", "pswd", "psw", "community", "authtok",
    "masterauth", "jwt", "pat", "basic", "sessid", "securestring", "connection", "connect", "pdo", "login",
    "sign", "mysqli", "hmac",
];
const STEM_STARTS: &[&str] = &["password", "passwd", "secret", "token", "apikey", "passphrase"];

/// Two tables by three letters: the stems a word may begin with, and those it may end with. Nearly every word is turned
/// away by one look into each.
#[derive(Debug)]
pub(crate) struct Stems {
    first: Box<[u64; 512]>,
    last: Box<[u64; 512]>,
    /// For each three letters a stem ends with, where in `groups` the stems are; 0 for none.
    by_last: Box<[u8]>,
    groups: Vec<Vec<&'static str>>,
}

impl Stems {
    pub(crate) fn new() -> Stems {
        let mut stems = Stems {
            first: Box::new([0; 512]),
            last: Box::new([0; 512]),
            by_last: vec![0; 1 << 15].into_boxed_slice(),
            groups: vec![Vec::new()],
        };
        for stem in STEM_STARTS {
            let slot = slot([stem.as_bytes()[0], stem.as_bytes()[1], stem.as_bytes()[2]]);
            stems.first[slot >> 6] |= 1 << (slot & 63);
        }
        for stem in STEM_ENDS {
            let bytes = stem.as_bytes();
            let slot = slot([bytes[bytes.len() - 3], bytes[bytes.len() - 2], bytes[bytes.len() - 1]]);
            stems.last[slot >> 6] |= 1 << (slot & 63);
            if stems.by_last[slot] == 0 {
                stems.by_last[slot] = stems.groups.len() as u8;
                stems.groups.push(Vec::new());
            }
            stems.groups[stems.by_last[slot] as usize].push(stem);
        }
        stems
    }

    /// Whether a word of three letters or more may be part of a name that promises a secret.
    #[inline]
    pub(crate) fn may_promise(&self, word: &[u8]) -> bool {
        let n = word.len();
        let last = slot([word[n - 3], word[n - 2], word[n - 1]]);
        let first = slot([word[0], word[1], word[2]]);
        let ends = self.last[last >> 6] >> (last & 63) & 1 == 1;
        let starts = self.first[first >> 6] >> (first & 63) & 1 == 1;
        (ends && self.ends_so(word, last)) || (starts && starts_so(word))
    }

    #[inline(never)]
    fn ends_so(&self, word: &[u8], last: usize) -> bool {
        let ends = |stem: &&str| {
            word.len() >= stem.len() && word[word.len() - stem.len()..].eq_ignore_ascii_case(stem.as_bytes())
        };
        self.groups[self.by_last[last] as usize].iter().any(ends)
    }
}

#[inline(never)]
fn starts_so(word: &[u8]) -> bool {
    STEM_STARTS
        .iter()
        .any(|stem| word.len() >= stem.len() && word[..stem.len()].eq_ignore_ascii_case(stem.as_bytes()))
}

/// Five bits a letter; case does not matter, and what is no letter shares a slot with one, which costs a second look.
#[inline]
fn slot(bytes: [u8; 3]) -> usize {
    usize::from(bytes[0] & 31) << 10 | usize::from(bytes[1] & 31) << 5 | usize::from(bytes[2] & 31)
}

#[rustfmt::skip]
static PASSWORD_WORDS: Whole = Whole::of(&[
    "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contrasena",
    "wachtwoord", "senha", "haslo", "heslo", "psk", "bindpw", "rootpw", "userpw", "securestring", "storepass",
    "keypass", "requirepass", "masterauth", "pw", "pswd", "passw", "psw", "authtok", "rocommunity",
    "rwcommunity", "passe", "motdepasse", "losenord", "salasana",
]);
static PASSWORD_ENDS: Tails =
    Tails::of(&["password", "passwd", "passphrase", "pwd", "passwort", "kennwort", "passcode"]);

/// What a word after the promising one may be without breaking the promise.
#[rustfmt::skip]
static NEUTRAL: Whole = Whole::of(&[
    "base", "prod", "production", "staging", "stage", "dev", "development", "test", "testing", "live", "old",
    "new", "backup", "primary", "secondary", "default", "main", "value", "plain", "plaintext", "cleartext",
    "raw", "b64", "base64", "string", "str", "current", "prev", "previous", "local", "global", "internal",
    "admin", "root", "user", "master", "us", "eu", "a", "b", "var", "env", "clear", "encoded", "1", "2", "3",
    "4", "5", "v1", "v2", "data", "content", "here", "db", "be", "is", "for", "of", "the", "ci",
]);

/// Words that say that what follows the name is about a secret, not one.
#[rustfmt::skip]
static ABOUT: Whole = Whole::of(&[
    "file", "path", "name", "names", "id", "ids", "url", "uri", "urls", "endpoint", "length", "len", "min",
    "max", "policy", "type", "types", "field", "fields", "label", "hint", "prompt", "expiry", "expires",
    "expiration", "expire", "ttl", "timeout", "count", "size", "enabled", "enable", "required", "header",
    "headers", "param", "params", "parameter", "regex", "pattern", "format", "version", "ref", "reference",
    "dir", "directory", "reset", "algorithm", "alg", "placeholder", "input", "class", "error", "errors",
    "message", "msg", "store", "manager", "provider", "service", "arn", "bucket", "list", "index", "usage",
    "limit", "limits", "cost", "bits", "map", "scope", "scopes", "method", "mode", "status", "state",
    "rotation", "rules", "strength", "age", "history", "title", "text", "description", "help", "button",
    "link", "page", "form", "view", "controller", "model", "table", "column", "handler", "callback",
    "function", "func", "fn", "validator", "validation", "check", "checker", "generator", "factory", "builder",
    "helper", "util", "utils", "test", "tests", "spec", "hash", "hashes", "hasher", "digest", "fingerprint",
    "prefix", "suffix", "separator", "delimiter", "kind", "source", "issuer", "audience", "username", "user",
    "email", "date", "time", "at", "by", "no", "not", "budget", "per", "window", "request", "response",
    "exists", "missing", "invalid", "valid", "changed", "confirm", "confirmation", "strategy", "engine",
    "role", "group", "port", "host", "domain", "selector", "ring", "chain", "board", "word", "words", "code",
    "frame", "frames", "space", "note", "notes", "rotate", "lifetime", "duration", "interval",
]);

/// Words before `key` that make it a key of another trade.
#[rustfmt::skip]
static OTHER_KEYS: Whole = Whole::of(&[
    "foreign", "public", "product", "sort", "partition", "cache", "hash", "map", "dict", "index", "row",
    "unique", "composite", "idempotency", "routing", "lookup", "group", "registry", "object", "s3", "bucket",
    "i18n", "translation", "message", "locale", "context", "config", "state", "query", "react", "item",
    "column", "field", "property", "attribute", "json", "header", "env", "hot", "short", "arrow", "enter",
    "escape", "tab", "shift", "ctrl", "alt", "meta", "any", "home", "end", "delete", "page", "press", "up",
    "down", "left", "right", "metadata", "label", "annotation", "section", "option", "setting", "parent",
    "child", "node", "tree", "table", "range", "start", "first", "last", "next", "prev", "verify",
    "verification", "verifying", "host", "known", "authorized", "site", "data", "sitekey", "pub", "get", "set",
    "has", "by", "the", "this", "same", "other", "each", "every", "type", "value", "order", "name", "id",
    "max", "min", "dedup", "dedupe", "dedupe", "lock", "mutex", "topic", "event", "metric", "stats", "counter",
    "trace", "log", "logger", "prop", "virtual", "function", "modifier", "keyboard", "namespace", "path",
    "param", "resource", "feature", "flag", "normalized", "lower", "upper", "string", "str", "int", "natural",
    "surrogate", "join", "merge", "composer", "openid", "peer", "remote", "ephemeral", "curve", "point",
    "recipient", "receiver", "no", "not", "new", "old", "raw", "good", "bad", "test", "nested", "sub", "super",
    "top",
]);

/// Words before `key` that make it a secret.
#[rustfmt::skip]
static SECRET_KEYS: Whole = Whole::of(&[
    "api", "secret", "private", "access", "auth", "encryption", "encrypt", "signing", "sign", "master",
    "account", "shared", "license", "licence", "service", "app", "application", "client", "consumer", "admin",
    "deploy", "deployment", "crypto", "aes", "hmac", "jwt", "session", "cookie", "webhook", "write", "server",
    "subscription", "security", "decryption", "decrypt", "recovery", "wrap", "wrapping", "ssh", "gpg", "pgp",
    "rsa", "tls", "ssl", "preshared", "pre", "symmetric", "integration", "authentication", "authorization",
    "token", "password", "root", "mac", "publishing", "push", "sas", "tsig", "rndc", "wpa", "wep", "wifi",
    "vault", "unseal", "bot",
]);

/// Words before `token` that make it a token of another trade.
#[rustfmt::skip]
static OTHER_TOKENS: Whole = Whole::of(&[
    "next", "page", "continuation", "sync", "cancel", "cancellation", "max", "min", "num", "n", "total", "eos",
    "bos", "pad", "unk", "mask", "cls", "sep", "prompt", "completion", "stop", "special", "input", "output",
    "first", "last", "current", "start", "end", "prev", "peek", "get", "parse", "lex", "used", "left",
    "remaining", "per", "count", "word", "text", "string", "ident", "punct", "literal", "the", "a", "this",
    "each", "every", "keyword", "whitespace", "comment", "resume", "pagination", "paging", "cursor", "design",
    "css", "syntax", "operator", "number", "unexpected", "expected", "invalid", "unknown",
]);

/// Words that make a key one that is meant to be seen, or a value that was made unreadable.
static HARMLESS: Whole =
    Whole::of(&["public", "pub", "publishable", "anon", "hashed", "encrypted", "sealed", "masked"]);

/// Words before `password` that speak of what is done with one.
#[rustfmt::skip]
static DEEDS: Whole = Whole::of(&[
    "no", "forgot", "forgotten", "reset", "change", "confirm", "verify", "validate", "hash", "check", "show",
    "has", "is", "get", "invalid", "wrong", "require",
]);

/// Words that end in `pass` and are none.
static OTHER_PASSES: Tails =
    Tails::of(&["compass", "bypass", "trespass", "surpass", "buypass", "overpass", "underpass"]);

/// Words before `pass` that make it a stage or a verb.
#[rustfmt::skip]
static STAGES: Whole = Whole::of(&[
    "first", "second", "one", "two", "multi", "render", "by", "to", "single", "last", "low", "high", "band",
    "tests", "test",
]);

#[rustfmt::skip]
static SECRET_ENDS: Tails = Tails::of(&[
    "secret", "secretkey", "apikey", "accesskey", "privatekey", "authkey", "masterkey", "accountkey",
    "signingkey", "encryptionkey", "licensekey", "secretaccesskey", "sharedkey", "presharedkey",
    "sharedaccesskey",
]);

static TOKEN_WORDS: Whole =
    Whole::of(&["credential", "credentials", "cred", "creds", "auth", "authorization", "bearer"]);

#[rustfmt::skip]
static WEAK_WORDS: Whole = Whole::of(&[
    "salt", "pepper", "mnemonic", "totp", "hmac", "jwt", "cookie", "session", "sessionid", "sid", "community",
    "otp",
]);

/// What the name promises, or nothing.
pub(crate) fn promise(name: &[u8]) -> Option<Promise> {
    let words = Words::of(name);
    // A public key, and the token made of one, is nobody's secret.
    if (0..words.count.min(4)).any(|back| HARMLESS.has(words.nth_last(back))) {
        return None;
    }
    let mut skipped = 0;
    let mut unknown = false;
    while skipped < words.count {
        let word = without_number(words.nth_last(skipped));
        let before = words.nth_last(skipped + 1);
        if let Some(found) = promise_of(word, before, skipped) {
            return match (unknown, found) {
                (false, found) => Some(found),
                // `token_for_ci`: the words after it may mean anything; only something random is believed.
                (true, _) => Some(Promise::Weak),
            };
        }
        if word.is_empty() || NEUTRAL.has(word) {
            skipped += 1;
            continue;
        }
        if ABOUT.has(word) || unknown || skipped >= 3 {
            return None;
        }
        unknown = true;
        skipped += 1;
    }
    None
}

fn without_number(word: &[u8]) -> &[u8] {
    let digits = word.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    if digits < word.len() { &word[..word.len() - digits] } else { word }
}

/// What one word of a name promises, with the word before it.
fn promise_of(word: &[u8], before: &[u8], skipped: usize) -> Option<Promise> {
    if PASSWORD_WORDS.has(word) || PASSWORD_ENDS.end(word) {
        return (!DEEDS.has(before)).then_some(Promise::Password);
    }
    match word {
        // By itself it is a verb and a stage of a compiler.
        b"pass" | b"passin" => return (!STAGES.has(before)).then_some(Promise::Password),
        b"key" | b"keys" => {
            return match before {
                b"" => None,
                _ if SECRET_KEYS.has(before) => Some(Promise::Secret),
                _ if OTHER_KEYS.has(before) => None,
                _ => Some(Promise::Weak),
            };
        }
        _ => {}
    }
    if word.ends_with(b"pass") && !OTHER_PASSES.end(word) {
        return Some(Promise::Password);
    }
    if word == b"secrets" || SECRET_ENDS.end(word) {
        return Some(Promise::Secret);
    }
    if word.ends_with(b"token") || word == b"tokens" {
        return (!OTHER_TOKENS.has(before)).then_some(Promise::Token);
    }
    if TOKEN_WORDS.has(word) {
        return Some(Promise::Token);
    }
    if WEAK_WORDS.has(word) || word.ends_with(b"sessid") {
        return (skipped == 0).then_some(Promise::Weak);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_what_people_mean_by_them() {
        let table = [
            ("password", Some(Promise::Password)),
            ("DB_PASSWORD", Some(Promise::Password)),
            ("dbPassword", Some(Promise::Password)),
            ("spring.datasource.password", Some(Promise::Password)),
            ("MYSQL_ROOT_PASSWORD", Some(Promise::Password)),
            ("dbpasswd", Some(Promise::Password)),
            ("password2", Some(Promise::Password)),
            ("PASSWORD_PROD", Some(Promise::Password)),
            ("smtp_pass", Some(Promise::Password)),
            ("SECRET_KEY_BASE", Some(Promise::Secret)),
            ("secretKeyBase", Some(Promise::Secret)),
            ("clientSecret", Some(Promise::Secret)),
            ("aws_secret_access_key", Some(Promise::Secret)),
            ("apiKey", Some(Promise::Secret)),
            ("APIKEY", Some(Promise::Secret)),
            ("x-api-key", Some(Promise::Secret)),
            ("AccountKey", Some(Promise::Secret)),
            ("STRIPE_KEY", Some(Promise::Weak)),
            ("accessToken", Some(Promise::Token)),
            ("_authToken", Some(Promise::Token)),
            ("GITHUB_TOKEN", Some(Promise::Token)),
            ("token_for_deploys", Some(Promise::Weak)),
            ("password_min_length", None),
            ("password_file", None),
            ("passwordField", None),
            ("token_url", None),
            ("next_page_token", None),
            ("max_tokens", None),
            ("foreign_key", None),
            ("cacheKey", None),
            ("key", None),
            ("public_key", None),
            ("publicKeyToken", None),
            ("secretName", None),
            ("keyboard", None),
            ("compass", None),
            ("monkey", None),
            ("author", None),
        ];
        for (name, expected) in table {
            assert_eq!(promise(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn every_promising_name_has_a_word_that_is_looked_at() {
        let stems = Stems::new();
        for name in [
            "password",
            "DbPassword",
            "passphrase",
            "API_KEY",
            "clientSecret",
            "psk",
            "authorization",
            "Bearer",
            "dbpwd",
            "tokens",
        ] {
            let seen = name
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|w| w.len() >= 3)
                .any(|w| stems.may_promise(w.as_bytes()));
            assert!(seen, "{name}");
        }
        for word in ["ordinary", "swimming", "the", "asset", "basket"] {
            assert!(!stems.may_promise(word.as_bytes()), "{word}");
        }
    }
}
