//! The document of this interface, made from the table: OpenAPI 3.1, with the schemas of everything that goes in and comes out.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, EVENT_STREAM, JSON, ReplyForm, Route};
use crate::rule::{Field, parts_schema};
use crate::table::routes;
use crate::told::Refusal;

/// Where the schemas stand.
const SCHEMAS: &str = "/components/schemas";

/// What any call may be answered with: it is not as it has to be, nobody is signed in, they may not, they ask too often, or the machine cannot.
const ALWAYS: &[u16] = &[400, 401, 403, 429, 500, 503];

const DESCRIPTION: &str = "What Holdfast can be asked over HTTP. Whoever asks is signed in by a session cookie or sends a token; what they may is \
    the role of the person and the scope of the token, and both stand with every call (`x-least-role`, `x-token-scope`). Who did something is \
    always whoever is signed in: no body has a field for it. Everything is strict: a parameter or field that is not known, is there twice or has \
    another form is refused by name. Calls that are no GET and come with a cookie carry the anti-forgery word of the session in the header X-Holdfast-Csrf; tokens need none.";

/// The document, for a server at this address and a program of this version.
pub fn openapi(server: &str, version: &str) -> Value {
    let mut schemas = SchemaGenerator::new(settings());
    let refusal = schemas.subschema_for::<Refusal>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let operation = operation(route, &mut schemas);
        let path = paths.entry(route.path.to_owned()).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.verb.as_str().to_ascii_lowercase(), operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version,
            "summary": "Keeps autonomous agents on machines you own.",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "tags": tags(),
        "security": [{"session": []}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "responses": responses(&refusal),
            "securitySchemes": {
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-holdfast",
                    "description": "Set by signing in with a passkey. Without TLS, on the machine itself, it has no __Host- before it.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made in the settings, with a scope of its own.",
                },
            },
        },
    })
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
    })
}

fn tags() -> Value {
    let says = |tag: &str| match tag {
        "status" => "How everything is.",
        "events" => "What happens, as it happens.",
        "autonomy" => "The one switch that halts everything that acts by itself.",
        "notices" => "Telling people.",
        "hosts" => "The hosts the steward looks after, and orders to it.",
        "episodes" => "What the steward planned and tried.",
        "targets" => "The hosts that were taken in.",
        "history" => "What was applied to them.",
        "series" => "What detectors make of a series.",
        "approvals" => "What waits for a person.",
        "memory" => "What agents remember.",
        "audit" => "The log, and proofs of it.",
        _ => "The house itself.",
    };
    let mut seen = BTreeSet::new();
    let new = routes().iter().map(Route::tag).filter(|tag| seen.insert(*tag));
    new.map(|tag| json!({"name": tag, "description": says(tag)})).collect()
}

fn operation(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "operationId": route.id.replace('.', "_"),
        "tags": [route.tag()],
        "summary": route.summary,
        "description": described(route),
        "x-least-role": route.least.as_str(),
        "x-token-scope": route.scope.as_str(),
        "x-passkey": passkey(route.passkey),
        "responses": outcomes(route, schemas),
    });
    let parameters: Vec<Value> = route
        .within
        .iter()
        .map(|field| parameter(field, "path"))
        .chain(route.query.iter().map(|field| parameter(field, "query")))
        .collect();
    if let Some(operation) = operation.as_object_mut() {
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), json!(parameters));
        }
        if let Some(body) = request_body(&route.body) {
            operation.insert("requestBody".to_owned(), body);
        }
    }
    operation
}

fn described(route: &Route) -> String {
    let who = match route.least {
        Role::Viewer => "Anybody who is signed in may",
        Role::Operator => "An operator or owner may",
        Role::Owner => "An owner may",
    };
    let token = match route.scope {
        Scope::Read => "any token",
        Scope::Act => "a token of the scope act or manage",
        Scope::Manage => "a token of the scope manage",
    };
    let by = match route.passkey {
        Passkey::Never => format!("with {token}"),
        Passkey::Always => "with a passkey used for this very call, and with no token".to_owned(),
        Passkey::Unless { field, is } => {
            format!("with {token} where `{field}` is `{is}`, else with a passkey used for this very call")
        }
    };
    format!("{} {who}, {by}.", route.description).trim_start().to_owned()
}

/// When a passkey has to be used for the call.
fn passkey(needed: Passkey) -> Value {
    match needed {
        Passkey::Never => json!("never"),
        Passkey::Always => json!("always"),
        Passkey::Unless { field, is } => json!(format!("unless {field} is {is}")),
    }
}

