-- What a list shows of a result: counts, limits, a letter per test (codec/brief.h).
ALTER TABLE submissions ADD COLUMN brief VARBINARY(1024);
-- What outlives a controller and is told to all of them: judges that an operator drains, languages and
-- problems that are set aside.
CREATE TABLE operator_marks (
    kind       VARBINARY(191) NOT NULL,
    name       VARBINARY(191) NOT NULL,
    note       VARBINARY(1024) NOT NULL,
    faults     BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
) ENGINE=InnoDB;
