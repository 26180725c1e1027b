//! Text from elsewhere, made safe and short; and the small things that stand around it.

use holdfast_types::{Timestamp, drives_a_terminal};
use maud::{Markup, PreEscaped, html};

use super::words::{count, exact, relative};
use super::{NAME_MAX, TEXT_MAX};

/// One line of text: what would hide or turn its neighbours is spelled out, and what is too long is cut.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(most) {
        spelled(c, &mut out);
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// A line that keeps its own direction of writing, whatever stands beside it.
pub(crate) fn bdi(text: &str, most: usize) -> Markup {
    html! { bdi { (line(text, most)) } }
}

/// Text of several lines, as it was written.
pub(crate) fn block(text: &str) -> Markup {
    html! { div.block dir="auto" { (lines(text)) } (cut_off(text)) }
}

/// Text of a machine: JSON, a note, a key. It can be taken along.
pub(crate) fn raw(name: &str, label: &str, text: &str) -> Markup {
    html! {
        // It may be longer than its frame; whoever has no mouse scrolls it by the arrow keys.
        pre.raw id=(name) tabindex="0" role="group" aria-label=(label) { code { (lines(text)) } }
        (cut_off(text))
        (copy_of(name, "Copy"))
    }
}

fn lines(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(TEXT_MAX) {
        if matches!(c, '\n' | '\t') { out.push(c) } else { spelled(c, &mut out) }
    }
    out
}

fn cut_off(text: &str) -> Markup {
    let more = text.chars().skip(TEXT_MAX).count() as u64;
    html! {
        @if more > 0 {
            p.note { (count(more, "further character is", "further characters are")) " not shown here." }
        }
    }
}

fn spelled(c: char, out: &mut String) {
    if drives_a_terminal(c) { out.extend(c.escape_default()) } else { out.push(c) }
}

/// A moment: how long ago, and exactly.
pub(crate) fn when(now: Timestamp, at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(exact(at)) data-ago { (relative(now, at)) } }
}

/// An id, short; all of it is beside it for whoever points at it.
pub(crate) fn id(full: &str) -> Markup {
    html! { code.id title=(line(full, 200)) { (short(full)) } }
}

/// Who did something: a name, or an id that is shortened like one.
pub(crate) fn actor(name: &str) -> Markup {
    if name.starts_with("agt_") { id(name) } else { bdi(name, NAME_MAX) }
}

/// An id that can be taken along.
pub(crate) fn id_copied(full: &str) -> Markup {
    html! { (id(full)) (copy(full)) }
}

/// A button that copies this text; only there where something can act on it.
pub(crate) fn copy(text: &str) -> Markup {
    html! {
        button.copy type="button" data-copy=(text.chars().take(COPY_MAX).collect::<String>()) aria-label={ "Copy " (short(text)) } { (COPY) }
    }
}

/// A button that copies what another element says.
pub(crate) fn copy_of(element: &str, word: &str) -> Markup {
    html! { button.copies type="button" data-copy-of=(element) { (word) } }
}

/// Characters a button copies: keys and ids are shorter.
const COPY_MAX: usize = 1_000;

const COPY: PreEscaped<&str> = PreEscaped(
    "<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z\"/></svg>",
);

/// What tells ids of a kind apart is mostly at their end, and of digests at their beginning.
fn short(full: &str) -> String {
    // The names of memories are dates and a number, which say nothing without their end.
    const WHOLE_MAX: usize = 20;
    let chars: Vec<char> = line(full, 200).chars().collect();
    let text = |part: &[char]| part.iter().collect::<String>();
    if chars.len() <= WHOLE_MAX {
        return text(&chars);
    }
    let prefix = chars.iter().take(12).position(|c| matches!(c, '_' | ':')).map_or(0, |n| n + 1);
    let (kind, rest) = chars.split_at(prefix);
    if kind.last() == Some(&'_') {
        return format!("{}…{}", text(kind), text(&rest[rest.len().saturating_sub(6)..]));
    }
    format!("{}{}…", text(kind), text(&rest[..rest.len().min(10)]))
}

/// Labels and values.
pub(crate) fn facts(rows: &[(&str, Option<Markup>)]) -> Markup {
    html! {
        dl.facts {
            @for (label, value) in rows {
                @if let Some(value) = value {
                    div { dt { (label) } dd { (value) } }
                }
            }
        }
    }
}

/// A part of a page with its heading. The id is that of the whole, so that it can be replaced.
pub(crate) fn section(name: &str, heading: &str, body: Markup) -> Markup {
    html! {
        section id=(name) aria-labelledby={ (name) "-h" } {
            h2 id={ (name) "-h" } { (heading) }
            (body)
        }
    }
}

/// The one heading of a page, and what leads back from it.
pub(crate) fn title(back: Option<(&str, &str)>, heading: Markup) -> Markup {
    html! {
        div.title {
            @if let Some((href, word)) = back {
                p.back { a href=(href) { (word) } }
            }
            h1 { (heading) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        assert_eq!(line("abc", 3), "abc");
        assert_eq!(line("abcd", 3), "abc…");
        let long = "x".repeat(TEXT_MAX + 2_000);
        let shown = block(&long).into_string();
        assert!(shown.contains("2,000 further characters are not shown here."), "{shown}");
        assert!(shown.len() < TEXT_MAX + 300);
    }

    #[test]
    fn what_turns_or_hides_text_is_spelled_out() {
        assert_eq!(line("a\u{202e}b\nc", 20), "a\\u{202e}b\\nc");
        assert!(block("a\nb\u{200b}").into_string().contains("a\nb\\u{200b}"));
    }

    #[test]
    fn an_id_is_short_by_what_tells_it_apart() {
        for (full, expected) in [
            ("ep_0c5a1f3b9d2e40000000000003", "ep_…000003"),
            ("blake3:0c5a1f3b9d2e4a7788", "blake3:0c5a1f3b9d…"),
            ("web-1", "web-1"),
            ("SHA256abcdefghijklmnop", "SHA256abcd…"),
        ] {
            assert_eq!(short(full), expected);
        }
    }
}
