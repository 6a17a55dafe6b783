/* SPDX-License-Identifier: MIT
 *
 * controller/problem_scan.h - the slow half of problems: runs on a pool thread, touches no loop
 * state.
 */
#ifndef CONTROLLER_PROBLEM_SCAN_H
#define CONTROLLER_PROBLEM_SCAN_H

#include "controller/problems.h"

struct problem_list {
    struct problem *items; /* by id */
    size_t count;
};

/* Read the folder; what has not changed since `old` is taken over. Returns how many changed. */
int problem_scan(const char *folder, const char *packages, const struct problem_list *old,
                 struct problem_list *ret, struct tr_err *err);
/* Unpack an archive, see that it is a problem, and put it in the place of <folder>/<id>. What is
 * odd in it goes to ret_findings, also when it is refused. */
int problem_install(const char *folder, const char *id, int zip_fd,
                    char ret_findings[static PROBLEM_FINDINGS_MAX], struct tr_err *err);

#endif
