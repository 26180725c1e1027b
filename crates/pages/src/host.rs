//! Hosts: all of them in a line each, and one of them whole.

use std::time::Duration;

use holdfast_plot::{Band, Figure, State, number as figure_number};
use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Fragment, Frame, frame_fragments, page};
use crate::pieces::{
    Act, LINE_MAX, NAME_MAX, Proof, ROWS_MAX, Trial, act, bdi, count, facts, id, id_copied, line, mark, path,
    plot, section, span_of, spark, state, title, trial, when,
};

/// All hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts {
    pub hosts: Vec<HostLine>,
}

/// A host in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLine {
    pub name: String,
    pub state: State,
    /// Where the word of the state is not enough: "kept, on probation".
    pub word: Option<String>,
    pub level: Level,
    /// The sentence about what changed on it and lasts.
    pub noticed: Option<String>,
    /// What the small line shows: "memory pressure", its values oldest first, the unit, the latest.
    pub metric: String,
    pub values: Vec<Option<f64>>,
    pub unit: String,
    /// What is normal here.
    pub normal: Option<Band>,
    pub latest: Option<f64>,
    /// When it was reached last.
    pub seen: Option<Timestamp>,
}

/// What a host lets the steward do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Observe,
    Plan,
    ApproveEach,
    TierOne,
    TierTwo,
}

impl Level {
    pub const ALL: [Level; 5] =
        [Level::Observe, Level::Plan, Level::ApproveEach, Level::TierOne, Level::TierTwo];

    pub fn word(self) -> &'static str {
        match self {
            Level::Observe => "observe",
            Level::Plan => "plan",
            Level::ApproveEach => "approve-each",
            Level::TierOne => "tier-one",
            Level::TierTwo => "tier-two",
        }
    }

    /// By the word the steward uses; what is not known is no level.
    pub fn of(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.word() == word)
    }

    /// What it means.
    pub fn sentence(self) -> &'static str {
        match self {
            Level::Observe => "It is measured, and nothing else happens.",
            Level::Plan => "Changes are proposed for you to read; none is tried.",
            Level::ApproveEach => "A change is tried once you have approved it.",
            Level::TierOne => {
                "Small changes are tried without asking, and undone unless they prove themselves."
            }
            Level::TierTwo => {
                "Small changes are tried without asking, and larger ones once you have approved them."
            }
        }
    }
}

/// A host, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    pub name: String,
    pub state: State,
    pub word: Option<String>,
    pub level: Level,
    pub driver: String,
    /// How many times faster than real time it lives; 1 for a real one.
    pub speed: u32,
    /// What is gone back to; absent before it was taken in.
    pub known_good: Option<String>,
    pub noticed: Option<Noticed>,
    /// Why nothing works on it, if nothing does.
    pub trouble: Option<String>,
    pub breaker_open: bool,
    pub drifted: bool,
    /// Until a cycle runs without a reason.
    pub next_routine: Option<Duration>,
    /// When everything that has to be read was read last, and whether that is too long ago.
    pub last_success: Option<Timestamp>,
    pub stale: bool,
    /// Times it was reached in the span that is shown, in words: "8,412 in 7 days".
    pub observations: Option<String>,
    /// Reads that failed, each in a sentence.
    pub failed: Vec<String>,
    pub figures: Vec<Figure>,
    pub anomalies: Vec<Anomaly>,
    pub units: Vec<Unit>,
    /// The episode under way.
    pub open: Option<Trial>,
    /// Episodes, the latest first.
    pub episodes: Vec<EpisodeLine>,
    /// Earlier ones that are not in the list.
    pub episodes_left_off: u64,
}

/// What changed on a host and lasts.
#[derive(Clone, Debug, PartialEq)]
pub struct Noticed {
    pub sentence: String,
    pub began: Option<Timestamp>,
}

/// Something that is wrong on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Anomaly {
    /// `host`, or `unit/` and its name.
    pub scope: String,
    pub message: String,
    pub since: Timestamp,
    pub times: u64,
}

