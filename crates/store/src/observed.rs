//! The tables of `metrics.db` for what the steward observes of its targets. `docs/formats/metrics.md` explains each.
//!
//! They stand here because a database has one list of migrations; `holdfast-metrics` alone writes and reads them.

/// Times are microseconds since 1970. A number that was not read is absent and never 0.
pub(crate) const OBSERVED: &str = "
    CREATE TABLE targets (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        last_collected_at INTEGER,
        last_boot TEXT,
        last_successful_collection INTEGER,
        last_collect_failures INTEGER,
        last_failed TEXT,
        raw_from INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE observations (
        id INTEGER PRIMARY KEY,
        target INTEGER NOT NULL REFERENCES targets (id),
        collected_at INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('whole', 'partly', 'unreached')),
        generation INTEGER,
        running TEXT,
        boot TEXT,
        failures INTEGER NOT NULL,
        failed TEXT NOT NULL,
        data BLOB NOT NULL,
        data_len INTEGER NOT NULL,
        UNIQUE (target, collected_at)
    ) STRICT;

    CREATE TABLE metrics (
        id INTEGER PRIMARY KEY,
        target INTEGER NOT NULL REFERENCES targets (id),
        scope TEXT NOT NULL,
        name TEXT NOT NULL,
        window INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('gauge', 'counter')),
        UNIQUE (target, scope, name, window)
    ) STRICT;

    CREATE TABLE gauges (
        metric INTEGER NOT NULL REFERENCES metrics (id),
        at INTEGER NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (metric, at)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE runs (
        metric INTEGER NOT NULL REFERENCES metrics (id),
        number INTEGER NOT NULL,
        begun_at INTEGER NOT NULL,
        boot TEXT,
        since INTEGER,
        last_at INTEGER NOT NULL,
        last_value INTEGER NOT NULL,
        PRIMARY KEY (metric, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE counters (
        metric INTEGER NOT NULL REFERENCES metrics (id),
        at INTEGER NOT NULL,
        run INTEGER NOT NULL,
        value INTEGER NOT NULL,
        rate REAL,
        PRIMARY KEY (metric, at)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE hourly (
        metric INTEGER NOT NULL REFERENCES metrics (id),
        hour INTEGER NOT NULL,
        count INTEGER NOT NULL CHECK (count > 0),
        min REAL NOT NULL,
        max REAL NOT NULL,
        mean REAL NOT NULL,
        PRIMARY KEY (metric, hour)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE hours_due (
        target INTEGER NOT NULL REFERENCES targets (id),
        hour INTEGER NOT NULL,
        PRIMARY KEY (target, hour)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE endpoints (
        target INTEGER NOT NULL REFERENCES targets (id),
        endpoint TEXT NOT NULL,
        at INTEGER NOT NULL,
        healthy INTEGER NOT NULL CHECK (healthy IN (0, 1)),
        latency_ms INTEGER,
        PRIMARY KEY (target, endpoint, at)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE anomalies (
        id INTEGER PRIMARY KEY,
        target INTEGER NOT NULL REFERENCES targets (id),
        detected_at INTEGER NOT NULL,
        observation INTEGER REFERENCES observations (id) ON DELETE SET NULL,
        scope TEXT NOT NULL,
        anomaly_type TEXT NOT NULL CHECK (anomaly_type IN
            ('oom', 'error_log', 'health_fail', 'psi_spike', 'collection_failure', 'stale')),
        message TEXT NOT NULL,
        times INTEGER NOT NULL,
        last_seen INTEGER NOT NULL,
        resolved_at INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX anomalies_open ON anomalies (target, anomaly_type, scope) WHERE resolved_at IS NULL;
    CREATE INDEX anomalies_by_time ON anomalies (target, detected_at);
    CREATE INDEX anomalies_by_observation ON anomalies (observation);

    CREATE VIEW service_metrics AS
        SELECT o.id AS observation_id, o.collected_at, substr(u.scope, 6) AS service,
            CAST(g.value AS INTEGER) AS memory_bytes, c.value AS cpu_usage_ns, c.rate AS cpu_rate
        FROM metrics u
        JOIN gauges g ON g.metric = u.id
        JOIN metrics p ON p.target = u.target AND p.scope = u.scope AND p.name = 'cpu' AND p.window = 0
        JOIN counters c ON c.metric = p.id AND c.at = g.at
        JOIN observations o ON o.target = u.target AND o.collected_at = g.at
        WHERE u.name = 'memory' AND u.window = 0 AND u.scope LIKE 'unit/%';
";
