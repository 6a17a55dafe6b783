-- SPDX-License-Identifier: MIT
-- statement_timestamp(): now() stands still in the caller's transaction, clock_timestamp() is
-- volatile and would turn index conditions into filters.
-- Inside a sub-select it is worked out once for the statement, not for every row.
-- define now (SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
-- define job j.id, j.run_lease, j.state, j.priority, j.attempts, j.max_attempts, j.crashes, j.max_crashes, j.payload_kind, j.cancel_requested, j.queue_name, j.kind, j.group_key, j.locked_by, j.unique_key, j.payload, j.progress, j.last_error, j.fair_rank, j.created_at, j.available_at, j.first_locked_at, j.lease_until, NULL::bigint
-- define old h.id, h.run_lease, CASE h.status_final WHEN 'completed' THEN 4 WHEN 'dead_letter' THEN 5 WHEN 'discarded' THEN 6 ELSE 7 END, h.priority, h.attempts, h.max_attempts, h.crashes, h.max_crashes, h.payload_kind, 0, h.queue_name, h.kind, h.group_key, h.processed_by, h.unique_key, h.payload, NULL::bytea, h.result, 0::bigint, h.created_at, h.created_at, h.started_at, NULL::bigint, h.finished_at
-- A job that is looked up by its id is found by its id. Written as "state = 2" the guard would let
-- the planner read the index of leases from its start, over every dead entry, once few rows live.
-- define running (j.state + 0 = 2)
-- define special (g.paused <> 0 OR g.concurrency_limit > 0 OR g.rate_per_sec > 0 OR g.max_lease_us > 0)
-- define take state = 2, attempts = j.attempts + 1, run_lease = j.run_lease + 1, locked_by = $4, executor = $5, lease_until = {now} + $3, first_locked_at = coalesce(j.first_locked_at, {now}), updated_at = {now}, unique_slot = CASE WHEN j.unique_scope = 1 THEN NULL ELSE j.unique_slot END
-- define takem state = 2, attempts = j.attempts + 1, run_lease = j.run_lease + 1, locked_by = $7, executor = $8, lease_until = {now} + $6, first_locked_at = coalesce(j.first_locked_at, {now}), updated_at = {now}, unique_slot = CASE WHEN j.unique_scope = 1 THEN NULL ELSE j.unique_slot END
-- Arrays side by side in a select list come out row by row, in their order; in FROM they would be
-- stored first, which costs a fifth of the insert.
-- define items (SELECT unnest($1::text[]) AS q, unnest($2::text[]) AS k, unnest($3::bytea[]) AS p, unnest($4::bigint[]) AS pk, unnest($5::bigint[]) AS pr, unnest($6::bigint[]) AS ma, unnest($7::bigint[]) AS mc, unnest($8::bigint[]) AS de, unnest($9::bigint[]) AS ra, unnest($10::bytea[]) AS uk, unnest($11::bigint[]) AS us, unnest($12::text[]) AS gk, unnest($13::bigint[]) AS rk, unnest($14::bytea[]) AS ul, unnest($15::bigint[]) AS af) AS t

-- name: now
SELECT {now}
-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE
-- name: commit
COMMIT
-- name: rollback
ROLLBACK
-- An old estimate must never make a claim read the whole table.
-- name: setup
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
-- name: poison
DO $tq$ BEGIN RAISE EXCEPTION 'the job is no longer ours' USING ERRCODE = 'TQ001'; END $tq$

-- name: schema_table
CREATE TABLE IF NOT EXISTS tribunal_queue_schema (version int PRIMARY KEY, applied_at bigint NOT NULL)
-- name: schema_drop
DROP TABLE IF EXISTS tribunal_queue_schema
-- name: schema_exists
SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('tribunal_queue_schema')
-- name: schema_lock
SELECT 1 FROM pg_advisory_xact_lock(7401965120341)
-- name: schema_version
SELECT coalesce(max(version), 0) FROM tribunal_queue_schema
-- name: schema_add
INSERT INTO tribunal_queue_schema VALUES ($1, {now})
-- name: schema_remove
DELETE FROM tribunal_queue_schema WHERE version = $1

-- name: insert
INSERT INTO job_queue (queue_name, kind, payload, payload_kind, priority, max_attempts, max_crashes, state, available_at, created_at, updated_at, unique_key, unique_scope, group_key, fair_rank, unique_slot, after_id)
SELECT q, k, p, pk, pr, ma, mc, CASE WHEN af IS NOT NULL THEN 3 WHEN ra > {now} OR (ra = 0 AND de > 0) THEN 0 ELSE 1 END, CASE WHEN ra > 0 THEN ra ELSE {now} + de END, {now}, {now}, uk, us, gk, rk, ul, af
FROM {items} RETURNING id
-- name: insert_unique
INSERT INTO job_queue (queue_name, kind, payload, payload_kind, priority, max_attempts, max_crashes, state, available_at, created_at, updated_at, unique_key, unique_scope, group_key, fair_rank, unique_slot, after_id)
SELECT q, k, p, pk, pr, ma, mc, CASE WHEN af IS NOT NULL THEN 3 WHEN ra > {now} OR (ra = 0 AND de > 0) THEN 0 ELSE 1 END, CASE WHEN ra > 0 THEN ra ELSE {now} + de END, {now}, {now}, uk, us, gk, rk, ul, af
FROM {items} ON CONFLICT DO NOTHING RETURNING id
-- name: unique_find
SELECT id, state FROM job_queue WHERE queue_name = $1 AND unique_slot = $2 FOR UPDATE
-- name: unique_seen
SELECT id, state FROM job_queue WHERE queue_name = $1 AND unique_slot = $2
-- name: after_find
SELECT id, state FROM job_queue WHERE after_id = $1 FOR UPDATE
-- name: replace
UPDATE job_queue SET payload = $2, payload_kind = $3, kind = $4, priority = $5, max_attempts = $6, max_crashes = $7, state = CASE WHEN state = 3 THEN 3 WHEN $9 > {now} OR ($9 = 0 AND $8 > 0) THEN 0 ELSE 1 END, available_at = CASE WHEN $9 > 0 THEN $9 ELSE {now} + $8 END, updated_at = {now} WHERE id = $1 AND state <> 2
-- name: mark_next
UPDATE job_queue j SET has_next = 1 WHERE id = $1 AND {running}
-- name: next_ready
UPDATE job_queue SET state = CASE WHEN available_at > {now} THEN 0 ELSE 1 END, after_id = NULL, unique_slot = unique_key, updated_at = {now} WHERE after_id = $1
-- name: window_find
SELECT job_id FROM job_unique WHERE queue_name = $1 AND unique_key = $2 AND until_at > {now}
-- name: window_take
INSERT INTO job_unique AS u VALUES ($1, $2, 0, {now} + $3) ON CONFLICT (queue_name, unique_key) DO UPDATE SET job_id = 0, until_at = {now} + $3 WHERE u.until_at <= {now}
-- name: window_set
UPDATE job_unique SET job_id = $3 WHERE queue_name = $1 AND unique_key = $2
-- name: window_prune
DELETE FROM job_unique WHERE ctid = ANY (ARRAY (SELECT ctid FROM job_unique WHERE until_at <= {now} ORDER BY until_at LIMIT $1 FOR UPDATE SKIP LOCKED))
-- name: group_rank
SELECT greatest(coalesce((SELECT j.fair_rank FROM job_queue j WHERE j.queue_name = $1 AND j.state = 1 AND j.priority = $2 AND j.fair_rank > 0 ORDER BY j.fair_rank, j.id LIMIT 1), {now}), coalesce((SELECT max(j.fair_rank) FROM job_queue j WHERE j.queue_name = $1 AND j.group_key = $3 AND j.priority = $2), 0) + 1)
-- name: notify
SELECT 1 FROM pg_notify('tribunal_queue', $1)
-- name: listen
LISTEN tribunal_queue

-- name: promote
WITH c AS MATERIALIZED (SELECT id FROM job_queue WHERE queue_name = $1 AND state = 0 AND available_at <= {now} ORDER BY available_at LIMIT $2 FOR UPDATE SKIP LOCKED)
UPDATE job_queue j SET state = 1, updated_at = {now} WHERE j.id = ANY (ARRAY (SELECT id FROM c)) RETURNING j.id, j.priority, j.group_key
-- name: set_rank
UPDATE job_queue SET fair_rank = $2 WHERE id = $1
-- name: claim
WITH c AS MATERIALIZED (SELECT id FROM job_queue WHERE queue_name = $1 AND state = 1 AND ($6::bigint = 1 OR NOT EXISTS (SELECT 1 FROM queue_config g WHERE g.queue_name = $1 AND {special})) ORDER BY priority DESC, fair_rank, id LIMIT $2 FOR UPDATE SKIP LOCKED)
UPDATE job_queue j SET {take} WHERE j.id = ANY (ARRAY (SELECT id FROM c)) RETURNING {job}
-- name: claim_marked
WITH c AS MATERIALIZED (SELECT x.id FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS l(prio, rank, id) CROSS JOIN LATERAL (SELECT k.id FROM job_queue k WHERE k.queue_name = $4 AND k.state = 1 AND k.priority = l.prio AND (k.fair_rank, k.id) > (l.rank, l.id) AND ($9::bigint = 1 OR NOT EXISTS (SELECT 1 FROM queue_config g WHERE g.queue_name = $4 AND {special})) ORDER BY k.fair_rank, k.id LIMIT $5 FOR UPDATE SKIP LOCKED) x LIMIT $5)
UPDATE job_queue j SET {takem} WHERE j.id = ANY (ARRAY (SELECT id FROM c)) RETURNING {job}

-- name: lock
SELECT {job}, j.slot, j.has_next FROM job_queue j WHERE j.id = ANY ($1::bigint[]) AND {running} ORDER BY j.id FOR UPDATE
-- name: lock_any
SELECT {job}, j.slot, j.has_next FROM job_queue j WHERE j.id = $1 FOR UPDATE
-- name: expired
SELECT {job}, j.slot, j.has_next FROM job_queue j WHERE j.state = 2 AND j.lease_until > $2 AND j.lease_until <= {now} ORDER BY j.lease_until LIMIT $1 FOR UPDATE SKIP LOCKED
-- name: finish
WITH s AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS t(id, lease, status, outcome)),
d AS (DELETE FROM job_queue j USING s WHERE j.id = s.id AND j.run_lease = s.lease AND ({running} OR $6::bigint = 1) AND ($5::bigint = 1 OR (j.slot IS NULL AND j.has_next = 0)) RETURNING j.*, s.status, s.outcome),
h AS (INSERT INTO job_history (id, run_lease, created_at, started_at, finished_at, priority, attempts, max_attempts, crashes, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, processed_by, status_final, unique_key, payload, result)
SELECT id, run_lease, created_at, first_locked_at, {now}, priority, attempts, max_attempts, crashes, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, locked_by, CASE status WHEN 4 THEN 'completed' WHEN 5 THEN 'dead_letter' WHEN 6 THEN 'discarded' ELSE 'cancelled' END, unique_key, payload, outcome FROM d)
SELECT id, run_lease, slot, has_next FROM d
-- name: requeue
WITH s AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[]) AS t(id, lease, delay, da, dc, ended, error)),
u AS (UPDATE job_queue j SET state = CASE WHEN s.delay > 0 THEN 0 ELSE 1 END, available_at = {now} + s.delay, lease_until = NULL, locked_by = NULL, executor = NULL, slot = NULL, fair_rank = 0, attempts = greatest(j.attempts + s.da, 0), crashes = j.crashes + s.dc, last_error = coalesce(s.error, j.last_error), updated_at = {now} FROM s WHERE j.id = s.id AND j.run_lease = s.lease AND {running} RETURNING j.id, j.run_lease, s.ended, s.error),
a AS (INSERT INTO job_attempt SELECT id, run_lease, {now}, ended, $8, error FROM u)
SELECT id, run_lease FROM u
-- name: attempt_lost
INSERT INTO job_attempt VALUES ($1, $2, {now}, 9, $3, $4) ON CONFLICT DO NOTHING
-- name: progress
UPDATE job_queue j SET progress = s.data, updated_at = {now} FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS s(id, lease, data) WHERE j.id = s.id AND j.run_lease = s.lease AND {running} RETURNING j.id, j.run_lease
-- name: beat
WITH s AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS t(id, lease)),
l AS MATERIALIZED (SELECT j.id FROM job_queue j JOIN s ON j.id = s.id AND j.run_lease = s.lease WHERE {running} FOR UPDATE OF j SKIP LOCKED)
UPDATE job_queue j SET lease_until = {now} + $3, updated_at = {now} WHERE j.id = ANY (ARRAY (SELECT id FROM l)) RETURNING j.id, j.run_lease, j.cancel_requested
-- name: adopt
UPDATE job_queue SET run_lease = run_lease + 1, locked_by = $4, executor = $5, lease_until = {now} + $3, updated_at = {now} WHERE id = $1 AND run_lease = $2 AND state = 2
-- name: verify
SELECT CASE WHEN EXISTS (SELECT 1 FROM job_queue j WHERE id = $1 AND run_lease = $2 AND {running}) THEN 1
WHEN EXISTS (SELECT 1 FROM job_attempt WHERE id = $1 AND run_lease = $2 AND ended_as = 9) THEN 4
WHEN EXISTS (SELECT 1 FROM job_attempt WHERE id = $1 AND run_lease = $2) THEN 3
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = $1 AND run_lease = $2 AND status_final = 'cancelled') THEN 4
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = $1 AND run_lease = $2) THEN 2
WHEN EXISTS (SELECT 1 FROM job_queue WHERE id = $1 AND run_lease > $2) THEN 4
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = $1 AND run_lease > $2) THEN 4 ELSE 5 END

