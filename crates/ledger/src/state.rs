//! What the entries come to: who holds which number, which were released, which were found in use.
//!
//! ```text
//!             ┌─▶ held ─▶ released ─┐
//!  (fresh) ───┤                     ├─▶ reclaimed ─▶ held, or in use
//!             └─▶ in use ───────────┘
//! ```
//!
//! [`State::apply`] is the one place where numbers move on. It checks before it changes anything: an entry that
//! contradicts what is there is damage, and the state stays as it was.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_journal::Entry;
use holdfast_types::Origin;

use crate::event::{Event, Misfit, Step};
use crate::name::{Evidence, Holder, Purpose};
use crate::number::Number;
use crate::series::{Series, Space};

/// The ledger of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Entries that counted.
    turns: u64,
    /// By where they begin. No two overlap.
    lines: BTreeMap<(Space, u32), Line>,
    /// Where to find what is held. A holder without numbers is not in it.
    held: BTreeMap<Holder, BTreeMap<(Series, Purpose), Number>>,
    /// The names a holder had before, while it holds anything.
    formerly: BTreeMap<Holder, BTreeSet<Holder>>,
}

/// A number that is not fresh any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: Number,
    pub standing: Standing,
    /// The entry that made it so; a rename is none.
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Held {
        holder: Holder,
        purpose: Purpose,
    },
    /// A tombstone: nobody gets it.
    Released {
        holder: Holder,
        purpose: Purpose,
    },
    /// Something that is not of the ledger used it when it was about to be given.
    InUse,
    /// It may be given again.
    Reclaimed {
        evidence: Evidence,
    },
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    Counted,
    /// Another one had its turn.
    TooLate,
}

/// Whether a number can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Fresh,
    Reclaimed,
    Taken,
}

