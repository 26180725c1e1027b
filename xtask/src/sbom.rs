//! `xtask sbom`: the list of parts of what is shipped, as CycloneDX.
//!
//! It walks what cargo resolved, from the shipped programs along ordinary dependencies: what only builds or tests them, and what runs
//! inside the compiler, ends up in no program. Cargo resolves features for the whole workspace at once, so a part may be listed that a single
//! program was built without; none is left out. Checksums are those of Cargo.lock, by which cargo checked what it fetched. The standard
//! library, SQLite (whose sources are in a package) and the C library are no packages of cargo's and are named besides, and so is what the
//! programs take from the machine's own libraries when they start.
//!
//! The same sources give the same bytes: neither the time nor a random number is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Verdict;
use crate::tree::Tree;

/// Packages whose programs are in the Debian package.
const SHIPPED: [&str; 6] = [
    "holdfast",
    "holdfast-tripwire",
    "holdfast-egress",
    "holdfast-doorman",
    "holdfast-cage",
    "holdfast-intruder",
];
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run(args: &[String]) -> anyhow::Result<Verdict> {
    let version = match args {
        [] => None,
        [version] => Some(version.as_str()),
        _ => return Ok(Verdict::WrongUsage("`sbom` takes one version at most".into())),
    };
    let metadata = ["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET];
    let metadata: Value =
        serde_json::from_str(&said("cargo", &metadata)?).context("reading what cargo resolved")?;
    let lock = Tree::read()?.texts(|path| path == "Cargo.lock")?;
    let lock: Lock =
        toml::from_str(lock.first().map_or("", |(_, text)| text)).context("reading Cargo.lock")?;
    let mut bom = bom(&metadata, &lock, version)?;
    let beside = [
        beside(
            "std",
            word(&said("rustc", &["--version"])?, 1)?,
            "MIT OR Apache-2.0",
            "Rust's standard library, in every program",
        ),
        beside(
            "glibc",
            word(&said("getconf", &["GNU_LIBC_VERSION"])?, 1)?,
            "LGPL-2.1-or-later",
            "in holdfast-doorman; the others use the machine's own, such as Debian's libc6",
        ),
        beside(
            "sqlite",
            &sqlite(&metadata)?,
            "blessing",
            "compiled into holdfast from the sources in libsqlite3-sys",
        ),
        json!({
            "type": "library", "bom-ref": "libgcc-s1", "name": "libgcc-s1",
            "licenses": [{ "expression": "GPL-3.0-or-later WITH GCC-exception-3.1" }],
            "description": "not in the package; the programs use the machine's own",
        }),
    ];
    list_beside(&mut bom, beside);
    println!("{bom:#}");
    Ok(Verdict::Good)
}

fn said(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(args).output().with_context(|| format!("starting {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading what {program} said"))
}

fn word(text: &str, at: usize) -> anyhow::Result<&str> {
    text.split_whitespace().nth(at).with_context(|| format!("{text:?} names no version"))
}

fn beside(name: &str, version: &str, license: &str, description: &str) -> Value {
    json!({
        "type": "library", "bom-ref": format!("{name}@{version}"), "name": name, "version": version,
        "licenses": [{ "expression": license }], "description": description,
    })
}

/// The package as a whole needs them: cargo does not say which program does.
fn list_beside(bom: &mut Value, beside: impl IntoIterator<Item = Value>) {
    let beside: Vec<Value> = beside.into_iter().collect();
    let mut on: Vec<Value> = SHIPPED.iter().filter_map(|name| reference(bom, name)).collect();
    on.extend(beside.iter().map(|part| part["bom-ref"].clone()));
    if let Some(components) = bom["components"].as_array_mut() {
        components.extend(beside);
    }
    if let Some(dependencies) = bom["dependencies"].as_array_mut() {
        dependencies.push(json!({ "ref": "package", "dependsOn": on }));
    }
}

fn reference(bom: &Value, name: &str) -> Option<Value> {
    let components = bom["components"].as_array()?;
    components
        .iter()
        .find(|part| part["name"] == name && part["purl"].is_null())
        .map(|part| part["bom-ref"].clone())
}

/// By the header that is compiled with it.
fn sqlite(metadata: &Value) -> anyhow::Result<String> {
    let packages = metadata["packages"].as_array().context("cargo's metadata has another shape")?;
    let package = packages.iter().find(|package| package["name"] == "libsqlite3-sys");
    let manifest = package
        .and_then(|package| package["manifest_path"].as_str())
        .context("there is no libsqlite3-sys")?;
    let header = Path::new(manifest).with_file_name("sqlite3").join("sqlite3.h");
    let text = std::fs::read_to_string(&header).with_context(|| format!("reading {}", header.display()))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))
        .context("it names no version")?;
    Ok(line.trim().trim_matches('"').to_owned())
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dep>,
}

