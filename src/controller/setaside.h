/* SPDX-License-Identifier: MIT
 *
 * controller/setaside.h - languages and problems whose tasks keep failing with faults.
 *
 * A broken compiler or checker must not eat every slot: after SETASIDE_FAULTS faults in a row, of
 * at least SETASIDE_TASKS different submissions and with no verdict in between, the language or the
 * problem is left alone until a person says so, also over restarts and at every controller of this
 * database; all others flow.
 */
#ifndef CONTROLLER_SETASIDE_H
#define CONTROLLER_SETASIDE_H

#include <jansson.h>
#include <stdbool.h>

struct ctl;
struct setaside;

enum {
    SETASIDE_FAULTS = 8,
    SETASIDE_TASKS = 3
};

enum setaside_kind {
    SETASIDE_LANGUAGE,
    SETASIDE_PROBLEM
};

struct setaside *setaside_new(struct ctl *ctl);
void setaside_free(struct setaside *s);
bool setaside_is(const struct setaside *s, enum setaside_kind kind, const char *name);
/* What a judging came to: a verdict, or a fault with its sentence. */
void setaside_verdict(struct setaside *s, const char *language, const char *problem);
void setaside_fault(struct setaside *s, const char *language, const char *problem,
                    const char *submit_id, const char *why);
/* false: it was not set aside. Else then(arg, result) when that is stored. */
bool setaside_resume(struct setaside *s, enum setaside_kind kind, const char *name,
                     void (*then)(void *arg, int result), void *arg);
json_t *setaside_json(const struct setaside *s);
/* How many problems are set aside, and their names: for the claim. */
size_t setaside_problems(const struct setaside *s, const char **names, size_t max);

#endif
