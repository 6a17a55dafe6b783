DROP TABLE job_attempt;
DROP VIEW job_dead_letter;
DROP TABLE job_history;
DROP TABLE job_queue;
