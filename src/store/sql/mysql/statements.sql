-- SPDX-License-Identifier: MIT
-- define now TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
-- define no_conflict ON DUPLICATE KEY UPDATE submissions.version = submissions.version
-- define for_update FOR UPDATE
-- define the_run
-- define has_key
-- define int INT
-- define bigint BIGINT

-- name: schema_exists
SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'tribunal_store_schema'

-- name: schema_lock
SELECT GET_LOCK(CONCAT('tribunal_store.', DATABASE()), 60)

-- name: schema_unlock
SELECT RELEASE_LOCK(CONCAT('tribunal_store.', DATABASE()))
