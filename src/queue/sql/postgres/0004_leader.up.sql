-- Who looks after the queue, and the last tick of every schedule.
CREATE TABLE queue_leader (
    role     text PRIMARY KEY,
    holder   text NOT NULL,
    until_at bigint NOT NULL
);
CREATE TABLE queue_periodic (
    name    text PRIMARY KEY,
    last_at bigint NOT NULL
);
