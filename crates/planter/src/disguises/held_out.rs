//! The family held out: bytes written as numbers, the way programs print them and take them.

use super::Disguise;

fn numbers(secret: &str, by: &str) -> String {
    secret.bytes().map(|b| b.to_string()).collect::<Vec<_>>().join(by)
}

/// Kept for one final measurement; whoever tunes a redactor does not look here.
pub fn held_out() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "held out", put_on };
    vec![
        // A vector of bytes in Rust's `{:?}`, Python's `list(b"..")`, a JSON array.
        d("held out 1", |s| format!("[{}]", numbers(s, ", "))),
        // Go prints a slice of bytes so.
        d("held out 2", |s| format!("[{}]", numbers(s, " "))),
        // `JSON.stringify` of a buffer in Node.
        d("held out 3", |s| format!("{{\"type\":\"Buffer\",\"data\":[{}]}}", numbers(s, ","))),
        // JavaScript.
        d("held out 4", |s| format!("String.fromCharCode({})", numbers(s, ","))),
        // Typed array in JSON, keys by place.
        d("held out 5", |s| {
            let one = |(at, b): (usize, u8)| format!("\"{at}\":{b}");
            format!("{{{}}}", s.bytes().enumerate().map(one).collect::<Vec<_>>().join(","))
        }),
        // SQL of Oracle and PostgreSQL.
        d("held out 6", |s| s.bytes().map(|b| format!("CHR({b})")).collect::<Vec<_>>().join("||")),
        // PowerShell, a word of it.
        d("held out 7", |s| format!("-join({}|%{{[char]$_}})", numbers(s, ","))),
        // `od -An -tu1`: columns of four, sixteen to a line.
        d("held out 8", |s| {
            let line = |row: &[u8]| row.iter().map(|b| format!("{b:4}")).collect::<String>();
            s.as_bytes().chunks(16).map(line).collect::<Vec<_>>().join("\n")
        }),
        // `od -An -b` and `od -c`'s kin: octal, three digits.
        d("held out 9", |s| {
            let line = |row: &[u8]| row.iter().map(|b| format!(" {b:03o}")).collect::<String>();
            s.as_bytes().chunks(16).map(line).collect::<Vec<_>>().join("\n")
        }),
        // `xxd -b` without its sides.
        d("held out 10", |s| s.bytes().map(|b| format!("{b:08b}")).collect::<Vec<_>>().join(" ")),
        // Only the half behind is numbers, one a line.
        d("held out 11", |s| {
            let (one, two) = super::place::halves(s);
            format!("'{}' + bytes([{}]).decode()", one.replace('\n', "\\n"), numbers(two, ",\n"))
        }),
        // A pretty-printed JSON array.
        d("held out 12", |s| format!("[\n  {}\n]", numbers(s, ",\n  "))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_decode() {
        let secret = "ghp_Ab3dEf6hIj9kLm";
        for disguise in held_out() {
            let out = (disguise.put_on)(secret);
            assert!(!out.contains(secret) && out == (disguise.put_on)(secret), "{}", disguise.name);
        }
        let first = (held_out()[0].put_on)(secret);
        let bytes: Vec<u8> = first.trim_matches(['[', ']']).split(", ").map(|n| n.parse().unwrap()).collect();
        assert_eq!(bytes, secret.as_bytes());
    }
}