#[derive(Deserialize)]
struct Dep {
    pkg: String,
    dep_kinds: Vec<DepKind>,
}

#[derive(Deserialize)]
struct DepKind {
    /// Nothing for an ordinary dependency.
    kind: Option<String>,
}

impl Package {
    /// Such as `serde@1.0.228`: what it is called in the list.
    fn name_in_list(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// It runs inside the compiler.
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

fn bom(metadata: &Value, lock: &Lock, version: Option<&str>) -> anyhow::Result<Value> {
    let metadata = Metadata::deserialize(metadata).context("cargo's metadata has another shape")?;
    let packages: BTreeMap<&str, &Package> = metadata.packages.iter().map(|p| (p.id.as_str(), p)).collect();
    let edges = edges(&metadata, &packages);
    let roots: Vec<&Package> = SHIPPED.iter().filter_map(|name| own(&metadata, name)).collect();
    let Some(main) = roots.first().filter(|_| roots.len() == SHIPPED.len()) else {
        bail!("of the packages {} only {} are in the workspace", SHIPPED.join(", "), roots.len());
    };
    let listed = reached(&roots, &edges);
    let parts = || listed.iter().filter_map(|id| packages.get(id).copied());
    let components = parts().map(|part| component(part, lock)).collect::<anyhow::Result<Vec<Value>>>()?;
    let dependencies = parts().map(|part| {
        let on = edges.get(part.id.as_str()).into_iter().flatten();
        let on: BTreeSet<String> = on.filter_map(|id| Some(packages.get(id)?.name_in_list())).collect();
        json!({ "ref": part.name_in_list(), "dependsOn": on })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": "package", "name": "holdfast",
            "version": version.unwrap_or(&main.version), "licenses": licenses(main),
        } },
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// A package of the workspace.
fn own<'a>(metadata: &'a Metadata, name: &str) -> Option<&'a Package> {
    metadata.packages.iter().find(|package| package.name == name && package.source.is_none())
}

/// What each package has in its programs besides itself.
fn edges<'a>(metadata: &'a Metadata, packages: &BTreeMap<&str, &Package>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let is_part = |dep: &&Dep| {
        let is_ordinary = dep.dep_kinds.iter().any(|kind| kind.kind.is_none());
        is_ordinary && packages.get(dep.pkg.as_str()).is_some_and(|package| !package.is_macro())
    };
    let parts_of = |node: &'a Node| node.deps.iter().filter(is_part).map(|dep| dep.pkg.as_str()).collect();
    metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), parts_of(node))).collect()
}

fn reached<'a>(roots: &[&'a Package], edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = roots.iter().map(|root| root.id.as_str()).collect();
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(edges.get(id).into_iter().flatten());
        }
    }
    reached
}

