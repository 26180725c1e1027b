//! Groups of digits that stand together, as people write long numbers: `(37) 788-063`, `4111 1111 1111 1111`.

/// More groups than any number known here has.
pub(super) const GROUPS_MAX: usize = 10;
/// More digits than any number known here has; a group may not go beyond it.
const DIGITS_MAX: usize = 40;

/// What stands before a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    First,
    Space,
    Hyphen,
    Dot,
    Slash,
    /// An opening bracket, perhaps after a space or hyphen.
    Open,
    /// A closing bracket, perhaps before a space or hyphen.
    Close,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) gap: Gap,
}

impl Group {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// The groups from one place on, never across a line, and their digits in a row.
#[derive(Debug)]
pub(super) struct Cluster {
    groups: [Group; GROUPS_MAX],
    count: usize,
    digits: [u8; DIGITS_MAX],
}

impl Cluster {
    /// `text[start]` is a digit.
    pub(super) fn read(text: &[u8], start: usize) -> Cluster {
        let none = Group { start, end: start, gap: Gap::First };
        let mut cluster = Cluster { groups: [none; GROUPS_MAX], count: 0, digits: [0; DIGITS_MAX] };
        let (mut at, mut gap, mut filled) = (start, Gap::First, 0);
        loop {
            let end = at + run(text, at, DIGITS_MAX - filled);
            if end == at || text.get(end).is_some_and(u8::is_ascii_digit) {
                break;
            }
            for (digit, byte) in cluster.digits[filled..].iter_mut().zip(&text[at..end]) {
                *digit = byte - b'0';
            }
            filled += end - at;
            cluster.groups[cluster.count] = Group { start: at, end, gap };
            cluster.count += 1;
            match gap_at(text, end) {
                Some((next, found)) if cluster.count < GROUPS_MAX => (at, gap) = (next, found),
                _ => break,
            }
        }
        cluster
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups[..self.count]
    }

    /// The digits of the first groups, each 0 to 9.
    pub(super) fn digits(&self, groups: usize) -> &[u8] {
        let count = self.groups[..groups.min(self.count)].iter().map(Group::len).sum();
        &self.digits[..count]
    }

    /// The sizes of the first groups are these.
    pub(super) fn sizes_are(&self, groups: usize, sizes: &[usize]) -> bool {
        groups == sizes.len()
            && groups <= self.count
            && self.groups().iter().zip(sizes).all(|(g, s)| g.len() == *s)
    }

    /// Between the first groups stands this and nothing else.
    pub(super) fn gaps_are(&self, groups: usize, gap: Gap) -> bool {
        groups <= self.count && self.groups[1..groups.max(1)].iter().all(|g| g.gap == gap)
    }

    /// The number a group stands for; only asked of short ones.
    pub(super) fn value(&self, text: &[u8], group: usize) -> u32 {
        let group = &self.groups[group];
        number(&text[group.start..group.end])
    }
}

/// The value of a few digits; what would not fit stays at the top.
pub(super) fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |sum, b| sum.saturating_mul(10).saturating_add(u32::from(b.wrapping_sub(b'0'))))
}

/// How many digits stand from `at` on, counted up to `max`.
pub(super) fn run(text: &[u8], at: usize, max: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take(max).take_while(|b| b.is_ascii_digit()).count()
}

/// A space as typed, or the ones that keep a number on its line.
pub(super) fn space(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b' ', ..] => 1,
        [0xC2, 0xA0, ..] => 2,
        [0xE2, 0x80, 0xAF, ..] => 3,
        _ => 0,
    }
}

/// A hyphen, or one of its typographic forms.
fn hyphen(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b'-', ..] => 1,
        [0xE2, 0x80, 0x90..=0x93, ..] => 3,
        _ => 0,
    }
}

/// A further group follows.
pub(super) fn continues(text: &[u8], end: usize) -> bool {
    gap_at(text, end).is_some()
}

/// The gap at `at` and where the next group begins, if one does.
fn gap_at(text: &[u8], at: usize) -> Option<(usize, Gap)> {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let first = *text.get(at)?;
    if first.is_ascii_alphanumeric() || matches!(first, b'\n' | b',') {
        return None;
    }
    let (skip, gap) = match first {
        b'.' => (1, Gap::Dot),
        b'/' => (1, Gap::Slash),
        b'(' => (1, Gap::Open),
        b')' => (1 + space(text, at + 1).max(hyphen(text, at + 1)), Gap::Close),
        _ if space(text, at) > 0 => (space(text, at), Gap::Space),
        _ => (hyphen(text, at), Gap::Hyphen),
    };
    if skip == 0 {
        return None;
    }
    let next = at + skip;
    if digit(next) {
        return Some((next, gap));
    }
    let opens = matches!(gap, Gap::Space | Gap::Hyphen) && text.get(next) == Some(&b'(');
    (opens && digit(next + 1)).then_some((next + 1, Gap::Open))
}

