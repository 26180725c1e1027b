//! Repositories in, behind and beside the one that commands are run in.

use std::os::unix::fs::symlink;

use crate::corpus::kit::{Kit, text};

/// Our repository borrows from seven that borrow from each other, the last of them from the first and from itself.
pub fn chain_of_alternates(kit: &Kit) {
    let objects = |n: usize| kit.beside(&format!("chain/{n}/objects"));
    for n in 0..7 {
        std::fs::create_dir_all(objects(n).join("info")).unwrap();
        let next =
            if n < 6 { text(&objects(n + 1)) } else { format!("{}\n.\n../objects", text(&objects(0))) };
        std::fs::write(
            objects(n).join("info/alternates"),
            format!("# hostile\n{next}\n/nonexistent\n\"/no\\twhere\"\n"),
        )
        .unwrap();
    }
    kit.write(
        ".git/objects/info/alternates",
        format!("{}\n{}\n", text(&objects(0)), text(&kit.file(".git/objects"))),
    );
}

/// `.git` is a file, and leads to a repository beside it whose settings are hostile.
pub fn gitfile(kit: &Kit) {
    kit.make_elsewhere("[core]\n\tfsmonitor = {fsmonitor}\n");
    std::fs::rename(kit.file(".git"), kit.beside("own")).unwrap();
    kit.write(".git", "gitdir: ../elsewhere/.git\n");
}

/// The same, into the work tree: what a clone brings with it.
pub fn gitfile_inside(kit: &Kit) {
    std::fs::rename(kit.file(".git"), kit.file("assets")).unwrap();
    kit.write(".git", "gitdir: assets\n");
    let config = kit.read("assets/config");
    kit.write("assets/config", config + &kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n"));
    kit.set_hooks(&kit.file("assets/hooks"));
}

/// The folder is a linked work tree; the hostile settings are in the repository that it belongs to.
pub fn linked(kit: &Kit) {
    std::fs::rename(kit.folder(), kit.beside("main")).unwrap();
    let main = kit.beside("main");
    kit.git_in(&main, &["commit", "-q", "--allow-empty", "-m", "x", "README"]);
    kit.git_in(&main, &["worktree", "add", "-q", "-b", "linked", &text(&kit.folder())]);
    std::fs::copy(main.join("staged.py"), kit.file("staged.py")).unwrap();
    kit.git(&["add", "staged.py"]);
    let config = main.join(".git/config");
    let settings =
        std::fs::read_to_string(&config).unwrap() + &kit.filled("[core]\n\tfsmonitor = {fsmonitor}\n");
    std::fs::write(config, settings).unwrap();
    kit.set_hooks(&main.join(".git/hooks"));
}

/// Folders of a work tree that are a repository to git: whoever works in `lib` works in it.
pub fn bare_inside(kit: &Kit) {
    let inner = kit.file("lib");
    kit.run("cp", &["-a", &text(&kit.file(".git")), &text(&inner)]);
    let settings = "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = \"..\"\n\tfsmonitor = {fsmonitor}\n";
    std::fs::write(inner.join("config"), kit.filled(settings)).unwrap();
    kit.set_hooks(&inner.join("hooks"));
}

/// Without a work tree, and with hooks.
pub fn bare(kit: &Kit) {
    std::fs::rename(kit.file(".git"), kit.beside("bare")).unwrap();
    std::fs::remove_dir_all(kit.folder()).unwrap();
    std::fs::rename(kit.beside("bare"), kit.folder()).unwrap();
    kit.git(&["config", "core.bare", "true"]);
    kit.set_hooks(&kit.file("hooks"));
}

/// A real submodule in `part`, of two commits, whose repository lies in `.git/modules`.
pub fn submodule(kit: &Kit) {
    let elsewhere = kit.make_elsewhere("");
    kit.git_in(&elsewhere, &["commit", "-q", "--allow-empty", "-m", "second"]);
    kit.git(&["submodule", "--quiet", "add", "--name", "part", &text(&elsewhere), "part"]);
    kit.git(&["commit", "-q", "-m", "a part", ".gitmodules", "part"]);
    // A link, which nobody follows.
    symlink("/nonexistent", kit.file("part/dangling")).unwrap();
}
