//! Calls as they come in: what is taken, and what is refused by name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_api::{
    ApiError, Ask, Body, Call, EntriesAsk, EventsAsk, Field, Need, OWN_ROOMS, Order, Parts, Reply, Route,
    Rule, find, routes,
};
use holdfast_control::{
    Append, Content, MemoryAsk, MemoryFilter, MemoryLine, MemoryPortion, Request, Severity, StewardOrder,
    Subject,
};
use holdfast_types::{Actor, Trust};
use http::Method;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn ana() -> Actor {
    "ana".parse().unwrap()
}

fn parse(parts: &Parts) -> Result<Call, ApiError> {
    let (path, query) = parts.target.split_once('?').unwrap_or((&parts.target, ""));
    Call::parse(&parts.method, path, query, parts.content_type, &parts.body)
}

fn asked(method: &str, target: &str, body: &str) -> Result<Ask, ApiError> {
    let content_type = (!body.is_empty()).then_some("application/json");
    let body = body.as_bytes().to_vec();
    let method = method.parse().unwrap();
    parse(&Parts { method, target: target.to_owned(), content_type, body })?.ask(&ana())
}

fn request(method: &str, target: &str, body: &str) -> Request {
    match asked(method, target, body) {
        Ok(Ask::Control(request)) => request,
        other => panic!("{method} {target}: {other:?}"),
    }
}

fn refused(method: &str, target: &str, body: &str) -> (u16, Option<String>) {
    let error =
        asked(method, target, body).map(|ask| panic!("{method} {target} {body}: {ask:?}")).unwrap_err();
    (error.status(), error.field().map(str::to_owned))
}

#[test]
fn looks_become_requests() {
    let check =
        |target: &str, expected: Request| assert_eq!(request("GET", target, ""), expected, "{target}");
    check("/api/v1/status", Request::Status {});
    check("/api/v1/health", Request::Status {});
    check("/api/v1/autonomy", Request::Status {});
    check("/api/v1/hosts", Request::Steward {});
    check("/api/v1/hosts/box-1", Request::Steward {});
    let metrics = |days| Request::StewardMetrics { target: Some("box-1".into()), days };
    check("/api/v1/hosts/box-1/metrics", metrics(7));
    check("/api/v1/hosts/box-1/metrics?days=400", metrics(400));
    check("/api/v1/approvals", Request::Approvals { all: false });
    check("/api/v1/approvals?all=true", Request::Approvals { all: true });
    let id = "apr_01arz3ndektsv4rrffq69g5fav";
    check(&format!("/api/v1/approvals/{id}"), Request::Approval { id: id.parse().unwrap() });
    check("/api/v1/notices", Request::Notices {});
    let memory = |ask| Request::Memory { ask };
    check("/api/v1/memory/stats", memory(MemoryAsk::Stats { agent: None }));
    check("/api/v1/memory/stats?agent=a+b%C3%A4", memory(MemoryAsk::Stats { agent: Some("a bä".into()) }));
    let (agent, id) = (|| "main".to_owned(), || "mem-2026-11-18-001".to_owned());
    check("/api/v1/memory/entries/mem-2026-11-18-001", memory(MemoryAsk::Show { agent: agent(), id: id() }));
    let forgotten = "/api/v1/memory/entries/mem-2026-11-18-001/forgotten?agent=main";
    check(forgotten, memory(MemoryAsk::ProveForgotten { agent: agent(), id: id() }));
    check("/api/v1/memory/export?from=7", memory(MemoryAsk::Export { agent: agent(), from: 7 }));
}

