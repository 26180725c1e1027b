//! One way to start a program that is not ours: product code asks `holdfast-subprocess`, and `holdfast-git` for git. A bare `Command::new` would look
//! for the program in the caller's `PATH`, hand on the caller's environment, and leave out what keeps git from running what a repository says.
//!
//! The same holds for git, Python and a shell by name: `holdfast_subprocess::command("git")` would start it without those flags, and a shell starts
//! anything. At run time `holdfast_subprocess` refuses git and Python too, however the name was put together.
//!
//! Tests, benches and `xtask` start what they like.

use super::Found;

/// Where a program is started without them, and why. A place that starts none any more is a finding.
const ALLOWED: [(&str, &str); 11] = [
    ("crates/subprocess/src/lib.rs", "the one way itself"),
    (
        "crates/cage/src/run.rs",
        "the launcher of a cage, by its absolute path, with the exact environment of a plan",
    ),
    ("crates/cage/src/bin/holdfast-cage/inner.rs", "the caged program, inside its cage"),
    (
        "crates/credentials/src/command.rs",
        "a person's secret store, by the absolute path in their settings, isolated there",
    ),
    (
        "crates/doorman/src/program.rs",
        "systemd's programs on a target, with a narrower environment of its own",
    ),
    ("crates/holdfast/src/enrolment/hand.rs", "holdfast-tripwire beside this program, by its absolute path"),
    ("crates/holdfast/src/enrolment/hands.rs", "this program itself, by its absolute path"),
    ("crates/intruder/src/stage.rs", "a decoy for the attempts of a caged program"),
    ("crates/intruder/src/catalogue/privileges.rs", "a copy of itself, as an attempt"),
    ("crates/tripwire/src/charge.rs", "this program itself, by its absolute path, as the guard's user"),
    ("crates/tripwire/src/provider.rs", "the argument lists that a person wrote into the guard's settings"),
];

/// Crates that are in no product.
const FOR_TESTS: [&str; 3] = ["laws", "planter", "testkit"];

/// Calls of the C library that do the same, in whatever crate they are (`libc`, `nix`, `rustix`).
const CALLS: [&str; 12] = [
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "popen",
    "posix_spawn",
    "posix_spawnp",
];

/// Crates that start programs.
const CRATES: [&str; 5] = ["async_process", "cmd_lib", "duct", "run_script", "xshell"];

/// Crates that start git and Python with their flags.
const STARTERS: [&str; 2] = ["crates/git/", "crates/subprocess/"];

/// Where git, Python or a shell is named, and why that starts nothing unhardened. A place that names none any more is a finding.
const NAMED: [(&str, &str); 7] = [
    ("crates/cage/src/plan.rs", "looked for in folders, to find its settings"),
    ("crates/doorman/src/arrival.rs", "the shell of a user that is made on a target"),
    ("crates/doorman/src/survey.rs", "a fixed script on a target; nothing of a caller is in it"),
    ("crates/embed/src/fetch/pip.rs", "a module, for holdfast_subprocess::python"),
    ("crates/guard/src/pass/tokens.rs", "a word of texts"),
    ("crates/guard/src/scene.rs", "endings of file names"),
    (
        "crates/steward-host/src/collect/account.rs",
        "a fixed script on a target; nothing of a caller is in it",
    ),
];

/// A Rust file.
pub(super) fn check(path: &str, text: &str) -> Vec<Found> {
    if !is_product(path) {
        return Vec::new();
    }
    let tokens = without_tests(&tokens(text));
    let mut found = Vec::new();
    let starts = starts(&tokens);
    match (listed(&ALLOWED, path), starts.is_empty()) {
        (true, true) => found.push((1, format!("starts no program any more: {TAKE_OUT}"))),
        (true, false) => {}
        (false, _) => found.extend(starts.into_iter().map(|(line, what)| (line, complaint(&what)))),
    }
    if STARTERS.iter().any(|starter| path.starts_with(starter)) {
        return found;
    }
    let unhardened = tokens.iter().filter(|(_, word)| word == "unhardened_git");
    found.extend(
        unhardened.map(|(line, _)| (*line, "starts git without its flags: use holdfast_git".to_owned())),
    );
    let names = names(&tokens);
    match (listed(&NAMED, path), names.is_empty()) {
        (true, true) => found.push((1, format!("names no git, Python or shell any more: {TAKE_OUT}"))),
        (true, false) => {}
        (false, _) => found.extend(names),
    }
    found
}

