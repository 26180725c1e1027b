//! Every page in every state: what the tests look at and the gallery shows. One builder per view, so that a state names
//! only what is different about it.

#![allow(dead_code, reason = "the gallery and each test use a part of it")]
#![allow(clippy::unwrap_used, reason = "a sample that cannot be made should stop")]

mod worst;

use std::time::Duration;

use holdfast_pages::*;
use holdfast_types::{Timestamp, Trust};

/// A page, by a name that fits a file.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    /// Where it would be served.
    pub(crate) path: &'static str,
    pub(crate) html: String,
}

pub(crate) const NOW: &str = "2026-11-18T09:30:00.000000Z";

pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub(crate) fn ago(seconds: u64) -> Timestamp {
    Timestamp::from_micros(now().as_micros() - seconds as i64 * 1_000_000).unwrap()
}

pub(crate) fn later(seconds: u64) -> Timestamp {
    now().plus(Duration::from_secs(seconds))
}

pub(crate) fn all() -> Vec<Sample> {
    let mut all = outside_pages();
    all.extend(typical());
    all.extend(empty());
    all.extend(worst::worst());
    all
}

// ---- text nobody honest writes

pub(crate) fn nasty() -> String {
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> \u{202e}gnikcah\u{202c} مرحبا بالعالم & ]]>"
        .to_owned()
}

pub(crate) fn endless() -> String {
    "x".repeat(10_000)
}

// ---- frames

pub(crate) fn frame(place: Place) -> Frame {
    Frame {
        place,
        now: now(),
        house: "holdfast/web-1".into(),
        person: Person { name: "Ana".into(), role: Role::Owner },
        csrf: "anti-forgery".into(),
        inbox_open: 2,
        pause: Pause::GoesOn,
        live: None,
        theme: Theme::System,
        note: None,
    }
}

pub(crate) fn quiet(place: Place) -> Frame {
    Frame { inbox_open: 0, ..frame(place) }
}

pub(crate) fn viewer(place: Place) -> Frame {
    Frame { person: Person { name: "Bea".into(), role: Role::Viewer }, ..frame(place) }
}

pub(crate) fn hostile(place: Place) -> Frame {
    Frame {
        house: nasty(),
        person: Person { name: endless(), role: Role::Owner },
        inbox_open: u64::MAX,
        pause: Pause::Paused { since: None, by: Some(nasty()), reason: Some(endless()) },
        note: Some(Note { state: State::Failed, said: nasty() }),
        live: Some("/live?page=\"><script>".into()),
        csrf: "\"><script>alert(3)</script>".into(),
        ..frame(place)
    }
}

pub(crate) fn outside() -> Outside {
    Outside { house: "holdfast/web-1".into(), theme: Theme::System }
}

// ---- pieces

pub(crate) fn score() -> Score {
    use Probe::{Fail, Grace, Inconclusive, Pass};
    Score {
        cycles: vec![Grace, Grace, Pass, Pass, Fail, Pass, Inconclusive, Pass, Pass],
        planned: 20,
        score: 5,
        rule: "kept with a score of at least 12 in 20 cycles".into(),
    }
}

pub(crate) fn countdown() -> Countdown {
    Countdown { left_seconds: 252, whole_seconds: Some(600), as_of: now(), speed: 1 }
}

pub(crate) fn a_trial() -> Trial {
    Trial {
        episode: "ep_0c5a1f3b9d2e40000000000003".into(),
        host: "web-1".into(),
        phase: "verifying".into(),
        why: "memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed".into(),
        change: Some("postgresql.service: MemoryHigh from 1024 MiB to 1536 MiB".into()),
        lease: Some(countdown()),
        score: Some(score()),
        needs_you: false,
    }
}

fn figure(title: &str, unit: &str, calm: f64, shifted: Option<f64>) -> Figure {
    let end = now().as_micros() / 1000;
    let start = end - 7 * 3_600_000;
    let step = 60_000;
    let wobble = |n: i64| ((n * 37 % 11) as f64 - 5.0) / 5.0;
    let value = |n: i64| {
        let level = if n > 240 { shifted.unwrap_or(calm) } else { calm };
        (!(120..135).contains(&n)).then(|| (level + wobble(n) * level * 0.15).max(0.0))
    };
    let points = (0..420).map(|n| Point { at_ms: start + n * step, value: value(n) }).collect();
    Figure {
        title: title.into(),
        sentence: shifted.map(|to| format!("{title} on web-1 rose from {calm} {unit} to {to} {unit} at 03:14 and stayed (almost certain).")),
        series: vec![Series { name: title.into(), points, gap_after_ms: Some(300_000) }],
        band: Some(Band { low: calm * 0.7, high: calm * 1.3 }),
        began: shifted.map(|_| Mark { at_ms: start + 240 * step, word: "began".into() }),
        moments: shifted.map(|_| Moment { at_ms: start + 300 * step, state: State::OnTrial, word: "trial".into() }).into_iter().collect(),
        threshold: None,
        unit: unit.into(),
        span_ms: Some((start, end)),
        least: Some((0.0, calm * 2.0)),
        now_ms: Some(end),
    }
}

