/* SPDX-License-Identifier: MIT
 *
 * modes.c - see the header.
 */
#include "worker/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json.h"
#include "net/judge_auth.h"
#include "source/sql.h"
#include "source/ws_source.h"
#include "worker/options.h"
#include "worker/parameters.h"

enum {
    QUEUES_MAX = 64
};

static bool from_controller(const struct worker_options *o)
{
    return o->modes.controllers.count > 0;
}

static bool from_queue(const struct worker_options *o)
{
    return o->modes.queues && *o->modes.queues;
}

const char *modes_where(const struct worker_options *o)
{
    return from_controller(o) ? o->modes.controllers.items[0]
           : from_queue(o)    ? o->modes.queues
                              : o->consumer;
}

/* A judge that comes back under another name cannot take up what it held: no process id in it. */
static const char *judge_name(struct tr_arena *a)
{
    char host[65] = "";

    if (gethostname(host, sizeof(host) - 1) < 0 || !tr_judge_id_ok(host))
        (void)snprintf(host, sizeof(host), "judge");
    return tr_arena_strdup(a, host);
}

static const char *data_folder(struct tr_arena *a)
{
    const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");

    if (xdg && *xdg)
        return tr_arena_printf(a, "%s/tribunal/data", xdg);
    return tr_arena_printf(a, "%s/.cache/tribunal/data", home && *home ? home : "/var/tmp");
}

static int controller_defaults(struct worker_options *o, struct tr_arena *a, struct tr_err *err)
{
    if (from_queue(o))
        return tr_fail(err, TR_E_USAGE, 0,
                       "--controller and --queues: tasks come from one of them");
    if (!o->modes.key || !*o->modes.key)
        return tr_fail(err, TR_E_USAGE, 0,
                       "a judge needs its key: --key-file FILE, with the output of "
                       "'tribunal keys new --role judge' on the controller");
    if (!o->worker_id)
        o->worker_id = judge_name(a);
    if (!o->data_dir)
        o->data_dir = data_folder(a);
    if (!o->worker_id || !o->data_dir)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    o->progress = true;    /* the controller tells it to whoever watches */
    o->log_store = "none"; /* logs go to the controller */
    return 0;
}

int modes_defaults(struct worker_options *o, struct tr_arena *arena, struct tr_err *err)
{
    if (from_controller(o))
        return controller_defaults(o, arena, err);
    if (from_queue(o) && (!o->db || !*o->db))
        return tr_fail(err, TR_E_USAGE, 0, "--queues needs the database that has them: --db URL");
    return 0;
}

/* ---------------------------------------------------------------- opening */

static int parameters(const struct worker_options *o, struct tr_arena *arena, json_t **ret,
                      struct tr_err *err)
{
    struct tr_judge_root roots[TR_JUDGE_ROOTS_MAX];
    struct tr_judge_options judge = {0};
    int r = slot_judge_options(&o->slot, roots, arena, &judge, err);

    judge.launcher = o->launcher;
    return r < 0 ? r : worker_parameters(&judge, o->weak, ret, err);
}

static int open_ws(const struct tr_source_host *host, const struct worker_options *o,
                   struct tr_arena *arena, struct tr_source **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *said = NULL;
    int r = parameters(o, arena, &said, err);

    if (r < 0)
        return r;
    struct tr_source_ws_conf conf = {
        .controllers = o->modes.controllers.items,
        .ncontrollers = o->modes.controllers.count,
        .key = o->modes.key,
        .version = TRIBUNAL_VERSION,
        .parameters = said,
        .data_dir = o->data_dir,
        .data_bytes = o->data_bytes,
        .redis = o->modes.redis,
        .ca_file = o->ca_file,
        .tokens = (unsigned)o->modes.queue_depth,
    };
    return tr_source_ws_open(host, &conf, ret, err);
}

static int open_sql(const struct tr_source_host *host, const struct worker_options *o,
                    struct tr_arena *arena, struct tr_source **ret, struct tr_err *err)
{
    const char *names[QUEUES_MAX];
    struct tr_source_sql_conf conf = {
        .db = o->db, .queues = names, .migrate = o->migrate, .lease_us = o->modes.lease_us};

    for (const char *p = o->modes.queues; *p;) {
        size_t len = strcspn(p, ",");
        char *name = len > 0 && conf.nqueues < QUEUES_MAX ? tr_arena_strndup(arena, p, len) : NULL;

        if (!name)
            return tr_fail(err, TR_E_USAGE, 0, "--queues: 1 to %d names with commas between",
                           (int)QUEUES_MAX);
        names[conf.nqueues++] = name;
        p += len + (p[len] == ',');
    }
    return tr_source_sql_open(host, &conf, ret, err);
}

int modes_open(const struct tr_source_host *host, const struct worker_options *o,
               struct tr_arena *arena, struct tr_source **ret, struct tr_err *err)
{
    if (from_controller(o))
        return open_ws(host, o, arena, ret, err);
    return from_queue(o) ? open_sql(host, o, arena, ret, err) : MODE_NATS;
}