-- name: ask_cancel
UPDATE job_queue j SET cancel_requested = 1 WHERE id = $1 AND {running}
-- name: run_now
UPDATE job_queue SET state = 1, available_at = {now}, updated_at = {now} WHERE id = $1 AND state + 0 = 0
-- name: revive
WITH h AS (SELECT * FROM job_history WHERE id = $1 AND status_final <> 'completed' AND retried_at IS NULL ORDER BY run_lease DESC LIMIT 1 FOR UPDATE),
m AS (UPDATE job_history x SET retried_at = {now} FROM h WHERE x.id = h.id AND x.run_lease = h.run_lease)
INSERT INTO job_queue (id, run_lease, created_at, first_locked_at, available_at, updated_at, priority, max_attempts, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, unique_key, unique_slot, payload, last_error, state)
SELECT id, run_lease + 1, created_at, started_at, {now}, {now}, priority, max_attempts, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, unique_key, CASE WHEN unique_scope = 0 THEN unique_key END, payload, result, 1 FROM h
-- name: forget
UPDATE job_history SET retried_at = {now} WHERE id = $1 AND status_final = 'dead_letter' AND retried_at IS NULL
-- name: state_of
SELECT state FROM job_queue WHERE id = $1

-- name: config_get
SELECT paused, concurrency_limit, (rate_per_sec * 1000)::bigint, rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us, rate_next_at, {now} FROM queue_config WHERE queue_name = $1
-- name: config_lock
SELECT paused, concurrency_limit, (rate_per_sec * 1000)::bigint, rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us, rate_next_at, {now} FROM queue_config WHERE queue_name = $1 FOR UPDATE SKIP LOCKED
-- name: config_set
INSERT INTO queue_config (queue_name, paused, concurrency_limit, rate_per_sec, rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us) VALUES ($1, $2, $3, $4 / 1000.0, $5, $6, $7, $8, $9, $10)
ON CONFLICT (queue_name) DO UPDATE SET paused = $2, concurrency_limit = $3, rate_per_sec = $4 / 1000.0, rate_burst = $5, max_lease_us = $6, base_backoff_us = $7, max_backoff_us = $8, jitter_percent = $9, retention_us = $10
-- name: config_pause
INSERT INTO queue_config (queue_name, paused) VALUES ($1, $2) ON CONFLICT (queue_name) DO UPDATE SET paused = $2
-- name: rate_set
UPDATE queue_config SET rate_next_at = $2 WHERE queue_name = $1
-- name: slot_count
SELECT count(*) FROM job_slot WHERE queue_name = $1 AND slot < $2
-- name: slot_make
INSERT INTO job_slot (queue_name, slot) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING
-- name: slot_pick
SELECT slot FROM job_slot WHERE queue_name = $1 AND slot < $2 AND job_id IS NULL ORDER BY slot LIMIT $3 FOR UPDATE SKIP LOCKED
-- name: slot_used
SELECT count(*) FROM job_slot WHERE queue_name = $1 AND job_id IS NOT NULL
-- name: slot_take
UPDATE job_slot SET job_id = $3 WHERE queue_name = $1 AND slot = $2
-- name: slot_note
UPDATE job_queue SET slot = $2 WHERE id = $1
-- name: slot_free
UPDATE job_slot SET job_id = NULL WHERE job_id = $1

