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

-- Many at once. An insert and an update here say nothing of their rows: what they took is known by
-- the name in run_owner, which no other statement writes; a verdict's rows are locked and told before.
-- The name of an insert stays until the run starts, and nobody reads it in a row that waits.
-- define ids submit_id IN (/*each ,*/?1/*end*/)

-- name: insert_many
INSERT INTO submissions ({columns}, run_owner) VALUES /*each ,*/(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, {now}, {now}, ?18)/*end*/ {no_conflict}

-- name: insert_taken
SELECT submit_id FROM submissions WHERE {ids} AND run_owner = ?18

-- name: start_many
UPDATE submissions SET {begin}, lease_until = {now} + ?3, worker_id = ?4, run_owner = ?5, status = 'RUNNING' WHERE {ids} AND (submit_id, generation) IN (/*each ,*/(?1, ?2)/*end*/) AND status IN @from AND {startable} <= ?6

-- name: start_taken
SELECT submit_id, run_lease, retry_count, crashes, revivals, generation FROM submissions WHERE {ids} AND run_owner = ?5

-- name: finish_lock
SELECT submit_id, CASE WHEN idempotency_key IS NULL THEN 0 ELSE 1 END FROM submissions WHERE {ids} AND (submit_id, run_lease) IN (/*each ,*/(?1, ?2)/*end*/) AND status IN @from FOR UPDATE

-- The order of assignments of a joined update is not promised: none of these reads another's.
-- name: finish_many
UPDATE (/*each UNION ALL */SELECT ?1 AS i, ?2 AS f, ?3 AS v, ?4 AS s, ?5 AS ms, ?6 AS kb, ?7 AS r, ?8 AS b /*end*/) AS t STRAIGHT_JOIN submissions ON submit_id = t.i AND run_lease = t.f SET verdict = t.v, score = t.s, time_ms = t.ms, memory_kb = t.kb, judge_result = t.r, brief = t.b, finish_time = {now}, {stop}, error = NULL, status = 'FINISHED' WHERE status IN @from

-- name: set_job_many
UPDATE (/*each UNION ALL */SELECT ?1 AS i, ?2 AS j /*end*/) AS t STRAIGHT_JOIN submissions ON submit_id = t.i SET job_id = t.j, updated_at = {now}

-- name: event_add_many
INSERT INTO judge_events (created_at, type, submit_id, body) VALUES /*each ,*/({now}, ?1, ?2, ?3)/*end*/
