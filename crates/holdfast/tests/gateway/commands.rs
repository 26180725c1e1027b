//! The API says what the commands say: the same question asked at the machine and over HTTP has one answer.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::browser::{Reply, call, call_with};
use crate::formats::lived_in;
use crate::house::House;

/// Somebody who asks both ways.
struct Both {
    house: House,
    token: String,
}

impl Both {
    async fn new() -> Both {
        let house = lived_in();
        let (_, token) = house.owner().await.token("manage").await;
        Both { house, token }
    }

    async fn get(&self, target: &str) -> Value {
        call(self.house.port, &self.token, "GET", target, None).await.is(200).json
    }

    async fn post(&self, target: &str, kind: &str, bytes: &[u8]) -> Reply {
        call_with(self.house.port, &self.token, ("POST", target), Some(kind), bytes.to_vec()).await
    }

    fn said(&self, args: &[&str]) -> Value {
        self.house.home.run(args).json()
    }

    /// The answer to both, which is the same.
    async fn same(&self, args: &[&str], target: &str) -> Value {
        let (mut said, told) = (self.said(args), self.get(target).await);
        if said != told {
            // What the journal says may have grown in between.
            said = self.said(args);
        }
        assert_eq!(said, told, "{args:?} and {target}");
        told
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_looks_at_is_told_over_http_in_the_same_words() {
    let both = Both::new().await;
    the_settings_in_force(&both).await;
    both.same(&["config", "example", "--json"], "/api/v1/house/settings/example").await;
    both.same(&["config", "schema", "--json"], "/api/v1/house/settings/schema").await;
    both.same(&["model", "info", "--json"], "/api/v1/house/model").await;
    both.same(&["egress", "show", "--json"], "/api/v1/house/egress").await;
    both.same(&["egress", "check", "--json"], "/api/v1/house/egress/check").await;
    both.same(&["steward", "history", "--json"], "/api/v1/history").await;
    both.same(&["audit", "witness", "list", "--json"], "/api/v1/audit/witnesses").await;
    both.same(&["target", "show", "--json"], "/api/v1/targets").await;

    let people = both.get("/api/v1/house/people").await;
    assert_eq!(people, both.said(&["gateway", "people", "--json"]));
    assert_eq!(people["people"][0]["role"], "owner");

    // How much lies on the disk changes from one look to the next; what is looked at does not.
    let (disk, said) = (both.get("/api/v1/house/disk").await, both.said(&["disk", "--json"]));
    for field in ["budget_bytes", "level", "consequences"] {
        assert_eq!(disk[field], said[field], "{field}");
    }
    let (round, said) = (both.get("/api/v1/house/doctor").await, both.said(&["doctor", "--json"]));
    let checks = |of: &Value| -> Vec<(Value, Value)> {
        let all = of["checks"].as_array().unwrap().iter();
        all.map(|check| (check["check"].clone(), check["looked_at"].clone())).collect()
    };
    assert_eq!(checks(&round), checks(&said));
    assert!(round["verdict"].is_string() && round["seconds"].is_f64(), "{round}");

    let report = both.get("/api/v1/history/report?target=box-1").await;
    assert_eq!(report["reports"][0]["target"], "box-1");
    assert!(report["reports"][0]["markdown"].as_str().unwrap().starts_with('#'), "{report}");
    for target in ["/api/v1/history/report?target=nobody", "/api/v1/history?target=nobody"] {
        call(both.house.port, &both.token, "GET", target, None).await.is(404);
    }
    // Nobody keeps to the rules of a home: that is not known, and never told as good.
    call(both.house.port, &both.token, "GET", "/api/v1/house/egress/refusals", None).await.is(409);
}

/// The daemon's own flags are in what it tells, and not in what somebody else reads from the file.
async fn the_settings_in_force(both: &Both) {
    let rows = |of: &Value| of["settings"].as_array().unwrap().clone();
    let (said, told) = (both.said(&["config", "show", "--json"]), both.get("/api/v1/house/settings").await);
    assert!(rows(&told).len() > 40);
    assert_eq!((&said["file"], rows(&said).len()), (&told["file"], rows(&told).len()));
    let mut flags = 0;
    for (said, told) in rows(&said).iter().zip(rows(&told)) {
        match told["from"].as_str() {
            Some("flag") => flags += 1,
            _ => assert_eq!(said, &told),
        }
    }
    assert!((1..5).contains(&flags), "{flags}");
    let changed = both.get("/api/v1/house/settings?changed=true").await;
    assert!(rows(&changed).iter().all(|row| row["from"] != "default") && rows(&changed).len() > flags);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_series_a_text_and_a_configuration_are_judged_as_at_the_machine() {
    let both = Both::new().await;
    let mut series = String::from("timestamp,value\n");
    for n in 0..3_000_u32 {
        let noise = f64::from(n.wrapping_mul(2_654_435_761) >> 16 & 0xff) / 256.0;
        let level = if n < 2_000 { 10.0 } else { 25.0 };
        series.push_str(&format!("{},{}\n", 1_700_000_000 + u64::from(n) * 300, level + noise));
    }
    let file = both.house.home.beside("pressure.csv");
    std::fs::write(&file, &series).unwrap();
    let file = file.to_str().unwrap();
    let mut said = both.said(&["steward", "detect", file, "--json"]);
    let told = both.post("/api/v1/series/detect", "text/csv", series.as_bytes()).await.is(200).json;
    assert!(!told["findings"].as_array().unwrap().is_empty(), "{told}");
    let said = said.as_object_mut().unwrap();
    assert_eq!(said.remove("file").unwrap(), json!(file));
    assert_eq!(&Value::Object(said.clone()), &told);

    let target = "/api/v1/series/detect?change_points=true&scores=true&svg=true";
    let told = both.post(target, "text/csv", series.as_bytes()).await.is(200).json;
    let points = told["change_points"].as_array().unwrap();
    assert!(points.iter().any(|at| at["index"].as_u64().unwrap().abs_diff(2_000) < 5), "{points:?}");
    assert_eq!(told["scores"].as_array().unwrap().len(), 3_000);
    assert!(told["svg"].as_str().unwrap().starts_with("<svg"));
    both.post("/api/v1/series/detect", "text/csv", b"what,else\n1,2\n").await.is(422);
    both.post("/api/v1/series/detect", "application/json", b"{}").await.is(415);

    calibrated_both_ways(&both, &series, file).await;

    let key = ["ghp_", "R7mQ2xT9vK4pL8sW1nB6cY3dF5gH0jZaXeUi"].concat();
    let text = format!("the token is {key}, ask ana@example.org");
    let asked = json!({"text": text, "looking": "secrets"});
    let told = call(both.house.port, &both.token, "POST", "/api/v1/house/redact", Some(&asked)).await.is(200);
    assert!(!told.text.contains(&key) && told.text.contains("ana@example.org"), "{}", told.text);
    let ran = both.house.home.run_with(&["redact", "--looking", "secrets", "--json"], text.as_bytes());
    assert_eq!(told.json, ran.json());

    let wrong = both.post("/api/v1/house/settings/check", "application/yaml", b"version: 1\nlgo: {}\n").await;
    let wrong = wrong.is(200).json;
    assert_eq!((wrong["right"].as_bool(), wrong["diagnostics"][0]["line"].as_u64()), (Some(false), Some(2)));
    let right = both.post("/api/v1/house/settings/check", "application/yaml", b"version: 1\n").await.is(200);
    assert_eq!(right.json, json!({"right": true, "diagnostics": [], "more": 0}));
}

async fn calibrated_both_ways(both: &Both, series: &str, file: &str) {
    let args = ["steward", "calibrate", file, "--target", "box-1", "--dry-run", "--json"];
    let said = both.said(&args);
    let target = "/api/v1/hosts/box-1/calibrate?dry_run=true";
    let told = both.post(target, "text/csv", series.as_bytes()).await.is(200).json;
    assert_eq!(said, told);
    let done = both.post("/api/v1/hosts/box-1/calibrate", "text/csv", series.as_bytes()).await.is(200).json;
    let seq = done["recorded_as"].as_u64().unwrap();
    let entry = both.get(&format!("/api/v1/audit/entries/{seq}")).await;
    assert!(entry["actor"].as_str().unwrap().starts_with("web:"), "who did it is who is signed in: {entry}");
    assert_eq!(entry["body"]["metric"], done["metric"]);
    let short = "timestamp,value\n1700000000,1\n1700000300,2\n";
    both.post("/api/v1/hosts/box-1/calibrate", "text/csv", short.as_bytes()).await.is(409);
    both.post("/api/v1/hosts/nobody/calibrate", "text/csv", series.as_bytes()).await.is(404);
    let odd = both.post("/api/v1/hosts/box-1/calibrate?metric=odd", "text/csv", series.as_bytes()).await;
    odd.is(409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_verified_and_a_history_is_learnt_from_over_http() {
    let both = Both::new().await;
    let told = call(both.house.port, &both.token, "POST", "/api/v1/audit/verify", None).await.is(200).json;
    assert_eq!((told["verdict"].as_str(), told["findings"].as_array().unwrap().len()), (Some("verified"), 0));
    let said = both.said(&["audit", "verify", "--json"]);
    for field in ["origin", "first", "trusted", "blobs_opened", "witnessed"] {
        assert_eq!(told[field], said[field], "{field}");
    }
    let size = told["size"].as_u64().unwrap();
    let newest = both.get("/api/v1/audit/entries?kind=holdfast.journal&limit=1").await;
    assert_eq!(newest["entries"][0]["body"]["size"].as_u64(), Some(size), "it is written down: {newest}");

    let folder = both.house.home.beside("project");
    let bundle = a_history(&folder);
    let mine = |agent: &str| format!("/api/v1/memory/mine?agent={agent}&name=project");
    let learnt = both.post(&mine("scout"), "application/octet-stream", &bundle).await.is(200).json;
    assert_eq!((learnt["commits"].as_u64(), learnt["captured"].as_u64()), (Some(2), Some(2)), "{learnt}");
    // The same repository at the machine is known by now.
    let args = ["memory", "experience", "mine", folder.to_str().unwrap(), "--agent", "scout", "--json"];
    assert_eq!(both.said(&args)["known"], 2);
    let matched = json!({"agent": "scout", "situation": "error: database is locked (code 9)"});
    let found = call(both.house.port, &both.token, "POST", "/api/v1/memory/match", Some(&matched)).await;
    assert!(found.is(200).text.contains("Two writers met"));
    let wrong = both.post(&mine("scout"), "application/octet-stream", b"no bundle at all").await.is(422);
    assert_eq!(wrong.code(), "HF-MEM-023", "{}", wrong.text);
    assert!(!wrong.text.contains("/tmp"), "{}", wrong.text);

    let asked = json!({"agent": "scout"});
    let notes = call(both.house.port, &both.token, "POST", "/api/v1/memory/notes", Some(&asked)).await;
    let notes = notes.is(200).json;
    assert!(!notes["files"].as_array().unwrap().is_empty(), "{notes}");
}

/// A repository of two commits, as git bundles it.
fn a_history(folder: &Path) -> Vec<u8> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=ana", "-c", "user.email=ana@localhost"]);
        let out = command.args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    };
    std::fs::create_dir_all(folder).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    for (file, title, body) in [
        ("writer.rs", "fix: wait for the lock", "Two writers met.\nerror: database is locked (code 5)"),
        ("adr.md", "Decide: SQLite in place of PostgreSQL", "No server is needed."),
    ] {
        std::fs::write(folder.join(file), title).unwrap();
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "-m", title, "-m", body]);
    }
    git(&["bundle", "create", "--quiet", "-", "HEAD"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_taken_in_is_shown_and_checked_over_http() {
    let both = Both::new().await;
    let folder = both.house.home.path().join("state/steward/web-7");
    std::fs::create_dir_all(&folder).unwrap();
    // Somebody takes calls there and says nothing, until it is let go: then nothing answers at all.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let record = json!({
        "version": 1, "target": "web-7", "user": "ana", "host": "127.0.0.1", "address": "127.0.0.1", "port": port,
        "is_root": false, "host_key": "SHA256:abc", "units": ["nginx.service"], "endpoint": null, "from": [],
        "os": "Debian GNU/Linux 13", "began": "2026-11-18 08:00:00Z", "begun": [], "finished": true, "config": null,
        "inventory": {"os": "Debian GNU/Linux 13", "kernel": "6.12", "machine": "x86_64", "systemd": 257, "pressure": true,
            "reached_by": ["ssh.service"], "services": [{"unit": "nginx.service", "ports": [80]}], "tools": ["git"]},
    });
    std::fs::write(folder.join("enrolment.json"), record.to_string()).unwrap();
    let all = both.same(&["target", "show", "--json"], "/api/v1/targets").await;
    assert_eq!(all["targets"][0]["inventory"]["services"][0]["ports"], json!([80]), "{all}");
    assert_eq!(both.get("/api/v1/targets/web-7").await, all["targets"][0]);
    call(both.house.port, &both.token, "GET", "/api/v1/targets/nobody", None).await.is(404);

    let check = || call(both.house.port, &both.token, "POST", "/api/v1/targets/web-7/check", None);
    let meanwhile = async {
        let (held, _) = silent.accept().await.unwrap();
        let second = check().await;
        drop((held, silent));
        second
    };
    let (checked, second) = tokio::join!(check(), meanwhile);
    assert_eq!(second.is(409).code(), "HF-CLI-025", "one goes on at a time");
    let checked = checked.is(200).json;
    assert_eq!((checked["good"].as_bool(), &checked["inventory"]), (Some(false), &Value::Null));
    let said = both.house.home.run(&["target", "check", "web-7", "--json"]).ends(1).json();
    assert_eq!(said["findings"].as_array().unwrap().len(), checked["findings"].as_array().unwrap().len());
    call(both.house.port, &both.token, "POST", "/api/v1/targets/nobody/check", None).await.is(404);
}
