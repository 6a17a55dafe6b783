/* SPDX-License-Identifier: MIT
 *
 * model/state.h - the life of a submission: which state may follow which.
 *
 *     PENDING ──▶ RUNNING ──▶ FINISHED
 *        ▲  ▲        │ ▲
 *        │  │        ▼ │
 *        │  │   SYSTEM_ERROR (a fault, waits for its retry)
 *        │  └────────┼──────▶ DLQ ──▶ PENDING (somebody retries it)
 *        └── rejudge: FINISHED, DLQ, CANCELLED ──▶ PENDING of the next generation
 *
 * The statements of src/store take their "from" states from this table and nowhere else.
 */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include <stdbool.h>

enum tr_state {
    TR_PENDING,
    TR_RUNNING,
    TR_FINISHED,
    TR_SYSTEM_ERROR,
    TR_DLQ,
    TR_CANCELLED,
    TR_STATES
};

/* What can happen to a submission. */
enum tr_move {
    TR_MOVE_START,   /* a judge takes it; RUNNING too, when the lease of the run before is over */
    TR_MOVE_RENEW,   /* the judge is alive */
    TR_MOVE_FINISH,  /* a verdict */
    TR_MOVE_FAULT,   /* ours, not the contestant's: again later */
    TR_MOVE_BURY,    /* ours, for the last time; or the message is no task */
    TR_MOVE_RELEASE, /* given back unworked, or its judge is gone */
    TR_MOVE_CANCEL,  /* not wanted any more */
    TR_MOVE_RETRY,   /* a person gives a dead one new tries */
    TR_MOVE_REJUDGE, /* the next generation */
    TR_MOVE_COPY,    /* a duplicate takes over the verdict of the first */
    TR_MOVES
};

/* "PENDING" …, both ways; TR_STATES for an unknown word. */
const char *tr_state_name(enum tr_state s);
enum tr_state tr_state_parse(const char *word);

/* May it happen in this state, and which state follows? */
bool tr_move_allowed(enum tr_move m, enum tr_state from);
enum tr_state tr_move_to(enum tr_move m);

/* The states a move may start from, as SQL: "('PENDING', 'SYSTEM_ERROR')". A constant. */
const char *tr_move_from_sql(enum tr_move m);

/* Nothing will happen to it by itself any more. */
bool tr_state_is_final(enum tr_state s);

#endif
