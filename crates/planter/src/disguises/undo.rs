//! Decoders for the tests, each as short as the disguises need it.

/// Escapes of string literals, once. A backslash before anything else goes.
pub(super) fn escapes(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        if chars[at] != '\\' || at + 1 == chars.len() {
            out.push(u32::from(chars[at]));
            at += 1;
            continue;
        }
        let kind = chars[at + 1];
        at += 2;
        while kind == 'u' && chars.get(at) == Some(&'u') {
            at += 1;
        }
        let braced = chars.get(at) == Some(&'{');
        let (radix, most) = match kind {
            'u' => (16, 4),
            'U' => (16, 8),
            'x' => (16, 2),
            'o' if braced => (8, 12),
            '0'..='7' => {
                at -= 1;
                (8, 3)
            }
            _ => {
                out.push(match kind {
                    'n' => 10,
                    'b' => 8,
                    'e' => 27,
                    other => u32::from(other),
                });
                continue;
            }
        };
        at += usize::from(braced);
        let most = if braced { 12 } else { most };
        let digits: String = chars[at..].iter().take(most).take_while(|c| c.is_digit(radix)).collect();
        at += digits.len() + usize::from(braced);
        out.push(u32::from_str_radix(&digits, radix).unwrap());
    }
    // Two halves of one character, as UTF-16 has it.
    let mut joined = String::new();
    let mut codes = out.into_iter().peekable();
    while let Some(code) = codes.next() {
        let low = codes.peek().copied().filter(|low| (0xdc00..0xe000).contains(low));
        let whole = match (code, low) {
            (0xd800..0xdc00, Some(low)) => {
                codes.next();
                0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => code,
        };
        joined.push(char::from_u32(whole).unwrap());
    }
    joined
}

/// Character references, once; the names that stand for nothing to be seen go.
pub(super) fn references(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let (body, radix) = match rest.strip_prefix("#x").or_else(|| rest.strip_prefix("#X")) {
            Some(body) => (body, 16),
            None => (rest.strip_prefix('#').unwrap_or(""), 10),
        };
        let n = body.chars().take_while(|c| c.is_digit(radix)).count();
        if n > 0 {
            out.push(char::from_u32(u32::from_str_radix(&body[..n], radix).unwrap()).unwrap());
            rest = body[n..].strip_prefix(';').unwrap_or(&body[n..]);
            continue;
        }
        let Some((name, after)) = rest.split_once(';') else { break };
        match name {
            "amp" => out.push('&'),
            "lowbar" => out.push('_'),
            "plus" => out.push('+'),
            "sol" => out.push('/'),
            "equals" => out.push('='),
            "NewLine" => out.push('\n'),
            "shy" | "ZeroWidthSpace" | "zwj" | "NoBreak" => {}
            script if script.ends_with("scr") || script.ends_with("opf") => out += &script[..1],
            other => panic!("no such name: {other}"),
        }
        rest = after;
    }
    out + rest
}

/// Takes comments, CDATA marks and tags away; hidden elements go with what is in them.
pub(super) fn tags(text: &str) -> String {
    let mut text = text.replace("<![CDATA[", "").replace("]]>", "");
    for (from, to) in [
        ("<!--", "-->"),
        ("<script", "</script>"),
        ("<span style", "</span>"),
        ("<i style", "</i>"),
        ("<b title=\"a>", ">"),
        ("<", ">"),
    ] {
        while let Some(start) = text.find(from) {
            let inner = start + from.len();
            let Some(end) = text[inner..].find(to) else { break };
            text.replace_range(start..inner + end + to.len(), "");
        }
    }
    text
}

/// A sign and two hex digits, once.
pub(super) fn signed(text: &str, sign: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(sign) {
        bytes.extend(&rest.as_bytes()[..at]);
        let digits = &rest[at + sign.len()..];
        match digits.get(..2).map(|two| u8::from_str_radix(two, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                rest = &digits[2..];
            }
            _ => {
                bytes.extend(sign.as_bytes());
                rest = digits;
            }
        }
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All hex digits as bytes.
pub(super) fn hex(text: &str) -> String {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    String::from_utf8_lossy(&digits.chunks(2).map(byte).collect::<Vec<_>>()).into_owned()
}

/// What a terminal shows, its rows joined. Nothing moves up or down but a line feed.
pub(super) fn screen(text: &str) -> String {
    let (mut rows, mut row, mut col) = (Vec::new(), Vec::new(), 0_usize);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                rows.push(String::from_iter(std::mem::take(&mut row)));
                col = 0;
            }
            '\r' => col = 0,
            '\u{8}' => col = col.saturating_sub(1),
            '\u{1b}' | '\u{9b}' => {
                let kind = if c == '\u{9b}' { '[' } else { chars.next().unwrap() };
                match kind {
                    '[' => {
                        let mut arguments = String::new();
                        let end = loop {
                            match chars.next().unwrap() {
                                end @ '@'..='~' => break end,
                                other => arguments.push(other),
                            }
                        };
                        let n = arguments.parse().unwrap_or(1);
                        match end {
                            'G' => col = n - 1,
                            'C' => col += n,
                            'D' => col = col.saturating_sub(n),
                            _ => {}
                        }
                    }
                    ']' | 'P' | '_' => while !matches!(chars.next(), Some('\u{7}' | '\\')) {},
                    '(' => drop(chars.next()),
                    _ => {}
                }
            }
            _ if c.is_control() => {}
            _ => {
                row.resize(row.len().max(col + 1), ' ');
                row[col] = c;
                col += 1;
            }
        }
    }
    rows.push(row.into_iter().collect());
    rows.join("\n")
}
