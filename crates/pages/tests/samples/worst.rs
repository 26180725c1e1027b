//! The same pages with text nobody honest writes in every field that somebody else fills.

use super::*;

pub(crate) fn worst() -> Vec<Sample> {
    vec![
        sample(
            "login-worst",
            "/login",
            sign_in(
                &Outside { house: nasty(), theme: Theme::Dark },
                &SignIn {
                    next: Some("//evil.example".into()),
                    said: Some(nasty()),
                    nobody_yet: false,
                    authority: true,
                },
            ),
        ),
        sample(
            "authority-worst",
            "/authority",
            authority(
                &outside(),
                &Authority {
                    names: vec![nasty(), endless()],
                    fingerprint: endless(),
                    expires: None,
                    certificate: "javascript:alert(1)".into(),
                    profile: Some("//evil.example".into()),
                },
            ),
        ),
        sample(
            "problem-worst",
            "/x",
            problem(
                &hostile(Place::Hosts),
                &Problem {
                    status: 500,
                    code: Some(nasty()),
                    what: nasty(),
                    untouched: Some(endless()),
                    hint: Some(nasty()),
                    back: Some("javascript:alert(1)".into()),
                },
            ),
        ),
        sample("confirm-worst", "/x", confirm(&hostile(Place::Hosts), &bad_confirm())),
        sample("overview-worst", "/", overview(&hostile(Place::Overview), &bad_overview())),
        sample("host-worst", "/hosts/x", host(&hostile(Place::Hosts), &bad_host())),
        sample("episode-worst", "/episodes/x", episode(&hostile(Place::Hosts), &bad_episode())),
        sample("memory-worst", "/memory", memory(&hostile(Place::Memory), &bad_search())),
        sample(
            "memory-entry-worst",
            "/memory/x/y",
            memory_entry(&hostile(Place::Memory), &bad_memory_entry()),
        ),
        sample("audit-worst", "/audit", audit(&hostile(Place::Audit), &bad_audit())),
        sample("audit-entry-worst", "/audit/1", audit_entry(&hostile(Place::Audit), &bad_entry())),
        sample(
            "inbox-worst",
            "/inbox",
            inbox(&hostile(Place::Inbox), &Inbox { open: vec![bad_line()], decided: vec![bad_line()] }),
        ),
        sample("ask-worst", "/inbox/x", ask(&hostile(Place::Inbox), &bad_ask())),
        sample("settings-worst", "/settings", settings(&hostile(Place::Settings), &Settings::You(bad_you()))),
        sample(
            "settings-people-worst",
            "/settings/people",
            settings(&hostile(Place::Settings), &Settings::People(bad_people())),
        ),
        sample(
            "settings-tokens-worst",
            "/settings/tokens",
            settings(&hostile(Place::Settings), &Settings::Tokens(bad_tokens())),
        ),
        sample(
            "settings-notices-worst",
            "/settings/notices",
            settings(&hostile(Place::Settings), &Settings::Notices(bad_notices())),
        ),
        sample(
            "settings-house-worst",
            "/settings/house",
            settings(&hostile(Place::Settings), &Settings::House(bad_house())),
        ),
    ]
}

fn bad_confirm() -> Confirm {
    Confirm {
        question: nasty(),
        what: vec![endless(), nasty()],
        undo: nasty(),
        to: "https://evil.example/".into(),
        fields: vec![("a".into(), nasty())],
        word: nasty(),
        back: "\\\\evil.example".into(),
        ..confirm_view()
    }
}

fn bad_trial() -> Trial {
    let lease = Countdown { left_seconds: u64::MAX, whole_seconds: Some(0), as_of: now(), speed: 0 };
    let score =
        Score { cycles: vec![Probe::Fail; 5_000], planned: usize::MAX, score: i32::MIN, rule: nasty() };
    Trial {
        episode: nasty(),
        host: endless(),
        phase: nasty(),
        why: endless(),
        change: Some(nasty()),
        lease: Some(lease),
        score: Some(score),
        needs_you: true,
    }
}

fn bad_told() -> Told {
    Told {
        at: Timestamp::EPOCH,
        seconds: Some(u64::MAX),
        what: nasty(),
        state: Some(State::Unknown),
        entry: Some(u64::MAX),
        href: Some("javascript:alert(1)".into()),
    }
}

fn bad_host_line() -> HostLine {
    HostLine {
        name: "../..".into(),
        word: Some(nasty()),
        noticed: Some(endless()),
        metric: nasty(),
        values: vec![Some(f64::NAN), Some(f64::INFINITY), None, Some(1e300), Some(-1e300)],
        unit: nasty(),
        latest: Some(f64::NAN),
        ..host_line("x", State::Failed)
    }
}

