//! The table held against itself, and rules against their schemas.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::call::{Ask, Call, Parts};
use crate::openapi::statuses;
use crate::rights::{Passkey, Role, Scope};
use crate::route::{Body, Route, Verb, is_parameter};
use crate::rule::{Field, Need, Rule};
use crate::shape;
use crate::table::routes;

/// JSON of every form, small.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,8}", inner, 0..4).prop_map(|parts| json!(parts)),
        ]
    })
}

fn parse(parts: &Parts) -> Result<Call, crate::ApiError> {
    let (path, query) = parts.target.split_once('?').unwrap_or((&parts.target, ""));
    Call::parse(&parts.method, path, query, parts.content_type, &parts.body)
}

fn fields_of(route: &Route) -> impl Iterator<Item = &'static Field> {
    route.within.iter().chain(route.query).chain(route.body.known())
}

/// A field, and all that is inside it.
fn with_parts(field: &'static Field) -> Vec<&'static Field> {
    let inside = match field.rule {
        Rule::Parts(fields) => fields,
        Rule::Each { of: Rule::Parts(fields), .. } => fields,
        _ => &[],
    };
    [field].into_iter().chain(inside.iter().flat_map(with_parts)).collect()
}

#[test]
fn every_row_is_whole() {
    let (mut ids, mut places) = (BTreeSet::new(), BTreeSet::new());
    for route in routes() {
        assert!(ids.insert(route.id), "{} is there twice", route.id);
        assert!(places.insert((route.verb, route.path)), "{} is there twice", route.path);
        assert!(route.path.starts_with("/api/v1/") && !route.path.ends_with('/'), "{}", route.path);
        let named: Vec<&str> = route.path.split('/').filter(|piece| is_parameter(piece)).collect();
        let within: Vec<String> = route.within.iter().map(|field| format!("{{{}}}", field.name)).collect();
        assert_eq!(named, within, "{}", route.id);
        assert!(route.within.iter().all(Field::is_required), "{}", route.id);
        let mut names = BTreeSet::new();
        for field in fields_of(route) {
            assert!(names.insert(field.name), "{}: {} is there twice", route.id, field.name);
        }
        assert!(
            route.within.is_empty() || route.errors.contains(&404),
            "{}: a name that nothing has",
            route.id
        );
        if let Body::Fields { one_of, fields, .. } = route.body {
            assert!(one_of.iter().all(|name| fields.iter().any(|field| field.name == *name)), "{}", route.id);
        }
    }
}

#[test]
fn every_example_and_every_default_keeps_its_own_rule() {
    for route in routes() {
        for field in fields_of(route).flat_map(with_parts) {
            let place = format!("{} {}", route.id, field.name);
            let literals = match field.need {
                Need::Otherwise(default) => vec![field.example, default],
                _ => vec![field.example],
            };
            for text in literals {
                let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{place}: {e}"));
                field.rule.check(field.name, &value).unwrap_or_else(|e| panic!("{place}: {e}"));
                let judge = jsonschema::validator_for(&field.schema()).unwrap();
                assert!(judge.is_valid(&value), "{place}: the schema says otherwise");
            }
        }
    }
}

#[test]
fn the_sample_of_every_route_is_understood_and_asks_for_something() {
    let actor = "ana".parse().unwrap();
    for route in routes() {
        let sample = route.sample();
        let call = parse(&sample).unwrap_or_else(|e| panic!("{}: {e}", route.id));
        assert_eq!((call.route.id, call.parts()), (route.id, sample), "it is sent as it was read");
        let ask = call.ask(&actor).unwrap_or_else(|e| panic!("{}: {e}", route.id));
        // Whoever asks is in all that names somebody.
        let named = matches!(ask, Ask::Pause { .. }) || format!("{ask:?}").contains("actor: \"ana\"");
        let about = matches!(route.id, "audit.list") || format!("{ask:?}").contains("who: \"ana\"");
        assert!(!format!("{ask:?}").contains("actor:") || named || about, "{ask:?}");
    }
}

#[test]
fn what_changes_something_takes_an_operator_and_more_than_a_reading_token() {
    for route in routes() {
        let place = route.id;
        assert!(!route.changes || route.least >= Role::Operator, "{place}");
        assert!(!route.changes || route.scope > Scope::Read, "{place}");
        assert!(!route.changes || route.verb != Verb::Get, "{place}");
        assert!(route.changes || route.verb != Verb::Delete, "{place}");
    }
}

#[test]
fn nothing_in_a_body_says_who_asks() {
    for route in routes() {
        for field in route.body.known() {
            assert!(!["actor", "who", "user", "by", "peer"].contains(&field.name), "{}", route.id);
        }
    }
}

#[test]
fn from_afar_nobody_stops_the_daemon_makes_a_way_in_or_names_a_folder_of_the_machine() {
    let actor = "ana".parse().unwrap();
    for route in routes() {
        let ask = format!("{:?}", parse(&route.sample()).unwrap().ask(&actor).unwrap());
        for word in ["Stop {", "Link {", "repository:", "folder:", "path:"] {
            assert!(!ask.contains(word), "{}: {ask}", route.id);
        }
    }
}

/// Who may ask what, as a table: a change of rights is seen in review.
#[test]
fn rights_are_as_they_were() {
    let mut table = String::new();
    for route in routes() {
        let changes = if route.changes { "changes" } else { "looks" };
        let refusals: Vec<String> = statuses(route).iter().map(u16::to_string).collect();
        table.push_str(&format!(
            "{:<24} {:<8} {:<6} {:<7} {:<7} {:<6} {:<42} {}\n",
            route.id,
            route.least,
            route.scope,
            if route.passkey == Passkey::Never { "" } else { "passkey" },
            changes,
            route.verb.as_str(),
            route.path,
            refusals.join(" "),
        ));
    }
    insta::assert_snapshot!(table);
}

/// What widens what machines do by themselves, says what a person has seen, or destroys.
#[test]
fn what_widens_or_destroys_takes_a_passkey_and_no_scope_is_enough() {
    for route in routes() {
        let destroys = route.verb == Verb::Delete;
        let widens = route.tag() == "hosts" && route.changes && route.scope == Scope::Manage
            || route.id == "autonomy.resume";
        assert_eq!(route.passkey != Passkey::Never, destroys || widens, "{}", route.id);
        let call = parse(&route.sample()).unwrap();
        assert_eq!(
            call.takes_passkey(),
            route.passkey != Passkey::Never,
            "{}: its sample shows it",
            route.id
        );
        // What is bound is the fields, so there have to be fields.
        assert!(route.passkey == Passkey::Never || !matches!(route.body, Body::Raw { .. }), "{}", route.id);
    }
}

#[test]
fn a_role_or_scope_that_is_enough_stays_enough_when_it_grows() {
    for route in routes() {
        for role in Role::ALL {
            for scope in [None].into_iter().chain(Scope::ALL.map(Some)) {
                let enough = role >= route.least && scope.is_none_or(|scope| scope >= route.scope);
                assert_eq!(route.allows(role, scope), enough, "{} {role} {scope:?}", route.id);
            }
        }
        assert!(route.allows(Role::Owner, Some(Scope::Manage)) && route.allows(Role::Owner, None));
        // A token that only reads counts for no more than a viewer, whoever made it.
        assert!(route.scope > Scope::Read || route.least == Role::Viewer, "{}", route.id);
        let destroys = route.verb == Verb::Delete;
        assert!(!destroys || !route.allows(Role::Operator, None), "{}", route.id);
        assert!(!destroys || !route.allows(Role::Owner, Some(Scope::Act)), "{}", route.id);
    }
}

static SHAPE_JUDGES: LazyLock<Vec<jsonschema::Validator>> = LazyLock::new(|| {
    let judge = |(_, shape): &(&str, shape::Shape)| jsonschema::validator_for(&text_schema(shape)).unwrap();
    shape::ALL.iter().map(judge).collect()
});

fn text_schema(shape: &shape::Shape) -> Value {
    // The rule wants a form that lives as long as the table.
    Rule::Text(Box::leak(Box::new(*shape))).schema()
}

/// Texts of the kinds that go wrong: each alphabet is one that a form confuses with its own.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9._:@/ -]{0,20}",
        "[ -~]{0,70}",
        "\\PC{0,24}",
        "[\u{0}-\u{20}\u{7f}-\u{a0}\u{ad}\u{200b}\u{2028}\u{202e}\u{3000}\u{feff}a]{0,5}",
        "[a-z]{1,4}(\\.[a-z_0-9]{1,4}){0,4}",
        "[A-Za-z0-9+/]{0,9}[AQgwEIM=]{0,3}",
        "mem-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{1,11}",
        "(agt|tgt|run|apr)_[0-9a-z]{25,27}",
        "[0-3][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{6}Z",
        "(sha256|blake3|md5):[0-9a-f]{64}",
        "ed25519:[0-9a-g]{16}",
        "holdfast/[a-z0-9.-]{0,64}",
        "[A-Za-z0-9+/]{84,86}[AQgwB]==",
        "a{60,66}|ä{14,18}|ä{30,34}|[aä\u{a0} ]{14,34}|木{14,18}|[a木ä]{14,18}",
        "a{508,514}|ä{125,130}|ä{254,258}|木{125,130}|a{117,130}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn a_form_takes_what_its_pattern_takes_and_nothing_else(text in any_text()) {
        for ((name, shape), judge) in shape::ALL.iter().zip(SHAPE_JUDGES.iter()) {
            // What is bounded in bytes may be too long although its schema holds.
            let promised = judge.is_valid(&json!(text)) && text.len() <= shape.bytes_max;
            prop_assert_eq!(shape.takes(&text), promised, "{}: {:?}", name, text);
        }
    }
}

