//! From the configuration to an open door.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_config::{CertificateFrom, Config};
use holdfast_door::{
    Acme, Certificates, Challenge, Door as Opened, Front, HostName, Keeper, Limits, Listeners,
    Settings as DoorSettings,
};
use holdfast_gateway::{Accounts, Gate, Ports, Settings, Signed};
use holdfast_keys::{Role, SecretKey};
use holdfast_pages as pages;
use holdfast_supervisor::{Failed, Life};
use holdfast_types::{Clock, Problem};
use url::Url;

use super::app::{App, routes};
use super::certificate;
use super::confirm::Verdicts;
use super::impostors;
use super::record::{Scribe, at_the_door};
use super::services::{Doorkeeper, Services};
use super::views::Views;
use crate::daemon::{Shared, descriptors_allowed, give_spare};
use crate::init::{key_at, trust_own_keys};
use crate::office::Office;
use crate::problem::{CliError, Failure, Result};

/// The address people use.
pub(crate) fn address_of(config: &Config) -> Result<Url> {
    let text = match &config.gateway.address {
        Some(address) => address.as_str().to_owned(),
        None => format!("http://localhost:{}", config.gateway.listen.port()),
    };
    let unfit = |why: String| CliError::Usage { message: format!("gateway.address: {why}") };
    Ok(Url::parse(&text).map_err(|e| unfit(e.to_string()))?)
}

/// The accounts, opened by the one process that may.
pub(crate) fn accounts_of(office: &Office) -> Result<Arc<Accounts>> {
    // Whoever asks for a link the moment the daemon is ready comes while the gateway still opens them.
    static OPENING: Mutex<()> = Mutex::new(());
    let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(accounts) = office.accounts.get() {
        return Ok(accounts.clone());
    }
    let loaded = office.config();
    let gateway = &loaded.config.gateway;
    let hours = |n: u32| Duration::from_secs(u64::from(n) * 3_600);
    let settings = Settings {
        session_idle: hours(gateway.idle_hours),
        session_life: hours(gateway.session_days * 24),
        ..Settings::new(address_of(&loaded.config)?)
    };
    let made = Arc::new(Accounts::open(&office.house.places.gateway_db(), settings, office.clock.clone())?);
    // Signing in, recovering and taking rights away must be possible on a full disk.
    if let Err(e) = made.database().keep_room() {
        tracing::warn!(error = %e, "the accounts keep no room on the disk for themselves");
    }
    Ok(office.accounts.get_or_init(|| made).clone())
}

/// The part of the daemon.
pub(crate) async fn run(shared: Shared, listeners: Vec<TcpListener>, life: Life) -> Result<(), Failed> {
    let office = shared.office.clone();
    office.keep_certificates(None);
    let made = tokio::task::spawn_blocking({
        let office = office.clone();
        move || assembled(&office)
    });
    let (app, door, scribe) = made.await.map_err(|_| Failed("it panicked".into()))?.map_err(failed)?;
    let watching = app.live.clone();
    let keeper = door.keeper().clone();
    office.keep_certificates(Some(keeper.clone()));
    let listeners = Listeners { main: listeners, redirect: None };
    let (beat, accounts) = (life.beat.clone(), app.gate.accounts().clone());
    let ended = tokio::select! {
        served = door.serve(listeners, &life.stop, move || beat.now(), give_spare) => {
            let drained = served.map_err(|e| Failed(holdfast_types::with_causes(&e)))?;
            if drained.cut > 0 {
                tracing::warn!(cut = drained.cut, "connections of the gateway were cut off");
            }
            Ok(())
        }
        // These only look, and end with the door.
        () = watching.watch(&life.stop) => Ok(()),
        () = at_the_door(&scribe, || door.turned_away()) => Ok(()),
        () = scribe.look_after(&accounts) => Ok(()),
        () = certificate::watch(&office, &keeper) => Ok(()),
        () = impostors::watch(&office, || door.impostors()) => Ok(()),
    };
    scribe.tell_the_rest();
    ended
}

fn failed(failure: crate::problem::Failure) -> Failed {
    Failed(super::app::problem_of(failure).what)
}

