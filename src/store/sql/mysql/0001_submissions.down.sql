DROP TABLE submission_history;
DROP TABLE submissions;