fn figures() -> Vec<Figure> {
    vec![
        figure("Memory pressure", "%", 2.0, Some(31.0)),
        figure("Processor pressure", "%", 12.0, None),
        figure("Disk reads", "MB/s", 42.0, None),
        figure("Answers of /health", "ms", 18.0, Some(64.0)),
    ]
}

fn values(calm: f64, high: f64) -> Vec<Option<f64>> {
    (0..60).map(|n| Some(if n > 40 { high } else { calm } + (n * 7 % 5) as f64 * 0.3)).collect()
}

fn host_line(name: &str, state: State) -> HostLine {
    HostLine {
        name: name.into(),
        state,
        word: None,
        level: Level::TierOne,
        noticed: None,
        metric: "memory pressure".into(),
        values: values(2.0, 2.5),
        unit: "%".into(),
        normal: Some(Band { low: 0.0, high: 10.0 }),
        latest: Some(2.4),
        seen: Some(ago(20)),
    }
}

fn host_lines() -> Vec<HostLine> {
    vec![
        HostLine {
            noticed: Some("Memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed.".into()),
            values: values(2.0, 30.0),
            latest: Some(31.2),
            ..host_line("web-1", State::OnTrial)
        },
        HostLine { level: Level::ApproveEach, ..host_line("db-1", State::NeedsYou) },
        host_line("mail-1", State::Settled),
        HostLine {
            word: Some("not taken in yet".into()),
            level: Level::Observe,
            values: vec![],
            latest: None,
            seen: None,
            ..host_line("attic", State::Unknown)
        },
    ]
}

fn told(seconds: u64, what: &str, state: Option<State>, entry: u64) -> Told {
    Told { at: ago(seconds), seconds: None, what: what.into(), state, entry: Some(entry), href: None }
}

fn story_lines() -> Vec<Told> {
    vec![
        told(
            460,
            "opened because memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed",
            None,
            4_812,
        ),
        told(455, "asked the brain", None, 4_813),
        told(
            440,
            "cleared by 8 gates: postgresql.service: MemoryHigh from 1024 MiB to 1536 MiB",
            None,
            4_815,
        ),
        told(421, "arms the lease", None, 4_818),
        told(420, "tries gen-42 in place of gen-41", Some(State::OnTrial), 4_819),
        told(360, "seen running; the window begins", None, 4_822),
    ]
    .into_iter()
    .map(|told| Told { seconds: Some(told.at.since(ago(460)).as_secs()), ..told })
    .collect()
}

// ---- typical

pub(crate) fn overview_view() -> Overview {
    Overview {
        unknown: None,
        needs: vec![
            Need {
                state: State::NeedsYou,
                sentence:
                    "db-1 asks whether it may raise MemoryHigh of redis.service from 256 MiB to 384 MiB."
                        .into(),
                since: Some(ago(1_800)),
                href: Some("/inbox/apr_01kc1yq8m0e3t6v9x2b5h8n1r4".into()),
                word: "Look and decide".into(),
            },
            Need {
                state: State::Failed,
                sentence: "ntfy does not get through since 06:12: connection refused.".into(),
                since: Some(ago(11_880)),
                href: Some("/settings/notices".into()),
                word: "See the channels".into(),
            },
        ],
        trials: vec![a_trial()],
        hosts: host_lines(),
        story: vec![
            Told {
                href: Some("/episodes/ep_0c5a1f3b9d2e40000000000003".into()),
                ..told(
                    420,
                    "web-1 tries MemoryHigh of postgresql.service at 1536 MiB",
                    Some(State::OnTrial),
                    4_819,
                )
            },
            told(86_400, "mail-1 kept CPUQuota of rspamd.service at 80 %", Some(State::Kept), 4_377),
            told(90_000, "web-1 went back to gen-40: its window failed", Some(State::Undone), 4_201),
            told(260_000, "Ana let everything go on", None, 3_980),
        ],
    }
}

