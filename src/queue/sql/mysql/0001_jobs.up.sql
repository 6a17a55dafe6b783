-- Times are microseconds since 1970 UTC. Names are bytes: no collation makes two of them equal.
-- state: 0 scheduled, 1 ready, 2 running, 3 waiting.
CREATE TABLE job_queue (
    id               BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue_name       VARBINARY(191) NOT NULL DEFAULT 'default',
    state            TINYINT NOT NULL DEFAULT 1,
    priority         INT NOT NULL DEFAULT 0,
    fair_rank        BIGINT NOT NULL DEFAULT 0,
    run_lease        BIGINT NOT NULL DEFAULT 0,
    available_at     BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
    created_at       BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
    updated_at       BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
    lease_until      BIGINT NULL,
    first_locked_at  BIGINT NULL,
    after_id         BIGINT NULL,
    executor         BIGINT NULL,
    attempts         INT NOT NULL DEFAULT 0,
    max_attempts     INT NOT NULL DEFAULT 5,
    crashes          INT NOT NULL DEFAULT 0,
    max_crashes      INT NOT NULL DEFAULT 0,
    slot             INT NULL,
    payload_kind     TINYINT NOT NULL DEFAULT 0,
    unique_scope     TINYINT NOT NULL DEFAULT 0,
    has_next         TINYINT NOT NULL DEFAULT 0,
    cancel_requested TINYINT NOT NULL DEFAULT 0,
    kind             VARBINARY(191) NOT NULL DEFAULT '',
    group_key        VARBINARY(191) NULL,
    locked_by        VARBINARY(191) NULL,
    unique_key       VARBINARY(255) NULL,
    unique_slot      VARBINARY(255) NULL,
    payload          LONGBLOB NOT NULL,
    progress         LONGBLOB NULL,
    last_error       LONGBLOB NULL,
    blob_name        VARBINARY(32) AS (IF(payload_kind >= 2, LEFT(payload, 32), NULL)) VIRTUAL,
    KEY job_queue_ready (queue_name, state, priority DESC, fair_rank, id),
    KEY job_queue_due (queue_name, state, available_at),
    KEY job_queue_lease (state, lease_until),
    UNIQUE KEY job_queue_unique (queue_name, unique_slot),
    UNIQUE KEY job_queue_after (after_id),
    KEY job_queue_group (queue_name, group_key, priority, fair_rank),
    KEY job_queue_blob (blob_name)
) ENGINE=InnoDB;

CREATE TABLE job_history (
    id            BIGINT NOT NULL,
    run_lease     BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    started_at    BIGINT NULL,
    finished_at   BIGINT NOT NULL,
    retried_at    BIGINT NULL,
    priority      INT NOT NULL,
    attempts      INT NOT NULL,
    max_attempts  INT NOT NULL,
    crashes       INT NOT NULL,
    max_crashes   INT NOT NULL,
    payload_kind  TINYINT NOT NULL,
    unique_scope  TINYINT NOT NULL,
    queue_name    VARBINARY(191) NOT NULL,
    kind          VARBINARY(191) NOT NULL,
    group_key     VARBINARY(191) NULL,
    processed_by  VARBINARY(191) NULL,
    status_final  VARBINARY(16) NOT NULL,
    unique_key    VARBINARY(255) NULL,
    payload       LONGBLOB NOT NULL,
    result        LONGBLOB NULL,
    blob_name     VARBINARY(32) AS (IF(payload_kind >= 2, LEFT(payload, 32), NULL)) VIRTUAL,
    PRIMARY KEY (id, run_lease),
    KEY idx_job_history_qtime (queue_name, finished_at),
    KEY job_history_blob (blob_name)
) ENGINE=InnoDB;

CREATE VIEW job_dead_letter AS
    SELECT id, queue_name, unique_key, payload, result AS last_error, attempts, finished_at AS failed_at
    FROM job_history WHERE status_final = 'dead_letter' AND retried_at IS NULL;

-- How runs ended that did not end the job. ended_as: 2 nack, 5 snooze, 6 release, 9 reclaimed.
CREATE TABLE job_attempt (
    id         BIGINT NOT NULL,
    run_lease  BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL,
    ended_as   TINYINT NOT NULL,
    worker     VARBINARY(191) NULL,
    error      LONGBLOB NULL,
    PRIMARY KEY (id, run_lease),
    KEY job_attempt_ended (ended_at)
) ENGINE=InnoDB;