impl State {
    /// Folds the entries of a log from its beginning, for whoever only looks and has no index at hand. Entries of other
    /// rooms, and those taken over from logs other than `own`, count for nothing.
    pub fn fold<'e>(own: &Origin, entries: impl IntoIterator<Item = &'e Entry>) -> Result<State, Misfit> {
        let mut state = State::default();
        for entry in entries {
            if let Some(step) = Step::read(entry, own)? {
                state.apply(&step, entry.seq)?;
            }
        }
        Ok(state)
    }

    /// Every number that was ever given or found in use, in the order of the spaces.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.values()
    }

    pub fn line(&self, number: Number) -> Option<&Line> {
        self.lines.get(&place(number)).filter(|line| line.number == number)
    }

    /// What the holder has of a series for a purpose.
    pub fn held(&self, series: Series, holder: &Holder, purpose: &Purpose) -> Option<&Line> {
        self.line(*self.held.get(holder)?.get(&(series, purpose.clone()))?)
    }

    /// Everything the holder has.
    pub fn held_by(&self, holder: &Holder) -> impl Iterator<Item = &Line> {
        let numbers = self.held.get(holder).into_iter().flat_map(BTreeMap::values);
        numbers.filter_map(|number| self.line(*number))
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    pub(crate) fn holds_anything(&self, holder: &Holder) -> bool {
        self.held.contains_key(holder)
    }

    pub(crate) fn was(&self, holder: &Holder, formerly: &Holder) -> bool {
        self.formerly.get(holder).is_some_and(|names| names.contains(formerly))
    }

    pub(crate) fn room(&self, number: Number) -> Room {
        let mut room = Room::Fresh;
        for line in self.across(number) {
            match line.standing {
                Standing::Reclaimed { .. } => room = Room::Reclaimed,
                Standing::Held { .. } | Standing::Released { .. } | Standing::InUse => return Room::Taken,
            }
        }
        room
    }

    /// Moves on by an event, which stands in entry `seq`.
    pub(crate) fn apply(&mut self, step: &Step, seq: u64) -> Result<Took, Misfit> {
        if step.turn < self.turns {
            return Ok(Took::TooLate);
        }
        self.fits(step).map_err(|why| Misfit::Contradiction { why })?;
        self.turns += 1;
        match step.event.clone() {
            Event::Given { number, holder, purpose, skipped } => {
                skipped.into_iter().for_each(|number| self.put(number, Standing::InUse, seq));
                let of_holder = self.held.entry(holder.clone()).or_default();
                of_holder.insert((number.series(), purpose.clone()), number);
                self.put(number, Standing::Held { holder, purpose }, seq);
            }
            Event::Released { number, holder, purpose } => {
                self.let_go(&holder, &(number.series(), purpose.clone()));
                self.put(number, Standing::Released { holder, purpose }, seq);
            }
            Event::Reclaimed { number, evidence } => self.put(number, Standing::Reclaimed { evidence }, seq),
            Event::Renamed { from, to } => self.rename(&from, &to),
        }
        Ok(Took::Counted)
    }

    /// What nobody who decided by the rules could have written is said here.
    fn fits(&self, Step { turn, event }: &Step) -> Result<(), String> {
        if *turn > self.turns {
            return Err(format!("it is of turn {turn}, and {} is next", self.turns));
        }
        match event {
            Event::Given { number, holder, purpose, skipped } => {
                self.can_give(*number, holder, purpose, skipped)
            }
            Event::Released { number, holder, purpose } => {
                let expected = Standing::Held { holder: holder.clone(), purpose: purpose.clone() };
                let held = self.line(*number).is_some_and(|line| line.standing == expected);
                require(held, || format!("{holder} does not have {number:?} for {purpose}"))
            }
            Event::Reclaimed { number, .. } => {
                let standing = self.line(*number).map(|line| &line.standing);
                let idle = matches!(standing, Some(Standing::Released { .. } | Standing::InUse));
                require(idle, || format!("{number:?} is neither released nor set aside"))
            }
            Event::Renamed { from, to } => {
                require(self.holds_anything(from), || format!("{from} holds nothing"))?;
                require(!self.holds_anything(to), || format!("{to} holds numbers of its own"))
            }
        }
    }

    fn can_give(
        &self,
        number: Number,
        holder: &Holder,
        purpose: &Purpose,
        skipped: &[Number],
    ) -> Result<(), String> {
        if let Some(line) = self.held(number.series(), holder, purpose) {
            return Err(format!("{holder} has {:?} for {purpose}", line.number));
        }
        let mut touched: Vec<Number> = skipped.iter().copied().chain([number]).collect();
        if let Some(taken) = touched.iter().find(|number| self.room(**number) == Room::Taken) {
            return Err(format!("{taken:?} is not free"));
        }
        touched.sort_unstable();
        let apart = touched.windows(2).all(|pair| pair[0].span().1 < pair[1].span().0);
        require(apart, || "it names a number twice".to_owned())
    }

    /// Sets a line in place of what it covers, which is itself or was reclaimed.
    fn put(&mut self, number: Number, standing: Standing, seq: u64) {
        let covered: Vec<_> = self.across(number).map(|line| place(line.number)).collect();
        covered.iter().for_each(|place| drop(self.lines.remove(place)));
        self.lines.insert(place(number), Line { number, standing, seq });
    }

    fn rename(&mut self, from: &Holder, to: &Holder) {
        let of_holder = self.held.remove(from).unwrap_or_default();
        for ((_, purpose), number) in &of_holder {
            if let Some(line) = self.lines.get_mut(&place(*number)) {
                line.standing = Standing::Held { holder: to.clone(), purpose: purpose.clone() };
            }
        }
        self.held.insert(to.clone(), of_holder);
        let mut names = self.formerly.remove(from).unwrap_or_default();
        names.insert(from.clone());
        self.formerly.insert(to.clone(), names);
    }

    fn let_go(&mut self, holder: &Holder, what: &(Series, Purpose)) {
        let Some(of_holder) = self.held.get_mut(holder) else { return };
        of_holder.remove(what);
        if of_holder.is_empty() {
            self.held.remove(holder);
            self.formerly.remove(holder);
        }
    }

    /// The lines that have a part of it.
    fn across(&self, number: Number) -> impl Iterator<Item = &Line> {
        let space = number.series().space();
        let (first, last) = number.span();
        // What begins before it may reach into it, and only blocks of addresses are longer than one.
        let reach = if space == Space::Subnets { Series::Subnet24.step() - 1 } else { 0 };
        let from = first.saturating_sub(reach);
        let near = self.lines.range((space, from)..=(space, last));
        near.map(|(_, line)| line).filter(move |line| line.number.span().1 >= first)
    }
}

fn place(number: Number) -> (Space, u32) {
    (number.series().space(), number.raw())
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
