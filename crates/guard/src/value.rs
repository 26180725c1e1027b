//! Whether a value that stands under a promising name is a secret, or something that only stands where one would.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::judge::{self, Look};
use crate::keyname::Promise;
use crate::scene::FileKind;
use crate::words::{Heads, Tails, Whole};

/// How the value stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dress {
    /// Between quotation marks.
    Quoted,
    /// Bare, up to the end of its line or element.
    Bare,
    /// In a sentence: `the password is …`.
    Spoken,
}

/// What was judged of a value: how sure, and why; or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Secret { confidence: u8, reason: &'static str },
    Kept { reason: &'static str },
}

/// Longer than programs and forms name anything.
const LONGEST_NAME: usize = 96;

const fn kept(reason: &'static str) -> Judgement {
    Judgement::Kept { reason }
}

const fn secret(confidence: u8, reason: &'static str) -> Judgement {
    Judgement::Secret { confidence, reason }
}

/// Judges a value by what its name promises, how it is dressed and what kind of file it stands in.
pub(crate) fn judge(
    value: &[u8],
    name: &[u8],
    promise: Promise,
    dress: Dress,
    file: FileKind,
    strict: bool,
) -> Judgement {
    if value.len() < 4 || value.len() > 4096 {
        return kept("too short or too long for a secret");
    }
    if value.iter().any(|b| *b < 0x20 || *b == 0x7f) {
        return kept("it has control characters in it");
    }
    if is_reference(value) {
        return kept("it points at a secret instead of being one");
    }
    if value.contains(&b'-') && holds(value, b"-----BEGIN") {
        return kept("a key in armour is judged by what it holds");
    }
    if promise != Promise::Password && !value.is_ascii() {
        return kept("no token is written with such letters");
    }
    let look = Look::at(value);
    if look.is_digits() && (value.len() < 6 || promise != Promise::Password) {
        return kept("it is a number");
    }
    if has_gaps(value) {
        return spaced(value, name, promise, dress, &look);
    }
    if dress != Dress::Quoted && is_expression(value, file, &look) {
        return kept("it is an expression of a program");
    }
    if is_stand_in(value, name, &look, strict) || wraps_stand_in(value, strict) {
        return kept("it stands in for a secret");
    }
    if value.starts_with(b"pk.") || value.starts_with(b"pk_") {
        return kept("it is the half of a key that is meant to be seen");
    }
    if dress == Dress::Spoken && (is_address(value) || is_measure(value)) {
        return kept("it is an address or a measure");
    }
    if is_constant(value) || has_byte_escapes(value) {
        return kept("it is a name or bytes of a program");
    }
    if is_pattern(value) {
        return kept("it is a pattern that describes secrets");
    }
    if is_key_id(value, name, &look) {
        return kept("it names a key instead of being one");
    }
    let random = look.is_random(4.5);
    match promise {
        Promise::Password => password(value, dress, file, &look, random),
        Promise::Secret => named_secret(value, dress, file, &look, random),
        Promise::Token => token(value, &look, random, dress),
        Promise::Weak => weak(value, &look, random),
    }
}

/// Sentences are no secrets; sixty-four signs with a blank among them may be (salts are made so).
fn spaced(value: &[u8], name: &[u8], promise: Promise, dress: Dress, look: &Look) -> Judgement {
    let blanks = value.iter().filter(|b| **b == b' ').count();
    let dense = value.len() >= 32
        && blanks * 10 <= value.len()
        && look.others * 4 >= value.len()
        && look.likeness() <= -8;
    if dense && promise >= Promise::Weak && dress == Dress::Quoted {
        return secret(80, "a long value of mixed signs under a name that promises a secret");
    }
    // Names under which people really put words with blanks between them.
    static PHRASES: Tails = Tails::of(&["psk", "passphrase", "storepassword", "keypassword"]);
    let phrase = PHRASES.end_in_any_case(name);
    let joined: Vec<u8> = value.iter().map(|b| if *b == b' ' { b'-' } else { *b }).collect();
    if phrase && dress == Dress::Quoted && is_passphrase(&joined) {
        return secret(55, "words under a name that asks for a passphrase");
    }
    kept("it is a phrase")
}

/// In programs, words with full stops between them are mostly names of messages and properties.
fn sign_is_dot_in_program(value: &[u8], file: FileKind) -> bool {
    file == FileKind::Text && value.contains(&b'.')
}

