//! What is laid over every setting that a user, a machine or a repository has, and the few flags that have no setting.
//!
//! Settings of git 2.39 to 2.47 that name a program, and what keeps each from being run:
//!
//! | setting | kept from running by |
//! |---|---|
//! | `core.fsmonitor`, `core.hooksPath`, `core.alternateRefsCommand`, `core.pager`, `core.editor`, `sequence.editor`, `core.askPass`, `core.sshCommand`, `credential.helper` | laid over below; `GIT_*` of the same name too |
//! | `gpg.program`, `gpg.*.program`, `gpg.ssh.defaultKeyCommand` | laid over below; nothing is verified unless [`crate::Ask::allowed_signers`] is set |
//! | `diff.external`, `diff.*.command`, `diff.*.textconv` | `--no-ext-diff --no-textconv`, added to each verb that compares |
//! | `remote.*.uploadpack`, `remote.*.receivepack`, `remote.*.vcs`, `core.gitProxy`, `url.*.insteadOf`, `extensions.partialClone` | no protocol and no lazy fetch, unless [`crate::Network`] says so for this call; then an address of ours, and programs of ours |
//! | `filter.*`, `merge.*.driver`, `trailer.*.command`, `tar.*.command`, `alias.*`, `submodule.*.update`, `mergetool`, `difftool`, `man.*`, `browser.*`, `sendemail.*`, `interactive.diffFilter` | no verb that runs them is among [`VERBS`] |
//! | `uploadpack.packObjectsHook`, `safe.*`, `trace2.*` | git does not take them from a repository |
//! | `gc.recentObjectsHook` | only `prune` runs it, which is called for repositories of ours whose settings we wrote |
//!
//! What a repository has beside its objects could also hide some of them: replaced objects, grafts, and what git keeps to be faster (`commit-graph`,
//! `multi-pack-index`), which it believes unread. None of it is heard.

use std::ffi::OsString;

/// The environment of every call; nothing else is in it.
pub(crate) const ENVIRONMENT: [(&str, &str); 17] = [
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // Where none is, nothing is said of it.
    ("GIT_GRAFT_FILE", "/nonexistent"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Either would do for a lazy fetch; git 2.39 has no option for it.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
];

/// Laid over whatever a repository's own settings say.
pub(crate) const SETTINGS: [&str; 40] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.askPass=",
    "core.commitGraph=false",
    "core.editor=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.fsync=all",
    "core.fsyncMethod=batch",
    "core.multiPackIndex=false",
    "credential.helper=",
    "diff.submodule=short",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.ssh.defaultKeyCommand=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "http.followRedirects=false",
    "http.lowSpeedTime=30",
    "log.mailmap=false",
    "log.showSignature=false",
    "maintenance.auto=false",
    "pack.writeReverseIndex=false",
    "protocol.allow=never",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "receive.autogc=false",
    "safe.bareRepository=explicit",
    // Who owns it is looked at here, before git is started.
    "safe.directory=*",
    "sequence.editor=false",
    "submodule.recurse=false",
    "tag.gpgSign=false",
    "commit.gpgSign=false",
    "transfer.bundleURI=false",
];

/// What git may be asked, and what is always added. A verb that is not here would run a program of a repository somewhere, or nobody has looked yet
/// whether it does.
pub(crate) const VERBS: [(&str, &[&str]); 23] = [
    ("bundle", &[]),
    ("cat-file", &[]),
    ("commit-tree", &[]),
    ("config", &[]),
    ("diff-index", COMPARE),
    ("diff-tree", COMPARE),
    ("for-each-ref", &[]),
    ("fsck", &[]),
    ("hash-object", &[]),
    ("index-pack", &[]),
    ("init", &["--template="]),
    ("log", COMPARE),
    ("ls-remote", &[]),
    ("ls-tree", &[]),
    ("mktree", &[]),
    ("prune", &[]),
    ("push", &["--no-verify"]),
    ("repack", &[]),
    ("rev-list", &[]),
    ("rev-parse", &[]),
    ("unpack-objects", &[]),
    ("update-ref", &[]),
    ("version", &[]),
];

const COMPARE: &[&str] = &["--no-ext-diff", "--no-textconv"];

/// Options by which a verb above would run a program after all.
const NEVER: [&str; 8] = [
    "--ext-diff",
    "--textconv",
    "--filters",
    "--show-signature",
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--path",
];

/// What is added to these arguments, which begin with a verb; or why git is not asked.
pub(crate) fn added(args: &[&str]) -> Result<&'static [&'static str], &'static str> {
    let verb = args.first().copied().unwrap_or_default();
    let (_, added) =
        VERBS.iter().find(|(known, _)| *known == verb).ok_or("it is not among the verbs that run nothing")?;
    let options = args.iter().take_while(|arg| !matches!(**arg, "--" | "--end-of-options"));
    let runs = |arg: &&str| NEVER.iter().any(|never| arg.split('=').next() == Some(never));
    match options.clone().any(runs) {
        true => Err("it has an option that runs a program"),
        false => Ok(added),
    }
}

/// Settings that are a person's to say, where what they say is the question.
const OF_A_PERSON: [&str; 2] = ["core.hooksPath=", "safe.directory="];

/// Settings as arguments, before the verb.
pub(crate) fn as_arguments(also: AlsoOf) -> impl Iterator<Item = OsString> {
    let is_theirs = |setting: &str| OF_A_PERSON.iter().any(|name| setting.starts_with(name));
    let laid_over = SETTINGS.into_iter().filter(move |setting| also == AlsoOf::Nobody || !is_theirs(setting));
    ["--no-pager", "--literal-pathspecs"]
        .into_iter()
        .chain(laid_over.flat_map(|setting| ["-c", setting]))
        .map(OsString::from)
}

/// Whose settings count beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlsoOf {
    Nobody,
    /// For a question that runs nothing: where hooks lie, which folders are safe.
    ThePerson,
}

/// How git serves a repository on this machine to a call of ours that names it: the same settings for the program at the other end, which does not
/// inherit them. A fixed text, since git hands it to a shell.
pub(crate) fn served_by(service: &str) -> String {
    let at_the_other_end = [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.alternateRefsCommand=true",
        "receive.autogc=false",
        "receive.denyCurrentBranch=refuse",
        "gc.auto=0",
        "maintenance.auto=false",
    ];
    let settings: String = at_the_other_end.iter().map(|setting| format!(" -c {setting}")).collect();
    format!("git{settings} {service}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_that_compares_never_runs_a_program_to_do_so() {
        for verb in ["log", "diff-tree", "diff-index"] {
            assert_eq!(added(&[verb, "HEAD"]), Ok(COMPARE), "{verb}");
        }
        for wrong in [
            &["checkout", "main"][..],
            &["diff"],
            &["status"],
            &["archive", "HEAD"],
            &["-c", "log"],
            &["log", "--ext-diff"],
            &["log", "--show-signature"],
            &["cat-file", "--textconv", "HEAD:a"],
            &["cat-file", "--filters", "HEAD:a"],
            &["hash-object", "--stdin", "--path=a"],
            &["ls-remote", "--upload-pack=id", "x"],
            &[],
        ] {
            assert!(added(wrong).is_err(), "{wrong:?}");
        }
        assert!(added(&["log", "--", "--ext-diff"]).is_ok(), "a path may be called anything");
    }
}
