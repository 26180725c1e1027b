//! A call that was understood, and what it asks for.

use holdfast_control::{Answer, MemoryAnswer, MemoryImported, MemoryLines, MemoryWrong, Request};
use holdfast_types::Actor;
use http::Method;
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::given::Given;
use crate::read::encoded;
use crate::rights::Passkey;
use crate::route::{Body, Route, find, is_parameter};

/// Lines that were wrong and are told one by one; a body of another kind is wrong in every line.
const WRONG_TOLD_MAX: usize = 1_000;

/// A call that fits a row of the table. Who asks is not in it.
#[derive(Clone, Debug)]
pub struct Call {
    pub route: &'static Route,
    pub(crate) given: Given,
}

/// What is asked for, by somebody who is named.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Something of the control plane.
    Control(Request),
    /// An import, in pieces that are handed in one after the other, and the lines that were none. [`imported`] makes one answer of them.
    Import {
        pieces: Vec<MemoryLines>,
        wrong: Vec<MemoryWrong>,
    },
    /// Halt all autonomy. Not a request: the switch is turned by whoever wants it, before anybody answers.
    Pause {
        actor: Actor,
        reason: Option<String>,
    },
    /// Send a test message now, to one channel or to all.
    TestNotices {
        channel: Option<String>,
    },
    /// A page of the log.
    Entries(EntriesAsk),
    Entry {
        seq: u64,
    },
    /// That an entry is in the log; of a size, or of the newest checkpoint's.
    Proof {
        seq: u64,
        size: Option<u64>,
    },
    /// That the log of the newest checkpoint continues the one of so many entries.
    Consistency {
        old: u64,
    },
    /// The newest checkpoint there is.
    Checkpoint,
    Episodes {
        target: Option<String>,
        limit: u32,
    },
    /// By the whole id, or by its beginning or end.
    Episode {
        id: String,
    },
    Events(EventsAsk),
    /// What the program looks up or works out beside the control plane, as the command of that name does.
    Look(Look),
    /// The document of this interface.
    OpenApi,
}

/// A look that the house takes: none of them is a request, since whoever answers has what it takes at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Doctor,
    Disk,
    Settings {
        changed: bool,
    },
    /// Whether a configuration would be taken.
    CheckSettings {
        text: Vec<u8>,
    },
    SettingsExample,
    SettingsSchema,
    Egress {
        nft: bool,
    },
    EgressCheck,
    EgressRefusals,
    Model,
    VerifyModel,
    Redact {
        text: String,
        /// `secrets`, `people` or `everything`.
        looking: String,
    },
    Targets,
    Target {
        name: String,
    },
    CheckTarget {
        name: String,
    },
    History {
        target: Option<String>,
        limit: u32,
    },
    Report {
        target: Option<String>,
    },
    Detect(Detect),
    Calibrate(Calibrate),
    VerifyLog {
        every_signature: bool,
    },
    Witnesses,
    Mine(Mine),
}

/// A series that somebody wants looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detect {
    /// CSV.
    pub series: Vec<u8>,
    pub change_points: bool,
    pub scores: bool,
    pub svg: bool,
    pub false_alarm_days: u32,
}

/// How a metric usually behaves, by a series of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrate {
    pub target: String,
    pub metric: String,
    /// CSV.
    pub series: Vec<u8>,
    pub false_alarm_days: u32,
    pub dry_run: bool,
    pub actor: Actor,
}

/// A history to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mine {
    pub agent: String,
    /// What the repository is called.
    pub name: Option<String>,
    /// As git bundles it.
    pub bundle: Vec<u8>,
    pub commits: u32,
    pub actor: Actor,
}

/// Which entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntriesAsk {
    /// Where to begin; where nobody says, at the end the order begins with.
    pub from: Option<u64>,
    pub limit: u32,
    pub order: Order,
    /// The beginning of a kind, in whole words.
    pub kind: Option<String>,
    pub actor: Option<Actor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    OldestFirst,
}

