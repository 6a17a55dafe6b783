DROP TABLE operator_marks;
ALTER TABLE submissions DROP COLUMN brief;
