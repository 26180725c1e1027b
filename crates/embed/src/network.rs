//! The network itself: rows of numbers in, one for each token; a direction out, one for each sequence.
//!
//! Begin with [`Batch`]: sequences of any lengths, one below the other, with no padding between them. [`Batch::run`] takes it
//! through the layers, alone or with a team of threads. The inside is generic over [`lanes::Lanes`] and compiled once for each set
//! of instructions; [`Instructions`] says which this processor has.
//!
//! What is unsafe and why: wide instructions are called only after the processor was asked for them; numbers are read and
//! written through pointers, since a team writes different columns of the same rows at once. Every buffer is made large enough in
//! one place, [`Scratch::fit`].

mod attention;
mod lanes;
mod linear;
mod rows;
mod team;
mod tile;

use crate::aligned::Aligned;
use crate::pinned::WIDTH;
use crate::weights::{DEEP, Weights};
use lanes::Lanes;
use linear::Rows;
use team::{Member, Team};
pub(crate) use tile::PANEL;

/// From one row of widened numbers to the next. A line more than there are, or rows would fall on top of each other in the cache.
const DEEP_STRIDE: usize = DEEP + 16;

/// Which instructions the numbers are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512.
    Avx512,
    /// AVX2 with fused multiplication. Gives the same bits as AVX-512.
    Avx2,
    /// Whatever the compiler makes for the target. Gives the same bits as the others on aarch64, and on x86-64 others in the last
    /// places.
    Portable,
}

impl Instructions {
    pub const ALL: [Instructions; 3] = [Instructions::Avx512, Instructions::Avx2, Instructions::Portable];

    /// The fastest this processor has.
    pub fn best() -> Instructions {
        Instructions::ALL.into_iter().find(|it| it.are_here()).unwrap_or(Instructions::Portable)
    }

    /// Whether this processor has them.
    pub fn are_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Instructions::Portable => true,
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx512 | Instructions::Avx2 => false,
        }
    }
}

/// Room to compute in, kept from one batch to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What the layers hand on: a row for each token.
    flow: Aligned,
    asked: Aligned,
    heard: Aligned,
    deep: Aligned,
    /// For each thread.
    attention: Vec<attention::Scratch>,
}

impl Scratch {
    /// Room for so many rows, sequences that are so long, and so many threads.
    fn fit(&mut self, rows: usize, longest: usize, threads: usize) {
        self.flow.at_least(rows * WIDTH);
        self.asked.at_least(rows * 3 * WIDTH);
        self.heard.at_least(rows * WIDTH);
        self.deep.at_least(rows * DEEP_STRIDE);
        if self.attention.len() < threads {
            self.attention.resize_with(threads, Default::default);
        }
        self.attention.iter_mut().for_each(|it| it.fit(longest));
    }
}

/// Sequences that go through the network together.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    weights: &'a Weights,
    instructions: Instructions,
    scratch: &'a mut Scratch,
    lengths: &'a [usize],
    rows: usize,
    threads: usize,
}

impl<'a> Batch<'a> {
    /// Sequences of the given lengths, none of them empty. Their rows are to be set before they are run.
    pub(crate) fn new(
        weights: &'a Weights,
        instructions: Instructions,
        scratch: &'a mut Scratch,
        lengths: &'a [usize],
        threads: usize,
    ) -> Batch<'a> {
        assert!(lengths.iter().all(|it| *it > 0), "a sequence has a token");
        assert!(instructions.are_here(), "the processor has these instructions");
        let rows = lengths.iter().sum();
        let threads = threads.max(1);
        scratch.fit(rows, lengths.iter().copied().max().unwrap_or(0), threads);
        Batch { weights, instructions, scratch, lengths, rows, threads }
    }

    /// Where a token's numbers go: the row of its piece, with that of its place added.
    pub(crate) fn row(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: `flow` has room for all rows, and is borrowed as long as the slice is.
        unsafe { std::slice::from_raw_parts_mut(self.scratch.flow.as_mut_ptr().add(row * WIDTH), WIDTH) }
    }

    /// The direction of each sequence, in their order.
    pub(crate) fn run(&mut self) -> Vec<[f32; WIDTH]> {
        let mut vectors = vec![[0.0; WIDTH]; self.lengths.len()];
        let work = Work {
            weights: self.weights,
            lengths: self.lengths,
            flow: Rows { at: self.scratch.flow.as_mut_ptr(), stride: WIDTH, count: self.rows },
            asked: Rows { at: self.scratch.asked.as_mut_ptr(), stride: 3 * WIDTH, count: self.rows },
            heard: Rows { at: self.scratch.heard.as_mut_ptr(), stride: WIDTH, count: self.rows },
            deep: Rows { at: self.scratch.deep.as_mut_ptr(), stride: DEEP_STRIDE, count: self.rows },
            vectors: vectors.as_mut_ptr(),
        };
        let team = Team::new(self.threads);
        let instructions = self.instructions;
        let (own, others) = self.scratch.attention[..self.threads].split_at_mut(1);
        std::thread::scope(|scope| {
            for (index, attention) in (1..).zip(others) {
                let (member, work) = (team.member(index), &work);
                scope.spawn(move || work.run(instructions, &member, attention));
            }
            work.run(instructions, &team.member(0), &mut own[0]);
        });
        vectors
    }
}

