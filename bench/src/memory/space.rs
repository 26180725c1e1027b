//! A large space, kept between runs in the cache directory, because filling it takes minutes: turns of `texts.rs`, imported as anybody would, and
//! made-up vectors in place of the model's, which would take hours for a million.
//!
//! `home` is the home; `base` has the vectors and `queries` those that are looked for, in rows of floats; `seqs` says which entry of the
//! journal each vector belongs to. `complete` is written last and says what filling took; without it everything is made again.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use holdfast_durable::Mode;
use holdfast_embed::WEIGHTS;
use holdfast_memory_host::AgentName;
use holdfast_testkit::made::{Made, WIDTH};
use holdfast_vectors::{Index, Key, Model, Vector};
use serde::{Deserialize, Serialize};

use super::home::{Home, import};
use super::texts::Turns;
use crate::{remove, step};

/// Vectors that are looked for.
pub(super) const QUERIES: usize = 1000;
/// Any number does. The vectors are those this index was built with; no setting of it was chosen by searching for these queries.
const SEED: u64 = 7;
/// Turns between two looks at what is to be tended.
const TENDED: usize = 8192;
/// Vectors put in with one call.
const PART: usize = 1000;
const ROWS: usize = 10_000;
const COMPLETE: &str = "complete";

/// Where it is.
#[derive(Clone, Debug)]
pub(super) struct Space {
    folder: PathBuf,
}

/// What filling it took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Filled {
    pub(super) entries: usize,
    pub(super) import_s: f64,
    pub(super) vectors_s: f64,
}

impl Space {
    /// The space of so many entries, filled where it is not there yet.
    pub(super) fn prepare(cache: &Path, entries: usize) -> Result<Space> {
        let space = Space::at(&cache.join(format!("memory-{entries}")));
        if space.filled().is_err() {
            remove(&space.folder)?;
            std::fs::create_dir_all(&space.folder)?;
            let filled = space.fill(entries)?;
            let text = serde_json::to_vec(&filled)?;
            holdfast_durable::replace(&space.file(COMPLETE), &text, Mode::Readable)?;
        }
        Ok(space)
    }

