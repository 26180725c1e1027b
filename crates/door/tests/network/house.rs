//! A door on loopback with a service behind it, open until it is dropped or stopped.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use holdfast_door::{
    Admit, Admitting, Certificates, Client, Door, Drained, Front, HostName, IdentityKey, Inbound, Keeper,
    Limits, Listeners, Pass, RunBy, Service, Settings, To, Verdict,
};
use holdfast_testkit::TestClock;
use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const OWN: &str = "gate.localhost";
pub(crate) const APP: &str = "app.gate.localhost";
pub(crate) const NOW: &str = "2026-11-15T08:00:00.000000Z";
/// The longest a test waits for what has to come.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Lets in whoever has the cookie `holdfast-app=NAME`, and ends their sessions when told.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    sessions: Mutex<HashMap<String, CancellationToken>>,
}

impl Gate {
    pub(crate) fn end(&self, person: &str) {
        self.session(person).cancel();
    }

    fn session(&self, person: &str) -> CancellationToken {
        self.sessions.lock().unwrap().entry(person.to_owned()).or_default().clone()
    }
}

impl Admit for Gate {
    fn admit<'a>(&'a self, service: &'a Service, parts: &'a Parts) -> Admitting<'a> {
        assert!(parts.extensions.get::<Client>().is_some(), "the client is known");
        let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let person = cookies
            .flat_map(|value| value.split("; "))
            .find_map(|pair| pair.strip_prefix("holdfast-app="))
            .map(str::to_owned);
        Box::pin(async move {
            match person.as_deref() {
                None => Verdict::GoTo(format!("https://{OWN}/enter?service={}", service.name())),
                Some("nobody") => Verdict::Refuse(StatusCode::FORBIDDEN),
                Some(person) if self.session(person).is_cancelled() => {
                    Verdict::GoTo(format!("https://{OWN}/enter"))
                }
                Some(person) => {
                    Verdict::Pass(Pass { person: person.to_owned(), ended: self.session(person) })
                }
            }
        })
    }
}

/// What a test changes before the door opens.
pub(crate) struct Plan {
    pub(crate) limits: Limits,
    pub(crate) to: To,
    pub(crate) certificates: Certificates,
    pub(crate) body_bytes_max: Option<u64>,
    pub(crate) redirect: bool,
    pub(crate) redirect_port: u16,
    pub(crate) clock: TestClock,
    pub(crate) listener: Option<TcpListener>,
    pub(crate) names: Vec<String>,
    pub(crate) https_port: Option<u16>,
    pub(crate) front: Option<Front>,
    /// Other addresses of the same door.
    pub(crate) beside: Vec<TcpListener>,
    pub(crate) run_by: RunBy,
}

impl Plan {
    pub(crate) fn to(to: To) -> Plan {
        Plan {
            limits: Limits::default(),
            to,
            certificates: Certificates::None,
            body_bytes_max: None,
            redirect: false,
            redirect_port: 0,
            clock: TestClock::at(NOW),
            listener: None,
            names: vec![OWN.into()],
            https_port: None,
            front: None,
            beside: Vec::new(),
            run_by: RunBy::new(rustix::process::geteuid().as_raw(), None),
        }
    }

    pub(crate) fn key() -> IdentityKey {
        IdentityKey::from_bytes([7; 32])
    }

    pub(crate) fn hosts(&self) -> Vec<HostName> {
        self.names.iter().map(|name| name.parse().unwrap()).collect()
    }

    pub(crate) fn open(self) -> House {
        let own = self.hosts();
        let mut service =
            Service::new("app", APP.parse().unwrap(), self.to.clone(), self.run_by, "viewer", Plan::key())
                .unwrap();
        service.body_bytes_max = self.body_bytes_max.unwrap_or(service.body_bytes_max);
        let main = self.listener.unwrap_or_else(|| TcpListener::bind("127.0.0.1:0").unwrap());
        let redirect = self.redirect.then(|| TcpListener::bind(("127.0.0.1", self.redirect_port)).unwrap());
        let address = main.local_addr().unwrap();
        let redirect_address = redirect.as_ref().map(|listener| listener.local_addr().unwrap());
        let mut names = own.clone();
        names.push(service.host().clone());
        let clock = Arc::new(self.clock.clone());
        let keeper = Keeper::open(self.certificates, names, clock.clone()).unwrap();
        let settings = Settings {
            own,
            services: vec![service],
            limits: self.limits,
            https_port: self.https_port.unwrap_or(address.port()),
            front: self.front,
        };
        let gate = Arc::new(Gate::default());
        let app = tower::service_fn(own_app);
        let door = Arc::new(Door::open(settings, keeper, app, gate.clone(), clock).unwrap());
        let stop = CancellationToken::new();
        let (serving, stopping) = (door.clone(), stop.clone());
        let main = [main].into_iter().chain(self.beside).collect();
        let listeners = Listeners { main, redirect };
        let task =
            tokio::spawn(async move { serving.serve(listeners, &stopping, || {}, |_| false).await.unwrap() });
        House { address, redirect: redirect_address, door, gate, clock: self.clock, stop, task }
    }
}

pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) redirect: Option<SocketAddr>,
    pub(crate) door: Arc<Door>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: TestClock,
    stop: CancellationToken,
    task: JoinHandle<Drained>,
}

impl House {
    pub(crate) async fn stop(self) -> Drained {
        self.stop.cancel();
        self.task.await.unwrap()
    }

    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }
}

/// The gateway's own pages: says what it was asked, and reads a body whole.
async fn own_app(request: Request<Inbound>) -> Result<Response<Full<Bytes>>, Infallible> {
    let client = *request.extensions().get::<Client>().unwrap();
    let path = request.uri().path().to_owned();
    assert!(!request.headers().contains_key("x-forwarded-for"), "nobody in front of us says who it is");
    let said = match request.into_body().collect().await {
        Ok(body) => format!("own {path} {} https={}", body.to_bytes().len(), client.https),
        Err(e) => format!("own {path} broken: {e}"),
    };
    Ok(Response::new(Full::new(said.into())))
}

/// Waits until something is so; fails the test when it does not come about.
pub(crate) async fn eventually(what: &str, so: impl Fn() -> bool) {
    let until = Instant::now() + SOON;
    while !so() {
        assert!(Instant::now() < until, "it did not come about: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A clock at the real time: clients check certificates by theirs.
pub(crate) fn real_clock() -> TestClock {
    let seconds =
        String::from_utf8(std::process::Command::new("date").arg("+%s").output().unwrap().stdout).unwrap();
    let micros = seconds.trim().parse::<i64>().unwrap() * 1_000_000;
    let clock = TestClock::at(NOW);
    clock.set_wall(holdfast_types::Timestamp::from_micros(micros).unwrap());
    clock
}
