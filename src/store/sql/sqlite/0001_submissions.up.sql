-- Times are microseconds since 1970 UTC. (user_id, idempotency_key) is unique; a NULL key never is.
CREATE TABLE submissions (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    submit_id       TEXT NOT NULL UNIQUE,
    user_id         TEXT NOT NULL DEFAULT '',
    user_name       TEXT NOT NULL DEFAULT '',
    idempotency_key TEXT,
    duplicate_of    TEXT,
    status          TEXT NOT NULL DEFAULT 'PENDING',
    source          TEXT NOT NULL,
    subject         TEXT NOT NULL DEFAULT '',
    problem_id      TEXT NOT NULL DEFAULT '',
    contest_id      TEXT NOT NULL DEFAULT '',
    lang            TEXT NOT NULL DEFAULT '',
    priority        INTEGER NOT NULL DEFAULT 0,
    generation      INTEGER NOT NULL DEFAULT 0,
    run_lease       INTEGER NOT NULL DEFAULT 0,
    lease_until     INTEGER,
    available_at    INTEGER,
    retry_count     INTEGER NOT NULL DEFAULT 0,
    crashes         INTEGER NOT NULL DEFAULT 0,
    revivals        INTEGER NOT NULL DEFAULT 0,
    worker_id       TEXT,
    run_owner       TEXT,
    job_id          INTEGER,
    msg_seq         INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    start_time      INTEGER,
    finish_time     INTEGER,
    verdict         TEXT,
    score           INTEGER,
    time_ms         INTEGER,
    memory_kb       INTEGER,
    error           TEXT,
    version         INTEGER NOT NULL DEFAULT 0,
    task            BLOB NOT NULL,
    judge_result    BLOB,
    UNIQUE (user_id, idempotency_key)
);
-- What a watchdog looks at, a small part of the whole.
CREATE INDEX submissions_open ON submissions (source, status, id)
    WHERE status IN ('PENDING', 'RUNNING', 'SYSTEM_ERROR', 'DLQ');
CREATE INDEX submissions_status ON submissions (status, id);
CREATE INDEX submissions_user ON submissions (user_id, id);
CREATE INDEX submissions_problem ON submissions (problem_id, id);
CREATE INDEX submissions_contest ON submissions (contest_id, id) WHERE contest_id <> '';
CREATE INDEX submissions_job ON submissions (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX submissions_duplicate ON submissions (duplicate_of) WHERE duplicate_of IS NOT NULL;

CREATE TABLE submission_history (
    submit_id    TEXT NOT NULL,
    generation   INTEGER NOT NULL,
    status       TEXT NOT NULL,
    run_lease    INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    crashes      INTEGER NOT NULL,
    worker_id    TEXT,
    start_time   INTEGER,
    finish_time  INTEGER,
    replaced_at  INTEGER NOT NULL,
    verdict      TEXT,
    score        INTEGER,
    time_ms      INTEGER,
    memory_kb    INTEGER,
    error        TEXT,
    judge_result BLOB,
    PRIMARY KEY (submit_id, generation)
);
