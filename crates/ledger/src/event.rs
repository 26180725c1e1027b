//! The entries of this room. Together they are the ledger: every table and every list comes from them.

use holdfast_journal::{Draft, Entry, Stored};
use holdfast_types::{Actor, Key, Kind, KindDef, NameError, Origin, Trust};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::name::{Evidence, Holder, Purpose};
use crate::number::Number;
use crate::series::Series;

/// The first word of every kind below.
pub(crate) const ROOM: &str = "ledger";

/// Idempotency keys of this room begin with this.
pub(crate) const KEY_PREFIX: &str = "ledger-";

const TURN: (&str, &str) =
    ("turn", "how many entries of the ledger counted before; of several with the same turn the first counts");
const SERIES: (&str, &str) = ("series", "the kind of number, for instance uid or vnc_port");
const VALUE: (&str, &str) =
    ("value", "the number as it is used: 4001, 10.208.0.0/24, 0x1001, or the name of an interface");

pub(crate) const GIVEN: KindDef = KindDef {
    name: "ledger.number.given",
    version: 1,
    when: "A number was given to a holder, which keeps it.",
    fields: &[
        TURN,
        SERIES,
        VALUE,
        ("holder", "who has it"),
        ("purpose", "what for; a holder has one number of a series for a purpose"),
        ("skipped", "numbers that came before it and that something else used at that moment"),
    ],
};

pub(crate) const RELEASED: KindDef = KindDef {
    name: "ledger.number.released",
    version: 1,
    when: "A holder does not need a number any more. Nobody gets it, because things of the holder may be left.",
    fields: &[TURN, SERIES, VALUE, ("holder", "who had it"), ("purpose", "what for")],
};

pub(crate) const RECLAIMED: KindDef = KindDef {
    name: "ledger.number.reclaimed",
    version: 1,
    when: "A number that was released or skipped may be given again, because somebody showed that nothing owns it.",
    fields: &[TURN, SERIES, VALUE, ("evidence", "what was looked at, and what was found")],
};

pub(crate) const RENAMED: KindDef = KindDef {
    name: "ledger.holder.renamed",
    version: 1,
    when: "A holder has another name and keeps all its numbers.",
    fields: &[TURN, ("from", "its name before"), ("to", "its name from now on")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[GIVEN, RELEASED, RECLAIMED, RENAMED];

/// Something that happened to numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Given { number: Number, holder: Holder, purpose: Purpose, skipped: Vec<Number> },
    Released { number: Number, holder: Holder, purpose: Purpose },
    Reclaimed { number: Number, evidence: Evidence },
    Renamed { from: Holder, to: Holder },
}

/// An event and its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) turn: u64,
    pub(crate) event: Event,
}

/// Why an entry of the ledger's kinds cannot be followed. The ledger stands still there: whoever does not know what an
/// entry does must not go on as if it did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("{kind} has version {version}, which this program does not know")]
    UnknownVersion { kind: Kind, version: u16 },
    #[error("{kind} is a kind that this program does not know")]
    UnknownKind { kind: Kind },
    #[error("it is no {kind}: {why}")]
    Malformed { kind: Kind, why: String },
    #[error("it contradicts what was written before: {why}")]
    Contradiction { why: String },
}

#[derive(Serialize, Deserialize)]
struct GivenBody {
    turn: u64,
    series: Series,
    value: String,
    holder: Holder,
    purpose: Purpose,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct ReleasedBody {
    turn: u64,
    series: Series,
    value: String,
    holder: Holder,
    purpose: Purpose,
}

#[derive(Serialize, Deserialize)]
struct ReclaimedBody {
    turn: u64,
    series: Series,
    value: String,
    evidence: Evidence,
}

#[derive(Serialize, Deserialize)]
struct RenamedBody {
    turn: u64,
    from: Holder,
    to: Holder,
}

impl Step {
    /// What an entry says. `None` for those of other rooms, and of logs other than `own`.
    pub(crate) fn read(entry: &Entry, own: &Origin) -> Result<Option<Step>, Misfit> {
        if entry.kind.room().as_str() != ROOM || entry.origin != *own {
            return Ok(None);
        }
        let kind = || entry.kind.clone();
        let def = KINDS.iter().find(|def| def.name == entry.kind.as_str());
        let def = def.ok_or_else(|| Misfit::UnknownKind { kind: kind() })?;
        if def.version != entry.version {
            return Err(Misfit::UnknownVersion { kind: kind(), version: entry.version });
        }
        let step = match &entry.content {
            Stored::Body(body) => Step::parse(def.name, body),
            Stored::Blob(_) => Err("its body is sealed".to_owned()),
        };
        step.map(Some).map_err(|why| Misfit::Malformed { kind: kind(), why })
    }

