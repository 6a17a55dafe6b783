-- SPDX-License-Identifier: MIT
-- define now (SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
-- define no_conflict ON CONFLICT DO NOTHING
-- define for_update FOR UPDATE
-- define the_run RETURNING run_lease, retry_count, crashes, revivals, generation
-- define has_key RETURNING CASE WHEN idempotency_key IS NULL THEN 0 ELSE 1 END
-- define int int
-- define bigint bigint

-- name: schema_exists
SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('tribunal_store_schema')

-- name: schema_lock
SELECT 1 FROM pg_advisory_xact_lock(7401965120342)
