//! A site with some pages, and browsers that behave as browsers do: they keep cookies and send their origin.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Extension;
use axum::routing::{get, post};
use holdfast_gateway::{
    Act, Caller, Confirm, Confirmable, Gate, GateState, Place, PlainFaces, Ports, Role, Signed, guard, router,
};
use holdfast_types::{Exit, Problem, ProblemCode};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::diary::Diary;
use crate::house::{House, ORIGIN};
use holdfast_testkit::authenticator::Key;

/// One thing that can be confirmed, called `thing`.
#[derive(Default)]
pub(crate) struct Thing {
    pub(crate) digest: Mutex<[u8; 32]>,
    pub(crate) done: Mutex<Vec<(String, [u8; 32])>>,
    /// Of the last.
    pub(crate) reason: Mutex<Option<String>>,
}

impl Confirm for Thing {
    fn look_up(&self, _who: &Signed, what: &str) -> Result<Confirmable, Problem> {
        match what {
            "thing" => Ok(Confirmable {
                digest: *self.digest.lock().unwrap(),
                shown: "Do the thing to web-1.".into(),
                least: Role::Operator,
            }),
            _ => Err(Problem {
                code: ProblemCode { room: "APR", number: 1 },
                exit: Exit::Usage,
                what: "there is no such ask".into(),
                untouched: "Nothing was changed.".into(),
                hint: "Look at the inbox.".into(),
            }),
        }
    }

    fn act(&self, _who: &Signed, act: &Act) -> Result<(String, Role), Problem> {
        match act.to() {
            "/pause" => Ok(("Pause.".into(), Role::Operator)),
            _ => Err(holdfast_gateway::Error::NotFound { what: "act" }.problem()),
        }
    }

    fn carry_out(
        &self,
        who: &Signed,
        _what: &str,
        digest: [u8; 32],
        reason: Option<&str>,
    ) -> Result<String, Problem> {
        self.done.lock().unwrap().push((who.name.to_string(), digest));
        *self.reason.lock().unwrap() = reason.map(str::to_owned);
        Ok("//evil.example".into())
    }
}

pub(crate) struct Site {
    pub(crate) house: House,
    pub(crate) gate: GateState,
    pub(crate) diary: Arc<Diary>,
    pub(crate) thing: Arc<Thing>,
    app: Router,
    origin: String,
}

impl Site {
    pub(crate) fn new() -> Site {
        Site::at(ORIGIN)
    }

    pub(crate) fn at(origin: &str) -> Site {
        let house = House::at(origin);
        let (diary, thing) =
            (house.diary.clone(), Arc::new(Thing { digest: [1; 32].into(), ..Thing::default() }));
        let ports = Ports { recorder: diary.clone(), confirm: thing.clone(), faces: Arc::new(PlainFaces) };
        let gate = Gate::new(house.accounts.accounts().clone(), ports, Arc::new(house.clock.clone()));
        let app = app(&gate);
        Site { house, gate, diary, thing, app, origin: origin.to_owned() }
    }

    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser {
            site: self,
            jar: BTreeMap::new(),
            key: Key::new(),
            from: "192.0.2.1".parse().unwrap(),
            uid: None,
        }
    }

    /// A browser whose person is the first owner, signed in.
    pub(crate) async fn owner(&self) -> Browser<'_> {
        let link = self.house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
        let mut browser = self.browser();
        browser.register(link.token.reveal()).await;
        self.diary.take();
        browser
    }

    /// A browser whose person was invited, signed in.
    pub(crate) async fn invited(&self, owner: &mut Browser<'_>, name: &str, role: Role) -> Browser<'_> {
        let reply = owner.post("/auth/people/invite", json!({ "name": name, "role": role })).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let link = reply.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap().to_owned();
        let mut browser = self.browser();
        browser.register(&link).await;
        self.diary.take();
        browser
    }

    /// Who is signed in there.
    pub(crate) fn signed(&self, browser: &Browser<'_>) -> Signed {
        self.house.accounts.signed(&browser.cookie().unwrap()).unwrap().unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let answer = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Reply { status: parts.status, headers: parts.headers, text, json }
    }
}

fn app(gate: &GateState) -> Router {
    async fn whoami(Extension(who): Extension<Signed>) -> String {
        json!({ "name": who.name, "role": who.role, "csrf": who.csrf().map(|c| c.reveal()) }).to_string()
    }
    let page =
        Router::new().route("/", get(whoami)).route("/hosts", get(whoami)).route("/pause", post(whoami));
    let api = Router::new().route("/api/v1/status", get(whoami)).route("/api/v1/pause", post(whoami));
    let live = Router::new().route("/live", get(whoami));
    let open = Router::new()
        .route("/login", get(|| async { "sign in" }))
        .route("/open", post(|| async { "posted" }));
    router(gate)
        .merge(guard(page, gate, Place::Page))
        .merge(guard(api, gate, Place::Api))
        .merge(guard(live, gate, Place::Stream))
        .merge(guard(open, gate, Place::Public))
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) fn code(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or("")
    }

    pub(crate) fn location(&self) -> &str {
        self.headers.get("location").map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) struct Browser<'a> {
    pub(crate) site: &'a Site,
    pub(crate) jar: BTreeMap<String, String>,
    pub(crate) key: Key,
    pub(crate) from: IpAddr,
    /// Whose program it is, on this machine.
    pub(crate) uid: Option<u32>,
}

