//! What HTML, XML and URLs put in place of a character, and what they let stand between.

use super::Disguise;
use super::place::Where::{self, All, Fifth, Last, Middle, Third};
use super::place::{after_four, halves, insert, insert_in, pieces, write, write_with};

pub(super) fn all() -> Vec<Disguise> {
    [references(), tags(), percent()].concat()
}

/// Writes as references what the place hits, and what markup would take for its own.
fn referred(secret: &str, place: Where, way: impl Fn(u32) -> String) -> String {
    write(secret, place, "&<>", |c| way(u32::from(c)))
}

/// Text that stands as it is, ready for markup.
fn plain(secret: &str) -> String {
    secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn references() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "reference", put_on };
    vec![
        d("decimal references, all", |s| referred(s, All, |c| format!("&#{c};"))),
        d("decimal reference, every third", |s| referred(s, Third, |c| format!("&#{c};"))),
        d("decimal reference, the middle one", |s| referred(s, Middle, |c| format!("&#{c};"))),
        d("decimal reference, the fifth", |s| referred(s, Fifth, |c| format!("&#{c};"))),
        d("decimal reference, the last", |s| referred(s, Last, |c| format!("&#{c};"))),
        d("decimal references with zeros, all", |s| referred(s, All, |c| format!("&#{c:07};"))),
        d("decimal references with forty zeros, the middle one", |s| {
            referred(s, Middle, |c| format!("&#{c:040};"))
        }),
        d("decimal references without semicolon, all", |s| referred(s, All, |c| format!("&#{c}"))),
        d("decimal reference without semicolon, the last", |s| referred(s, Last, |c| format!("&#{c}"))),
        d("hex references, all", |s| referred(s, All, |c| format!("&#x{c:x};"))),
        d("hex references, all, with X and upper-case", |s| referred(s, All, |c| format!("&#X{c:X};"))),
        d("hex reference, the middle one", |s| referred(s, Middle, |c| format!("&#x{c:x};"))),
        d("hex reference with zeros, the fifth", |s| referred(s, Fifth, |c| format!("&#x{c:06x};"))),
        d("hex references without semicolon, all", |s| referred(s, All, |c| format!("&#x{c:x}"))),
        d("decimal and hex references in turn", |s| {
            write_with(s, All, "", |at, c| {
                let c = u32::from(c);
                [format!("&#{c};"), format!("&#x{c:X};"), format!("&#{c:05};")][at % 3].clone()
            })
        }),
        d("references escaped again, all", |s| referred(s, All, |c| format!("&amp;#{c};"))),
        d("references escaped again, the middle one", |s| referred(s, Middle, |c| format!("&amp;#x{c:x};"))),
        d("references with a referred ampersand, every third", |s| {
            referred(s, Third, |c| format!("&#38;#{c};"))
        }),
        d("named references for the marks", |s| {
            let out = write(s, All, "", name);
            if out == s { referred(s, Middle, |c| format!("&#{c};")) } else { out }
        }),
        d("named references for script letters", |s| write(s, All, "&<>", |c| lettered(c, "scr"))),
        d("named reference for a double-struck letter, the fifth", |s| {
            write(s, Fifth, "&<>", |c| lettered(c, "opf"))
        }),
        d("soft hyphens by name between all", |s| insert(s, All, "&shy;")),
        d("zero-width space by name in the middle", |s| insert(s, Middle, "&ZeroWidthSpace;")),
        d("zero-width joiner by name after the first four", |s| insert(s, Fifth, "&zwj;")),
        d("zero-width space by number between every third", |s| insert(s, Third, "&#8203;")),
        d("word joiner by name before the last", |s| insert(s, Last, "&NoBreak;")),
    ]
}

fn name(c: char) -> String {
    let name = match c {
        '_' => "lowbar",
        '.' => "period",
        '/' => "sol",
        '+' => "plus",
        '=' => "equals",
        ':' => "colon",
        '@' => "commat",
        '!' => "excl",
        '#' => "num",
        '$' => "dollar",
        '%' => "percnt",
        '*' => "ast",
        '&' => "amp",
        '<' => "lt",
        '>' => "gt",
        '"' => "quot",
        '\'' => "apos",
        '\\' => "bsol",
        '\n' => "NewLine",
        _ => return c.to_string(),
    };
    format!("&{name};")
}

/// The letter of a mathematical alphabet, which normalisation makes plain.
fn lettered(c: char, alphabet: &str) -> String {
    if c.is_ascii_alphabetic() { format!("&{c}{alphabet};") } else { format!("&#{};", u32::from(c)) }
}

