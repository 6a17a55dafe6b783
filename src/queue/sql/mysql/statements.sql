-- SPDX-License-Identifier: MIT
-- The text protocol: ?n is replaced by a literal (bytes in hex), and what stands between each and
-- end is repeated for every row of a set with the separator named there.
-- UTC_TIMESTAMP: no session time zone, no summer time, no year 2038.
-- define now TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
-- define job j.id, j.run_lease, j.state, j.priority, j.attempts, j.max_attempts, j.crashes, j.max_crashes, j.payload_kind, j.cancel_requested, j.queue_name, j.kind, j.group_key, j.locked_by, j.unique_key, j.payload, j.progress, j.last_error, j.fair_rank, j.created_at, j.available_at, j.first_locked_at, j.lease_until, NULL
-- define old h.id, h.run_lease, CASE h.status_final WHEN 'completed' THEN 4 WHEN 'dead_letter' THEN 5 WHEN 'discarded' THEN 6 ELSE 7 END, h.priority, h.attempts, h.max_attempts, h.crashes, h.max_crashes, h.payload_kind, 0, h.queue_name, h.kind, h.group_key, h.processed_by, h.unique_key, h.payload, NULL, h.result, 0, h.created_at, h.created_at, h.started_at, NULL, h.finished_at
-- define special (g.paused <> 0 OR g.concurrency_limit > 0 OR g.rate_per_sec > 0 OR g.max_lease_us > 0)
-- define row (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE WHEN ?15 IS NOT NULL THEN 3 WHEN ?9 > {now} OR (?9 = 0 AND ?8 > 0) THEN 0 ELSE 1 END, CASE WHEN ?9 > 0 THEN ?9 ELSE {now} + ?8 END, {now}, {now}, ?10, ?11, ?12, ?13, ?14, ?15)

-- name: now
SELECT {now}
-- name: begin
START TRANSACTION
-- name: commit
COMMIT
-- name: rollback
ROLLBACK
-- name: setup
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
-- name: setup_wait
SET SESSION innodb_lock_wait_timeout = ?1
-- name: server
SELECT VERSION()
-- name: poison
ROLLBACK

-- name: schema_table
CREATE TABLE IF NOT EXISTS tribunal_queue_schema (version INT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL) ENGINE=InnoDB
-- name: schema_drop
DROP TABLE IF EXISTS tribunal_queue_schema
-- name: schema_exists
SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'tribunal_queue_schema'
-- name: schema_lock
SELECT GET_LOCK(CONCAT('tribunal_queue.', DATABASE()), 60)
-- name: schema_unlock
SELECT RELEASE_LOCK(CONCAT('tribunal_queue.', DATABASE()))
-- name: schema_version
SELECT coalesce(max(version), 0) FROM tribunal_queue_schema
-- name: schema_add
INSERT INTO tribunal_queue_schema VALUES (?1, {now})
-- name: schema_remove
DELETE FROM tribunal_queue_schema WHERE version = ?1

