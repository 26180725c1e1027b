//! The tables of `gateway.db`. Its own truth: nothing else knows who may come in.
//!
//! Invariants: a credential id is there once; a person that goes takes passkeys, sessions, codes and tokens along; a
//! passkey that goes takes its sessions along; no column holds anything that lets somebody in: the secret here makes
//! anti-forgery words, which are nothing without the session's cookie. Times are microseconds
//! since 1970. What is under way (ceremonies) is not here: a stranger could have the disk written to.

use holdfast_store::{Migration, Schema, Truth};

/// `HFgw`.
pub(crate) const GATEWAY: Schema = Schema {
    name: "gateway",
    application_id: 0x4846_6777,
    migrations: &[
        Migration { number: 1, name: "people, passkeys, links, codes, sessions, tokens", sql: FIRST },
        Migration { number: 2, name: "acts that are owed to the log", sql: OWED },
        Migration {
            number: 3,
            name: "secrets, known browsers, news, what made links and tokens",
            sql: THIRD,
        },
        Migration { number: 4, name: "the sessions of links and tokens, and who owes", sql: FOURTH },
        Migration { number: 5, name: "numbers of news that stay, links by recovery codes", sql: FIFTH },
    ],
    truth: Truth::Own,
};

const FIRST: &str = "
    CREATE TABLE site (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        rp_id TEXT NOT NULL,
        since INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE people (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
        created INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE passkeys (
        id TEXT PRIMARY KEY,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        credential BLOB NOT NULL UNIQUE,
        label TEXT NOT NULL,
        passkey TEXT NOT NULL,
        counter INTEGER NOT NULL,
        created INTEGER NOT NULL,
        used INTEGER,
        doubted INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX passkeys_of ON passkeys (person);
    CREATE TABLE links (
        stamp BLOB PRIMARY KEY,
        purpose TEXT NOT NULL CHECK (purpose IN ('first', 'invitation', 'device', 'recovered')),
        person TEXT NOT NULL,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        made_by TEXT,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        used INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE codes (
        prefix TEXT PRIMARY KEY,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        hash TEXT NOT NULL,
        created INTEGER NOT NULL,
        used INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX codes_of ON codes (person);
    CREATE TABLE sessions (
        stamp BLOB PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        device TEXT NOT NULL REFERENCES passkeys (id) ON DELETE CASCADE,
        agent TEXT NOT NULL,
        created INTEGER NOT NULL,
        seen INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        confirmed INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_of ON sessions (person);
    CREATE INDEX sessions_by ON sessions (device);
    CREATE TABLE tokens (
        stamp BLOB PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'act', 'manage')),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        used INTEGER,
        revoked INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_of ON tokens (person);";

/// What was done and could not be recorded yet; a row goes when it is in the log. A number is never given again.
const OWED: &str = "
    CREATE TABLE owed (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        event TEXT NOT NULL
    ) STRICT;";

/// Links without an id are of a version before: they last a quarter of an hour, and are used or go by themselves.
const THIRD: &str = "
    CREATE TABLE secrets (
        name TEXT PRIMARY KEY,
        value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE browsers (
        stamp BLOB PRIMARY KEY,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        device TEXT NOT NULL REFERENCES passkeys (id) ON DELETE CASCADE,
        used INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX browsers_of ON browsers (person);
    CREATE INDEX browsers_by ON browsers (device);
    CREATE TABLE news (
        id INTEGER PRIMARY KEY,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        session TEXT,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX news_of ON news (person);
    ALTER TABLE links ADD COLUMN id TEXT;
    ALTER TABLE links ADD COLUMN device TEXT;
    ALTER TABLE tokens ADD COLUMN device TEXT;";

/// No reference to the sessions: what was made in one goes on when it is signed out of.
const FOURTH: &str = "
    ALTER TABLE links ADD COLUMN session TEXT;
    ALTER TABLE tokens ADD COLUMN session TEXT;
    ALTER TABLE owed ADD COLUMN person TEXT;";

/// A number of news is never given again: whoever says that they know of all up to one means nothing that came later.
const FIFTH: &str = "
    CREATE TABLE news_numbered (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
        session TEXT,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO news_numbered (id, person, session, kind, name, at)
        SELECT id, person, session, kind, name, at FROM news;
    DROP TABLE news;
    ALTER TABLE news_numbered RENAME TO news;
    CREATE INDEX news_of ON news (person);
    ALTER TABLE links ADD COLUMN by_code INTEGER NOT NULL DEFAULT 0;";
