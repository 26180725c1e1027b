//! Reads the history of anybody's repository without running anything of it.
//!
//! Git reads the settings of the repository it is asked about, and some of them cannot be laid over: filters and drivers have names that only the
//! repository knows. So git is never asked about somebody's repository. It is asked about an empty one of ours that borrows their objects, and what
//! little else is needed, the commit that is checked out and where a shallow history ends, is read here. Their settings, attributes, hooks and
//! references are read by nobody. What is in an object is content to git, and runs nothing. So it does not matter who owns the repository, as long as
//! nothing in it leads to a repository of somebody else.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::place::{Place, open_plain, read_plain};
use crate::run::{Ask, Git, NotDone};
use crate::{owner, survey};

/// A name of a branch, or of a commit.
const HEAD_BYTES_MAX: u64 = 4 << 10;
const REFERENCES_DEEP_MAX: usize = 5;
/// A clone of the largest repositories has some megabytes of references that are packed, and commits at which it ends.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// An empty repository of ours whose `HEAD` is theirs.
#[derive(Debug)]
pub struct Borrowed {
    git: Git,
    _temporary: Option<TempDir>,
}

impl Borrowed {
    /// The repository in this folder: a work tree, or bare. Ours is a temporary one.
    pub fn of(folder: &Path) -> Result<Borrowed, NotDone> {
        Borrowed::through(folder, Git::at)
    }

    /// The same, with ours in `own/.git`, for a program that runs git itself. `own` must not exist yet; the caller removes it.
    pub fn in_folder(folder: &Path, own: &Path) -> Result<Borrowed, NotDone> {
        std::fs::create_dir(own).map_err(NotDone::NotRun)?;
        let git = Borrowed::into_repository(folder, &own.join(".git"), Git::at)?;
        Ok(Borrowed { git, _temporary: None })
    }

    fn through(folder: &Path, git: impl FnOnce(&Path) -> Git) -> Result<Borrowed, NotDone> {
        let temp = std::path::absolute(std::env::temp_dir()).map_err(NotDone::NotRun)?;
        let own = tempfile::tempdir_in(temp).map_err(NotDone::NotRun)?;
        let git = Borrowed::into_repository(folder, &own.path().join("history"), git)?;
        Ok(Borrowed { git, _temporary: Some(own) })
    }

    fn into_repository(folder: &Path, inner: &Path, git: impl FnOnce(&Path) -> Git) -> Result<Git, NotDone> {
        let folder = std::path::absolute(folder).map_err(NotDone::NotRun)?;
        let place = Place::in_folder(&folder)?;
        for name in ["objects", "objects/info/alternates", "shallow"] {
            owner::check_way(&place.common_dir, Path::new(name))?;
        }
        let objects = place.common_dir.join("objects");
        // First, since the objects of a commit are there before it is checked out.
        let head = head(&place)?;
        let stores = survey::stores(&objects)?;
        let shallow = place.common_dir.join("shallow");
        let ends = open_plain(&shallow)?.map(|_| read_plain(&shallow, LIST_BYTES_MAX)).transpose()?;

        let git = git(inner);
        let format = if head.as_ref().is_some_and(|id| id.len() == 64) { "sha256" } else { "sha1" };
        let format = format!("--object-format={format}");
        git.ask(Ask::new("make a place", &["init", "--quiet", "--bare", "--initial-branch=main", &format]))?;
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(inner.join(name), bytes).map_err(NotDone::NotRun);
        std::fs::create_dir_all(inner.join("objects/info")).map_err(NotDone::NotRun)?;
        let mut alternates = String::new();
        for (n, store) in stores.iter().enumerate() {
            borrow_store(store, &inner.join(format!("borrowed/{n}"))).map_err(NotDone::NotRun)?;
            alternates += &format!("../borrowed/{n}\n");
        }
        write("objects/info/alternates", alternates.as_bytes())?;
        if let Some(ends) = ends.filter(|text| is_list_of_ids(text)) {
            write("shallow", &ends)?;
        }
        if let Some(id) = &head {
            write("HEAD", format!("{id}\n").as_bytes())?;
        }
        Ok(git)
    }