fn bad_overview() -> Overview {
    let need = Need {
        state: State::Failed,
        sentence: endless(),
        since: Some(Timestamp::EPOCH),
        href: Some("//evil.example".into()),
        word: nasty(),
    };
    Overview {
        unknown: None,
        needs: vec![need; 2],
        trials: vec![bad_trial()],
        hosts: vec![bad_host_line()],
        story: vec![bad_told()],
    }
}

fn bad_host() -> Host {
    let figure = Figure {
        title: nasty(),
        sentence: Some(endless()),
        unit: nasty(),
        ..figure("x", "%", f64::NAN, Some(f64::INFINITY))
    };
    Host {
        name: nasty(),
        word: Some(endless()),
        driver: nasty(),
        speed: u32::MAX,
        known_good: Some(nasty()),
        noticed: Some(Noticed { sentence: nasty(), began: Some(later(u32::MAX.into())) }),
        trouble: Some(nasty()),
        breaker_open: true,
        stale: true,
        observations: Some(nasty()),
        failed: vec![nasty(), endless()],
        figures: vec![figure],
        anomalies: vec![Anomaly {
            scope: nasty(),
            message: endless(),
            since: Timestamp::EPOCH,
            times: u64::MAX,
        }],
        units: vec![Unit {
            name: endless(),
            memory_mib: Some(f64::INFINITY),
            cpu: Some(-0.0),
            pressure: Some(f64::NAN),
            samples: u64::MAX,
        }],
        open: Some(bad_trial()),
        episodes: vec![EpisodeLine {
            id: nasty(),
            state: State::Failed,
            word: Some(nasty()),
            why: endless(),
            change: Some(nasty()),
            opened: Timestamp::EPOCH,
            ended: None,
        }],
        ..host_view()
    }
}

fn bad_episode() -> Episode {
    let trial = bad_trial();
    Episode {
        id: nasty(),
        host: nasty(),
        word: Some(nasty()),
        why: endless(),
        change: Some(nasty()),
        prediction: Some(nasty()),
        reason: Some(endless()),
        gates: vec![Gate { name: nasty(), state: GateState::Refused(endless()) }; 100],
        score: trial.score,
        lease: trial.lease,
        ask: Some(nasty()),
        story: vec![bad_told(); 3],
        ..episode_view()
    }
}

fn bad_memory() -> Memory {
    Memory {
        agent: nasty(),
        id: nasty(),
        text: endless(),
        kind: nasty(),
        entry_type: nasty(),
        standing: Standing::Unknown,
        confidence: f64::NAN,
        tags: vec![nasty(); 50],
        marks: vec![endless()],
        source: nasty(),
        thread: Some(nasty()),
        source_id: Some(endless()),
        actor: nasty(),
        trust: Trust::Disposable,
        origins: vec![Origin { entry: u64::MAX, span: Some((u32::MAX, 0)), trust: Trust::Disposable }; 20],
        shared_by: Some(nasty()),
        ..a_memory()
    }
}

fn bad_search() -> MemorySearch {
    let hit = Hit {
        memory: bad_memory(),
        score: f64::NAN,
        why: vec![(nasty(), f64::NAN)],
        conflicts: vec![nasty()],
    };
    let other = Hit { memory: Memory { text: nasty(), ..bad_memory() }, ..hit.clone() };
    MemorySearch {
        query: nasty(),
        filter: MemoryFilter {
            agent: nasty(),
            kind: Some(nasty()),
            entry_type: Some(nasty()),
            trust: Some(Trust::Admin),
            tag: Some(nasty()),
            host: Some(endless()),
            fresh: true,
        },
        spaces: vec![Space { agent: nasty(), durable: u64::MAX, session: u64::MAX, conflicts: u64::MAX }],
        found: Some(Found {
            hits: vec![hit, other],
            lexical: true,
            without_vector: u64::MAX,
            left_off: u64::MAX,
        }),
    }
}

fn bad_memory_entry() -> MemoryEntry {
    MemoryEntry {
        agent: nasty(),
        id: nasty(),
        replaced_by: Some(nasty()),
        replaces: vec![nasty()],
        gate: Some(nasty()),
        conflicts: vec![endless()],
        shared_with: vec![nasty(); 30],
        memory: Some(bad_memory()),
        ..memory_entry_view()
    }
}