fn tags() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "markup", put_on };
    vec![
        d("wbr between all", |s| between(s, All, "<wbr>")),
        d("wbr in the middle", |s| between(s, Middle, "<wbr>")),
        d("wbr after the first four", |s| between(s, Fifth, "<wbr/>")),
        d("empty b between every third", |s| between(s, Third, "<b></b>")),
        d("empty i before the last", |s| between(s, Last, "<i></i>")),
        d("comment in the middle", |s| between(s, Middle, "<!-- -->")),
        d("comment between all", |s| between(s, All, "<!---->")),
        d("comment with words and a line break after the first four", |s| {
            between(s, Fifth, "<!-- the rest\n follows > here -->")
        }),
        d("each in a span", |s| write(s, All, "", |c| format!("<span>{}</span>", plain(&c.to_string())))),
        d("each in a span with a class", |s| {
            write(s, All, "", |c| format!("<span class=\"nt\">{}</span>", plain(&c.to_string())))
        }),
        d("halves in two colours", |s| {
            let (one, two) = halves(s);
            format!("<font color=red>{}</font><font color=blue>{}</font>", plain(one), plain(two))
        }),
        d("highlighted in pieces of four", |s| {
            let piece = |p: &String| format!("<span class=\"s1\">{}</span>", plain(p));
            format!("<pre><code>{}</code></pre>", pieces(s, 4).iter().map(piece).collect::<String>())
        }),
        d("hidden words in the middle", |s| between(s, Middle, "<span style=\"display:none\">xyz</span>")),
        d("hidden words of size nought between every third", |s| {
            between(s, Third, "<i style='font-size:0'>q</i>")
        }),
        d("script element in the middle", |s| between(s, Middle, "<script>1</script>")),
        d("end tag without a start, in the middle", |s| between(s, Middle, "</b>")),
        d("tag with a > inside an attribute, in the middle", |s| between(s, Middle, "<b title=\"a>b\"></b>")),
        d("XML CDATA around the halves", |s| {
            let (one, two) = halves(s);
            format!("<k><![CDATA[{one}]]><![CDATA[{two}]]></k>")
        }),
        d("XML CDATA after the first four", |s| {
            let cut = after_four(s);
            format!("<k>{}<![CDATA[{}]]></k>", plain(&cut[0]), cut[1])
        }),
        d("XML processing instruction in the middle", |s| between(s, Middle, "<?x y?>")),
        d("XML entity declared and used", |s| {
            let (one, two) = halves(s);
            let value = plain(two).replace('&', "&#38;").replace('%', "&#37;").replace('"', "&#34;");
            format!("<!DOCTYPE k [<!ENTITY e \"{value}\">]><k>{}&e;</k>", plain(one))
        }),
        d("SVG tspans, each letter", |s| {
            let spans = write(s, All, "", |c| format!("<tspan>{}</tspan>", plain(&c.to_string())));
            format!("<svg><text>{spans}</text></svg>")
        }),
    ]
}

fn between(secret: &str, place: Where, what: &str) -> String {
    insert_in(secret, place, what, plain)
}

fn percent() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "percent", put_on };
    fn encoded(secret: &str, place: Where, sign: &str) -> String {
        write(secret, place, "%\n", |c| format!("{sign}{:02x}", u32::from(c)))
    }
    vec![
        d("percent, all", |s| encoded(s, All, "%")),
        d("percent, all, upper-case", |s| write(s, All, "", |c| format!("%{:02X}", u32::from(c)))),
        d("percent, every third", |s| encoded(s, Third, "%")),
        d("percent, the middle one", |s| encoded(s, Middle, "%")),
        d("percent, the fifth", |s| encoded(s, Fifth, "%")),
        d("percent, the last", |s| encoded(s, Last, "%")),
        d("percent of the marks only", |s| {
            let out = write(s, All, "", |c| {
                if c.is_ascii_alphanumeric() { c.to_string() } else { format!("%{:02X}", u32::from(c)) }
            });
            if out == s { encoded(s, Middle, "%") } else { out }
        }),
        d("percent twice, all", |s| encoded(s, All, "%25")),
        d("percent twice, the middle one", |s| encoded(s, Middle, "%25")),
        d("percent three times, all", |s| encoded(s, All, "%2525")),
        d("percent with its digits as percent, all", |s| {
            let digits = |c: char| {
                format!("{:02x}", u32::from(c)).bytes().map(|b| format!("%{b:02x}")).collect::<String>()
            };
            write(s, All, "", |c| format!("%25{}", digits(c)))
        }),
        d("%u, all", |s| write(s, All, "", |c| format!("%u{:04x}", u32::from(c)))),
        d("%u, the fifth", |s| write(s, Fifth, "%", |c| format!("%u{:04X}", u32::from(c)))),
        d("percent in a query", |s| format!("https://example.test/?q=1&k={}&z=2", encoded(s, Third, "%"))),
        d("percent in a data URL", |s| format!("data:text/plain,{}", encoded(s, All, "%"))),
        d("zero-width space as percent in the middle", |s| insert(s, Middle, "%E2%80%8B")),
    ]
}