-- name: prune_queue
SELECT min(queue_name) FROM job_history WHERE queue_name > $1
-- name: prune
DELETE FROM job_history WHERE ctid = ANY (ARRAY (SELECT ctid FROM job_history WHERE queue_name = $1 AND finished_at < {now} - $2 AND ($3 = 1 OR status_final <> 'dead_letter' OR retried_at IS NOT NULL) ORDER BY finished_at LIMIT $4 FOR UPDATE SKIP LOCKED))
-- name: prune_attempts
DELETE FROM job_attempt WHERE ctid = ANY (ARRAY (SELECT ctid FROM job_attempt WHERE ended_at < {now} - $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))
-- name: once
INSERT INTO job_idempotency VALUES ($1, {now}, CASE WHEN $2 > 0 THEN {now} + $2 END) ON CONFLICT DO NOTHING
-- name: once_prune
DELETE FROM job_idempotency WHERE ctid = ANY (ARRAY (SELECT ctid FROM job_idempotency WHERE until_at <= {now} ORDER BY until_at LIMIT $1 FOR UPDATE SKIP LOCKED))
-- name: stats_live
SELECT queue_name, state, count(*), {now} - min(available_at) FROM job_queue GROUP BY queue_name, state
-- name: stats_old
SELECT queue_name, CASE WHEN status_final = 'dead_letter' THEN 5 ELSE 4 END, count(*), 0::bigint FROM job_history WHERE status_final = 'completed' OR (status_final = 'dead_letter' AND retried_at IS NULL) GROUP BY queue_name, 2
-- name: stats_config
SELECT queue_name, -1, paused, 0::bigint FROM queue_config
-- name: list_live
SELECT {job} FROM job_queue j WHERE j.id > $1 AND ($2::text IS NULL OR j.queue_name = $2) AND ($3 < 0 OR j.state = $3) ORDER BY j.id LIMIT $4
-- name: list_old
SELECT {old} FROM job_history h WHERE h.id > $1 AND ($2::text IS NULL OR h.queue_name = $2) AND h.retried_at IS NULL AND h.status_final = CASE $3 WHEN 4 THEN 'completed' WHEN 5 THEN 'dead_letter' WHEN 6 THEN 'discarded' ELSE 'cancelled' END ORDER BY h.id LIMIT $4
-- name: show_live
SELECT {job} FROM job_queue j WHERE j.id = $1
-- name: show_old
SELECT {old} FROM job_history h WHERE h.id = $1 ORDER BY h.run_lease DESC LIMIT 1
-- name: blob_used
SELECT 1 WHERE EXISTS (SELECT 1 FROM job_queue WHERE payload = $1 AND payload_kind >= 2) OR EXISTS (SELECT 1 FROM job_history WHERE payload = $1 AND payload_kind >= 2)
-- name: peek
SELECT coalesce((SELECT 0 FROM job_queue WHERE queue_name = $1 AND state = 1 ORDER BY priority DESC, fair_rank, id LIMIT 1), (SELECT min(available_at) FROM job_queue WHERE queue_name = $1 AND state = 0) - {now})

