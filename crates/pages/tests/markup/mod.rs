//! Reads the markup our own pages are made of, strictly: whatever is not of that form is an error, so that text which
//! became markup is noticed.

#![allow(dead_code, reason = "each test uses a part of it")]

/// A tag, with its attributes as they stand there.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) closes: bool,
    pub(crate) closed: bool,
    /// The text between this tag and the next.
    pub(crate) text: String,
}

impl Tag {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// All tags of a page, in order.
pub(crate) fn tags(html: &str) -> Result<Vec<Tag>, String> {
    let mut out = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let text_before = &rest[..at];
        if text_before.contains('>') {
            return Err(format!("a stray > in {text_before:?}"));
        }
        let end = end_of(&rest[at..]).ok_or_else(|| format!("no end of {:?}", beginning(&rest[at..])))?;
        let inside = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if inside.starts_with('!') {
            continue;
        }
        let text = rest.split('<').next().unwrap_or_default().to_owned();
        out.push(tag(inside, text)?);
    }
    Ok(out)
}

fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Where a tag ends, quotes observed.
fn end_of(text: &str) -> Option<usize> {
    let mut quoted = false;
    for (n, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Some(n),
            '<' if n > 0 => return None,
            _ => {}
        }
    }
    None
}

fn tag(inside: &str, text: String) -> Result<Tag, String> {
    let (closes, inside) = inside.strip_prefix('/').map_or((false, inside), |rest| (true, rest));
    let (closed, inside) = inside.strip_suffix('/').map_or((false, inside), |rest| (true, rest));
    let name: String = inside.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let attributes = attributes(inside[name.len()..].trim())?;
    if name.is_empty() {
        Err(format!("<{inside}> has no name"))
    } else {
        Ok(Tag { name, attributes, closes, closed, text })
    }
}

fn attributes(mut rest: &str) -> Result<Vec<(String, String)>, String> {
    let mut out = Vec::new();
    while !rest.is_empty() {
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':')).collect();
        if name.is_empty() {
            return Err(format!("no attribute: {:?}", beginning(rest)));
        }
        rest = &rest[name.len()..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').ok_or("a value without an end")?;
            value = quoted[..end].to_owned();
            rest = &quoted[end + 1..];
        }
        out.push((name, value));
        rest = rest.trim_start();
    }
    Ok(out)
}

/// Tags that are never closed.
const VOID: [&str; 5] = ["meta", "link", "input", "br", "hr"];

/// Whether everything that is opened is closed, in order.
pub(crate) fn balanced(tags: &[Tag]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags {
        if tag.closes {
            let last = open.pop();
            if last != Some(tag.name.as_str()) {
                return Err(format!("</{}> closes {last:?}", tag.name));
            }
        } else if !tag.closed && !VOID.contains(&tag.name.as_str()) {
            open.push(&tag.name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}