const TAKE_OUT: &str = "take it out of xtask/src/lint/programs.rs";

fn listed(list: &[(&str, &str)], path: &str) -> bool {
    list.iter().any(|(listed, _)| *listed == path)
}

const SHELL: &str = "a shell runs what its text says: give exact arguments";

/// Texts that name git, Python or a shell, alone or at the end of a path.
fn names(tokens: &[Token]) -> Vec<Found> {
    let named = |text: &str| {
        let name = text.rsplit('/').next().unwrap_or_default();
        match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "git" | "git-receive-pack" | "git-shell" | "git-upload-archive" | "git-upload-pack" => {
                Some("use holdfast_git")
            }
            "python" | "pypy" | "pip" => Some("use holdfast_subprocess::python"),
            "sh" | "bash" | "busybox" | "ksh" | "zsh" => Some(SHELL),
            // Words of texts too.
            "dash" | "fish" if text.contains('/') => Some(SHELL),
            _ => None,
        }
    };
    let texts = tokens.iter().filter_map(|(line, token)| Some((*line, token.strip_prefix('"')?)));
    texts
        .filter_map(|(line, text)| {
            let instead = named(text)?;
            let why = format!(
                "`{text}` names a program: {instead}; or list the place with its reason in xtask/src/lint/programs.rs"
            );
            Some((line, why))
        })
        .collect()
}

fn complaint(what: &str) -> String {
    format!(
        "`{what}` starts a program by itself: use holdfast_subprocess, and holdfast_git for git; or list the place with its reason in \
         xtask/src/lint/programs.rs"
    )
}

/// A shell script: its Python takes no module from the folder it runs in.
pub(super) fn check_script(text: &str) -> Vec<Found> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    lines.filter(|(_, line)| runs_bare_python(line)).map(|(n, _)| (n + 1, BARE_PYTHON.to_owned())).collect()
}

const BARE_PYTHON: &str = "runs Python that takes modules from the folder it is in: write `python3 -I`";

/// `python3 -m venv`, `"$python" -c …`, `/usr/bin/python3 x.py`: an interpreter, and after it anything but `-I`.
fn runs_bare_python(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let program = pair[0]
            .trim_start_matches(['(', '"', '\'', '!', '$', '{', '`'])
            .trim_end_matches(['"', '\'', '}']);
        let is_python = matches!(program.rsplit('/').next(), Some("python" | "python3"));
        let is_run = pair[1].starts_with('-') || pair[1].trim_end_matches(['"', '\'']).ends_with(".py");
        is_python && is_run && pair[1] != "-I"
    })
}

fn is_product(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["crates", name, "src", rest @ ..] => {
            let is_test = |part: &&str| matches!(*part, "tests" | "tests.rs");
            !FOR_TESTS.contains(name) && !rest.iter().any(is_test)
        }
        _ => false,
    }
}

/// A word, a mark, or a text with a quote before it; and the line it is on.
type Token = (usize, String);