pub(crate) fn host_view() -> Host {
    Host {
        name: "web-1".into(),
        state: State::OnTrial,
        word: None,
        level: Level::TierOne,
        driver: "debian".into(),
        speed: 1,
        known_good: Some("gen_01kc1yq8m0e3t6v9x2b5h8n1r4".into()),
        noticed: Some(Noticed {
            sentence: "Memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed (almost certain)."
                .into(),
            began: Some(ago(22_560)),
        }),
        trouble: None,
        breaker_open: false,
        drifted: true,
        next_routine: Some(Duration::from_secs(14_000)),
        last_success: Some(ago(20)),
        stale: false,
        observations: Some("8,412 in 7 days".into()),
        failed: vec!["/proc/pressure/io: permission denied".into()],
        figures: figures(),
        anomalies: vec![Anomaly {
            scope: "unit/postgresql.service".into(),
            message: "memory pressure over a minute is 31.2 %".into(),
            since: ago(22_500),
            times: 361,
        }],
        units: vec![
            Unit {
                name: "postgresql.service".into(),
                memory_mib: Some(1_021.4),
                cpu: Some(0.62),
                pressure: Some(31.2),
                samples: 8_412,
            },
            Unit {
                name: "nginx.service".into(),
                memory_mib: Some(64.0),
                cpu: Some(0.08),
                pressure: Some(0.1),
                samples: 8_412,
            },
            Unit { name: "cron.service".into(), memory_mib: None, cpu: None, pressure: None, samples: 0 },
        ],
        open: Some(a_trial()),
        episodes: vec![
            EpisodeLine {
                id: "ep_0c5a1f3b9d2e40000000000003".into(),
                state: State::OnTrial,
                word: None,
                why: "memory pressure rose".into(),
                change: Some("postgresql.service: MemoryHigh from 1024 MiB to 1536 MiB".into()),
                opened: ago(460),
                ended: None,
            },
            EpisodeLine {
                id: "ep_0c5a1f3b9d2e40000000000002".into(),
                state: State::Undone,
                word: None,
                why: "nothing had changed for a while".into(),
                change: Some("nginx.service: CPUQuota from 50 % to 40 %".into()),
                opened: ago(92_000),
                ended: Some(ago(90_000)),
            },
            EpisodeLine {
                id: "ep_0c5a1f3b9d2e40000000000001".into(),
                state: State::Failed,
                word: Some("refused by a gate".into()),
                why: "Ana asked".into(),
                change: None,
                opened: ago(400_000),
                ended: Some(ago(399_990)),
            },
        ],
        episodes_left_off: 14,
    }
}

pub(crate) fn gates() -> Vec<Gate> {
    let passed = |name: &str| Gate { name: name.into(), state: GateState::Passed };
    let mut all: Vec<Gate> =
        ["schema", "parse", "type", "policy", "auditor", "properties", "whole"].map(passed).into();
    all.push(Gate { name: "build".into(), state: GateState::Waiting });
    all
}

pub(crate) fn episode_view() -> Episode {
    Episode {
        id: "ep_0c5a1f3b9d2e40000000000003".into(),
        host: "web-1".into(),
        speed: 1,
        state: State::OnTrial,
        word: None,
        why: "memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed".into(),
        change: Some("postgresql.service: MemoryHigh from 1024 MiB to 1536 MiB".into()),
        prediction: Some("memory pressure falls below 5 % within 20 minutes".into()),
        opened: ago(460),
        ended: None,
        reason: None,
        gates: gates(),
        score: Some(score()),
        lease: Some(countdown()),
        ask: None,
        can_roll_back: true,
        story: story_lines(),
    }
}

pub(crate) fn episode_waiting() -> Episode {
    Episode {
        state: State::NeedsYou,
        ask: Some("apr_01kc1yq8m0e3t6v9x2b5h8n1r4".into()),
        lease: None,
        score: None,
        can_roll_back: false,
        ..episode_view()
    }
}

pub(crate) fn episode_kept() -> Episode {
    let mut score = score();
    score.cycles = vec![Probe::Pass; 20];
    score.score = 20;
    let mut story = story_lines();
    let kept =
        told(60, "kept gen-42 in place of gen-41, read back from the target", Some(State::Kept), 4_870);
    story.push(Told { seconds: Some(400), ..kept });
    Episode {
        state: State::Kept,
        ended: Some(ago(60)),
        reason: Some("the window passed with a score of 20".into()),
        lease: None,
        can_roll_back: false,
        score: Some(score),
        story,
        ..episode_view()
    }
}

