-- SPDX-License-Identifier: MIT
-- define now (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
-- define no_conflict ON CONFLICT DO NOTHING
-- define for_update
-- define the_run RETURNING run_lease, retry_count, crashes, revivals, generation
-- define has_key RETURNING CASE WHEN idempotency_key IS NULL THEN 0 ELSE 1 END
-- define int INTEGER
-- define bigint INTEGER

-- name: schema_exists
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tribunal_store_schema'
