//! Modules of Nix: they open with a comment that says what they are for, and Nix parses them where it is installed.

use super::Found;
use super::tool::{Answer, Tools};

pub(super) fn check(path: &str, text: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    if !text.starts_with("# ") {
        found.push((1, "the file does not open with a comment: say what it is for".to_owned()));
    }
    // A store that is none: parsing needs no place on this machine.
    if let Answer::Bad(output) =
        tools.ask("nix-instantiate", &["--store", "dummy://", "--parse", "--", path])?
    {
        found.push(parse_complaint(&output));
    }
    Ok(found)
}

/// A line such as `error: syntax error, unexpected ';'`, and one such as `at /a/b.nix:1:7:`.
fn parse_complaint(output: &str) -> Found {
    let what =
        output.lines().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or("Nix refused it");
    let place = output.lines().find_map(|line| line.trim().strip_prefix("at "));
    let line = place.and_then(|place| place.trim_end_matches(':').rsplit(':').nth(1)?.parse().ok());
    (line.unwrap_or(1), format!("Nix cannot parse it: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_keep_their_line() {
        let said =
            "error: syntax error, unexpected ';'\n\n       at /a/b.nix:3:7:\n\n            3| { a = ; }\n";
        assert_eq!(
            parse_complaint(said),
            (3, "Nix cannot parse it: syntax error, unexpected ';'".to_owned())
        );
        assert_eq!(parse_complaint("out of memory\n"), (1, "Nix cannot parse it: Nix refused it".to_owned()));
    }

    #[test]
    fn nix_is_asked_and_a_first_comment_is_wanted() {
        let dir = std::env::temp_dir().join(format!("xtask-nix-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("good.nix"), "# Nothing.\n{ }\n").unwrap();
        std::fs::write(dir.join("bad.nix"), "{ a = ; }\n").unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(check("good.nix", "# Nothing.\n{ }\n", &mut tools).unwrap(), []);
        let found = check("bad.nix", "{ a = ; }\n", &mut tools).unwrap();
        assert_eq!(found.len(), 1 + usize::from(tools.missing().next().is_none()), "{found:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