fn component(package: &Package, lock: &Lock) -> anyhow::Result<Value> {
    let mut component = json!({
        "type": "library",
        "bom-ref": package.name_in_list(),
        "name": package.name,
        "version": package.version,
        "licenses": licenses(package),
    });
    // Our own come with the sources and have no checksum.
    if package.source.is_some() {
        let locked = lock.package.iter().find(|locked| {
            locked.name == package.name
                && locked.version == package.version
                && locked.source == package.source
        });
        let Some(checksum) = locked.and_then(|locked| locked.checksum.as_ref()) else {
            bail!("Cargo.lock has no checksum for {}", package.name_in_list());
        };
        component["purl"] = json!(format!("pkg:cargo/{}@{}", package.name, package.version));
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    Ok(component)
}

/// Some packages still write `MIT/Apache-2.0`, which is no expression any more and means either.
fn licenses(package: &Package) -> Value {
    match &package.license {
        Some(license) => {
            let either: Vec<&str> = license.split('/').map(str::trim).collect();
            json!([{ "expression": either.join(" OR ") }])
        }
        None => json!([{ "license": { "name": "as its source says" } }]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+x";

    fn package(name: &str, source: Option<&str>, kind: &str) -> Value {
        json!({
            "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source,
            "targets": [{ "kind": [kind] }],
        })
    }

    fn node(id: &str, deps: &[(&str, Option<&str>)]) -> Value {
        let deps = deps.iter().map(|(pkg, kind)| json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] }));
        json!({ "id": id, "deps": deps.collect::<Vec<_>>() })
    }

    fn metadata() -> Value {
        let mut packages: Vec<Value> = SHIPPED.iter().map(|name| package(name, None, "bin")).collect();
        let fetched = |name, kind| package(name, Some(REGISTRY), kind);
        packages.extend([
            fetched("used", "lib"),
            fetched("deep", "lib"),
            fetched("derive", "proc-macro"),
            fetched("tried", "lib"),
            fetched("built-with", "lib"),
            fetched("of-the-macro", "lib"),
        ]);
        let holdfast =
            [("used", None), ("derive", None), ("tried", Some("dev")), ("built-with", Some("build"))];
        let nodes = [
            node("holdfast", &holdfast),
            node("used", &[("deep", None)]),
            node("derive", &[("of-the-macro", None)]),
        ];
        json!({ "packages": packages, "resolve": { "nodes": nodes } })
    }

    fn locked(name: &str) -> Locked {
        Locked {
            name: name.into(),
            version: "1.0.0".into(),
            source: Some(REGISTRY.into()),
            checksum: Some(format!("sum of {name}")),
        }
    }

    #[test]
    fn what_ends_up_in_a_program_is_listed_and_nothing_else() {
        let lock = Lock { package: vec![locked("used"), locked("deep")] };
        let bom = bom(&metadata(), &lock, Some("2.0")).unwrap();
        let components = bom["components"].as_array().unwrap();
        let fetched: Vec<&str> = components
            .iter()
            .filter(|component| component["purl"].is_string())
            .map(|component| component["name"].as_str().unwrap())
            .collect();
        assert_eq!(fetched, ["deep", "used"]);
        assert_eq!(components.len(), SHIPPED.len() + 2);
        let used = components.iter().find(|component| component["name"] == "used").unwrap();
        assert_eq!(used["hashes"][0]["content"], "sum of used");
        assert_eq!(used["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bom["metadata"]["component"]["version"], "2.0");
        let on = bom["dependencies"].as_array().unwrap().iter().find(|on| on["ref"] == "holdfast@1.0.0");
        assert_eq!(on.unwrap()["dependsOn"], json!(["used@1.0.0"]));
    }

    #[test]
    fn what_is_no_package_of_cargo_s_is_needed_by_the_package_as_a_whole() {
        let lock = Lock { package: vec![locked("used"), locked("deep")] };
        let mut bom = bom(&metadata(), &lock, None).unwrap();
        list_beside(&mut bom, [beside("std", "1.2.3", "MIT", "x")]);
        let dependencies = bom["dependencies"].as_array().unwrap();
        let whole = dependencies.iter().find(|on| on["ref"] == "package").unwrap();
        let on = whole["dependsOn"].as_array().unwrap();
        assert_eq!(on.len(), SHIPPED.len() + 1);
        assert_eq!((&on[0], &on[SHIPPED.len()]), (&json!("holdfast@1.0.0"), &json!("std@1.2.3")));
    }

    #[test]
    fn a_part_that_nobody_checked_is_no_list() {
        let lock = Lock { package: vec![locked("used")] };
        let refused = bom(&metadata(), &lock, None).unwrap_err();
        assert_eq!(refused.to_string(), "Cargo.lock has no checksum for deep@1.0.0");
    }
}
