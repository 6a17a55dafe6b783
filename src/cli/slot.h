/* SPDX-License-Identifier: MIT
 *
 * cli/slot.h - what `judge`, `problem check`, `lang` and `bench` share: options of a judge on this
 * machine, and a problem named on the command line.
 */
#ifndef CLI_SLOT_H
#define CLI_SLOT_H

#include "cli/cli.h"
#include "judge/judge.h"
#include "judge/opts.h"
#include "judge/problem.h"

/* The rows for a struct slot_options: a command whose cli_doc says `.slot` has them, and --json.
 * They may stand in the file that all commands read. */
extern const struct tr_conf_item slot_items[];
extern const size_t slot_items_count;

struct slot {
    struct tr_judge *judge;
    int cpus[TR_JUDGE_JOBS_MAX];
    struct tr_judge_root roots[TR_JUDGE_ROOTS_MAX];
    struct tr_arena arena; /* for the names in roots */
};
int slot_open(struct slot *s, const struct slot_options *o, struct tr_err *err);
void slot_close(struct slot *s); /* for TR_CLEANUP as well; fine on a zeroed struct */

/* A problem folder, or a zip file of one, which is unpacked into a folder that goes away with
 * problem_arg_done(). */
struct problem_arg {
    struct tr_arena arena;
    struct tr_problem problem;
    int dirfd;
    char *temp; /* folder to remove, or NULL */
    struct tr_buf notes;
};
int problem_arg_open(struct problem_arg *p, const char *path, struct tr_err *err);
void problem_arg_done(struct problem_arg *p);
/* Unpack only: an fd of the folder in *ret_dirfd. */
int package_open(const char *path, char **ret_temp, int *ret_dirfd, struct tr_err *err);

/* Source of at most TR_SOURCE_MAX bytes. */
int source_read(const char *path, struct tr_buf *b, struct tr_err *err);

#endif
