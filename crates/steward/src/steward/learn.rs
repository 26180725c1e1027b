//! Learning on a schedule: many outcomes of one setting become one pattern, and a bound that is pushed at is drafted to
//! people. Neither changes a target: a draft is a text, and nothing here could apply it.

use std::time::Duration;

use holdfast_lifeline::Steady;

use super::{Steward, Turn};
use crate::consolidate;
use crate::effect::{Effect, Full, Tiding};
use crate::event::Event;
use crate::gates::Gate;
use crate::review::{self, Draft, Review};

/// Twice a month.
const REVIEW_EVERY: Duration = Duration::from_secs(15 * 86_400);

impl Turn<'_> {
    /// Once a week, while nothing is under way.
    pub(super) fn consolidate_when_due(&mut self) {
        let now = self.now();
        let idle = self.steward.episode.is_none() && self.steward.has_a_past();
        if idle && consolidate::is_due(self.steward.consolidated, now) {
            self.record(Event::Consolidated { patterns: consolidate::plan(&self.steward.book, now).len() });
        }
    }

    /// Twice a month, when the target has just said how it is configured.
    pub(super) fn review_when_due(&mut self, full: &Full) {
        let now = self.now();
        let lately = self.steward.reviewed.is_some_and(|at| now.since(at) < REVIEW_EVERY);
        if lately || !self.steward.has_a_past() {
            return;
        }
        let drafts = self.steward.review(Some(full)).drafts;
        for draft in &drafts {
            self.act(Effect::Tell(Tiding::Draft { what: draft.body.clone() }));
        }
        self.record(Event::Drawn { drafts });
    }
}

impl Steward {
    /// What the last thirty days came to. Wider bounds are drafted only where it is known what the target evaluates to.
    pub fn review(&self, full: Option<&Full>) -> Review {
        let names: Vec<String> = Gate::ORDER.iter().map(ToString::to_string).collect();
        let gates: Vec<&str> = names.iter().map(String::as_str).collect();
        review::review(&review::Input {
            target: &self.settings.target,
            now: self.now,
            book: &self.book,
            gates: &gates,
            disk: None,
            open_drafts: &self.open_drafts,
            current: full.map(|full| &full.com),
            rules: &self.settings.rules,
        })
    }

    /// The settings that were pushed near a bound, a line each, for whoever plans.
    pub fn pressed_bounds(&self) -> Vec<String> {
        review::pressed(&self.book, &self.settings.target, self.now.steady, &self.open_drafts)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn has_a_past(&self) -> bool {
        self.book.current().next().is_some()
    }

    /// The pattern is there before what it stands for leaves planning, so that a crash in between loses nothing.
    pub(super) fn consolidated(&mut self, at: Steady) {
        for pattern in consolidate::plan(&self.book, at) {
            self.book.add_pattern(pattern);
        }
        consolidate::archive_covered(&mut self.book);
        self.book.archive_old(at);
        self.consolidated = Some(at);
    }

    pub(super) fn drawn(&mut self, at: Steady, drafts: &[Draft]) {
        self.reviewed = Some(at);
        self.open_drafts.extend(drafts.iter().map(|draft| draft.setting.clone()));
    }
}