/// Which entries are told as they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsAsk {
    /// Those after this one; where nobody says, those that come from now on.
    pub after: Option<u64>,
    /// The beginning of a kind, in whole words.
    pub kind: Option<String>,
}

/// A call as a client would send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub content_type: Option<&'static str>,
    pub body: Vec<u8>,
}

impl Call {
    /// Whether this call takes a passkey that was used for it.
    pub fn takes_passkey(&self) -> bool {
        match self.route.passkey {
            Passkey::Never => false,
            Passkey::Always => true,
            Passkey::Unless { field, is } => self.given.maybe_text(field).as_deref() != Some(is),
        }
    }

    /// Reads a whole call. A server that judges rights in between uses [`find`].
    pub fn parse(
        method: &Method,
        path: &str,
        query: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Call, ApiError> {
        find(method, path)?.call(query, content_type, body)
    }

    /// What is asked for. Who asks is said here and nowhere else: a body has no word for it.
    pub fn ask(&self, actor: &Actor) -> Result<Ask, ApiError> {
        (self.route.build)(&self.given, actor)
    }

    /// The answer as JSON, in the form the document promises.
    pub fn shown(&self, answer: Answer) -> Result<Value, ApiError> {
        (self.route.show)(&self.given, answer)
    }

    /// The same call as it would be sent.
    pub fn parts(&self) -> Parts {
        let Call { route, given } = self;
        let values = &given.values;
        let text = |name: &str| values.get(name).map(in_a_url).unwrap_or_default();
        let mut within = route.within.iter();
        let piece = |piece: &str| match is_parameter(piece) {
            true => within.next().map(|field| text(field.name)).unwrap_or_default(),
            false => piece.to_owned(),
        };
        let mut target = route.path.split('/').map(piece).collect::<Vec<_>>().join("/");
        let asked = route.query.iter().filter(|field| values.contains_key(field.name));
        for (n, field) in asked.enumerate() {
            let sign = if n == 0 { '?' } else { '&' };
            target.push_str(&format!("{sign}{}={}", field.name, text(field.name)));
        }
        let body = match route.body {
            Body::Nothing => Vec::new(),
            Body::Raw { .. } => given.raw.clone(),
            Body::Fields { fields, .. } | Body::Signed { fields, .. } => {
                let known = |name: &String| fields.iter().any(|field| field.name == name);
                let parts: Map<String, Value> = values
                    .iter()
                    .filter(|(name, _)| known(name))
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect();
                given.document.clone().unwrap_or_else(|| Value::Object(parts).to_string()).into_bytes()
            }
        };
        let method = match route.verb {
            crate::route::Verb::Get => Method::GET,
            crate::route::Verb::Post => Method::POST,
            crate::route::Verb::Delete => Method::DELETE,
        };
        Parts { method, target, content_type: route.body.media_type(), body }
    }
}

fn in_a_url(value: &Value) -> String {
    match value {
        Value::String(text) => encoded(text),
        other => encoded(&other.to_string()),
    }
}

/// One answer for all the pieces of an import.
pub fn imported(answers: Vec<Answer>, mut wrong: Vec<MemoryWrong>) -> Result<Answer, ApiError> {
    let mut sum = MemoryImported::default();
    for answer in answers {
        let Answer::Memory(answer) = answer else { return Err(ApiError::Unexpected) };
        let MemoryAnswer::Imported(one) = *answer else { return Err(ApiError::Unexpected) };
        sum.captured += one.captured;
        sum.repeated += one.repeated;
        sum.blocked += one.blocked;
        sum.too_long += one.too_long;
        for (into, from) in [(&mut sum.refused, one.refused), (&mut sum.doubted, one.doubted)] {
            from.into_iter().for_each(|(gate, count)| *into.entry(gate).or_default() += count);
        }
        wrong.extend(one.wrong);
    }
    wrong.sort_by_key(|wrong| wrong.line);
    wrong.truncate(WRONG_TOLD_MAX);
    sum.wrong = wrong;
    Ok(Answer::Memory(Box::new(MemoryAnswer::Imported(sum))))
}
