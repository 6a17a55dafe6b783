/* SPDX-License-Identifier: MIT
 *
 * judge/problem_plain.h - the optional problem.yaml of a plain folder.
 */
#ifndef JUDGE_PROBLEM_PLAIN_H
#define JUDGE_PROBLEM_PLAIN_H

#include "judge/problem_private.h"

struct plain_yaml {
    bool has_scoring;
    enum tr_scoring scoring;
    const struct tr_yaml *groups; /* or NULL */
};

/* Fills what the file says into *p; nothing when there is no file. */
int plain_yaml_read(struct pkg *k, struct tr_problem *p, struct plain_yaml *ret);
/* Points, rules and needs of groups that exist. */
int plain_yaml_groups(struct pkg *k, const struct plain_yaml *y, struct builder *b);

#endif
