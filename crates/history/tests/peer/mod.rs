//! A scripted forge: it speaks the interfaces of Forgejo and GitHub over real HTTP, as far as they are used here, and serves a real
//! repository through git's own `http-backend`. Marked so because it is no forge: what it knows of change requests is this file.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "every test file uses a part of it, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A marker that must appear in no argument, message or record.
pub const MARKER: &str = "marker-of-a-token-0815";

#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// Head, state, merged, labels.
    pub requests: Vec<(String, &'static str, bool, Vec<String>)>,
    pub labels: Vec<String>,
    /// Every call of the interface, as method and place.
    pub calls: Vec<String>,
    /// How often a branch arrived.
    pub pushes: usize,
    /// Whatever is asked is answered so.
    pub down: bool,
    /// Opens the request, and then breaks off before it says so.
    pub cuts_off: bool,
}

pub struct Peer {
    folder: tempfile::TempDir,
    pub port: u16,
    inside: Arc<Mutex<Inside>>,
}

impl Peer {
    pub fn start() -> Peer {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("ana/applied.git");
        std::fs::create_dir_all(&repository).unwrap();
        for args in [
            &["init", "--quiet", "--bare", "--initial-branch=main"][..],
            &["config", "http.receivepack", "true"],
        ] {
            assert!(bare_git(&repository, args).success());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let inside = Arc::new(Mutex::new(Inside::default()));
        let (shared, root) = (inside.clone(), folder.path().to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, root) = (shared.clone(), root.clone());
                std::thread::spawn(move || serve(stream, &shared, &root));
            }
        });
        Peer { folder, port, inside }
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/ana/applied.git", self.port)
    }

    pub fn repository(&self) -> PathBuf {
        self.folder.path().join("ana/applied.git")
    }

    pub fn inside(&self) -> Inside {
        self.inside.lock().unwrap().clone()
    }

    pub fn change<T>(&self, deed: impl FnOnce(&mut Inside) -> T) -> T {
        deed(&mut self.inside.lock().unwrap())
    }
}

fn bare_git(repository: &Path, args: &[&str]) -> std::process::ExitStatus {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap()
}

struct Asked {
    method: String,
    place: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn asked(reader: &mut impl std::io::BufRead) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, place) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, place, headers, body })
}

fn serve(stream: TcpStream, inside: &Mutex<Inside>, root: &Path) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    // Git keeps a connection for what follows.
    while let Some(asked) = asked(&mut reader) {
        let answer = if inside.lock().unwrap().down {
            Some(said(503, "text/plain", b"down"))
        } else if asked.place.contains(".git/") {
            Some(by_git(&asked, inside, root))
        } else {
            by_the_interface(&asked, inside)
        };
        let Some(answer) = answer else { return };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn said(status: u16, kind: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn is_allowed(asked: &Asked) -> bool {
    use base64::Engine as _;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{MARKER}"));
    let given = asked.headers.get("authorization").map(String::as_str);
    given == Some(&format!("Basic {basic}")) || given == Some(&format!("token {MARKER}"))
}

fn by_git(asked: &Asked, inside: &Mutex<Inside>, root: &Path) -> Vec<u8> {
    if !is_allowed(asked) {
        return said(401, "text/plain", b"who are you?");
    }
    let (path, query) = asked.place.split_once('?').unwrap_or((&asked.place, ""));
    if path.ends_with("git-receive-pack") && asked.method == "POST" {
        inside.lock().unwrap().pushes += 1;
    }
    let mut command = Command::new("git");
    command.arg("http-backend").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "steward");
    command.env("PATH_INFO", path).env("QUERY_STRING", query).env("REQUEST_METHOD", &asked.method);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("REMOTE_ADDR", "127.0.0.1");
    for (header, name) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-length", "CONTENT_LENGTH"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = asked.headers.get(header) {
            command.env(name, value);
        }
    }
    let mut child = command.spawn().unwrap();
    let (mut stdin, body) = (child.stdin.take().unwrap(), asked.body.clone());
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let out = child.wait_with_output().unwrap().stdout;
    feeding.join().unwrap();
    let split = out.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&out[..split]).into_owned();
    let field = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(it, _)| it.eq_ignore_ascii_case(name))
            .map(|it| it.1.to_owned())
    };
    let status = field("Status").and_then(|it| it.get(..3)?.parse().ok()).unwrap_or(200);
    said(status, &field("Content-Type").unwrap_or_default(), &out[(split + 4).min(out.len())..])
}

