//! From gathered entries to the bytes of a segment.

use super::layout::{BLOCK_TERMS, Header, PAGE, SECTIONS, put_varint};
use crate::analyse::ANALYSIS;
use crate::gathered::Gathered;
use crate::list::is_dense;
use crate::score::{TF_MAX, length_of};

/// The bytes of a segment, and the checksum it is known by.
pub(crate) fn encode(gathered: &Gathered, serial: u64) -> (Vec<u8>, u32) {
    debug_assert!(!gathered.is_empty() && gathered.ids.is_sorted_by(|a, b| a < b));
    let ranked = Ranked::of(gathered);
    let lists = Lists::of(gathered, &ranked);
    let (starts, texts) = texts(gathered, &ranked);
    let (words, blocks) = dictionary(&ranked, &lists, gathered.len());
    let sections: [Vec<u8>; SECTIONS] =
        [ids(gathered), gathered.lengths.clone(), starts, texts, words, blocks, lists.encode(gathered.len())];
    let mut file = vec![0; PAGE];
    let mut bounds = [PAGE as u64; SECTIONS + 1];
    for (bytes, end) in sections.iter().zip(&mut bounds[1..]) {
        file.extend(bytes);
        *end = file.len() as u64;
    }
    let checks: Vec<u8> =
        file[PAGE..].chunks(PAGE).flat_map(|page| crc32c::crc32c(page).to_le_bytes()).collect();
    let header = Header {
        analysis: ANALYSIS,
        serial,
        docs: gathered.len() as u32,
        terms: ranked.terms.len() as u32,
        tokens: gathered.tokens.len() as u64,
        words: gathered.lengths.iter().map(|class| u64::from(length_of(*class))).sum(),
        first_id: gathered.ids[0],
        last_id: gathered.ids[gathered.len() - 1],
        bounds,
        checks: crc32c::crc32c(&checks),
    };
    let (first_page, root) = header.encode();
    file[..PAGE].copy_from_slice(&first_page);
    file.extend(checks);
    (file, root)
}

/// The terms by how often they occur, so that the common ones have small numbers.
struct Ranked<'a> {
    /// By rank.
    terms: Vec<&'a str>,
    /// From a term's number to its rank.
    ranks: Vec<u32>,
}

impl<'a> Ranked<'a> {
    fn of(gathered: &'a Gathered) -> Ranked<'a> {
        let texts = gathered.terms();
        let mut counts = vec![0_u32; texts.len()];
        gathered.tokens.iter().for_each(|token| counts[token.number() as usize] += 1);
        // A term that no entry has any more is not written.
        let mut order: Vec<u32> =
            (0..texts.len() as u32).filter(|number| counts[*number as usize] > 0).collect();
        order.sort_unstable_by_key(|number| {
            (std::cmp::Reverse(counts[*number as usize]), texts[*number as usize])
        });
        let mut ranks = vec![u32::MAX; texts.len()];
        order.iter().enumerate().for_each(|(rank, number)| ranks[*number as usize] = rank as u32);
        Ranked { terms: order.iter().map(|number| texts[*number as usize]).collect(), ranks }
    }
}

/// All lists, one behind the other.
struct Lists {
    /// Where the list of each rank ends in `docs` and `tfs`.
    ends: Vec<u32>,
    docs: Vec<u16>,
    tfs: Vec<u8>,
}

impl Lists {
    fn of(gathered: &Gathered, ranked: &Ranked<'_>) -> Lists {
        const NONE: u32 = u32::MAX;
        let rank_of = |number: u32| ranked.ranks[number as usize] as usize;
        let mut last = vec![NONE; ranked.terms.len()];
        let mut df = vec![0_u32; ranked.terms.len()];
        let each = |visit: &mut dyn FnMut(u32, usize)| {
            for (doc, (_, tokens)) in gathered.entries().enumerate() {
                tokens.iter().for_each(|token| visit(doc as u32, rank_of(token.number())));
            }
        };
        each(&mut |doc, rank| {
            df[rank] += u32::from(last[rank] != doc);
            last[rank] = doc;
        });
        let ends: Vec<u32> = df
            .iter()
            .scan(0, |end, df| {
                *end += df;
                Some(*end)
            })
            .collect();
        let total = ends.last().copied().unwrap_or(0) as usize;
        let (mut docs, mut tfs) = (vec![0_u16; total], vec![0_u8; total]);
        let mut next: Vec<u32> = ends.iter().zip(&df).map(|(end, df)| end - df).collect();
        last.fill(NONE);
        each(&mut |doc, rank| {
            if last[rank] != doc {
                last[rank] = doc;
                docs[next[rank] as usize] = doc as u16;
                next[rank] += 1;
            }
            let tf = &mut tfs[next[rank] as usize - 1];
            *tf = (*tf + 1).min(TF_MAX);
        });
        Lists { ends, docs, tfs }
    }

