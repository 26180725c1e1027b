//! The durable state in a folder of its own, without a service manager.

use holdfast_steward::setting::{Change, Property};

use super::*;

struct Target {
    _folder: tempfile::TempDir,
    place: Place,
}

fn settings() -> Settings {
    let unit = |text: &str| text.parse().unwrap();
    Settings { units: vec![unit("web.service")], ssh: unit("ssh.service"), vpn: None, firewall: None }
}

fn target() -> Target {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let place = Place {
        kept: at("etc"),
        trial: at("run"),
        control: at("control"),
        state: at("state"),
        passing: folder.path().join("passing"),
        cgroup: at("cgroup"),
        settings: folder.path().join("doorman.json"),
        program: "/bin/false".into(),
    };
    Room::begin(&place, &settings()).unwrap();
    Target { _folder: folder, place }
}

fn raised(mebibytes: u64) -> Layer {
    let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryMax };
    let change = Change { setting, from: Value::Infinity, to: Value::Bytes(mebibytes << 20) };
    Layer::default().with(&[change], |_| Value::Infinity).unwrap()
}

fn files(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for (folder, _) in entries(root).unwrap() {
        all.extend(
            entries(&folder)
                .unwrap()
                .into_iter()
                .map(|(path, _)| path.strip_prefix(root).unwrap().display().to_string()),
        );
    }
    all.sort();
    all
}

// shows: STW-279, STW-293
#[test]
fn the_first_day_takes_the_target_as_it_is_found() {
    let target = target();
    let room = Room::enter(&target.place).unwrap();
    assert_eq!(room.desk.boots_into(), Layer::default().identity());
    let generations = room.generations().unwrap();
    assert_eq!(generations, [Generation { number: 0, identity: Layer::default().identity() }]);
    drop(room);
    // Enrolled again, it is the same target.
    Room::begin(&target.place, &settings()).unwrap();
    assert_eq!(Room::enter(&target.place).unwrap().generations().unwrap().len(), 1);
}

#[test]
fn only_files_of_ours_are_written_and_removed() {
    let target = target();
    let folder = target.place.kept.join("web.service.d");
    fs::create_dir(&folder).unwrap();
    for name in ["override.conf", "50-holdfast-ExecStart.conf", "50-holdfast-MemoryMax.conf.bak"] {
        fs::write(folder.join(name), "[Service]\nMemoryMax=1G\n").unwrap();
    }
    let room = Room::enter(&target.place).unwrap();
    let before = files(&target.place.kept);
    room.rewrite_kept(&raised(512)).unwrap();
    assert_eq!(room.kept().unwrap().layer, raised(512));
    assert_eq!(files(&target.place.kept).len(), before.len() + 1);
    room.rewrite_kept(&Layer::default()).unwrap();
    assert_eq!(files(&target.place.kept), before);
    assert!(folder.join("override.conf").exists());
}

#[test]
fn a_rewriting_that_did_not_end_is_made_what_the_desk_says() {
    let target = target();
    let room = Room::enter(&target.place).unwrap();
    // Killed after the files were written, before the desk was.
    room.rewrite_kept(&raised(512)).unwrap();
    assert!(is_unsettled(&target.place, &room.desk));
    drop(room);
    let room = Room::enter(&target.place).unwrap();
    assert!(room.finish_rewriting().unwrap() && !room.finish_rewriting().unwrap());
    assert_eq!(room.kept().unwrap().layer, Layer::default());
    assert_eq!(files(&target.place.kept), Vec::<String>::new());
    assert!(!target.place.kept.join("web.service.d").exists(), "a folder that is empty goes too");
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let target = target();
    let elsewhere = target.place.state.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, target.place.kept.join("web.service.d")).unwrap();
    let room = Room::enter(&target.place).unwrap();
    assert!(room.rewrite_kept(&raised(512)).is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

// shows: STW-273
#[test]
fn what_is_staged_has_to_be_what_it_is_called() {
    let target = target();
    let room = Room::enter(&target.place).unwrap();
    let identity = room.stage(&raised(512)).unwrap();
    assert_eq!(room.layer_of(identity).unwrap(), raised(512));
    // Exchanged between staging and trying.
    let other = serde_json::to_vec(&raised(900)).unwrap();
    fs::write(room.staged_file(identity), other).unwrap();
    assert!(room.layer_of(identity).is_err());
    fs::write(room.staged_file(identity), b"{").unwrap();
    assert!(room.layer_of(identity).is_err());
}

#[test]
fn old_generations_go_and_what_is_needed_stays() {
    let target = target();
    let room = Room::enter(&target.place).unwrap();
    for mebibytes in 1..=6 {
        room.new_generation(&raised(mebibytes)).unwrap();
    }
    assert_eq!(
        room.clean(1, Duration::ZERO).unwrap(),
        3,
        "three are kept whatever is said, and what is booted into"
    );
    let left: Vec<u32> = room.generations().unwrap().iter().map(|it| it.number).collect();
    assert_eq!(left, [0, 4, 5, 6]);
}

#[test]
fn a_folder_that_others_can_write_is_not_worked_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let target = target();
    let may = |mode| fs::set_permissions(&target.place.state, fs::Permissions::from_mode(mode)).unwrap();
    may(0o775);
    let refused = Room::enter(&target.place).unwrap_err().to_string();
    assert!(refused.ends_with("is not a folder that only root can write"), "{refused}");
    may(0o755);
    assert!(Room::enter(&target.place).is_ok());
    let linked = Place { state: target.place.state.join("link"), ..target.place.clone() };
    std::os::unix::fs::symlink(&target.place.state, &linked.state).unwrap();
    assert!(Room::enter(&linked).is_err());
}