#[test]
fn what_the_control_plane_does_not_answer_is_asked_of_somebody_else() {
    let check =
        |target: &str, expected: Ask| assert_eq!(asked("GET", target, "").unwrap(), expected, "{target}");
    let page = |from, limit, order| EntriesAsk { from, limit, order, kind: None, actor: None };
    check("/api/v1/audit/entries", Ask::Entries(page(None, 50, Order::NewestFirst)));
    check(
        "/api/v1/audit/entries?from=9&limit=2&order=oldest",
        Ask::Entries(page(Some(9), 2, Order::OldestFirst)),
    );
    let filtered = EntriesAsk {
        kind: Some("steward.trial".into()),
        actor: Some("uid:0".parse().unwrap()),
        ..page(None, 50, Order::NewestFirst)
    };
    check("/api/v1/audit/entries?kind=steward.trial&actor=uid%3A0", Ask::Entries(filtered));
    check("/api/v1/audit/entries/0", Ask::Entry { seq: 0 });
    check("/api/v1/audit/entries/4/proof?size=9", Ask::Proof { seq: 4, size: Some(9) });
    check("/api/v1/audit/consistency?old=3", Ask::Consistency { old: 3 });
    check("/api/v1/audit/checkpoint", Ask::Checkpoint);
    check("/api/v1/episodes?target=box-1", Ask::Episodes { target: Some("box-1".into()), limit: 20 });
    check("/api/v1/episodes/0003", Ask::Episode { id: "0003".into() });
    check("/api/v1/openapi.json", Ask::OpenApi);
    check("/api/v1/events", Ask::Events(EventsAsk { after: None, kind: None }));
    let events = EventsAsk { after: Some(41), kind: Some("steward".into()) };
    check("/api/v1/events?after=41&kind=steward", Ask::Events(events));
}

