/* SPDX-License-Identifier: MIT
 *
 * opts.c - from options to what a judge is opened with.
 */
#include "judge/opts.h"

#include <string.h>

static int read_roots(const struct slot_options *o, struct tr_judge_root *ret,
                      struct tr_arena *arena, struct tr_err *err)
{
    if (o->roots.count > (size_t)TR_JUDGE_ROOTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "at most %zu roots", (size_t)TR_JUDGE_ROOTS_MAX);
    for (size_t i = 0; i < o->roots.count; i++) {
        const char *eq = strchr(o->roots.items[i], '=');

        if (!eq || eq[1] != '/')
            return tr_fail(err, TR_E_USAGE, 0, "--root: expected NAME=/FOLDER, not '%s'",
                           o->roots.items[i]);
        ret[i].name = tr_arena_strndup(arena, o->roots.items[i], (size_t)(eq - o->roots.items[i]));
        ret[i].folder = eq + 1;
        if (!ret[i].name)
            return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    }
    return 0;
}

int slot_judge_options(const struct slot_options *o, struct tr_judge_root *roots,
                       struct tr_arena *arena, struct tr_judge_options *ret, struct tr_err *err)
{
    int r = read_roots(o, roots, arena, err);

    if (r < 0)
        return r;
    *ret = (struct tr_judge_options){
        .languages = o->languages,
        .cache = o->cache,
        .cache_bytes = o->cache_size,
        .jobs = (unsigned)o->jobs,
        .include = o->include,
        .idle_us = o->idle_us,
        .roots = roots,
        .nroots = o->roots.count,
        .no_cache = o->no_cache,
        .no_pch = o->no_pch,
    };
    return 0;
}