/// `\n`, `\t` or `\r` written as two characters ends here, as in a text inside JSON: its letter is not part of a word.
pub(super) fn escaped(text: &[u8], at: usize) -> bool {
    matches!(text[..at], [.., b'\\', b'n' | b't' | b'r'])
}

/// The byte before `at` as far as words go: a blank at the start of a text and behind an escape.
pub(super) fn byte_before(text: &[u8], at: usize) -> u8 {
    if escaped(text, at) { b' ' } else { text[..at].last().copied().unwrap_or(b' ') }
}

/// What touches a number on its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Clean,
    /// A digit and a space or comma: it may be one number of a list.
    Spaced,
    /// A hyphen, slash or hash after a letter: part of a name or path.
    Named,
    /// Part of something longer.
    Joined,
}

pub(super) fn left(text: &[u8], start: usize) -> Left {
    let before = byte_before(text, start);
    let further = if start >= 2 { text[start - 2] } else { b' ' };
    match before {
        b'_' => Left::Joined,
        _ if before.is_ascii_alphanumeric() => Left::Joined,
        b'.' | b'-' | b'/' | b':' | b'+' if further.is_ascii_digit() => Left::Joined,
        b'-' | b'/' | b'\\' | b'.' if further.is_ascii_alphabetic() => Left::Named,
        b'-' if matches!(further, b'-' | b'/' | b'_') => Left::Named,
        b'#' | b'$' | b'/' => Left::Named,
        b' ' | b',' if further.is_ascii_digit() => Left::Spaced,
        0xAC | 0xA3 | 0xA5 if matches!(further, 0x82 | 0xC2) => Left::Named,
        _ => Left::Clean,
    }
}

/// Nothing goes on to the right: no letter, no digit after a point or colon, no percent or degree sign.
pub(super) fn ends(text: &[u8], end: usize) -> bool {
    let after = text.get(end).copied().unwrap_or(b' ');
    let further = text.get(end + 1).copied().unwrap_or(b' ');
    match after {
        b'_' | b'%' => false,
        _ if after.is_ascii_alphanumeric() => false,
        b'.' | b'-' | b'/' | b':' => !further.is_ascii_digit(),
        0xC2 => further != 0xB0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, sizes: &[usize], gaps: &[Gap]) {
        let start = text.find(|c: char| c.is_ascii_digit()).unwrap();
        let cluster = Cluster::read(text.as_bytes(), start);
        assert_eq!(cluster.groups().iter().map(Group::len).collect::<Vec<_>>(), sizes, "{text:?}");
        assert_eq!(cluster.groups().iter().skip(1).map(|g| g.gap).collect::<Vec<_>>(), gaps, "{text:?}");
    }

    #[test]
    fn groups_are_read_up_to_the_end_of_the_line() {
        check("555", &[3], &[]);
        check("(37) 788-063 x", &[2, 3, 3], &[Gap::Close, Gap::Hyphen]);
        check("46 (0)8 928", &[2, 1, 1, 3], &[Gap::Open, Gap::Close, Gap::Space]);
        check("01.84\n17", &[2, 2], &[Gap::Dot]);
        check("06\u{a0}12\u{202f}34\u{2011}56", &[2, 2, 2, 2], &[Gap::Space, Gap::Space, Gap::Hyphen]);
        check("1,234", &[1], &[]);
        check("12  34", &[2], &[]);
        check(&"1 ".repeat(40), &[1; GROUPS_MAX], &[Gap::Space; GROUPS_MAX - 1]);
        check(&"1".repeat(90), &[], &[]);
    }

    #[test]
    fn what_touches_a_number_is_told_apart() {
        for (text, expected) in [
            ("9", Left::Clean),
            ("a 9", Left::Clean),
            ("1 9", Left::Spaced),
            ("a9", Left::Joined),
            ("1.9", Left::Joined),
            ("ab-9", Left::Named),
            ("$9", Left::Named),
            ("€9", Left::Named),
            ("(9", Left::Clean),
            ("a\\n9", Left::Clean),
        ] {
            assert_eq!(left(text.as_bytes(), text.len() - 1), expected, "{text:?}");
        }
    }
}
