/* SPDX-License-Identifier: MIT
 *
 * controller/judge_ws.h - what judges say and are told: doc/protocol.md §2.
 */
#ifndef CONTROLLER_JUDGE_WS_H
#define CONTROLLER_JUDGE_WS_H

#include <jansson.h>

#include "controller/claim.h"
#include "controller/conn.h"
#include "controller/judges.h"

/* A connection to /ws/judge is there: challenge it. -1: no room. */
int judge_ws_open(struct conn *c);

void judge_ws_send(struct judge *g, json_t *doc); /* takes it over */
/* A message that cannot be obeyed; too many of them, or one before `ready`, end the session. */
void judge_ws_complain(struct judge *g, const char *code, const char *field, const char *message);
/* An error and the end, before `welcome`. */
void judge_ws_refuse(struct judge *g, const char *code, unsigned close, const char *message);
/* `bye` and the end, after it. */
void judge_ws_bye(struct judge *g, const char *code, const char *message, unsigned close);

/* The judge of a live session, or NULL. */
struct judge *judge_ws_session(struct ctl *ctl, const char *session);
/* Send a task; the run becomes the judge's. Takes c->run. */
void judge_ws_task(struct judge *g, struct claimed *c);
void judge_ws_settled(struct ctl *ctl, const char *session, const struct run *r,
                      const char *outcome);
/* Everything is taken up: tasks may come. */
void judge_ws_begin(struct judge *g);
/* Ask the judge to stop a submission, wherever it is. */
void judge_ws_cancel(struct ctl *ctl, const char *submit_id, const char *reason);

#endif