pub(crate) fn episode_refused() -> Episode {
    let mut gates = gates();
    gates[3].state = GateState::Refused(
        "MemoryHigh of postgresql.service may not rise by more than a half in a day.".into(),
    );
    gates.truncate(4);
    Episode {
        state: State::Failed,
        word: Some("refused by a gate".into()),
        gates,
        score: None,
        lease: None,
        can_roll_back: false,
        ended: Some(ago(100)),
        reason: Some("refused by gate policy".into()),
        ..episode_view()
    }
}

pub(crate) fn a_memory() -> Memory {
    Memory {
        agent: "scout".into(),
        id: "mem-2026-11-18-001".into(),
        text: "The gateway listens on port 9096; Ana moved it there because 9090 belongs to Prometheus."
            .into(),
        kind: "session_facts".into(),
        entry_type: "fact".into(),
        standing: Standing::Durable,
        confidence: 0.9,
        tags: vec!["gateway".into(), "ports".into()],
        marks: vec![],
        at: ago(200_000),
        captured: ago(199_000),
        source: "conversation".into(),
        thread: Some("session_14".into()),
        source_id: Some("turn-7".into()),
        actor: "ana".into(),
        trust: Trust::Trusted,
        entry: 4_102,
        origins: vec![Origin { entry: 4_088, span: Some((120, 204)), trust: Trust::Trusted }],
        shared_by: None,
    }
}

fn spaces() -> Vec<Space> {
    vec![
        Space { agent: "main".into(), durable: 1_284, session: 12, conflicts: 0 },
        Space { agent: "scout".into(), durable: 310, session: 0, conflicts: 2 },
    ]
}

pub(crate) fn memory_view() -> MemorySearch {
    let hit = Hit {
        memory: a_memory(),
        score: 0.87,
        why: vec![("words".into(), 0.61), ("meaning".into(), 0.31)],
        conflicts: vec!["mem-2026-11-02-014".into()],
    };
    let other = Hit {
        memory: Memory {
            id: "mem-2026-11-02-014".into(),
            text: "Prometheus and the gateway share port 9090.".into(),
            trust: Trust::Untrusted,
            source: "observation".into(),
            thread: None,
            source_id: None,
            actor: "agt_01arz3ndektsv4rrffq69g5fav".into(),
            shared_by: Some("main".into()),
            ..a_memory()
        },
        score: 0.41,
        why: vec![("words".into(), 0.9)],
        conflicts: vec![],
    };
    MemorySearch {
        query: "which port does the gateway use?".into(),
        filter: MemoryFilter { agent: "scout".into(), ..MemoryFilter::default() },
        spaces: spaces(),
        found: Some(Found { hits: vec![hit, other], lexical: false, without_vector: 3, left_off: 4 }),
    }
}

pub(crate) fn memory_entry_view() -> MemoryEntry {
    MemoryEntry {
        agent: "scout".into(),
        id: "mem-2026-11-18-001".into(),
        entry: 4_102,
        standing: Standing::Durable,
        captured: ago(199_000),
        replaced_by: None,
        replaces: vec!["mem-2026-10-30-003".into()],
        gate: None,
        conflicts: vec!["mem-2026-11-02-014".into()],
        shared_with: vec!["main".into()],
        citations: 3,
        memory: Some(a_memory()),
    }
}

pub(crate) fn verification() -> Verification {
    Verification {
        verdict: Verdict::Verified,
        at: Some(ago(3_700)),
        running: false,
        origin: "holdfast/web-1".into(),
        entries: 48_201,
        checkpointed: 48_190,
        root: Some("cc6fuzX5u5fPk3CMrrhYPSyW7hGgp4AEN2rm6pSe6bQ=".into()),
        signatures: Some(402),
        witnesses: vec![Witness { name: "witness.example/north".into(), at: ago(7_000), size: 48_100 }],
        findings: vec![],
    }
}

pub(crate) fn audit_view() -> Audit {
    let kinds = [
        "steward.cycle.scored",
        "memory.note.captured",
        "gateway.session.opened",
        "notice.message.delivered",
        "captain.watch.started",
    ];
    let entry = |n: u64| EntryLine {
        seq: 48_200 - n,
        at: ago(n * 37),
        kind: kinds[n as usize % kinds.len()].into(),
        actor: if n.is_multiple_of(3) { "holdfast-steward".into() } else { "ana".into() },
        says: format!("{{\"generation\":{n},\"why\":\"memory pressure\",\"unit\":\"postgresql.service\"}}"),
    };
    Audit {
        filter: AuditFilter::default(),
        entries: (0..50).map(entry).collect(),
        older_before: Some(48_151),
        paged: false,
        verification: verification(),
    }
}

