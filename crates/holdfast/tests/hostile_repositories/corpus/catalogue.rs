//! The repositories of the corpus by name: what is planted in each, and what shows that the plant works.

use std::os::unix::fs::symlink;

use crate::corpus::kit::{ELSEWHERE, Kit, text};
use crate::corpus::{forged, nested};

/// One hostile repository.
pub struct Hostile {
    pub name: &'static str,
    pub plant: fn(&Kit),
    pub control: Control,
}

/// What somebody brings about there with plain git.
pub enum Control {
    /// This trap springs.
    Springs(&'static [&'static str], &'static str),
    /// The same, with git 2.N and later: older ones do not know the setting.
    SpringsSince(u32, &'static [&'static str], &'static str),
    /// The same, at a terminal.
    AtATerminal(&'static [&'static str], &'static str),
    /// Git shows this text.
    Shows(&'static [&'static str], &'static str),
    /// Git does not show this text, which is there.
    Hides(&'static [&'static str], &'static str),
    /// It fails, and says this.
    Fails(&'static [&'static str], &'static str),
    /// Nothing springs, since no git of 2.39 to 2.47 takes this from a repository, or has no way to: why.
    Cannot(&'static [&'static str], &'static str),
}

use Control::{AtATerminal, Cannot, Fails, Hides, Shows, Springs, SpringsSince};

const STATUS: &[&str] = &["status"];
const LOG: &[&str] = &["log"];
const PATCH: &[&str] = &["log", "-p"];
const FETCH: &[&str] = &["fetch"];
const COMMIT: &[&str] = &["commit", "-q", "--allow-empty", "-m", "x"];
const EMPTY: &[&str] = &["commit", "--allow-empty"];
const CHECK_OUT: &[&str] = &["checkout-index", "--all", "--force"];
const FSMONITOR: Control = Springs(STATUS, "fsmonitor");

