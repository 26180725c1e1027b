//! Metrics in the OpenMetrics text format. Counters live here; gauges are taken from the status when asked for, so
//! that what is shown is what is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast_control::Status;
use holdfast_types::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::parts::Shared;
use super::verdicts::Outcome;
use crate::doctor::{Round, State};

type Labels = Vec<(&'static str, String)>;
type Value = Gauge<f64, std::sync::atomic::AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    request: &'static str,
    result: &'static str,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    requests: Family<Request, Counter>,
    request_seconds: Family<Labels, Histogram>,
    reloads: Family<Labels, Counter>,
    verdicts: Family<Labels, Counter>,
    rounds: Mutex<Rounds>,
}

/// What the checks said last.
#[derive(Debug, Default)]
struct Rounds {
    states: Vec<(&'static str, f64)>,
    finished: Option<Timestamp>,
    verified: Option<(u64, Timestamp)>,
}

/// From one millisecond, which a status takes, to the seconds of a rebuild.
fn histogram() -> Histogram {
    Histogram::new([0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0])
}

impl Default for Metrics {
    fn default() -> Metrics {
        let metrics = Metrics {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(histogram),
            reloads: Family::default(),
            verdicts: Family::default(),
            rounds: Mutex::default(),
        };
        // There from the start, so that the first of each is an increase.
        for result in ["ok", "problem"] {
            drop(metrics.reloads.get_or_create(&of_result(result)));
        }
        for outcome in Outcome::ALL {
            drop(metrics.verdicts.get_or_create(&of_result(outcome.as_str())));
        }
        metrics
    }
}

impl Metrics {
    pub(crate) fn note_request(&self, request: &'static str, ok: bool, took: Duration) {
        let result = if ok { "ok" } else { "problem" };
        self.requests.get_or_create(&Request { request, result }).inc();
        let labels = vec![("request", request.to_owned())];
        self.request_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn note_reload(&self, ok: bool) {
        let result = if ok { "ok" } else { "problem" };
        self.reloads.get_or_create(&of_result(result)).inc();
    }

    pub(super) fn note_verdict(&self, outcome: Outcome) {
        self.verdicts.get_or_create(&of_result(outcome.as_str())).inc();
    }

    pub(crate) fn note_round(&self, round: &Round, at: Timestamp) {
        let state = |state: State| match state {
            State::Healthy => 0.0,
            State::Degraded => 1.0,
            State::Failed => 2.0,
            State::Unknown | State::TimedOut | State::NotLooked => 3.0,
        };
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.states = round.findings.iter().map(|f| (f.check, state(f.state))).collect();
        rounds.finished = Some(at);
    }

    pub(crate) fn note_verified(&self, findings: u64, at: Timestamp) {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner).verified = Some((findings, at));
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn render(&self, status: &Status, shared: &Shared) -> String {
        let mut page = Page::default();
        self.own(&mut page);
        the_daemon(&mut page, status, shared);
        the_journal(&mut page, status);
        the_disk(&mut page, status);
        the_notices(&mut page, status);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &page.0);
        text
    }

    fn own(&self, page: &mut Page) {
        let registry = &mut page.0;
        registry.register(
            "holdfast_requests",
            "Requests answered on the local socket",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "holdfast_request",
            "How long a request took",
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        registry.register(
            "holdfast_config_reloads",
            "Times the configuration was read again",
            self.reloads.clone(),
        );
        registry.register(
            "holdfast_webhook_verdicts",
            "Attempts to hand a verdict in over HTTP, by what became of them",
            self.verdicts.clone(),
        );
        let rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let states: Vec<_> = rounds
            .states
            .iter()
            .map(|(check, state)| (vec![("check", (*check).to_owned())], *state))
            .collect();
        page.gauges("holdfast_check_state", "0 healthy, 1 degraded, 2 failed, 3 unknown", states);
        page.gauge(
            "holdfast_check_finished_seconds",
            "When the last round of checks ended, 0 for never",
            unix_or_never(rounds.finished),
        );
        let (findings, at) = rounds.verified.unzip();
        page.gauge(
            "holdfast_verify_finished_seconds",
            "When the journal was last checked whole, 0 for never",
            unix_or_never(at),
        );
        page.gauge(
            "holdfast_verify_findings",
            "What that check found wrong",
            findings.unwrap_or_default() as f64,
        );
    }
}

fn of_result(result: &str) -> Labels {
    vec![("result", result.to_owned())]
}

#[derive(Debug, Default)]
struct Page(Registry);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Value::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    fn gauges(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Value>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }

