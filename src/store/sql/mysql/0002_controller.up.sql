-- A judge's row holds what checks it and cannot play it (doc/protocol.md §2.1); an API key's its hash.
CREATE TABLE api_keys (
    key_id      VARBINARY(16) NOT NULL PRIMARY KEY,
    role        VARBINARY(191) NOT NULL,
    name        VARBINARY(191) NOT NULL,
    secret_hash VARBINARY(191) NOT NULL,
    server_key  VARBINARY(191) NOT NULL,
    created_at  BIGINT NOT NULL,
    used_at     BIGINT,
    revoked_at  BIGINT
) ENGINE=InnoDB;
-- What happened, in the order of its commits, written with the change itself.
CREATE TABLE judge_events (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    type       VARBINARY(191) NOT NULL,
    submit_id  VARBINARY(191) NOT NULL,
    body       LONGBLOB NOT NULL
) ENGINE=InnoDB;
CREATE INDEX judge_events_submit ON judge_events (submit_id, id);
