//! `holdfast up`: the daemon, in the foreground.
//!
//! Everything is read and opened before anything is promised: configuration, journal, index, the doors (the
//! local socket, health over HTTP, and verdicts over HTTP where that is wanted). Then the parts run under the supervisor (`parts.rs`) until a signal or
//! `holdfast down` says stop; doors close first, work ends within the grace, and what was cut off is said and
//! written down. `http.rs` answers health and metrics, `verdicts.rs` takes signed verdicts, `log.rs` sets up the log.

mod bounded_log;
mod care;
mod checks;
mod descriptors;
mod doors;
mod health;
mod history;
mod http;
mod index;
mod inherited;
mod letter;
mod log;
mod memory;
mod metrics;
mod pace;
mod parts;
mod pulse;
mod steward;
mod threads;
mod verdicts;

pub(crate) use descriptors::{allowed as descriptors_allowed, give_spare};
pub(crate) use doors::{Bound, Doors};
pub(crate) use parts::Shared;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use holdfast_config::Config;
use holdfast_control::{Limits, Server, Unfinished};
use holdfast_supervisor::{Stopped, Supervisor};
use holdfast_types::Exit;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::commands::config;
use crate::console::Console;
use crate::house::{House, say_what_was_mended};
use crate::kinds::{STARTED, STOPPED, own_draft};
use crate::look::{Shape, entries};
use crate::office::{Office, Staff};
use crate::problem::{CliError, Failure, Result};
use crate::settings::Overlay;
use crate::{init, settings};
use inherited::Inherited;

/// Run the daemon in the foreground
///
/// Makes the home first where there is none. Stops on Ctrl-C, on SIGTERM and by `holdfast down`; SIGHUP reads the
/// configuration again. Under systemd it says when it is ready and answers the watchdog.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields, in one object when it is ready: ready, pid, socket, health, verdicts (where signed verdicts are taken; null for nowhere), gateway (where people sign in; null for nowhere), entries. JSON fields, in one more when it has \
stopped: stopped, cut_off[], seconds. Where it made the home first, the answer of `holdfast init` comes before. With --dry-run: home (whether one is there), health, verdicts, entries, dry_run.")]
pub(crate) struct UpArgs {
    /// Lay a setting over the configuration, for instance health.listen=127.0.0.1:9195
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Check the configuration, the journal and the address, and start nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &UpArgs, house: &House, console: &mut Console) -> Result<Exit> {
    // First of all, while nothing else can have their numbers.
    let mut inherited = Inherited::of_this_process();
    let overlay = Overlay::of_this_process(&args.set);
    // A wrong configuration ends here: no port is open and no file is written.
    let loaded = config::loaded(settings::load(&house.places, &overlay), console)?;
    if args.dry_run {
        return dry_run(house, &loaded.config, console);
    }
    let level = log::start(&loaded.config.log);
    descriptors::raise();
    descriptors::keep_spare();
    let new = !house.places.has_journal();
    // A new home is made only when it can be served. In one that is there another daemon is the better news.
    let doors = new.then(|| Doors::open(&loaded.config, &mut inherited)).transpose()?;
    if new {
        init::first_time(house, console)?;
    }
    let office = Arc::new(open(house, &overlay, console)?);
    let doors = doors.map_or_else(|| Doors::open(&loaded.config, &mut inherited), Ok)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Every client's request may take one, the gateway has so many seats, and the checks want theirs: whoever has a seat finds a thread.
        .max_blocking_threads(loaded.config.control.clients_max as usize + crate::gateway::THREADS + 16)
        .thread_keep_alive(threads::KEPT_FOR)
        .thread_name("holdfast")
        .enable_all()
        .build()
        .map_err(|source| CliError::Start { what: "the runtime", source })?;
    threads::reserve(runtime.handle());
    let ended = runtime.block_on(serve(office.clone(), doors, level, console));
    // Whatever still blocks a thread is read-only or has been told to stop; the process does not wait for it.
    runtime.shutdown_timeout(Duration::from_millis(200));
    drop(office);
    ended
}