/// `CLIENT_TRAFFIC_SECRET_0`: the name of a constant.
fn is_constant(value: &[u8]) -> bool {
    if value.len() > LONGEST_NAME {
        return false;
    }
    let words =
        value.split(|b| *b == b'_').filter(|w| w.len() > 1 && w.iter().all(u8::is_ascii_uppercase)).count();
    words >= 2
        && value.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
        && Look::at(value).likeness() > -8
}

/// Bytes as programs write them, two or more.
fn has_byte_escapes(value: &[u8]) -> bool {
    value.contains(&b'\\') && value.windows(2).filter(|w| w == b"\\x").count() >= 2
}

/// Base64 of something that only shows where a secret goes.
fn wraps_stand_in(value: &[u8], strict: bool) -> bool {
    let Some(plain) = crate::decode::base64_text(value).filter(|_| value.len() >= 8) else { return false };
    let plain = plain.trim_ascii();
    let last = plain.rsplit(|b| *b == b':').next().unwrap_or_default();
    !last.is_empty() && (is_reference(last) || is_stand_in(last, b"", &Look::at(last), strict))
}

/// `32-bytes`, `256bit`: what sentences about passwords are full of.
fn is_measure(value: &[u8]) -> bool {
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let unit = value[digits..].strip_prefix(b"-").unwrap_or(&value[digits..]);
    digits > 0 && unit.iter().all(u8::is_ascii_lowercase)
}

/// A mail address, a web address or a host: sentences about passwords name them.
fn is_address(value: &[u8]) -> bool {
    let dotted = value.contains(&b'.') && !value.ends_with(b".");
    (value.contains(&b'@') && (dotted || value.contains(&b':')))
        || holds(value, b"://")
        || (dotted
            && value
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b':')))
}

/// Signs that only stand in regular expressions.
fn is_pattern(value: &[u8]) -> bool {
    // Two are asked for, and of two at least one has one of these in it; base64 has none.
    if !value.iter().any(|b| matches!(b, b'[' | b']' | b'(' | b')' | b'\\' | b'*' | b'}')) {
        return false;
    }
    let signs = [
        &b"(?"[..],
        b"[^",
        b"\\s",
        b"\\d",
        b"\\w",
        b"\\b",
        b".*",
        b".+",
        b"[a-z",
        b"[A-Z",
        b"[0-9",
        b"0-9]",
        b",}",
        b")$",
        b"]{",
        b"]+",
        b"]*",
    ];
    signs.iter().filter(|sign| holds(value, sign)).count() >= 2
}

/// `signingkey = 2C18284B0130D3CF`: the id or fingerprint of an OpenPGP key.
fn is_key_id(value: &[u8], name: &[u8], look: &Look) -> bool {
    static KEYS: Tails =
        Tails::of(&["signingkey", "signing_key", "signing-key", "gpg_key", "gpgkey", "keyid", "default-key"]);
    matches!(value.len(), 8 | 16 | 32 | 40) && look.is_hex() && KEYS.end_in_any_case(name)
}

/// Words that forms and fields are named with.
#[rustfmt::skip]
static SPEAKS_OF: Whole = Whole::of(&[
    "password", "passwd", "pass", "secret", "token", "key", "user", "name", "login", "form", "field",
    "label", "error", "message", "title", "text", "auth", "account", "admin", "config", "settings",
    "reset", "change", "new", "old", "current", "confirm", "your", "the", "for", "and", "with", "page",
    "button", "hint", "help", "data", "value", "type", "string", "default", "test", "example", "api",
    "app", "web", "com", "org", "net", "io", "java", "javax", "spring", "security", "service", "client",
    "server", "system", "core", "common", "util", "utils", "base", "input", "output", "file", "path",
    "env", "prod", "dev", "staging", "vault", "credentials", "credential", "required", "invalid",
    "validation", "not", "set", "get", "is", "are", "must", "min", "max", "length", "policy", "please",
    "enter", "forgot", "sign", "register", "profile", "email", "database", "db", "host", "access", "oauth",
    "jwt", "ssl", "tls", "public", "private", "local", "self", "this", "props", "state", "params",
    "request", "response", "body", "query", "model", "views", "controller", "i18n", "locale", "messages",
    "errors", "hash", "encoder", "provider", "manager", "mysql", "postgres", "redis", "kafka",
]);

