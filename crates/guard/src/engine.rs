//! The guard: the rules, made ready once, and what they find in a text.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use crate::custom::{CustomPattern, CustomPatterns};
use crate::disguise::{self, Mark, Part};
use crate::finding::{Confidence, Finding, Method};
use crate::keyname::Stems;
use crate::kind::{Action, Family, Kind};
use crate::known::KnownKinds;
use crate::pass::{Candidate, Lore, Pass, Remark, What};
use crate::placeholder;
use crate::rule::{self, RuleError};
use crate::scene::Scene;
use crate::tables::Tables;

/// What a user may set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bits per character at which a long string counts as random; shorter strings and smaller alphabets are scaled.
    pub entropy_threshold: f32,
    /// The shortest string that counts as a secret for looking random.
    pub shortest_random: usize,
    pub custom: Vec<CustomPattern>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { entropy_threshold: 4.5, shortest_random: 20, custom: Vec::new() }
    }
}

/// Finds secrets and personal data. Made once, used from any number of threads.
#[derive(Debug)]
pub struct Guard {
    tables: Tables,
    stems: Stems,
    known: KnownKinds,
    custom: CustomPatterns,
    threshold: f32,
    shortest: usize,
}

impl Guard {
    /// The rules that come with the program.
    pub fn builtin() -> &'static Guard {
        static BUILTIN: OnceLock<Guard> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let made = Guard::unchecked(&Settings::default());
            // The rules are part of the program and a test loads them; without them nothing may be let through.
            match made {
                Ok(guard) => guard,
                Err(wrong) => unreachable!("the rules that come with the program: {wrong}"),
            }
        })
    }

    /// With a user's settings. Every rule is tried on its own examples first.
    pub fn new(settings: &Settings) -> Result<Guard, RuleError> {
        let guard = Guard::unchecked(settings)?;
        guard.check_examples()?;
        Ok(guard)
    }

    fn unchecked(settings: &Settings) -> Result<Guard, RuleError> {
        let known = KnownKinds::new();
        let mut taken: HashSet<String> = known.ids().map(str::to_owned).collect();
        let rules = rule::read(&mut taken)?;
        let custom = CustomPatterns::new(&settings.custom, &mut taken)?;
        Ok(Guard {
            tables: Tables::new(rules),
            stems: Stems::new(),
            known,
            custom,
            threshold: settings.entropy_threshold.clamp(1.0, 8.0),
            shortest: settings.shortest_random.max(8),
        })
    }

    /// Tries every rule on its own examples.
    pub fn check_examples(&self) -> Result<(), RuleError> {
        match self.untrue_rules().into_iter().next() {
            Some(wrong) => Err(wrong),
            None => self.custom.check_examples(),
        }
    }

    /// The rules that do not do what their examples say.
    fn untrue_rules(&self) -> Vec<RuleError> {
        let scene = Scene::text(crate::scene::Looking::Secrets);
        let mut wrong = Vec::new();
        for (number, rule) in self.tables.rules.iter().enumerate() {
            let finds = |text: &str| {
                let found = self.candidates(text.as_bytes(), scene);
                found.iter().any(|c| matches!(c.what, What::Rule(n) if n as usize == number))
            };
            let id = || rule.kind.id.clone();
            match (rule.found(), rule.kept()) {
                (Ok(found), Ok(kept)) => {
                    let missed = (1..).zip(&found).filter(|(_, text)| !finds(text));
                    wrong.extend(missed.map(|(number, _)| RuleError::Missed { id: id(), number }));
                    let taken = (1..).zip(&kept).filter(|(_, text)| finds(text));
                    wrong.extend(taken.map(|(number, _)| RuleError::Taken { id: id(), number }));
                }
                (found, kept) => wrong.extend(found.err().or(kept.err())),
            }
        }
        wrong
    }

    /// Every kind that can be found.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.tables.rules.iter().map(|r| &r.kind).chain(self.known.all()).chain(self.custom.kinds())
    }

    pub(crate) fn lore(&self) -> Lore<'_> {
        Lore { tables: &self.tables, stems: &self.stems, threshold: self.threshold, shortest: self.shortest }
    }

    fn candidates(&self, text: &[u8], scene: Scene) -> Vec<Candidate> {
        let mut pass = Pass::new(text, scene, self.lore());
        pass.run(0, false);
        pass.found
    }

    /// What is secret or personal in a text, in order and without overlaps. Any bytes will do; the time is linear in
    /// their number.
    pub fn find(&self, text: &[u8], scene: &Scene) -> Vec<Finding<'_>> {
        let mut pass = Pass::new(text, *scene, self.lore());
        pass.marks = Some(Vec::new());
        pass.run(0, false);
        let marks = pass.marks.take().unwrap_or_default();
        self.resolved(text, scene, pass.found, marks)
    }

    /// Adds what only shows when disguises are dropped, and settles.
    fn resolved(
        &self,
        text: &[u8],
        scene: &Scene,
        mut found: Vec<Candidate>,
        mut marks: Vec<Mark>,
    ) -> Vec<Finding<'_>> {
        let part = Part { text, gone: 0, from: 0, to: text.len() };
        disguise::look_behind(part, scene, self.lore(), &mut marks, &mut found);
        self.settled(text, scene, found, 0..text.len())
    }

    /// Adds what a user's patterns find within a stretch, and resolves overlaps.
    pub(crate) fn settled(
        &self,
        text: &[u8],
        scene: &Scene,
        found: Vec<Candidate>,
        within: Range<usize>,
    ) -> Vec<Finding<'_>> {
        let mut findings: Vec<Finding<'_>> =
            found.iter().map(|c| self.finding(c)).filter(|f| f.confidence >= scene.least).collect();
        self.custom.find(text, within, &mut findings);
        resolve(&mut findings);
        placeholder::spared(text, findings)
    }

    /// Where a user's patterns match behind a place.
    pub(crate) fn custom_spans(&self, text: &[u8], from: usize) -> Vec<(usize, usize)> {
        let mut findings = Vec::new();
        self.custom.find(text, from..text.len(), &mut findings);
        findings.into_iter().map(|f| (f.span.start, f.span.end)).collect()
    }

    fn finding(&self, candidate: &Candidate) -> Finding<'_> {
        let (kind, method) = match candidate.what {
            What::Rule(number) => (&self.tables.rules[number as usize].kind, Method::Pattern),
            What::Known(known) => (self.known.kind(known), known.method()),
        };
        let confidence = Confidence::percent(candidate.confidence);
        Finding { kind, span: candidate.start..candidate.end, confidence, method, reason: candidate.reason }
    }

    /// How the engine came to what it says of a stretch of text, step by step.
    pub fn explain(&self, text: &[u8], scene: &Scene, within: Range<usize>) -> Vec<Step> {
        let mut pass = Pass::new(text, *scene, self.lore());
        pass.remarks = Some(Vec::new());
        pass.marks = Some(Vec::new());
        pass.run(0, false);
        let remarks = pass.remarks.take().unwrap_or_default();
        let marks = pass.marks.take().unwrap_or_default();
        let touches =
            |at: &Range<usize>| at.start < within.end.max(within.start + 1) && at.end > within.start;
        let mut steps: Vec<Step> = remarks.iter().filter(|r| touches(&r.at)).map(Step::of).collect();
        for finding in self.resolved(text, scene, pass.found, marks) {
            if touches(&finding.span) {
                steps.push(Step {
                    span: finding.span,
                    text: format!(
                        "reported as {} ({}): {}",
                        finding.kind.id, finding.confidence, finding.reason
                    ),
                });
            }
        }
        steps.sort_by_key(|s| s.span.start);
        steps
    }
}