    fn counters(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }
}

/// Seconds since the epoch. Never is long ago: an alert on what is old must not stay silent about what never was.
fn unix_or_never(at: Option<Timestamp>) -> f64 {
    at.map_or(0.0, |at| at.as_micros() as f64 / 1e6)
}

fn number(yes: bool) -> f64 {
    if yes { 1.0 } else { 0.0 }
}

fn the_daemon(page: &mut Page, status: &Status, shared: &Shared) {
    let version = vec![("version", status.version.clone())];
    page.gauges("holdfast_build_info", "The program", [(version, 1.0)]);
    if let Some(staff) = shared.office.staff() {
        let at = unix_or_never(Some(staff.started));
        page.gauge("holdfast_up_since_seconds", "When the daemon started", at);
    }
    page.gauge("holdfast_healthy", "1 when nothing needs a person", number(status.healthy == Some(true)));
    page.gauge("holdfast_paused", "1 when autonomy is paused", number(status.pause.paused));
    let part = |name: &str| vec![("part", name.to_owned())];
    let up = status.parts.iter().map(|p| {
        let safety = ("safety", p.safety.to_string());
        (vec![("part", p.name.clone()), safety], number(p.state == "running"))
    });
    page.gauges("holdfast_part_up", "1 when the part is alive", up);
    let restarts = status.parts.iter().map(|p| (part(&p.name), p.restarts));
    page.counters("holdfast_part_restarts", "Times the part was started again", restarts);
    let ages = status.parts.iter().map(|p| (part(&p.name), p.silent_seconds));
    page.gauges("holdfast_part_beat_age_seconds", "How long the part has been silent", ages);
    let counts = shared.server.counts();
    page.gauge("holdfast_clients", "Clients of the local socket now", counts.clients as f64);
    page.counters("holdfast_refused_clients", "Clients of other users refused", [(vec![], counts.refused)]);
    if let Some(bytes) = resident() {
        page.gauge("holdfast_resident_bytes", "Memory the daemon holds", bytes);
    }
}

fn the_journal(page: &mut Page, status: &Status) {
    let journal = &status.journal;
    page.gauge("holdfast_journal_entries", "Entries", journal.entries as f64);
    page.gauge(
        "holdfast_journal_checkpointed_entries",
        "Entries under a checkpoint",
        journal.checkpointed as f64,
    );
    page.gauge("holdfast_journal_bytes", "Bytes of segments and packs here", journal.bytes as f64);
    page.gauge("holdfast_journal_cap_bytes", "Beyond this nothing is taken", journal.cap_bytes as f64);
    let lag = status.projections.iter().map(|p| (vec![("projection", p.name.clone())], p.behind as f64));
    page.gauges("holdfast_index_lag_entries", "Entries the projection has not applied", lag);
    // The index is made from the journal and never copied.
    let copied = status.databases.iter().filter(|database| database.name != "index.db");
    let copies = copied
        .map(|database| (vec![("database", database.name.clone())], unix_or_never(database.last_backup)));
    page.gauges("holdfast_backup_finished_seconds", "When the newest copy was made, 0 for never", copies);
}

fn the_disk(page: &mut Page, status: &Status) {
    let disk = &status.disk;
    let used = disk.parts.iter().map(|p| (vec![("part", p.part.clone())], p.bytes as f64));
    page.gauges("holdfast_disk_used_bytes", "What each part uses", used);
    page.gauge("holdfast_disk_budget_bytes", "What all may use", disk.budget_bytes as f64);
    page.gauge("holdfast_disk_free_bytes", "What the file system has left", disk.free_bytes as f64);
}

fn the_notices(page: &mut Page, status: &Status) {
    let sinks: Vec<_> = status.notices.iter().flat_map(|n| &n.sinks).collect();
    let of = |name: &str| vec![("sink", name.to_owned())];
    page.gauges(
        "holdfast_notice_pending",
        "Notices not told yet",
        sinks.iter().map(|s| (of(&s.sink), s.pending as f64)),
    );
    page.counters(
        "holdfast_notice_delivered",
        "Messages accepted",
        sinks.iter().map(|s| (of(&s.sink), s.delivered)),
    );
    page.counters(
        "holdfast_notice_failed",
        "Messages given up",
        sinks.iter().map(|s| (of(&s.sink), s.abandoned)),
    );
}

/// Resident memory, from the kernel's own count of pages.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some((pages * rustix::param::page_size() as u64) as f64)
}