/// Three words or more with one sign between them, none of which speaks of forms and fields: a passphrase as people make
/// them, not the name of a message.
fn is_passphrase(value: &[u8]) -> bool {
    let sign = match value.iter().find(|b| !b.is_ascii_alphabetic()) {
        Some(b'.') => b'.',
        Some(b'-') => b'-',
        Some(b'_') => b'_',
        _ => return false,
    };
    let words: Vec<&[u8]> = value.split(|b| *b == sign).collect();
    let plain = |(i, w): (usize, &&[u8])| {
        let letters = w.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        if letters < 3 {
            return false;
        }
        let tail_is_number = i + 1 == words.len() && w[letters..].iter().all(u8::is_ascii_digit);
        let cased = w[1..letters].iter().all(u8::is_ascii_lowercase);
        letters <= 13
            && cased
            && (letters == w.len() || tail_is_number)
            && !SPEAKS_OF.has_in_any_case(&w[..letters])
    };
    (3..=8).contains(&words.len()) && value.len() >= 14 && words.iter().enumerate().all(plain)
}

fn password(value: &[u8], dress: Dress, file: FileKind, look: &Look, random: bool) -> Judgement {
    let reason = "the value of a name that says password";
    if judge::is_uuid(value) {
        return secret(60, reason);
    }
    if random && value.len() >= 8 {
        return secret(92, reason);
    }
    let letters = look.lowers + look.uppers;
    let classes = look.classes();
    if is_passphrase(value) && dress != Dress::Spoken {
        return secret(if sign_is_dot_in_program(value, file) { 40 } else { 56 }, reason);
    }
    if is_plain_name(value) && dress != Dress::Bare {
        // "password": "new_password" names a field.
        return kept("it is a name made of plain words");
    }
    if classes >= 3 && value.len() >= 6 {
        return secret(85, reason);
    }
    if look.digits > 0 && letters > 0 && value.len() >= 6 {
        return secret(75, reason);
    }
    if look.others > 0 && letters > 0 && value.len() >= 8 && !is_plain_name(value) {
        return secret(62, reason);
    }
    if look.is_digits() && value.len() >= 6 && dress != Dress::Spoken {
        return secret(52, reason);
    }
    // Plain words: somebody's weak password in a settings file, a label anywhere else.
    let one_word = value.iter().all(|b| b.is_ascii_alphabetic() || *b >= 0x80);
    if dress == Dress::Bare
        && matches!(file, FileKind::Settings | FileKind::Shell | FileKind::Sql)
        && value.len() >= 6
        && one_word
    {
        return secret(55, reason);
    }
    if look.lowers > 0 && look.uppers > 0 && value.len() >= 8 && look.likeness() < 0 {
        return secret(58, reason);
    }
    kept("it is a plain word")
}

fn named_secret(value: &[u8], dress: Dress, file: FileKind, look: &Look, random: bool) -> Judgement {
    let reason = "the value of a name that promises a secret";
    if judge::is_uuid(value) {
        return secret(72, reason);
    }
    if random && value.len() >= 10 {
        return secret(90, reason);
    }
    if is_passphrase(value) && dress != Dress::Spoken && !sign_is_dot_in_program(value, file) {
        return secret(54, reason);
    }
    if is_plain_name(value) {
        return kept("it is a name made of plain words");
    }
    let mixed = look.digits > 0 && look.lowers + look.uppers > 0;
    if mixed && value.len() >= 16 && look.likeness() < 4 {
        return secret(75, reason);
    }
    if mixed && look.classes() >= 3 && value.len() >= 8 {
        return secret(66, reason);
    }
    if mixed && value.len() >= 8 && dress == Dress::Bare && file == FileKind::Settings {
        return secret(58, reason);
    }
    if look.classes() >= 3 && value.len() >= 12 && look.others > 0 && !is_path_like(value) {
        return secret(56, reason);
    }
    kept("it does not look like a secret")
}

fn token(value: &[u8], look: &Look, random: bool, dress: Dress) -> Judgement {
    let reason = "the value of a name that says token";
    if judge::is_uuid(value) {
        return secret(60, reason);
    }
    if random && value.len() >= 16 {
        return secret(88, reason);
    }
    if is_plain_name(value) || is_path_like(value) {
        return kept("it is a name or a path");
    }
    let mixed = look.digits > 0 && look.lowers + look.uppers > 0;
    if mixed && value.len() >= 16 && look.likeness() < 2 {
        return secret(68, reason);
    }
    if mixed && value.len() >= 10 && dress == Dress::Bare && look.likeness() < -6 {
        return secret(55, reason);
    }
    kept("it does not look like a token")
}

