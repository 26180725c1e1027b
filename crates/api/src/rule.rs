//! What a value has to be: one rule that refuses, and that the document shows. There is no second one that could say otherwise.

use serde_json::{Map, Number, Value, json};

use crate::error::ApiError;
use crate::shape::Shape;

/// The largest number that every reader of JSON holds exactly.
pub(crate) const SAFE_MAX: u64 = (1 << 53) - 1;

/// A parameter, or a field of a body.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub rule: Rule,
    pub need: Need,
    /// What it is, in a sentence.
    pub says: &'static str,
    /// A value that fits, as JSON; where possible one that is there on a new home.
    pub example: &'static str,
}

/// Whether it has to be there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    Required,
    Optional,
    /// What it is where nobody says, as JSON.
    Otherwise(&'static str),
}

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Flag,
    Whole {
        least: u64,
        most: u64,
    },
    Number {
        least: f64,
        most: f64,
    },
    Word(&'static [&'static str]),
    Text(&'static Shape),
    Each {
        of: &'static Rule,
        least: usize,
        most: usize,
    },
    /// An object with these fields and no others.
    Parts(&'static [Field]),
    /// An object with any fields.
    Anything,
}

/// A place in the log.
pub(crate) const SEQ: Rule = Rule::Whole { least: 0, most: SAFE_MAX };

impl Field {
    pub(crate) const fn required(
        name: &'static str,
        rule: Rule,
        says: &'static str,
        example: &'static str,
    ) -> Field {
        Field { name, rule, need: Need::Required, says, example }
    }

    pub(crate) const fn optional(
        name: &'static str,
        rule: Rule,
        says: &'static str,
        example: &'static str,
    ) -> Field {
        Field { name, rule, need: Need::Optional, says, example }
    }

    /// The example is what it is where nobody says.
    pub(crate) const fn otherwise(
        name: &'static str,
        rule: Rule,
        says: &'static str,
        default: &'static str,
    ) -> Field {
        Field { name, rule, need: Need::Otherwise(default), says, example: default }
    }

    pub(crate) fn is_required(&self) -> bool {
        self.need == Need::Required
    }

    pub(crate) fn example(&self) -> Value {
        literal(self.example)
    }

    pub(crate) fn schema(&self) -> Value {
        let mut schema = self.rule.schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), json!(self.says));
            if let Need::Otherwise(default) = self.need {
                schema.insert("default".to_owned(), literal(default));
            }
        }
        schema
    }
}

/// A literal of the table. That each is JSON is tested.
fn literal(text: &'static str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl Rule {
    /// Reads what stands in a path or a query.
    pub(crate) fn read(&self, name: &str, text: &str) -> Result<Value, ApiError> {
        let value = match self {
            Rule::Flag => match text {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            // One spelling: neither signs nor zeros in front.
            Rule::Whole { .. } => text.parse::<u64>().ok().filter(|n| n.to_string() == text).map(Value::from),
            Rule::Number { .. } => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number),
            Rule::Word(_) | Rule::Text(_) => Some(Value::String(text.to_owned())),
            Rule::Each { .. } | Rule::Parts(_) | Rule::Anything => None,
        };
        let value = value.ok_or_else(|| self.broken(name))?;
        self.check(name, &value).map(|()| value)
    }

    /// Whether the value is what it has to be; the error names the place.
    pub(crate) fn check(&self, name: &str, value: &Value) -> Result<(), ApiError> {
        let fits = match (self, value) {
            (Rule::Flag, Value::Bool(_)) => true,
            (Rule::Whole { least, most }, value) => {
                whole(value).is_some_and(|n| (*least..=*most).contains(&n))
            }
            (Rule::Number { least, most }, Value::Number(n)) => {
                n.as_f64().is_some_and(|n| (*least..=*most).contains(&n))
            }
            (Rule::Word(words), Value::String(text)) => words.contains(&text.as_str()),
            (Rule::Text(shape), Value::String(text)) => shape.takes(text),
            (Rule::Each { of, least, most }, Value::Array(items))
                if (*least..=*most).contains(&items.len()) =>
            {
                let check = |(n, item): (usize, &Value)| of.check(&format!("{name}[{n}]"), item);
                return items.iter().enumerate().try_for_each(check);
            }
            (Rule::Parts(fields), Value::Object(parts)) => return check_parts(Some(name), fields, parts),
            (Rule::Anything, Value::Object(_)) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err(self.broken(name)) }
    }

    fn broken(&self, name: &str) -> ApiError {
        ApiError::Wrong { field: name.to_owned(), why: self.said() }
    }

    /// In words, after "it is".
    pub(crate) fn said(&self) -> String {
        match self {
            Rule::Flag => "true or false".to_owned(),
            Rule::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Rule::Number { least, most } => format!("a number from {least} to {most}"),
            Rule::Word(words) => format!("one of {}", words.join(", ")),
            Rule::Text(shape) => shape.said.to_owned(),
            Rule::Each { least, most, .. } => format!("a list of {least} to {most}"),
            Rule::Parts(_) | Rule::Anything => "an object".to_owned(),
        }
    }

    pub(crate) fn schema(&self) -> Value {
        match self {
            Rule::Flag => json!({"type": "boolean"}),
            Rule::Whole { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
            Rule::Number { least, most } => json!({"type": "number", "minimum": least, "maximum": most}),
            Rule::Word(words) => json!({"type": "string", "enum": words}),
            Rule::Text(shape) => {
                let mut schema =
                    json!({"type": "string", "minLength": shape.shortest, "maxLength": shape.longest});
                if let (Some(pattern), Some(schema)) = (shape.pattern, schema.as_object_mut()) {
                    schema.insert("pattern".to_owned(), json!(pattern));
                }
                schema
            }
            Rule::Each { of, least, most } => {
                json!({"type": "array", "items": of.schema(), "minItems": least, "maxItems": most})
            }
            Rule::Parts(fields) => parts_schema(fields),
            Rule::Anything => json!({"type": "object"}),
        }
    }
}

/// JSON knows one kind of number: 7.0 is as whole as 7.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=SAFE_MAX as f64).contains(n));
    value.as_u64().or_else(|| float().map(|n| n as u64))
}

/// Checks an object: everything it has to have is there, and nothing else.
pub(crate) fn check_parts(
    within: Option<&str>,
    fields: &[Field],
    parts: &Map<String, Value>,
) -> Result<(), ApiError> {
    let path = |name: &str| within.map_or_else(|| name.to_owned(), |within| format!("{within}.{name}"));
    for (name, value) in parts {
        let field = fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| ApiError::unknown(&path(name)))?;
        field.rule.check(&path(name), value)?;
    }
    match fields.iter().find(|field| field.is_required() && !parts.contains_key(field.name)) {
        Some(missing) => Err(ApiError::Missing { field: path(missing.name) }),
        None => Ok(()),
    }
}

pub(crate) fn parts_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> =
        fields.iter().filter(|field| field.is_required()).map(|field| field.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// What is not said is what it is otherwise.
pub(crate) fn with_defaults(fields: &[Field], parts: &mut Map<String, Value>) {
    for field in fields {
        if let (Need::Otherwise(default), false) = (field.need, parts.contains_key(field.name)) {
            parts.insert(field.name.to_owned(), literal(default));
        }
    }
}

/// One that has every field, by its example.
pub(crate) fn example_parts(fields: &[Field]) -> Map<String, Value> {
    fields.iter().map(|field| (field.name.to_owned(), field.example())).collect()
}
