//! A small reader of HTML, as strict as a browser is lenient: what it takes for an element or an attribute, a browser may too.

use std::fmt::Write as _;

/// Begins every hostile text. Where it becomes a part of the markup, somebody broke out.
pub const MARK: &str = "hf9";

/// Texts that break out of wherever they are put without being escaped.
pub const HOSTILE: [&str; 7] = [
    "<script>hf9()</script>",
    "\"><img src=x onerror=hf9()>",
    "' onmouseover='hf9()' x='",
    "javascript:hf9()",
    "</title></textarea></svg><svg/onload=hf9()>",
    "--><hf9 data-hf9=\"1\">",
    "&lt;hf9&gt; &#x3c;hf9&#x3e;",
];

struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    closing: bool,
    /// `<path … />`, as in drawings.
    whole: bool,
}

/// What is wrong with a page or a piece of one: nothing, when all texts in it are only texts.
pub fn wrong_with(html: &str) -> String {
    let (mut wrong, mut rest) = (String::new(), html);
    let mut open: Vec<String> = Vec::new();
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(declared) = after.strip_prefix('!') {
            let (what, end) = if declared.starts_with("--") { ("comment", "-->") } else { ("doctype", ">") };
            if what == "comment" {
                let _ = writeln!(wrong, "a comment");
            }
            rest = declared.split_once(end).map_or("", |(_, rest)| rest);
            continue;
        }
        let Some((tag, after)) = tag(after) else {
            let _ = writeln!(wrong, "a bare <: {}", &after[..after.len().min(40)]);
            break;
        };
        rest = after;
        judge(&tag, rest, &mut wrong);
        if tag.closing {
            if open.pop().as_ref() != Some(&tag.name) {
                let _ = writeln!(wrong, "</{}> closes something else", tag.name);
            }
        } else if !tag.whole && !VOID.contains(&tag.name.as_str()) {
            open.push(tag.name);
        }
    }
    if !open.is_empty() {
        let _ = writeln!(wrong, "never closed: {open:?}");
    }
    wrong
}

const VOID: [&str; 8] = ["meta", "link", "input", "br", "hr", "img", "wbr", "col"];

fn judge(tag: &Tag, after: &str, wrong: &mut String) {
    let Tag { name, attributes, closing, .. } = tag;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
    if name.is_empty() || !name.chars().all(allowed) || name.contains(MARK) {
        let _ = writeln!(wrong, "an element <{name}>");
    }
    let of =
        |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    if name == "script" && !*closing {
        let ours = of("src").is_some_and(|src| src.starts_with("/assets/"));
        if !ours || !after.starts_with("</script>") {
            let _ = writeln!(wrong, "a script that is not ours");
        }
    }
    if ["iframe", "object", "embed", "base", "frame", "style"].contains(&name.as_str()) {
        let _ = writeln!(wrong, "<{name}>");
    }
    for (name, value) in attributes {
        if name.starts_with("on") || name == "style" || name.contains(MARK) || !name.chars().all(allowed) {
            let _ = writeln!(wrong, "an attribute {name}={value:?}");
        }
        let leads = ["href", "src", "action", "formaction", "xlink:href"].contains(&name.as_str());
        let here =
            value.is_empty() || value.starts_with('#') || value.starts_with('/') && !value.starts_with("//");
        if leads && !here && !value.starts_with("data:image/svg+xml") {
            let _ = writeln!(wrong, "it leads away: {name}={value:?}");
        }
    }
}

/// A tag from behind its `<`, and what follows it. All our attributes are in double quotes or without a value.
fn tag(text: &str) -> Option<(Tag, &str)> {
    let (closing, mut text) = match text.strip_prefix('/') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let until = |text: &str, ends: &[char]| text.find(ends).unwrap_or(text.len());
    let at = until(text, &[' ', '>', '\n', '\t']);
    let name = text[..at].to_ascii_lowercase();
    text = &text[at..];
    let mut attributes = Vec::new();
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix('>') {
            return Some((Tag { name, attributes, closing, whole: false }, rest));
        }
        if let Some(rest) = text.strip_prefix("/>") {
            return Some((Tag { name, attributes, closing, whole: true }, rest));
        }
        let at = until(text, &['=', ' ', '>', '\n', '\t']);
        let attribute = text[..at].to_ascii_lowercase();
        if attribute.is_empty() {
            return None;
        }
        text = &text[at..];
        let value = match text.strip_prefix('=') {
            None => String::new(),
            Some(valued) => {
                let (value, rest) = valued.strip_prefix('"')?.split_once('"')?;
                text = rest;
                value.to_owned()
            }
        };
        attributes.push((attribute, value));
    }
}

#[test]
fn the_reader_finds_every_way_out() {
    for text in HOSTILE.iter().filter(|text| text.contains(['<', '\''])) {
        let page = format!("<p class=\"a\">{text}</p>");
        let within = format!("<input value='{text}'>");
        assert_ne!(wrong_with(&page) + &wrong_with(&within), "", "{text}");
    }
    assert_ne!(wrong_with(&format!("<a href=\"{}\">x</a>", HOSTILE[3])), "");
    assert_eq!(wrong_with("<p id=\"a\" hidden>&lt;script&gt; <a href=\"/b\">x</a><br></p>"), "");
}
