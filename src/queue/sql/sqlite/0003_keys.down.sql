DROP TRIGGER job_poison_raise;
DROP TABLE job_poison;
DROP TABLE job_idempotency;
DROP TABLE job_unique;