/// Where a program is started, and how it is written.
fn starts(tokens: &[Token]) -> Vec<(usize, String)> {
    let word = |at: usize| tokens.get(at).map_or("", |(_, text)| text.as_str());
    let mut names = vec!["Command".to_owned()];
    let mut found = Vec::new();
    // Another file could start programs by that name, and is read without this one.
    let is_pub = |at: usize| at > 0 && matches!(word(at - 1), "pub" | ")");
    let is_for_others = |at: usize| (0..at).rev().find(|&at| word(at) == "use").is_some_and(is_pub);
    for at in 0..tokens.len() {
        // `use … Command as Other`
        if names.iter().any(|name| name == word(at)) && word(at + 1) == "as" {
            names.push(word(at + 2).to_owned());
            if is_for_others(at) {
                found.push((tokens[at].0, format!("{} as {}", word(at), word(at + 2))));
            }
        }
        // `type Other = … Command;`
        if word(at) == "type" && word(at + 2) == "=" {
            let to = (at + 3..tokens.len()).take_while(|&at| word(at) != ";");
            if to.last().is_some_and(|last| names.iter().any(|name| name == word(last))) {
                names.push(word(at + 1).to_owned());
                if is_pub(at) {
                    found.push((tokens[at].0, format!("type {}", word(at + 1))));
                }
            }
        }
    }
    for (at, (line, _)) in tokens.iter().enumerate() {
        let is_crate = CRATES.contains(&word(at)) && word(at + 1) == ":" && word(at + 2) == ":";
        // `system` is a word of many: what is called so without a path is the C library's.
        let is_system = word(at) == "system"
            && word(at + 1) == "("
            && at > 0
            && !matches!(word(at - 1), "." | ":" | "fn");
        if CALLS.contains(&word(at)) || is_system || is_crate {
            found.push((*line, word(at).to_owned()));
        }
    }
    for (at, (line, _)) in tokens.iter().enumerate().skip(3) {
        let is_path = word(at - 1) == ":" && word(at - 2) == ":";
        let before = if word(at - 3) == ">" { at.saturating_sub(4) } else { at - 3 };
        let of = word(before);
        let is_clap = before >= 3 && word(before - 3) == "clap";
        let by_call = word(at) == "system" && matches!(of, "libc" | "unistd" | "c");
        if is_path && (by_call || (word(at) == "new" && !is_clap && names.iter().any(|name| name == of))) {
            found.push((*line, format!("{of}::{}", word(at))));
        }
    }
    found.sort();
    found
}

/// Words, marks and texts; what is in comments is left out, and what is in bytes.
fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut line) = (Vec::new(), 1);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = quoted(rest);
        let len = match bytes[at] {
            _ if skipped > 0 => {
                let is_of_bytes = rest.starts_with('b') || text[..at].ends_with('b');
                if let Some(inner) = inner(&rest[..skipped]).filter(|_| !is_of_bytes) {
                    tokens.push((line, format!("\"{inner}")));
                }
                skipped
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
                let len = rest.bytes().take_while(is_word).count();
                tokens.push((line, rest[..len].to_owned()));
                len
            }
            byte => {
                if !byte.is_ascii_whitespace() {
                    tokens.push((line, char::from(byte).to_string()));
                }
                1
            }
        };
        line += rest.as_bytes()[..len].iter().filter(|byte| **byte == b'\n').count();
        at += len;
    }
    tokens
}

/// What a text says, as it is written; nothing for a comment or a character.
fn inner(quoted: &str) -> Option<&str> {
    let text = match quoted.strip_prefix('r') {
        Some(raw) => raw.trim_matches('#'),
        None => quoted,
    };
    let text = text.strip_prefix('"')?;
    Some(text.strip_suffix('"').unwrap_or(text))
}

/// How long a comment, a text or a character here is; 0 for anything else.
fn quoted(rest: &str) -> usize {
    let until =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return until("*/", 2);
    }
    let raw = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r');
    if let Some(raw) = raw {
        let marks = raw.bytes().take_while(|byte| *byte == b'#').count();
        if raw[marks..].starts_with('"') {
            let from = rest.len() - raw.len() + marks + 1;
            return until(&format!("\"{}", "#".repeat(marks)), from);
        }
    }
    match rest.as_bytes() {
        [b'"', ..] => 1 + text_len(&rest.as_bytes()[1..]),
        // A character; a lifetime has no second quote.
        [b'\'', b'\\', _, ..] => until("'", 3),
        [b'\'', ..] => match rest[1..].chars().next().map(char::len_utf8) {
            Some(len) if rest[1 + len..].starts_with('\'') => len + 2,
            _ => 0,
        },
        _ => 0,
    }
}

