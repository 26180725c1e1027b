//! The table: every command there is, with arguments that make sense.

/// One command with arguments. Capital words stand for what [`super::scene::Scene`] has ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// As `holdfast help` names it.
    pub(crate) command: &'static str,
    pub(crate) args: &'static [&'static str],
    pub(crate) deed: Deed,
}

/// What a row does to the home or to other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Looks, prints.
    Reads,
    /// Changes something, so it takes `--dry-run`.
    Changes,
}

const fn reads(command: &'static str, args: &'static [&'static str]) -> Row {
    Row { command, args, deed: Deed::Reads }
}

const fn changes(command: &'static str, args: &'static [&'static str]) -> Row {
    Row { command, args, deed: Deed::Changes }
}

/// In an order in which one home can take them, except that `down` stops what answers the others.
pub(crate) const TABLE: &[Row] = &[
    reads("demo", &["--fast"]),
    changes("init", &[]),
    changes(
        "up",
        &[
            "--set",
            "health.listen=ADDRESS",
            "--set",
            "log.level=error",
            "--set",
            "verify.every_hours=0",
            "--set",
            "gateway.enabled=false",
        ],
    ),
    reads("status", &[]),
    reads("doctor", &[]),
    reads("doctor", &["--list"]),
    changes("pause", &["--all", "--reason", "moving house", "--actor", "ana"]),
    changes("resume", &["--all", "--actor", "ana"]),
    changes("gateway link", &["ana", "--actor", "ana"]),
    reads("gateway people", &[]),
    reads("gateway links", &[]),
    reads("gateway authority", &[]),
    reads("approvals list", &[]),
    reads("approvals list", &["--all"]),
    reads("approvals show", &["apr_01arz3ndektsv4rrffq69g5fav"]),
    changes("approve", &["apr_01arz3ndektsv4rrffq69g5fav", "--yes"]),
    changes("reject", &["apr_01arz3ndektsv4rrffq69g5fav", "--yes", "--reason", "not on a Friday"]),
    reads("steward status", &[]),
    reads("steward episodes", &[]),
    reads("steward show", &["ep_1"]),
    reads("steward history", &[]),
    reads("steward metrics", &[]),
    changes("steward trigger", &[]),
    changes("steward level", &["box-1", "observe"]),
    changes("steward rollback", &[]),
    changes("steward accept", &["box-1"]),
    changes("steward reset", &["box-1"]),
    changes("steward review", &["ep_1"]),
    changes("steward rehearsed", &["box-1", "rollback"]),
    changes("steward approve", &["ep_1", "--yes"]),
    changes("steward reject", &["ep_1", "--yes", "--reason", "not on a Friday"]),
    reads("steward report", &[]),
    reads("steward detect", &["SERIES"]),
    changes("steward calibrate", &["SERIES"]),
    changes("steward pause", &["--reason", "moving house", "--actor", "ana"]),
    changes("steward resume", &["--actor", "ana"]),
    // Nobody listens there: what these do to a host is shown elsewhere, on real ones.
    changes(
        "target add",
        &["root@127.0.0.1", "--port", "1", "--name", "box-9", "--unit", "web.service", "--yes"],
    ),
    reads("target show", &[]),
    reads("target check", &["box-9"]),
    changes("target guard", &["box-9", "--reference", "127.0.0.1:1", "--yes"]),
    changes("target remove", &["box-9", "--yes"]),
    changes("memory add", &["The gateway of staging listens on port 9096.", "--actor", "ana"]),
    changes("memory import", &["LINES", "--actor", "ana"]),
    changes("memory read", &["NOTES", "--agent", "scout", "--actor", "ana"]),
    // Nobody says anything: what it does with an event is shown elsewhere.
    changes("memory hook", &["--agent", "scout"]),
    reads("memory search", &["which port does the gateway use?"]),
    reads("memory search", &["--batch", "QUERIES"]),
    reads("memory pack", &["move the gateway to another port"]),
    reads("memory show", &["MEMORY"]),
    changes("memory cite", &["MEMORY", "--actor", "ana"]),
    changes("memory share", &["MEMORY", "--with", "scout", "--actor", "ana"]),
    changes("memory unshare", &["MEMORY", "--with", "scout", "--actor", "ana"]),
    changes("memory consolidate", &["--actor", "ana"]),
    // Not a repository: what is learnt from one is shown elsewhere, with the real git.
    changes("memory experience mine", &["BESIDE"]),
    reads("memory experience match", &["connection refused"]),
    changes("memory notes", &["--actor", "ana", "--agent", "nobody"]),
    reads("memory stats", &[]),
    reads("memory export", &[]),
    changes("memory forget", &["MEMORY", "--yes", "--actor", "ana"]),
    reads("memory prove-forgotten", &["MEMORY"]),
    // Nothing is there: what these do with a real model is shown elsewhere.
    changes("model fetch", &["--from", "NOWHERE"]),
    reads("model verify", &[]),
    reads("model info", &[]),
    reads("config show", &["--changed"]),
    reads("config check", &[]),
    changes("config reload", &[]),
    reads("config example", &[]),
    reads("config schema", &[]),
    reads("egress show", &[]),
    reads("egress check", &[]),
    reads("egress refusals", &[]),
    reads("notice list", &[]),
    changes("notice raise", &["the fan is loud", "--actor", "ana"]),
    changes("notice test", &[]),
    reads("disk", &[]),
    changes("rebuild", &[]),
    changes("backup", &[]),
    changes("export", &["--out", "OUT"]),
    changes("support-bundle", &["--out", "OUT"]),
    reads("scan", &["TEXT"]),
    reads("redact", &["TEXT"]),
    changes("cage run", &["--policy", "loud", "--", "true"]),
    reads("cage explain", &["--policy", "loud"]),
    changes("hook install", &["--repo", "NOWHERE"]),
    changes("hook remove", &["--repo", "NOWHERE"]),
    reads("hook status", &["--repo", "NOWHERE"]),
    changes("audit log", &["--actor", "ana", "--kind", "captain.note.added", "--body", "{\"n\":7}"]),
    reads("audit tail", &["-n", "1"]),
    reads("audit verify", &[]),
    changes("audit prove", &["4"]),
    reads("audit prove", &["--check", "PROOF"]),
    reads("audit checkpoint", &[]),
    changes("audit checkpoint", &["--new"]),
    changes("audit witness request", &["--witness", "w1"]),
    changes("audit witness accept", &["COSIGNED"]),
    changes("audit witness init", &["--name", "w1"]),
    changes("audit witness cosign", &["REQUEST"]),
    changes("audit witness trust", &["STRANGER"]),
    reads("audit witness list", &[]),
    changes("audit export", &["--out", "OUT"]),
    reads("audit text", &["3"]),
    changes("audit erase", &["3"]),
    changes("audit erase", &["3", "--yes", "--actor", "ana"]),
    changes("uninstall", &[]),
    changes("uninstall", &["--yes"]),
    changes("down", &[]),
    reads("completions", &["bash"]),
    changes("man", &["OUT"]),
];
