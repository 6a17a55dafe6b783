CREATE TABLE queue_config (
    queue_name        text COLLATE "C" PRIMARY KEY,
    paused            smallint NOT NULL DEFAULT 0,
    concurrency_limit int NOT NULL DEFAULT 0,
    rate_per_sec      double precision NOT NULL DEFAULT 0,
    rate_burst        int NOT NULL DEFAULT 0,
    rate_next_at      bigint NOT NULL DEFAULT 0,
    max_lease_us      bigint NOT NULL DEFAULT 0,
    base_backoff_us   bigint NOT NULL DEFAULT 0,
    max_backoff_us    bigint NOT NULL DEFAULT 0,
    jitter_percent    int NOT NULL DEFAULT -1,
    retention_us      bigint NOT NULL DEFAULT 0
);
-- One row for each job that may run at once in a limited queue.
CREATE TABLE job_slot (
    queue_name text COLLATE "C" NOT NULL,
    slot       int NOT NULL,
    job_id     bigint,
    PRIMARY KEY (queue_name, slot)
);
CREATE INDEX job_slot_job ON job_slot (job_id) WHERE job_id IS NOT NULL;
