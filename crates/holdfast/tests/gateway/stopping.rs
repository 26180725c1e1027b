//! A pause where somebody is in its way: the accounts take no write, or another user of the machine has taken its name.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast_testkit::{SmallDisk, require};
use rustix::process::geteuid;
use serde_json::json;

use crate::browser::call;
use crate::home::{self, Home, Ran};
use crate::house::House;

const SHARED: &str = "/dev/shm";

/// Two users who are nobody else.
const SOMEBODY: u32 = 54_331;
const OTHER: u32 = 54_332;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_pauses_on_a_disk_that_takes_no_write() {
    let Some(disk) = require(SmallDisk::ext4(96 << 20)) else { return };
    let home = Home::at(&disk.path().join("home"));
    home.run(&["init", "--name", "gate"]).ok();
    let mut house = House { home, ..House::bare() };
    house.start();
    let mut owner = house.owner().await;
    let (_, token) = owner.token("act").await;
    rustix::fs::syncfs(std::fs::File::open(disk.path()).unwrap()).unwrap();
    disk.fail().unwrap();
    // Never used before, so the first use is to be written down.
    let reason = json!({ "reason": "storm" });
    let reply = call(house.port, &token, "POST", "/api/v1/autonomy/pause", Some(&reason)).await.is(200);
    assert_eq!((&reply.json["paused"], &reply.json["until_restart"]), (&json!(true), &json!(true)));
    let again = call(house.port, &token, "GET", "/api/v1/autonomy", None).await.is(200);
    assert_eq!(again.json["paused"], true);
    house.stop();
    disk.mend().unwrap();
    // The next daemon takes the pause to the disk.
    house.start();
    assert!(files_of(&house.home).is_empty());
    house.home.run(&["resume", "--all"]).ok();
}

/// How names of this home's pause begin in the shared folder.
fn beginning(home: &Home) -> String {
    let path = home.path().canonicalize().unwrap();
    format!("holdfast-paused-{}", &blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..32])
}

fn files_of(home: &Home) -> Vec<PathBuf> {
    let beginning = beginning(home);
    let paths = std::fs::read_dir(SHARED).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&beginning)).collect()
}

/// Those of the home's owner.
fn own_files_of(home: &Home) -> Vec<PathBuf> {
    files_of(home).into_iter().filter(|path| path.symlink_metadata().unwrap().uid() == SOMEBODY).collect()
}

fn give(path: &Path, uid: u32) {
    chown(path, Some(uid), Some(uid)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), uid));
    }
}

fn run_as_somebody(home: &Home, args: &[&str]) -> Ran {
    let plain = home.command(args);
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--reuid", &SOMEBODY.to_string(), "--regid", &SOMEBODY.to_string(), "--clear-groups"]);
    command.arg("--").arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    home::run(command, None)
}

/// Another user makes a file of this name.
fn squat(name: &Path) {
    std::fs::write(name, "{}").unwrap();
    std::fs::set_permissions(name, Permissions::from_mode(0o666)).unwrap();
    chown(name, Some(OTHER), Some(OTHER)).unwrap();
}

#[test]
fn another_user_of_the_machine_neither_keeps_a_pause_from_working_nor_holds_it() {
    if !geteuid().is_root() {
        // Takes two users.
        return;
    }
    let home = Home::made("gate");
    std::fs::set_permissions(home.path().parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    give(home.path(), SOMEBODY);
    // A disk on which the switch cannot be made: for its owner it is as good as read-only.
    let state = home.path().join("state");
    std::fs::set_permissions(&state, Permissions::from_mode(0o500)).unwrap();
    let shared = |ending: &str| Path::new(SHARED).join(format!("{}{ending}", beginning(&home)));
    for ending in [".json", ".json.new", ".lifted", ".json.lifted", "-0.json"] {
        squat(&shared(ending));
    }
    let paused = run_as_somebody(&home, &["--json", "pause", "--all", "--reason", "storm"]).ok().json();
    assert_eq!((&paused["paused"], &paused["until_restart"]), (&json!(true), &json!(true)), "{paused}");
    // Without a daemon its ending says so.
    let stands = || run_as_somebody(&home, &["--json", "status"]).json()["pause"].clone();
    assert_eq!((&stands()["paused"], &stands()["reason"]), (&json!(true), &json!("storm")));
    // Now they know its name, and take those that it could be moved to.
    let ours = own_files_of(&home);
    assert!(
        ours.len() == 1 && ours[0].extension().is_some_and(|end| end == "json"),
        "nothing beside it: {ours:?}"
    );
    for ending in ["lifted", "json.lifted", "json.new"] {
        squat(&ours[0].with_extension(ending));
    }
    run_as_somebody(&home, &["pause", "--all"]).ok();
    assert_eq!(stands()["reason"], "storm", "it is the same pause");
    std::fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    let resumed = run_as_somebody(&home, &["--json", "resume", "--all"]).ok().json();
    assert_eq!((&resumed["paused"], &stands()["paused"]), (&json!(false), &json!(false)));
    assert!(own_files_of(&home).is_empty());
    for file in files_of(&home) {
        std::fs::remove_file(file).unwrap();
    }
}