/// `None` breaks the connection off.
fn by_the_interface(asked: &Asked, inside: &Mutex<Inside>) -> Option<Vec<u8>> {
    let json_said =
        |status, value: Value| Some(said(status, "application/json", value.to_string().as_bytes()));
    if !is_allowed(asked) {
        return json_said(401, json!({"message": "who are you?"}));
    }
    let mut inside = inside.lock().unwrap();
    let (api, github) = match asked.place.split_once("/api/v3/repos/ana/applied") {
        Some((_, rest)) => (rest.to_owned(), true),
        None => (asked.place.split_once("/api/v1/repos/ana/applied")?.1.to_owned(), false),
    };
    inside.calls.push(format!("{} {api}", asked.method));
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or(Value::Null);
    let shown = |inside: &Inside, at: usize| {
        let (head, state, merged, labels) = &inside.requests[at];
        let merged_at = merged.then_some("2026-11-16T12:00:00Z");
        let address = format!("https://forge.example/ana/applied/pulls/{}", at + 1);
        let mut value = json!({"number": at + 1, "state": state, "html_url": address, "head": {"ref": head}, "labels": labels});
        if github {
            value["merged_at"] = json!(merged_at);
        } else {
            value["merged"] = json!(merged);
        }
        value
    };
    let newest = |inside: &Inside, head: &str| inside.requests.iter().rposition(|it| it.0 == head);
    match (asked.method.as_str(), api.as_str()) {
        ("GET", place) if place.starts_with("/pulls?") => {
            let head = place.split("head=ana:").nth(1).unwrap().split('&').next().unwrap();
            let found: Vec<Value> = newest(&inside, head).map(|at| shown(&inside, at)).into_iter().collect();
            json_said(200, json!(found))
        }
        ("GET", place) if place.starts_with("/pulls/main/") => match newest(&inside, &place[12..]) {
            Some(at) => json_said(200, shown(&inside, at)),
            None => json_said(404, json!({"message": "there is none"})),
        },
        ("POST", "/pulls") => {
            let head = body["head"].as_str().unwrap().to_owned();
            assert_eq!(body["base"], "main");
            inside.requests.push((head, "open", false, Vec::new()));
            if std::mem::take(&mut inside.cuts_off) {
                return None;
            }
            json_said(201, shown(&inside, inside.requests.len() - 1))
        }
        ("GET", "/labels?limit=50") => {
            let all: Vec<Value> = inside
                .labels
                .iter()
                .enumerate()
                .map(|(at, name)| json!({"id": at + 40, "name": name}))
                .collect();
            json_said(200, json!(all))
        }
        ("POST", "/labels") => {
            inside.labels.push(body["name"].as_str().unwrap().to_owned());
            json_said(201, json!({"id": inside.labels.len() + 39}))
        }
        ("POST", place) if place.starts_with("/issues/") => {
            let at: usize = place.split('/').nth(2).unwrap().parse().unwrap();
            let label = match body["labels"][0].as_u64() {
                Some(number) => inside.labels[number as usize - 40].clone(),
                None => body["labels"][0].as_str().unwrap().to_owned(),
            };
            let labels = &mut inside.requests[at - 1].3;
            if !labels.contains(&label) {
                labels.push(label);
            }
            json_said(200, json!([]))
        }
        _ => json_said(404, json!({"message": "not scripted"})),
    }
}
