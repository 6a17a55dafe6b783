-- Who looks after the queue, and the last tick of every schedule.
CREATE TABLE queue_leader (
    role     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    until_at INTEGER NOT NULL
);
CREATE TABLE queue_periodic (
    name    TEXT PRIMARY KEY,
    last_at INTEGER NOT NULL
);
