CREATE TABLE job_unique (
    queue_name TEXT NOT NULL,
    unique_key BLOB NOT NULL,
    job_id     INTEGER NOT NULL,
    until_at      INTEGER NOT NULL,
    PRIMARY KEY (queue_name, unique_key)
);
CREATE INDEX job_unique_until ON job_unique (until_at);
CREATE TABLE job_idempotency (
    idempotency_key BLOB PRIMARY KEY,
    created_at      INTEGER NOT NULL,
    until_at           INTEGER
);
CREATE INDEX job_idempotency_until ON job_idempotency (until_at) WHERE until_at IS NOT NULL;
-- A stale ack that must not be committed: the insert rolls the caller's whole transaction back.
CREATE TABLE job_poison (x INTEGER);
CREATE TRIGGER job_poison_raise BEFORE INSERT ON job_poison
BEGIN
    SELECT RAISE(ROLLBACK, 'the job is no longer ours');
END;