-- name: insert
INSERT INTO job_queue (queue_name, kind, payload, payload_kind, priority, max_attempts, max_crashes, state, available_at, created_at, updated_at, unique_key, unique_scope, group_key, fair_rank, unique_slot, after_id) VALUES /*each ,*/{row}/*end*/
-- name: insert_unique
INSERT INTO job_queue (queue_name, kind, payload, payload_kind, priority, max_attempts, max_crashes, state, available_at, created_at, updated_at, unique_key, unique_scope, group_key, fair_rank, unique_slot, after_id) VALUES /*each ,*/{row}/*end*/
-- name: insert_ids
SELECT LAST_INSERT_ID(), @@auto_increment_increment
-- name: unique_find
SELECT id, state FROM job_queue WHERE queue_name = ?1 AND unique_slot = ?2 FOR UPDATE
-- name: unique_seen
SELECT id, state FROM job_queue WHERE queue_name = ?1 AND unique_slot = ?2
-- name: after_find
SELECT id, state FROM job_queue WHERE after_id = ?1 FOR UPDATE
-- name: replace
UPDATE job_queue SET payload = ?2, payload_kind = ?3, kind = ?4, priority = ?5, max_attempts = ?6, max_crashes = ?7, state = CASE WHEN state = 3 THEN 3 WHEN ?9 > {now} OR (?9 = 0 AND ?8 > 0) THEN 0 ELSE 1 END, available_at = CASE WHEN ?9 > 0 THEN ?9 ELSE {now} + ?8 END, updated_at = {now} WHERE id = ?1 AND state <> 2
-- name: mark_next
UPDATE job_queue SET has_next = 1 WHERE id = ?1 AND state = 2
-- name: next_ready
UPDATE job_queue SET state = CASE WHEN available_at > {now} THEN 0 ELSE 1 END, after_id = NULL, unique_slot = unique_key, updated_at = {now} WHERE after_id = ?1
-- name: window_find
SELECT job_id FROM job_unique WHERE queue_name = ?1 AND unique_key = ?2 AND until_at > {now} FOR UPDATE
-- name: window_take
INSERT INTO job_unique VALUES (?1, ?2, 0, {now} + ?3) ON DUPLICATE KEY UPDATE job_id = IF(until_at <= {now}, 0, job_id), until_at = IF(until_at <= {now}, {now} + ?3, until_at)
-- name: window_set
UPDATE job_unique SET job_id = ?3 WHERE queue_name = ?1 AND unique_key = ?2
-- name: window_prune
DELETE FROM job_unique WHERE until_at <= {now} ORDER BY until_at LIMIT ?1
-- name: group_rank
SELECT greatest(coalesce((SELECT j.fair_rank FROM job_queue j FORCE INDEX (job_queue_ready) WHERE j.queue_name = ?1 AND j.state = 1 AND j.priority = ?2 AND j.fair_rank > 0 ORDER BY j.fair_rank, j.id LIMIT 1), {now}), coalesce((SELECT max(j.fair_rank) FROM job_queue j FORCE INDEX (job_queue_group) WHERE j.queue_name = ?1 AND j.group_key = ?3 AND j.priority = ?2), 0) + 1)

-- name: promote_pick
SELECT id, priority, group_key FROM job_queue FORCE INDEX (job_queue_due) WHERE queue_name = ?1 AND state = 0 AND available_at <= {now} ORDER BY available_at LIMIT ?2 FOR UPDATE SKIP LOCKED
-- name: promote
UPDATE job_queue SET state = 1, updated_at = {now} WHERE id IN (/*each ,*/?1/*end*/)
-- name: set_rank
UPDATE job_queue SET fair_rank = ?2 WHERE id = ?1
-- name: claim_pick
SELECT {job}, {now} FROM job_queue j FORCE INDEX (job_queue_ready) WHERE j.queue_name = ?1 AND j.state = 1 AND (?6 = 1 OR NOT EXISTS (SELECT 1 FROM queue_config g WHERE g.queue_name = ?1 AND {special})) ORDER BY j.priority DESC, j.fair_rank, j.id LIMIT ?2 FOR UPDATE SKIP LOCKED
-- name: claim
UPDATE job_queue SET state = 2, attempts = attempts + 1, run_lease = run_lease + 1, locked_by = ?4, executor = ?5, lease_until = ?6 + ?3, first_locked_at = coalesce(first_locked_at, ?6), updated_at = ?6, unique_slot = CASE WHEN unique_scope = 1 THEN NULL ELSE unique_slot END WHERE id IN (/*each ,*/?1/*end*/)

