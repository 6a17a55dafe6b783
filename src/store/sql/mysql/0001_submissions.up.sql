-- Times are microseconds since 1970 UTC. (user_id, idempotency_key) is unique; a NULL key never is.
CREATE TABLE submissions (
    id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    submit_id       VARBINARY(128) NOT NULL UNIQUE,
    user_id         VARBINARY(191) NOT NULL DEFAULT '',
    user_name       VARBINARY(255) NOT NULL DEFAULT '',
    idempotency_key VARBINARY(255),
    duplicate_of    VARBINARY(128),
    status          VARBINARY(16) NOT NULL DEFAULT 'PENDING',
    source          VARBINARY(16) NOT NULL,
    subject         VARBINARY(64) NOT NULL DEFAULT '',
    problem_id      VARBINARY(191) NOT NULL DEFAULT '',
    contest_id      VARBINARY(191) NOT NULL DEFAULT '',
    lang            VARBINARY(64) NOT NULL DEFAULT '',
    priority        INT NOT NULL DEFAULT 0,
    generation      BIGINT NOT NULL DEFAULT 0,
    run_lease       BIGINT NOT NULL DEFAULT 0,
    lease_until     BIGINT,
    available_at    BIGINT,
    retry_count     INT NOT NULL DEFAULT 0,
    crashes         INT NOT NULL DEFAULT 0,
    revivals        INT NOT NULL DEFAULT 0,
    worker_id       VARBINARY(191),
    run_owner       VARBINARY(255),
    job_id          BIGINT,
    msg_seq         BIGINT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    start_time      BIGINT,
    finish_time     BIGINT,
    verdict         VARBINARY(8),
    score           BIGINT,
    time_ms         BIGINT,
    memory_kb       BIGINT,
    error           LONGBLOB,
    version         BIGINT NOT NULL DEFAULT 0,
    task            LONGBLOB NOT NULL,
    judge_result    LONGBLOB,
    UNIQUE KEY submissions_key (user_id, idempotency_key)
) ENGINE=InnoDB;
-- What a watchdog looks at, a small part of the whole.
CREATE INDEX submissions_open ON submissions (source, status, id);
CREATE INDEX submissions_status ON submissions (status, id);
CREATE INDEX submissions_user ON submissions (user_id, id);
CREATE INDEX submissions_problem ON submissions (problem_id, id);
CREATE INDEX submissions_contest ON submissions (contest_id, id);
CREATE INDEX submissions_job ON submissions (job_id);
CREATE INDEX submissions_duplicate ON submissions (duplicate_of);

CREATE TABLE submission_history (
    submit_id    VARBINARY(128) NOT NULL,
    generation   BIGINT NOT NULL,
    status       VARBINARY(16) NOT NULL,
    run_lease    BIGINT NOT NULL,
    retry_count  INT NOT NULL,
    crashes      INT NOT NULL,
    worker_id    VARBINARY(191),
    start_time   BIGINT,
    finish_time  BIGINT,
    replaced_at  BIGINT NOT NULL,
    verdict      VARBINARY(8),
    score        BIGINT,
    time_ms      BIGINT,
    memory_kb    BIGINT,
    error        LONGBLOB,
    judge_result LONGBLOB,
    PRIMARY KEY (submit_id, generation)
) ENGINE=InnoDB;