/// Up to and including the closing quote.
fn text_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Without what is only built for tests: what stands after `#[cfg(test)]`, to the end of its block.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let is_mark = |at: usize| {
        tokens.len() >= at + MARK.len()
            && MARK.iter().zip(&tokens[at..]).all(|(mark, (_, word))| mark == word)
    };
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !is_mark(at) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut deep = 0_usize;
        for (_, word) in &tokens[at..] {
            at += 1;
            match word.as_str() {
                "{" => deep += 1,
                "}" if deep == 1 => break,
                "}" => deep = deep.saturating_sub(1),
                ";" if deep == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_planted(text: &str, lines: &[usize]) {
        let found: Vec<usize> = check("crates/a/src/b.rs", text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(found, lines, "{text}");
    }

    #[test]
    fn a_program_that_is_started_past_the_one_way_is_a_finding_however_it_is_written() {
        check_planted("fn f() { Command::new(\"nft\"); }\n", &[1]);
        check_planted("fn f() {\n    std::process::Command::new(program)\n}\n", &[2]);
        check_planted("fn f() { process::Command :: new(\"nft\") }\n", &[1]);
        check_planted("async fn f() { tokio::process::Command::new(\"ssh\") }\n", &[1]);
        check_planted("use std::process::Command as Start;\nfn f() { Start::new(\"nft\") }\n", &[2]);
        check_planted("use std::process::{Child, Command as C};\nfn f() { C::new(\"nft\") }\n", &[2]);
        check_planted("type Start = std::process::Command;\nfn f() { Start::new(\"nft\") }\n", &[2]);
        check_planted("use std::process::Command as A;\ntype B = A;\nfn f() { B::new(\"x\") }\n", &[3]);
        check_planted("fn f() { <Command>::new(\"nft\") }\n", &[1]);
        check_planted("fn f() { names.map(Command::new) }\n", &[1]);
        check_planted("fn f() { unsafe { libc::execvp(a, b) } }\n", &[1]);
        check_planted("fn f() { unsafe { libc::system(a) } }\n", &[1]);
        check_planted("use libc::{c_int, system};\nfn f() { unsafe { system(a) } }\n", &[2]);
        check_planted("use nix::unistd::execv;\nfn f() { execv(a, b) }\n", &[1, 2]);
        check_planted("use nix::unistd::execve as go;\nfn f() { go(a, b, c) }\n", &[1]);
        check_planted("fn f() { unsafe { rustix::runtime::execve(a, b, c) } }\n", &[1]);
        check_planted("use nix::spawn::*;\nfn f() { posix_spawnp(a) }\n", &[2]);
        check_planted("use tokio::process as p;\nasync fn f() { p::Command::new(x) }\n", &[2]);
        check_planted("use std::process::*;\nfn f() { Command::new(x).exec() }\n", &[2]);
        check_planted(
            "use std::os::unix::process::CommandExt as E;\nfn f() { E::exec(&mut Command::new(x)) }\n",
            &[2],
        );
        check_planted("pub use std::process::Command as Start;\n", &[1]);
        check_planted("mod a { pub use std::process::Command as Start; }\n", &[1]);
        check_planted("mod a;\npub(crate) use std::process::{Child, Command as Start};\n", &[2]);
        check_planted("pub(super) type Start = std::process::Command;\n", &[1]);
        check_planted("fn f() { duct::cmd(a, b) }\n", &[1]);
        check_planted("fn f() { let _ = '\"'; Command::new(\"nft\") }\n", &[1]);
        check_planted("fn f<'a>(x: &'a str) { Command::new(x) }\n", &[1]);
        check_planted("#[cfg(test)]\nmod tests { fn f() {} }\nfn g() { Command::new(\"nft\") }\n", &[3]);
        check_planted("#[cfg(test)]\nuse a::b;\nfn g() { Command::new(\"nft\") }\n", &[3]);
    }

    /// A later part of the product that starts one of them, in each way that there is.
    #[test]
    fn git_python_and_shells_by_name_are_findings() {
        for call in ["command", "isolated", "of_the_person", "find", "isolated_any"] {
            for name in [
                "git",
                "/usr/bin/git",
                "python3",
                "/usr/bin/python3.11",
                "python",
                "pip3",
                "sh",
                "/bin/bash",
                "/bin/dash",
            ] {
                check_planted(&format!("fn f() {{ holdfast_subprocess::{call}(\"{name}\") }}\n"), &[1]);
            }
        }
        check_planted("fn f() { isolated(Path::new(r\"/usr/bin/git\")) }\n", &[1]);
        check_planted("fn f() { isolated(Path::new(r#\"/usr/bin/git\"#)) }\n", &[1]);
        check_planted(
            "use holdfast_subprocess::command as c;\nconst P: &str = \"git\";\nfn f() { c(P) }\n",
            &[2],
        );
        check_planted("fn f() { command(\"env\").map(|c| c.args([\"git\", \"log\"])) }\n", &[1]);
        check_planted("fn f() { words(&[\"sh\", \"-c\", \"git log\"]) }\n", &[1]);
        check_planted("fn f() { git.with_program(Path::new(\"/usr/bin/python3\")) }\n", &[1]);
        check_planted("fn f() { holdfast_subprocess::unhardened_git(None) }\n", &[1]);
        check_planted("use holdfast_subprocess::unhardened_git as g;\nfn f() { g(None) }\n", &[1]);
        for starter in ["crates/git/src/run.rs", "crates/subprocess/src/python.rs"] {
            assert_eq!(
                check(starter, "fn f() { unhardened_git(None); find_any(\"git\") }\n"),
                [],
                "{starter}"
            );
        }
    }

    #[test]
    fn what_starts_nothing_in_a_product_is_none() {
        check_planted("//! `Command::new(\"git\")`\n/* Command::new */\n", &[]);
        check_planted("const A: &str = \"Command::new\";\nconst B: &str = r#\"\"Command::new\"#;\n", &[]);
        check_planted("fn f() { clap::Command::new(\"a\"); Vec::new(); MyCommand::new() }\n", &[]);
        check_planted("fn f() { holdfast_subprocess::command(\"nft\") }\n", &[]);
        check_planted("fn f() { Places::system(); self.system(); fn system() {} }\n", &[]);
        check_planted("// \"git\"\nconst A: &[u8] = b\"git\";\nconst B: &[u8] = br\"sh\";\n", &[]);
        check_planted("const A: &str = \"git config --global\";\nconst B: &str = \"digit\";\n", &[]);
        check_planted(
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn f() { if x {} Command::new(\"git\") }\n}\n",
            &[],
        );
        for path in
            ["crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "crates/testkit/src/a.rs", "xtask/src/a.rs"]
        {
            assert_eq!(check(path, "fn f() { Command::new(\"git\") }\n"), [], "{path}");
        }
    }

    #[test]
    fn a_place_that_is_listed_starts_something() {
        let (path, _) = ALLOWED[0];
        assert_eq!(check(path, "fn f() { Command::new(x) }\n"), []);
        assert_eq!(check(path, "fn f() {}\n").len(), 1);
        let (path, _) = NAMED[0];
        assert_eq!(check(path, "const A: &str = \"sh\";\n"), []);
        assert_eq!(check(path, "fn f() {}\n").len(), 1);
        assert!(ALLOWED.iter().chain(&NAMED).all(|(_, reason)| !reason.is_empty()));
    }

    #[test]
    fn a_script_runs_python_isolated() {
        for (line, bare) in [
            ("python3 -m venv x", true),
            ("if ! python3 -m pip --version; then", true),
            ("\"$python\" -m pip download", true),
            ("\"$FOLDER/bin/python\" -c 'x'", true),
            ("python3 tool.py", true),
            ("python3 -I -m venv x", false),
            ("\"$python\" -I -m pip download", false),
            ("# python3 -m venv", false),
            ("echo \"python3 needs pip\"", false),
        ] {
            assert_eq!(!check_script(line).is_empty(), bare, "{line}");
        }
    }
}