/// What a team works on. All of it is read and written through pointers: who writes what at which step is in [`Work::layers`].
struct Work<'a> {
    weights: &'a Weights,
    lengths: &'a [usize],
    flow: Rows,
    asked: Rows,
    heard: Rows,
    deep: Rows,
    vectors: *mut [f32; WIDTH],
}

// SAFETY: the pointers lead into buffers that outlive the team, and within a step no two threads write the same numbers or read what
// another writes.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    fn run(&self, instructions: Instructions, member: &Member<'_>, attention: &mut attention::Scratch) {
        // SAFETY: `Batch::new` saw that the processor has the instructions, and made the buffers large enough.
        unsafe {
            match instructions {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => self.with_avx512(member, attention),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => self.with_avx2(member, attention),
                _ => self.layers::<lanes::portable::Plain>(member, attention),
            }
        }
    }

    /// # Safety
    ///
    /// The processor has AVX-512F; as [`Work::layers`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn with_avx512(&self, member: &Member<'_>, attention: &mut attention::Scratch) {
        // SAFETY: the caller's.
        unsafe { self.layers::<lanes::avx512::Wide>(member, attention) }
    }

    /// # Safety
    ///
    /// The processor has AVX2 and FMA; as [`Work::layers`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn with_avx2(&self, member: &Member<'_>, attention: &mut attention::Scratch) {
        // SAFETY: the caller's.
        unsafe { self.layers::<lanes::avx2::Pair>(member, attention) }
    }

    /// # Safety
    ///
    /// As [`Lanes`]; the buffers have room for all rows, and all members of the team run this with the same work.
    #[inline(always)]
    unsafe fn layers<V: Lanes>(&self, member: &Member<'_>, attention: &mut attention::Scratch) {
        // SAFETY: shares of columns, sequences and rows are disjoint, and `step` is between what writes a buffer and what reads it.
        unsafe {
            let share = member.share(self.flow.count);
            linear::normalise::<V>(self.flow, share.clone(), &self.weights.first_norm);
            member.step();
            for layer in &self.weights.layers {
                linear::set::<V>(self.flow, &layer.asked, self.asked, member);
                member.step();
                attention::hear::<V>(self.asked, self.heard, self.lengths, attention, member);
                member.step();
                linear::add::<V>(self.heard, &layer.heard, self.flow, member);
                member.step();
                linear::normalise::<V>(self.flow, share.clone(), &layer.heard_norm);
                member.step();
                linear::set_bent::<V>(self.flow, &layer.widened, self.deep, member);
                member.step();
                linear::add::<V>(self.deep, &layer.narrowed, self.flow, member);
                member.step();
                linear::normalise::<V>(self.flow, share.clone(), &layer.narrowed_norm);
                member.step();
            }
            let mut first = 0;
            let share = member.share(self.lengths.len());
            for (index, length) in self.lengths.iter().enumerate() {
                if share.contains(&index) {
                    *self.vectors.add(index) = rows::pooled::<V, WIDTH>(self.flow.row(first), *length);
                }
                first += length;
            }
        }
    }
}