#[test]
fn enrolled_again_what_is_missing_is_made_and_what_is_there_stays() {
    let target = target();
    let key = fs::read(target.place.state.join("log.key")).unwrap();
    fs::remove_dir_all(target.place.state.join("log")).unwrap();
    fs::remove_file(target.place.state.join("reserve")).unwrap();
    Room::begin(&target.place, &settings()).unwrap();
    assert!(target.place.state.join("log").is_dir() && target.place.state.join("reserve").is_file());
    assert_eq!(fs::read(target.place.state.join("log.key")).unwrap(), key, "its origin stays");
}

#[test]
fn nobody_waits_for_who_is_at_work_where_there_is_nothing_to_wait_for() {
    let target = target();
    let room = Room::enter(&target.place).unwrap();
    assert!(Room::enter_if_free(&target.place).unwrap().is_none());
    drop(room);
    assert!(Room::enter_if_free(&target.place).unwrap().is_some());
}

// shows: STW-410
#[test]
fn what_is_old_goes_and_the_newest_three_and_what_is_needed_stay() {
    let of = |count: u32| (0..count).map(|n| (n, Identity([n as u8; 32]))).collect::<Vec<_>>();
    let needed = [Some(Identity([1; 32])), None];
    let all_old = |_| true;
    assert_eq!(
        garbage(&of(6), 3, &needed, all_old),
        [0, 2],
        "all old: three remain, and what is booted into"
    );
    assert_eq!(garbage(&of(6), 0, &needed, all_old), [0, 2], "never fewer than three");
    assert_eq!(garbage(&of(6), 5, &[], all_old), [0]);
    assert!(garbage(&of(3), 3, &[], all_old).is_empty(), "none to spare");
    assert_eq!(garbage(&of(6), 3, &[], |number| number < 2), [0, 1], "the third is young");
}

#[test]
fn the_age_of_a_generation_is_when_it_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let days = |n: u64| Duration::from_secs(n * 86_400);
    assert!(!is_older(folder.path(), days(14)));
    assert!(is_older(folder.path(), Duration::ZERO), "asked for whatever its age");
    let then = fs::metadata(folder.path()).unwrap().modified().unwrap() - days(15);
    File::open(folder.path()).unwrap().set_modified(then).unwrap();
    assert!(is_older(folder.path(), days(14)) && !is_older(folder.path(), days(16)));
    assert!(!is_older(&folder.path().join("gone"), days(1)), "nobody can tell");
}

#[test]
fn settings_that_others_could_write_are_not_worked_by() {
    let target = target();
    Room::begin(&target.place, &settings()).unwrap();
    let folder = target.place.settings.parent().unwrap();
    assert!(Room::enter(&target.place).is_ok());
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o775)).unwrap();
    let refused = Room::enter(&target.place).err().unwrap().to_string();
    assert!(refused.ends_with("is not a folder that only root can write"), "{refused}");
}

// shows: STW-242, STW-241
#[test]
fn of_generations_that_are_all_older_than_a_fortnight_three_stay() {
    let target = target();
    Room::begin(&target.place, &settings()).unwrap();
    let room = Room::enter(&target.place).unwrap();
    for mebibytes in 1..=6 {
        room.new_generation(&raised(mebibytes)).unwrap();
    }
    let fortnight = Duration::from_secs(14 * 86_400);
    assert_eq!(room.clean(3, fortnight).unwrap(), 0, "all of them are young");
    for (number, _) in generations(&target.place).unwrap() {
        let folder = generation_folder(&target.place, number);
        let then = fs::metadata(&folder).unwrap().modified().unwrap() - fortnight - Duration::from_secs(60);
        File::open(folder).unwrap().set_modified(then).unwrap();
    }
    room.clean(3, fortnight).unwrap();
    let left: Vec<u32> = generations(&target.place).unwrap().into_iter().map(|(number, _)| number).collect();
    // And what a boot gives, which is the oldest here.
    assert_eq!(left, [0, 4, 5, 6]);
}