pub(crate) fn proof() -> Proof {
    Proof {
        shown: Shown::Verified,
        size: 48_190,
        root: "cc6fuzX5u5fPk3CMrrhYPSyW7hGgp4AEN2rm6pSe6bQ=".into(),
        leaf: "Ud7wBBq4rnqkGCT51IiVJspQSJqb7Uo2yn6/lswFROw=".into(),
        hashes: 16,
        key: "holdfast/web-1".into(),
        witnesses: verification().witnesses,
    }
}

pub(crate) fn audit_entry_view() -> AuditEntry {
    AuditEntry {
        seq: 4_102,
        at: ago(199_000),
        room: "memory".into(),
        kind: "memory.note.captured".into(),
        actor: "ana".into(),
        trust: "trusted".into(),
        origin: "holdfast/web-1".into(),
        line: r#"{"seq":4102,"v":1,"at":"2026-11-16T02:13:20.000000Z","origin":"holdfast/web-1","room":"memory","kind":"memory.note.captured","actor":"ana","trust":"trusted","blob":{"name":"blake3:0c5a","offset":0,"len":118}}"#.into(),
        text: Some(SealedText::Open("The gateway listens on port 9096.".into())),
        proof: proof(),
        newer: true,
    }
}

fn ask_line(state: AskState) -> AskLine {
    AskLine {
        id: "apr_01kc1yq8m0e3t6v9x2b5h8n1r4".into(),
        state,
        subject: "steward.trial".into(),
        target: "db-1".into(),
        actor: "holdfast-steward".into(),
        asked_at: ago(1_800),
        expires_at: later(84_600),
        summary: "redis.service: MemoryHigh from 256 MiB to 384 MiB".into(),
    }
}

pub(crate) fn inbox_view() -> Inbox {
    let second = AskLine {
        id: "apr_01kc1yq8m0e3t6v9x2b5h8n1r5".into(),
        subject: "memory.forget".into(),
        target: "scout".into(),
        actor: "agt_01arz3ndektsv4rrffq69g5fav".into(),
        summary: "Forget 3 memories about a person who asked for it".into(),
        ..ask_line(AskState::Asked)
    };
    Inbox {
        open: vec![ask_line(AskState::Asked), second],
        decided: [AskState::Used, AskState::Rejected, AskState::Expired, AskState::Withdrawn]
            .map(ask_line)
            .into(),
    }
}

pub(crate) fn ask_view() -> Ask {
    Ask {
        line: ask_line(AskState::Asked),
        summary: vec!["redis.service: MemoryHigh from 256 MiB to 384 MiB".into(), "Tried for 10 minutes, and undone by itself unless 12 of 20 cycles pass.".into()],
        evidence: vec!["Memory pressure of redis.service rose from 1 % to 18 % at 04:02 and stayed.".into(), "It was killed for want of memory twice in 24 hours.".into()],
        action: "{\n  \"change\": [\n    {\n      \"option\": \"MemoryHigh\",\n      \"unit\": \"redis.service\",\n      \"from\": \"256M\",\n      \"to\": \"384M\"\n    }\n  ]\n}".into(),
        digest: "blake3:0c5a1f3b9d2e4a77880c5a1f3b9d2e4a77880c5a1f3b9d2e4a77880c5a1f3b9d".into(),
        agent: None,
        origin: "holdfast/web-1".into(),
        decision: None,
        made_as: 48_101,
        ended_as: None,
    }
}

pub(crate) fn ask_decided() -> Ask {
    Ask {
        line: ask_line(AskState::Rejected),
        decision: Some(Decision {
            verdict: "reject".into(),
            by: "ana".into(),
            reason: Some("not before the weekend".into()),
            at: ago(60),
            recorded_as: 48_150,
        }),
        ended_as: Some(48_150),
        ..ask_view()
    }
}

pub(crate) fn you_view() -> You {
    let device = |id: &str, label: &str| Device {
        id: id.into(),
        label: label.into(),
        created: ago(9_000_000),
        last_used: Some(ago(3_000)),
        doubtful: false,
    };
    You {
        devices: vec![
            device("d1", "Ana's phone"),
            Device { doubtful: true, last_used: None, ..device("d2", "Security key in the drawer") },
        ],
        codes_left: 2,
        sessions: vec![
            Session {
                id: "s1".into(),
                label: "Firefox on Android".into(),
                created: ago(90_000),
                last_seen: ago(5),
                here: true,
            },
            Session {
                id: "s2".into(),
                label: "Chromium on Linux".into(),
                created: ago(900_000),
                last_seen: ago(40_000),
                here: false,
            },
        ],
        links: links(),
        news: vec![News { id: 7, what: "The passkey \"tablet\"".into(), at: ago(7_000) }],
        once: None,
    }
}