impl Browser<'_> {
    /// A request as this browser would send it, from a page of the site itself.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let host = self.site.origin.split_once("://").unwrap().1;
        let cookies: Vec<String> = self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("user-agent", "Software 1.0")
            .extension(Caller { address: self.from, uid: self.uid });
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        if method != "GET" {
            request = request.header("origin", &self.site.origin).header("sec-fetch-site", "same-origin");
        }
        request
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> Reply {
        let reply = self.site.send(request).await;
        for line in reply.headers.get_all("set-cookie") {
            let (pair, rest) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if rest.contains("Max-Age=0") {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.into(), value.into());
            }
        }
        reply
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        let request = self.request("GET", path).body(Body::empty()).unwrap();
        self.send(request).await
    }

    /// A script of the page posts JSON, with the word from the page when it is signed in; what takes a passkey for it
    /// is asked for one, as the module does.
    pub(crate) async fn post(&mut self, path: &str, mut body: Value) -> Reply {
        let reply = self.post_bare(path, body.clone()).await;
        if reply.code() != "HF-GTW-008" {
            return reply;
        }
        match self.proof(path, body.clone()).await {
            Ok(proof) => body["proof"] = proof.into(),
            Err(refused) => return refused,
        }
        self.post_bare(path, body).await
    }

    /// What a passkey says about one act, as it is sent along with it.
    pub(crate) async fn proof(&mut self, path: &str, fields: Value) -> Result<String, Reply> {
        let act = json!({ "method": "POST", "to": path, "fields": fields });
        Ok(self.begin_confirming_as(json!({ "act": act })).await?.to_string())
    }

    /// The same without any passkey.
    pub(crate) async fn post_bare(&mut self, path: &str, body: Value) -> Reply {
        let csrf = self.csrf().await;
        self.post_with(path, body, csrf).await
    }

    /// With this word, or with none: as somebody does who has the cookie alone.
    pub(crate) async fn post_with(&mut self, path: &str, body: Value, csrf: Option<String>) -> Reply {
        let mut request = self.request("POST", path).header("content-type", "application/json");
        if let Some(csrf) = csrf {
            request = request.header("x-holdfast-csrf", csrf);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        self.send(request).await
    }

    /// A form of the page is sent.
    pub(crate) async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let reply = self.submit_bare(path, fields).await;
        if !reply.text.contains("HF-GTW-008") {
            return reply;
        }
        let named = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let proof = match self.proof(path, Value::Object(named)).await {
            Ok(proof) => proof,
            Err(refused) => return refused,
        };
        self.submit_bare(path, &[fields, &[("proof", &proof)]].concat()).await
    }

    pub(crate) async fn submit_bare(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        if let Some(csrf) = self.csrf().await {
            form.append_pair("csrf", &csrf);
        }
        let request = self.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Body::from(form.finish())).unwrap();
        self.send(request).await
    }

    /// The anti-forgery word, read from a page.
    pub(crate) async fn csrf(&mut self) -> Option<String> {
        self.get("/").await.json["csrf"].as_str().map(str::to_owned)
    }

    pub(crate) fn cookie(&self) -> Option<String> {
        self.jar.get(&self.cookie_name()).cloned()
    }

    pub(crate) fn cookie_name(&self) -> String {
        self.site.house.accounts.cookies().name(holdfast_gateway::CookieKind::Session)
    }

    pub(crate) async fn register(&mut self, link: &str) -> Reply {
        let begun = self.post("/auth/register/start", json!({ "link": link, "label": "a key" })).await;
        assert_eq!(begun.status, 200, "{}", begun.text);
        let credential = self.key.create(&self.site.origin, &begun.json["publicKey"]);
        let ceremony = begun.json["ceremony"].clone();
        let body = json!({ "ceremony": ceremony, "credential": credential });
        let done = self.post("/auth/register/finish", body).await;
        assert_eq!(done.status, 200, "{}", done.text);
        done
    }

    pub(crate) async fn sign_in(&mut self, next: Option<&str>) -> Reply {
        let begun = self.post("/auth/login/start", json!({})).await;
        if begun.status != 200 {
            return begun;
        }
        let credential = self.key.get(&self.site.origin, &begun.json["publicKey"]);
        let ceremony = begun.json["ceremony"].clone();
        self.post(
            "/auth/login/finish",
            json!({ "ceremony": ceremony, "credential": credential, "next": next }),
        )
        .await
    }

    /// Confirms something with the passkey, up to and without the finish.
    pub(crate) async fn begin_confirming(&mut self, what: &str) -> Result<Value, Reply> {
        self.begin_confirming_as(json!({ "what": what })).await
    }

    pub(crate) async fn begin_confirming_as(&mut self, asked: Value) -> Result<Value, Reply> {
        let begun = self.post_bare("/auth/confirm/start", asked).await;
        if begun.status != 200 {
            return Err(begun);
        }
        let credential = self.key.get(&self.site.origin, &begun.json["publicKey"]);
        Ok(json!({ "ceremony": begun.json["ceremony"], "credential": credential }))
    }
}
