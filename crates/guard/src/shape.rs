//! Shapes: the small pattern language rules are written in.
//!
//! A shape is a strict subset of a regular expression: literals, classes, bounded or open counts, groups with
//! alternatives. It matches at one given place and nowhere else, so there is nothing to search, a rule compiles in
//! microseconds, and three hundred of them are ready before a process has opened its first file. A shape with
//! alternatives is multiplied out when it is read; what is left is a list of literals and classes that one loop walks.

use std::fmt;

/// How many flat sequences one shape may multiply out to.
const MOST_BRANCHES: usize = 128;
/// How far an open count (`{20,}`) reaches. Longer runs match as far as this and are then stretched to the run's end.
pub(crate) const OPEN: u32 = 2048;
/// Steps one attempt may take. Only shapes whose neighbouring classes overlap ever take more than one per byte.
const MOST_STEPS: u32 = 16 * 1024;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(crate) const EMPTY: ByteSet = ByteSet([0; 4]);

    pub(crate) const fn with(mut self, byte: u8) -> ByteSet {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
        self
    }

    pub(crate) const fn with_range(mut self, from: u8, to: u8) -> ByteSet {
        let mut byte = from;
        loop {
            self = self.with(byte);
            if byte >= to {
                return self;
            }
            byte += 1;
        }
    }

    pub(crate) const fn has(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    const fn inverted(self) -> ByteSet {
        ByteSet([!self.0[0], !self.0[1], !self.0[2], !self.0[3]])
    }

    /// The bytes of the set, in order.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255u8).filter(|b| self.has(*b))
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.bytes().collect();
        write!(f, "[{}]", bytes.escape_ascii())
    }
}

/// Why a shape was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at character {at} of the shape)")]
pub struct ShapeError {
    pub what: &'static str,
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    Class { set: ByteSet, least: u32, most: u32 },
}

/// One flat sequence of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch(Vec<Piece>);

/// A compiled shape.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    branches: Vec<Branch>,
}

impl Shape {
    pub(crate) fn parse(text: &str) -> Result<Shape, ShapeError> {
        let mut reader = Reader { text: text.as_bytes(), at: 0, fold: false };
        if let Some(rest) = text.strip_prefix("(?i)") {
            reader.at = text.len() - rest.len();
            reader.fold = true;
        }
        let branches = reader.alternatives(0)?;
        if reader.at < reader.text.len() {
            return Err(reader.wrong("a bracket closes that was not opened"));
        }
        if branches.iter().any(|b| b.shortest() == 0) {
            return Err(reader.wrong("the shape matches nothing at all"));
        }
        Ok(Shape { branches })
    }

    pub(crate) fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The fewest bytes that can match.
    pub(crate) fn shortest(&self) -> usize {
        self.branches.iter().map(Branch::shortest).min().unwrap_or(0)
    }
}