/// Everything behind the door, and the door.
fn assembled(office: &Arc<Office>) -> Result<(App, Opened, Arc<Scribe>)> {
    let (loaded, clock) = (office.config(), office.clock.clone());
    let origin = address_of(&loaded.config)?;
    let accounts = accounts_of(office)?;
    let views = Arc::new(Views::new(office.clone(), accounts.clone()));
    views.stories.catch_up(&office.journal)?;
    let key = signing_key(office);
    let scribe = Arc::new(Scribe::new(office.clone()));
    let ports = Ports {
        recorder: scribe.clone(),
        confirm: Arc::new(Verdicts::new(views.clone(), key)),
        faces: Arc::new(Faces { house: office.journal.origin().to_string() }),
    };
    let gate = Gate::new(accounts, ports, clock.clone());
    let root = crate::house::secret_at(&office.house.places.services_key())?;
    let services = Arc::new(Services::new(root, &loaded.config.gateway.services, &origin, clock.clone()));
    let own = own_names(&origin)?;
    let keeper = keeper(office, &loaded.config, &own, &services, clock.clone())?;
    let authority = (loaded.config.gateway.tls.from == CertificateFrom::Local).then(|| keeper.clone());
    let app = App::new(views, gate.clone(), services.clone(), authority)?;
    let settings = DoorSettings {
        own,
        services: services.for_the_door().map_err(unfit)?,
        limits: Limits {
            drain_timeout: drain_within(&loaded.config),
            ..Limits::within(descriptors_allowed())
        },
        https_port: origin.port_or_known_default().unwrap_or(443),
        front: front(&loaded.config).map_err(unfit)?,
    };
    let doorkeeper = Arc::new(Doorkeeper::new(services, gate));
    let door = Opened::open(settings, keeper, routes(&app), doorkeeper, clock).map_err(unfit)?;
    Ok((app, door, scribe))
}

/// What verdicts are signed with. Without it everything but approving works, and approving says what is missing.
fn signing_key(office: &Office) -> Option<SecretKey> {
    let made = key_at(&office.house.places.gateway_key(), Role::Approvals).and_then(|key| {
        trust_own_keys(&office.house, office.journal.origin(), &[(&key, Role::Approvals)])?;
        Ok(key)
    });
    made.inspect_err(|failure| {
        if let Failure::Problem(problem) = failure {
            tracing::warn!(code = %problem.code, why = problem.what, "nothing can be approved in the browser");
        }
    })
    .ok()
}

/// Doors have half of the time that a stop may take. This one takes somewhat less, so that it closes by itself what does not end, such as a
/// service's stream, and is not cut off with it.
fn drain_within(config: &Config) -> Duration {
    Duration::from_secs(u64::from(config.shutdown.grace_seconds)) * 2 / 5
}

/// The name in the address; on this machine also the numbers that stand for it, which are sent on to the name.
fn own_names(origin: &Url) -> Result<Vec<HostName>> {
    let host = origin.host_str().unwrap_or("localhost");
    Ok(vec![host.parse::<HostName>().map_err(unfit)?])
}

/// The proxies in front, where the configuration says that there are any.
fn front(config: &Config) -> Result<Option<Front>, holdfast_door::Error> {
    if config.gateway.tls.from != CertificateFrom::Proxy {
        return Ok(None);
    }
    let proxies = config.gateway.proxies.iter().map(|proxy| proxy.as_str().parse());
    Ok(Some(Front::of(proxies.collect::<Result<_, _>>()?)))
}

fn keeper(
    office: &Office,
    config: &Config,
    own: &[HostName],
    services: &Services,
    clock: Arc<dyn Clock>,
) -> Result<Arc<Keeper>> {
    let tls = &config.gateway.tls;
    let dir = office.house.places.gateway_certificates();
    let source = match tls.from {
        CertificateFrom::Nowhere | CertificateFrom::Proxy => Certificates::None,
        CertificateFrom::Files => match (&tls.chain, &tls.key) {
            (Some(chain), Some(key)) => {
                Certificates::Files { chain: chain.to_path_buf(), key: key.to_path_buf() }
            }
            // The configuration is refused without them.
            _ => Certificates::None,
        },
        CertificateFrom::Local => Certificates::Local { dir },
        CertificateFrom::Acme => Certificates::Acme(Acme {
            directory: tls.directory.as_ref().map(|it| it.as_str().to_owned()).unwrap_or_default(),
            contact: tls.contact.iter().map(|mail| format!("mailto:{}", mail.as_str())).collect(),
            dir,
            extra_root: tls.ca_file.as_ref().map(|path| path.to_path_buf()),
            challenge: Challenge::TlsAlpn,
        }),
    };
    let mut names = own.to_vec();
    for service in services.for_the_door().map_err(unfit)? {
        names.push(service.host().clone());
    }
    Keeper::open(source, names, clock).map_err(unfit)
}

fn unfit(e: holdfast_door::Error) -> crate::problem::Failure {
    CliError::Gateway { why: holdfast_types::with_causes(&e) }.into()
}

/// Refusals of the guard, in our own clothes.
#[derive(Debug)]
struct Faces {
    house: String,
}

impl holdfast_gateway::Faces for Faces {
    fn problem(&self, problem: &Problem, _who: Option<&Signed>) -> String {
        let view = pages::Problem {
            status: holdfast_api::status_of(problem),
            code: Some(problem.code.to_string()),
            what: problem.what.clone(),
            untouched: Some(problem.untouched.clone()),
            hint: Some(problem.hint.clone()),
            back: Some("/".to_owned()),
        };
        let outside = pages::Outside { house: self.house.clone(), theme: pages::Theme::System };
        pages::problem_outside(&outside, &view)
    }
}
