/* SPDX-License-Identifier: MIT
 *
 * nats/names.h - the names that the site, the workers and the operator share (seed 000).
 */
#ifndef NATS_NAMES_H
#define NATS_NAMES_H

#define TR_STREAM_TASKS "JUDGE_TASKS"
#define TR_STREAM_EVENTS "JUDGE_EVENTS"
#define TR_STREAM_DLQ "JUDGE_DLQ"

#define TR_SUBJECT_TASKS "judge.tasks"
#define TR_SUBJECT_EVENTS "judge.events"
#define TR_SUBJECT_DLQ "judge.dlq"

#define TR_CONSUMER_LIGHT "judge-light"
#define TR_CONSUMER_HEAVY "judge-heavy"
#define TR_CONSUMER_DLQ "judge-dlq-monitor"

enum {
    /* Whole task message. Room is left below the 1 MiB that NATS takes by default, for headers and
     * for the dead letter that wraps the task. */
    TR_NATS_TASK_MAX = 1000 * 1000,
    TR_NATS_MESSAGE_MAX = 1024 * 1024,
    TR_NATS_BACKLOG_ALARM = 1000 /* seed 000 §6.2 */
};

#endif