-- name: lock
SELECT {job}, j.slot, j.has_next FROM job_queue j WHERE j.id IN (/*each ,*/?1/*end*/) AND j.state = 2 ORDER BY j.id FOR UPDATE
-- name: lock_any
SELECT {job}, j.slot, j.has_next FROM job_queue j WHERE j.id = ?1 FOR UPDATE
-- name: expired
SELECT {job}, j.slot, j.has_next FROM job_queue j FORCE INDEX (job_queue_lease) WHERE j.state = 2 AND j.lease_until <= {now} ORDER BY j.lease_until LIMIT ?1 FOR UPDATE SKIP LOCKED
-- name: finish_lock
SELECT j.id, j.run_lease, j.slot, j.has_next FROM job_queue j WHERE j.id IN (/*each ,*/?1/*end*/) AND (j.state = 2 OR ?6 = 1) ORDER BY j.id FOR UPDATE
-- name: finish_archive
INSERT INTO job_history (id, run_lease, created_at, started_at, finished_at, priority, attempts, max_attempts, crashes, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, processed_by, status_final, unique_key, payload, result)
SELECT j.id, j.run_lease, j.created_at, j.first_locked_at, {now}, j.priority, j.attempts, j.max_attempts, j.crashes, j.max_crashes, j.payload_kind, j.unique_scope, j.queue_name, j.kind, j.group_key, j.locked_by, CASE s.status WHEN 4 THEN 'completed' WHEN 5 THEN 'dead_letter' WHEN 6 THEN 'discarded' ELSE 'cancelled' END, j.unique_key, j.payload, s.outcome
FROM (/*each  UNION ALL */SELECT ?1 AS id, ?3 AS status, ?4 AS outcome/*end*/) s STRAIGHT_JOIN job_queue j ON j.id = s.id
-- name: finish
DELETE FROM job_queue WHERE id IN (/*each ,*/?1/*end*/)
-- name: requeue_lock
SELECT j.id, j.run_lease FROM job_queue j WHERE j.id IN (/*each ,*/?1/*end*/) AND j.state = 2 ORDER BY j.id FOR UPDATE
-- name: requeue_archive
INSERT INTO job_attempt SELECT j.id, j.run_lease, {now}, s.ended, ?8, s.error FROM (/*each  UNION ALL */SELECT ?1 AS id, ?6 AS ended, ?7 AS error/*end*/) s STRAIGHT_JOIN job_queue j ON j.id = s.id
-- name: requeue
UPDATE (/*each  UNION ALL */SELECT ?1 AS id, ?3 AS delay, ?4 AS da, ?5 AS dc, ?7 AS error/*end*/) s STRAIGHT_JOIN job_queue j ON j.id = s.id SET j.state = CASE WHEN s.delay > 0 THEN 0 ELSE 1 END, j.available_at = {now} + s.delay, j.lease_until = NULL, j.locked_by = NULL, j.executor = NULL, j.slot = NULL, j.fair_rank = 0, j.attempts = greatest(j.attempts + s.da, 0), j.crashes = j.crashes + s.dc, j.last_error = coalesce(s.error, j.last_error), j.updated_at = {now}
-- name: attempt_lost
INSERT IGNORE INTO job_attempt VALUES (?1, ?2, {now}, 9, ?3, ?4)
-- name: progress_lock
SELECT j.id, j.run_lease FROM job_queue j WHERE j.id IN (/*each ,*/?1/*end*/) AND j.state = 2 ORDER BY j.id FOR UPDATE
-- name: progress
UPDATE (/*each  UNION ALL */SELECT ?1 AS id, ?3 AS data/*end*/) s STRAIGHT_JOIN job_queue j ON j.id = s.id SET j.progress = s.data, j.updated_at = {now}
-- name: beat_pick
SELECT id, run_lease, cancel_requested FROM job_queue WHERE id IN (/*each ,*/?1/*end*/) AND state = 2 FOR UPDATE SKIP LOCKED
-- name: beat
UPDATE job_queue SET lease_until = {now} + ?3, updated_at = {now} WHERE id IN (/*each ,*/?1/*end*/)
-- name: adopt
UPDATE job_queue SET run_lease = run_lease + 1, locked_by = ?4, executor = ?5, lease_until = {now} + ?3, updated_at = {now} WHERE id = ?1 AND run_lease = ?2 AND state = 2
-- name: verify
SELECT CASE WHEN EXISTS (SELECT 1 FROM job_queue WHERE id = ?1 AND run_lease = ?2 AND state = 2) THEN 1
WHEN EXISTS (SELECT 1 FROM job_attempt WHERE id = ?1 AND run_lease = ?2 AND ended_as = 9) THEN 4
WHEN EXISTS (SELECT 1 FROM job_attempt WHERE id = ?1 AND run_lease = ?2) THEN 3
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = ?1 AND run_lease = ?2 AND status_final = 'cancelled') THEN 4
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = ?1 AND run_lease = ?2) THEN 2
WHEN EXISTS (SELECT 1 FROM job_queue WHERE id = ?1 AND run_lease > ?2) THEN 4
WHEN EXISTS (SELECT 1 FROM job_history WHERE id = ?1 AND run_lease > ?2) THEN 4 ELSE 5 END

