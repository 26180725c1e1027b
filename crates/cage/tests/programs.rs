//! Real programs work inside: version control, a compiler, interpreters, and the command lines of models.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use holdfast_cage::wire::End;
use holdfast_cage::{Access, Files};
use support::{Outcome, Trial, folder, own};

fn succeeded(done: &Outcome) {
    assert_eq!(
        done.evidence.ended.end,
        End::Exited { code: 0 },
        "{}\n{}\n{:?}",
        done.out,
        done.err,
        done.evidence
    );
}

fn grant(trial: &mut Trial, path: &Path, access: Access) {
    trial.policy.files.push(Files::by_hand(path.display().to_string(), access, true, false, "the test's"));
}

fn write(work: &Path, name: &str, text: &str) {
    let path = work.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    own(&path);
    own(path.parent().unwrap());
}

#[test]
fn git_makes_a_repository_and_commits() {
    let work = folder();
    let done = Trial::of("work", work.path()).sh(
        "git init -q . && git config user.name a && git config user.email a@example.org && echo text > file && \
         git add file && git commit -qm first && git log --oneline && git clone -q . ../copy 2>&1 | head -1; git status --short",
    );
    succeeded(&done);
    assert!(done.out.contains("first"), "{done:?}");
    assert!(work.path().join(".git/HEAD").exists());
}

/// The compiler that builds this, wherever it lies.
fn toolchain() -> PathBuf {
    let rustc = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(rustc.stdout).unwrap().trim())
}

#[test]
fn cargo_builds_tests_and_runs() {
    let work = folder();
    write(
        work.path(),
        "Cargo.toml",
        "[package]\nname = \"inside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    write(work.path(), "src/main.rs", "fn main() { println!(\"built inside\"); }\n#[test]\nfn holds() {}\n");
    let toolchain = toolchain();
    let mut trial = Trial::of("work", work.path());
    // It may lie in a home that is shut to the program; what is granted is seen, and nothing above it.
    grant(&mut trial, &toolchain, Access::Read);
    let cargo = toolchain.join("bin/cargo");
    let done = trial.run(&[
        "sh",
        "-c",
        &format!("PATH={}:$PATH; cargo -q build --offline && cargo -q test --offline >/dev/null && ./target/debug/inside", toolchain.join("bin").display()),
    ]);
    assert!(cargo.exists());
    succeeded(&done);
    assert_eq!(done.out, "built inside\n");
}

#[test]
fn node_runs_a_server_and_asks_it() {
    let work = folder();
    write(
        work.path(),
        "server.mjs",
        "import http from 'node:http'; import os from 'node:os';\n\
         const server = http.createServer((q, s) => s.end('served')).listen(0, '127.0.0.1', () => {\n\
           http.get({port: server.address().port}, (a) => a.on('data', (d) => { console.log(String(d), os.cpus().length > 0); server.close(); }));\n\
         });\n",
    );
    let done = Trial::of("work", work.path()).run(&["node", "server.mjs"]);
    succeeded(&done);
    assert_eq!(done.out, "served true\n");
}

#[test]
fn python_uses_threads_processes_and_temporary_files() {
    let work = folder();
    write(
        work.path(),
        "tool.py",
        "import multiprocessing, tempfile, threading, subprocess, sqlite3\n\
         def square(n): return n * n\n\
         if __name__ == '__main__':\n\
         \x20   t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
         \x20   with multiprocessing.Pool(2) as pool: print(sum(pool.map(square, range(10))))\n\
         \x20   with tempfile.NamedTemporaryFile() as f: f.write(b'x')\n\
         \x20   print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n\
         \x20   print(sqlite3.connect('db.sqlite').execute('select 1').fetchone()[0])\n",
    );
    let done = Trial::of("work", work.path()).run(&["/usr/bin/python3", "tool.py"]);
    succeeded(&done);
    assert_eq!(done.out, "285\nchild\n1\n");
}

/// Where `scripts/model-clis.sh` puts them.
fn model_clis() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let tools = std::env::var_os("HOLDFAST_TOOLS").map_or(cache.join("holdfast/tools"), PathBuf::from);
    let found = tools.join("model-clis/node_modules").canonicalize();
    found
        .unwrap_or_else(|e| panic!("the models' command lines are not here ({e}); run scripts/model-clis.sh"))
}

fn native(folder: &Path, package: &str, name: &str) -> PathBuf {
    let folder = folder.join(package);
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|found| found == name) {
                return path;
            }
        }
    }
    panic!("{name} is not in {package}");
}

