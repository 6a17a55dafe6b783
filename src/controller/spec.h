/* SPDX-License-Identifier: MIT
 *
 * controller/spec.h - what somebody wants judged, checked and made whole.
 */
#ifndef CONTROLLER_SPEC_H
#define CONTROLLER_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "controller/keys.h"

struct ctl;

enum {
    SPEC_PRIORITY_MAX = 100,
    SPEC_STDIN_MAX = 1024 * 1024
};

/* Why not, for people and machines. */
struct bad {
    int status;
    const char *code;
    char field[64]; /* "" : none */
    char message[512];
};

/* Everything in it lives in its arena. */
struct spec {
    struct tr_arena arena;
    const char *submit_id, *idempotency_key; /* key: NULL: none */
    const char *user_id, *user_name, *problem, *contest, *lang;
    const char *class;   /* "light" or "heavy" */
    const char *data;    /* handle of the test data it is pinned to; "" when it brings its own */
    const char *version; /* of the problem; "" likewise */
    bool run;            /* once with custom input */
    bool own_lang;       /* brings its own commands */
    int64_t priority;
    char queue[192];
    char *task; /* the task message as the judge gets it */
    size_t task_len;
};

/* From the body of a submission (or of a run); spec_done() also after a failure. */
int spec_parse(struct ctl *ctl, const json_t *body, bool run, const struct key_who *who,
               const char *header_key, struct spec *ret, struct bad *bad);
void spec_done(struct spec *s);

/* The same submission again with the data of its problem as it is now: for rejudging. */
int spec_again(struct ctl *ctl, const char *task, size_t len, bool run, struct spec *ret,
               struct bad *bad);

/* "light" or "heavy", by the table of the configuration. */
const char *spec_class(const struct ctl *ctl, const char *lang);

int bad_say(struct bad *bad, int status, const char *code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* "judge.<band>.<class>.<language>": the bands keep the order between languages, the class and the
 * language keep a claim from looking past its head. */
void spec_queue(const char *class, const char *lang, int64_t priority, int64_t memory_kib,
                char out[static 192]);

#endif
