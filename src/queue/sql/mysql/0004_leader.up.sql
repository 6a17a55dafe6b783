-- Who looks after the queue, and the last tick of every schedule.
CREATE TABLE queue_leader (
    role     VARBINARY(191) NOT NULL PRIMARY KEY,
    holder   VARBINARY(191) NOT NULL,
    until_at BIGINT NOT NULL
) ENGINE=InnoDB;
CREATE TABLE queue_periodic (
    name    VARBINARY(191) NOT NULL PRIMARY KEY,
    last_at BIGINT NOT NULL
) ENGINE=InnoDB;