fn parameter(field: &Field, place: &str) -> Value {
    let mut parameter = json!({
        "name": field.name,
        "in": place,
        "required": field.is_required(),
        "description": field.says,
        "schema": field.rule.schema(),
        "example": field.example(),
    });
    if let crate::rule::Need::Otherwise(_) = field.need {
        parameter["schema"]["default"] = field.example();
    }
    parameter
}

fn request_body(body: &Body) -> Option<Value> {
    let content = match body {
        Body::Nothing => return None,
        // Bytes have no schema; what they are stands in the description of the route.
        Body::Raw { media_type, example, .. } => json!({*media_type: {"example": example}}),
        Body::Fields { fields, one_of, .. } => {
            let mut schema = parts_schema(fields);
            if !one_of.is_empty() {
                schema["oneOf"] = one_of.iter().map(|name| json!({"required": [name]})).collect();
            }
            json!({JSON: {"schema": schema, "example": example(fields, one_of)}})
        }
        Body::Signed { fields, .. } => {
            json!({JSON: {"schema": parts_schema(fields), "example": example(fields, &[])}})
        }
    };
    let says = format!("At most {} bytes.", body.most());
    Some(json!({"description": says, "required": !body.may_be_left_out(), "content": content}))
}

fn example(fields: &[Field], one_of: &[&str]) -> Value {
    let others = one_of.get(1..).unwrap_or_default();
    let shown = fields.iter().filter(|field| !others.contains(&field.name));
    shown.map(|field| (field.name.to_owned(), field.example())).collect::<Map<_, _>>().into()
}

/// Every status it may be answered with.
fn outcomes(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    let schema = match route.reply {
        ReplyForm::Json(schema) => schema(schemas).to_value(),
        ReplyForm::AnyJson => json!({"type": "object"}),
        ReplyForm::Events => json!({"type": "string"}),
    };
    let media_type = route.reply.media_type();
    let says = if media_type == EVENT_STREAM {
        "The events, until somebody leaves."
    } else {
        "Done, or the answer."
    };
    let mut outcomes = Map::new();
    outcomes
        .insert("200".to_owned(), json!({"description": says, "content": {media_type: {"schema": schema}}}));
    for status in statuses(route) {
        outcomes
            .insert(status.to_string(), json!({"$ref": format!("#/components/responses/{}", name(status))}));
    }
    Value::Object(outcomes)
}

/// The statuses of refusals, in order.
pub(crate) fn statuses(route: &Route) -> BTreeSet<u16> {
    let with_body: &[u16] = match route.body {
        Body::Nothing => &[],
        _ => &[413, 415],
    };
    ALWAYS.iter().chain(with_body).chain(route.errors).copied().collect()
}

/// Every status that is used, as it is called and what it means.
const REFUSALS: &[(u16, &str, &str)] = &[
    (400, "Wrong", "The call is not as it has to be; the field is named."),
    (401, "NotSignedIn", "Nobody is signed in, or the token is not known."),
    (
        403,
        "NotAllowed",
        "Whoever is signed in may not, the token's scope is not enough, or a rule forbids it.",
    ),
    (404, "NotThere", "There is no such thing."),
    (409, "NotNow", "How it stands does not allow it."),
    (410, "Gone", "It was there, and is not any more."),
    (413, "TooLong", "The body is too long."),
    (415, "WrongMediaType", "The body is of another type."),
    (
        422,
        "NotTaken",
        "What was sent cannot be taken: it holds a secret that cannot be taken out, or is not what it has to be.",
    ),
    (429, "TooOften", "Asked too often; Retry-After says when to come back."),
    (500, "Broken", "Something is wrong here."),
    (503, "NotAtTheMoment", "It cannot be done at the moment; Retry-After says when to come back."),
];

fn name(status: u16) -> &'static str {
    REFUSALS.iter().find(|(found, ..)| *found == status).map_or("Broken", |(_, name, _)| name)
}

fn responses(refusal: &Value) -> Value {
    let response = |(status, name, says): &(u16, &str, &str)| {
        let mut response = json!({"description": says, "content": {JSON: {"schema": refusal}}});
        if matches!(status, 429 | 503) {
            response["headers"] = json!({"Retry-After": {"description": "In seconds.", "schema": {"type": "integer", "minimum": 0}}});
        }
        ((*name).to_owned(), response)
    };
    REFUSALS.iter().map(response).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_every_route_has_words() {
        for route in routes() {
            for status in statuses(route) {
                assert!(REFUSALS.iter().any(|(known, ..)| *known == status), "{}: {status}", route.id);
            }
        }
    }
}