fn bad_audit() -> Audit {
    let verification = Verification {
        verdict: Verdict::Damaged,
        origin: nasty(),
        root: Some(nasty()),
        findings: vec![endless(), nasty()],
        witnesses: vec![Witness { name: nasty(), at: Timestamp::EPOCH, size: u64::MAX }],
        ..verification()
    };
    Audit {
        filter: AuditFilter { room: nasty(), kind: nasty(), actor: endless() },
        entries: vec![EntryLine {
            seq: u64::MAX,
            at: Timestamp::EPOCH,
            kind: nasty(),
            actor: endless(),
            says: nasty(),
        }],
        older_before: Some(u64::MAX),
        paged: true,
        verification,
    }
}

fn bad_entry() -> AuditEntry {
    let proof =
        Proof { shown: Shown::Wrong(nasty()), root: nasty(), leaf: endless(), key: nasty(), ..proof() };
    AuditEntry {
        seq: u64::MAX,
        room: nasty(),
        kind: endless(),
        actor: nasty(),
        trust: nasty(),
        origin: nasty(),
        line: nasty().repeat(200),
        text: Some(SealedText::Open(format!("{}\n{}", nasty(), endless()))),
        proof,
        ..audit_entry_view()
    }
}

fn bad_line() -> AskLine {
    AskLine {
        id: nasty(),
        state: AskState::Unknown,
        subject: nasty(),
        target: endless(),
        actor: nasty(),
        summary: nasty(),
        ..ask_line(AskState::Asked)
    }
}

fn bad_ask() -> Ask {
    Ask {
        line: AskLine { state: AskState::Asked, ..bad_line() },
        summary: vec![nasty(), endless()],
        evidence: vec![nasty()],
        action: nasty().repeat(300),
        digest: endless(),
        agent: Some(nasty()),
        origin: nasty(),
        decision: Some(Decision {
            verdict: nasty(),
            by: nasty(),
            reason: Some(endless()),
            at: Timestamp::EPOCH,
            recorded_as: u64::MAX,
        }),
        made_as: u64::MAX,
        ended_as: Some(u64::MAX),
    }
}

fn bad_you() -> You {
    You {
        devices: vec![Device {
            id: nasty(),
            label: endless(),
            created: Timestamp::EPOCH,
            last_used: None,
            doubtful: true,
        }],
        codes_left: 0,
        sessions: vec![
            Session {
                id: nasty(),
                label: nasty(),
                created: Timestamp::EPOCH,
                last_seen: Timestamp::EPOCH,
                here: false
            };
            2
        ],
        links: vec![
            Link {
                id: nasty(),
                what: endless(),
                created: Timestamp::EPOCH,
                expires: Timestamp::EPOCH
            };
            2
        ],
        news: vec![News { id: i64::MAX, what: nasty(), at: Timestamp::EPOCH }],
        once: Some(Once { said: nasty(), values: vec![nasty(), endless()] }),
    }
}

fn bad_people() -> People {
    People {
        people: vec![Member {
            id: nasty(),
            name: endless(),
            role: Role::Viewer,
            created: Timestamp::EPOCH,
            last_seen: None,
            devices: u64::MAX,
            you: false,
        }],
        links: Vec::new(),
        once: None,
    }
}

fn bad_tokens() -> Tokens {
    Tokens {
        tokens: vec![TokenLine {
            id: nasty(),
            name: nasty(),
            scope: Scope::Manage,
            by: endless(),
            created: Timestamp::EPOCH,
            expires: Some(Timestamp::EPOCH),
            last_used: None,
            revoked: false,
        }],
        once: None,
    }
}

fn bad_notices() -> Notices {
    Notices {
        enabled: false,
        channels: vec![
            Channel {
                name: nasty(),
                pending: u64::MAX,
                delivered: 0,
                abandoned: u64::MAX,
                last_delivered: None,
                last_error: Some(endless()),
                quiet_until: Some(Timestamp::EPOCH),
                least_severity: Some(nasty())
            };
            2
        ],
    }
}

fn bad_house() -> House {
    House {
        origin: nasty(),
        version: nasty(),
        log_key: endless(),
        keys: vec![KeyLine { name: nasty(), kind: TrustKind::Policy, fingerprint: nasty(), revoked: true }],
        parts: vec![Part {
            name: nasty(),
            running: false,
            word: nasty(),
            why: Some(endless()),
            restarts: u64::MAX,
        }],
        disk_level: nasty(),
        disk_used: u64::MAX,
        ..house_view()
    }
}
