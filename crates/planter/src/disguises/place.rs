//! Where in a secret a disguise sets something, and the ways to set it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    All,
    Third,
    Middle,
    /// The first four characters, or the gaps before the second to the fourth.
    Head,
    /// Right after the first four characters.
    Fifth,
    /// Before, or on, the last character.
    Last,
}

impl Where {
    fn hits(self, at: usize, of: usize) -> bool {
        match self {
            Where::All => true,
            Where::Third => at.is_multiple_of(3),
            Where::Middle => at == of / 2,
            Where::Head => at < 4,
            Where::Fifth => at == 4,
            Where::Last => at + 1 == of,
        }
    }
}

/// Sets `what` between characters: before each one the place hits, but never before the first.
pub(super) fn insert(secret: &str, place: Where, what: &str) -> String {
    insert_with(secret, place, |_| what.to_owned())
}

/// As [`insert`]; `what` is told how many characters stand before.
pub(super) fn insert_with(secret: &str, place: Where, what: impl Fn(usize) -> String) -> String {
    let of = secret.chars().count();
    let mut out = String::new();
    for (at, c) in secret.chars().enumerate() {
        if at > 0 && place.hits(at, of) {
            out += &what(at);
        }
        out.push(c);
    }
    out
}

/// As [`insert`], into a secret of which every stretch is first made ready to stand in its surroundings.
pub(super) fn insert_in(secret: &str, place: Where, what: &str, ready: impl Fn(&str) -> String) -> String {
    insert(secret, place, "\u{0}").split('\u{0}').map(ready).collect::<Vec<_>>().join(what)
}

/// Writes the characters the place hits in another way, and all that `must` names: those that cannot stand as they are
/// beside the others.
pub(super) fn write(secret: &str, place: Where, must: &str, way: impl Fn(char) -> String) -> String {
    write_with(secret, place, must, |_, c| way(c))
}

/// As [`write`]; `way` is told how many characters stand before.
pub(super) fn write_with(
    secret: &str,
    place: Where,
    must: &str,
    way: impl Fn(usize, char) -> String,
) -> String {
    let of = secret.chars().count();
    let mut out = String::new();
    for (at, c) in secret.chars().enumerate() {
        if place.hits(at, of) || must.contains(c) {
            out += &way(at, c);
        } else {
            out.push(c);
        }
    }
    out
}

/// Gives characters another form, where they have one. A place that asks for a single character gets the first that has
/// a form, from there on and around the end if need be.
pub(super) fn turn(secret: &str, place: Where, form: impl Fn(usize, char) -> Option<char>) -> String {
    let of = secret.chars().count();
    let mut chars: Vec<char> = secret.chars().collect();
    let hit = |at: &usize| place.hits(*at, of);
    if matches!(place, Where::All | Where::Third | Where::Head) {
        for at in (0..of).filter(hit) {
            chars[at] = form(at, chars[at]).unwrap_or(chars[at]);
        }
    } else {
        let from = (0..of).find(hit).unwrap_or(0);
        let at = (from..of).chain(0..from).find(|at| form(*at, chars[*at]).is_some());
        if let Some(at) = at {
            chars[at] = form(at, chars[at]).unwrap_or(chars[at]);
        }
    }
    chars.into_iter().collect()
}

/// The secret in two halves; the second is never empty.
pub(super) fn halves(secret: &str) -> (&str, &str) {
    secret.split_at(secret.len() / 2)
}

/// The secret in pieces of `n` characters.
pub(super) fn pieces(secret: &str, n: usize) -> Vec<String> {
    let chars: Vec<char> = secret.chars().collect();
    chars.chunks(n).map(|piece| piece.iter().collect()).collect()
}

/// The secret cut after its first four characters.
pub(super) fn after_four(secret: &str) -> Vec<String> {
    let (head, tail) = secret.split_at(4.min(secret.len()));
    vec![head.to_owned(), tail.to_owned()]
}
