//! The model in use: its files opened, and texts turned into chunks with vectors.

use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::chunks::windows;
use crate::error::{EmbedError, ModelError};
use crate::network::{Batch, Instructions, Scratch};
use crate::pinned::{self, FILES, MODEL_ID, WEIGHTS, WIDTH, WINDOW};
use crate::weights::{Table, Weights};
use crate::wordpiece::{FIRST, LAST, Token, WordPiece};

/// The longest text that is embedded: minutes of work. Whoever has more has a document, and embeds its blocks.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Tokens that go through the network together, when there are so many: enough that reading the weights from memory does not count,
/// few enough that what is computed stays near the processor.
const BATCH_ROWS: usize = 128;

/// The model, ready to embed. It may be used by several threads at once.
#[derive(Debug)]
pub struct Model {
    tokenizer: WordPiece,
    weights: Weights,
    table: Table,
    instructions: Instructions,
    threads: NonZero<usize>,
    texts: AtomicU64,
    /// Rooms to compute in that are not in use, at most one for each thread that ever was.
    scratches: Mutex<Vec<Scratch>>,
}

/// What a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    pub id: &'static str,
    /// SHA-256 of its weights.
    pub sha256: &'static str,
    pub width: usize,
    /// Tokens it reads at once.
    pub window: usize,
    pub instructions: Instructions,
    pub threads: usize,
}

/// A text's chunks, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    pub chunks: Vec<Chunk>,
}

/// A part of a text and its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Bytes of the text. The first chunk begins at its beginning, the last ends at its end, and each overlaps the next.
    pub span: Range<usize>,
    pub tokens: usize,
    /// Of length one, so that the product of two is their cosine.
    pub vector: [f32; WIDTH],
}

impl Embedded {
    /// The vector of the text as a whole: that of its one chunk, or else the direction of the sum of its chunks' vectors, each
    /// counted as often as it has tokens.
    pub fn whole(&self) -> [f32; WIDTH] {
        if let [only] = self.chunks.as_slice() {
            return only.vector;
        }
        let mut sum = [0.0; WIDTH];
        for chunk in &self.chunks {
            sum.iter_mut().zip(chunk.vector).for_each(|(sum, it)| *sum += it * chunk.tokens as f32);
        }
        let length = sum.iter().map(|it| it * it).sum::<f32>().sqrt();
        sum.map(|it| it / length)
    }
}

impl Model {
    /// Reads the model in a folder, if its files are the pinned ones. One thread computes unless [`Model::with_threads`] says more.
    pub fn open(folder: &Path) -> Result<Model, ModelError> {
        Model::open_with(folder, Instructions::best())
    }

    /// Like [`Model::open`], with instructions that are not the best ones: for comparing them.
    pub fn open_with(folder: &Path, instructions: Instructions) -> Result<Model, ModelError> {
        if !instructions.are_here() {
            return Err(ModelError::Lacking(instructions));
        }
        let tokenizer = WordPiece::open(folder)?;
        let (weights, table) = Weights::open(folder)?;
        Ok(Model {
            tokenizer,
            weights,
            table,
            instructions,
            threads: NonZero::<usize>::MIN,
            texts: AtomicU64::new(0),
            scratches: Mutex::default(),
        })
    }

    /// Reads all files of a model for their digests and says which is not the pinned one.
    pub fn verify(folder: &Path) -> Result<(), ModelError> {
        FILES.iter().try_for_each(|it| pinned::check(folder, it))
    }

    /// Computes with so many threads. They are started for a call of [`Model::embed`] and end with it; they share out the texts, or
    /// the columns of one when there are fewer texts than threads.
    pub fn with_threads(self, threads: NonZero<usize>) -> Model {
        Model { threads, ..self }
    }

    pub fn info(&self) -> Info {
        Info {
            id: MODEL_ID,
            sha256: WEIGHTS.sha256,
            width: WIDTH,
            window: WINDOW,
            instructions: self.instructions,
            threads: self.threads.get(),
        }
    }

    pub fn tokenizer(&self) -> &WordPiece {
        &self.tokenizer
    }

    /// How many texts were embedded since the model was opened.
    pub fn texts_embedded(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }

    /// The chunks of every text with their vectors, in the order of the texts.
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Embedded>, EmbedError> {
        for (index, text) in texts.iter().enumerate() {
            let bytes = text.as_ref().len();
            if bytes > TEXT_BYTES_MAX {
                return Err(EmbedError::TooLong { index, bytes, max: TEXT_BYTES_MAX });
            }
        }
        let tokens: Vec<Vec<Token>> = texts.iter().map(|it| self.tokenizer.tokens(it.as_ref())).collect();
        let sequences: Vec<&[Token]> =
            tokens.iter().flat_map(|it| windows(it.len()).into_iter().map(|window| &it[window])).collect();
        let mut vectors = self.vectors(&sequences)?.into_iter();
        self.texts.fetch_add(texts.len() as u64, Ordering::Relaxed);
        Ok(texts
            .iter()
            .zip(&tokens)
            .map(|(text, tokens)| embedded(text.as_ref(), tokens, &mut vectors))
            .collect())
    }

    /// The vector of each sequence.
    fn vectors(&self, sequences: &[&[Token]]) -> Result<Vec<[f32; WIDTH]>, EmbedError> {
        let batches = batches(sequences, self.threads.get());
        if batches.len() < self.threads.get() {
            return Ok(batches
                .into_iter()
                .map(|it| self.batch(&sequences[it], self.threads.get()))
                .collect::<Result<Vec<_>, _>>()?
                .concat());
        }
        let next = AtomicUsize::new(0);
        let worker = || -> Result<Vec<_>, EmbedError> {
            let mut done = Vec::new();
            while let Some(index) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < batches.len())
            {
                done.push((index, self.batch(&sequences[batches[index].clone()], 1)?));
            }
            Ok(done)
        };
        let mut done = std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads.get()).map(|_| scope.spawn(worker)).collect();
            let mut done = worker()?;
            for other in others {
                done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(done)
        })?;
        done.sort_by_key(|(index, _)| *index);
        Ok(done.into_iter().flat_map(|(_, vectors)| vectors).collect())
    }

    /// The vectors of some sequences, by a team of threads.
    fn batch(&self, sequences: &[&[Token]], threads: usize) -> Result<Vec<[f32; WIDTH]>, EmbedError> {
        let mut scratch = self.scratches().pop().unwrap_or_default();
        let lengths: Vec<usize> = sequences.iter().map(|it| it.len() + 2).collect();
        let mut batch = Batch::new(&self.weights, self.instructions, &mut scratch, &lengths, threads);
        let mut row = 0;
        for sequence in sequences {
            let ids = sequence.iter().map(|it| it.id);
            for (place, id) in std::iter::once(FIRST).chain(ids).chain([LAST]).enumerate() {
                let numbers = batch.row(row);
                self.table.read(id, numbers)?;
                numbers.iter_mut().zip(self.weights.place(place)).for_each(|(number, it)| *number += it);
                row += 1;
            }
        }
        let vectors = batch.run();
        self.scratches().push(scratch);
        Ok(vectors)
    }

    fn scratches(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Divides sequences among batches of about the same size, so that no thread is left waiting for another's last one.
fn batches(sequences: &[&[Token]], threads: usize) -> Vec<Range<usize>> {
    let rows: usize = sequences.iter().map(|it| it.len() + 2).sum();
    let rounds = rows.div_ceil(BATCH_ROWS * threads);
    let most = rows.div_ceil(rounds.max(1) * threads);
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut filled = most;
    for (index, sequence) in sequences.iter().enumerate() {
        let rows = sequence.len() + 2;
        match batches.last_mut() {
            // Whatever makes it come out nearer to what is wanted.
            Some(last) if filled + rows / 2 < most => last.end = index + 1,
            _ => {
                batches.push(index..index + 1);
                filled = 0;
            }
        }
        filled += rows;
    }
    batches
}

fn embedded(text: &str, tokens: &[Token], vectors: &mut impl Iterator<Item = [f32; WIDTH]>) -> Embedded {
    let windows = windows(tokens.len());
    let last = windows.len() - 1;
    let chunk = |(index, (window, vector)): (usize, (Range<usize>, [f32; WIDTH]))| {
        let inside = &tokens[window];
        let start = if index == 0 { 0 } else { inside.first().map_or(0, |it| it.start as usize) };
        let end = if index == last { text.len() } else { inside.last().map_or(0, |it| it.end as usize) };
        Chunk { span: start..end, tokens: inside.len(), vector }
    };
    Embedded { chunks: windows.into_iter().zip(vectors).enumerate().map(chunk).collect() }
}