#[test]
fn orders_name_whoever_is_signed_in() {
    let order =
        |order, dry_run| Request::StewardOrder { target: Some("box-1".into()), order, actor: ana(), dry_run };
    for (word, body, expected) in [
        ("trigger", "", order(StewardOrder::Trigger, false)),
        ("trigger", "{}", order(StewardOrder::Trigger, false)),
        ("trigger", r#"{"dry_run":true}"#, order(StewardOrder::Trigger, true)),
        ("rollback", "", order(StewardOrder::RollBack, false)),
        ("accept", "", order(StewardOrder::Accept, false)),
        ("reset", "", order(StewardOrder::Reset, false)),
        ("level", r#"{"to":"tier-one"}"#, order(StewardOrder::Level { to: "tier-one".into() }, false)),
        ("review", r#"{"episode":"ep_1"}"#, order(StewardOrder::Review { episode: "ep_1".into() }, false)),
        ("rehearsed", r#"{"way":"rollback"}"#, order(StewardOrder::Rehearsed { tripwire: false }, false)),
        ("rehearsed", r#"{"way":"tripwire"}"#, order(StewardOrder::Rehearsed { tripwire: true }, false)),
    ] {
        assert_eq!(request("POST", &format!("/api/v1/hosts/box-1/{word}"), body), expected, "{word}");
    }
    let reason = Some("looking into it".to_owned());
    let body = r#"{"reason":"looking into it"}"#;
    let pause = asked("POST", "/api/v1/autonomy/pause", body).unwrap();
    assert_eq!(pause, Ask::Pause { actor: ana(), reason: reason.clone() });
    assert_eq!(request("POST", "/api/v1/autonomy/resume", body), Request::Resume { actor: ana(), reason });
    let raise = Request::Raise { severity: Severity::Info, message: "m".into(), actor: ana() };
    assert_eq!(request("POST", "/api/v1/notices", r#"{"message":"m","severity":"info"}"#), raise);
    let test = asked("POST", "/api/v1/notices/test", r#"{"channel":"mail"}"#).unwrap();
    assert_eq!(test, Ask::TestNotices { channel: Some("mail".into()) });
    assert_eq!(
        request("DELETE", "/api/v1/audit/entries/4/text", ""),
        Request::Erase { seq: 4, actor: ana() }
    );
    let (agent, id) = ("main".to_owned(), "mem-2026-11-18-001".to_owned());
    let forget =
        Request::Memory { ask: MemoryAsk::Forget { agent: agent.clone(), id: id.clone(), actor: ana() } };
    assert_eq!(request("DELETE", "/api/v1/memory/entries/mem-2026-11-18-001", ""), forget);
    let cite = Request::Memory { ask: MemoryAsk::Cite { agent, id, who: ana() } };
    assert_eq!(request("POST", "/api/v1/memory/entries/mem-2026-11-18-001/cite", ""), cite);
    for (target, expected) in [
        ("/api/v1/house/rebuild", Request::Rebuild {}),
        ("/api/v1/house/backup", Request::Backup {}),
        ("/api/v1/house/reload", Request::Reload {}),
        ("/api/v1/audit/checkpoint", Request::Checkpoint {}),
    ] {
        assert_eq!(request("POST", target, ""), expected, "{target}");
    }
}

#[test]
fn nobody_can_name_somebody_else() {
    for route in routes().iter().filter(|route| route.changes && matches!(route.body, Body::Fields { .. })) {
        let mut sample = route.sample();
        let mut body: Map<String, Value> = serde_json::from_slice(&sample.body).unwrap();
        body.insert("actor".to_owned(), json!("root"));
        sample.body = Value::Object(body).to_string().into_bytes();
        let error = parse(&sample).unwrap_err();
        assert_eq!((error.status(), error.field()), (400, Some("actor")), "{}", route.id);
    }
}

#[test]
fn an_entry_is_written_in_a_room_of_ones_own() {
    let body = r#"{"kind":"captain.watch.started","about":"tgt_01arz3ndektsv4rrffq69g5fav","run":"run_01arz3ndektsv4rrffq69g5fav",
        "cause":4,"key":"k-1","trust":"trusted","body":{"generation":7,"deep":[{"x":null}]}}"#;
    let Request::Append(append) = request("POST", "/api/v1/audit/entries", body) else { panic!() };
    let expected = Append {
        kind: "captain.watch.started".parse().unwrap(),
        actor: ana(),
        subject: Some(Subject::Target("tgt_01arz3ndektsv4rrffq69g5fav".parse().unwrap())),
        run: Some("run_01arz3ndektsv4rrffq69g5fav".parse().unwrap()),
        cause: Some(4),
        key: Some("api:k-1".parse().unwrap()),
        trust: Trust::Trusted,
        content: Content::Body(serde_json::from_str(r#"{"generation":7,"deep":[{"x":null}]}"#).unwrap()),
    };
    assert_eq!(*append, expected);
    let sealed = r#"{"kind":"a.b.c","about":"agt_01arz3ndektsv4rrffq69g5fav","blob":"aGVsbG8="}"#;
    let Request::Append(append) = request("POST", "/api/v1/audit/entries", sealed) else { panic!() };
    assert_eq!((append.content, append.trust), (Content::Blob("aGVsbG8=".into()), Trust::SemiTrusted));
    assert!(matches!(append.subject, Some(Subject::Agent(_))) && append.key.is_none());
    for room in OWN_ROOMS {
        let forged = format!(r#"{{"kind":"{room}.autonomy.resumed","body":{{}}}}"#);
        assert_eq!(refused("POST", "/api/v1/audit/entries", &forged), (403, None), "{room}");
    }
    for body in [r#"{"kind":"a.b.c"}"#, r#"{"kind":"a.b.c","body":{},"blob":"aGVsbG8="}"#] {
        assert_eq!(refused("POST", "/api/v1/audit/entries", body), (400, None), "{body}");
    }
    for (body, field) in [
        (r#"{"kind":"a.b","body":{}}"#, "kind"),
        (r#"{"kind":"a.b.c","body":[]}"#, "body"),
        (r#"{"kind":"a.b.c","blob":"aGVsbG8"}"#, "blob"),
        (r#"{"kind":"a.b.c","blob":"aGVsbG9="}"#, "blob"),
        (r#"{"kind":"a.b.c","body":{},"trust":"admin"}"#, "trust"),
        (r#"{"kind":"a.b.c","body":{},"cause":-1}"#, "cause"),
        (r#"{"kind":"a.b.c","body":{},"cause":9007199254740992}"#, "cause"),
        (r#"{"kind":"a.b.c","body":{},"about":"run_01arz3ndektsv4rrffq69g5fav"}"#, "about"),
    ] {
        assert_eq!(refused("POST", "/api/v1/audit/entries", body), (400, Some(field.into())), "{body}");
    }
}

#[test]
fn a_search_takes_every_filter_and_says_which_is_wrong() {
    let body = r#"{"agent":"scout","query":"which port?","top":3,"only":{"kinds":["outcomes"],"types":["fact","error"],"scope":"global",
        "since":"2026-11-18T09:30:00.000000Z","until":"2026-11-19T09:30:00.000000Z","tags":["a","b"],"trust":"admin","fresh":true,"host":"box-1"}}"#;
    let Request::Memory { ask: MemoryAsk::Search(search) } = request("POST", "/api/v1/memory/search", body)
    else {
        panic!()
    };
    let only = MemoryFilter {
        kinds: vec!["outcomes".into()],
        types: vec!["fact".into(), "error".into()],
        scope: Some("global".into()),
        since: Some("2026-11-18T09:30:00.000000Z".parse().unwrap()),
        until: Some("2026-11-19T09:30:00.000000Z".parse().unwrap()),
        tags: vec!["a".into(), "b".into()],
        trust: Some(Trust::Admin),
        fresh: true,
        host: Some("box-1".into()),
    };
    assert_eq!((search.agent.as_str(), search.query.as_str(), search.top), ("scout", "which port?", 3));
    assert_eq!(search.only, only);
    let Request::Memory { ask: MemoryAsk::Search(short) } =
        request("POST", "/api/v1/memory/search", r#"{"query":"q"}"#)
    else {
        panic!()
    };
    assert_eq!((short.agent.as_str(), short.top, &short.only), ("main", 10, &MemoryFilter::default()));
    for (body, field) in [
        (r#"{}"#, "query"),
        (r#"{"query":" "}"#, "query"),
        (r#"{"query":"a\u0000b"}"#, "query"),
        (r#"{"query":7}"#, "query"),
        (r#"{"query":"q","top":0}"#, "top"),
        (r#"{"query":"q","top":201}"#, "top"),
        (r#"{"query":"q","top":"3"}"#, "top"),
        (r#"{"query":"q","top":null}"#, "top"),
        (r#"{"query":"q","agent":" scout"}"#, "agent"),
        (r#"{"query":"q","only":[]}"#, "only"),
        (r#"{"query":"q","only":{"kind":"outcomes"}}"#, "only.kind"),
        (r#"{"query":"q","only":{"kinds":["outcomes","truths"]}}"#, "only.kinds[1]"),
        (r#"{"query":"q","only":{"since":"2026-02-30T00:00:00.000000Z"}}"#, "only.since"),
        (r#"{"query":"q","only":{"since":"yesterday"}}"#, "only.since"),
        (r#"{"query":"q","only":{"tags":["a\u202eb"]}}"#, "only.tags[0]"),
    ] {
        assert_eq!(refused("POST", "/api/v1/memory/search", body), (400, Some(field.into())), "{body}");
    }
    assert!(
        asked(
            "POST",
            "/api/v1/memory/search",
            r#"{"query":"q","only":{"since":"2024-02-29T00:00:00.000000Z"}}"#
        )
        .is_ok()
    );
}

#[test]
fn memory_is_written_to_in_every_way_that_makes_sense_from_afar() {
    let memory = |target: &str, body: &str| match request("POST", &format!("/api/v1/memory/{target}"), body) {
        Request::Memory { ask } => ask,
        other => panic!("{other:?}"),
    };
    let MemoryAsk::Add(draft) = memory("entries", r#"{"text":"a fact","key":"n-7"}"#) else { panic!() };
    assert_eq!(
        (draft.agent.as_str(), draft.text.as_str(), draft.entry_type.as_str()),
        ("main", "a fact", "fact")
    );
    assert_eq!(
        (draft.source.as_str(), draft.scope.as_str(), draft.confidence),
        ("conversation", "project", 0.9)
    );
    assert_eq!((draft.actor, draft.trust), (ana(), Trust::SemiTrusted));
    assert_eq!(draft.key.unwrap().as_str(), "api:n-7");
    let share = |body: &str| match memory("share", body) {
        MemoryAsk::Share { what, with, take_back, actor, .. } => (what, with, take_back, actor),
        other => panic!("{other:?}"),
    };
    let pilot = || "pilot".to_owned();
    assert_eq!(
        share(r#"{"with":"pilot","tag":"ports"}"#),
        (MemoryPortion::Tagged("ports".into()), pilot(), false, ana())
    );
    assert_eq!(share(r#"{"with":"pilot","kind":"outcomes"}"#).0, MemoryPortion::OfKind("outcomes".into()));
    assert_eq!(
        share(r#"{"with":"pilot","id":"mem-2026-11-18-001"}"#).0,
        MemoryPortion::One("mem-2026-11-18-001".into())
    );
    assert!(matches!(
        memory("unshare", r#"{"with":"pilot","tag":"a"}"#),
        MemoryAsk::Share { take_back: true, .. }
    ));
    assert_eq!(refused("POST", "/api/v1/memory/share", r#"{"with":"pilot"}"#), (400, None));
    assert_eq!(
        refused("POST", "/api/v1/memory/share", r#"{"with":"pilot","tag":"a","kind":"outcomes"}"#),
        (400, None)
    );
    let MemoryAsk::Read(written) = memory("read", r#"{"name":"ops.md","text":"one\ntwo","at":40}"#) else {
        panic!()
    };
    assert_eq!((written.name.as_str(), written.text.as_str(), written.at), ("ops.md", "one\ntwo", 40));
    assert_eq!(memory("embed", ""), MemoryAsk::Embed { agent: None });
    assert_eq!(
        memory("consolidate", r#"{"agent":"a"}"#),
        MemoryAsk::Consolidate { agent: Some("a".into()), actor: ana() }
    );
    let many = r#"{"queries":[{"query":"a"},{"query":"b","agent":"scout"}],"top":5}"#;
    let MemoryAsk::SearchMany { queries, top, .. } = memory("search/batch", many) else { panic!() };
    let agents: Vec<_> = queries.iter().map(|query| (query.agent.as_str(), query.query.as_str())).collect();
    assert_eq!((agents, top), (vec![("main", "a"), ("scout", "b")], 5));
    let MemoryAsk::Pack { budget, objective, .. } = memory("pack", r#"{"objective":"move it"}"#) else {
        panic!()
    };
    assert_eq!((budget, objective.as_str()), (2_000, "move it"));
    assert!(matches!(memory("match", r#"{"situation":"s"}"#), MemoryAsk::Match { top: 10, .. }));
}

#[test]
fn an_import_is_cut_into_pieces_and_lines_that_are_none_are_told() {
    let text: String = (1..=600).map(|n| format!("{{\"content\":\"fact {n}\"}}\n\n")).collect();
    let parts = |body: Vec<u8>| Parts {
        method: Method::POST,
        target: "/api/v1/memory/import?agent=scout&gate=true&trust=untrusted".into(),
        content_type: Some("application/x-ndjson"),
        body,
    };
    let ask = parse(&parts([text.as_bytes(), b"\xff\n"].concat())).unwrap().ask(&ana()).unwrap();
    let Ask::Import { pieces, wrong } = ask else { panic!("{ask:?}") };
    let lens: Vec<usize> = pieces.iter().map(|piece| piece.lines.len()).collect();
    assert_eq!(lens, [256, 256, 88]);
    assert!(pieces.iter().all(|piece| piece.agent == "scout"
        && piece.gate
        && piece.trust == Trust::Untrusted
        && piece.actor == ana()));
    assert_eq!(pieces[2].lines[87], MemoryLine { number: 1199, text: "{\"content\":\"fact 600\"}".into() });
    assert_eq!((wrong.len(), wrong[0].line), (1, 1201));
    let too_much = parse(&parts(vec![b'x'; 8 * 1024 * 1024 + 1])).unwrap_err();
    assert_eq!(too_much.status(), 413);
    let other = Parts { content_type: Some("application/json"), ..parts(b"{}".to_vec()) };
    assert_eq!(parse(&other).unwrap_err().status(), 415);
}

#[test]
fn a_verdict_is_handed_on_byte_for_byte() {
    let sample = routes().iter().find(|route| route.id == "approvals.verdict").unwrap().sample();
    let spaced = String::from_utf8(sample.body.clone()).unwrap().replace(",\"", " , \"");
    let sent = Parts { body: spaced.clone().into_bytes(), ..sample.clone() };
    let ask = parse(&sent).unwrap().ask(&ana()).unwrap();
    assert_eq!(ask, Ask::Control(Request::Verdict { document: spaced }));
    let document: Value = serde_json::from_slice(&sample.body).unwrap();
    for (place, value) in [
        ("/format", json!(2)),
        ("/payload/verdict", json!("allow")),
        ("/payload/ask", json!("apr_7")),
        ("/signatures", json!([])),
        ("/signatures/0/role", json!("log")),
        ("/signatures/0/sig", json!("AAAA")),
    ] {
        let mut bent = document.clone();
        *bent.pointer_mut(place).unwrap() = value;
        let sent = Parts { body: bent.to_string().into_bytes(), ..sample.clone() };
        assert_eq!(parse(&sent).unwrap_err().status(), 400, "{place}");
    }
    let long =
        document.to_string().replace("holdfast/web-1", &format!("holdfast/web-1{}", " ".repeat(8 * 1024)));
    assert_eq!(parse(&Parts { body: long.into_bytes(), ..sample }).unwrap_err().status(), 413);
}

#[test]
fn a_path_leads_to_one_place_or_nowhere() {
    let check = |method: &str, path: &str, expected: Result<&str, u16>| {
        let found = find(&method.parse().unwrap(), path);
        let found = found.as_ref().map(|found| found.route.id).map_err(ApiError::status);
        assert_eq!(found, expected, "{method} {path}");
    };
    check("GET", "/api/v1/hosts/box-1", Ok("hosts.show"));
    check("HEAD", "/api/v1/hosts/box-1", Ok("hosts.show"));
    check("POST", "/api/v1/approvals/verdict", Ok("approvals.verdict"));
    check("GET", "/api/v1/approvals/verdict", Err(405));
    check("PUT", "/api/v1/status", Err(405));
    check("TRACE", "/api/v1/status", Err(405));
    check("POST", "/api/v1/openapi.json", Err(405));
    for nowhere in [
        "",
        "/",
        "/api/v1",
        "/api/v1/",
        "/api/v1/status/",
        "//api/v1/status",
        "/api/v2/status",
        "/API/v1/status",
        "/api/v1/stat%75s",
        "/api/v1/./status",
        "/api/v1/hosts/",
        "/api/v1/hosts//metrics",
        "/api/v1/hosts/box-1/metrics/more",
        &format!("/api/v1/hosts/{}", "a".repeat(20_000)),
    ] {
        check("GET", nowhere, Err(404));
    }
    for wrong in ["..", ".", "%2e%2e", "Box", "a b", "-a", "%C3%A4"] {
        check("GET", &format!("/api/v1/hosts/{wrong}"), Err(404));
    }
    for broken in ["a%2Fb", "a%00", "%ff", "%", "a%"] {
        check("GET", &format!("/api/v1/hosts/{broken}"), Err(400));
    }
    for wrong in ["-1", "01", "1.0", "+1", "9007199254740992", "x", "%31%20"] {
        check("GET", &format!("/api/v1/audit/entries/{wrong}"), Err(404));
    }
    check("GET", "/api/v1/audit/entries/%31", Ok("audit.show"));
    let named = find(&Method::GET, "/api/v1/audit/entries/x").unwrap_err();
    assert_eq!(named.field(), Some("seq"));
    let methods = find(&Method::PUT, "/api/v1/notices").unwrap_err();
    assert_eq!(Reply::from(&methods).allow.as_deref(), Some("GET, POST, HEAD"));
}

#[test]
fn a_query_is_refused_by_the_name_of_what_is_wrong() {
    for (query, status, field) in [
        ("limit=0", 400, Some("limit")),
        ("limit=501", 400, Some("limit")),
        ("limit=1e2", 400, Some("limit")),
        ("limit=", 400, Some("limit")),
        ("limit=1&limit=1", 400, Some("limit")),
        ("limits=1", 400, Some("limits")),
        ("order=random", 400, Some("order")),
        ("actor=a%0ab", 400, Some("actor")),
        ("kind=a.b.c.d", 400, Some("kind")),
        ("kind=%ff", 400, None),
        ("kind=%00", 400, None),
        ("limit", 400, None),
        ("&", 400, None),
    ] {
        let found = refused("GET", &format!("/api/v1/audit/entries?{query}"), "");
        assert_eq!(found, (status, field.map(str::to_owned)), "{query}");
    }
    assert_eq!(refused("GET", "/api/v1/audit/consistency", ""), (400, Some("old".into())));
    assert_eq!(refused("GET", "/api/v1/status?x=1", ""), (400, Some("x".into())));
}

/// A value that no rule of the table takes where it stands.
fn of_another_form(rule: &Rule) -> Value {
    match rule {
        Rule::Each { .. } | Rule::Parts(_) | Rule::Anything => json!("x"),
        _ => json!([{}]),
    }
}

#[test]
fn every_route_refuses_every_kind_of_mistake() {
    for route in routes() {
        check_methods(route);
        check_query(route);
        check_body(route);
    }
}

fn check_methods(route: &'static Route) {
    let wrong = Parts { method: Method::PATCH, ..route.sample() };
    let error = parse(&wrong).unwrap_err();
    assert_eq!(error.status(), 405, "{}", route.id);
    assert!(Reply::from(&error).allow.unwrap().contains(route.verb.as_str()), "{}", route.id);
}

fn check_query(route: &'static Route) {
    let sample = route.sample();
    let sign = if sample.target.contains('?') { '&' } else { '?' };
    let unknown = Parts { target: format!("{}{sign}nonsense=1", sample.target), ..sample.clone() };
    assert_eq!(parse(&unknown).unwrap_err().field(), Some("nonsense"), "{}", route.id);
    for field in route.query {
        let (path, query) = sample.target.split_once('?').unwrap();
        let twice = Parts { target: format!("{path}?{query}&{}=1", field.name), ..sample.clone() };
        assert_eq!(parse(&twice).unwrap_err().field(), Some(field.name), "{}", route.id);
        let others: Vec<&str> =
            query.split('&').filter(|pair| !pair.starts_with(&format!("{}=", field.name))).collect();
        let without = Parts { target: format!("{path}?{}", others.join("&")), ..sample.clone() };
        assert_eq!(parse(&without).is_ok(), field.need != Need::Required, "{} {}", route.id, field.name);
        let wrong = format!(
            "{path}?{}=%01",
            [others.join("&"), field.name.to_owned()].join("&").trim_start_matches('&')
        );
        let error = parse(&Parts { target: wrong, ..sample.clone() }).unwrap_err();
        assert_eq!((error.status(), error.field()), (400, Some(field.name)), "{}", route.id);
    }
}

fn check_body(route: &'static Route) {
    let sample = route.sample();
    let known: &[Field] = match route.body {
        Body::Nothing => {
            let with = Parts { body: b"{}".to_vec(), content_type: Some("application/json"), ..sample };
            assert_eq!(parse(&with).unwrap_err(), ApiError::NoBodyTaken, "{}", route.id);
            return;
        }
        Body::Raw { .. } => &[],
        Body::Fields { fields, .. } | Body::Signed { fields, .. } => fields,
    };
    for content_type in
        [None, Some("text/plain"), Some("application/jsonx"), Some("application/json; charset=latin1")]
    {
        let error = parse(&Parts { content_type, ..sample.clone() }).unwrap_err();
        assert_eq!(error.status(), 415, "{} {content_type:?}", route.id);
    }
    let long = Parts { body: vec![b' '; route.body.most() + 1], ..sample.clone() };
    assert_eq!(parse(&long).unwrap_err().status(), 413, "{}", route.id);
    if known.is_empty() {
        return;
    }
    let charset = Parts { content_type: Some("Application/JSON; charset=UTF-8"), ..sample.clone() };
    assert!(parse(&charset).is_ok(), "{}", route.id);
    let body: Map<String, Value> = serde_json::from_slice(&sample.body).unwrap();
    let send = |body: &Map<String, Value>| {
        parse(&Parts { body: Value::Object(body.clone()).to_string().into_bytes(), ..sample.clone() })
    };
    for field in known.iter().filter(|field| body.contains_key(field.name)) {
        let mut bent = body.clone();
        bent.insert(field.name.to_owned(), of_another_form(&field.rule));
        let error = send(&bent).unwrap_err();
        assert!(
            error.field().is_some_and(|at| at.starts_with(field.name)),
            "{} {}: {error}",
            route.id,
            field.name
        );
        bent.insert(field.name.to_owned(), Value::Null);
        assert_eq!(send(&bent).unwrap_err().status(), 400, "{} {}", route.id, field.name);
        bent.remove(field.name);
        if field.need == Need::Required {
            assert_eq!(
                send(&bent).unwrap_err(),
                ApiError::Missing { field: field.name.into() },
                "{}",
                route.id
            );
        }
    }
    let mut more = body.clone();
    more.insert("nonsense".to_owned(), json!(1));
    assert_eq!(send(&more).unwrap_err().field(), Some("nonsense"), "{}", route.id);
    let name = known[0].name;
    let repeated = format!("{{\"{name}\":1,\"{name}\":1}}").into_bytes();
    let error = parse(&Parts { body: repeated, ..sample.clone() }).unwrap_err();
    assert!(error.to_string().contains("twice"), "{}: {error}", route.id);
    for broken in [b"[]".as_slice(), b"{", b"null", b"\xff", b"{}{}"] {
        let error = parse(&Parts { body: broken.to_vec(), ..sample.clone() }).unwrap_err();
        assert_eq!(error.status(), 400, "{}", route.id);
    }
}

/// Any call at all, most of them near one that is known.
fn any_call() -> impl Strategy<Value = Parts> {
    let method = prop_oneof![
        Just(Method::GET),
        Just(Method::POST),
        Just(Method::DELETE),
        Just(Method::HEAD),
        Just(Method::OPTIONS),
    ];
    let known = prop::sample::select(routes().iter().map(Route::sample).collect::<Vec<_>>());
    let text = "[ -~]{0,40}|\\PC{0,20}|[%&=+/?{}a0-9]{0,40}";
    let bytes = prop::collection::vec(any::<u8>(), 0..80);
    (method, known, text, any::<prop::sample::Index>(), bytes, 0..6u8).prop_map(
        |(method, known, text, at, bytes, how)| {
            let mut call = known;
            let mut cut = at.index(call.target.len() + 1);
            while !call.target.is_char_boundary(cut) {
                cut -= 1;
            }
            match how {
                0 => call.target = text,
                1 => call.target.insert_str(cut, &text),
                2 => call.target = format!("{}?{text}", call.target),
                3 => call.body = bytes,
                4 => call.method = method,
                _ => {
                    let at = at.index(call.body.len() + 1);
                    call.body.splice(at..at, bytes);
                }
            }
            call
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn no_call_makes_it_fall_and_what_is_taken_is_sent_again_the_same(sent in any_call()) {
        match parse(&sent) {
            Ok(call) => {
                let again = parse(&call.parts()).unwrap();
                prop_assert_eq!(call.parts(), again.parts());
                prop_assert_eq!(call.ask(&ana()), again.ask(&ana()));
            }
            Err(error) => {
                let reply = Reply::from(&error);
                prop_assert!((400..500).contains(&reply.status), "{}", error);
                prop_assert_eq!(reply.status == 405, reply.allow.is_some());
            }
        }
    }
}