fn links() -> Vec<Link> {
    vec![Link {
        id: "lnk_1".into(),
        what: "Another device for Ana".into(),
        created: ago(60),
        expires: Timestamp::from_micros(ago(0).as_micros() + 840_000_000).unwrap(),
    }]
}

pub(crate) fn people_view() -> People {
    let member = |id: &str, name: &str, role| Member {
        id: id.into(),
        name: name.into(),
        role,
        created: ago(9_000_000),
        last_seen: Some(ago(5)),
        devices: 2,
        you: false,
    };
    People {
        people: vec![
            Member { you: true, ..member("p1", "Ana", Role::Owner) },
            member("p2", "Bea", Role::Operator),
            Member { devices: 0, last_seen: None, ..member("p3", "Cem", Role::Viewer) },
        ],
        links: links(),
        once: None,
    }
}

pub(crate) fn tokens_view() -> Tokens {
    let token = |id: &str, name: &str, scope| TokenLine {
        id: id.into(),
        name: name.into(),
        scope,
        by: "Ana".into(),
        created: ago(900_000),
        expires: Some(later(1_700_000)),
        last_used: Some(ago(60)),
        revoked: false,
    };
    Tokens {
        tokens: vec![
            token("t1", "Grafana", Scope::Read),
            TokenLine { last_used: None, ..token("t2", "nightly pause", Scope::Act) },
            TokenLine { revoked: true, ..token("t3", "old laptop", Scope::Manage) },
        ],
        once: Some(Once {
            said: "The token for nightly pause. It is shown now and never again.".into(),
            values: vec!["shown-once".into()],
        }),
    }
}

pub(crate) fn notices_view() -> Notices {
    let channel = |name: &str| Channel {
        name: name.into(),
        pending: 0,
        delivered: 214,
        abandoned: 0,
        last_delivered: Some(ago(1_800)),
        last_error: None,
        quiet_until: None,
        least_severity: None,
    };
    Notices {
        enabled: true,
        channels: vec![
            channel("log"),
            Channel {
                pending: 3,
                last_error: Some("connection refused".into()),
                last_delivered: Some(ago(12_000)),
                ..channel("ntfy")
            },
            Channel {
                pending: 1,
                quiet_until: Some(later(7_200)),
                least_severity: Some("warning".into()),
                ..channel("mail")
            },
            Channel { delivered: 0, last_delivered: None, ..channel("slack") },
        ],
    }
}

pub(crate) fn house_view() -> House {
    let part = |name: &str| Part {
        name: name.into(),
        running: true,
        word: "running".into(),
        why: None,
        restarts: 0,
    };
    House {
        origin: "holdfast/web-1".into(),
        version: "0.1.0".into(),
        up: Some(Duration::from_secs(86_400 * 12)),
        log_key: "holdfast/web-1+51def004+AQdvW1hYw3pQ4H2Jc0n1hVrj1S1kQbZqv8b4y9s5dQ0H".into(),
        keys: vec![
            KeyLine {
                name: "holdfast/web-1".into(),
                kind: TrustKind::Log,
                fingerprint: "51def004c2f1d6e7a8b9".into(),
                revoked: false,
            },
            KeyLine {
                name: "ana".into(),
                kind: TrustKind::Approvals,
                fingerprint: "0be41177aa90c3d2e1f0".into(),
                revoked: false,
            },
            KeyLine {
                name: "witness.example/old".into(),
                kind: TrustKind::Witness,
                fingerprint: "9921aa00ff34e5d6c7b8".into(),
                revoked: true,
            },
        ],
        parts: vec![
            part("journal"),
            part("steward"),
            Part {
                running: false,
                word: "waiting".into(),
                why: Some("it ended 3 times within a minute".into()),
                restarts: 3,
                ..part("notice")
            },
        ],
        disk_used: 3_221_225_472,
        disk_budget: 8_589_934_592,
        disk_level: "roomy".into(),
        journal_entries: 48_201,
        journal_bytes: 51_380_224,
        index_behind: 0,
    }
}

pub(crate) fn problem_view() -> Problem {
    Problem {
        status: 404,
        code: Some("HF-STW-012".into()),
        what: "There is no host called web-9.".into(),
        untouched: Some("Nothing was changed.".into()),
        hint: Some("See which there are under Hosts.".into()),
        back: Some("/hosts".into()),
    }
}