/// Means of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub name: String,
    pub memory_mib: Option<f64>,
    /// Processors in use.
    pub cpu: Option<f64>,
    /// Memory pressure in percent.
    pub pressure: Option<f64>,
    pub samples: u64,
}

/// An episode in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeLine {
    pub id: String,
    pub state: State,
    pub word: Option<String>,
    /// Why it was begun, as a phrase after "because".
    pub why: String,
    pub change: Option<String>,
    pub opened: Timestamp,
    pub ended: Option<Timestamp>,
}

/// `/hosts`.
pub fn hosts(frame: &Frame, view: &Hosts) -> String {
    page(frame, "Hosts", html! { (title(None, html! { "Hosts" })) (list(frame, view)) })
}

pub fn hosts_fragments(frame: &Frame, view: &Hosts) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.push(Fragment::new("hosts", list(frame, view)));
    all
}

fn list(frame: &Frame, view: &Hosts) -> Markup {
    html! {
        div #hosts {
            @if view.hosts.is_empty() {
                p.lead { "Nothing is looked after yet." }
                p { "Here stands every machine that Holdfast measures and, as far as you let it, improves. Take one in: "
                    code { "holdfast target add" } ". It is only observed until you say more." }
            } @else {
                (host_rows(frame, &view.hosts))
            }
        }
    }
}

/// Hosts, a line each.
pub(crate) fn host_rows(frame: &Frame, hosts: &[HostLine]) -> Markup {
    html! {
        ul.rows.hosts {
            @for host in hosts.iter().take(ROWS_MAX) {
                li.row {
                    (mark(host.state))
                    div.main {
                        p {
                            a.name href=(path(&["hosts", &host.name])) { (bdi(&host.name, NAME_MAX)) }
                            " " span.word { (line(host.word.as_deref().unwrap_or(host.state.word()), NAME_MAX)) }
                        }
                        @if let Some(noticed) = &host.noticed { p { (bdi(noticed, LINE_MAX)) } }
                        p.note {
                            (host.level.word())
                            @if let Some(seen) = host.seen { " · seen " (when(frame.now, seen)) } @else { " · never seen" }
                        }
                    }
                    div.measure {
                        (spark(&host.metric, &host.values, host.normal))
                        @if let Some(latest) = host.latest.filter(|it| it.is_finite()) {
                            p.note { (line(&host.metric, NAME_MAX)) " " b { (figure_number(latest)) " " (line(&host.unit, 8)) } }
                        }
                    }
                }
            }
        }
    }
}

/// `/hosts/{name}`.
pub fn host(frame: &Frame, view: &Host) -> String {
    let body = html! {
        (title(Some(("/hosts", "Hosts")), bdi(&view.name, NAME_MAX)))
        (standing(frame, view))
        (under_way(frame, view))
        (plots(view))
        (wrong(frame, view))
        (episodes(frame, view))
        (units(view))
        (orders(frame, view))
    };
    page(frame, &view.name, body)
}

/// What of it changes while it is open. The orders are not among it: nobody's hand should be on something that moves.
pub fn host_fragments(frame: &Frame, view: &Host) -> Vec<Fragment> {
    let mut all = frame_fragments(frame);
    all.extend([
        Fragment::new("host-state", standing(frame, view)),
        Fragment::new("host-trial", under_way(frame, view)),
        Fragment::new("host-plots", plots(view)),
        Fragment::new("host-wrong", wrong(frame, view)),
        Fragment::new("host-episodes", episodes(frame, view)),
    ]);
    all
}

