//! A lexical index in memory, as small as will do: BM25 over light stems. The product's own index takes its place.

use std::collections::HashMap;

const K1: f64 = 0.9;
const B: f64 = 0.4;

pub(crate) struct Lexicon {
    postings: HashMap<String, HashMap<u64, f64>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Lexicon {
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Lexicon {
        let mut postings: HashMap<String, HashMap<u64, f64>> = HashMap::new();
        let mut lengths = Vec::new();
        for (seq, text) in (0_u64..).zip(texts) {
            let terms = analyse(text);
            lengths.push(terms.len() as f64);
            for term in terms {
                *postings.entry(term).or_default().entry(seq).or_default() += 1.0;
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Lexicon { postings, lengths, average }
    }

    pub(crate) fn rarity(&self, word: &str) -> f64 {
        analyse(word).iter().map(|term| self.idf(term)).sum()
    }

    /// BM25 of one word, which the analysis may have cut into several terms.
    pub(crate) fn score(&self, word: &str, seq: u64) -> f64 {
        analyse(word).iter().map(|term| self.term_score(term, seq)).sum()
    }

    pub(crate) fn scores(&self, word: &str, seqs: &[u64]) -> Vec<f64> {
        let terms = analyse(word);
        seqs.iter().map(|&seq| terms.iter().map(|term| self.term_score(term, seq)).sum()).collect()
    }

    fn term_score(&self, term: &str, seq: u64) -> f64 {
        let Some(count) = self.postings.get(term).and_then(|p| p.get(&seq)) else { return 0.0 };
        let length = self.lengths[seq as usize] / self.average;
        self.idf(term) * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
    }

    fn idf(&self, term: &str) -> f64 {
        let Some(found) = self.postings.get(term).map(|p| p.len() as f64) else { return 0.0 };
        (1.0 + (self.lengths.len() as f64 - found + 0.5) / (found + 0.5)).ln()
    }
}

fn analyse(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('’', "'");
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.strip_suffix("'s").unwrap_or(word).trim_matches('\''))
        .filter(|word| !word.is_empty())
        .map(stem)
        .collect()
}

/// Plurals and the commonest endings of verbs; what a stemmer's first step does.
fn stem(word: &str) -> String {
    let word = plural(word);
    for end in ["ing", "ed"] {
        if let Some(root) =
            word.strip_suffix(end).filter(|r| r.len() >= 3 && r.contains(['a', 'e', 'i', 'o', 'u', 'y']))
        {
            return undoubled(root);
        }
    }
    let root = word.strip_suffix("ly").filter(|r| r.len() >= 4).unwrap_or(&word);
    root.strip_suffix('e').filter(|r| r.len() >= 3).unwrap_or(root).replace('y', "i")
}

fn plural(word: &str) -> String {
    match word {
        w if w.len() <= 3 || w.ends_with("ss") || w.ends_with("us") || w.ends_with("is") => w.into(),
        w if w.ends_with("ies") => format!("{}y", &w[..w.len() - 3]),
        w if w.ends_with("sses") || w.ends_with("shes") || w.ends_with("ches") || w.ends_with("xes") => {
            w[..w.len() - 2].into()
        }
        w => w.strip_suffix('s').unwrap_or(w).into(),
    }
}

fn undoubled(root: &str) -> String {
    let mut ends = root.chars().rev();
    let double = matches!((ends.next(), ends.next()), (Some(a), Some(b)) if a == b && !"lsz".contains(a));
    let root = if double { &root[..root.len() - 1] } else { root };
    root.strip_suffix('e').unwrap_or(root).replace('y', "i")
}
