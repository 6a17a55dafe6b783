-- What a list shows of a result: counts, limits, a letter per test (codec/brief.h).
ALTER TABLE submissions ADD COLUMN brief text COLLATE "C";
-- What outlives a controller and is told to all of them: judges that an operator drains, languages and
-- problems that are set aside.
CREATE TABLE operator_marks (
    kind       text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    note       text COLLATE "C" NOT NULL,
    faults     bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (kind, name)
);