fn standing(frame: &Frame, view: &Host) -> Markup {
    let word = view.word.as_deref().unwrap_or(view.state.word());
    html! {
        div #host-state data-say={ (line(&view.name, NAME_MAX)) ": " (line(word, NAME_MAX)) } {
            p.lead { (state(view.state, view.word.as_deref())) }
            @if let Some(noticed) = &view.noticed {
                p.sentence { (bdi(&noticed.sentence, LINE_MAX)) }
            }
            @if let Some(trouble) = &view.trouble { p { (mark(State::Failed)) (bdi(trouble, LINE_MAX)) } }
            @if view.drifted {
                p { (mark(State::NeedsYou)) "It is not what it was left as. Look, then " a href="#host-orders" { "accept it" } "." }
            }
            @if view.breaker_open {
                p { (mark(State::NeedsYou)) "The breaker is open: nothing is tried until it is " a href="#host-orders" { "reset" } "." }
            }
            @if view.stale { p { (mark(State::Unknown)) "What was measured last is too old to decide anything by." } }
            (facts(&[
                ("level", Some(html! { b { (view.level.word()) } ": " (view.level.sentence()) })),
                ("noticed", view.noticed.as_ref().and_then(|it| it.began).map(|at| html! { "began " (when(frame.now, at)) })),
                ("known good", Some(view.known_good.as_ref().map_or_else(|| html! { "not taken in yet" }, |it| id_copied(it)))),
                ("driver", Some(html! {
                    @if view.driver == "sim" { "sim, a modelled host inside the daemon" } @else { (line(&view.driver, NAME_MAX)) }
                    @if view.speed > 1 { ", accelerated " (view.speed) "×" }
                })),
                ("measured", Some(measured(frame, view))),
                ("routine", view.next_routine.map(|it| html! { "plans without a reason in " (span_of(it)) @if view.speed > 1 { " of its time" } })),
            ]))
        }
    }
}

fn measured(frame: &Frame, view: &Host) -> Markup {
    html! {
        @match view.last_success {
            Some(at) => { "all of it " (when(frame.now, at)) },
            None => "never as a whole",
        }
        @if let Some(times) = &view.observations { ", " (line(times, NAME_MAX)) }
    }
}

fn under_way(frame: &Frame, view: &Host) -> Markup {
    match &view.open {
        None => html! { div #host-trial {} },
        Some(open) => section("host-trial", "Under way", html! { div.inset { (trial(frame, open)) } }),
    }
}

fn plots(view: &Host) -> Markup {
    section(
        "host-plots",
        "Measured",
        html! {
            @if view.figures.is_empty() {
                p { "Nothing was measured yet. The first figures come with the next collection." }
            } @else {
                div.plots { @for figure in view.figures.iter().take(24) { (plot(&said_once(figure, view))) } }
            }
        },
    )
}

/// What the page says of the whole host is not said again below each plot.
fn said_once(figure: &Figure, view: &Host) -> Figure {
    let above = view.noticed.as_ref().map(|noticed| &noticed.sentence);
    Figure { sentence: figure.sentence.clone().filter(|said| Some(said) != above), ..figure.clone() }
}

fn wrong(frame: &Frame, view: &Host) -> Markup {
    if view.anomalies.is_empty() && view.failed.is_empty() {
        return html! { div #host-wrong {} };
    }
    section(
        "host-wrong",
        "What is wrong now",
        html! {
            ul.rows {
                @for anomaly in view.anomalies.iter().take(ROWS_MAX) {
                    li.row {
                        (mark(State::NeedsYou))
                        p.main { b { (bdi(&anomaly.scope, NAME_MAX)) } ": " (bdi(&anomaly.message, LINE_MAX)) }
                        span.side { (when(frame.now, anomaly.since)) ", " (count(anomaly.times, "time", "times")) }
                    }
                }
                @for failed in view.failed.iter().take(ROWS_MAX) {
                    li.row { (mark(State::Unknown)) p.main { "not read: " (bdi(failed, LINE_MAX)) } }
                }
            }
        },
    )
}

fn episodes(frame: &Frame, view: &Host) -> Markup {
    section(
        "host-episodes",
        "Episodes",
        html! {
            @if view.episodes.is_empty() {
                p { "No change was ever considered here." }
            } @else {
                ul.rows {
                    @for episode in view.episodes.iter().take(ROWS_MAX) {
                        li.row {
                            (mark(episode.state))
                            div.main {
                                p {
                                    a href=(path(&["episodes", &episode.id])) {
                                        (bdi(episode.change.as_deref().unwrap_or("nothing was proposed"), LINE_MAX))
                                    }
                                    " " span.word { (line(episode.word.as_deref().unwrap_or(episode.state.word()), NAME_MAX)) }
                                }
                                p.note { "because " (bdi(&episode.why, LINE_MAX)) " · " (id(&episode.id)) }
                            }
                            span.side { (when(frame.now, episode.ended.unwrap_or(episode.opened))) }
                        }
                    }
                }
                @if view.episodes_left_off > 0 {
                    p.note { (count(view.episodes_left_off, "earlier one is", "earlier ones are")) " in the journal: "
                        code { "holdfast steward episodes" } "." }
                }
            }
        },
    )
}

fn units(view: &Host) -> Markup {
    let cell = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| "–".to_owned(), |it| format!("{} {unit}", figure_number(it)))
    };
    html! {
        @if !view.units.is_empty() {
            (section("host-units", "Units", html! {
                div.wide tabindex="0" role="group" aria-label="Units, as a table" {
                    table {
                        thead { tr { th scope="col" { "unit" } th.n scope="col" { "memory" } th.n scope="col" { "processors" } th.n scope="col" { "pressure" } th.n scope="col" { "samples" } } }
                        tbody {
                            @for unit in view.units.iter().take(ROWS_MAX) {
                                tr {
                                    th scope="row" { (bdi(&unit.name, NAME_MAX)) }
                                    td.n { (cell(unit.memory_mib, "MiB")) }
                                    td.n { (cell(unit.cpu, "")) }
                                    td.n { (cell(unit.pressure, "%")) }
                                    td.n { (crate::pieces::number(unit.samples)) }
                                }
                            }
                        }
                    }
                }
            }))
        }
    }
}