    /// Asks about what was borrowed; `HEAD` is the commit that is checked out there.
    pub fn git(&self) -> &Git {
        &self.git
    }
}

/// A folder of ours with links to what a folder of theirs has of objects, and to nothing else: git never reads their list of alternates. It goes on from each
/// folder that it borrows from to those that one names, and could read a name in another way than we did when we looked whose the folder is.
fn borrow_store(store: &Path, own: &Path) -> io::Result<()> {
    std::fs::create_dir_all(own)?;
    survey::parts(store).iter().try_for_each(|part| symlink(store.join(part), own.join(part)))
}

/// The commit that is checked out in the repository in this folder, which has to belong to us; nothing on a branch without one. Git is not run.
pub fn head_of_ours(folder: &Path) -> Result<Option<String>, NotDone> {
    let place = Place::in_folder(&std::path::absolute(folder).map_err(NotDone::NotRun)?)?;
    owner::check(&place, |_| false)?;
    head(&place)
}

/// The commit that is checked out; nothing on a branch without one.
fn head(place: &Place) -> Result<Option<String>, NotDone> {
    owner::check_way(&place.git_dir, Path::new("HEAD"))?;
    owner::check_way(&place.common_dir, Path::new("packed-refs"))?;
    let mut text = read_plain(&place.git_dir.join("HEAD"), HEAD_BYTES_MAX)?;
    for _ in 0..REFERENCES_DEEP_MAX {
        let line = String::from_utf8_lossy(&text).trim().to_owned();
        if is_id(&line) {
            return Ok(Some(line));
        }
        let odd = |why| NotDone::Odd { path: place.git_dir.join("HEAD"), why };
        let name = line.strip_prefix("ref:").map(str::trim).filter(|name| is_reference(name));
        let name = name.ok_or_else(|| odd("it names no commit and no branch"))?;
        if place.common_dir.join("reftable").exists() {
            return Err(odd(
                "its references are in a reftable, which is not read here: send its history as a bundle",
            ));
        }
        owner::check_way(&place.common_dir, Path::new(name))?;
        let loose = place.common_dir.join(name);
        match open_plain(&loose)? {
            Some(_) => text = read_plain(&loose, HEAD_BYTES_MAX)?,
            None => return packed(place, name),
        }
    }
    let why = "its references lead in a circle";
    Err(NotDone::Odd { path: place.git_dir.join("HEAD"), why })
}

