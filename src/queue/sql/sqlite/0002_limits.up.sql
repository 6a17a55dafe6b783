CREATE TABLE queue_config (
    queue_name        TEXT PRIMARY KEY,
    paused            INTEGER NOT NULL DEFAULT 0,
    concurrency_limit INTEGER NOT NULL DEFAULT 0,
    rate_per_sec      REAL NOT NULL DEFAULT 0,
    rate_burst        INTEGER NOT NULL DEFAULT 0,
    rate_next_at      INTEGER NOT NULL DEFAULT 0,
    max_lease_us      INTEGER NOT NULL DEFAULT 0,
    base_backoff_us   INTEGER NOT NULL DEFAULT 0,
    max_backoff_us    INTEGER NOT NULL DEFAULT 0,
    jitter_percent    INTEGER NOT NULL DEFAULT -1,
    retention_us      INTEGER NOT NULL DEFAULT 0
);
-- One row for each job that may run at once in a limited queue.
CREATE TABLE job_slot (
    queue_name TEXT NOT NULL,
    slot       INTEGER NOT NULL,
    job_id     INTEGER,
    PRIMARY KEY (queue_name, slot)
);
CREATE INDEX job_slot_job ON job_slot (job_id) WHERE job_id IS NOT NULL;