-- name: ask_cancel
UPDATE job_queue SET cancel_requested = 1 WHERE id = ?1 AND state = 2
-- name: run_now
UPDATE job_queue SET state = 1, available_at = {now}, updated_at = {now} WHERE id = ?1 AND state = 0
-- name: revive
INSERT INTO job_queue (id, run_lease, created_at, first_locked_at, available_at, updated_at, priority, max_attempts, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, unique_key, unique_slot, payload, last_error, state)
SELECT id, run_lease + 1, created_at, started_at, {now}, {now}, priority, max_attempts, max_crashes, payload_kind, unique_scope, queue_name, kind, group_key, unique_key, CASE WHEN unique_scope = 0 THEN unique_key END, payload, result, 1 FROM job_history WHERE id = ?1 AND status_final <> 'completed' AND retried_at IS NULL ORDER BY run_lease DESC LIMIT 1
-- name: revive_mark
UPDATE job_history SET retried_at = {now} WHERE id = ?1 AND status_final <> 'completed' AND retried_at IS NULL
-- name: forget
UPDATE job_history SET retried_at = {now} WHERE id = ?1 AND status_final = 'dead_letter' AND retried_at IS NULL
-- name: state_of
SELECT state FROM job_queue WHERE id = ?1

-- name: config_get
SELECT paused, concurrency_limit, CAST(rate_per_sec * 1000 AS SIGNED), rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us, rate_next_at, {now} FROM queue_config WHERE queue_name = ?1
-- name: config_lock
SELECT paused, concurrency_limit, CAST(rate_per_sec * 1000 AS SIGNED), rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us, rate_next_at, {now} FROM queue_config WHERE queue_name = ?1 FOR UPDATE SKIP LOCKED
-- name: config_set
INSERT INTO queue_config (queue_name, paused, concurrency_limit, rate_per_sec, rate_burst, max_lease_us, base_backoff_us, max_backoff_us, jitter_percent, retention_us) VALUES (?1, ?2, ?3, ?4 / 1000.0, ?5, ?6, ?7, ?8, ?9, ?10)
ON DUPLICATE KEY UPDATE paused = ?2, concurrency_limit = ?3, rate_per_sec = ?4 / 1000.0, rate_burst = ?5, max_lease_us = ?6, base_backoff_us = ?7, max_backoff_us = ?8, jitter_percent = ?9, retention_us = ?10
-- name: config_pause
INSERT INTO queue_config (queue_name, paused) VALUES (?1, ?2) ON DUPLICATE KEY UPDATE paused = ?2
-- name: rate_set
UPDATE queue_config SET rate_next_at = ?2 WHERE queue_name = ?1
-- name: slot_count
SELECT count(*) FROM job_slot WHERE queue_name = ?1 AND slot < ?2
-- name: slot_make
INSERT IGNORE INTO job_slot (queue_name, slot) VALUES /*each ,*/(?1, ?2)/*end*/
-- name: slot_pick
SELECT slot FROM job_slot FORCE INDEX (job_slot_free) WHERE queue_name = ?1 AND job_id IS NULL AND slot < ?2 ORDER BY slot LIMIT ?3 FOR UPDATE SKIP LOCKED
-- name: slot_used
SELECT count(*) FROM job_slot WHERE queue_name = ?1 AND job_id IS NOT NULL
-- name: slot_take
UPDATE job_slot SET job_id = ?3 WHERE queue_name = ?1 AND slot = ?2
-- name: slot_note
UPDATE job_queue SET slot = ?2 WHERE id = ?1
-- name: slot_free
UPDATE job_slot SET job_id = NULL WHERE job_id = ?1