#[test]
fn the_command_lines_of_models_start_inside() {
    let clis = model_clis();
    let work = folder();
    for (package, name, says) in [
        ("@anthropic-ai/claude-code-linux-x64", "claude", "Claude Code"),
        ("@openai/codex-linux-x64", "codex", "codex"),
    ] {
        let program = native(&clis, package, name);
        let mut trial = Trial::of("model", work.path());
        grant(&mut trial, program.parent().unwrap(), Access::Read);
        let done = trial.run(&[program.to_str().unwrap(), "--version"]);
        succeeded(&done);
        assert!(done.out.contains(says), "{done:?}");
    }
}

/// A peer that speaks just enough of a provider's protocol: every request that asks for a message gets the same answer.
struct Peer {
    port: u16,
    asked: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Peer {
    fn answering(stream: &'static str, at: &'static str) -> Peer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = std::sync::Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let kept = std::sync::Arc::clone(&kept);
                std::thread::spawn(move || while serve_one(&connection, stream, at, &kept).is_some() {});
            }
        });
        Peer { port, asked }
    }
}

fn serve_one(
    mut connection: &std::net::TcpStream,
    stream: &str,
    at: &str,
    kept: &std::sync::Mutex<Vec<String>>,
) -> Option<()> {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let mut reader = BufReader::new(connection);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|length| *length > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    kept.lock().unwrap().push(format!("{first}{}", String::from_utf8_lossy(&body)));
    let (kind, answer) = match first.contains(at) {
        true => ("text/event-stream", stream),
        false => ("application/json", "{}"),
    };
    write!(
        connection,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .ok()
}

fn answered(
    package: &str,
    name: &str,
    peer: &Peer,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Outcome {
    let clis = model_clis();
    let work = folder();
    let program = native(&clis, package, name);
    let mut trial = Trial::of("work", work.path());
    grant(&mut trial, program.parent().unwrap(), Access::Read);
    trial.policy.services.push(holdfast_cage::Service::by_hand(
        9097,
        format!("127.0.0.1:{}", peer.port),
        "the test's peer",
    ));
    for (variable, value) in variables {
        trial.policy.variables.push(holdfast_cage::Variable::by_hand(
            (*variable).to_owned(),
            Some((*value).to_owned()),
            "the test's",
        ));
    }
    trial.policy.limits.time = Some(std::time::Duration::from_secs(60));
    let argv: Vec<&str> =
        std::iter::once(program.to_str().unwrap()).chain(arguments.iter().copied()).collect();
    trial.run(&argv)
}

const MESSAGE: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"heard you inside\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":3}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

#[test]
fn claude_asks_through_its_one_door_and_answers() {
    let peer = Peer::answering(MESSAGE, "/v1/messages");
    let done = answered(
        "@anthropic-ai/claude-code-linux-x64",
        "claude",
        &peer,
        &["-p", "say something"],
        &[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9097"),
            ("ANTHROPIC_API_KEY", "not-a-real-key"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ],
    );
    succeeded(&done);
    assert!(done.out.contains("heard you inside"), "{done:?}");
    assert!(peer.asked.lock().unwrap().iter().any(|asked| asked.contains("say something")));
}

const RESPONSE: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"id\":\"m1\",\"content\":[{\"type\":\"output_text\",\"text\":\"heard you inside\"}]}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"usage\":{\"input_tokens\":1,\"input_tokens_details\":null,\"output_tokens\":1,\"output_tokens_details\":null,\"total_tokens\":2}}}\n\n",
);

#[test]
fn codex_asks_through_its_one_door_and_answers() {
    let peer = Peer::answering(RESPONSE, "/responses");
    let done = answered(
        "@openai/codex-linux-x64",
        "codex",
        &peer,
        &[
            "exec",
            "--skip-git-repo-check",
            "-c",
            "model_provider=\"peer\"",
            "-c",
            "model_providers.peer={name=\"peer\",base_url=\"http://127.0.0.1:9097/v1\",env_key=\"PEER_KEY\",wire_api=\"responses\"}",
            "say something",
        ],
        &[("PEER_KEY", "not-a-real-key")],
    );
    succeeded(&done);
    assert!(done.out.contains("heard you inside"), "{done:?}");
    assert!(peer.asked.lock().unwrap().iter().any(|asked| asked.contains("say something")));
}
