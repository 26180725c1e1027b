//! Files of git that no git would write.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::corpus::kit::Kit;
use crate::repository::token;

/// By which every commit is the first of its history.
pub fn lying_commit_graph(kit: &Kit) {
    // The newest commit has no secret, so that only its parents do.
    kit.git(&["rm", "-q", "old.py"]);
    kit.git(&["commit", "-q", "-m", "taken out", "old.py"]);
    kit.git(&["branch", "-D", "side"]);
    kit.git(&["-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable"]);
    let path = kit.file(".git/objects/info/commit-graph");
    kit.run("chmod", &["u+w", path.to_str().unwrap()]);
    let mut graph = std::fs::read(&path).unwrap();
    let number = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let chunk = |graph: &[u8], name: &[u8]| {
        let at = (8..).step_by(12).find(|at| &graph[*at..at + 4] == name).unwrap();
        number(graph, at + 8)
    };
    let (fan_out, data) = (chunk(&graph, b"OIDF"), chunk(&graph, b"CDAT"));
    let commits = number(&graph, fan_out + 255 * 4);
    for commit in 0..commits {
        // A tree of 20 bytes, then two parents: none.
        let at = data + commit * 36 + 20;
        graph[at..at + 4].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
    }
    std::fs::write(path, graph).unwrap();
}

pub fn broken_index_of_a_pack(kit: &Kit) {
    kit.git(&["repack", "-q", "-a", "-d"]);
    let packs = std::fs::read_dir(kit.file(".git/objects/pack")).unwrap().flatten();
    for path in packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "idx"))
    {
        kit.run("chmod", &["u+w", path.to_str().unwrap()]);
        let mut index = std::fs::read(&path).unwrap();
        // Where the objects are: beyond the end.
        let at = index.len() - 40;
        index[8 + 256 * 4..at].fill(0x7f);
        std::fs::write(path, index).unwrap();
    }
}

/// Its header says ten bytes, and it holds a secret behind many more.
pub fn lying_object(kit: &Kit) {
    let content = format!("{}\ntoken = \"{}\"\n", "x = 1\n".repeat(50_000), token(5));
    forge_object(kit, "blob 10", content.as_bytes());
}

/// Its header says more than any machine has.
pub fn huge_object(kit: &Kit) {
    forge_object(kit, "blob 8070450532247928832", b"x");
}

fn forge_object(kit: &Kit, header: &str, content: &[u8]) {
    kit.write("lies.py", "what is to be forged\n");
    kit.commit("an object");
    let id = kit.git(&["rev-parse", "HEAD:lies.py"]);
    let (folder, name) = id.trim().split_at(2);
    let path = kit.file(".git/objects").join(folder).join(name);
    kit.run("chmod", &["u+w", path.to_str().unwrap()]);
    let mut object = ZlibEncoder::new(Vec::new(), Compression::fast());
    object.write_all(&[header.as_bytes(), b"\0", content].concat()).unwrap();
    std::fs::write(path, object.finish().unwrap()).unwrap();
}

/// It says that it leaves objects out, and that it needs a commit which nobody has.
pub fn bundle_with_a_filter(kit: &Kit) {
    kit.git(&["bundle", "create", "-q", "../bundle", "HEAD"]);
    let bundle = std::fs::read(kit.beside("bundle")).unwrap();
    let at = bundle.windows(2).position(|bytes| bytes == b"\n\n").unwrap();
    let head = String::from_utf8_lossy(&bundle[..at]).into_owned();
    let refs: String =
        head.lines().filter(|line| !line.starts_with(['#', '@'])).map(|line| format!("{line}\n")).collect();
    let forged = format!(
        "# v3 git bundle\n@object-format=sha1\n@filter=blob:none\n-{} gone\n{refs}\n",
        "1".repeat(40)
    );
    std::fs::write(kit.beside("bundle"), [forged.as_bytes(), &bundle[at + 2..]].concat()).unwrap();
}

/// Its pack says that it has a billion objects.
pub fn broken_bundle(kit: &Kit) {
    kit.git(&["bundle", "create", "-q", "../bundle", "HEAD"]);
    let mut bundle = std::fs::read(kit.beside("bundle")).unwrap();
    let at = bundle.windows(4).position(|bytes| bytes == b"PACK").unwrap();
    bundle[at + 8..at + 12].copy_from_slice(&0x3fff_ffff_u32.to_be_bytes());
    std::fs::write(kit.beside("bundle"), bundle).unwrap();
}