-- name: leader_take
UPDATE queue_leader SET holder = $2, until_at = {now} + $3 WHERE role = $1 AND (holder = $2 OR until_at <= {now})
-- name: leader_make
INSERT INTO queue_leader VALUES ($1, '', 0) ON CONFLICT DO NOTHING
-- name: periodic_get
SELECT last_at, {now} FROM queue_periodic WHERE name = $1
-- name: periodic_lock
SELECT last_at, {now} FROM queue_periodic WHERE name = $1 FOR UPDATE
-- name: periodic_make
INSERT INTO queue_periodic VALUES ($1, {now}) ON CONFLICT DO NOTHING
-- name: periodic_move
UPDATE queue_periodic SET last_at = $2 WHERE name = $1 AND last_at < $2
-- name: stats_priority
SELECT queue_name, state, priority, count(*), {now} - min(available_at) FROM job_queue GROUP BY queue_name, state, priority ORDER BY queue_name, priority DESC, state
-- name: stats_recent
SELECT CASE status_final WHEN 'completed' THEN 4 WHEN 'dead_letter' THEN 5 ELSE 6 END, attempts, coalesce(started_at, finished_at) - created_at, finished_at - coalesce(started_at, finished_at) FROM job_history WHERE queue_name = $1 AND finished_at > {now} - $2 ORDER BY finished_at DESC LIMIT $3
