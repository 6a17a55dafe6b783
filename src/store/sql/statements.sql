-- SPDX-License-Identifier: MIT
-- Every move of a submission is one conditional update that carries the fence (run_lease, or the
-- generation before there is a run). @from is replaced by the states of src/model/state.c.
-- MySQL works through a SET from left to right and sees its own new values: status comes last.
-- {the_run} and {has_key} give back what the next question would be, on engines that can.
-- define row id, submit_id, user_id, user_name, idempotency_key, duplicate_of, status, source, subject, problem_id, contest_id, lang, priority, generation, run_lease, lease_until, available_at, retry_count, crashes, revivals, worker_id, job_id, msg_seq, created_at, updated_at, start_time, finish_time, verdict, score, time_ms, memory_kb, error, brief
-- define result verdict = ?3, score = ?4, time_ms = ?5, memory_kb = ?6, judge_result = ?7, brief = ?8, finish_time = {now}
-- define stop lease_until = NULL, run_owner = NULL, updated_at = {now}, version = version + 1
-- define begin crashes = crashes + CASE WHEN status = 'RUNNING' THEN 1 ELSE 0 END, run_lease = run_lease + 1, start_time = {now}, updated_at = {now}, available_at = NULL, version = version + 1
-- define startable duplicate_of IS NULL AND (status <> 'RUNNING' OR lease_until < {now}) AND (available_at IS NULL OR available_at <= {now}) AND crashes + CASE WHEN status = 'RUNNING' THEN 1 ELSE 0 END
-- define columns submit_id, idempotency_key, duplicate_of, user_id, user_name, source, subject, problem_id, contest_id, lang, priority, generation, retry_count, crashes, job_id, task, msg_seq, created_at, updated_at
-- define clean retry_count = 0, crashes = 0, error = NULL, available_at = NULL, msg_seq = NULL, finish_time = NULL

-- name: now
SELECT {now}

