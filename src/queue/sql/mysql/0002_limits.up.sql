CREATE TABLE queue_config (
    queue_name        VARBINARY(191) NOT NULL PRIMARY KEY,
    paused            TINYINT NOT NULL DEFAULT 0,
    concurrency_limit INT NOT NULL DEFAULT 0,
    rate_per_sec      DOUBLE NOT NULL DEFAULT 0,
    rate_burst        INT NOT NULL DEFAULT 0,
    rate_next_at      BIGINT NOT NULL DEFAULT 0,
    max_lease_us      BIGINT NOT NULL DEFAULT 0,
    base_backoff_us   BIGINT NOT NULL DEFAULT 0,
    max_backoff_us    BIGINT NOT NULL DEFAULT 0,
    jitter_percent    INT NOT NULL DEFAULT -1,
    retention_us      BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;
-- One row for each job that may run at once in a limited queue.
CREATE TABLE job_slot (
    queue_name VARBINARY(191) NOT NULL,
    slot       INT NOT NULL,
    job_id     BIGINT NULL,
    PRIMARY KEY (queue_name, slot),
    KEY job_slot_free (queue_name, job_id, slot),
    KEY job_slot_job (job_id)
) ENGINE=InnoDB;
