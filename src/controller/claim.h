/* SPDX-License-Identifier: MIT
 *
 * controller/claim.h - one round of handing out: claim jobs, move their submissions to RUNNING.
 *
 * Made on the loop's thread, run on the storage thread, taken apart on the loop's thread again.
 */
#ifndef CONTROLLER_CLAIM_H
#define CONTROLLER_CLAIM_H

#include "controller/judges.h"
#include "controller/storage.h"

enum {
    CLAIM_QUEUES_MAX = 16,
    CLAIM_JOBS_MAX = 64, /* of one queue in one round */
    CLAIM_ASIDE_MAX = 16
};

/* A judge with room. */
struct offer {
    char session[17], judge_id[TR_JUDGE_ID_MAX + 1];
    int64_t room;    /* tokens that are reserved for this round */
    int64_t left;    /* of them, while it runs */
    uint64_t *marks; /* of data and sources that it has */
    size_t nmarks;
};

struct claim_queue {
    char name[192];
    bool *eligible; /* for each offer */
    bool emptied;   /* out: gave less than was asked */
};

/* A task for a judge. */
struct claimed {
    struct claimed *next;
    struct run *run;
    size_t offer;
    bool custom_run; /* kind "run" */
    char data[65], code[65], version[65];
    char *task;
    size_t task_len;
};

struct claim_op {
    struct op op;
    int64_t lease_us;
    struct offer *offers;
    size_t noffers;
    struct claim_queue queues[CLAIM_QUEUES_MAX];
    size_t nqueues;
    char aside[CLAIM_ASIDE_MAX][72]; /* problems that are set aside */
    size_t naside;
    struct claimed *first; /* out */
};

struct claim_op *claim_new(size_t noffers);
void claim_free(struct claim_op *o);
/* The mark of a hash: its first 16 digits. */
uint64_t claim_mark(const char *sha256);
int claim_run(struct op *op, struct tr_store *st, struct tr_err *err);

/* What a job's payload says. */
struct job_note {
    char submit_id[132], problem[200], lang[72], data[65], code[65], version[65];
    int64_t generation;
    bool heavy, run;
    bool own_lang; /* brings its own commands */
};
json_t *job_note_json(const struct job_note *n);

#endif
