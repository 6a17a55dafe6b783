-- What a list shows of a result: counts, limits, a letter per test (codec/brief.h).
ALTER TABLE submissions ADD COLUMN brief TEXT;
-- What outlives a controller and is told to all of them: judges that an operator drains, languages and
-- problems that are set aside.
CREATE TABLE operator_marks (
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    note       TEXT NOT NULL,
    faults     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
);
