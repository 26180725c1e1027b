//! Python files: the interpreter parses them. Nothing is run and no cache is written.

use super::Found;
use super::tool::{Answer, Tools};

/// Prints `line: message` for a file that does not parse.
const PARSE: &str = "\
import ast, sys
try:
    ast.parse(open(sys.argv[1], 'rb').read(), sys.argv[1])
except SyntaxError as e:
    sys.exit(f'{e.lineno or 1}: {e.msg}')
";

pub(super) fn check(path: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    Ok(match tools.ask("python3", &["-I", "-c", PARSE, path])? {
        Answer::Bad(output) => vec![parse(&output)],
        Answer::Good | Answer::NotInstalled => Vec::new(),
    })
}

fn parse(output: &str) -> Found {
    let told = output.trim();
    let (line, message) = told.split_once(": ").unwrap_or(("1", told));
    (line.parse().unwrap_or(1), format!("not Python: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("good.py"), "print('hello')\n").unwrap();
        std::fs::write(dir.join("bad.py"), "x = 1\ndef f(:\n").unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(check("good.py", &mut tools).unwrap(), []);
        let bad = check("bad.py", &mut tools).unwrap();
        assert!(bad.iter().all(|(line, _)| *line == 2), "{bad:?}");
        assert_eq!(bad.is_empty(), tools.missing().count() == 1, "a finding, unless there is no interpreter");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_line_is_kept() {
        assert_eq!(parse("7: invalid syntax\n"), (7, "not Python: invalid syntax".to_owned()));
        assert_eq!(parse("killed\n"), (1, "not Python: killed".to_owned()));
    }
}
