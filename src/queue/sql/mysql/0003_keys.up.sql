CREATE TABLE job_unique (
    queue_name VARBINARY(191) NOT NULL,
    unique_key VARBINARY(255) NOT NULL,
    job_id     BIGINT NOT NULL,
    until_at   BIGINT NOT NULL,
    PRIMARY KEY (queue_name, unique_key),
    KEY job_unique_until (until_at)
) ENGINE=InnoDB;
CREATE TABLE job_idempotency (
    idempotency_key VARBINARY(255) NOT NULL PRIMARY KEY,
    created_at      BIGINT NOT NULL,
    until_at        BIGINT NULL,
    KEY job_idempotency_until (until_at)
) ENGINE=InnoDB;