/// A partial clone whose missing objects come by this remote.
fn lazy(kit: &Kit, remote: &str) {
    kit.set(&format!(
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n\
         [remote \"origin\"]\n\tpromisor = true\n\tpartialCloneFilter = blob:none\n{remote}"
    ));
    let at = kit.beside("whole");
    kit.run("cp", &["-a", &text(&kit.folder().join(".git")), &text(&at)]);
    kit.lose("HEAD:lost.py");
}

fn signed(kit: &Kit, kind: &str, settings: &str) {
    kit.sign(kind);
    kit.set("[log]\n\tshowSignature = true\n");
    kit.set(settings);
}

/// Every file has this attribute.
fn attribute(kit: &Kit, attributes: &str, settings: &str) {
    kit.write(".gitattributes", attributes);
    kit.commit("attributes");
    kit.write("README", "changed\n");
    kit.set(settings);
}

fn packed_refs(kit: &Kit, lines: &str) {
    let id = kit.git(&["rev-parse", "HEAD"]);
    kit.write(".git/packed-refs", lines.replace("ID", id.trim()));
}

#[rustfmt::skip]
pub const ALL: &[Hostile] = &[
    Hostile { name: "none: a repository without anything hostile", plant: |_| {}, control: Cannot(LOG, "there is nothing") },

    // What is missing is fetched.
    Hostile { name: "lazy fetch by an upload-pack command", control: Springs(PATCH, "uploadpack"),
        plant: |kit| lazy(kit, "\turl = {..}/whole\n\tuploadpack = {uploadpack}\n") },
    Hostile { name: "lazy fetch by ext::", control: Springs(PATCH, "ext"),
        plant: |kit| lazy(kit, "\turl = ext::{ext} %S\n[protocol \"ext\"]\n\tallow = always\n") },
    Hostile { name: "lazy fetch by ssh", control: Springs(PATCH, "ssh"),
        plant: |kit| lazy(kit, "\turl = ssh://localhost/x\n[core]\n\tsshCommand = {ssh}\n") },
    Hostile { name: "lazy fetch from a folder", control: Shows(&["show", "HEAD:lost.py"], "y = 1"),
        plant: |kit| lazy(kit, "\turl = file://{..}/whole\n[protocol \"file\"]\n\tallow = always\n") },
    Hostile { name: "lazy fetch from the network", control: Springs(PATCH, "connected"),
        plant: |kit| lazy(kit, "\turl = http://127.0.0.1:{port}/x\n") },
    Hostile { name: "bundle-uri: a bundle from the network before a fetch", control: SpringsSince(40, FETCH, "connected"),
        plant: |kit| kit.set("[fetch]\n\tbundleURI = http://127.0.0.1:{port}/x\n[transfer]\n\tbundleURI = true\n[remote \"origin\"]\n\turl = {..}/repository\n") },

    // Signatures.
    Hostile { name: "log.showSignature with gpg.program", control: Springs(LOG, "gpg"),
        plant: |kit| signed(kit, "PGP SIGNATURE", "[gpg]\n\tprogram = {gpg}\n") },
    Hostile { name: "log.showSignature with gpg.openpgp.program", control: Springs(LOG, "gpg"),
        plant: |kit| signed(kit, "PGP SIGNATURE", "[gpg \"openpgp\"]\n\tprogram = {gpg}\n") },
    Hostile { name: "log.showSignature with gpg.ssh.program", control: Springs(LOG, "gpg-ssh"),
        plant: |kit| signed(kit, "SSH SIGNATURE", "[gpg \"ssh\"]\n\tprogram = {gpg-ssh}\n\tallowedSignersFile = /dev/null\n") },
    Hostile { name: "log.showSignature with gpg.x509.program", control: Springs(LOG, "gpg-x509"),
        plant: |kit| signed(kit, "SIGNED MESSAGE", "[gpg \"x509\"]\n\tprogram = {gpg-x509}\n") },
    Hostile { name: "format.pretty that asks for a signature", control: Springs(LOG, "gpg"),
        plant: |kit| { kit.sign("PGP SIGNATURE"); kit.set("[gpg]\n\tprogram = {gpg}\n[format]\n\tpretty = %G?\n"); } },
    Hostile { name: "commit.gpgSign with gpg.program", control: Springs(COMMIT, "gpg"),
        plant: |kit| kit.set("[gpg]\n\tprogram = {gpg}\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[push]\n\tgpgSign = true\n[user]\n\tsigningKey = x\n") },
    Hostile { name: "gpg.ssh.defaultKeyCommand", control: Springs(COMMIT, "key-command"),
        plant: |kit| kit.set("[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tdefaultKeyCommand = {key-command}\n[commit]\n\tgpgSign = true\n") },

    // Hooks.
    Hostile { name: "hooks in .git/hooks", control: Springs(COMMIT, "pre-commit"),
        plant: |kit| kit.set_hooks(&kit.file(".git/hooks")) },
    Hostile { name: "hooks by core.hooksPath", control: Springs(COMMIT, "pre-commit"),
        plant: |kit| { kit.set_hooks(&kit.beside("hooks")); kit.set("[core]\n\thooksPath = {..}/hooks\n"); } },
    Hostile { name: "hooks by core.hooksPath in the work tree", control: Springs(COMMIT, "pre-commit"),
        plant: |kit| { kit.set_hooks(&kit.file("tools")); kit.set("[core]\n\thooksPath = tools\n"); } },
    Hostile { name: "hook post-checkout", control: Springs(&["checkout", "-q", "-b", "other"], "post-checkout"),
        plant: |kit| kit.set_trap(&kit.file(".git/hooks/post-checkout"), "post-checkout") },
    Hostile { name: "hook reference-transaction", control: Springs(&["update-ref", "refs/heads/other", "HEAD"], "reference-transaction"),
        plant: |kit| kit.set_trap(&kit.file(".git/hooks/reference-transaction"), "reference-transaction") },
    Hostile { name: "hook post-index-change", control: Springs(&["add", "--all"], "post-index-change"),
        plant: |kit| { kit.write("more", "x"); kit.set_trap(&kit.file(".git/hooks/post-index-change"), "post-index-change"); } },
    Hostile { name: "hook pre-auto-gc with gc.auto and maintenance", control: Springs(&["gc", "--auto"], "pre-auto-gc"),
        plant: |kit| {
            kit.git(&["repack", "-q"]);
            kit.write("more", "x");
            kit.commit("more");
            kit.git(&["repack", "-q"]);
            kit.set_hooks(&kit.file(".git/hooks"));
            kit.set("[gc]\n\tauto = 1\n\tautoPackLimit = 1\n\tautoDetach = true\n[maintenance]\n\tauto = true\n\tstrategy = incremental\n");
        } },
    Hostile { name: "gc.recentObjectsHook", control: SpringsSince(42, &["prune", "--expire=1.day.ago"], "recent-objects"),
        plant: |kit| {
            // An object that nothing leads to, and that is old enough to go.
            kit.write("more", "nobody's");
            let id = kit.git(&["hash-object", "-w", "more"]);
            let (folder, name) = id.trim().split_at(2);
            kit.run("touch", &["-d", "2020-01-01", &text(&kit.file(".git/objects").join(folder).join(name))]);
            kit.set("[gc]\n\trecentObjectsHook = {recent-objects}\n");
        } },

    // Filters and drivers by attributes.
    Hostile { name: "filter clean by .gitattributes", control: Springs(&["add", "--all"], "clean"),
        plant: |kit| attribute(kit, "* filter=evil\n", "[filter \"evil\"]\n\tclean = {clean}\n\tsmudge = {smudge}\n") },
    Hostile { name: "filter smudge by .gitattributes", control: Springs(CHECK_OUT, "smudge"),
        plant: |kit| attribute(kit, "* filter=evil\n", "[filter \"evil\"]\n\tclean = {clean}\n\tsmudge = {smudge}\n\trequired = true\n") },
    Hostile { name: "filter process by .gitattributes", control: Springs(CHECK_OUT, "process"),
        plant: |kit| attribute(kit, "* filter=evil\n", "[filter \"evil\"]\n\tprocess = {process}\n") },
    Hostile { name: "filter by .git/info/attributes", control: Springs(CHECK_OUT, "smudge"),
        plant: |kit| { kit.write(".git/info/attributes", "* filter=evil\n"); attribute(kit, "\n", "[filter \"evil\"]\n\tclean = {clean}\n\tsmudge = {smudge}\n"); } },
    Hostile { name: "filter by core.attributesFile", control: Springs(CHECK_OUT, "smudge"),
        plant: |kit| {
            std::fs::write(kit.beside("attributes"), "* filter=evil\n").unwrap();
            attribute(kit, "\n", "[core]\n\tattributesFile = {..}/attributes\n[filter \"evil\"]\n\tclean = {clean}\n\tsmudge = {smudge}\n");
        } },
    Hostile { name: "textconv by .gitattributes", control: Springs(PATCH, "textconv"),
        plant: |kit| attribute(kit, "* diff=evil\n", "[diff \"evil\"]\n\ttextconv = {textconv}\n[attr]\n\ttree = HEAD\n") },
    Hostile { name: "textconv by .git/info/attributes", control: Springs(PATCH, "textconv"),
        plant: |kit| { kit.write(".git/info/attributes", "* diff=evil\n"); kit.set("[diff \"evil\"]\n\ttextconv = {textconv}\n\tcacheTextconv = true\n"); } },
    Hostile { name: "diff.external", control: Springs(&["diff", "HEAD~1"], "external"),
        plant: |kit| kit.set("[diff]\n\texternal = {external}\n\ttrustExitCode = true\n") },
    Hostile { name: "diff driver command", control: Springs(&["diff", "HEAD~1"], "driver"),
        plant: |kit| attribute(kit, "* diff=evil\n", "[diff \"evil\"]\n\tcommand = {driver}\n") },
    Hostile { name: "difftool and mergetool", control: Springs(&["difftool", "--no-prompt", "--tool=evil", "HEAD~1"], "tool"),
        plant: |kit| kit.set("[difftool \"evil\"]\n\tcmd = {tool}\n[mergetool \"evil\"]\n\tcmd = {tool}\n[diff]\n\ttool = evil\n[merge]\n\ttool = evil\n") },
    Hostile { name: "merge driver", control: Springs(&["merge-tree", "--write-tree", "main", "side"], "merge"),
        plant: |kit| { kit.write(".git/info/attributes", "* merge=evil\n"); kit.set("[merge \"evil\"]\n\tdriver = {merge}\n"); } },
    Hostile { name: "trailer command", control: Springs(&["interpret-trailers", "--trailer", "x=y", "README"], "trailer"),
        plant: |kit| kit.set("[trailer \"x\"]\n\tkey = X\n\tcommand = {trailer}\n\tifexists = add\n") },
    Hostile { name: "archive format command", control: Springs(&["archive", "--format=evil", "HEAD"], "tar"),
        plant: |kit| kit.set("[tar \"evil\"]\n\tcommand = {tar}\n[tar \"tar.gz\"]\n\tcommand = {tar}\n") },
    Hostile { name: "interactive.diffFilter", control: Cannot(&["add", "--patch"], "it asks a person at a terminal first"),
        plant: |kit| { kit.write("README", "changed\n"); kit.set("[interactive]\n\tdiffFilter = {diff-filter}\n"); } },

    // The monitor.
    Hostile { name: "core.fsmonitor", control: FSMONITOR, plant: |kit| kit.set("[core]\n\tfsmonitor = {fsmonitor}\n") },
    Hostile { name: "core.fsmonitor in .git/hooks", control: Springs(STATUS, "fsmonitor-watchman"),
        plant: |kit| { kit.set_hooks(&kit.file(".git/hooks")); kit.set("[core]\n\tfsmonitor = .git/hooks/fsmonitor-watchman\n\tfsmonitorHookVersion = 2\n"); } },
    Hostile { name: "the built-in monitor, with a socket in its place", control: Cannot(STATUS, "it is built in on other systems only"),
        plant: |kit| { drop(std::os::unix::net::UnixListener::bind(kit.file(".git/fsmonitor--daemon.ipc")).unwrap()); kit.set("[core]\n\tfsmonitor = true\n"); } },

    // Settings from elsewhere.
    Hostile { name: "include.path", control: FSMONITOR,
        plant: |kit| { std::fs::write(kit.beside("more"), kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n")).unwrap(); kit.set("[include]\n\tpath = {..}/more\n"); } },
    Hostile { name: "includeIf gitdir", control: FSMONITOR,
        plant: |kit| { kit.write("more", kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n")); kit.set("[includeIf \"gitdir:{..}/\"]\n\tpath = ../more\n"); } },
    Hostile { name: "includeIf onbranch", control: FSMONITOR,
        plant: |kit| { kit.write("more", kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n")); kit.set("[includeIf \"onbranch:main\"]\n\tpath = ../more\n"); } },
    Hostile { name: "an include in a circle", control: Fails(STATUS, "exceeded maximum include depth"),
        plant: |kit| kit.set("[include]\n\tpath = config\n") },
    Hostile { name: "config.worktree by extensions.worktreeConfig", control: FSMONITOR,
        plant: |kit| {
            kit.set("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n");
            kit.write(".git/config.worktree", kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n"));
        } },
    Hostile { name: "init.templateDir", control: Cannot(&["init"], "it is read before a repository is"),
        plant: |kit| { kit.set_hooks(&kit.beside("template/hooks")); kit.set("[init]\n\ttemplateDir = {..}/template\n"); } },
    Hostile { name: "a format of a later git", control: Fails(STATUS, "unknown repository extension"),
        plant: |kit| kit.set("[core]\n\trepositoryFormatVersion = 1\n\tfsmonitor = {fsmonitor}\n[extensions]\n\thostile = true\n") },
    Hostile { name: "aliases that shadow verbs", control: Springs(&["st"], "alias"),
        plant: |kit| kit.set("[alias]\n\tst = !{alias}\n\tlog = !{alias}\n\trev-list = !{alias}\n\tcat-file = !{alias}\n\tdiff-tree = !{alias}\n\tdiff-index = !{alias}\n\tinit = !{alias}\n\tconfig = !{alias}\n") },
    Hostile { name: "how git prints: log.*, diff.*, color, quotePath, logOutputEncoding", control: Shows(LOG, "b\0e\0g\0i\0n"),
        plant: |kit| kit.set(
            "[log]\n\tdate = format:%Q\n\tshowRoot = false\n\tdiffMerges = off\n\texcludeDecoration = *\n[color]\n\tui = always\n[core]\n\tquotePath = false\n\tabbrev = 4\n\
             \tbigFileThreshold = 1\n\tignoreCase = true\n[i18n]\n\tlogOutputEncoding = utf-16le\n[diff]\n\torderFile = /nonexistent\n\tnoPrefix = true\n\trenames = copies\n\
             \tignoreSubmodules = all\n\trelative = true\n[format]\n\tpretty = %s%n\n") },

    // Programs for people.
    Hostile { name: "core.pager", control: AtATerminal(LOG, "pager"), plant: |kit| kit.set("[core]\n\tpager = {pager}\n") },
    Hostile { name: "pager.log", control: AtATerminal(LOG, "pager"), plant: |kit| kit.set("[pager]\n\tlog = {pager}\n\trev-list = {pager}\n\tcat-file = {pager}\n\tconfig = {pager}\n") },
    Hostile { name: "core.editor", control: Springs(EMPTY, "editor"), plant: |kit| kit.set("[core]\n\teditor = {editor}\n") },
    Hostile { name: "sequence.editor", control: Springs(&["rebase", "--autostash", "--interactive", "HEAD~1"], "sequence-editor"),
        plant: |kit| kit.set("[sequence]\n\teditor = {sequence-editor}\n") },
    Hostile { name: "core.askPass", control: Springs(FETCH, "askpass"),
        plant: |kit| kit.set("[core]\n\taskPass = {askpass}\n[remote \"origin\"]\n\turl = http://127.0.0.1:{port}/x\n") },
    Hostile { name: "credential.helper", control: Springs(FETCH, "credential"),
        plant: |kit| kit.set("[credential]\n\thelper = !{credential}\n[remote \"origin\"]\n\turl = http://127.0.0.1:{port}/x\n") },

    // Ways to elsewhere.
    Hostile { name: "a remote by ssh with core.sshCommand", control: Springs(FETCH, "ssh"),
        plant: |kit| kit.set("[core]\n\tsshCommand = {ssh}\n[remote \"origin\"]\n\turl = ssh://localhost/x\n") },
    Hostile { name: "a remote by ext:: with protocol.ext.allow", control: Springs(FETCH, "ext"),
        plant: |kit| kit.set("[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[remote \"origin\"]\n\turl = ext::{ext} %S\n") },
    Hostile { name: "a remote by a proxy command", control: Springs(FETCH, "proxy"),
        plant: |kit| kit.set("[core]\n\tgitProxy = {proxy}\n[remote \"origin\"]\n\turl = git://localhost/x\n") },
    Hostile { name: "remote.*.uploadpack and receivepack", control: Springs(FETCH, "uploadpack"),
        plant: |kit| kit.set("[remote \"origin\"]\n\turl = {..}/repository\n\tuploadpack = {uploadpack}\n\treceivepack = {receivepack}\n") },
    Hostile { name: "url.*.insteadOf to ext::", control: Springs(&["ls-remote", "https://forge.invalid/x"], "ext"),
        plant: |kit| kit.set("[url \"ext::{ext} \"]\n\tinsteadOf = https://\n\tinsteadOf = http://\n\tinsteadOf = file://\n\tinsteadOf = /\n\tpushInsteadOf = https://\n\tpushInsteadOf = file://\n[protocol]\n\tallow = always\n") },
    Hostile { name: "url.*.insteadOf to another address", control: Springs(&["ls-remote", "https://forge.invalid/x"], "connected"),
        plant: |kit| kit.set("[url \"http://127.0.0.1:{port}/\"]\n\tinsteadOf = https://\n\tinsteadOf = http://\n\tinsteadOf = file://\n\tpushInsteadOf = file://\n") },
    Hostile { name: "uploadpack.packObjectsHook", control: Cannot(&["ls-remote", "."], "it is taken from a person's own settings only"),
        plant: |kit| kit.set("[uploadpack]\n\tpackObjectsHook = {pack-objects}\n") },

    // Places that lead elsewhere.
    Hostile { name: "alternates to a repository of ours", control: Shows(&["show", "-s", "stolen"], ELSEWHERE),
        plant: |kit| {
            let elsewhere = kit.make_elsewhere("");
            kit.write(".git/objects/info/alternates", format!("{}\n", text(&elsewhere.join(".git/objects"))));
            let id = kit.git_in(&elsewhere, &["rev-parse", "HEAD"]);
            kit.git(&["update-ref", "refs/heads/stolen", id.trim()]);
        } },
    Hostile { name: "alternates in a chain and a circle", control: Shows(LOG, "begin"),
        plant: |kit| nested::chain_of_alternates(kit) },
    Hostile { name: "core.alternateRefsCommand", control: Springs(&["fetch", "../elsewhere", "main"], "alternate-refs"),
        plant: |kit| {
            let elsewhere = kit.make_elsewhere("");
            kit.write(".git/objects/info/alternates", format!("{}\n", text(&elsewhere.join(".git/objects"))));
            kit.write("../elsewhere/new", "x");
            kit.git_in(&elsewhere, &["add", "--all"]);
            kit.git_in(&elsewhere, &["commit", "-q", "-m", "new"]);
            kit.set("[core]\n\talternateRefsCommand = {alternate-refs}\n");
        } },
    Hostile { name: "a gitfile that leads elsewhere", control: FSMONITOR, plant: |kit| nested::gitfile(kit) },
    Hostile { name: "a gitfile that leads to a folder of the work tree", control: FSMONITOR, plant: |kit| nested::gitfile_inside(kit) },
    Hostile { name: "a symlinked .git", control: FSMONITOR, plant: |kit| {
        kit.make_elsewhere("[core]\n\tfsmonitor = {fsmonitor}\n");
        std::fs::rename(kit.file(".git"), kit.beside("own")).unwrap();
        symlink("../elsewhere/.git", kit.file(".git")).unwrap();
    } },
    Hostile { name: "a commondir that leads elsewhere", control: FSMONITOR, plant: |kit| {
        let elsewhere = kit.make_elsewhere("[core]\n\tfsmonitor = {fsmonitor}\n");
        kit.write(".git/commondir", format!("{}\n", text(&elsewhere.join(".git"))));
    } },
    Hostile { name: "core.worktree elsewhere", control: Shows(&["ls-files", "--others"], "elsewhere.txt"), plant: |kit| {
        std::fs::write(kit.make_elsewhere("").join("elsewhere.txt"), ELSEWHERE).unwrap();
        kit.set("[core]\n\tworktree = {..}/elsewhere\n");
    } },
    Hostile { name: "a linked work tree of a hostile repository", control: FSMONITOR, plant: |kit| nested::linked(kit) },
    Hostile { name: "a linked work tree whose gitdir leads elsewhere", control: Shows(&["worktree", "list"], "elsewhere"), plant: |kit| {
        let elsewhere = kit.make_elsewhere("");
        kit.git(&["worktree", "add", "-q", &text(&kit.beside("beside")), "side"]);
        kit.write(".git/worktrees/beside/gitdir", format!("{}\n", text(&elsewhere.join(".git"))));
        kit.write(".git/worktrees/beside/HEAD", "ref: ../../../../../etc/passwd\n");
    } },
    Hostile { name: "a bare repository inside the work tree", control: FSMONITOR, plant: |kit| nested::bare_inside(kit) },
    Hostile { name: "a bare repository", control: Springs(&["update-ref", "refs/heads/other", "HEAD"], "reference-transaction"), plant: |kit| nested::bare(kit) },

    // Submodules.
    Hostile { name: "submodule.*.update = !command", control: Springs(&["submodule", "update"], "update"), plant: |kit| {
        nested::submodule(kit);
        kit.set("[submodule \"part\"]\n\tactive = true\n\turl = {..}/elsewhere\n\tupdate = !{update}\n\tbranch = .\n");
        kit.run("rm", &["-rf", &text(&kit.file("part/elsewhere.txt"))]);
        kit.git_in(&kit.file("part"), &["checkout", "-q", "--detach", "HEAD~1"]);
    } },
    Hostile { name: "hostile settings in .git/modules", control: FSMONITOR, plant: |kit| {
        nested::submodule(kit);
        let config = kit.read(".git/modules/part/config");
        kit.write(".git/modules/part/config", config + &kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n[diff]\n\texternal = {external}\n[log]\n\tshowSignature = true\n"));
        kit.set("[submodule]\n\trecurse = true\n[diff]\n\tsubmodule = log\n[status]\n\tsubmoduleSummary = true\n[fetch]\n\trecurseSubmodules = true\n[push]\n\trecurseSubmodules = on-demand\n");
    } },
    Hostile { name: "a submodule whose path is a link", control: Fails(&["add", "part/pre-commit"], "fatal"), plant: |kit| {
        nested::submodule(kit);
        std::fs::remove_dir_all(kit.file("part")).unwrap();
        symlink(".git/hooks", kit.file("part")).unwrap();
        kit.set_hooks(&kit.file(".git/hooks"));
    } },

    // What hides a history.
    Hostile { name: "replace refs", control: Hides(PATCH, "ghp_"), plant: |kit| {
        let names = kit.git(&["rev-parse", "HEAD", "HEAD~1", "HEAD~2", "HEAD~2^{tree}"]);
        let [tip, middle, first, tree] = names.lines().collect::<Vec<_>>()[..] else { unreachable!() };
        for (replaced, message) in [(tip, "clean"), (middle, "clean too")] {
            let clean = kit.git(&["commit-tree", "-m", message, "-p", first, tree]);
            kit.git(&["update-ref", &format!("refs/replace/{replaced}"), clean.trim()]);
        }
    } },
    Hostile { name: "grafts", control: Hides(PATCH, "ghp_"), plant: |kit| {
        let (tip, first) = (kit.git(&["rev-parse", "HEAD"]), kit.git(&["rev-parse", "HEAD~2"]));
        kit.git(&["rm", "-q", "old.py"]);
        kit.git(&["commit", "-q", "-m", "taken out", "old.py"]);
        let newest = kit.git(&["rev-parse", "HEAD"]);
        kit.write(".git/info/grafts", format!("{} {first}\n{} {first}\n", newest.trim(), tip.trim()).replace("\n\n", "\n"));
        kit.git(&["branch", "-D", "side"]);
        kit.set("[advice]\n\tgraftFileDeprecated = false\n");
    } },
    Hostile { name: "a shallow file that ends a whole history", control: Hides(&["log", "--format=%s"], "begin"), plant: |kit| {
        let id = kit.git(&["rev-parse", "HEAD"]);
        kit.git(&["branch", "-D", "side"]);
        kit.write(".git/shallow", id);
    } },
    Hostile { name: "a commit-graph that lies", control: Hides(&["log", "--format=%s", "main"], "begin"), plant: forged::lying_commit_graph },
    Hostile { name: "a commit-graph that is none", control: Shows(&["log", "--format=%s"], "begin"), plant: |kit| kit.write(".git/objects/info/commit-graph", "CGPH\u{1}\u{1}\u{4}\0hostile") },
    Hostile { name: "a multi-pack-index that is none", control: Shows(&["log", "--format=%s"], "begin"), plant: |kit| {
        kit.git(&["repack", "-q", "-a", "-d"]);
        kit.write(".git/objects/pack/multi-pack-index", "MIDX\u{1}\u{1}\u{4}\0hostile");
    } },
    Hostile { name: "a pack whose index is none", control: Fails(LOG, "fatal"), plant: forged::broken_index_of_a_pack },
    Hostile { name: "an object that lies about its size", control: Fails(&["fsck"], "error"), plant: forged::lying_object },
    Hostile { name: "an object that says it is huge", control: Fails(&["fsck"], "error"), plant: forged::huge_object },
    Hostile { name: "an index that is none", control: Fails(STATUS, "fatal"), plant: |kit| kit.write(".git/index", b"DIRC\0\0\0\x02\xff\xff\xff\xff") },
    Hostile { name: "a split index", control: Shows(STATUS, "staged.py"), plant: |kit| { kit.git(&["update-index", "--split-index"]); kit.set("[core]\n\tsplitIndex = true\n"); } },
    Hostile { name: "a sparse index and checkout", control: Cannot(STATUS, "it names no program: it has files of the index without their place in the work tree"), plant: |kit| {
        for name in ["apart/a", "apart/b", "near/a"] {
            kit.write(name, "x\n");
        }
        kit.git(&["add", "apart", "near"]);
        kit.git(&["commit", "-q", "-m", "folders", "apart", "near"]);
        kit.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "near"]);
    } },

    // Names.
    Hostile { name: "file names with newlines and escape sequences", control: Shows(&["ls-files", "-z"], "\u{1b}[2J"), plant: |kit| {
        for name in ["a\nb.py", "\u{1b}[2J\u{1b}]0;x\u{7}.py", "--output=x.py", "\u{202e}yp.py", " .py"] {
            kit.write(name, format!("token = \"{}\"\n", crate::repository::token(4)));
        }
        kit.commit("names");
    } },
    Hostile { name: "names of references that look like options", control: Shows(&["for-each-ref"], "--output=marks"), plant: |kit| {
        for name in ["refs/heads/--output=marks/option", "refs/heads/-x", "refs/tags/--upload-pack=id"] {
            kit.git(&["update-ref", name, "HEAD"]);
        }
    } },
    Hostile { name: "packed references with escape sequences", control: Cannot(LOG, "it passes over them"), plant: |kit| {
        packed_refs(kit, "# pack-refs with: peeled fully-peeled sorted \nID refs/heads/\u{1b}[2Jx\nID refs/heads/../../x\nID refs/heads/x y\n");
    } },
    Hostile { name: "a HEAD that leads elsewhere", control: Fails(LOG, "fatal"), plant: |kit| { kit.make_elsewhere(""); kit.write(".git/HEAD", "ref: refs/../../../elsewhere/.git/HEAD\n"); } },
    Hostile { name: "messages with escape sequences and lying headers", control: Shows(&["log", "--format=%B", "--no-color"], "\u{1b}[2J"), plant: |kit| {
        kit.write("README", "more\n");
        kit.git(&["commit", "-q", "-m", "fix: \u{1b}[2Jit hangs\u{0}x\n\nerror: \u{1b}]0;x\u{7}database is gone (code 7)\nSigned-off-by: \u{202e}x".replace('\0', "").as_str(), "README"]);
    } },

    // Files that git reads for somebody.
    Hostile { name: "mailmap.file and mailmap.blob", control: Shows(&["log", "--format=%aN"], "mapped"), plant: |kit| {
        std::fs::write(kit.beside("map"), "mapped <ana@localhost>\n").unwrap();
        kit.set("[mailmap]\n\tfile = {..}/map\n\tblob = HEAD:README\n");
    } },
    Hostile { name: "blame.ignoreRevsFile", control: Fails(&["blame", "README"], ELSEWHERE), plant: |kit| {
        kit.make_elsewhere("");
        kit.set("[blame]\n\tignoreRevsFile = {..}/elsewhere/elsewhere.txt\n");
    } },
    Hostile { name: "core.excludesFile and info/exclude", control: Cannot(STATUS, "they name no program"), plant: |kit| {
        kit.write("left.py", "x\n");
        std::fs::write(kit.beside("ignored"), "*\n").unwrap();
        kit.write(".git/info/exclude", "*.md\n");
        kit.set("[core]\n\texcludesFile = {..}/ignored\n");
    } },
    Hostile { name: "trace2 to a file and a socket", control: Cannot(LOG, "it is taken from a person's own settings only"), plant: |kit| {
        kit.set("[trace2]\n\teventTarget = {..}/marks/trace2\n\tnormalTarget = af_unix:stream:{..}/socket\n\tperfTarget = {..}/marks\n");
    } },

    // Bundles.
    Hostile { name: "a bundle with names that look like options", control: Shows(&["bundle", "list-heads", "../bundle"], "--output=marks"), plant: |kit| {
        for name in ["refs/heads/--output=marks/option", "refs/heads/-x"] {
            kit.git(&["update-ref", name, "HEAD"]);
        }
        kit.git(&["bundle", "create", "-q", "../bundle", "--all"]);
    } },
    Hostile { name: "a bundle of a partial history", control: Fails(&["bundle", "verify", "../bundle"], "prerequisite"), plant: forged::bundle_with_a_filter },
    Hostile { name: "a bundle that lies about its pack", control: Fails(&["bundle", "unbundle", "../bundle"], "error"), plant: forged::broken_bundle },

    // Who owns it.
    Hostile { name: "another user's repository", control: Fails(STATUS, "dubious ownership"), plant: |kit| { kit.set("[core]\n\tfsmonitor = {fsmonitor}\n"); kit.give_away(&kit.folder()); } },
    Hostile { name: "another user's settings", control: FSMONITOR, plant: |kit| { kit.set("[core]\n\tfsmonitor = {fsmonitor}\n"); kit.give_away(&kit.file(".git/config")); } },
    Hostile { name: "another user's hooks", control: Springs(COMMIT, "pre-commit"), plant: |kit| { kit.set_hooks(&kit.file(".git/hooks")); kit.give_away(&kit.file(".git/hooks")); } },
];
