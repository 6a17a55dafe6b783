-- A judge's row holds what checks it and cannot play it (doc/protocol.md §2.1); an API key's its hash.
CREATE TABLE api_keys (
    key_id      TEXT NOT NULL PRIMARY KEY,
    role        TEXT NOT NULL,
    name        TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    server_key  TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    used_at     INTEGER,
    revoked_at  INTEGER
);
-- What happened, in the order of its commits, written with the change itself.
CREATE TABLE judge_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at INTEGER NOT NULL,
    type       TEXT NOT NULL,
    submit_id  TEXT NOT NULL,
    body       BLOB NOT NULL
);
CREATE INDEX judge_events_submit ON judge_events (submit_id, id);
