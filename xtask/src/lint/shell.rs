//! Shell scripts: bash parses them, and shellcheck has no complaint where it is installed.

use super::Found;
use super::tool::{Answer, Tools};

pub(super) fn check(path: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    if let Answer::Bad(output) = tools.ask("bash", &["-n", "--", path])? {
        return Ok(parse_bash(&output));
    }
    match tools.ask("shellcheck", &["--format=gcc", "--external-sources", "--", path])? {
        Answer::Bad(output) => Ok(parse_shellcheck(path, &output)),
        Answer::Good | Answer::NotInstalled => Ok(Vec::new()),
    }
}

/// Lines such as `a.sh: line 3: syntax error near unexpected token`; the place varies with the language.
fn parse_bash(output: &str) -> Vec<Found> {
    let first = output.lines().next().unwrap_or("bash refused it");
    let number = first.split(": ").find_map(|part| part.rsplit(' ').next()?.parse().ok());
    let message = first.rsplit_once(": ").map_or(first, |(_, message)| message);
    vec![(number.unwrap_or(1), format!("bash cannot parse it: {message}"))]
}

/// Lines such as `a.sh:3:5: warning: Double quote ... [SC2086]`.
fn parse_shellcheck(path: &str, output: &str) -> Vec<Found> {
    let complaints = output.lines().filter_map(|line| line.strip_prefix(path)?.strip_prefix(':'));
    let found: Vec<Found> = complaints.filter_map(parse_complaint).collect();
    if found.is_empty() { vec![(1, format!("shellcheck failed: {}", output.trim()))] } else { found }
}

fn parse_complaint(rest: &str) -> Option<Found> {
    let mut parts = rest.splitn(3, ':');
    let line = parts.next()?.parse().ok()?;
    Some((line, format!("shellcheck: {}", parts.nth(1)?.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_output(found: Vec<Found>, expected: &[(usize, &str)]) {
        let told: Vec<_> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn complaints_keep_their_line() {
        check_output(
            parse_bash("a.sh: line 3: syntax error: unexpected end of file\n"),
            &[(3, "bash cannot parse it: unexpected end of file")],
        );
        check_output(
            parse_shellcheck("a.sh", "a.sh:4:7: note: Double quote [SC2086]\n"),
            &[(4, "shellcheck: note: Double quote [SC2086]")],
        );
        check_output(parse_shellcheck("a.sh", "out of memory\n"), &[(1, "shellcheck failed: out of memory")]);
    }

    #[test]
    fn bash_is_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-shell-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("good.sh"), "#!/bin/sh\necho hello\n").unwrap();
        std::fs::write(dir.join("bad.sh"), "#!/bin/sh\nif true; then\n").unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(check("good.sh", &mut tools).unwrap(), []);
        assert_eq!(check("bad.sh", &mut tools).unwrap().len(), 1);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