pub(crate) fn confirm_view() -> Confirm {
    Confirm {
        question: "Roll back web-1?".into(),
        what: vec!["The change under way is taken back now, and the host runs what is known good.".into()],
        undo: "It can be proposed again later; what was learnt from it stays.".into(),
        to: "/hosts/web-1/rollback".into(),
        fields: vec![("episode".into(), "ep_0c5a1f3b9d2e40000000000003".into())],
        word: "Roll back".into(),
        tone: Tone::Harm,
        reason: true,
        passkey: None,
        proved: false,
        back: "/hosts/web-1".into(),
    }
}

pub(crate) fn authority_view() -> Authority {
    Authority {
        names: vec!["holdfast.home.arpa".into(), "web-1.local".into()],
        fingerprint:
            "8F:0C:5A:1F:3B:9D:2E:4A:77:88:8F:0C:5A:1F:3B:9D:2E:4A:77:88:8F:0C:5A:1F:3B:9D:2E:4A:77:88:8F:0C"
                .into(),
        expires: Some(later(315_000_000)),
        certificate: "/authority/certificate.crt".into(),
        profile: Some("/authority/holdfast.mobileconfig".into()),
    }
}

// ---- the pages

fn sample(name: &'static str, path: &'static str, html: String) -> Sample {
    Sample { name, path, html }
}

fn outside_pages() -> Vec<Sample> {
    let at = outside();
    let ended = SignIn {
        next: Some("/hosts/web-1".into()),
        said: Some("Your session has ended.".into()),
        nobody_yet: false,
        authority: true,
    };
    let adding = Register { adding: Some(Adding { name: "Ana".into(), csrf: "anti-forgery".into() }) };
    vec![
        sample("login", "/login", sign_in(&at, &ended)),
        sample("login-nobody", "/login", sign_in(&at, &SignIn { nobody_yet: true, ..SignIn::default() })),
        sample("register", "/register", register(&at, &Register::default())),
        sample("register-another", "/register", register(&at, &adding)),
        sample("recovery", "/recovery", recovery(&at, &Recovery {})),
        sample("authority", "/authority", authority(&at, &authority_view())),
        sample(
            "problem-outside",
            "/nowhere",
            problem_outside(&at, &Problem { status: 429, ..problem_view() }),
        ),
    ]
}

fn typical() -> Vec<Sample> {
    let live = |place, page: &str| Frame { live: Some(format!("/live?page={page}")), ..frame(place) };
    let paused = Frame {
        pause: Pause::Paused {
            since: Some(ago(600)),
            by: Some("ana".into()),
            reason: Some("looking into it".into()),
        },
        note: Some(Note { state: State::Paused, said: "Everything is paused.".into() }),
        ..frame(Place::Overview)
    };
    let s = frame(Place::Settings);
    vec![
        sample("overview", "/", overview(&live(Place::Overview, "overview"), &overview_view())),
        sample(
            "overview-paused",
            "/",
            overview(&paused, &Overview { needs: vec![], trials: vec![], ..overview_view() }),
        ),
        sample("hosts", "/hosts", hosts(&frame(Place::Hosts), &Hosts { hosts: host_lines() })),
        sample("host", "/hosts/web-1", host(&frame(Place::Hosts), &host_view())),
        sample(
            "host-viewer",
            "/hosts/web-1",
            host(&viewer(Place::Hosts), &Host { open: None, state: State::Settled, ..host_view() }),
        ),
        sample("episode", "/episodes/ep_3", episode(&frame(Place::Hosts), &episode_view())),
        sample("episode-waiting", "/episodes/ep_3", episode(&frame(Place::Hosts), &episode_waiting())),
        sample("episode-kept", "/episodes/ep_3", episode(&frame(Place::Hosts), &episode_kept())),
        sample("episode-refused", "/episodes/ep_3", episode(&frame(Place::Hosts), &episode_refused())),
        sample("memory", "/memory", memory(&frame(Place::Memory), &memory_view())),
        sample(
            "memory-entry",
            "/memory/scout/mem-1",
            memory_entry(&frame(Place::Memory), &memory_entry_view()),
        ),
        sample("audit", "/audit", audit(&frame(Place::Audit), &audit_view())),
        sample("audit-entry", "/audit/4102", audit_entry(&frame(Place::Audit), &audit_entry_view())),
        sample("inbox", "/inbox", inbox(&frame(Place::Inbox), &inbox_view())),
        sample("ask", "/inbox/apr_1", ask(&frame(Place::Inbox), &ask_view())),
        sample("ask-decided", "/inbox/apr_1", ask(&frame(Place::Inbox), &ask_decided())),
        sample("settings", "/settings", settings(&s, &Settings::You(you_view()))),
        sample("settings-people", "/settings/people", settings(&s, &Settings::People(people_view()))),
        sample("settings-tokens", "/settings/tokens", settings(&s, &Settings::Tokens(tokens_view()))),
        sample("settings-notices", "/settings/notices", settings(&s, &Settings::Notices(notices_view()))),
        sample("settings-house", "/settings/house", settings(&s, &Settings::House(house_view()))),
        sample("problem", "/hosts/web-9", problem(&frame(Place::Hosts), &problem_view())),
        sample("confirm", "/hosts/web-1/rollback", confirm(&frame(Place::Hosts), &confirm_view())),
        sample("confirm-pause", "/pause", confirm(&frame(Place::Overview), &pause_confirm(&Pause::GoesOn))),
    ]
}

