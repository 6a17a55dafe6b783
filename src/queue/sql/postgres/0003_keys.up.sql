CREATE TABLE job_unique (
    queue_name text COLLATE "C" NOT NULL,
    unique_key bytea NOT NULL,
    job_id     bigint NOT NULL,
    until_at      bigint NOT NULL,
    PRIMARY KEY (queue_name, unique_key)
);
CREATE INDEX job_unique_until ON job_unique (until_at);
CREATE TABLE job_idempotency (
    idempotency_key bytea PRIMARY KEY,
    created_at      bigint NOT NULL,
    until_at           bigint
);
CREATE INDEX job_idempotency_until ON job_idempotency (until_at) WHERE until_at IS NOT NULL;