/// Says what stands in the way, as far as that can be seen without opening anything.
fn dry_run(house: &House, config: &Config, console: &mut Console) -> Result<Exit> {
    let path = house.places.socket();
    if holdfast_control::connect(&path)?.is_some() {
        return Err(holdfast_control::Error::Taken { path }.problem().into());
    }
    let there = house.places.has_journal();
    let size = if there { house.view(&Default::default())?.size()? } else { 0 };
    Doors::open(config, &mut Inherited::default())?;
    let address = format!("http://{}/health", config.health.listen);
    if console.is_json() {
        let verdicts = config.approvals.webhook.listen.map(where_verdicts_are_taken);
        console.json(
            &json!({"home": there, "health": address, "verdicts": verdicts, "entries": size, "dry_run": true}),
        )?;
    } else {
        let mark = console.out_style.shape(Shape::Unknown);
        let first = if there { entries(size) } else { "would make a home first".to_owned() };
        console.line(&format!("{mark} would come up: {first}, health at {address}"))?;
    }
    Ok(Exit::Ok)
}

/// Opens the office; another command that has the journal is given a moment.
fn open(house: &House, overlay: &Overlay, console: &Console) -> Result<Office> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match Office::open(house, overlay) {
            Err(e) if crate::office::is_busy(&e) => {
                if holdfast_control::connect(&house.places.socket())?.is_some() {
                    let path = house.places.socket();
                    return Err(holdfast_control::Error::Taken { path }.problem().into());
                }
                if Instant::now() >= deadline {
                    return Err(e);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e),
            Ok(office) => {
                say_what_was_mended(&office.journal, console);
                return Ok(office);
            }
        }
    }
}

/// Where the doors are in fact.
#[derive(Clone, Debug)]
struct Addresses {
    health: SocketAddr,
    verdicts: Option<SocketAddr>,
    /// Loopback addresses that would be held and that this machine does not have.
    without: Vec<String>,
}

impl Addresses {
    fn of(doors: &Doors) -> Result<Addresses> {
        let without = doors.all().filter_map(|bound| bound.without).map(|it| it.to_string());
        Ok(Addresses {
            health: doors.health.address()?,
            verdicts: doors.verdicts.as_ref().map(Bound::address).transpose()?,
            without: without.collect(),
        })
    }
}

fn where_verdicts_are_taken(address: SocketAddr) -> String {
    format!("http://{address}{}", letter::PATH)
}

/// From ready to stopped.
async fn serve(
    office: Arc<Office>,
    mut doors: Doors,
    level: log::Level,
    console: &mut Console,
) -> Result<Exit> {
    let mut signals = Signals::new()?;
    let loaded = office.config();
    let limits = Limits { clients_max: loaded.config.control.clients_max as usize, ..Limits::default() };
    let places = office.house.places.clone();
    holdfast_durable::create_dir(&places.run).map_err(|e| crate::house::writing(&places.run, e))?;
    let server = Arc::new(Server::bind(&places.socket(), limits, env!("CARGO_PKG_VERSION"))?);
    office.prepare()?;
    let shared = parts::Shared::new(office.clone(), server.clone());
    let addresses = Addresses::of(&doors)?;
    let listening = doors.listening()?;
    let idle = doors.idle.split_off(0);
    let supervisor = Supervisor::start(parts::all(&shared, doors)?);
    let stop = CancellationToken::new();
    tokio::spawn(let_go(idle, stop.clone()));
    office.hire(Staff {
        started: office.clock.now(),
        started_monotonic: office.clock.monotonic(),
        board: supervisor.board(),
        notices: shared.notices.clone(),
        findings: shared.findings.clone(),
        stop: stop.clone(),
        listening,
        apply: Box::new(level),
    });
    shared.open_the_doors();
    say_ready(&office, &addresses, console)?;
    notify(&[sd_notify::NotifyState::Ready]);
    wait(&mut signals, &stop, &office, &shared).await;
    notify(&[sd_notify::NotifyState::Stopping]);
    let grace = Duration::from_secs(u64::from(loaded.config.shutdown.grace_seconds));
    let stopped = tokio::select! {
        // The second signal means now. Nothing acknowledged is lost by it.
        () = signals.stop() => Stopped { cut_off: vec!["everything"], unfinished: vec![], took: Duration::ZERO },
        stopped = supervisor.stop(grace) => stopped,
    };
    say_stopped(&office, &server.under_way(), stopped, console)
}

