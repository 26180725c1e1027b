//! Every yes and no, from values alone: no file, no journal, no look at the machine.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::name::{Evidence, Holder, Purpose};
use crate::number::Number;
use crate::occupied::Occupied;
use crate::range::Range;
use crate::series::Series;
use crate::state::{Line, Room, Standing, State};

/// More than anything needs that is one thing. It keeps one holder from using up a series.
pub const HELD_PER_HOLDER_MAX: usize = 64;

/// Numbers one gift may set aside because something else uses them. An entry of so many is well below the longest line.
pub const SKIPPED_MAX: usize = 1024;

/// A wish for a number. The same holder gets the same one for the same series and purpose, whatever the range is then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub holder: Holder,
    pub purpose: Purpose,
    /// Where to look for it; it says which series, too.
    pub range: Range,
}

impl Ask {
    /// A number of the range that the series has of itself.
    pub fn new(series: Series, holder: Holder, purpose: Purpose) -> Ask {
        Ask::within(Range::of(series), holder, purpose)
    }

    pub fn within(range: Range, holder: Holder, purpose: Purpose) -> Ask {
        Ask { holder, purpose, range }
    }

    pub fn series(&self) -> Series {
        self.range.series()
    }
}

/// What has to be written down so that a wish is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing: it is so already.
    Already,
    Write(Event),
}

/// The first number that nobody has ever had, and only then the first that was reclaimed. It is for somebody who does not
/// hold one already.
pub(crate) fn give(state: &State, ask: &Ask, occupied: &Occupied) -> Result<Event> {
    let Ask { holder, purpose, range } = ask.clone();
    if state.held_by(&holder).count() >= HELD_PER_HOLDER_MAX {
        return Err(Error::HoldsTooMany { holder, max: HELD_PER_HOLDER_MAX });
    }
    let mut skipped = Vec::new();
    for room in [Room::Fresh, Room::Reclaimed] {
        for number in range.numbers().filter(|number| state.room(*number) == room) {
            if !occupied.has(number) {
                return Ok(Event::Given { number, holder, purpose, skipped });
            }
            if skipped.len() == SKIPPED_MAX {
                return Err(Error::Crowded { series: range.series(), max: SKIPPED_MAX });
            }
            skipped.push(number);
        }
    }
    Err(Error::Exhausted { range, in_use: skipped.len() })
}

/// Releasing twice is releasing once.
pub(crate) fn release(state: &State, series: Series, holder: &Holder, purpose: &Purpose) -> Result<Decision> {
    let (holder, purpose) = (holder.clone(), purpose.clone());
    if let Some(line) = state.held(series, &holder, &purpose) {
        return Ok(Decision::Write(Event::Released { number: line.number, holder, purpose }));
    }
    match tombstone(state, series, &holder, &purpose) {
        Some(_) => Ok(Decision::Already),
        None => Err(Error::NotHeld { series, holder, purpose }),
    }
}

/// The last number of a series that a holder had for a purpose and released.
pub(crate) fn tombstone<'s>(
    state: &'s State,
    series: Series,
    holder: &Holder,
    purpose: &Purpose,
) -> Option<&'s Line> {
    let expected = Standing::Released { holder: holder.clone(), purpose: purpose.clone() };
    let of_series = state.lines().filter(|line| line.number.series() == series);
    of_series.filter(|line| line.standing == expected).max_by_key(|line| line.seq)
}

/// Whether a number may be given again. The evidence is somebody's word; that nothing uses the number at this moment is
/// seen to besides.
pub(crate) fn reclaim(
    state: &State,
    number: Number,
    evidence: &Evidence,
    occupied: &Occupied,
) -> Result<Decision> {
    match state.line(number).map(|line| &line.standing) {
        None => Err(Error::NeverGiven { number }),
        Some(Standing::Held { holder, .. }) => Err(Error::StillHeld { number, holder: holder.clone() }),
        Some(Standing::Reclaimed { .. }) => Ok(Decision::Already),
        Some(Standing::Released { .. } | Standing::InUse) if occupied.has(number) => {
            Err(Error::StillInUse { number })
        }
        Some(Standing::Released { .. } | Standing::InUse) => {
            Ok(Decision::Write(Event::Reclaimed { number, evidence: evidence.clone() }))
        }
    }
}

/// Renaming twice is renaming once: a plan may say for ever that something had another name before. A new holder that
/// has taken the old name meanwhile keeps what it has.
pub(crate) fn rename(state: &State, from: &Holder, to: &Holder) -> Result<Decision> {
    let (from_holds, to_holds) = (state.holds_anything(from), state.holds_anything(to));
    if to_holds && (from == to || state.was(to, from)) {
        return Ok(Decision::Already);
    }
    match (from_holds, to_holds) {
        (true, false) => Ok(Decision::Write(Event::Renamed { from: from.clone(), to: to.clone() })),
        (true, true) => Err(Error::BothHold { from: from.clone(), to: to.clone() }),
        (false, _) => Err(Error::HoldsNothing { holder: from.clone() }),
    }
}

#[cfg(test)]
mod tests;
