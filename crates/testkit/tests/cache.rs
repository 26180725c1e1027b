//! What the lab keeps is looked at before it is used: one that was damaged is refused, and made anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use holdfast_testkit::rounds;

const RELEASE: &str = "bookworm";

fn lab(word: &str) -> Command {
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/guest.sh"));
    script.args([word, RELEASE]).stdin(Stdio::null());
    script
}

/// As root, or through sudo where that asks nothing: what is in the tree is root's.
fn try_as_root(argv: &[&str]) -> bool {
    let line = r#"if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi"#;
    Command::new("sh").args(["-c", line, "as_root"]).args(argv).status().is_ok_and(|it| it.success())
}

#[track_caller]
fn as_root(argv: &[&str]) {
    assert!(try_as_root(argv), "{argv:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A cache with what the real one has, without what it takes: the same files under other names.
struct Cache {
    folder: tempfile::TempDir,
    image: PathBuf,
}

impl Cache {
    fn new() -> Option<Cache> {
        let found = lab("path").output().unwrap();
        if !found.status.success() {
            // As for every machine of the lab.
            assert_eq!(
                std::env::var("HOLDFAST_REQUIRE_GUEST").as_deref(),
                Ok("0"),
                "{}",
                text(&found.stderr)
            );
            return None;
        }
        let real = PathBuf::from(text(&found.stdout));
        let folder = tempfile::Builder::new().prefix("test-").tempdir_in(real.parent().unwrap()).unwrap();
        let own = folder.path().join("holdfast/lab");
        fs::create_dir_all(&own).unwrap();
        as_root(&["cp", "-al", real.to_str().unwrap(), own.to_str().unwrap()]);
        let image = own.join(real.file_name().unwrap());
        Some(Cache { folder, image })
    }

    fn lab(&self, word: &str) -> Command {
        let mut script = lab(word);
        script.env("XDG_CACHE_HOME", self.folder.path()).env_remove("HOLDFAST_REQUIRE_GUEST");
        script
    }

    fn path(&self) -> Output {
        self.lab("path").output().unwrap()
    }

    #[track_caller]
    fn is_refused(&self) {
        let output = self.path();
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), ""));
        assert!(text(&output.stderr).contains("is damaged"), "{}", text(&output.stderr));
    }

    /// In place of the file another one of these bytes: the real cache has the same file.
    fn put(&self, name: &str, bytes: &[u8]) {
        let (path, aside) = (self.image.join(name), self.folder.path().join("aside"));
        fs::write(&aside, bytes).unwrap();
        as_root(&["touch", "-r", path.to_str().unwrap(), aside.to_str().unwrap()]);
        as_root(&["mv", "-f", aside.to_str().unwrap(), path.to_str().unwrap()]);
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _what_is_left_is_small = try_as_root(&["rm", "-rf", "--", self.folder.path().to_str().unwrap()]);
    }
}

/// Processes that work in a folder.
fn workers(folder: &Path) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))).count()
}

/// Reads what it says up to this.
#[track_caller]
fn await_line(script: &mut Child, wanted: &str) -> impl Read + use<> {
    let mut out = BufReader::new(script.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(wanted) {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it said: {wanted}");
    }
    out
}

#[test]
fn one_that_is_damaged_is_not_used_and_is_made_anew() {
    let Some(cache) = Cache::new() else { return };
    assert_eq!(text(&cache.path().stdout), cache.image.to_str().unwrap());
    let built = text(&cache.lab("build").output().unwrap().stdout);
    assert!(built.contains("is ready") && !built.contains("anew"), "what is whole is left as it is: {built}");

    // What a full disk or a lost write leaves is seen by whoever wants a guest.
    let state = fs::read(cache.image.join("state")).unwrap();
    cache.put("state", &state[..state.len() / 2]);
    cache.is_refused();
    cache.put("state", &state);
    assert!(cache.path().status.success());
    as_root(&["rm", cache.image.join("known_hosts").to_str().unwrap()]);
    cache.is_refused();
    cache.put("accelerator", b"");
    cache.is_refused();
    let Some(cache) = ({
        drop(cache);
        Cache::new()
    }) else {
        return;
    };

    // One bit, with size and time as they were: seen by `make lab`.
    let mut initrd = fs::read(cache.image.join("initrd")).unwrap();
    initrd[5000] ^= 1;
    cache.put("initrd", &initrd);
    let mut build = cache.lab("build").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut rest = await_line(&mut build, "cannot be used: making it anew");
    if rounds(0, 1) == 1 {
        rest.read_to_end(&mut Vec::new()).unwrap();
        assert!(build.wait().unwrap().success());
        assert_eq!(text(&cache.path().stdout), cache.image.to_str().unwrap());
        assert_ne!(fs::read(cache.image.join("initrd")).unwrap(), initrd);
        return;
    }
    is_over_when_killed(&cache, build);
}

/// Killed in the middle of it, it leaves no process, and the next one begins from the start.
fn is_over_when_killed(cache: &Cache, mut build: Child) {
    let until = Instant::now() + Duration::from_secs(30);
    while workers(cache.folder.path()) < 3 {
        assert!(Instant::now() < until, "nobody is at work");
        std::thread::sleep(Duration::from_millis(20));
    }
    build.kill().unwrap();
    build.wait().unwrap();
    while workers(cache.folder.path()) > 0 {
        assert!(Instant::now() < until, "somebody is still at work");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The one that is damaged is still that.
    let mut build = cache.lab("build").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(await_line(&mut build, "cannot be used: making it anew"));
    build.kill().unwrap();
    build.wait().unwrap();
}
