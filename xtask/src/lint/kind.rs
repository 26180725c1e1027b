//! What kind of file this is, by its name and, for programs without an extension, by its first line.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rust,
    Toml,
    Json,
    Yaml,
    Markdown,
    Shell,
    Python,
    Nix,
    /// A module for browsers.
    Module,
    Stylesheet,
    /// A picture as SVG.
    Picture,
    Makefile,
    /// A unit of systemd.
    Unit,
    /// A JSON value on every line.
    JsonLines,
    /// Users and groups for `systemd-sysusers`.
    Users,
    /// Files and directories for `systemd-tmpfiles`.
    Places,
    /// A snapshot of `insta`: shows output as it is, so its lines may end in spaces.
    Snapshot,
    /// Text with no grammar of its own, such as a licence.
    Plain,
}

/// `None` for a kind nobody has written a validator for; that is a finding, so that no file goes unchecked.
pub(super) fn of(path: &str, text: &str) -> Option<Kind> {
    by_name(name(path)).or_else(|| by_extension(path)).or_else(|| by_first_line(path, text))
}

/// How a finding speaks of a kind it does not know.
pub(super) fn describe(path: &str) -> String {
    match extension(path) {
        Some(extension) => format!(".{extension}"),
        None => format!("a file named {}", name(path)),
    }
}

fn by_name(name: &str) -> Option<Kind> {
    match name {
        "Makefile" => Some(Kind::Makefile),
        "Cargo.lock" => Some(Kind::Toml),
        "LICENSE" | "NOTICE" | ".gitignore" | ".gitattributes" | ".editorconfig" | ".gitkeep"
        | "rust-toolchain" => Some(Kind::Plain),
        _ => None,
    }
}

fn by_extension(path: &str) -> Option<Kind> {
    match extension(path)? {
        "rs" => Some(Kind::Rust),
        "toml" => Some(Kind::Toml),
        "json" => Some(Kind::Json),
        "jsonl" => Some(Kind::JsonLines),
        "yaml" | "yml" => Some(Kind::Yaml),
        "md" => Some(Kind::Markdown),
        "sh" | "bash" => Some(Kind::Shell),
        "py" => Some(Kind::Python),
        "nix" => Some(Kind::Nix),
        "js" => Some(Kind::Module),
        "css" => Some(Kind::Stylesheet),
        "svg" => Some(Kind::Picture),
        "mk" => Some(Kind::Makefile),
        "service" | "socket" | "timer" | "path" | "target" | "slice" | "mount" => Some(Kind::Unit),
        "conf" => by_folder(path),
        "snap" => Some(Kind::Snapshot),
        "txt" => Some(Kind::Plain),
        _ => None,
    }
}

/// Many programs call their files `.conf`; the folder says whose it is.
fn by_folder(path: &str) -> Option<Kind> {
    match path.rsplit('/').nth(1)? {
        "sysusers.d" => Some(Kind::Users),
        "tmpfiles.d" => Some(Kind::Places),
        _ => None,
    }
}

/// Only for names without an extension: a known extension has decided, an unknown one needs a validator.
fn by_first_line(path: &str, text: &str) -> Option<Kind> {
    if extension(path).is_some() {
        return None;
    }
    let program = text.lines().next()?.strip_prefix("#!")?;
    let named = |names: &[&str]| program.split(['/', ' ']).any(|word| names.contains(&word));
    if named(&["sh", "bash", "dash"]) {
        Some(Kind::Shell)
    } else if named(&["python3", "python"]) {
        Some(Kind::Python)
    } else {
        None
    }
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A leading dot makes a hidden file, not an extension.
fn extension(path: &str) -> Option<&str> {
    name(path).rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: Option<Kind>) {
        assert_eq!(of(path, text), expected, "{path}");
    }

    #[test]
    fn names_and_extensions_decide() {
        check("a/b.rs", "", Some(Kind::Rust));
        check("Cargo.lock", "", Some(Kind::Toml));
        check(".gitignore", "", Some(Kind::Plain));
        check("LICENSE", "", Some(Kind::Plain));
        check("x.yml", "", Some(Kind::Yaml));
        check("a/b.foo", "#!/bin/sh\n", None);
        check("a/b.nix", "", Some(Kind::Nix));
        check("a/b.timer", "", Some(Kind::Unit));
        check("a/sysusers.d/b.conf", "", Some(Kind::Users));
        check("tmpfiles.d/b.conf", "", Some(Kind::Places));
        check("a/b.conf", "", None);
        check(".hidden", "", None);
    }

    #[test]
    fn a_program_without_an_extension_is_known_by_its_first_line() {
        check("hooks/pre-commit", "#!/usr/bin/env bash\n", Some(Kind::Shell));
        check("bin/run", "#!/bin/sh -eu\n", Some(Kind::Shell));
        check("bin/run", "#!/usr/bin/env python3\n", Some(Kind::Python));
        check("bin/run", "#!/usr/bin/env fish\n", None);
        check("bin/run", "", None);
    }
}