-- name: insert
INSERT INTO submissions ({columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, {now}, {now}) {no_conflict}

-- name: get
SELECT {row} FROM submissions WHERE submit_id = ?1

-- name: by_key
SELECT {row} FROM submissions WHERE user_id = ?1 AND idempotency_key = ?2 {for_update}

-- name: duplicates
SELECT {row} FROM submissions WHERE duplicate_of = ?1 ORDER BY id

-- name: texts
SELECT task, judge_result FROM submissions WHERE submit_id = ?1

-- name: start
UPDATE submissions SET {begin}, lease_until = {now} + ?3, worker_id = ?4, run_owner = ?5, status = 'RUNNING' WHERE submit_id = ?1 AND generation = ?2 AND status IN @from AND {startable} <= ?6 {the_run}

-- name: owner
SELECT run_lease, status, run_owner, {now} FROM submissions WHERE submit_id = ?1

-- name: wear_out
UPDATE submissions SET crashes = crashes + 1, error = ?4, {stop}, status = 'DLQ' WHERE submit_id = ?1 AND generation = ?2 AND status = 'RUNNING' AND lease_until < {now} AND crashes >= ?3

-- name: renew
UPDATE submissions SET lease_until = {now} + ?3, updated_at = {now} WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from

-- name: adopt
UPDATE submissions SET run_lease = run_lease + 1, lease_until = {now} + ?3, run_owner = ?4, updated_at = {now}, version = version + 1 WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from

-- name: finish
UPDATE submissions SET {result}, {stop}, error = NULL, status = 'FINISHED' WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from {has_key}

-- name: copy
UPDATE submissions SET run_lease = ?2, {result}, updated_at = {now}, version = version + 1, status = 'FINISHED' WHERE duplicate_of = ?1 AND status IN @from

-- name: fault
UPDATE submissions SET retry_count = retry_count + 1, error = ?3, available_at = {now} + ?4, {stop}, status = 'SYSTEM_ERROR' WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from AND retry_count < ?5

-- name: bury_run
UPDATE submissions SET error = ?3, {stop}, status = 'DLQ' WHERE submit_id = ?1 AND run_lease = ?2 AND status = 'RUNNING'

-- name: bury
UPDATE submissions SET error = ?2, {stop}, status = 'DLQ' WHERE submit_id = ?1 AND status IN @from

-- name: release
UPDATE submissions SET crashes = crashes + ?3, available_at = NULL, {stop}, status = 'PENDING' WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from

-- name: expire
UPDATE submissions SET crashes = crashes + 1, available_at = NULL, {stop}, status = 'PENDING' WHERE submit_id = ?1 AND run_lease = ?2 AND status IN @from AND lease_until < {now} - ?3

-- name: cancel
UPDATE submissions SET error = ?2, finish_time = {now}, {stop}, status = 'CANCELLED' WHERE submit_id = ?1 AND status IN @from

-- name: retry
UPDATE submissions SET {clean}, revivals = CASE WHEN ?2 < 0 THEN revivals + 1 ELSE ?2 END, updated_at = {now}, version = version + 1, status = 'PENDING' WHERE submit_id = ?1 AND status IN @from AND (?2 < 0 OR revivals < ?2)

-- name: lock
SELECT generation, status FROM submissions WHERE submit_id = ?1 {for_update}

-- name: keep
INSERT INTO submission_history (submit_id, generation, status, run_lease, retry_count, crashes, worker_id, start_time, finish_time, replaced_at, verdict, score, time_ms, memory_kb, error, judge_result) SELECT submit_id, generation, status, run_lease, retry_count, crashes, worker_id, start_time, finish_time, {now}, verdict, score, time_ms, memory_kb, error, judge_result FROM submissions WHERE submit_id = ?1 AND status IN @from

-- name: rejudge
UPDATE submissions SET generation = generation + 1, {clean}, verdict = NULL, score = NULL, time_ms = NULL, memory_kb = NULL, judge_result = NULL, brief = NULL, start_time = NULL, worker_id = NULL, task = coalesce(?2, task), updated_at = {now}, version = version + 1, status = 'PENDING' WHERE submit_id = ?1 AND status IN @from

-- name: history
SELECT generation, status, verdict, score, time_ms, memory_kb, worker_id, start_time, finish_time, replaced_at, error, judge_result FROM submission_history WHERE submit_id = ?1 ORDER BY generation DESC

-- name: carried
UPDATE submissions SET subject = ?2, msg_seq = ?3, updated_at = {now} WHERE submit_id = ?1 AND status = 'PENDING'

-- name: set_job
UPDATE submissions SET job_id = ?2, updated_at = {now} WHERE submit_id = ?1

-- name: job_release
UPDATE submissions SET crashes = crashes + 1, available_at = NULL, {stop}, status = 'PENDING' WHERE job_id = ?1 AND status IN @from

-- name: job_bury
UPDATE submissions SET error = ?2, {stop}, status = 'DLQ' WHERE job_id = ?1 AND status IN @from

-- name: job_cancel
UPDATE submissions SET finish_time = {now}, {stop}, status = 'CANCELLED' WHERE job_id = ?1 AND status IN @from

-- name: counts
SELECT status, count(*) FROM submissions GROUP BY status

-- name: expired
SELECT {row} FROM submissions WHERE source = ?1 AND status = 'RUNNING' AND lease_until < {now} - ?2 ORDER BY id LIMIT ?3

-- name: waiting
SELECT {row} FROM submissions WHERE source = ?1 AND status = 'PENDING' AND duplicate_of IS NULL AND updated_at < {now} - ?2 AND id > ?3 ORDER BY id LIMIT ?4

-- name: ahead
SELECT count(*) FROM (SELECT priority, generation FROM submissions WHERE source = ?1 AND status = 'PENDING' AND id < ?2 ORDER BY id DESC LIMIT ?4) AS earlier WHERE generation = 0 AND priority >= ?3

-- name: list
SELECT {row} FROM submissions WHERE id < ?1

-- name: schema_table
CREATE TABLE IF NOT EXISTS tribunal_store_schema (version {int} PRIMARY KEY, applied_at {bigint} NOT NULL)

-- name: schema_drop
DROP TABLE IF EXISTS tribunal_store_schema

-- name: schema_read
SELECT coalesce(max(version), 0) FROM tribunal_store_schema

-- name: schema_add
INSERT INTO tribunal_store_schema VALUES (?1, {now})

-- name: schema_remove
DELETE FROM tribunal_store_schema WHERE version = ?1

-- name: key_add
INSERT INTO api_keys (key_id, role, name, secret_hash, server_key, created_at) VALUES (?1, ?2, ?3, ?4, ?5, {now})

-- name: key_list
SELECT key_id, role, name, secret_hash, server_key, created_at, used_at, revoked_at FROM api_keys ORDER BY created_at, key_id

-- name: key_revoke
UPDATE api_keys SET revoked_at = {now} WHERE key_id = ?1 AND revoked_at IS NULL

-- name: key_used
UPDATE api_keys SET used_at = {now} WHERE key_id = ?1

-- name: mark_add
INSERT INTO operator_marks (kind, name, note, faults, created_at) VALUES (?1, ?2, ?3, ?4, {now})

-- name: mark_clear
DELETE FROM operator_marks WHERE kind = ?1 AND name = ?2

-- name: mark_list
SELECT kind, name, note, faults, created_at FROM operator_marks ORDER BY created_at, kind, name

-- name: event_add
INSERT INTO judge_events (created_at, type, submit_id, body) VALUES ({now}, ?1, ?2, ?3)

-- name: event_after
SELECT id, created_at, type, submit_id, body FROM judge_events WHERE id > ?1 ORDER BY id LIMIT ?2

-- name: event_of
SELECT id, created_at, type, submit_id, body FROM judge_events WHERE submit_id = ?1 ORDER BY id LIMIT ?2

-- name: event_ends
SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM judge_events

-- name: event_prune
DELETE FROM judge_events WHERE id <= ?1
