//! Notebooks: JSON whose strings hold programs, line by line. The strings are unescaped and joined, so that a token is
//! whole and its name stands before it; each byte of the result remembers where in the file it came from.

/// A notebook as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unescaped {
    pub(crate) text: Vec<u8>,
    /// From where on in the text which offset of the file belongs to it; ascending in both.
    steps: Vec<(usize, usize)>,
}

impl Unescaped {
    /// The offset in the file of an offset in the text.
    pub(crate) fn origin(&self, offset: usize) -> usize {
        let step = self.steps.partition_point(|(text, _)| *text <= offset);
        match step.checked_sub(1).and_then(|n| self.steps.get(n)) {
            Some((text, file)) => file + (offset - text),
            None => offset,
        }
    }

    /// The first offset in the text that comes from this offset of the file or a later one.
    pub(crate) fn first_from(&self, file: usize) -> usize {
        let (mut low, mut high) = (0, self.text.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.origin(middle) < file {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn copy(&mut self, file: &[u8], from: usize, to: usize) {
        if from < to {
            self.stands_at(from);
            self.text.extend_from_slice(&file[from..to]);
        }
    }

    /// What is added next stands at this offset of the file.
    fn stands_at(&mut self, file: usize) {
        let here = self.text.len();
        let expected = self.steps.last().map_or(here, |(text, origin)| origin + (here - text));
        if expected != file {
            self.steps.push((here, file));
        }
    }
}

/// Unescapes the strings of a notebook. Anything is taken: what is no JSON comes out nearly as it went in.
pub(crate) fn unescaped(file: &[u8]) -> Unescaped {
    let mut out = Unescaped::default();
    // Whether each open bracket is a list; strings that follow one another in a list are one text.
    let mut lists: Vec<bool> = Vec::new();
    let mut key: &[u8] = &[];
    let mut at = 0;
    while at < file.len() {
        match file[at] {
            b'"' => {
                let end = string_end(file, at + 1);
                let is_key = lists.last() == Some(&false) && next_is(file, end + 1, b':');
                if is_key {
                    key = &file[at + 1..end.min(file.len())];
                }
                let picture = !is_key && is_picture(key);
                let joins = lists.last() == Some(&true) && joins_the_last(&out, file, at);
                at = if picture { end + 1 } else { string(&mut out, file, at, end, joins) };
                continue;
            }
            b'[' => lists.push(true),
            b'{' => lists.push(false),
            b']' | b'}' => {
                lists.pop();
                key = &[];
            }
            _ => {}
        }
        out.copy(file, at, at + 1);
        at += 1;
    }
    out
}

/// Pictures are long, random and no secret.
fn is_picture(key: &[u8]) -> bool {
    key.starts_with(b"image/") || key == b"application/pdf"
}

fn next_is(file: &[u8], from: usize, wanted: u8) -> bool {
    file.get(from..).unwrap_or_default().iter().find(|b| !b.is_ascii_whitespace()) == Some(&wanted)
}

/// The offset of the quote that ends the string, or the end of the file.
fn string_end(file: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'"', b'\\', file.get(at..).unwrap_or_default()) {
        if file[at + found] == b'"' {
            return at + found;
        }
        at += found + 2;
    }
    file.len()
}

/// Whether only a comma stands between this string and the one before it. Then what stands between goes.
fn joins_the_last(out: &Unescaped, file: &[u8], at: usize) -> bool {
    let between = file[..at].iter().rev().take_while(|b| b.is_ascii_whitespace() || **b == b',').count();
    between > 0 && file[..at - between].ends_with(b"\"") && out.text.len() > between
}

/// Adds one string, its quotes included, and gives the offset after it.
fn string(out: &mut Unescaped, file: &[u8], open: usize, end: usize, joins: bool) -> usize {
    if joins {
        let between =
            file[..open].iter().rev().take_while(|b| b.is_ascii_whitespace() || **b == b',').count();
        out.text.truncate(out.text.len() - between - 1);
        let left = out.text.len();
        while out.steps.last().is_some_and(|(text, _)| *text >= left) {
            out.steps.pop();
        }
    } else {
        out.copy(file, open, open + 1);
    }
    let mut at = open + 1;
    while at < end {
        let plain = memchr::memchr(b'\\', &file[at..end]).map_or(end, |n| at + n);
        out.copy(file, at, plain);
        at = if plain < end { escape(out, file, plain, end) } else { end };
    }
    let after = (end + 1).min(file.len());
    out.copy(file, end.min(file.len()), after);
    after.max(open + 1)
}

/// Adds what an escape stands for, and gives the offset after it.
fn escape(out: &mut Unescaped, file: &[u8], at: usize, end: usize) -> usize {
    let plain = match file.get(at + 1) {
        Some(b'n') => b"\n",
        Some(b't') => b"\t",
        Some(b'r') => b"\r",
        Some(b'b' | b'f') => b" ",
        Some(b'"') => b"\"",
        Some(b'\\') => b"\\",
        Some(b'/') => b"/",
        Some(b'u') => return unicode(out, file, at, end),
        _ => return keep(out, file, at, (at + 2).min(end)),
    };
    out.stands_at(at);
    out.text.extend_from_slice(plain);
    at + 2
}

fn unicode(out: &mut Unescaped, file: &[u8], at: usize, end: usize) -> usize {
    let unit = |from: usize| -> Option<u16> {
        let digits = file.get(from..from + 6).filter(|_| from + 6 <= end)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(at) else { return keep(out, file, at, (at + 2).min(end)) };
    let units = [Some(first), unit(at + 6).filter(|_| (0xd800..0xdc00).contains(&first))];
    let used = 6 * units.iter().flatten().count();
    let character = char::decode_utf16(units.into_iter().flatten()).next();
    let character = character.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.stands_at(at);
    out.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    at + used
}

fn keep(out: &mut Unescaped, file: &[u8], from: usize, to: usize) -> usize {
    out.copy(file, from, to);
    to.max(from + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(file: &str, expected: &str) {
        assert_eq!(String::from_utf8(unescaped(file.as_bytes()).text).unwrap(), expected);
    }

    #[test]
    fn strings_of_a_list_become_one_text() {
        check(
            r#"{"source": ["key = \"abc\"\n",  "print(key)\n"], "n": 1}"#,
            "{\"source\": [\"key = \"abc\"\nprint(key)\n\"], \"n\": 1}",
        );
        check(r#"{"a": "x", "b": "y"}"#, r#"{"a": "x", "b": "y"}"#);
        check(r#"["a", ["b"], 1, "c"]"#, r#"["a", ["b"], 1, "c"]"#);
        check(r#"["tab\t", "é\ud834\udd1e\u12"]"#, "[\"tab\té𝄞\\u12\"]");
    }

    #[test]
    fn pictures_are_left_out() {
        check(r#"{"image/png": "iVBORw0K", "text/plain": "ok"}"#, r#"{"image/png": , "text/plain": "ok"}"#);
    }

    #[test]
    fn every_byte_remembers_where_it_came_from() {
        let file = "{\"source\": [\n  \"a = \\\"TOKEN1\\\"\\n\",\n  \"b = TOKEN2\\n\"\n]}";
        let out = unescaped(file.as_bytes());
        for token in ["TOKEN1", "TOKEN2"] {
            let here = memchr::memmem::find(&out.text, token.as_bytes()).unwrap();
            assert_eq!(out.origin(here), file.find(token).unwrap(), "{token}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_taken_and_origins_lie_in_the_file_and_ascend(file in r#"(["\\\[\]{},:nu0a]|image/|  ){0,60}"#) {
            let out = unescaped(file.as_bytes());
            let origins: Vec<usize> = (0..out.text.len()).map(|n| out.origin(n)).collect();
            prop_assert!(origins.is_sorted());
            prop_assert!(origins.iter().all(|n| *n < file.len()));
        }
    }
}
