//! Source code that puts the secret together where it stands.

use super::Disguise;
use super::place::{after_four, halves, pieces};

/// In quotes of the kind, with what would end them escaped.
fn quoted(piece: &str, quote: char) -> String {
    let inner = piece.replace('\\', "\\\\").replace(quote, &format!("\\{quote}")).replace('\n', "\\n");
    format!("{quote}{inner}{quote}")
}

fn joined(pieces: &[String], quote: char, by: &str) -> String {
    pieces.iter().map(|p| quoted(p, quote)).collect::<Vec<_>>().join(by)
}

fn in_two(secret: &str) -> Vec<String> {
    let (one, two) = halves(secret);
    vec![one.to_owned(), two.to_owned()]
}

fn before_last(secret: &str) -> Vec<String> {
    let (head, tail) = secret.split_at(secret.len().saturating_sub(1));
    vec![head.to_owned(), tail.to_owned()]
}

/// For a shell: quotes only where a piece needs them.
fn shell(piece: &str) -> String {
    if piece.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=+,@%".contains(c)) {
        piece.to_owned()
    } else {
        format!("'{}'", piece.replace('\'', "'\\''"))
    }
}

pub(super) fn all() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "join", put_on };
    vec![
        d("plus, two halves", |s| joined(&in_two(s), '"', " + ")),
        d("plus, after the first four", |s| joined(&after_four(s), '"', " + ")),
        d("plus, before the last", |s| joined(&before_last(s), '"', "+")),
        d("plus, single quotes, pieces of three", |s| joined(&pieces(s, 3), '\'', "+")),
        d("plus, each character", |s| joined(&pieces(s, 1), '"', " + ")),
        d("plus, on lines of their own", |s| joined(&pieces(s, 6), '"', "\n    + ")),
        d("plus, with a comment in between", |s| joined(&in_two(s), '"', " /* x */ + ")),
        d("plus, other quotes for the second half", |s| {
            let (one, two) = halves(s);
            format!("{} + {}", quoted(one, '"'), quoted(two, '\''))
        }),
        d("plus, with an empty string between", |s| joined(&in_two(s), '"', " + \"\" + ")),
        d("adjacent literals, two halves", |s| joined(&in_two(s), '"', " ")),
        d("adjacent literals, after the first four", |s| joined(&after_four(s), '\'', " ")),
        d("adjacent literals touching, pieces of five", |s| joined(&pieces(s, 5), '"', "")),
        d("adjacent literals on lines, in brackets", |s| {
            format!("(\n    {}\n)", joined(&pieces(s, 7), '"', "\n    "))
        }),
        d("adjacent literals, f and r before", |s| {
            let (one, two) = halves(s);
            format!("f{} \"\" {}", quoted(&one.replace('{', "{{").replace('}', "}}"), '"'), quoted(two, '\''))
        }),
        d("dot, as PHP and Perl join", |s| joined(&in_two(s), '\'', " . ")),
        d("two dots, as Lua joins", |s| joined(&in_two(s), '"', " .. ")),
        d("ampersand, as Basic joins", |s| joined(&after_four(s), '"', " & ")),
        d("bars, as SQL joins", |s| joined(&after_four(s), '\'', " || ")),
        d("CONCAT of SQL", |s| format!("CONCAT({})", joined(&pieces(s, 6), '\'', ", "))),
        d("concat! of Rust", |s| format!("concat!({})", joined(&in_two(s), '"', ", "))),
        d("array and join", |s| format!("[{}].join('')", joined(&pieces(s, 4), '\'', ", "))),
        d("list of letters and join", |s| format!("''.join([{}])", joined(&pieces(s, 1), '\'', ","))),
        d("JSON array of the letters", |s| format!("[{}]", joined(&pieces(s, 1), '"', ","))),
        d("join, as Go has it", |s| {
            format!("strings.Join([]string{{{}}}, \"\")", joined(&in_two(s), '"', ", "))
        }),
        d("method concat", |s| {
            let (one, two) = halves(s);
            format!("{}.concat({})", quoted(one, '"'), quoted(two, '"'))
        }),
        d("StringBuilder", |s| {
            let (one, two) = halves(s);
            format!("new StringBuilder({}).append({}).toString()", quoted(one, '"'), quoted(two, '"'))
        }),
        d("format with two places", |s| format!("\"%s%s\" % ({})", joined(&after_four(s), '"', ", "))),
        d("PowerShell -f", |s| format!("(\"{{0}}{{1}}\" -f {})", joined(&in_two(s), '\'', ","))),
        d("template with a literal inside", |s| {
            let (one, two) = halves(s);
            let inner =
                one.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${").replace('\n', "\\n");
            format!("`{inner}${{{}}}`", quoted(two, '"'))
        }),
        d("template with nothing inside", |s| {
            let inner = |t: &str| t.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$");
            let (one, two) = halves(s);
            format!("`{}${{''}}{}`", inner(one), inner(two))
        }),
        d("line continued inside the literal", |s| continued(s, "\\\n")),
        d("line continued inside the literal, CR LF", |s| continued(s, "\\\r\n")),
        d("line continued and indented, as Rust and YAML have it", |s| continued(s, "\\\n    ")),
        d("line continued inside the literal after every six", |s| {
            let inner: Vec<String> = pieces(s, 6).iter().map(|p| bare(p)).collect();
            format!("\"{}\"", inner.join("\\\n"))
        }),
        d("\\z as Lua skips blanks", |s| continued(s, "\\z\n   ")),
        d("\\& of Haskell, empty, in the middle", |s| continued(s, "\\&")),
        d("shell word, line continued", |s| {
            let (one, two) = halves(s);
            format!("{}\\\n{}", shell(one), shell(two))
        }),
        d("shell word, empty double quotes in the middle", |s| {
            let (one, two) = halves(s);
            format!("{}\"\"{}", shell(one), shell(two))
        }),
        d("shell word, empty single quotes between all", |s| {
            pieces(s, 1).iter().map(|p| shell(p)).collect::<Vec<_>>().join("''")
        }),
        d("shell word, one letter quoted, the fifth", |s| {
            let cut = after_four(s);
            let rest = pieces(&cut[1], 1);
            format!("{}\"{}\"{}", shell(&cut[0]), dollared(&rest[0]), shell(&rest[1..].concat()))
        }),
        d("shell word, backslash before each", |s| {
            let one = |c: char| if c == '\n' { "$'\\n'".to_owned() } else { format!("\\{c}") };
            s.chars().map(one).collect()
        }),
        d("shell word, backslash before the last", |s| {
            let cut = before_last(s);
            let last = if cut[1] == "\n" { "$'\\n'".to_owned() } else { format!("\\{}", cut[1]) };
            format!("{}{last}", shell(&cut[0]))
        }),
        d("shell word, unset variable in the middle", |s| {
            let (one, two) = halves(s);
            format!("{}${{u}}{}", shell(one), shell(two))
        }),
        d("shell word, $@ in the middle", |s| {
            let (one, two) = halves(s);
            format!("{}$@{}", shell(one), shell(two))
        }),
        d("shell word, a command in the middle", |s| {
            let (one, two) = halves(s);
            format!("{}\"$(printf %s {})\"", shell(one), shell(two))
        }),
        d("shell word, part in $''", |s| {
            let cut = after_four(s);
            format!("{}$'{}'", shell(&cut[0]), bare(&cut[1]).replace('\'', "\\'"))
        }),
        d("caret before letters, as cmd has it", |s| {
            s.chars().map(|c| if c == '\n' { c.to_string() } else { format!("^{c}") }).collect()
        }),
        d("backtick before a letter, as PowerShell has it", |s| {
            // Only letters that a backtick does not make something else of.
            let skip = |c: char| "0abefnrtuv\n".contains(c);
            format!(
                "\"{}\"",
                s.chars().map(|c| if skip(c) { c.to_string() } else { format!("`{c}") }).collect::<String>()
            )
        }),
    ]
}

/// As between double quotes, without them.
fn bare(piece: &str) -> String {
    piece.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn dollared(piece: &str) -> String {
    piece.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
}

fn continued(secret: &str, by: &str) -> String {
    let (one, two) = halves(secret);
    format!("\"{}{by}{}\"", bare(one), bare(two))
}
