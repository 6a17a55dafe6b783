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

/* What a box of this profile may see and hold. `dirs` has room for three. */
static void box_options(const struct tr_judge *j, enum tbox_profile profile, const char *root,
                        const char **dirs, struct tbox_options *o)
{
    size_t n = 0;

    *o = (struct tbox_options){
        .size = sizeof(*o),
        .profile = profile,
        .root = root,
        .helper = j->o.helper,
    };
    if (profile == TBOX_COMPILE) {
        /* Precompiled headers are 100 MB; objects and class files come beside. */
        o->work_bytes = UINT64_C(1) << 30;
        o->work_files = 65536; /* go's build cache */
        dirs[n++] = j->pch_dir;
        if (j->o.include)
            dirs[n++] = j->include_dir;
        o->dirs = dirs;
    } else if (profile == TBOX_CHECKER) {
        o->work_bytes = UINT64_C(4) << 30; /* input, output and answer; charged when filled */
    }
}

enum {
    PROFILES = TBOX_CHECKER + 1
};

/* The number that boxes_launcher() gave this kind. */
static unsigned kind_of(const struct tr_judge *j, const struct entry *e)
{
    size_t root = 0;

    for (size_t i = 0; e->root && i < j->o.nroots; i++)
        if (strcmp(j->o.roots[i].folder, e->root) == 0)
            root = i + 1;
    return (unsigned)(root * PROFILES + e->profile);
}

static int open_box(struct boxes *b, struct entry *e, struct tr_err *err)
{
    const char *dirs[3] = {NULL};
    struct tbox_options o;

    if (b->j->o.launcher > 0)
        return tbox_open_by(b->j->o.launcher, kind_of(b->j, e), &e->box, err);
    box_options(b->j, e->profile, e->root, dirs, &o);
    return tbox_open(&o, &e->box, err);
}

int boxes_launcher(const struct tr_judge *j, int *ret, struct tr_err *err)
{
    struct tbox_options kinds[TBOX_KINDS_MAX];
    const char *dirs[TBOX_KINDS_MAX][3] = {{NULL}};
    size_t n = 0;

    for (size_t root = 0; root <= j->o.nroots; root++)
        for (int profile = 0; profile < PROFILES; profile++, n++) {
            if (n == TBOX_KINDS_MAX)
                return tr_fail(err, TR_E_LIMIT, 0, "%zu roots are too many", j->o.nroots);
            box_options(j, (enum tbox_profile)profile, root ? j->o.roots[root - 1].folder : NULL,
                        dirs[n], &kinds[n]);
        }
    return tbox_launcher(kinds, n, ret, err);
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
