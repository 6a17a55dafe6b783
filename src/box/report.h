/* SPDX-License-Identifier: MIT
 *
 * box/report.h - from what was seen to what is said.
 */
#ifndef BOX_REPORT_H
#define BOX_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/wire.h"

/* What the library saw itself while the program ran. */
struct box_seen {
    uint64_t written_bytes;
    bool over_output;
    int64_t steal_us;
};

/* Check a report as if an enemy had written it. */
int box_report_read(const struct box_wire_report *msg, size_t len, struct tr_err *err);

/* The verdict on the facts: fills everything but renewed, userns and cgroup. Pure. */
void box_report_make(const struct box_wire_report *in, const struct box_seen *seen,
                     const struct tbox_limits *limits, struct tbox_report *ret);

#endif
