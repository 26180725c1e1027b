//! Layers beyond the log: with all threads taken, and with the disk's budget used up, what people do is done and recorded, and a pause works. Where
//! nothing can be recorded, what only takes power away is done all the same, and recorded when it can be.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::browser::Browser;
use crate::house::House;
use crate::running::{LONG, Looking as _, wait_until};
use crate::scene::Template;
use crate::states::{Scene, State, Tail};

/// What people do about accounts and asks, and what is recorded of it; each finds what it needs.
pub const ACTS: [(&str, &str); 16] = [
    ("/auth/register/finish", "gateway.device.registered"),
    ("/auth/login/finish", "gateway.session.started"),
    ("/auth/recover", "gateway.code.used"),
    ("/auth/confirm/finish", "approval.verdict.given"),
    ("/auth/devices/rename", "gateway.device.renamed"),
    ("/auth/devices/link", "gateway.link.made"),
    ("/auth/links/revoke", "gateway.link.revoked"),
    ("/auth/codes/renew", "gateway.codes.renewed"),
    ("/auth/people/invite", "gateway.person.invited"),
    ("/auth/people/role", "gateway.role.changed"),
    ("/auth/tokens/make", "gateway.token.made"),
    ("/auth/tokens/revoke", "gateway.token.revoked"),
    ("/auth/people/remove", "gateway.person.removed"),
    ("/auth/devices/remove", "gateway.device.removed"),
    ("/auth/logout", "gateway.session.left"),
    ("/auth/sessions/end", "gateway.sessions.ended"),
];

/// Those that only take power away.
pub const NARROWING: [&str; 6] = [
    "/auth/links/revoke",
    "/auth/tokens/revoke",
    "/auth/people/remove",
    "/auth/devices/remove",
    "/auth/logout",
    "/auth/sessions/end",
];

/// Each act is done, and is in the log when it has answered.
async fn acts_are_recorded(scene: &mut Scene) {
    let mut tail = Tail::new(&scene.house.home.journal());
    for (path, kind) in ACTS {
        let reply = timeout(LONG, scene.act(path)).await.unwrap_or_else(|_| panic!("{path} has no answer"));
        assert!([200, 303].contains(&reply.status), "{path}: {} {}", reply.status, reply.text);
        let kinds = tail.kinds();
        assert!(kinds.iter().any(|recorded| recorded == kind), "{path}: {kinds:?}");
    }
}

/// By the API, and lifted by it; then by the page, and by the command.
async fn a_pause_works(scene: &mut Scene) {
    let mut tail = Tail::new(&scene.house.home.journal());
    for (which, kind) in [("pause", "holdfast.autonomy.paused"), ("resume", "holdfast.autonomy.resumed")] {
        let (path, body) = (format!("/api/v1/autonomy/{which}"), json!({ "reason": "storm" }));
        let turned = scene.posts(&path, &body);
        let reply = timeout(LONG, turned).await.unwrap_or_else(|_| panic!("{which} has no answer"));
        assert_eq!(reply.is(200).json["paused"], which == "pause");
        let kinds = tail.kinds();
        assert!(kinds.iter().any(|recorded| recorded == kind), "{which}: {kinds:?}");
    }
    let page = scene.owner.submit("/pause", &[("reason", "storm")]);
    timeout(LONG, page).await.expect("the page's pause has an answer").is(303);
    assert!(tail.kinds().iter().any(|recorded| recorded == "holdfast.autonomy.paused"));
    scene.run(&["pause", "--all", "--reason", "storm"]).ok();
}

/// Everybody whose requests wait for the disk that hangs, until it goes on.
struct Waiting {
    commands: Vec<Child>,
    requests: Vec<tokio::task::JoinHandle<()>>,
}