/// Whoever comes to an address that is held for nobody is let go at once, rather than left waiting.
async fn let_go(idle: Vec<std::net::TcpListener>, stop: CancellationToken) {
    if idle.is_empty() {
        return;
    }
    let Ok(idle) = holdfast_door::Listening::from_std(idle) else { return };
    loop {
        tokio::select! {
            // Nobody is kept here.
            () = stop.cancelled() => return,
            accepted = idle.accept() => {
                if accepted.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn wait(signals: &mut Signals, stop: &CancellationToken, office: &Arc<Office>, shared: &parts::Shared) {
    loop {
        tokio::select! {
            // Signals are kept by the runtime, and the token stays cancelled: dropping loses nothing.
            () = stop.cancelled() => return,
            told = signals.next() => {
                if told == Told::Stop {
                    return;
                }
                // In a task of its own: a stop must not wait for a secret that takes its time.
                tokio::spawn(reload(office.clone(), shared.metrics.clone()));
            }
        }
    }
}

async fn reload(office: Arc<Office>, metrics: Arc<metrics::Metrics>) {
    let done = tokio::task::spawn_blocking(move || office.reload()).await;
    metrics.note_reload(matches!(done, Ok(Ok(_))));
    match done {
        Ok(Ok(done)) => info!(
            live = done.live.len(),
            needs_restart = done.needs_restart.len(),
            "configuration read again"
        ),
        Ok(Err(Failure::Problem(problem))) => {
            error!(code = %problem.code, why = problem.what, "configuration not taken, the old one stays");
        }
        Ok(Err(Failure::ReaderLeft)) | Err(_) => error!("configuration could not be read again"),
    }
}

fn say_ready(office: &Office, addresses: &Addresses, console: &mut Console) -> Result<()> {
    let Addresses { health, verdicts, without } = addresses;
    let verdicts = verdicts.map(where_verdicts_are_taken);
    let gateway = gateway_told(office);
    let socket = office.house.places.socket();
    let size = office.journal.size();
    if console.is_json() {
        let pid = std::process::id();
        let health = format!("http://{health}/health");
        console.json(&json!({
            "ready": true, "pid": pid, "socket": socket, "health": health, "verdicts": verdicts, "gateway": gateway,
            "entries": size,
        }))?;
    } else {
        let mark = console.out_style.shape(Shape::Settled);
        let (origin, size) = (office.journal.origin(), entries(size));
        console.line(&format!("{mark} up: {origin}, {size}, health at http://{health}/health"))?;
        if let Some(gateway) = gateway {
            console.line(&format!("  people sign in at {gateway}"))?;
        }
        if let Some(verdicts) = verdicts {
            console.line(&format!("  signed verdicts are taken at {verdicts}"))?;
        }
        if !without.is_empty() {
            console.line(&format!(
                "  this machine does not have {}: the other loopback alone is held",
                without.join(", ")
            ))?;
        }
        // The switch alone: what the journal says of it is not known yet, and that is no news for a person.
        if office.switch.standing().is_paused() {
            let mark = console.out_style.shape(Shape::Paused);
            console.line(&format!(
                "{mark} autonomy is paused; `{} resume --all` lets it go on",
                office.house.places.program()
            ))?;
        }
    }
    match console.flush() {
        // Nobody reads what the daemon says on stdout: it goes on all the same.
        Ok(()) | Err(Failure::ReaderLeft) => Ok(()),
        other => other,
    }
}

/// Where people sign in, where they can.
fn gateway_told(office: &Office) -> Option<String> {
    let loaded = office.config();
    let address =
        crate::gateway::address_of(&loaded.config).ok().filter(|_| loaded.config.gateway.enabled)?;
    Some(address.origin().ascii_serialization())
}

/// Says and writes down what was cut off, and closes.
fn say_stopped(
    office: &Office,
    unfinished: &[Unfinished],
    stopped: Stopped,
    console: &mut Console,
) -> Result<Exit> {
    let mut cut_off: Vec<String> = stopped.cut_off.iter().map(|part| (*part).to_owned()).collect();
    cut_off.extend(stopped.unfinished.iter().map(|(part, why)| format!("{part}: {why}")));
    cut_off.extend(unfinished.iter().map(unfinished_in_words));
    let entry = own_draft(&STOPPED, json!({"cut_off": cut_off}))?;
    // A disk that is full must not keep the daemon from stopping.
    if let Err(e) = office.journal.append(&entry) {
        warn!(error = %e, "the stop could not be written down");
    }
    let seconds = stopped.took.as_secs_f64();
    let said = if console.is_json() {
        console.json(&json!({"stopped": true, "cut_off": cut_off, "seconds": seconds}))
    } else if cut_off.is_empty() {
        let mark = console.out_style.shape(Shape::Settled);
        console.line(&format!("{mark} stopped after {seconds:.1} s, nothing was cut off"))
    } else {
        let mark = console.out_style.shape(Shape::NeedsYou);
        console.line(&format!("{mark} stopped after {seconds:.1} s; cut off: {}", cut_off.join("; ")))
    };
    match said {
        Ok(()) | Err(Failure::ReaderLeft) => {}
        Err(e) => return Err(e),
    }
    Ok(if cut_off.is_empty() { Exit::Ok } else { Exit::Negative })
}

fn unfinished_in_words(request: &Unfinished) -> String {
    let at = request.step.as_ref().map(|step| format!(" at {} {}", step.done, step.unit)).unwrap_or_default();
    format!("the request {} of uid {}{at}", request.request, request.peer.uid)
}

pub(crate) fn notify(states: &[sd_notify::NotifyState<'_>]) {
    // No systemd, nobody to tell.
    let _ = sd_notify::notify(states);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Stop,
    Reload,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Signals> {
        let on = |kind| signal(kind).map_err(|source| CliError::Start { what: "signal handling", source });
        Ok(Signals {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: on(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            // A signal that came stays for the next call.
            _ = self.terminate.recv() => Told::Stop,
            _ = self.interrupt.recv() => Told::Stop,
            _ = self.hang_up.recv() => Told::Reload,
        }
    }

    async fn stop(&mut self) {
        while self.next().await != Told::Stop {}
    }
}

impl Office {
    /// What a daemon does once before it answers: index open, switch and journal agreed, channels set up.
    fn prepare(&self) -> Result<()> {
        self.switch.keep();
        self.switch.arm();
        self.index()?;
        if let Some(aside) = self.index_opened().and_then(|opened| opened.set_aside.as_ref()) {
            warn!(kept_in = %aside.kept_in.display(), why = aside.why, "the index was damaged and is made anew");
        }
        // Samples are not worth a start: the checks say what is wrong with them.
        if let Err(failure) = self.samples() {
            let holdfast_supervisor::Failed(why) = index::failed(failure);
            warn!(why, "samples cannot be kept");
        }
        index::settle_if_near(self)?;
        self.channels.send_replace(settings::channels(
            &self.config().config,
            &self.house.places,
            &self.clock,
        )?);
        let loaded = self.config();
        let set: Vec<String> = loaded
            .rows()
            .into_iter()
            .filter(|row| row.layer != holdfast_config::Layer::Default)
            .map(|row| format!("{} by {}", row.path, row.layer))
            .collect();
        let digest =
            holdfast_types::Digest::blake3(*blake3::hash(loaded.effective_text().as_bytes()).as_bytes());
        let body = json!({"version": env!("CARGO_PKG_VERSION"), "configuration": digest.to_string(), "not_default": set});
        // A journal that takes nothing more is when people need status, health and notices most.
        if let Err(e) = self.journal.append(&own_draft(&STARTED, body)?) {
            warn!(error = %e, "the start could not be written down");
        }
        Ok(())
    }
}

/// Findings that every part may read and only the checks write.
pub(crate) type Findings = Arc<Mutex<Vec<String>>>;
