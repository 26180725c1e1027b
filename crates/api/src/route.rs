//! A row of the table: where, who, what goes in, what comes out; and how the row of a call is found.

use holdfast_control::Answer;
use holdfast_types::Actor;
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::call::{Ask, Call, Parts};
use crate::error::ApiError;
use crate::given::Given;
use crate::read;
use crate::rights::{Passkey, Role, Scope};
use crate::rule::{Field, check_parts, example_parts, with_defaults};
use crate::table;

/// Bytes of a body where a row says nothing else.
pub(crate) const BODY_MAX: usize = 64 * 1024;

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const CSV: &str = "text/csv";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const BYTES: &str = "application/octet-stream";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Something that can be asked.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// `hosts.metrics`: what metrics, logs and rights call it.
    pub id: &'static str,
    pub verb: Verb,
    /// With its parameters in braces.
    pub path: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    /// The least role that may.
    pub least: Role,
    /// The least scope a token needs.
    pub scope: Scope,
    /// What it takes besides.
    pub passkey: Passkey,
    /// The parameters of the path, in their order.
    pub within: &'static [Field],
    /// The parameters of the query.
    pub query: &'static [Field],
    pub body: Body,
    pub reply: ReplyForm,
    /// The statuses it may have besides those that every call may have.
    pub errors: &'static [u16],
    /// Something is other afterwards than it was before.
    pub changes: bool,
    pub(crate) build: fn(&Given, &Actor) -> Result<Ask, ApiError>,
    pub(crate) show: fn(&Given, Answer) -> Result<Value, ApiError>,
}

/// What is done at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    Get,
    Post,
    Delete,
}

/// What a call brings besides its path.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    Nothing,
    /// A JSON object.
    Fields {
        fields: &'static [Field],
        one_of: &'static [&'static str],
        most: usize,
    },
    /// A JSON object that is handed on as it was sent: signatures are over its bytes.
    Signed {
        fields: &'static [Field],
        most: usize,
    },
    /// Bytes of another type than JSON, read by whoever carries the call out.
    Raw {
        media_type: &'static str,
        most: usize,
        /// The beginning of one, as text.
        example: &'static str,
    },
}

/// What comes back when it went well.
#[derive(Clone, Copy)]
pub enum ReplyForm {
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// A JSON object of any form.
    AnyJson,
    /// A stream of events that does not end.
    Events,
}

impl std::fmt::Debug for ReplyForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.media_type())
    }
}

impl ReplyForm {
    pub(crate) const fn of<T: JsonSchema>() -> ReplyForm {
        ReplyForm::Json(|generator| generator.subschema_for::<T>())
    }

    pub const fn media_type(&self) -> &'static str {
        match self {
            ReplyForm::Json(_) | ReplyForm::AnyJson => JSON,
            ReplyForm::Events => EVENT_STREAM,
        }
    }
}

impl Verb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        }
    }

    /// Who asks for the head alone asks for what it would be the head of.
    fn is(self, method: &Method) -> bool {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        method.as_str() == self.as_str()
    }
}

impl Body {
    pub(crate) const fn fields(fields: &'static [Field]) -> Body {
        Body::Fields { fields, one_of: &[], most: BODY_MAX }
    }

    /// The most bytes that are read.
    pub const fn most(&self) -> usize {
        match self {
            Body::Nothing => 0,
            Body::Fields { most, .. } | Body::Signed { most, .. } | Body::Raw { most, .. } => *most,
        }
    }

    pub const fn media_type(&self) -> Option<&'static str> {
        match self {
            Body::Nothing => None,
            Body::Fields { .. } | Body::Signed { .. } => Some(JSON),
            Body::Raw { media_type, .. } => Some(media_type),
        }
    }

    /// Whether a call may come without one.
    pub(crate) fn may_be_left_out(&self) -> bool {
        match self {
            Body::Nothing => true,
            Body::Fields { fields, one_of, .. } => {
                one_of.is_empty() && !fields.iter().any(Field::is_required)
            }
            Body::Signed { .. } | Body::Raw { .. } => false,
        }
    }

    pub(crate) const fn known(&self) -> &'static [Field] {
        match self {
            Body::Fields { fields, .. } | Body::Signed { fields, .. } => fields,
            Body::Nothing | Body::Raw { .. } => &[],
        }
    }
}

