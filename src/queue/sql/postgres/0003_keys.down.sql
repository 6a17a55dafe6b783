DROP TABLE job_idempotency;
DROP TABLE job_unique;
