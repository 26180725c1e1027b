//! Git's configuration, read for what it makes git run.
//!
//! Nothing here decides for git: a line that is not understood counts as one that runs something.

/// One setting: its key as git compares it, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Section and name in small letters, without the subsection.
    key: String,
    value: String,
}

/// What a configuration sets; nothing where a line of it is not understood.
pub(super) fn read(text: &str) -> Option<Vec<Setting>> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text.lines().map(str::trim) {
        let rest = match line.strip_prefix('[') {
            Some(header) => {
                let (name, rest) = header_of(header)?;
                section = name;
                rest.trim()
            }
            None => line,
        };
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        // What goes on in the next line is seldom, and easily read wrongly.
        if rest.ends_with('\\') || section.is_empty() {
            return None;
        }
        let (name, value) = rest.split_once('=').unwrap_or((rest, "true"));
        let name = name.trim().to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return None;
        }
        settings.push(Setting { key: format!("{section}.{name}"), value: value_of(value)? });
    }
    Some(settings)
}

/// The section of a header, and what stands behind it in the line.
fn header_of(header: &str) -> Option<(String, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    let end = header.char_indices().find(|(_, letter)| {
        let closes = *letter == ']' && !quoted;
        quoted ^= *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        closes
    })?;
    let (inside, rest) = (&header[..end.0], &header[end.0 + 1..]);
    // `[section "sub"]` and the older `[section.sub]`.
    let section = inside.split([' ', '\t', '"', '.']).next()?.to_ascii_lowercase();
    (!section.is_empty()).then_some((section, rest))
}

/// Without quotes and comments; escapes stay as they are, because no value that is let through has any.
fn value_of(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut quoted = false;
    for letter in text.trim().chars() {
        match letter {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            letter => value.push(letter),
        }
    }
    (!quoted).then(|| value.trim_end().to_owned())
}

/// Settings that name no program, no other file and no other folder.
const HARMLESS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.abbrev",
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "remote.url",
    "remote.pushurl",
    "remote.fetch",
    "remote.push",
    "remote.tagopt",
    "remote.prune",
    "remote.mirror",
    "branch.remote",
    "branch.pushremote",
    "branch.merge",
    "branch.rebase",
    "branch.description",
    "branch.autosetuprebase",
    "branch.autosetupmerge",
    "branch.sort",
    "submodule.url",
    "submodule.active",
    "submodule.branch",
    "submodule.ignore",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.compatobjectformat",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "fetch.prune",
    "merge.conflictstyle",
    "merge.ff",
    "rebase.autostash",
    "rebase.autosquash",
    "rerere.enabled",
    "diff.algorithm",
    "diff.renames",
    "diff.colormoved",
    "color.ui",
    "gc.auto",
    "gc.autodetach",
    "maintenance.auto",
    "pack.threads",
    "index.version",
    "feature.manyfiles",
    "status.showuntrackedfiles",
    "commit.gpgsign",
    "tag.gpgsign",
];

impl Setting {
    /// Whether it makes git run no program and reach for no other files.
    pub(super) fn is_harmless(&self) -> bool {
        let is_address = self.key.ends_with("url");
        // `ext::sh -c …` is an address too, and one that begins with a hyphen is an option.
        let leads_to_a_program = is_address && (self.value.contains("::") || self.value.starts_with('-'));
        let signs = self.key.ends_with(".gpgsign") && !self.value.eq_ignore_ascii_case("false");
        HARMLESS.contains(&self.key.as_str()) && !leads_to_a_program && !signs
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The value where this is the key.
    pub(super) fn is(&self, key: &str) -> Option<&str> {
        (self.key == key).then_some(self.value.as_str())
    }
}

/// Whether there is a configuration for each work tree of the repository.
pub(super) fn has_one_per_worktree(text: &str) -> bool {
    // Asked of the text: one too many is covered rather than one too few.
    text.to_ascii_lowercase().contains("worktreeconfig")
}

/// Paths that a configuration takes settings from, and those it takes hooks from, as they are written; nothing where it is
/// not understood.
pub(super) fn leads(text: &str) -> Option<(Vec<String>, Vec<String>)> {
    let settings = read(text)?;
    let of = |wanted: &[&str]| {
        let is = |setting: &Setting| wanted.iter().find_map(|key| setting.is(key)).map(str::to_owned);
        settings.iter().filter_map(is).collect()
    };
    Some((of(&["include.path", "includeif.path"]), of(&["core.hookspath"])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn harm(text: &str) -> Option<Vec<String>> {
        let settings = read(text)?;
        Some(settings.iter().filter(|s| !s.is_harmless()).map(|s| s.key.clone()).collect())
    }

    #[test]
    fn what_git_and_its_clone_write_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
                    [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = \"A; B\" # c\n";
        assert_eq!(harm(text), Some(vec![]));
        assert_eq!(harm(""), Some(vec![]));
    }

    #[test]
    fn what_runs_something_is_found_however_it_is_written() {
        for (text, key) in [
            ("[core]\nfsmonitor = x\n", "core.fsmonitor"),
            ("[CORE] FsMonitor=x\n", "core.fsmonitor"),
            ("[core]\n\tbare = false\n[core] hooksPath = a\n", "core.hookspath"),
            ("[filter \"a]b\"]\nclean = x\n", "filter.clean"),
            ("[diff.a]\ntextconv = x\n", "diff.textconv"),
            ("[alias]\nst = !x\n", "alias.st"),
            ("[include]\npath = x\n", "include.path"),
            ("[includeIf \"gitdir:/\"]\npath = x\n", "includeif.path"),
            ("[remote \"o\"]\nurl = ext::sh -c x\n", "remote.url"),
            ("[remote \"o\"]\nuploadpack = x\n", "remote.uploadpack"),
            ("[submodule \"s\"]\nupdate = !x\n", "submodule.update"),
            ("[extensions]\npartialClone = o\n", "extensions.partialclone"),
            ("[extensions]\nworktreeConfig\n", "extensions.worktreeconfig"),
            ("[credential]\nhelper = !x\n", "credential.helper"),
            ("[commit]\ngpgsign = true\n", "commit.gpgsign"),
        ] {
            assert_eq!(harm(text), Some(vec![key.to_owned()]), "{text}");
        }
        for odd in [
            "fsmonitor = x\n",
            "[core\nfsmonitor = x",
            "[user]\nname = a\\\n[core]\n",
            "[a]\n\"\n",
            "[a]\nb = \"c\n",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]\"\\\\=#; a-z\n.]{0,200}") {
            let _ = (read(&text), leads(&text), has_one_per_worktree(&text));
        }
    }
}