impl Branch {
    pub(crate) fn shortest(&self) -> usize {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Literal(bytes) => bytes.len(),
                Piece::Class { least, .. } => *least as usize,
            })
            .sum()
    }

    /// The literal bytes every match begins with; may be empty.
    pub(crate) fn prefix(&self) -> &[u8] {
        match self.0.first() {
            Some(Piece::Literal(bytes)) => bytes,
            _ => &[],
        }
    }

    /// The class behind a first literal of one byte, where it begins so.
    pub(crate) fn class_after_one(&self) -> Option<(u8, &ByteSet)> {
        match self.0.as_slice() {
            [Piece::Literal(bytes), Piece::Class { set, .. }, ..] if bytes.len() == 1 => {
                Some((bytes[0], set))
            }
            _ => None,
        }
    }

    /// Whether it begins with eight bytes or more of a class, after one literal byte at most.
    pub(crate) fn begins_long(&self) -> bool {
        let first = match self.0.first() {
            Some(Piece::Literal(bytes)) if bytes.len() == 1 => self.0.get(1),
            first => first,
        };
        matches!(first, Some(Piece::Class { least, .. }) if *least >= 8)
    }

    /// How long the word is that a match begins with, where it begins with a class of letters and digits: the least, and the
    /// most where what follows is no part of the word.
    pub(crate) fn first_word(&self) -> (usize, usize) {
        let any = (0, usize::MAX);
        let (lead, rest) = match self.0.as_slice() {
            [Piece::Literal(bytes), rest @ ..] if bytes.iter().all(u8::is_ascii_alphanumeric) => {
                (bytes.len(), rest)
            }
            rest => (0, rest),
        };
        let [Piece::Class { set, least, most }, rest @ ..] = rest else { return any };
        if !set.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return any;
        }
        let ends = match rest.first() {
            None => *most < OPEN,
            Some(Piece::Literal(bytes)) => !bytes[0].is_ascii_alphanumeric(),
            Some(Piece::Class { .. }) => false,
        };
        let most = if ends { lead + *most as usize } else { usize::MAX };
        (lead + *least as usize, most)
    }

    /// The first literal behind the beginning that stands at one place only, and how far behind the beginning that is.
    pub(crate) fn fixed(&self) -> Option<(usize, &[u8])> {
        let mut offset = 0;
        for (i, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Literal(bytes) if i > 0 => return Some((offset, bytes)),
                Piece::Literal(bytes) => offset += bytes.len(),
                Piece::Class { least, most, .. } if least == most => offset += *least as usize,
                Piece::Class { .. } => return None,
            }
        }
        None
    }

    /// The last two labels of the host of every address it matches, where it matches addresses of such hosts only.
    pub(crate) fn domain(&self) -> Option<&[u8]> {
        let [Piece::Literal(first), rest @ ..] = self.0.as_slice() else { return None };
        let behind = first.strip_prefix(b"https://")?;
        let (literal, whole) = match rest {
            [Piece::Class { set, .. }, Piece::Literal(next), ..] if behind.is_empty() => {
                // What a class lets be part of the host must not be able to end it.
                if !set.bytes().all(is_host_byte) {
                    return None;
                }
                (next.as_slice(), false)
            }
            _ => (behind, true),
        };
        let end = literal.iter().position(|b| !is_host_byte(*b))?;
        let mut dots = literal[..end].iter().enumerate().rev().filter(|(_, b)| **b == b'.').map(|(i, _)| i);
        match (dots.next(), dots.next()) {
            (Some(_), Some(before)) => Some(&literal[before + 1..end]),
            (Some(_), None) if whole => Some(&literal[..end]),
            _ => None,
        }
    }

    /// Where a match that begins at `at` ends: the longest one.
    pub(crate) fn matches(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut steps = MOST_STEPS;
        walk(&self.0, text, at, &mut steps)
    }

    /// Whether the last piece is an open count, whose match may go on beyond [`OPEN`].
    pub(crate) fn open_ended(&self) -> Option<&ByteSet> {
        match self.0.last() {
            Some(Piece::Class { set, most, .. }) if *most == OPEN => Some(set),
            _ => None,
        }
    }
}

/// Whether a byte may be part of a host's name.
pub(crate) fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn walk(pieces: &[Piece], text: &[u8], at: usize, steps: &mut u32) -> Option<usize> {
    let Some((piece, rest)) = pieces.split_first() else { return Some(at) };
    *steps = steps.checked_sub(1)?;
    match piece {
        Piece::Literal(bytes) => {
            if !text.get(at..)?.starts_with(bytes) {
                return None;
            }
            walk(rest, text, at + bytes.len(), steps)
        }
        Piece::Class { set, least, most } => {
            let reach = text.get(at..)?.iter().take(*most as usize).take_while(|b| set.has(**b)).count();
            let least = *least as usize;
            if reach < least {
                return None;
            }
            // Where what follows cannot begin inside the class, giving bytes back would not help.
            if let Some(Piece::Literal(next)) = rest.first()
                && !set.has(next[0])
            {
                return walk(rest, text, at + reach, steps);
            }
            if rest.is_empty() {
                return Some(at + reach);
            }
            (least..=reach).rev().find_map(|taken| walk(rest, text, at + taken, steps))
        }
    }
}

/// Reads a shape. One method per construct.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    fold: bool,
}

