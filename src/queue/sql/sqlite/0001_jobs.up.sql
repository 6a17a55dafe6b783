-- Times are microseconds since 1970 UTC. state: 0 scheduled, 1 ready, 2 running, 3 waiting.
CREATE TABLE job_queue (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    run_lease        INTEGER NOT NULL DEFAULT 0,
    fair_rank             INTEGER NOT NULL DEFAULT 0,
    available_at     INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    created_at       INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at       INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    lease_until      INTEGER,
    first_locked_at  INTEGER,
    after_id         INTEGER,
    executor         INTEGER,
    priority         INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    max_attempts     INTEGER NOT NULL DEFAULT 5,
    crashes          INTEGER NOT NULL DEFAULT 0,
    max_crashes      INTEGER NOT NULL DEFAULT 0,
    slot             INTEGER,
    state            INTEGER NOT NULL DEFAULT 1,
    payload_kind     INTEGER NOT NULL DEFAULT 0,
    unique_scope     INTEGER NOT NULL DEFAULT 0,
    has_next         INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    queue_name       TEXT NOT NULL DEFAULT 'default',
    kind             TEXT NOT NULL DEFAULT '',
    group_key        TEXT,
    locked_by        TEXT,
    unique_key       BLOB,
    unique_slot      BLOB,
    payload          BLOB NOT NULL DEFAULT x'',
    progress         BLOB,
    last_error       BLOB
);
-- In the order of the claim, and only what can be claimed.
CREATE INDEX job_queue_ready ON job_queue (queue_name, priority DESC, fair_rank, id) WHERE state = 1;
CREATE INDEX job_queue_due ON job_queue (queue_name, available_at) WHERE state = 0;
CREATE INDEX job_queue_lease ON job_queue (executor, lease_until) WHERE state = 2;
CREATE UNIQUE INDEX job_queue_unique ON job_queue (queue_name, unique_slot) WHERE unique_slot IS NOT NULL;
CREATE UNIQUE INDEX job_queue_after ON job_queue (after_id) WHERE after_id IS NOT NULL;
CREATE INDEX job_queue_group ON job_queue (queue_name, group_key, priority, fair_rank) WHERE group_key IS NOT NULL;
CREATE INDEX job_queue_blob ON job_queue (payload) WHERE payload_kind >= 2;

CREATE TABLE job_history (
    id            INTEGER NOT NULL,
    run_lease     INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    finished_at   INTEGER NOT NULL,
    retried_at    INTEGER,
    priority      INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    max_attempts  INTEGER NOT NULL,
    crashes       INTEGER NOT NULL,
    max_crashes   INTEGER NOT NULL,
    payload_kind  INTEGER NOT NULL,
    unique_scope  INTEGER NOT NULL,
    queue_name    TEXT NOT NULL,
    kind          TEXT NOT NULL,
    group_key     TEXT,
    processed_by  TEXT,
    status_final  TEXT NOT NULL,
    unique_key    BLOB,
    payload       BLOB NOT NULL,
    result        BLOB,
    PRIMARY KEY (id, run_lease)
) WITHOUT ROWID;
CREATE INDEX idx_job_history_qtime ON job_history (queue_name, finished_at);
CREATE INDEX job_history_dead ON job_history (queue_name, id)
    WHERE status_final = 'dead_letter' AND retried_at IS NULL;
CREATE INDEX job_history_blob ON job_history (payload) WHERE payload_kind >= 2;
CREATE VIEW job_dead_letter AS
    SELECT id, queue_name, unique_key, payload, result AS last_error, attempts, finished_at AS failed_at
    FROM job_history WHERE status_final = 'dead_letter' AND retried_at IS NULL;

-- How runs ended that did not end the job. ended_as: 2 nack, 5 snooze, 6 release, 9 reclaimed.
CREATE TABLE job_attempt (
    id         INTEGER NOT NULL,
    run_lease  INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    ended_as   INTEGER NOT NULL,
    worker     TEXT,
    error      BLOB,
    PRIMARY KEY (id, run_lease)
) WITHOUT ROWID;
CREATE INDEX job_attempt_ended ON job_attempt (ended_at);