/// One step of an explanation. It quotes nothing of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub span: Range<usize>,
    pub text: String,
}

impl Step {
    fn of(remark: &Remark) -> Step {
        Step { span: remark.at.clone(), text: format!("{}: {}", remark.what, remark.outcome) }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// How telling a kind is, where two overlap: what blocks, then what has a form, then what a name promises, then people, then
/// what only looks random.
fn weight(finding: &Finding<'_>) -> u8 {
    match (finding.kind.action, finding.method, finding.kind.family) {
        (Action::Block, ..) => 4,
        (_, Method::Entropy, _) => 0,
        (_, _, Family::Personal) => 1,
        _ if finding.kind.id.starts_with("named_") => 2,
        _ => 3,
    }
}

/// Leaves no two findings that overlap: those that do become one, as long as both and of the more telling kind. Whatever
/// one of them covers stays covered.
fn resolve(findings: &mut Vec<Finding<'_>>) {
    if findings.len() < 2 {
        return;
    }
    findings.sort_by_key(|f| (f.span.start, std::cmp::Reverse(f.span.end)));
    let mut kept: Vec<Finding<'_>> = Vec::with_capacity(findings.len());
    for finding in findings.drain(..) {
        match kept.last_mut() {
            Some(last) if finding.span.start < last.span.end => merge(last, finding),
            _ => kept.push(finding),
        }
    }
    *findings = kept;
}

fn merge<'g>(last: &mut Finding<'g>, next: Finding<'g>) {
    let span = last.span.start..last.span.end.max(next.span.end);
    if (weight(&next), next.span.len()) > (weight(last), last.span.len()) {
        *last = next;
    }
    last.span = span;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_true_to_its_examples() {
        let wrong: Vec<String> = Guard::builtin().untrue_rules().iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