fn weak(value: &[u8], look: &Look, random: bool) -> Judgement {
    if random && value.len() >= 20 && look.digits > 0 && !is_path_like(value) {
        return secret(70, "a random value under a name that may promise a secret");
    }
    kept("the name promises little, and the value is not thoroughly random")
}

fn has_gaps(value: &[u8]) -> bool {
    value.iter().any(|b| *b == b' ' || *b == b'\t')
}

/// How what points at a secret begins.
#[rustfmt::skip]
static REFERENCES: Heads = Heads::of(&[
    "${", "$(", "$[", "{{", "{%", "<%", "<<", "%(", "%{", "#{", "@{", "!ref", "!vault", "!sub", "!secret",
    "!env", "vault:", "@env:", "vault://", "op://", "ref+", "enc[", "enc(", "env:", "env.", "file:", "file://",
    "arn:", "ssm:", "aws-ssm", "secretsmanager", "{cipher}", "sops:", "azurekv", "keyvault", "gsm://",
    "sm://", "awssm://", "doppler://", "bws://", "secret://", "keychain:", "@microsoft.keyvault",
    "process.env", "os.environ", "var.", "local.", "data.", "module.", "secrets.", "http://", "https://",
    "/run/secrets", "/etc/", "/var/", "/home/", "/usr/", "/opt/", "~/", "./", "../", "c:\\", "%env(",
    "$env:", "{env.", "{$", "${{", "aqicah", "$ansible_vault",
]);

/// What resolves to a secret elsewhere: variables, templates, vault paths, encrypted forms.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    if REFERENCES.begin(value) {
        return true;
    }
    match (value.first(), value.last()) {
        (Some(b'<'), Some(b'>'))
        | (Some(b'['), Some(b']'))
        | (Some(b'{'), Some(b'}'))
        | (Some(b'('), Some(b')')) => true,
        // `{SASL}user@REALM`, `{CRYPT}!`: where the password is, or that there is none.
        (Some(b'{'), _) if value.starts_with(b"{SASL}") || value.starts_with(b"{CRYPT}") => value.len() < 20,
        (Some(b'%'), Some(b'%')) => value.len() > 2,
        (Some(b'@'), Some(b'@')) => true,
        (Some(b'_'), Some(b'_')) if value.starts_with(b"__") && value.ends_with(b"__") => true,
        _ if !value.is_ascii() && (holds(value, "«".as_bytes()) || holds(value, "…".as_bytes())) => true,
        // `$DB_PASSWORD`, `$1`; but not `$ecret!` nor `$2b$…`.
        (Some(b'$'), _) => {
            value[1..].iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
                || is_variable(&value[1..])
        }
        (Some(b'&' | b'*'), _) if value.len() > 1 => {
            value[1..].iter().all(|b| b.is_ascii_lowercase() || *b == b'_' || *b == b'.')
        }
        _ => value.windows(2).any(|pair| matches!(pair, b"${" | b"{{" | b"$(")),
    }
}

/// Whether a sequence stands in a value. Values are short: a search that is made ready first costs more than it saves.
fn holds(value: &[u8], sequence: &[u8]) -> bool {
    value.windows(sequence.len()).any(|window| window == sequence)
}

fn is_variable(name: &[u8]) -> bool {
    name.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'_')
        && name.iter().all(|b| b.is_ascii_lowercase() || *b == b'_')
        && name.contains(&b'_')
}

/// A bare value that a program would compute: a call, an index, a field, a name. Values in settings are taken as they are.
fn is_expression(value: &[u8], file: FileKind, look: &Look) -> bool {
    if matches!(file, FileKind::Settings) {
        let call = value.ends_with(b")")
            && value.contains(&b'(')
            && value[0].is_ascii_alphabetic()
            && look.digits == 0;
        return call;
    }
    let first_is_name = value[0].is_ascii_alphabetic() || value[0] == b'_';
    if !first_is_name {
        return false;
    }
    let name = value.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    match value.get(name) {
        Some(b'(' | b'[' | b'{' | b'<') => true,
        Some(b'.') => {
            look.digits == 0
                && value[name + 1..].iter().all(|b| {
                    b.is_ascii_alphanumeric()
                        || matches!(b, b'_' | b'.' | b'(' | b')' | b'[' | b']' | b'?' | b'!')
                })
                && !is_passphrase(value)
        }
        Some(b':') if value[name..].starts_with(b"::") => true,
        Some(b'-') if value[name..].starts_with(b"->") => true,
        Some(b'?' | b'!') if value[name..].starts_with(b"?.") || value[name..].starts_with(b"!.") => true,
        None => {
            matches!(file, FileKind::Source | FileKind::Json) || (look.digits == 0 && !look.is_random(4.5))
        }
        _ => false,
    }
}