    pub(super) fn at(folder: &Path) -> Space {
        Space { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn home(&self) -> Home {
        Home::at(&self.folder.join("home"))
    }

    /// The folder of its vectors.
    pub(super) fn index(&self) -> Result<PathBuf> {
        Ok(self.home().folder_of(&agent()?).join("vectors"))
    }

    pub(super) fn filled(&self) -> Result<Filled> {
        let text = std::fs::read(self.file(COMPLETE)).context("a space that is not complete")?;
        serde_json::from_slice(&text).context("a space that does not say what it is")
    }

    /// Which entry each vector belongs to.
    pub(super) fn seqs(&self) -> Result<Vec<u64>> {
        let bytes = std::fs::read(self.file("seqs"))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    fn fill(&self, entries: usize) -> Result<Filled> {
        step(&format!("filling a space with {entries} entries, which is kept"));
        let mut made = Made::new(entries, SEED);
        write_vectors(&self.file("base"), &mut made, entries)?;
        write_vectors(&self.file("queries"), &mut made, QUERIES)?;
        let began = Instant::now();
        let seqs = self.import(entries)?;
        let import_s = began.elapsed().as_secs_f64();
        let bytes: Vec<u8> = seqs.iter().flat_map(|seq| seq.to_le_bytes()).collect();
        std::fs::write(self.file("seqs"), bytes)?;
        step("giving them vectors");
        let began = Instant::now();
        self.put_vectors(&seqs)?;
        self.mark_embedded()?;
        Ok(Filled { entries, import_s, vectors_s: began.elapsed().as_secs_f64() })
    }

    /// Imports turns; where in the journal each came to stand.
    fn import(&self, entries: usize) -> Result<Vec<u64>> {
        let home = Home::create(&self.folder.join("home"))?;
        let (memories, agent) = (home.memories(None)?, agent()?);
        let mut turns = Turns::new(SEED).take(entries).peekable();
        while turns.peek().is_some() {
            import(&memories, &agent, turns.by_ref().take(TENDED))?;
            memories.tend(&|| true)?;
        }
        while memories.tend(&|| true)? {}
        let mut seqs: Vec<u64> = Vec::with_capacity(entries);
        loop {
            let from = seqs.last().map_or(0, |last| last + 1);
            let rows = memories.rows(&agent, from, ROWS)?;
            if rows.is_empty() {
                break;
            }
            seqs.extend(rows.iter().map(|row| row.seq));
        }
        memories.flush()?;
        ensure!(seqs.len() == entries, "{} of {entries} were taken in", seqs.len());
        Ok(seqs)
    }

    fn put_vectors(&self, seqs: &[u64]) -> Result<()> {
        let mut index = Index::open(&self.index()?, model()?)?;
        let mut vectors = Vectors::open(&self.file("base"))?;
        for part in seqs.chunks(PART) {
            let keyed: Vec<(Key, Vector)> = part
                .iter()
                .map(|&entry| Ok((Key { entry, chunk: 0 }, vectors.next().context("a vector is missing")??)))
                .collect::<Result<_>>()?;
            index.put(&keyed)?;
        }
        let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let rebuilt = index.begin_rebuild()?.run(cores, &|| true)?;
        index.adopt(rebuilt)?.shred()?;
        Ok(())
    }

    /// As if the model had made them.
    fn mark_embedded(&self) -> Result<()> {
        let table = self.home().folder_of(&agent()?).join("space.db");
        rusqlite::Connection::open(table)?.execute("UPDATE entry SET embedded = 1", [])?;
        Ok(())
    }
}

/// Who remembers all that.
pub(super) fn agent() -> Result<AgentName> {
    Ok("crowd".parse()?)
}

/// The model whose vectors a space holds, as the product names it: by the digest of its weights.
pub(super) fn model() -> Result<Model> {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(WEIGHTS.sha256.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
    }
    Ok(Model(bytes))
}

/// The vectors of a file, one after another.
#[derive(Debug)]
pub(super) struct Vectors(BufReader<File>);

impl Vectors {
    pub(super) fn open(path: &Path) -> Result<Vectors> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        Ok(Vectors(BufReader::with_capacity(1 << 20, file)))
    }
}

impl Iterator for Vectors {
    type Item = Result<Vector>;

    fn next(&mut self) -> Option<Result<Vector>> {
        let mut bytes = [0; WIDTH * 4];
        self.0.read_exact(&mut bytes).ok()?;
        let numbers: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some(Vector::new(&numbers).context("a vector of no direction"))
    }
}

fn write_vectors(path: &Path, made: &mut Made, count: usize) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut one = [0.0; WIDTH];
    for _ in 0..count {
        made.next(&mut one);
        one.iter().try_for_each(|number: &f32| file.write_all(&number.to_le_bytes()))?;
    }
    Ok(file.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All the way through, small: what is filled is found by words and by vector, and is not filled twice.
    #[test]
    fn a_space_is_filled_once_and_every_entry_has_its_vector() {
        let cache = std::env::temp_dir().join(format!("holdfast-bench-space-{}", std::process::id()));
        let space = Space::prepare(&cache, 300).unwrap();
        assert_eq!(space.filled().unwrap().entries, 300);
        let index = Index::open(&space.index().unwrap(), model().unwrap()).unwrap();
        assert_eq!((index.len(), space.seqs().unwrap().len()), (300, 300));
        drop(index);
        let memories = space.home().memories(None).unwrap();
        assert_eq!(memories.counted(&agent().unwrap()).unwrap().durable, 300);
        drop(memories);
        let before = std::fs::metadata(space.file("base")).unwrap().modified().unwrap();
        Space::prepare(&cache, 300).unwrap();
        assert_eq!(std::fs::metadata(space.file("base")).unwrap().modified().unwrap(), before);
        remove(&cache).unwrap();
    }
}
