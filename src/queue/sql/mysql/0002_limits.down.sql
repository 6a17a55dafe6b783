DROP TABLE job_slot;
DROP TABLE queue_config;
