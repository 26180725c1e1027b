//! Git's configuration, read for what it makes git run.
//!
//! Read to the byte as git reads it: a value that git takes otherwise than we do would be judged for what it is not. What
//! git stops at is not understood here either.

mod given;
mod parse;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(crate) use given::given;
pub(super) use parse::read;

/// One setting: its key as git compares it, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Section and name in small letters, without the subsection.
    key: String,
    value: Vec<u8>,
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
        let has = |part: &[u8]| self.value.windows(part.len()).any(|window| window == part);
        // Where a branch's remote is no name, it is an address.
        let is_address =
            self.key.ends_with("url") || ["branch.remote", "branch.pushremote"].contains(&self.key.as_str());
        // `ext::sh -c …` is an address too, and one that begins with a hyphen is an option.
        let leads_to_a_program = is_address && (has(b"::") || self.value.starts_with(b"-"));
        let signs = self.key.ends_with(".gpgsign") && !self.value.eq_ignore_ascii_case(b"false");
        // Some have an address in them.
        let is_stored_elsewhere = self.key == "extensions.refstorage" && has(b":");
        HARMLESS.contains(&self.key.as_str()) && !leads_to_a_program && !signs && !is_stored_elsewhere
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The value where this is one of the keys.
    pub(super) fn is(&self, keys: &[&str]) -> Option<&Path> {
        keys.contains(&self.key.as_str()).then(|| Path::new(OsStr::from_bytes(&self.value)))
    }

    /// Whether a word of it may name a program or its file. An alias for a command of git's own has git's names in it.
    pub(super) fn may_run(&self, word: &Path) -> bool {
        let is_a_path = word.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'/' | b'.'));
        is_a_path || !self.key.starts_with("alias.") || self.value.starts_with(b"!")
    }

    /// What in it could be a program or its file, in a line that a shell reads: `sh monitor` names the file `monitor`.
    pub(super) fn words(&self) -> impl Iterator<Item = &Path> {
        let parts = self.value.split(|byte| byte.is_ascii_whitespace() || b"\"'!;&|()<>=$".contains(byte));
        parts.filter(|part| !part.is_empty()).map(|part| Path::new(OsStr::from_bytes(part)))
    }
}

/// Whether there is a configuration for each work tree of the repository.
pub(super) fn has_one_per_worktree(settings: &[Setting]) -> bool {
    settings.iter().any(|setting| setting.key == "extensions.worktreeconfig")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn harm(text: &str) -> Option<Vec<String>> {
        let settings = read(text.as_bytes())?;
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
            ("[branch \"b\"]\nremote = ext::sh -c x\n", "branch.remote"),
            ("[branch \"b\"]\npushRemote = ext::sh -c x\n", "branch.pushremote"),
        ] {
            assert_eq!(harm(text), Some(vec![key.to_owned()]), "{text}");
        }
        for odd in [
            "fsmonitor = x\n",
            "[core\nfsmonitor = x",
            "[a]\n\"\n",
            "[a]\nx = \\q\n",
            "[a]\nx = y\0\n",
            "[a ]\nx = 1\n",
            "[a]\n1x = 2\n",
            "[a]\nb = \"c\n",
        ] {
            assert_eq!(read(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn values_are_what_git_makes_of_them() {
        for (text, value) in [
            ("x = \"\" -x", "-x"),
            ("x = \"y \" # z", "y "),
            ("x = a \\\"b", "a \"b"),
            ("x = a\tb  ", "a\tb"),
            ("x = a\\\r\n b", "a b"),
            ("x = a;b", "a"),
            ("x = 1 [b] y", "1 [b] y"),
            ("x", "true"),
            ("x =", ""),
        ] {
            let read = read(format!("\u{feff}[a \"q]\\\"\"]{text}").as_bytes()).unwrap();
            assert_eq!(read, [Setting { key: "a.x".to_owned(), value: value.as_bytes().to_vec() }], "{text}");
        }
        assert_eq!(read(b"[core]hooksPath=h\xf6k\n").unwrap()[0].value, b"h\xf6k", "any bytes are a path");
        assert_eq!(read(b"[core]\nx = y\\\n[user]\n").unwrap().len(), 1, "a line that goes on");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]\"\\\\=#; a-z\n.]{0,200}") {
            let read = read(text.as_bytes()).unwrap_or_default();
            let _ = (has_one_per_worktree(&read), read.iter().map(|setting| setting.words().count()).sum::<usize>());
        }
    }
}
