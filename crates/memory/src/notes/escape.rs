//! Escaping for the places text goes to: a record in a comment, a quotation, a cell of a table.

use holdfast_types::drives_a_terminal;

/// JSON that can stand in a comment on one line: it holds no `<`, `>`, `--`, control character or mark that turns text, except as
/// escapes that any JSON reader undoes.
pub(super) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let escape = matches!(c, '<' | '>' | '&') || drives_a_terminal(c) || c == '-' && before == '-';
        // All of these are in the basic plane.
        if escape {
            out.push_str(&format!("\\u{:04x}", u32::from(c)))
        } else {
            out.push(c)
        }
        before = c;
    }
    out
}

/// Text on one line that Markdown shows as it is.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => out.extend(['\\', c]),
            c if drives_a_terminal(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// What a person sees of such a text, and may have changed. Anything that is no escape of ours stays as it is.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        let entity = [("lt;", '<'), ("gt;", '>'), ("amp;", '&')];
        let entity = entity.iter().find(|(name, _)| c == '&' && rest.starts_with(name));
        if let Some((name, meant)) = entity {
            out.push(*meant);
            chars = rest[name.len()..].chars();
        } else if c == '\\' && rest.starts_with(|c: char| "\\`*_[]#|~".contains(c)) {
            out.extend(chars.next());
        } else if c == '\\' && rest.starts_with("u{") {
            let mut digits = rest[1..].chars();
            match unicode(&mut digits) {
                Some(meant) => {
                    out.push(meant);
                    chars = digits;
                }
                None => out.push(c),
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Text in one cell of a table. It can be read back.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' => out.push_str("\\|"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '<' => out.push_str("\\<"),
            '`' => out.push_str("\\`"),
            c if drives_a_terminal(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The text of a cell, or nothing where somebody broke its escapes.
pub(super) fn uncell(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' => out.push('\n'),
            'u' => out.push(unicode(&mut chars)?),
            c @ ('|' | '\\' | '<' | '`') => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

fn unicode(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let rest = chars.as_str().strip_prefix('{')?;
    let (hex, after) = rest.split_once('}')?;
    *chars = after.chars();
    let plain = (1..=6).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit());
    char::from_u32(u32::from_str_radix(hex, 16).ok().filter(|_| plain)?)
}
