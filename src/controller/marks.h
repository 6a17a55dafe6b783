/* SPDX-License-Identifier: MIT
 *
 * controller/marks.h - judges that are drained, languages and problems that are set aside: kept in
 * the database, so that a restart forgets none and several controllers agree.
 *
 * The loop has a copy, read again every second. A change shows in the copy at once and in the other
 * controllers' about a second after it is stored.
 */
#ifndef CONTROLLER_MARKS_H
#define CONTROLLER_MARKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;
struct marks;

enum mark_kind {
    MARK_DRAIN,
    MARK_LANGUAGE,
    MARK_PROBLEM,
    MARK_KINDS
};

struct mark {
    enum mark_kind kind;
    char name[192];
    char note[256];
    int64_t faults, since_us;
};

struct marks *marks_new(struct ctl *ctl);
void marks_free(struct marks *m);
/* Before anybody is let in; waits for the database. */
void marks_load(struct marks *m);
/* Now and then: what other controllers changed. */
void marks_tick(struct marks *m);

const char *mark_kind_name(enum mark_kind kind); /* "drain", "language", "problem" */
bool marks_has(const struct marks *m, enum mark_kind kind, const char *name);
/* The i-th; NULL behind the last. */
const struct mark *marks_at(const struct marks *m, size_t i);

/* then(arg, result) after it is stored: 0 or TR_E_*; may be NULL. */
void marks_set(struct marks *m, const struct mark *mark, void (*then)(void *arg, int result),
               void *arg);
void marks_clear(struct marks *m, enum mark_kind kind, const char *name,
                 void (*then)(void *arg, int result), void *arg);

#endif