    fn range(&self, rank: usize) -> std::ops::Range<usize> {
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[rank] as usize
    }

    fn encode(&self, docs: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for rank in 0..self.ends.len() {
            let range = self.range(rank);
            put_list(&self.docs[range.clone()], &self.tfs[range], docs, &mut bytes);
        }
        bytes
    }
}

fn put_list(list: &[u16], tfs: &[u8], docs: usize, bytes: &mut Vec<u8>) {
    let dense = is_dense(list.len(), docs);
    if !dense {
        list.iter().for_each(|doc| bytes.extend(doc.to_le_bytes()));
    }
    let from = bytes.len();
    bytes.resize(from + if dense { docs } else { list.len() }.div_ceil(2), 0);
    for (at, (doc, tf)) in list.iter().zip(tfs).enumerate() {
        put_half(&mut bytes[from..], if dense { usize::from(*doc) } else { at }, *tf);
    }
}

/// Bytes of a list in the file.
pub(crate) fn list_len(df: usize, docs: usize) -> usize {
    if is_dense(df, docs) { docs.div_ceil(2) } else { 2 * df + df.div_ceil(2) }
}

fn put_half(bytes: &mut [u8], at: usize, value: u8) {
    bytes[at >> 1] |= value << ((at & 1) << 2);
}

fn ids(gathered: &Gathered) -> Vec<u8> {
    let (first, last) = (gathered.ids[0], gathered.ids[gathered.len() - 1]);
    let width = if last - first <= u64::from(u32::MAX) { 4 } else { 8 };
    gathered.ids.iter().flat_map(|id| (id - first).to_le_bytes().into_iter().take(width)).collect()
}

/// Where the tokens of each entry begin, and the tokens.
fn texts(gathered: &Gathered, ranked: &Ranked<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut starts = 0_u32.to_le_bytes().to_vec();
    let mut texts = Vec::new();
    for (_, tokens) in gathered.entries() {
        for token in tokens {
            put_varint(ranked.ranks[token.number() as usize] << 1 | token.0 & 1, &mut texts);
        }
        starts.extend((texts.len() as u32).to_le_bytes());
    }
    (starts, texts)
}

/// The words in order, and the first word of every block of them with where it begins.
fn dictionary(ranked: &Ranked<'_>, lists: &Lists, docs: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut words, mut blocks) = (Vec::new(), Vec::new());
    let offsets: Vec<u32> = (0..ranked.terms.len())
        .scan(0, |next, rank| {
            let here = *next;
            *next += list_len(lists.range(rank).len(), docs) as u32;
            Some(here)
        })
        .collect();
    let mut order: Vec<usize> = (0..ranked.terms.len()).collect();
    order.sort_unstable_by_key(|rank| ranked.terms[*rank]);
    for block in order.chunks(BLOCK_TERMS) {
        let first = ranked.terms[block[0]];
        put_varint(words.len() as u32, &mut blocks);
        put_varint(first.len() as u32, &mut blocks);
        blocks.extend(first.as_bytes());
        let mut before = "";
        for rank in block {
            let term = ranked.terms[*rank];
            let shared = before.bytes().zip(term.bytes()).take_while(|(a, b)| a == b).count();
            put_varint(shared as u32, &mut words);
            put_varint((term.len() - shared) as u32, &mut words);
            words.extend(&term.as_bytes()[shared..]);
            put_varint(*rank as u32, &mut words);
            put_varint(lists.range(*rank).len() as u32, &mut words);
            put_varint(offsets[*rank], &mut words);
            before = term;
        }
    }
    (words, blocks)
}
