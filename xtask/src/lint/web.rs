//! What a browser is sent: modules are parsed by node, pictures as XML by Python, stylesheets here. Nothing of it loads anything from elsewhere.

use super::Found;
use super::tool::{Answer, Tools};

/// Parses a module and runs nothing of it.
const MODULE: &str =
    "new (require('vm').SourceTextModule)(require('fs').readFileSync(process.argv[1], 'utf8'))";

/// Prints `line: message` for what is no XML.
const XML: &str = "\
import sys, xml.parsers.expat as expat
try:
    expat.ParserCreate().Parse(open(sys.argv[1], 'rb').read(), True)
except expat.ExpatError as e:
    sys.exit(f'{e.lineno}: {e}')
";

pub(super) fn module(path: &str, text: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let mut found = elsewhere(text);
    let args = ["--no-warnings", "--experimental-vm-modules", "-e", MODULE, path];
    if let Answer::Bad(output) = tools.ask("node", &args)? {
        let why = output.lines().find(|line| line.contains("Error")).unwrap_or("it does not parse");
        found.push((1, format!("not a module: {}", why.trim())));
    }
    Ok(found)
}

pub(super) fn picture(path: &str, text: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let mut found = elsewhere(text);
    if let Answer::Bad(output) = tools.ask("python3", &["-I", "-c", XML, path])? {
        let (line, why) = output.trim().split_once(": ").unwrap_or(("1", "it does not parse"));
        found.push((line.parse().unwrap_or(1), format!("not a picture: {why}")));
    }
    Ok(found)
}

/// Braces that fit, comments that end, and nothing from elsewhere.
pub(super) fn stylesheet(text: &str) -> Vec<Found> {
    let mut found = elsewhere(text);
    let (mut depth, mut rest, mut line) = (0_i64, text, 1);
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else {
                found.push((line, "a comment without an end".to_owned()));
                return found;
            };
            line += comment[..end].matches('\n').count();
            rest = &comment[end + 2..];
            continue;
        }
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\n' => line += 1,
            _ => {}
        }
        if depth < 0 {
            found.push((line, "a brace that closes nothing".to_owned()));
            return found;
        }
        rest = &rest[c.len_utf8()..];
    }
    if depth > 0 {
        found.push((line, "a brace that is not closed".to_owned()));
    }
    found
}

fn elsewhere(text: &str) -> Vec<Found> {
    let loads = |line: &str| {
        // The name of a language and no address.
        let line = line.replace("http://www.w3.org/2000/svg", "");
        ["http://", "https://", "@import", "url(//"].iter().any(|it| line.contains(it))
    };
    let found = text.lines().enumerate().filter(|(_, line)| loads(line));
    found
        .map(|(n, _)| (n + 1, "it names something elsewhere; pages load nothing but our own".to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stylesheet_closes_what_it_opens_and_loads_nothing() {
        for (text, found) in [
            ("a { b: c }\n/* } */\n", None),
            ("@media print { a { b: c } }\n", None),
            ("a { b: c\n", Some("a brace that is not closed")),
            ("a }\n", Some("a brace that closes nothing")),
            ("/* a\n", Some("a comment without an end")),
            ("@import 'x';\n", Some("it names something elsewhere; pages load nothing but our own")),
        ] {
            let told: Vec<String> = stylesheet(text).into_iter().map(|(_, what)| what).collect();
            assert_eq!(told, found.into_iter().collect::<Vec<_>>(), "{text:?}");
        }
    }

    #[test]
    fn node_and_python_are_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-web-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in [
            ("good.js", "import './a.js';\nexport const x = 1;\n"),
            ("bad.js", "const x = ;\n"),
            ("good.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n"),
            ("bad.svg", "<svg>\n"),
        ] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        let mut tools = Tools::new(&dir);
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(module("good.js", &read("good.js"), &mut tools).unwrap(), []);
        assert_eq!(picture("good.svg", &read("good.svg"), &mut tools).unwrap(), []);
        let bad = [
            module("bad.js", &read("bad.js"), &mut tools).unwrap(),
            picture("bad.svg", &read("bad.svg"), &mut tools).unwrap(),
        ];
        let missing = tools.missing().count();
        assert_eq!(bad.iter().filter(|found| found.is_empty()).count(), missing, "{bad:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