fn empty() -> Vec<Sample> {
    let bare_host = Host {
        state: State::Unknown,
        word: Some("not taken in yet".into()),
        level: Level::Observe,
        driver: "sim".into(),
        speed: 600,
        known_good: None,
        noticed: None,
        drifted: false,
        next_routine: None,
        last_success: None,
        observations: None,
        failed: vec![],
        figures: vec![],
        anomalies: vec![],
        units: vec![],
        open: None,
        episodes: vec![],
        episodes_left_off: 0,
        ..host_view()
    };
    let bare_episode = Episode {
        change: None,
        prediction: None,
        gates: vec![],
        score: None,
        lease: None,
        story: vec![],
        state: State::Unknown,
        can_roll_back: false,
        ..episode_view()
    };
    let never = Verification {
        verdict: Verdict::Never,
        at: None,
        entries: 0,
        checkpointed: 0,
        root: None,
        signatures: None,
        witnesses: vec![],
        ..verification()
    };
    let unsigned = AuditEntry {
        text: Some(SealedText::Erased),
        proof: Proof { shown: Shown::NotSignedYet, ..proof() },
        ..audit_entry_view()
    };
    let s = quiet(Place::Settings);
    let bare_house =
        House { up: None, keys: vec![], parts: vec![], disk_level: "tight".into(), ..house_view() };
    vec![
        sample("overview-empty", "/", overview(&quiet(Place::Overview), &Overview::default())),
        sample(
            "overview-unknown",
            "/",
            overview(
                &quiet(Place::Overview),
                &Overview {
                    unknown: Some("The daemon does not answer, so nobody watches.".into()),
                    ..Overview::default()
                },
            ),
        ),
        sample("hosts-empty", "/hosts", hosts(&quiet(Place::Hosts), &Hosts::default())),
        sample("host-empty", "/hosts/web-1", host(&quiet(Place::Hosts), &bare_host)),
        sample("episode-empty", "/episodes/ep_3", episode(&quiet(Place::Hosts), &bare_episode)),
        sample(
            "memory-empty",
            "/memory",
            memory(
                &quiet(Place::Memory),
                &MemorySearch {
                    filter: MemoryFilter { agent: "main".into(), ..MemoryFilter::default() },
                    ..MemorySearch::default()
                },
            ),
        ),
        sample(
            "memory-nothing",
            "/memory",
            memory(
                &quiet(Place::Memory),
                &MemorySearch { found: Some(Found { lexical: true, ..Found::default() }), ..memory_view() },
            ),
        ),
        sample(
            "memory-forgotten",
            "/memory/scout/mem-1",
            memory_entry(
                &quiet(Place::Memory),
                &MemoryEntry { standing: Standing::Forgotten, memory: None, ..memory_entry_view() },
            ),
        ),
        sample(
            "audit-empty",
            "/audit",
            audit(
                &quiet(Place::Audit),
                &Audit {
                    entries: vec![],
                    older_before: None,
                    paged: false,
                    verification: never,
                    filter: AuditFilter::default(),
                },
            ),
        ),
        sample("audit-entry-unsigned", "/audit/4102", audit_entry(&quiet(Place::Audit), &unsigned)),
        sample("inbox-empty", "/inbox", inbox(&quiet(Place::Inbox), &Inbox::default())),
        sample(
            "settings-empty",
            "/settings",
            settings(&s, &Settings::You(You { codes_left: 10, ..You::default() })),
        ),
        sample(
            "settings-people-empty",
            "/settings/people",
            settings(&viewer(Place::Settings), &Settings::People(People::default())),
        ),
        sample(
            "settings-tokens-empty",
            "/settings/tokens",
            settings(&s, &Settings::Tokens(Tokens::default())),
        ),
        sample(
            "settings-notices-empty",
            "/settings/notices",
            settings(&s, &Settings::Notices(Notices::default())),
        ),
        sample("settings-house-empty", "/settings/house", settings(&s, &Settings::House(bare_house))),
    ]
}
