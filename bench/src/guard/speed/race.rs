//! Ours and the fastest peer scan the same large tree, in turns.
//!
//! The tree is what cargo has on disk of the sources this workspace is built from, so it is the same on every machine
//! with the same `Cargo.lock`; and a tree of invented secrets is put into it, so that both find something and it can be
//! said how much of it is right.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use holdfast_planter::{Corpus, Finding, corpus, score};
use serde_json::Value;

use super::Plan;
use crate::guard::peers::{KINGFISHER, OURS, TREE, Tool};
use crate::program::Program;
use crate::step;
use crate::weather::{Rounds, calm_rounds, in_turns};

/// The folder of the tree that has the invented secrets.
const PLANTED: &str = "planted";
/// A package larger than this is left out: the tree is to be many people's work, not one's test vectors.
const PACKAGE_MAX: u64 = 20_000_000;
/// Content with a zero byte so early is binary.
const BINARY_HEAD: usize = 8192;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Race {
    pub(crate) packages: usize,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Secrets that were put into it.
    pub(crate) planted: usize,
    pub(crate) ours: Racer,
    pub(crate) peer: Racer,
    pub(crate) rounds: Rounds,
}

/// How one of them did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Racer {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// The whole process, per round.
    pub(crate) seconds: Vec<f64>,
    /// Of the secrets that were put in.
    pub(crate) found: usize,
    /// Lines among the invented files that hold no secret.
    pub(crate) false_alarms: usize,
    /// In the sources, where nobody planted anything.
    pub(crate) elsewhere: usize,
}

pub(crate) fn measure(dir: &Path, ours: &Program, plan: Plan) -> Result<Race> {
    step("laying out a large tree of sources");
    let tree = dir.join(TREE);
    let mut race = lay_out(&tree, plan.tree_bytes)?;
    let corpus = corpus(plan.seed, plan.planted_files);
    corpus.write_to(&tree.join(PLANTED)).context("planting secrets")?;
    race.files += corpus.files.len();
    race.bytes += corpus.files.iter().map(|file| file.text.len() as u64).sum::<u64>();
    race.planted = corpus.planted.len();

    step("scanning it with ours and the peer, in turns");
    let tools = [OURS, KINGFISHER];
    // Once before it counts: the tree is in the page cache afterwards, and what each finds is known.
    let [ours_is, peer_is] = tools.map(|tool| introduced(&tool, dir, ours, &corpus));
    (race.ours, race.peer) = (ours_is?, peer_is?);
    let round = |number| in_turns(number, |who| Ok(tools[who].timed(dir, Some(ours))?.1.as_secs_f64()));
    let (measured, rounds) = calm_rounds(plan.race_rounds, plan.time_max, round)?;
    for [ours, peer] in measured {
        race.ours.seconds.extend(ours);
        race.peer.seconds.extend(peer);
    }
    Ok(Race { rounds, ..race })
}

/// What a tool finds in the tree.
fn introduced(tool: &Tool, dir: &Path, ours: &Program, corpus: &Corpus) -> Result<Racer> {
    let (findings, _) = tool.timed(dir, Some(ours))?;
    let (planted, elsewhere) = apart(findings);
    let marks = score(corpus, &planted);
    Ok(Racer {
        name: tool.name,
        version: tool.version(dir, Some(ours)).unwrap_or_else(|_| "–".to_owned()),
        seconds: Vec::new(),
        found: marks.all.found,
        false_alarms: marks.false_alarms,
        elsewhere,
    })
}

/// The findings among the invented files, with the names the corpus knows, and the number of the others.
fn apart(findings: Vec<Finding>) -> (Vec<Finding>, usize) {
    let all = findings.len();
    let name = |file: &str| Some(file.strip_prefix(PLANTED)?.strip_prefix('/')?.to_owned());
    let planted: Vec<Finding> =
        findings.into_iter().filter_map(|f| Some(Finding { file: name(&f.file)?, line: f.line })).collect();
    let elsewhere = all - planted.len();
    (planted, elsewhere)
}

/// Copies packages, by name, until there is enough.
fn lay_out(tree: &Path, enough: u64) -> Result<Race> {
    let mut race = Race::default();
    for source in sources()? {
        if race.bytes >= enough {
            break;
        }
        let texts = texts_below(&source)?;
        let bytes: u64 = texts.iter().map(|(_, text)| text.len() as u64).sum();
        if bytes > PACKAGE_MAX {
            continue;
        }
        let name = source.file_name().context("a package lies in no folder")?;
        for (path, text) in &texts {
            let to = tree.join(name).join(path.strip_prefix(&source)?);
            std::fs::create_dir_all(to.parent().context("a file lies in no folder")?)?;
            std::fs::write(to, text)?;
        }
        race.packages += 1;
        race.files += texts.len();
        race.bytes += bytes;
    }
    ensure!(race.bytes >= enough, "cargo has only {} bytes of sources on disk", race.bytes);
    Ok(race)
}

/// The folders of the packages this workspace is built from, in the order of their names.
fn sources() -> Result<Vec<PathBuf>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    cargo.args(["--filter-platform", "host-tuple"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let out = cargo.output().context("running cargo")?;
    ensure!(out.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    packages_in(&serde_json::from_slice(&out.stdout)?)
}

/// The folders of packages that came from elsewhere.
fn packages_in(metadata: &Value) -> Result<Vec<PathBuf>> {
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let foreign = packages.iter().filter(|package| package["source"].is_string());
    let manifests = foreign.filter_map(|package| Some(Path::new(package["manifest_path"].as_str()?)));
    let mut folders: Vec<PathBuf> = manifests.filter_map(|path| Some(path.parent()?.to_owned())).collect();
    folders.sort();
    Ok(folders)
}

/// All texts below a folder. Lists of what to ignore are left out: each tool reads them in its own way.
fn texts_below(dir: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            texts.extend(texts_below(&path)?);
        } else if kind.is_file() && ![".gitignore", ".ignore"].iter().any(|name| entry.file_name() == *name) {
            let text = std::fs::read(&path)?;
            let binary = text.iter().take(BINARY_HEAD).any(|byte| *byte == 0);
            texts.extend((!binary).then_some((path, text)));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_planted_is_told_from_what_was_there() {
        let finding = |file: &str| Finding { file: file.to_owned(), line: 1 };
        let (planted, elsewhere) =
            apart(vec![finding("planted/a/.env"), finding("url-2.5.8/a.rs"), finding("plantedx")]);
        assert_eq!((planted, elsewhere), (vec![finding("a/.env")], 2));
    }

    #[test]
    fn only_what_came_from_elsewhere_is_taken() {
        let metadata = serde_json::json!({"packages": [
            {"source": "registry+x", "manifest_path": "/r/b-1.0.0/Cargo.toml"},
            {"source": null, "manifest_path": "/here/Cargo.toml"},
            {"source": "registry+x", "manifest_path": "/r/a-1.0.0/Cargo.toml"},
        ]});
        assert_eq!(packages_in(&metadata).unwrap(), [Path::new("/r/a-1.0.0"), Path::new("/r/b-1.0.0")]);
        assert!(packages_in(&Value::Null).is_err());
    }
}