/// Calls that nearly fit: the sample of a route with something put in, left out or put in its place.
fn bent() -> impl Strategy<Value = (&'static Route, Value)> {
    let with_fields: Vec<&'static Route> =
        routes().iter().filter(|route| matches!(route.body, Body::Fields { .. })).collect();
    let odd = prop_oneof![
        any_json(),
        any_text().prop_map(Value::from),
        select(vec![
            json!(0),
            json!(1),
            json!(1.0),
            json!(0.5),
            json!(-1),
            json!(200),
            json!(201),
            json!(1e300)
        ]),
        select(vec![json!([]), json!({}), json!(["fact"]), json!(["fact", 7]), json!({"tags": ["a", " b"]})]),
        select(vec![json!("trusted"), json!("admin"), json!("main"), json!(true), json!([{"query": "a"}])]),
    ];
    (select(with_fields), any::<prop::sample::Index>(), 0..4u8, odd, "[a-z_]{1,8}").prop_map(
        |(route, which, how, value, name)| {
            let Body::Fields { fields, one_of, .. } = route.body else { unreachable!() };
            let mut body = crate::rule::example_parts(fields);
            let others = one_of.get(1..).unwrap_or_default();
            body.retain(|name, _| !others.contains(&name.as_str()));
            let field = fields[which.index(fields.len())].name;
            match how {
                0 => drop(body.remove(field)),
                1 => drop(body.insert(name, value)),
                _ => drop(body.insert(field.to_owned(), value)),
            }
            (route, Value::Object(body))
        },
    )
}