/// Words in values that say: put yours here.
#[rustfmt::skip]
const STAND_IN_WORDS: &[&str] = &[
    "example", "sample", "placeholder", "changeme", "change_me", "change-me", "change_this", "changethis",
    "change-this", "replace", "your_", "your-", "yourp", "youra", "yours", "yourt", "yourk", "insert_",
    "insert-", "<your", "enter_", "todo", "fixme", "dummy", "fake", "xxxx", "****", "....", "undefined",
    "foobar", "lorem", "ipsum", "put_", "notasecret", "not-a-secret", "not_a_secret", "not-used", "unused",
    "deadbeef", "fill_", "fill-in", "fill_in", "my_secret", "my-secret", "mysecret", "my_password",
    "my-password", "mypassword", "mypass", "some_", "some-secret", "somesecret", "some-token", "testtest",
    "test_secret", "test-secret", "test_token", "test-token", "test_key", "test-key", "test_pass", "test-pass",
    "testpass", "supersecret", "super-secret", "super_secret", "topsecret", "top-secret", "secret_key",
    "secret-key", "secretkey", "api_key", "api-key", "apikey", "access_token", "access-token", "keyhere",
    "key_here", "key-here", "tokenhere", "token_here", "token-here", "_here", "-here", "password_here",
    "passwordhere", "goes-here", "goes_here", "dontuse", "do-not-use", "set-me", "set_me", "setme", "tbd",
    "n/a", "1234567890", "see-vault", "see_vault", "in-vault", "from-vault", "set-in-", "to-be-", "use-env",
    "from-env", "ask-", "askme",
];

/// Whole values that are no secret.
#[rustfmt::skip]
static STAND_INS: Whole = Whole::of(&[
    "password", "passwd", "passwort", "passphrase", "pass", "pwd", "secret", "secrets", "token", "tokens",
    "apikey", "key", "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "empty", "blank",
    "default", "required", "optional", "string", "text", "str", "int", "bool", "boolean", "integer", "number",
    "object", "array", "byte", "bytes", "char", "varchar", "hidden", "prompt", "ask", "admin", "root", "user",
    "username", "guest", "test", "testing", "tester", "login", "postgres", "mysql", "basic", "bearer",
    "digest", "oauth", "oauth2", "auto", "manual", "enabled", "disabled", "disable", "enable", "value", "foo",
    "bar", "baz", "qux", "hello", "world", "abc", "abcd", "abc123", "test123", "test1234", "123456", "1234567",
    "12345678", "123456789", "1234567890", "qwerty", "asdf", "password1", "password123", "passw0rd",
    "admin123", "root123", "secret123", "hunter2", "letmein", "unknown", "unset", "file", "env", "environment",
    "plain", "plaintext", "md5", "sha1", "sha256", "bcrypt", "argon2", "scram", "redacted", "masked", "field",
    "input", "label", "name", "self", "this", "new", "old", "current", "confirm", "reset", "forgot", "change",
    "update", "validate", "invalid", "incorrect", "wrong", "must", "should", "cannot", "is", "for", "has",
    "the", "and", "not", "or", "with",
]);

/// Of those, the ones that say so whatever else the value is.
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "example", "placeholder", "changeme", "change_me", "change-me", "xxxx", "your_", "your-", "****",
    "replace",
];

/// The words, made ready to be looked for all at once: a value is judged in microseconds, not by a hundred searches.
static STAND_IN_FINDER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(STAND_IN_WORDS).ok());
static ALWAYS_FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(ALWAYS).ok());