/// What can be told the steward about this host.
fn orders(frame: &Frame, view: &Host) -> Markup {
    section(
        "host-orders",
        "Orders",
        html! {
            @if frame.may_act() {
                div.acts {
                    @for order in open_orders(view) { (act(frame, order)) }
                    (level_order(frame, view))
                }
            } @else {
                p { "You may look. Orders are given by operators and owners." }
            }
        },
    )
}

fn open_orders(view: &Host) -> Vec<Act<'static>> {
    let order = |word, verb, what, undo, harm| Act {
        word,
        to: path(&["hosts", &view.name, verb]),
        what,
        undo,
        harm,
        proof: Proof::No,
        instead: "",
        fields: html! {},
    };
    let proved = |instead, act| Act { proof: Proof::Passkey, instead, ..act };
    let mut all = Vec::new();
    if view.drifted {
        all.push(proved("holdfast steward accept", order(
            "Accept it as it is", "accept",
            "The host is not what it was left as. Accepting makes what runs there now the known good that is gone back to.",
            "To undo it, roll the host back to the generation before on the host itself.", false,
        )));
    }
    if view.breaker_open {
        all.push(proved("holdfast steward reset", order(
            "Reset the breaker", "reset",
            "Too many trials in a row were undone, so nothing is tried. After a reset trials begin again as the level allows.",
            "To undo it, set the level to observe.", false,
        )));
    }
    all.push(order(
        "Look for an improvement now", "trigger",
        "A cycle begins at once, without a reason: it measures, plans, and goes on as far as the level allows.",
        "To undo it, roll back: whatever is on trial is taken back.", false,
    ));
    if view.open.is_some() {
        all.push(order(
            "Roll back",
            "rollback",
            "The change under way is taken back now, and the host runs what is known good.",
            "It can be proposed again later; what was learnt from it stays.",
            true,
        ));
    }
    all
}

fn level_order(frame: &Frame, view: &Host) -> Markup {
    let fields = html! {
        fieldset.choice {
            legend { "What it lets the steward do" }
            @for level in Level::ALL {
                label.check {
                    input type="radio" name="level" value=(level.word()) checked[level == view.level];
                    span { b { (level.word()) } " " (level.sentence()) }
                }
            }
        }
    };
    act(
        frame,
        Act {
            word: "Set the level",
            to: path(&["hosts", &view.name, "level"]),
            what: "From the next moment on the host is treated by this level. A higher one is given rung by rung, when the host has earned it.",
            undo: "To undo it, set the level back; observe stops everything on this host.",
            harm: false,
            proof: Proof::PasskeyUnless("level=observe"),
            instead: "holdfast steward level",
            fields,
        },
    )
}
