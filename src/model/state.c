/* SPDX-License-Identifier: MIT
 *
 * state.c - the table of states and moves.
 */
#include "model/state.h"

#include <string.h>

static const char *const names[TR_STATES] = {
    [TR_PENDING] = "PENDING",           [TR_RUNNING] = "RUNNING", [TR_FINISHED] = "FINISHED",
    [TR_SYSTEM_ERROR] = "SYSTEM_ERROR", [TR_DLQ] = "DLQ",         [TR_CANCELLED] = "CANCELLED",
};

#define BIT(s) (1U << (s))

/* The words and the bits of a row say the same; test_state holds them together. */
static const struct {
    unsigned from;
    enum tr_state to;
    const char *sql;
} moves[TR_MOVES] = {
    [TR_MOVE_START] = {BIT(TR_PENDING) | BIT(TR_SYSTEM_ERROR) | BIT(TR_RUNNING), TR_RUNNING,
                       "('PENDING', 'SYSTEM_ERROR', 'RUNNING')"},
    [TR_MOVE_RENEW] = {BIT(TR_RUNNING), TR_RUNNING, "('RUNNING')"},
    [TR_MOVE_FINISH] = {BIT(TR_RUNNING), TR_FINISHED, "('RUNNING')"},
    [TR_MOVE_FAULT] = {BIT(TR_RUNNING), TR_SYSTEM_ERROR, "('RUNNING')"},
    [TR_MOVE_BURY] = {BIT(TR_PENDING) | BIT(TR_SYSTEM_ERROR) | BIT(TR_RUNNING), TR_DLQ,
                      "('PENDING', 'SYSTEM_ERROR', 'RUNNING')"},
    [TR_MOVE_RELEASE] = {BIT(TR_RUNNING), TR_PENDING, "('RUNNING')"},
    [TR_MOVE_CANCEL] = {BIT(TR_PENDING) | BIT(TR_SYSTEM_ERROR) | BIT(TR_RUNNING) | BIT(TR_DLQ),
                        TR_CANCELLED, "('PENDING', 'SYSTEM_ERROR', 'RUNNING', 'DLQ')"},
    [TR_MOVE_RETRY] = {BIT(TR_DLQ), TR_PENDING, "('DLQ')"},
    [TR_MOVE_REJUDGE] = {BIT(TR_FINISHED) | BIT(TR_DLQ) | BIT(TR_CANCELLED), TR_PENDING,
                         "('FINISHED', 'DLQ', 'CANCELLED')"},
    [TR_MOVE_COPY] = {BIT(TR_PENDING), TR_FINISHED, "('PENDING')"},
};

const char *tr_state_name(enum tr_state s)
{
    return (unsigned)s < TR_STATES ? names[s] : "";
}

enum tr_state tr_state_parse(const char *word)
{
    for (unsigned i = 0; i < TR_STATES; i++) {
        if (strcmp(names[i], word) == 0)
            return (enum tr_state)i;
    }
    return TR_STATES;
}

bool tr_move_allowed(enum tr_move m, enum tr_state from)
{
    return (unsigned)from < TR_STATES && (moves[m].from & BIT(from)) != 0;
}

enum tr_state tr_move_to(enum tr_move m)
{
    return moves[m].to;
}

const char *tr_move_from_sql(enum tr_move m)
{
    return moves[m].sql;
}

bool tr_state_is_final(enum tr_state s)
{
    return s == TR_FINISHED || s == TR_DLQ || s == TR_CANCELLED;
}