impl Route {
    /// The first word of the id: what it is about.
    pub fn tag(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// Whether somebody of this role may, with a token of this scope or signed in without one.
    pub fn allows(&self, role: Role, scope: Option<Scope>) -> bool {
        role >= self.least && scope.is_none_or(|scope| scope >= self.scope)
    }

    /// Every field by its example, wherever it stands. Of those that exclude each other the first.
    fn example(&self) -> Given {
        let mut values = example_parts(self.within);
        values.extend(example_parts(self.query));
        values.extend(example_parts(self.body.known()));
        if let Body::Fields { one_of: [_, others @ ..], .. } = self.body {
            values.retain(|name, _| !others.contains(&name.as_str()));
        }
        let raw = match self.body {
            Body::Raw { example, .. } => example.as_bytes().to_vec(),
            _ => Vec::new(),
        };
        Given::new(values, None, raw)
    }

    /// A call that fits, for whoever tries every route.
    pub fn sample(&'static self) -> Parts {
        Call { route: self, given: self.example() }.parts()
    }
}

/// A row, and what the path said.
#[derive(Clone, Debug)]
pub struct Found {
    pub route: &'static Route,
    within: Map<String, Value>,
}

/// Finds the row of a call. Whether whoever asks may is judged next, and only then what they sent is read.
pub fn find(method: &Method, path: &str) -> Result<Found, ApiError> {
    if path.len() > read::TARGET_MAX {
        return Err(ApiError::NoSuchPath);
    }
    let here: Vec<&'static Route> = table::routes().iter().filter(|route| fits(route.path, path)).collect();
    let most_exact = here.iter().map(|route| route.within.len()).min().ok_or(ApiError::NoSuchPath)?;
    let here: Vec<&'static Route> =
        here.into_iter().filter(|route| route.within.len() == most_exact).collect();
    let Some(route) = here.iter().copied().find(|route| route.verb.is(method)) else {
        return Err(ApiError::WrongMethod { allowed: allowed(&here) });
    };
    let pieces = route.path.split('/').zip(path.split('/'));
    let named = pieces.filter(|(name, _)| is_parameter(name)).map(|(_, text)| text);
    let read = |(field, text): (&Field, &str)| {
        let value = field.rule.read(field.name, &read::segment(text)?).map_err(nothing_there)?;
        Ok((field.name.to_owned(), value))
    };
    let within = route.within.iter().zip(named).map(read).collect::<Result<_, _>>()?;
    Ok(Found { route, within })
}

/// A name that nothing can have is that of nothing: whoever guesses names learns no more from a wrong one than from a right one.
fn nothing_there(error: ApiError) -> ApiError {
    match error {
        ApiError::Wrong { field, why } => ApiError::NoSuchName { field, why },
        other => other,
    }
}

fn allowed(here: &[&'static Route]) -> Vec<&'static str> {
    let mut verbs: Vec<Verb> = here.iter().map(|route| route.verb).collect();
    verbs.sort_unstable();
    let head = verbs.contains(&Verb::Get).then_some("HEAD");
    verbs.into_iter().map(Verb::as_str).chain(head).collect()
}

/// Whether a path is one of a template: as many pieces, none of them empty, and the fixed ones the same.
fn fits(template: &str, path: &str) -> bool {
    let (mut fixed, mut pieces) = (template.split('/'), path.split('/'));
    loop {
        match (fixed.next(), pieces.next()) {
            (None, None) => return true,
            (Some(name), Some(piece)) if is_parameter(name) && !piece.is_empty() => {}
            (Some(name), Some(piece)) if name == piece => {}
            _ => return false,
        }
    }
}

pub(crate) fn is_parameter(piece: &str) -> bool {
    piece.starts_with('{')
}

impl Found {
    /// Reads the rest of the call: everything that has to be there is, nothing else is, and all of it is as it has to be.
    pub fn call(self, query: &str, content_type: Option<&str>, body: &[u8]) -> Result<Call, ApiError> {
        let Found { route, within: mut values } = self;
        values.extend(read_query(route.query, query)?);
        let mut given = Given::new(values, None, Vec::new());
        match route.body {
            Body::Nothing if body.is_empty() => {}
            Body::Nothing => return Err(ApiError::NoBodyTaken),
            taken if body.len() > taken.most() => return Err(ApiError::TooLong { most: taken.most() }),
            taken if body.is_empty() && taken.may_be_left_out() => {
                with_defaults(taken.known(), &mut given.values);
            }
            taken => read_body(taken, content_type, body, &mut given)?,
        }
        Ok(Call { route, given })
    }
}

fn read_query(fields: &[Field], text: &str) -> Result<Map<String, Value>, ApiError> {
    let mut values = Map::new();
    for (name, text) in read::query(text)? {
        let field = fields.iter().find(|field| field.name == name).ok_or_else(|| ApiError::unknown(&name))?;
        if values.insert(name.clone(), field.rule.read(&name, &text)?).is_some() {
            return Err(ApiError::twice(&name));
        }
    }
    if let Some(missing) = fields.iter().find(|field| field.is_required() && !values.contains_key(field.name))
    {
        return Err(ApiError::Missing { field: missing.name.to_owned() });
    }
    with_defaults(fields, &mut values);
    Ok(values)
}

fn read_body(
    taken: Body,
    content_type: Option<&str>,
    body: &[u8],
    given: &mut Given,
) -> Result<(), ApiError> {
    let wanted = taken.media_type().unwrap_or(JSON);
    if !content_type.is_some_and(|said| is_media_type(said, wanted)) {
        return Err(ApiError::MediaType { wanted });
    }
    match taken {
        Body::Nothing => {}
        Body::Raw { .. } => given.raw = body.to_vec(),
        Body::Fields { fields, one_of, .. } => {
            let (mut parts, _) = read::object(body)?;
            check_parts(None, fields, &parts)?;
            if !one_of.is_empty() && one_of.iter().filter(|name| parts.contains_key(**name)).count() != 1 {
                return Err(ApiError::OneOf { of: one_of });
            }
            with_defaults(fields, &mut parts);
            given.values.extend(parts);
        }
        Body::Signed { fields, .. } => {
            let (parts, text) = read::object(body)?;
            check_parts(None, fields, &parts)?;
            given.document = Some(text.to_owned());
            given.values.extend(parts);
        }
    }
    Ok(())
}

/// Whether a Content-Type names this type; of its parameters only a charset is known, and only UTF-8 of those.
fn is_media_type(said: &str, wanted: &str) -> bool {
    let mut parts = said.split(';').map(str::trim);
    let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
    named
        && parts.all(|part| {
            part.eq_ignore_ascii_case("charset=utf-8") || part.eq_ignore_ascii_case("charset=\"utf-8\"")
        })
}
