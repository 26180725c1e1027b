//! What a redaction leaves behind is not redacted again.
//!
//! A value such as `abc[REDACTED_TOKEN]def` is what an earlier look made of a longer one. The placeholder stays, and what
//! stands around it is taken out: writing one into a secret hides nothing of it.

use std::ops::Range;

use memchr::memmem;

use crate::finding::Finding;
use crate::kind::Action;

const OPEN: &[u8] = b"[REDACTED_";
/// The longest placeholder that is recognised.
const LONGEST: usize = 80;
/// A rest shorter than this is punctuation.
const SHORTEST_REST: usize = 4;

/// The findings, without the placeholders they cover.
pub(crate) fn spared<'g>(text: &[u8], findings: Vec<Finding<'g>>) -> Vec<Finding<'g>> {
    let touched = |finding: &Finding<'_>| {
        finding.kind.action != Action::Block
            && memmem::find(&text[surroundings(text, &finding.span)], OPEN).is_some()
    };
    if !findings.iter().any(touched) {
        return findings;
    }
    let mut all = Vec::with_capacity(findings.len());
    for finding in findings {
        if !touched(&finding) {
            all.push(finding);
            continue;
        }
        let placeholders = placeholders_in(text, surroundings(text, &finding.span));
        let rests = without(&finding.span, &placeholders);
        // A whole span with no placeholder in it after all stays as it is, whatever its length.
        let whole = rests.len() == 1 && rests[0] == finding.span;
        all.extend(
            rests
                .into_iter()
                .filter(|rest| whole || rest.len() >= SHORTEST_REST)
                .map(|span| Finding { span, ..finding.clone() }),
        );
    }
    all
}

/// The span and as much before it as may hold the beginning of a placeholder that reaches into it.
fn surroundings(text: &[u8], span: &Range<usize>) -> Range<usize> {
    span.start.saturating_sub(LONGEST)..text.len().min(span.end + OPEN.len())
}

fn placeholders_in(text: &[u8], within: Range<usize>) -> Vec<Range<usize>> {
    memmem::find_iter(&text[within.clone()], OPEN)
        .filter_map(|at| {
            let start = within.start + at;
            let name = text[start + OPEN.len()..]
                .iter()
                .take(LONGEST - OPEN.len())
                .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_')
                .count();
            let end = start + OPEN.len() + name;
            (text.get(end) == Some(&b']')).then_some(start..end + 1)
        })
        .collect()
}

/// What is left of a span without these stretches, which are in order.
fn without(span: &Range<usize>, stretches: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut rests = Vec::new();
    let mut from = span.start;
    for stretch in stretches {
        if stretch.end <= from || stretch.start >= span.end {
            continue;
        }
        if stretch.start > from {
            rests.push(from..stretch.start);
        }
        from = stretch.end.min(span.end).max(from);
    }
    if from < span.end {
        rests.push(from..span.end);
    }
    rests
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Looking};

    #[test]
    fn a_placeholder_inside_a_secret_hides_nothing_of_it() {
        let redact = |text: &str| Guard::builtin().redact_for(text, Looking::Secrets).content;
        assert_eq!(redact("password=[REDACTED_PASSWORD]"), "password=[REDACTED_PASSWORD]");
        assert_eq!(
            redact("db_password=9!X9mQ2vL7[REDACTED_X]pR4tW8zN1"),
            "db_password=[REDACTED_PASSWORD][REDACTED_X][REDACTED_PASSWORD]"
        );
    }
}