impl Reader<'_> {
    fn wrong(&self, what: &'static str) -> ShapeError {
        ShapeError { what, at: self.at + 1 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn alternatives(&mut self, depth: usize) -> Result<Vec<Branch>, ShapeError> {
        if depth > 8 {
            return Err(self.wrong("groups are nested too deeply"));
        }
        let mut all = self.sequence(depth)?;
        while self.peek() == Some(b'|') {
            self.at += 1;
            all.extend(self.sequence(depth)?);
        }
        if all.len() > MOST_BRANCHES {
            return Err(self.wrong("the alternatives multiply out to too many"));
        }
        Ok(all)
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Branch>, ShapeError> {
        let mut so_far = vec![Branch(Vec::new())];
        while let Some(byte) = self.peek() {
            if byte == b'|' || byte == b')' {
                break;
            }
            let atom = self.atom(depth)?;
            let atom = self.counted(atom)?;
            if so_far.len() * atom.len() > MOST_BRANCHES {
                return Err(self.wrong("the alternatives multiply out to too many"));
            }
            so_far = so_far.iter().flat_map(|left| atom.iter().map(|right| left.joined(right))).collect();
        }
        Ok(so_far)
    }

    fn atom(&mut self, depth: usize) -> Result<Vec<Branch>, ShapeError> {
        let byte = self.text[self.at];
        match byte {
            b'(' => {
                self.at += 1;
                if self.text[self.at..].starts_with(b"?:") {
                    self.at += 2;
                }
                let inner = self.alternatives(depth + 1)?;
                if self.peek() != Some(b')') {
                    return Err(self.wrong("a group is not closed"));
                }
                self.at += 1;
                Ok(inner)
            }
            b'[' => Ok(vec![Branch(vec![Piece::Class { set: self.class()?, least: 1, most: 1 }])]),
            b'\\' => self.escape().map(|set| vec![Branch(vec![set])]),
            b'.' | b'*' | b'+' | b'?' | b'{' | b'}' | b'^' | b'$' => {
                Err(self
                    .wrong("this character is not part of the language of shapes; write it with a backslash"))
            }
            _ => {
                self.at += 1;
                Ok(vec![Branch(vec![self.one(byte)])])
            }
        }
    }

    /// A literal byte; both cases where case does not matter.
    fn one(&self, byte: u8) -> Piece {
        if self.fold && byte.is_ascii_alphabetic() {
            let set = ByteSet::EMPTY.with(byte.to_ascii_lowercase()).with(byte.to_ascii_uppercase());
            Piece::Class { set, least: 1, most: 1 }
        } else {
            Piece::Literal(vec![byte])
        }
    }

    fn escape(&mut self) -> Result<Piece, ShapeError> {
        self.at += 1;
        let byte = self.peek().ok_or_else(|| self.wrong("a backslash ends the shape"))?;
        self.at += 1;
        match shorthand(byte) {
            Some(set) => Ok(Piece::Class { set, least: 1, most: 1 }),
            None if byte.is_ascii_alphanumeric() => {
                Err(self.wrong("an escape the language of shapes does not have"))
            }
            None => Ok(Piece::Literal(vec![byte])),
        }
    }

    fn class(&mut self) -> Result<ByteSet, ShapeError> {
        self.at += 1;
        let inverted = self.peek() == Some(b'^');
        if inverted {
            self.at += 1;
        }
        let mut set = ByteSet::EMPTY;
        loop {
            let byte = self.peek().ok_or_else(|| self.wrong("a class is not closed"))?;
            self.at += 1;
            let from = match byte {
                b']' => break,
                b'\\' => {
                    let escaped = self.peek().ok_or_else(|| self.wrong("a class is not closed"))?;
                    self.at += 1;
                    if let Some(short) = shorthand(escaped) {
                        set = short.bytes().fold(set, ByteSet::with);
                        continue;
                    }
                    escaped
                }
                other => other,
            };
            match self.text.get(self.at..) {
                Some([b'-', to, ..]) if *to != b']' => {
                    if *to < from {
                        return Err(self.wrong("a range of a class runs backwards"));
                    }
                    set = set.with_range(from, *to);
                    self.at += 2;
                }
                _ => set = set.with(from),
            }
        }
        if self.fold {
            set = set.bytes().fold(set, |s, b| s.with(b.to_ascii_lowercase()).with(b.to_ascii_uppercase()));
        }
        Ok(if inverted { set.inverted() } else { set })
    }

    /// What stands after an atom: nothing, `?`, or a count in braces.
    fn counted(&mut self, atom: Vec<Branch>) -> Result<Vec<Branch>, ShapeError> {
        let (least, most) = match self.peek() {
            Some(b'?') => {
                self.at += 1;
                (0, 1)
            }
            Some(b'{') => self.count()?,
            _ => return Ok(atom),
        };
        if let [Branch(pieces)] = atom.as_slice()
            && let [Piece::Class { set, least: 1, most: 1 }] = pieces.as_slice()
        {
            return Ok(vec![Branch(vec![Piece::Class { set: *set, least, most }])]);
        }
        if let [Branch(pieces)] = atom.as_slice()
            && let [Piece::Literal(bytes)] = pieces.as_slice()
            && bytes.len() == 1
            && (least, most) != (0, 1)
        {
            let set = ByteSet::EMPTY.with(bytes[0]);
            return Ok(vec![Branch(vec![Piece::Class { set, least, most }])]);
        }
        if most > 8 {
            return Err(self.wrong("a group may be repeated eight times at most"));
        }
        let mut all = Vec::new();
        for times in least..=most {
            let mut repeated = vec![Branch(Vec::new())];
            for _ in 0..times {
                repeated =
                    repeated.iter().flat_map(|left| atom.iter().map(|right| left.joined(right))).collect();
                if repeated.len() > MOST_BRANCHES {
                    return Err(self.wrong("the alternatives multiply out to too many"));
                }
            }
            all.extend(repeated);
        }
        Ok(all)
    }

    fn count(&mut self) -> Result<(u32, u32), ShapeError> {
        let close = self.text[self.at..].iter().position(|b| *b == b'}');
        let close = close.ok_or_else(|| self.wrong("a count is not closed"))? + self.at;
        let inside =
            str::from_utf8(&self.text[self.at + 1..close]).map_err(|_| self.wrong("a count is a number"))?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= OPEN);
        let (least, most) = match inside.split_once(',') {
            None => (number(inside), number(inside)),
            Some((least, "")) => (number(least), Some(OPEN)),
            Some((least, most)) => (number(least), number(most)),
        };
        match (least, most) {
            (Some(least), Some(most)) if least <= most && most > 0 => {
                self.at = close + 1;
                Ok((least, most))
            }
            _ => Err(self.wrong("a count is {n}, {n,} or {n,m}, the smaller first, 2048 at most")),
        }
    }
}

impl Branch {
    fn joined(&self, right: &Branch) -> Branch {
        let mut pieces = self.0.clone();
        for piece in &right.0 {
            match (pieces.last_mut(), piece) {
                (Some(Piece::Literal(left)), Piece::Literal(more)) => left.extend_from_slice(more),
                (_, Piece::Class { most: 0, .. }) => {}
                _ => pieces.push(piece.clone()),
            }
        }
        Branch(pieces)
    }
}

fn shorthand(letter: u8) -> Option<ByteSet> {
    let digits = ByteSet::EMPTY.with_range(b'0', b'9');
    match letter {
        b'd' => Some(digits),
        b'w' => Some(digits.with_range(b'a', b'z').with_range(b'A', b'Z').with(b'_')),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(shape: &str, text: &str) -> Option<usize> {
        let shape = Shape::parse(shape).unwrap();
        shape.branches().iter().filter_map(|b| b.matches(text.as_bytes(), 0)).max()
    }

    #[test]
    fn shapes_match_as_the_same_regular_expression_would() {
        let table = [
            ("ghp_[A-Za-z0-9]{4,}", "ghp_abcd", Some(8)),
            ("ghp_[A-Za-z0-9]{4,}", "ghp_abc", None),
            ("sk_(live|test)_[a-z]{2}", "sk_test_ab", Some(10)),
            ("xox[bap]-\\d{2}(-x)?", "xoxb-12-x", Some(9)),
            ("xox[bap]-\\d{2}(-x)?", "xoxb-12-y", Some(7)),
            ("[a-f]{2,4}[a-z]{2}", "abcdef", Some(6)),
            ("[a-f]{2,4}fe", "abcdfe", Some(6)),
            ("(?i)key\\.[0-9]{1,3}", "KeY.12", Some(6)),
            ("a{3}b", "aaab", Some(4)),
            ("(ab){2}c", "ababc", Some(5)),
            ("[\\w-]{3}", "a-_", Some(3)),
        ];
        for (shape, text, expected) in table {
            assert_eq!(longest(shape, text), expected, "{shape} on {text}");
        }
    }

    #[test]
    fn what_the_language_does_not_have_is_refused_with_a_place() {
        for wrong in [
            "a*", "a+", ".", "(a", "a)", "[a", "a{", "a{3,1}", "\\b", "", "(a|)", "a\\", "[z-a]{3}",
            "(ab){9}",
        ] {
            assert!(Shape::parse(wrong).is_err(), "{wrong}");
        }
    }
}