-- name: prune_queue
SELECT min(queue_name) FROM job_history WHERE queue_name > ?1
-- name: prune
DELETE FROM job_history WHERE queue_name = ?1 AND finished_at < {now} - ?2 AND (?3 = 1 OR status_final <> 'dead_letter' OR retried_at IS NOT NULL) ORDER BY finished_at LIMIT ?4
-- name: prune_attempts
DELETE FROM job_attempt WHERE ended_at < {now} - ?1 ORDER BY ended_at LIMIT ?2
-- name: once
INSERT INTO job_idempotency VALUES (?1, {now}, CASE WHEN ?2 > 0 THEN {now} + ?2 END)
-- name: once_prune
DELETE FROM job_idempotency WHERE until_at <= {now} ORDER BY until_at LIMIT ?1
-- name: stats_live
SELECT queue_name, state, count(*), {now} - min(available_at) FROM job_queue GROUP BY queue_name, state
-- name: stats_old
SELECT queue_name, CASE WHEN status_final = 'dead_letter' THEN 5 ELSE 4 END AS st, count(*), 0 FROM job_history WHERE status_final = 'completed' OR (status_final = 'dead_letter' AND retried_at IS NULL) GROUP BY queue_name, st
-- name: stats_config
SELECT queue_name, -1, paused, 0 FROM queue_config
-- name: list_live
SELECT {job} FROM job_queue j WHERE j.id > ?1 AND (?2 IS NULL OR j.queue_name = ?2) AND (?3 < 0 OR j.state = ?3) ORDER BY j.id LIMIT ?4
-- name: list_old
SELECT {old} FROM job_history h WHERE h.id > ?1 AND (?2 IS NULL OR h.queue_name = ?2) AND h.retried_at IS NULL AND h.status_final = CASE ?3 WHEN 4 THEN 'completed' WHEN 5 THEN 'dead_letter' WHEN 6 THEN 'discarded' ELSE 'cancelled' END ORDER BY h.id LIMIT ?4
-- name: show_live
SELECT {job} FROM job_queue j WHERE j.id = ?1
-- name: show_old
SELECT {old} FROM job_history h WHERE h.id = ?1 ORDER BY h.run_lease DESC LIMIT 1
-- name: blob_used
SELECT 1 FROM job_queue WHERE blob_name = ?1 UNION ALL SELECT 1 FROM job_history WHERE blob_name = ?1 LIMIT 1
-- name: peek
SELECT coalesce((SELECT 0 FROM job_queue WHERE queue_name = ?1 AND state = 1 ORDER BY priority DESC, fair_rank, id LIMIT 1), (SELECT min(available_at) FROM job_queue WHERE queue_name = ?1 AND state = 0) - {now})

-- name: leader_take
UPDATE queue_leader SET holder = ?2, until_at = {now} + ?3 WHERE role = ?1 AND (holder = ?2 OR until_at <= {now})
-- name: leader_make
INSERT IGNORE INTO queue_leader VALUES (?1, '', 0)
-- name: periodic_get
SELECT last_at, {now} FROM queue_periodic WHERE name = ?1
-- name: periodic_lock
SELECT last_at, {now} FROM queue_periodic WHERE name = ?1 FOR UPDATE
-- name: periodic_make
INSERT IGNORE INTO queue_periodic VALUES (?1, {now})
-- name: periodic_move
UPDATE queue_periodic SET last_at = ?2 WHERE name = ?1 AND last_at < ?2
-- name: stats_priority
SELECT queue_name, state, priority, count(*), {now} - min(available_at) FROM job_queue GROUP BY queue_name, state, priority ORDER BY queue_name, priority DESC, state
-- name: stats_recent
SELECT CASE status_final WHEN 'completed' THEN 4 WHEN 'dead_letter' THEN 5 ELSE 6 END, attempts, coalesce(started_at, finished_at) - created_at, finished_at - coalesce(started_at, finished_at) FROM job_history WHERE queue_name = ?1 AND finished_at > {now} - ?2 ORDER BY finished_at DESC LIMIT ?3
