/* SPDX-License-Identifier: MIT
 *
 * What the files of this suite share: two stores on one database, and how to fill it.
 */
#ifndef STORE_TEST_H
#define STORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/cleanup.h"
#include "store/events.h"
#include "store/store.h"

extern struct tr_store *st;  /* a worker */
extern struct tr_store *st2; /* another of the same name */
extern struct tr_err err;
extern struct tr_arena arena;

enum {
    SEC = 1000000
};

#define OK(call)                                                                                   \
    __extension__({                                                                                \
        int64_t r_ = (call);                                                                       \
        if (r_ < 0)                                                                                \
            fail_msg("%s: %lld %s", #call, (long long)r_, err.msg);                                \
        r_;                                                                                        \
    })
#define IS(call, want)                                                                             \
    do {                                                                                           \
        int64_t is_ = (call);                                                                      \
        if (is_ != (want))                                                                         \
            fail_msg("%s: %lld, not %lld (%s)", #call, (long long)is_, (long long)(want),          \
                     err.msg);                                                                     \
    } while (0)

struct tr_submission row(const char *id);
int64_t start(struct tr_store *by, const char *id);
void put(const char *id);
struct tr_verdict_row verdict(const char *v);

/* readers.c */
void a_reader_waits_for_no_writer(void **state);
void a_reader_finds_a_new_connection(void **state);

/* many.c */
void many_give_what_each_alone_would_give(void **state);
void many_of_any_size_are_all_done(void **state);
void many_are_undone_together(void **state);
void jobs_of_many_are_noted(void **state);
void of_many_starts_of_many_one_each_wins(void **state);
void events_of_a_transaction_come_in_their_order(void **state);

#endif
