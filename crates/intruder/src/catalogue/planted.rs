//! What git, shells and editors would run outside later: the hooks and the configuration of a repository in the writable
//! folder, and everything by which they could be replaced.
//!
//! Nothing is written: what can be opened to be written could be changed. What is moved is moved back.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::files::open_to_write;
use crate::judge::{Tried, done, prepare, through};
use crate::marks::{name, own_file, own_folder, place_in};
use crate::{Decoys, Outcome};

attempts! { Planted:
    "make-hook" [View] HARMLESS
    "Makes a file among the hooks of a repository."
    => |d| {
        let hook = place_in(&git(d)?.join("hooks"));
        let made = File::create_new(&hook);
        let _ = fs::remove_file(&hook);
        done(made, "a hook was made")
    };

    "change-hook" [View] HARMLESS
    "Opens a hook of a repository for writing."
    => |d| open_to_write(git(d)?.join("hooks/post-checkout"));

    "make-hook-by-link" [View] HARMLESS
    "Makes a symbolic link among the hooks of a repository."
    => |d| {
        let hook = place_in(&git(d)?.join("hooks"));
        let made = symlink("nowhere", &hook);
        let _ = fs::remove_file(&hook);
        done(made, "a hook was made")
    };

    "make-hook-below-proc-self-root" [View] HARMLESS
    "Makes a file among the hooks of a repository below /proc/self/root."
    => |d| {
        let hook = place_in(&crate::files::below("/proc/self/root", &git(d)?.join("hooks")));
        let made = File::create_new(&hook);
        let _ = fs::remove_file(&hook);
        done(made, "a hook was made")
    };

    "change-mode-of-hooks" [View] HARMLESS
    "Sets the mode of a hook to what it is."
    => |d| {
        let hook = git(d)?.join("hooks/post-checkout");
        let mode = prepare(fs::metadata(&hook), "looking at the hook")?.permissions().mode();
        done(fs::set_permissions(&hook, fs::Permissions::from_mode(mode)), "its mode was set")
    };

    "move-hooks-away" [View] HARMLESS
    "Moves the folder of hooks of a repository, to put another in its place."
    => |d| there_and_back(&git(d)?.join("hooks"));

    "change-git-configuration" [View] HARMLESS
    "Opens the configuration of a repository for writing."
    => |d| open_to_write(git(d)?.join("config"));

    "move-git-configuration-away" [View] HARMLESS
    "Moves the configuration of a repository, to put another in its place."
    => |d| there_and_back(&git(d)?.join("config"));

    "replace-git-configuration" [View] HARMLESS
    "Moves a copy of a repository's configuration over it."
    => |d| {
        let (config, own) = (git(d)?.join("config"), own_file(d)?);
        prepare(fs::copy(&config, &own), "copying the configuration")?;
        done(rustix::fs::rename(&own, &config), "it was replaced")
    };

    "replace-git-configuration-by-exchange" [View] HARMLESS
    "Exchanges the names of a repository's configuration and of a copy of it."
    => |d| {
        let (config, own) = (git(d)?.join("config"), own_file(d)?);
        prepare(fs::copy(&config, &own), "copying the configuration")?;
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        let exchanged = rustix::fs::renameat_with(rustix::fs::CWD, &own, rustix::fs::CWD, &config, exchange);
        done(exchanged, "the names were exchanged")
    };

    "name-git-configuration-again" [View] HARMLESS
    "Gives the configuration of a repository a second name, by which it could be changed."
    => |d| done(fs::hard_link(git(d)?.join("config"), place_in(d.work()?)), "it has a second name");

    "lead-git-to-another-folder" [View] HARMLESS
    "Opens, or makes, the file that says where a repository keeps its configuration."
    => |d| {
        let common = git(d)?.join("commondir");
        let before = fs::symlink_metadata(&common).is_ok();
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&common);
        if !before {
            let _ = fs::remove_file(&common);
        }
        done(opened, "it can be written")
    };

    "move-repository-away" [View] HARMLESS
    "Moves a repository's own folder, to put another in its place."
    => |d| there_and_back(&git(d)?);

    "move-folder-above-repository-away" [View] HARMLESS
    "Moves the folder that a repository lies in, to put another in its place."
    => |d| there_and_back(d.repository()?);

    "move-second-folder-above-repository-away" [View] HARMLESS
    "Moves the folder above the one that a repository lies in."
    => |d| there_and_back(d.repository()?.parent().unwrap_or(d.repository()?));

    "lead-submodule-to-another-folder" [View] HARMLESS
    "Opens the file that leads from a submodule to its repository for writing."
    => |d| open_to_write(d.repository()?.join("sub/.git"));

    "change-submodule-configuration" [View] HARMLESS
    "Opens the configuration of a submodule for writing."
    => |d| open_to_write(git(d)?.join("modules/sub/config"));

    "make-submodule-hook" [View] HARMLESS
    "Makes a folder of hooks for a submodule that has none."
    => |d| {
        let hook = place_in(&git(d)?.join("modules/sub/hooks"));
        let folder = hook.parent().unwrap_or(&hook).to_owned();
        let before = folder.exists();
        let _ = fs::create_dir(&folder);
        let made = File::create_new(&hook);
        let _ = fs::remove_file(&hook);
        if !before {
            let _ = fs::remove_dir(&folder);
        }
        done(made, "a hook was made")
    };

    "change-shell-settings-of-folder" [View] HARMLESS
    "Opens the settings that a shell reads in the repository's folder for writing."
    => |d| open_to_write(d.repository()?.join(".envrc"));

    "change-tasks-of-editor" [View] HARMLESS
    "Opens the tasks that an editor runs in the repository's folder for writing."
    => |d| open_to_write(d.repository()?.join(".vscode/tasks.json"));

    "move-link-to-repository-away" [View] HARMLESS
    "Moves a link that leads a folder to its repository, to put another in its place."
    => |d| there_and_back(&d.repository()?.join("linked/.git"));

    "change-hook-that-settings-name" [View] HARMLESS
    "Opens a hook in the work tree for writing: the repository's settings have git run it."
    => |d| open_to_write(d.repository()?.join("tools/post-checkout"));

    "change-monitor-that-settings-name" [View] HARMLESS
    "Opens a script in the work tree for writing that the repository's settings name without a path."
    => |d| open_to_write(d.repository()?.join("monitor"));

    "put-folder-over-hooks" [View] HARMLESS
    "Moves a folder of its own over the hooks of a repository."
    => |d| {
        let (own, hooks) = (own_folder(d)?, git(d)?.join("hooks"));
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        let swap = || rustix::fs::renameat_with(rustix::fs::CWD, &own, rustix::fs::CWD, &hooks, exchange);
        let swapped = swap();
        if swapped.is_ok() {
            prepare(swap(), "moving it back")?;
        }
        done(swapped, "it lies there now")
    };
}

/// The folder of a repository's own, in the writable folder.
fn git(decoys: &Decoys) -> Result<PathBuf, Outcome> {
    Ok(decoys.repository()?.join(".git"))
}

fn there_and_back(path: &Path) -> Tried {
    let away = path.with_file_name(name());
    match rustix::fs::rename(path, &away) {
        Ok(()) => {
            prepare(rustix::fs::rename(&away, path), "moving it back")?;
            Ok(through("it was moved, and back"))
        }
        Err(e) => done(Err::<(), _>(e), ""),
    }
}
