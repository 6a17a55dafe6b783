/* SPDX-License-Identifier: MIT
 *
 * controller/filter.h - the filters of lists and of rejudging, by the names people use.
 */
#ifndef CONTROLLER_FILTER_H
#define CONTROLLER_FILTER_H

#include "controller/spec.h"
#include "store/store.h"

struct filter {
    struct tr_store_filter f; /* its texts are the caller's */
};

/* 1: set; 0: no such filter; negative: a bad value, said in *bad. */
int filter_set(struct filter *f, const char *name, const char *value, struct bad *bad);

#endif
