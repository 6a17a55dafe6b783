/* SPDX-License-Identifier: MIT
 *
 * boxes.c - the boxes of a slot: one for each profile, root and lane, opened when first needed.
 *
 * A box that served one submission is renewed before it serves the next: nothing of the old
 * container remains. Within a submission the box itself empties everything between runs.
 */
#include <stdlib.h>
#include <string.h>

#include "judge/judge_private.h"

enum {
    BOXES_MAX = 4 * TR_JUDGE_JOBS_MAX
};

struct entry {
    tbox *box;
    enum tbox_profile profile;
    const char *root;
    unsigned i;
    bool used; /* by the submission before this one */
};

struct boxes {
    const struct tr_judge *j;
    struct entry list[BOXES_MAX];
    size_t count;
};

int boxes_new(const struct tr_judge *j, struct boxes **ret, struct tr_err *err)
{
    struct boxes *b = calloc(1, sizeof(*b));

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the boxes");
    b->j = j;
    *ret = b;
    return 0;
}

void boxes_free(struct boxes *b)
{
    for (size_t i = 0; b && i < b->count; i++)
        tbox_close(b->list[i].box);
    free(b);
}

static bool same_root(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int open_box(struct boxes *b, struct entry *e, struct tr_err *err)
{
    const char *dirs[3] = {NULL};
    size_t n = 0;
    struct tbox_options o = {
        .size = sizeof(o),
        .profile = e->profile,
        .root = e->root,
        .helper = b->j->o.helper,
    };

    if (e->profile == TBOX_COMPILE) {
        /* Precompiled headers are 100 MB; objects and class files come beside. */
        o.work_bytes = UINT64_C(1) << 30;
        o.work_files = 65536; /* go's build cache */
        dirs[n++] = b->j->pch_dir;
        if (b->j->o.include)
            dirs[n++] = b->j->include_dir;
        o.dirs = dirs;
    } else if (e->profile == TBOX_CHECKER) {
        o.work_bytes = UINT64_C(4) << 30; /* input, output and answer; charged when filled */
    }
    return tbox_open(&o, &e->box, err);
}

int boxes_get(struct boxes *b, enum tbox_profile profile, const char *root, unsigned i, tbox **ret,
              struct tr_err *err)
{
    struct entry *e = NULL;
    int r = 0;

    for (size_t k = 0; k < b->count && !e; k++) {
        struct entry *x = &b->list[k];

        if (x->profile == profile && x->i == i && same_root(x->root, root))
            e = x;
    }
    if (!e) {
        if (b->count == BOXES_MAX)
            return tr_fail(err, TR_E_LIMIT, 0, "more than %d boxes in one slot", BOXES_MAX);
        e = &b->list[b->count];
        *e = (struct entry){.profile = profile, .root = root, .i = i};
        b->count++;
    }
    if (!e->box)
        r = open_box(b, e, err);
    else if (e->used)
        r = tbox_renew(e->box, err);
    if (r < 0) {
        tbox_close(TR_TAKE(e->box));
        return r;
    }
    e->used = false;
    *ret = e->box;
    return 0;
}

void boxes_next_submission(struct boxes *b)
{
    for (size_t i = 0; i < b->count; i++)
        b->list[i].used = b->list[i].box != NULL;
}

void boxes_drop(struct boxes *b, tbox *box)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->list[i].box == box)
            tbox_close(TR_TAKE(b->list[i].box));
    }
}
