//! The rules, arranged so that a look at three bytes says that none of them begins here.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::rule::Rule;
use crate::shape::{Branch, is_host_byte};

/// How far before a token the word that must be near may stand.
pub(crate) const NEAR: usize = 120;
const PAIRS: usize = 4096;
/// Longer than any host's name may be.
const LONGEST_HOST: usize = 256;

/// One branch of one rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) rule: u16,
    pub(crate) branch: u16,
}

/// A branch with its first bytes, up to eight of them, so that most are turned away by one comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    bytes: u64,
    mask: u64,
    pub(crate) way: Way,
}

impl Beginning {
    fn new(prefix: &[u8], way: Way) -> Beginning {
        let mut bytes = [0; 8];
        let mut mask = [0; 8];
        for (i, byte) in prefix.iter().take(8).enumerate() {
            bytes[i] = *byte;
            mask[i] = 0xff;
        }
        Beginning { bytes: u64::from_le_bytes(bytes), mask: u64::from_le_bytes(mask), way }
    }

    #[inline]
    pub(crate) fn fits(&self, first_eight: u64) -> bool {
        first_eight & self.mask == self.bytes
    }
}

/// A branch without a literal beginning, and how long the word may be that it begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free {
    pub(crate) way: Way,
    least: usize,
    most: usize,
    /// The first byte of a literal that stands at one place only, and how far behind the beginning that is.
    fixed: Option<(usize, u8)>,
}

impl Free {
    fn new(branch: &Branch, way: Way) -> Free {
        let (least, most) = branch.first_word();
        Free { way, least, most, fixed: branch.fixed().map(|(offset, literal)| (offset, literal[0])) }
    }

    /// Whether it may match the word of this length that begins here.
    #[inline]
    pub(crate) fn fits(&self, text: &[u8], at: usize, word: usize) -> bool {
        (self.least..=self.most).contains(&word)
            && self.fixed.is_none_or(|(offset, byte)| text.get(at + offset) == Some(&byte))
    }
}

/// The eight bytes at a place, zeros beyond the end.
#[inline]
pub(crate) fn eight_at(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8).and_then(|b| <[u8; 8]>::try_from(b).ok()) {
        Some(bytes) => u64::from_le_bytes(bytes),
        None => text[at..].iter().take(8).enumerate().fold(0, |sum, (i, b)| sum | u64::from(*b) << (8 * i)),
    }
}

/// All rules, by how they begin.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) rules: Vec<Rule>,
    /// Which beginnings of three bytes any rule has.
    begins: Box<[u64; 512]>,
    /// The branches by the hash of their first two bytes.
    by_pair: Vec<Vec<Beginning>>,
    /// The branches that match addresses of one domain, by its last two labels.
    by_domain: HashMap<Vec<u8>, Vec<Way>>,
    /// Branches that begin with a class of eight or more: tried at long words only.
    pub(crate) free: Vec<Free>,
    near: Option<AhoCorasick>,
    /// For each word that may be near, the rules that ask for it.
    asked_by: Vec<Vec<Way>>,
}

impl Tables {
    pub(crate) fn new(rules: Vec<Rule>) -> Tables {
        let mut tables = Tables {
            rules,
            begins: Box::new([0; 512]),
            by_pair: vec![Vec::new(); PAIRS],
            by_domain: HashMap::new(),
            free: Vec::new(),
            near: None,
            asked_by: Vec::new(),
        };
        let mut words: Vec<&'static str> = Vec::new();
        for (number, rule) in tables.rules.iter().enumerate() {
            for (at, branch) in rule.shape.branches().iter().enumerate() {
                let way = Way { rule: number as u16, branch: at as u16 };
                let prefix = branch.prefix();
                if !rule.near.is_empty() {
                    for word in rule.near {
                        let index = words.iter().position(|w| w == word).unwrap_or_else(|| {
                            words.push(word);
                            tables.asked_by.push(Vec::new());
                            words.len() - 1
                        });
                        tables.asked_by[index].push(way);
                    }
                } else if prefix.len() >= 2 {
                    match branch.domain() {
                        Some(domain) => tables.by_domain.entry(domain.to_vec()).or_default().push(way),
                        None => tables.by_pair[pair(prefix[0], prefix[1])].push(Beginning::new(prefix, way)),
                    }
                    for third in 0..=255u8 {
                        if prefix.get(2).is_none_or(|p| *p == third) {
                            let slot = triple(prefix[0], prefix[1], third);
                            tables.begins[slot >> 6] |= 1 << (slot & 63);
                        }
                    }
                } else if let Some((first, set)) =
                    branch.class_after_one().filter(|(first, _)| !first.is_ascii_alphanumeric())
                {
                    // `*` and forty hex digits: no word begins with the star, so it is met as a sign.
                    for second in set.bytes() {
                        tables.by_pair[pair(first, second)].push(Beginning::new(&[first, second], way));
                        for third in set.bytes() {
                            let slot = triple(first, second, third);
                            tables.begins[slot >> 6] |= 1 << (slot & 63);
                        }
                    }
                } else {
                    tables.free.push(Free::new(branch, way));
                }
            }
        }
        if !words.is_empty() {
            // Words are plain text; building cannot fail.
            tables.near = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&words)
                .ok();
        }
        tables
    }

    /// Whether any rule may begin with these three bytes.
    #[inline]
    pub(crate) fn may_begin(&self, text: &[u8], at: usize) -> bool {
        let Some([a, b, c]) = text.get(at..at + 3) else { return false };
        let slot = triple(*a, *b, *c);
        self.begins[slot >> 6] >> (slot & 63) & 1 == 1
    }

    /// The branches that may begin here.
    pub(crate) fn beginnings_at(&self, text: &[u8], at: usize) -> &[Beginning] {
        match text.get(at..at + 2) {
            Some([a, b]) => &self.by_pair[pair(*a, *b)],
            _ => &[],
        }
    }

    /// The branches that match addresses of the host named here, where an address begins here.
    pub(crate) fn addresses_at(&self, text: &[u8], at: usize) -> &[Way] {
        let Some(rest) = text[at..].strip_prefix(b"https://") else { return &[] };
        let rest = &rest[..rest.len().min(LONGEST_HOST)];
        let host = &rest[..rest.iter().position(|b| !is_host_byte(*b)).unwrap_or(rest.len())];
        let mut dots = host.iter().enumerate().rev().filter(|(_, b)| **b == b'.').map(|(i, _)| i);
        let domain = match (dots.next(), dots.next()) {
            (Some(_), Some(before)) => &host[before + 1..],
            _ => host,
        };
        self.by_domain.get(domain).map_or(&[], Vec::as_slice)
    }

    /// The branches whose word stands in this stretch before a token.
    pub(crate) fn ways_near(&self, before: &[u8], out: &mut Vec<Way>) {
        let Some(near) = &self.near else { return };
        for found in near.find_overlapping_iter(before) {
            for way in &self.asked_by[found.pattern().as_usize()] {
                if !out.iter().any(|w| w.rule == way.rule && w.branch == way.branch) {
                    out.push(*way);
                }
            }
        }
    }
}

fn pair(a: u8, b: u8) -> usize {
    (usize::from(a) << 5 ^ usize::from(b)) & (PAIRS - 1)
}

fn triple(a: u8, b: u8, c: u8) -> usize {
    let bytes = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    (bytes.wrapping_mul(0x9e37_79b1) >> 17) as usize
}
