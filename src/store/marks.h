/* SPDX-License-Identifier: MIT
 *
 * store/marks.h - what operators and controllers have decided and every controller must know, also
 * after a restart: a judge is drained, a language or a problem is set aside.
 */
#ifndef STORE_MARKS_H
#define STORE_MARKS_H

#include "store/store.h"

enum {
    TR_MARK_NOTE_MAX = 1000
};

struct tr_mark {
    const char *kind, *name; /* together once */
    const char *note;        /* for people; NULL: "" */
    int64_t faults;
    int64_t created_us; /* when read */
};

/* Replaces the one of the same kind and name. */
int tr_store_mark_set(struct tr_store *st, const struct tr_mark *m, struct tr_err *err);
/* 1: it was there; 0: it was not. */
int tr_store_mark_clear(struct tr_store *st, const char *kind, const char *name,
                        struct tr_err *err);
/* All of them, oldest first, in the arena. */
int tr_store_mark_list(struct tr_store *st, struct tr_arena *arena, struct tr_mark **ret,
                       size_t *ret_count, struct tr_err *err);

#endif
