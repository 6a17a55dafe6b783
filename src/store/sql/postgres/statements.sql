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

-- Many at once, each column an array. The state is written so that no index of states offers itself
-- to the planner: each row is found by its submit_id.
-- define state status || ''

-- name: insert_many
INSERT INTO submissions ({columns}) SELECT unnest(?1::text[]), unnest(?2::text[]), unnest(?3::text[]), unnest(?4::text[]), unnest(?5::text[]), unnest(?6::text[]), unnest(?7::text[]), unnest(?8::text[]), unnest(?9::text[]), unnest(?10::text[]), unnest(?11::bigint[]), unnest(?12::bigint[]), unnest(?13::bigint[]), unnest(?14::bigint[]), unnest(?15::bigint[]), unnest(?16::bytea[]), unnest(?17::bigint[]), {now}, {now} {no_conflict} RETURNING submit_id

-- name: start_many
UPDATE submissions SET {begin}, lease_until = {now} + ?3, worker_id = ?4, run_owner = ?5, status = 'RUNNING' FROM (SELECT unnest(?1::text[]) AS i, unnest(?2::bigint[]) AS g) AS t WHERE submit_id = t.i AND generation = t.g AND {state} IN @from AND {startable} <= ?6 RETURNING submit_id, run_lease, retry_count, crashes, revivals, generation

-- name: finish_many
UPDATE submissions SET verdict = t.v, score = t.s, time_ms = t.ms, memory_kb = t.kb, judge_result = t.r, brief = t.b, finish_time = {now}, {stop}, error = NULL, status = 'FINISHED' FROM (SELECT unnest(?1::text[]) AS i, unnest(?2::bigint[]) AS f, unnest(?3::text[]) AS v, unnest(?4::bigint[]) AS s, unnest(?5::bigint[]) AS ms, unnest(?6::bigint[]) AS kb, unnest(?7::bytea[]) AS r, unnest(?8::text[]) AS b) AS t WHERE submit_id = t.i AND run_lease = t.f AND {state} IN @from RETURNING submit_id, CASE WHEN idempotency_key IS NULL THEN 0 ELSE 1 END

-- name: set_job_many
UPDATE submissions SET job_id = t.j, updated_at = {now} FROM (SELECT unnest(?1::text[]) AS i, unnest(?2::bigint[]) AS j) AS t WHERE submit_id = t.i

-- name: event_add_many
INSERT INTO judge_events (created_at, type, submit_id, body) SELECT {now}, unnest(?1::text[]), unnest(?2::text[]), unnest(?3::bytea[])