/// The judge of a route's body, by the document.
fn judge_of(route: &Route) -> jsonschema::Validator {
    let document = crate::openapi("/", "0");
    let verb = route.verb.as_str().to_ascii_lowercase();
    let body = &document["paths"][route.path][verb]["requestBody"]["content"]["application/json"];
    jsonschema::validator_for(&body["schema"]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_body_is_taken_if_and_only_if_the_document_says_so((route, body) in bent()) {
        use std::cell::RefCell;
        use std::collections::BTreeMap;
        thread_local!(static JUDGES: RefCell<BTreeMap<&'static str, jsonschema::Validator>> = const { RefCell::new(BTreeMap::new()) });
        let by_document = JUDGES.with_borrow_mut(|judges| {
            judges.entry(route.id).or_insert_with(|| judge_of(route)).is_valid(&body)
        });
        let sent = Parts { body: body.to_string().into_bytes(), ..route.sample() };
        let taken = parse(&sent);
        prop_assert_eq!(taken.is_ok(), by_document, "{} {}: {:?}", route.id, body, taken.err());
        if let Ok(call) = taken {
            let ask = call.ask(&"ana".parse().unwrap());
            let reserved = matches!(ask, Err(crate::ApiError::Reserved { .. }));
            prop_assert!(ask.is_ok() || reserved, "{}: {:?}", route.id, ask);
        }
    }

    #[test]
    fn what_is_read_is_sent_again_as_the_same_call((route, body) in bent()) {
        let sent = Parts { body: body.to_string().into_bytes(), ..route.sample() };
        if let Ok(call) = parse(&sent) {
            let again = parse(&call.parts()).unwrap();
            prop_assert_eq!((again.route.id, again.given), (call.route.id, call.given));
        }
    }
}