    /// Reads a body of one of these kinds.
    pub(crate) fn parse(kind: &str, body: &Map<String, Value>) -> Result<Step, String> {
        let step = |turn, event| Ok(Step { turn, event });
        match kind {
            kind if kind == GIVEN.name => {
                let GivenBody { turn, series, value, holder, purpose, skipped } = object(body)?;
                let skipped = skipped.iter().map(|value| number(series, value)).collect::<Result<_, _>>()?;
                step(turn, Event::Given { number: number(series, &value)?, holder, purpose, skipped })
            }
            kind if kind == RELEASED.name => {
                let ReleasedBody { turn, series, value, holder, purpose } = object(body)?;
                step(turn, Event::Released { number: number(series, &value)?, holder, purpose })
            }
            kind if kind == RECLAIMED.name => {
                let ReclaimedBody { turn, series, value, evidence } = object(body)?;
                step(turn, Event::Reclaimed { number: number(series, &value)?, evidence })
            }
            kind if kind == RENAMED.name => {
                let RenamedBody { turn, from, to } = object(body)?;
                step(turn, Event::Renamed { from, to })
            }
            other => Err(format!("{other} is not known")),
        }
    }

    pub(crate) fn def(&self) -> &'static KindDef {
        match &self.event {
            Event::Given { .. } => &GIVEN,
            Event::Released { .. } => &RELEASED,
            Event::Reclaimed { .. } => &RECLAIMED,
            Event::Renamed { .. } => &RENAMED,
        }
    }

    pub(crate) fn body(&self) -> Map<String, Value> {
        let turn = self.turn;
        let body = match self.event.clone() {
            Event::Given { number, holder, purpose, skipped } => {
                let (series, value) = (number.series(), number.to_string());
                let skipped = skipped.iter().map(Number::to_string).collect();
                serde_json::to_value(GivenBody { turn, series, value, holder, purpose, skipped })
            }
            Event::Released { number, holder, purpose } => {
                let (series, value) = (number.series(), number.to_string());
                serde_json::to_value(ReleasedBody { turn, series, value, holder, purpose })
            }
            Event::Reclaimed { number, evidence } => {
                let (series, value) = (number.series(), number.to_string());
                serde_json::to_value(ReclaimedBody { turn, series, value, evidence })
            }
            Event::Renamed { from, to } => serde_json::to_value(RenamedBody { turn, from, to }),
        };
        match body {
            Ok(Value::Object(body)) => body,
            // Everything above is an object of plain values.
            _ => Map::new(),
        }
    }

    /// The entry that says so.
    pub(crate) fn draft(&self, by: &Actor, key: Option<Key>) -> Result<Draft, NameError> {
        let def = self.def();
        let draft = Draft::new(def.name.parse()?, by.clone(), Trust::Trusted, self.body());
        Ok(Draft { version: def.version, key, ..draft })
    }

    /// What keeps a second entry of the same turn out of the log, for as long as the journal remembers keys.
    pub(crate) fn key(&self) -> Result<Key, NameError> {
        format!("{KEY_PREFIX}turn:{}", self.turn).parse()
    }
}

fn number(series: Series, value: &str) -> Result<Number, String> {
    Number::parse(series, value).map_err(|e| e.to_string())
}

fn object<T: DeserializeOwned>(body: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(body).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn of_each() -> Vec<Event> {
        let holder = || "agent/researcher".parse::<Holder>().unwrap();
        let purpose = || "screen".parse::<Purpose>().unwrap();
        let port = |raw| Number::new(Series::VncPort, raw).unwrap();
        vec![
            Event::Given {
                number: port(5903),
                holder: holder(),
                purpose: purpose(),
                skipped: vec![port(5901), port(5902)],
            },
            Event::Given {
                number: Series::Subnet28.first(),
                holder: holder(),
                purpose: purpose(),
                skipped: vec![],
            },
            Event::Released { number: port(5903), holder: holder(), purpose: purpose() },
            Event::Reclaimed { number: port(5903), evidence: "nothing listens there".parse().unwrap() },
            Event::Renamed { from: holder(), to: "agent/reader".parse().unwrap() },
        ]
    }

    #[test]
    fn every_kind_has_a_proper_name_in_this_room() {
        for def in KINDS {
            let kind: Kind = def.name.parse().unwrap();
            assert_eq!(kind.room().as_str(), ROOM);
        }
    }

    #[test]
    fn a_body_reads_back_as_the_event_it_described_and_has_the_fields_that_are_told() {
        for event in of_each() {
            let step = Step { turn: 7, event };
            let (def, body) = (step.def(), step.body());
            assert!(body.keys().all(|field| def.fields.iter().any(|(told, _)| told == field)), "{body:?}");
            assert_eq!(Step::parse(def.name, &body), Ok(step));
        }
    }

    #[test]
    fn a_body_that_lacks_or_bends_a_field_is_refused() {
        for event in of_each() {
            let step = Step { turn: 7, event };
            let (def, body) = (step.def(), step.body());
            for field in body.keys().filter(|field| *field != "skipped") {
                let mut lacking = body.clone();
                lacking.remove(field);
                assert!(Step::parse(def.name, &lacking).is_err(), "{} without {field}", def.name);
                let mut bent = body.clone();
                bent.insert(field.clone(), Value::from(" ? "));
                assert!(Step::parse(def.name, &bent).is_err(), "{} with a bent {field}", def.name);
            }
        }
    }
}