/// What `packed-refs` has of a name.
fn packed(place: &Place, name: &str) -> Result<Option<String>, NotDone> {
    let path = place.common_dir.join("packed-refs");
    let Some(file) = open_plain(&path)? else { return Ok(None) };
    let mut lines = BufReader::new(file.take(LIST_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        let unreadable = |_| NotDone::Odd { path: path.clone(), why: "it cannot be read" };
        if lines.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        if let Some((id, found)) = text.trim_end().split_once(' ')
            && found == name
            && is_id(id)
        {
            return Ok(Some(id.to_owned()));
        }
    }
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Below `refs/`, and nowhere else.
fn is_reference(name: &str) -> bool {
    let parts = || name.split('/');
    name.starts_with("refs/") && parts().all(|part| !part.is_empty() && !part.starts_with('.'))
}

fn is_list_of_ids(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').all(|line| line.is_empty() || str::from_utf8(line).is_ok_and(is_id))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use super::*;

    /// Each git of this machine: an older one knows fewer ways to be told.
    fn gits() -> Vec<PathBuf> {
        let there = ["/usr/local/bin/git", "/usr/bin/git"].map(PathBuf::from);
        let mut all: Vec<PathBuf> = there.into_iter().filter(|path| path.is_file()).collect();
        all.push(git_here());
        all.sort();
        all.dedup();
        all
    }

    /// The git that is found.
    fn git_here() -> PathBuf {
        holdfast_subprocess::unhardened_git(None).unwrap().get_program().into()
    }

    /// What somebody else does with git, as they like.
    fn do_git(program: &Path, folder: &Path, args: &[&str]) -> String {
        let mut command = Command::new(program);
        command.arg("-C").arg(folder).args(["-c", "user.name=ana", "-c", "user.email=ana@localhost"]);
        let out = command.args(args).stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    fn repository(program: &Path, folder: &Path, format: &str) {
        std::fs::create_dir_all(folder).unwrap();
        do_git(program, folder, &["init", "-q", "--initial-branch=main", format]);
        for n in 0..3 {
            std::fs::write(folder.join("a"), n.to_string()).unwrap();
            do_git(program, folder, &["add", "a"]);
            do_git(program, folder, &["commit", "-q", "-m", &format!("{n}")]);
        }
    }

    fn titles(program: &Path, folder: &Path) -> Result<String, NotDone> {
        let borrowed = Borrowed::through(folder, |own| Git::at(own).with_program(program))?;
        let said =
            borrowed.git().ask(Ask::new("read", &["log", "--format=%s", "--name-only", "-z", "HEAD"]))?;
        Ok(said.replace(['\0', '\n'], " "))
    }

    #[test]
    fn a_history_is_read_however_it_is_kept() {
        for git in gits() {
            let all = tempfile::tempdir().unwrap();
            let at = |name: &str| all.path().join(name);
            for (name, format) in [("plain", "--object-format=sha1"), ("long", "--object-format=sha256")] {
                repository(&git, &at(name), format);
                let read = titles(&git, &at(name)).unwrap();
                assert_eq!(
                    read.split_whitespace().collect::<Vec<_>>(),
                    ["2", "a", "1", "a", "0", "a"],
                    "{name}"
                );
            }
            let expected = titles(&git, &at("plain")).unwrap();
            let check = |name: &str| assert_eq!(titles(&git, &at(name)).unwrap(), expected, "{name}");
            do_git(&git, &at("plain"), &["worktree", "add", "-q", at("beside").to_str().unwrap()]);
            check("beside");
            do_git(&git, all.path(), &["clone", "-q", "--bare", "--shared", "plain", "odd \"name\n"]);
            check("odd \"name\n");
            do_git(&git, &at("plain"), &["gc", "-q"]);
            check("plain");
            let url = format!("file://{}", at("plain").display());
            do_git(&git, all.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
            assert_eq!(titles(&git, &at("shallow")).unwrap().split_whitespace().count(), 2);
            // Without its contents, which are not asked for.
            do_git(&git, &at("plain"), &["config", "uploadpack.allowFilter", "true"]);
            do_git(
                &git,
                all.path(),
                &["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "partial"],
            );
            check("partial");
            do_git(&git, all.path(), &["init", "-q", "unborn"]);
            assert!(matches!(titles(&git, &at("unborn")), Err(NotDone::Refused { .. })));
        }
    }

    #[test]
    fn what_is_no_repository_is_refused_and_nothing_is_waited_for() {
        let all = tempfile::tempdir().unwrap();
        let git = git_here();
        assert!(matches!(titles(&git, all.path()), Err(NotDone::Odd { .. })));
        repository(&git, all.path(), "--object-format=sha1");
        let refused = |text: &str| {
            std::fs::write(all.path().join(".git/HEAD"), text).unwrap();
            match titles(&git, all.path()) {
                Err(NotDone::Odd { why, .. }) => why,
                other => panic!("{text}: {other:?}"),
            }
        };
        let odd = "it names no commit and no branch";
        for text in ["", "ref: /etc/passwd", "ref: refs/../../secret", "ref: refs//x", "--all"] {
            assert_eq!(refused(text), odd, "{text}");
        }
        std::fs::write(all.path().join(".git/refs/heads/round"), "ref: refs/heads/round\n").unwrap();
        assert_eq!(refused("ref: refs/heads/round"), "its references lead in a circle");
        assert_eq!(refused(&"x".repeat(5000)), "it is longer than it can be");
    }

    #[test]
    fn a_strangers_repository_that_leads_to_ours_is_refused() {
        let all = tempfile::tempdir().unwrap();
        let git = git_here();
        let (ours, theirs) = (all.path().join("ours"), all.path().join("theirs"));
        repository(&git, &ours, "--object-format=sha1");
        let dot = ours.join(".git");
        let link =
            |name: &str| std::os::unix::fs::symlink(dot.join(name), theirs.join(".git").join(name)).unwrap();
        let begin = || do_git(&git, all.path(), &["init", "-q", "--initial-branch=main", "theirs"]);
        let plants: [&dyn Fn(); 8] = [
            &|| std::fs::write(theirs.join(".git"), format!("gitdir: {}\n", dot.display())).unwrap(),
            &|| std::os::unix::fs::symlink(&dot, theirs.join(".git")).unwrap(),
            &|| {
                do_git(&git, all.path(), &["init", "-q", "--initial-branch=main", "theirs"]);
                let text = format!("{}\n", dot.display());
                std::fs::write(theirs.join(".git/commondir"), text).unwrap();
            },
            &|| {
                do_git(&git, all.path(), &["init", "-q", "--initial-branch=main", "theirs"]);
                std::fs::remove_dir_all(theirs.join(".git/objects")).unwrap();
                std::fs::remove_dir_all(theirs.join(".git/refs")).unwrap();
                link("objects");
                link("refs");
            },
            &|| {
                do_git(&git, all.path(), &["init", "-q", "--initial-branch=main", "theirs"]);
                std::fs::remove_dir_all(theirs.join(".git/refs")).unwrap();
                link("refs");
                let text = format!("{}\n", dot.join("objects").display());
                std::fs::write(theirs.join(".git/objects/info/alternates"), text).unwrap();
            },
            &|| {
                begin();
                std::fs::remove_dir_all(theirs.join(".git/refs")).unwrap();
                link("refs");
                std::fs::remove_dir_all(theirs.join(".git/objects")).unwrap();
                std::fs::create_dir(theirs.join(".git/objects")).unwrap();
                for part in std::fs::read_dir(dot.join("objects")).unwrap() {
                    link(Path::new("objects").join(part.unwrap().file_name()).to_str().unwrap());
                }
            },
            &|| {
                begin();
                std::fs::remove_dir_all(theirs.join(".git/refs")).unwrap();
                link("refs");
                std::fs::create_dir_all(dot.join("objects/info")).unwrap();
                std::fs::write(dot.join("objects/info/alternates"), "../objects\n").unwrap();
                std::fs::create_dir(theirs.join("store")).unwrap();
                std::os::unix::fs::symlink(dot.join("objects/info"), theirs.join("store/info")).unwrap();
                std::fs::write(theirs.join(".git/objects/info/alternates"), "../../store\n").unwrap();
                // Read by us as it stands, to have something to read.
                let text = format!("../../store\n{}\n", dot.join("objects").display());
                std::fs::write(theirs.join(".git/objects/info/alternates"), text).unwrap();
            },
            &|| {
                begin();
                std::fs::remove_dir_all(theirs.join(".git/refs")).unwrap();
                link("refs");
                let text = format!("\"{}\"\n", dot.join("objects").display());
                std::fs::write(theirs.join(".git/objects/info/alternates"), text).unwrap();
            },
        ];
        for (n, plant) in plants.iter().enumerate() {
            let _none_yet = std::fs::remove_dir_all(&theirs);
            std::fs::create_dir(&theirs).unwrap();
            plant();
            // As long as both are one person's, it is read.
            assert!(titles(&git, &theirs).is_ok(), "{n}");
            give_away(&theirs);
            match titles(&git, &theirs) {
                Err(NotDone::Odd { why, .. }) => {
                    assert_eq!(why, "it leads to what belongs to another user", "{n}")
                }
                other => panic!("{n}: {other:?}"),
            }
        }
    }

    /// Each of these names our objects to a git of some version, and something else to whoever reads the list in another way. None may be read, by any git.
    #[test]
    fn a_list_of_alternates_that_only_git_reads_as_ours_leads_nowhere() {
        for git in gits() {
            let all = tempfile::tempdir().unwrap();
            let (ours, theirs) = (all.path().join("ours"), all.path().join("theirs"));
            repository(&git, &ours, "--object-format=sha1");
            do_git(&git, all.path(), &["init", "-q", "--initial-branch=main", "theirs"]);
            // They know the name of a commit of ours, and no more.
            let head = do_git(&git, &ours, &["rev-parse", "HEAD"]);
            std::fs::write(theirs.join(".git/refs/heads/main"), format!("{head}\n")).unwrap();
            let objects = ours.join(".git/objects").display().to_string();
            let at = |name: &str| theirs.join(name).display().to_string();
            std::fs::create_dir_all(theirs.join("a/b/c")).unwrap();
            for link in ["x\r", "x\u{7}", "x\u{8}", "x\u{b}", "x\u{c}"] {
                std::os::unix::fs::symlink(&objects, theirs.join(link)).unwrap();
            }
            std::os::unix::fs::symlink("a/b/c", theirs.join("link")).unwrap();
            let mut lists = vec![
                format!("{objects}\0x\n"),
                format!("\"{objects}\\000x\"\n"),
                format!("\"/nowhere\"X{objects}\n"),
                format!("{}\n", at("link/../../ours/.git/objects")),
                format!("{}\n", at("link/../../../../ours/.git/objects")),
            ];
            lists.extend(["r", "a", "b", "v", "f"].map(|escape| format!("\"{}\\{escape}\"\n", at("x"))));
            for list in lists {
                std::fs::write(theirs.join(".git/objects/info/alternates"), &list).unwrap();
                give_away(&theirs);
                let read = titles(&git, &theirs);
                assert!(matches!(read, Err(NotDone::Odd { .. })), "{list:?}: {read:?}");
            }
            // What no list of theirs says, git does not read either.
            std::fs::write(theirs.join(".git/objects/info/alternates"), "# none\n").unwrap();
            give_away(&theirs);
            let borrowed = Borrowed::of(&theirs).unwrap();
            std::fs::write(theirs.join(".git/objects/info/alternates"), format!("{objects}\n")).unwrap();
            let read = borrowed.git().ask(Ask::new("read", &["cat-file", "-p", &head]));
            assert!(matches!(read, Err(NotDone::Refused { .. })), "{read:?}");
        }
    }

    #[test]
    fn one_that_is_kept_for_another_program_reads_the_same_and_has_no_settings_of_theirs() {
        let all = tempfile::tempdir().unwrap();
        let (git, theirs, own) = (git_here(), all.path().join("theirs"), all.path().join("own"));
        repository(&git, &theirs, "--object-format=sha1");
        do_git(&git, &theirs, &["config", "filter.x.smudge", "true"]);
        let borrowed = Borrowed::in_folder(&theirs, &own).unwrap();
        let head = do_git(&git, &theirs, &["rev-parse", "HEAD"]);
        let read = Ask::new("read", &["rev-parse", "--verify", "HEAD"]);
        assert_eq!(borrowed.git().ask(read).unwrap().trim(), head);
        assert_eq!(head_of_ours(&theirs).unwrap(), Some(head.clone()));
        // As the other program asks it.
        assert_eq!(do_git(&git, &own, &["rev-parse", "HEAD"]), head);
        assert!(!do_git(&git, &own, &["config", "--list", "--local"]).contains("filter"));
        drop(borrowed);
        assert!(own.join(".git/HEAD").exists());
        assert!(Borrowed::in_folder(&theirs, &own).is_err(), "something is there already");
        give_away(&theirs);
        assert!(matches!(head_of_ours(&theirs), Err(NotDone::NotOurs { .. })));
    }

    /// To a user that nobody is, and not what its links lead to.
    fn give_away(folder: &Path) {
        let is_root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if is_root { "chown" } else { "sudo" });
        command.args(if is_root { &[][..] } else { &["-n", "chown"] }).args(["-RPh", "54321"]).arg(folder);
        assert!(command.status().unwrap().success(), "run this as root, or with sudo that asks nothing");
    }
}
