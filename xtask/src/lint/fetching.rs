//! What is fetched, in shell scripts and Makefiles: by version and hash, and nothing of it runs before its hash was checked.
//!
//! `scripts/pinned.sh` is how to do it right. The lint reads commands as text, so it sees those that are written out; one that is put together
//! from variables it does not see.

use super::{Found, makefile};

/// Commands that would fetch something nobody has pinned.
pub(super) fn check(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (number, line) in makefile::joined(text) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for command in line.replace("||", ";").replace("&&", ";").split(';') {
            // The words of every part of a pipe.
            let stages: Vec<Vec<&str>> = command.split('|').map(words).collect();
            let is_only_said =
                stages.first().and_then(|words| words.first()).is_some_and(|word| is_said(word));
            found.extend(complaint(&stages).filter(|_| !is_only_said).map(|what| (number, what)));
        }
    }
    found
}

const BY: &str = "fetch it with scripts/pinned.sh";

fn complaint(stages: &[Vec<&str>]) -> Option<String> {
    let fetches = |words: &Vec<&str>| words.iter().any(|word| ["curl", "wget"].contains(&name(word)));
    let runs = |words: &Vec<&str>| {
        let shells = ["sh", "bash", "dash", "zsh", "python", "python3", "perl", "node"];
        words.iter().take(4).any(|word| shells.contains(&name(word)))
    };
    if let Some(at) = stages.iter().position(fetches)
        && stages.iter().skip(at).any(runs)
    {
        return Some(format!("what is downloaded is run unchecked: {BY}"));
    }
    stages.iter().find_map(|words| of_one(words))
}

fn of_one(words: &[&str]) -> Option<String> {
    let has = |flag: &str| {
        words
            .iter()
            .any(|word| *word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    };
    // The word after a program's name, and after its own options.
    let called = |program: &str, deeds: &[&str]| {
        let mut at = words.iter().enumerate().filter(|(_, word)| name(word) == program).map(|(at, _)| at);
        at.any(|at| {
            words[at + 1..]
                .iter()
                .find(|word| !word.starts_with(['-', '+']))
                .is_some_and(|word| deeds.contains(word))
        })
    };
    let pip = ["pip", "pip3"].iter().any(|pip| called(pip, &["install", "download", "wheel"]));
    if pip && !(has("--require-hashes") && (has("--only-binary") || has("--no-build-isolation"))) {
        return Some(format!(
            "pip without --require-hashes and --only-binary believes whatever it is given: {BY}"
        ));
    }
    if called("npm", &["install", "i", "in", "add", "update", "up", "exec", "x", "create", "init", "link"])
        || ["npx", "yarn", "pnpm", "bunx"]
            .iter()
            .any(|program| words.first().is_some_and(|word| name(word) == *program))
    {
        return Some(format!("only `npm ci` keeps to a lock file: {BY}"));
    }
    if called("npm", &["ci", "clean-install"]) && !has("--ignore-scripts") {
        return Some("npm without --ignore-scripts runs what it fetched".to_owned());
    }
    if called("cargo", &["install"]) && !(has("--locked") && has("--path")) {
        return Some(format!(
            "cargo install without --locked and --path checks a crate against the registry's own list alone: {BY}"
        ));
    }
    if called("cargo", &["binstall"]) || called("go", &["install", "get"]) || called("gem", &["install"]) {
        return Some(format!("it fetches what nobody has pinned: {BY}"));
    }
    let unsigned =
        ["--allow-unauthenticated", "--no-gpg-check", "--force-yes", "--allow-insecure-repositories"];
    if unsigned.iter().any(|flag| has(flag)) || words.iter().any(|word| word.contains("trusted=yes")) {
        return Some("packages are taken without their signature".to_owned());
    }
    None
}

/// Such as `pip` for `"$FOLDER/bin/pip"`.
fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn words(stage: &str) -> Vec<&str> {
    let words = stage.split([' ', '\t', '"', '\'', '`', '<', '>', '@', '$', '(', ')', '{', '}']);
    words.filter(|word| !word.is_empty()).collect()
}

fn is_said(word: &str) -> bool {
    ["echo", "printf", "fail", "say", "cannot", "usage", "warn"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let found = check(text);
        assert!(found.iter().any(|(_, what)| what.contains(why)), "{text}: {found:?}");
    }

    #[test]
    fn what_is_fetched_without_a_hash_is_a_finding() {
        refused("pip install aiosmtpd==1.4.6\n", "--require-hashes");
        refused(
            "\"$FOLDER/bin/pip\" install --only-binary :all: \"${PACKAGES[@]}\" >&2 || fail x\n",
            "--require-hashes",
        );
        refused("\"$python\" -I -m pip --quiet download --no-deps x\n", "--require-hashes");
        refused("  python3 -m pip install \\\n    --quiet x\n", "--require-hashes");
        refused("sudo pip3 install --require-hashes -r x.txt\n", "--only-binary");
        refused("if ! npm install --prefix \"$folder\" x; then\n", "npm ci");
        refused("npm --prefix=x i\n", "npm ci");
        refused("npx some-tool\n", "npm ci");
        refused("npm ci --prefix x\n", "--ignore-scripts");
        refused("\tcargo install --locked --version 1.0.0 cargo-deb\n", "registry's own list");
        refused("cargo +nightly install --path x\n", "registry's own list");
        refused("cd x && cargo binstall x\n", "nobody has pinned");
        refused("curl -sSf https://example.invalid/x.sh | sh -s -- -y\n", "unchecked");
        refused("wget -qO- https://example.invalid/x |\\\n  sudo bash\n", "unchecked");
        refused("bash -c \"$(curl -sSf https://example.invalid/x)\"\n", "unchecked");
        refused("bash <(curl -s https://example.invalid/x)\n", "unchecked");
        refused("apt-get install --allow-unauthenticated x\n", "signature");
        refused(
            "echo 'deb [trusted=yes] http://example.invalid x main' >x\ncp 'trusted=yes' x\n",
            "signature",
        );
    }

    #[test]
    fn what_is_pinned_or_only_said_is_none() {
        let good = "# pip install x\n\
            pip install --no-deps --only-binary :all: --require-hashes -r x.txt\n\
            \"$1\" -I -m pip install \\\n  --only-binary :all: \\\n  --require-hashes -r x.txt\n\
            npm ci --ignore-scripts --no-audit\n\
            cargo install --quiet --locked --path \"$CANDLE\" --root x\n\
            cargo build; npm view x || bash x\n\
            curl -o x https://example.invalid/x || bash y\n\
            echo \"run pip install x\"\n\
            apt-get install -y curl wget\n";
        assert_eq!(check(good), []);
    }
}