impl Waiting {
    /// As many commands as the socket serves at once, and as many people as have all seats for looks between them, each with more than their share.
    async fn new(house: &House, people: &[Browser]) -> Waiting {
        // What was remembered last is not in the tables yet, so whoever searches writes to them first.
        house.home.run(&["memory", "add", "Stage nine has a harbour."]).ok();
        let search = |_| {
            let mut command = house.home.command(&["memory", "search", "harbour"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let commands = (0..8).map(search).collect();
        let requests = people.iter().flat_map(|person| {
            (0..6).map(move |_| {
                let mut person = person.clone();
                tokio::spawn(async move {
                    let request = person.request("POST", "/api/v1/memory/search");
                    let request = request
                        .header("x-holdfast-csrf", person.word.clone().unwrap())
                        .header("content-type", "application/json");
                    let body = json!({ "query": "harbour" }).to_string();
                    // It has its answer when the disk goes on, or none.
                    let _late = person.try_send(request.body(body.into()).unwrap()).await;
                })
            })
        });
        let mut waiting = Waiting { commands, requests: requests.collect() };
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(waiting.requests.iter().all(|request| !request.is_finished()), "a request did not wait");
        let gone = waiting.commands.iter_mut().filter_map(|command| command.try_wait().unwrap()).count();
        assert_eq!(gone, 0, "commands that did not wait");
        waiting
    }

    async fn end(self) {
        for mut command in self.commands {
            command.wait().unwrap();
        }
        for request in self.requests {
            request.await.unwrap();
        }
    }
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_thread_taken_by_a_disk_that_hangs_people_act_and_pause() {
    let Some(mut scene) = Scene::new(&Template::new(), &[State::MemoryHangs]).await else { return };
    let mut people = Vec::new();
    scene.mend();
    for name in ["Ann", "Ben", "Cleo", "Dora"] {
        let mut person = scene.house.invited(&mut scene.owner, name, "operator").await;
        person.word().await.unwrap();
        people.push(person);
    }
    scene.bring_about(State::MemoryHangs);
    let waiting = Waiting::new(&scene.house, &people).await;
    acts_are_recorded(&mut scene).await;
    a_pause_works(&mut scene).await;
    scene.mend();
    waiting.end().await;
    assert_eq!(scene.house.home.status()["pause"]["paused"], true);
    scene.stop().well();
    scene.run(&["audit", "verify"]).ok();
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_budget_of_the_disk_used_up_the_daemon_pauses_and_people_act() {
    let Some(mut scene) = Scene::new(&Template::new(), &[State::BudgetUsed]).await else { return };
    wait_until("the daemon pauses by itself", || scene.house.home.status()["pause"]["paused"] == true);
    let paused = scene.house.home.bodies("holdfast.autonomy.paused");
    assert!(paused[0]["reason"].as_str().unwrap().contains("the disk is full"), "{paused:?}");
    acts_are_recorded(&mut scene).await;
    scene.run(&["resume", "--all"]).ok();
    a_pause_works(&mut scene).await;
    scene.stop().well();
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_power_away_is_done_where_nothing_can_be_recorded_and_recorded_afterwards() {
    let template = Template::new();
    for state in [State::ReserveFull, State::JournalReadOnly] {
        let Some(mut scene) = Scene::new(&template, &[state]).await else { continue };
        let mut tail = Tail::new(&scene.house.home.journal());
        for path in NARROWING {
            let reply =
                timeout(LONG, scene.act(path)).await.unwrap_or_else(|_| panic!("{path} has no answer"));
            assert!([200, 303].contains(&reply.status), "{state:?} {path}: {} {}", reply.status, reply.text);
            assert_eq!(tail.kinds(), [""; 0], "{state:?} {path}");
        }
        assert_eq!(scene.second.get("/").await.is(303).location(), "/login", "it is done");
        scene.mend();
        let late = |kind: &str| {
            let bodies = scene.house.home.bodies(kind);
            bodies.iter().filter(|body| body["done_at"].is_string()).count()
        };
        for (path, kind) in ACTS.iter().filter(|(path, _)| NARROWING.contains(path)) {
            wait_until(&format!("{state:?} has ended, and {path} is recorded"), || late(kind) > 0);
            assert_eq!(late(kind), 1, "{state:?} {path}: once");
        }
        // All but signing out and revoking a token took a passkey, which is recorded with them.
        assert_eq!(late("gateway.passkey.confirmed"), NARROWING.len() - 2, "{state:?}");
        scene.stop().well();
    }
}