/// Whether a value only shows where a secret goes. A strict judge (a scan) also takes the passwords of examples for that.
pub(crate) fn is_stand_in(value: &[u8], name: &[u8], look: &Look, strict: bool) -> bool {
    let small: Vec<u8> = value.iter().take(64).map(u8::to_ascii_lowercase).collect();
    if look.distinct <= 2 || (look.distinct <= 3 && value.len() >= 12) {
        return true;
    }
    if small.eq_ignore_ascii_case(name) {
        return true;
    }
    let strong = look.classes() == 4 && look.length >= 10;
    if STAND_INS.has(&small) && (strict || small != b"hunter2") {
        return true;
    }
    let holds =
        |words: &LazyLock<Option<AhoCorasick>>| words.as_ref().is_some_and(|finder| finder.is_match(&small));
    // A redactor does not spare a long mixed value for the sake of a word in it: documentation is full of keys that end in
    // EXAMPLE, and so are pastes of real ones.
    let spared = strict || look.length < 20 || look.digits == 0 || look.classes() < 3;
    if spared && holds(&STAND_IN_FINDER) {
        let always = look.length < 80 && holds(&ALWAYS_FINDER);
        if always || !(strong || look.length >= 24 && look.is_random(4.5)) {
            return true;
        }
    }
    counts_up(&small)
}

/// Most of it is `12345678…` or `abcdefgh…`.
fn counts_up(small: &[u8]) -> bool {
    if small.len() < 8 {
        return false;
    }
    let steps =
        small.windows(2).filter(|w| w[1] == w[0].wrapping_add(1) || (w[0] == b'9' && w[1] == b'0')).count();
    steps * 4 >= (small.len() - 1) * 3
}

/// `new_password`, `user-token`, `k8s_secret_data`, `Passwort`: words, as programs and forms name things.
fn is_plain_name(value: &[u8]) -> bool {
    if value.len() > LONGEST_NAME {
        return false;
    }
    let mut words = 0;
    let mut numbered = false;
    for word in value.split(|b| matches!(b, b'_' | b'-' | b'.' | b':' | b'/')).filter(|w| !w.is_empty()) {
        let digits = word.iter().filter(|b| b.is_ascii_digit()).count();
        let letters = word.iter().filter(|b| b.is_ascii_alphabetic() || **b >= 0x80).count();
        if digits + letters < word.len() || letters == 0 || digits > 3 {
            return false;
        }
        numbered |= digits > 0;
        words += 1;
    }
    let small = !value.iter().any(u8::is_ascii_uppercase) || !value.iter().any(u8::is_ascii_lowercase);
    let plain_numbers = !numbered || (words >= 2 && small);
    words > 0 && plain_numbers && Look::at(value).likeness() > -4
}

fn is_path_like(value: &[u8]) -> bool {
    let slashes = value.iter().filter(|b| matches!(b, b'/' | b'\\')).count();
    let dots = value.iter().filter(|b| **b == b'.').count();
    (slashes >= 2 || (slashes >= 1 && value[0] == b'/') || dots >= 3) && Look::at(value).likeness() > -8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_secret(value: &str, promise: Promise, dress: Dress, file: FileKind) -> bool {
        match judge(value.as_bytes(), b"password", promise, dress, file, true) {
            Judgement::Secret { confidence, .. } => confidence >= 50,
            Judgement::Kept { .. } => false,
        }
    }

    #[test]
    fn what_stands_where_a_password_would_is_told_from_one() {
        for value in [
            "Tr0ub4dor&3",
            "winter-Sledge-42",
            "S3cr3t!Pa55",
            "kX9#mQ2$vL",
            "correct7horse",
            "SuperSecret123!",
        ] {
            for dress in [Dress::Quoted, Dress::Bare] {
                assert!(is_secret(value, Promise::Password, dress, FileKind::Settings), "{value} {dress:?}");
            }
        }
        for value in [
            "${DB_PASSWORD}",
            "$DB_PASSWORD",
            "{{ vault.password }}",
            "<your-password>",
            "changeme",
            "xxxxxxxx",
            "********",
            "password",
            "Passwort",
            "your_password_here",
            "%(password)s",
            "REPLACE_ME_PLEASE",
            "os.environ['X']",
            "/run/secrets/db",
            "new_password",
            "example-password",
            "null",
            "Enter your password",
            "12345678",
        ] {
            assert!(!is_secret(value, Promise::Password, Dress::Quoted, FileKind::Source), "{value}");
        }
    }

    #[test]
    fn a_bare_word_of_a_program_is_an_expression() {
        for value in [
            "getPassword()",
            "self.password",
            "args.password",
            "password_from_env",
            "config[\"x\"]",
            "Secret::new",
        ] {
            assert!(!is_secret(value, Promise::Password, Dress::Bare, FileKind::Source), "{value}");
            assert!(!is_secret(value, Promise::Secret, Dress::Bare, FileKind::Text), "{value}");
        }
    }
}
