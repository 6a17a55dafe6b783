/* SPDX-License-Identifier: MIT
 *
 * nats_orphan.c - logs that a worker left behind when it died: kept when their run is the one that
 * gave the verdict, removed otherwise.
 *
 * A verdict is committed before its logs are kept, so a worker that dies in between leaves logs
 * that somebody may want to see; one that dies earlier leaves logs of a run that never counted.
 * When the database cannot say, the folder waits for the next start.
 */
#include <stdlib.h>
#include <string.h>

#include "source/nats_private.h"

enum {
    ARENA_MAX = 1 << 20
};

struct orphan {
    struct tr_dbop db; /* first */
    struct src *s;
    int64_t run_lease;
    bool counts;
    char submit_id[TR_STORE_SUBMIT_ID_MAX + 1];
    char folder[];
};

static int run_look(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct orphan *o = (struct orphan *)db;
    struct tr_submission row = {0};
    struct tr_arena arena;

    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_get(st, o->submit_id, &arena, &row, err);
    o->counts = r >= 0 && row.status == TR_FINISHED && row.run_lease == o->run_lease;
    tr_arena_done(&arena);
    return r == TR_E_NOTFOUND ? 0 : r;
}

static void looked(struct tr_dbop *db)
{
    struct orphan *o = (struct orphan *)db;
    struct src *s = o->s;

    if (db->result < 0) {
        src_log(s, TR_LOG_WARN, o->submit_id, &db->err, "logs of a worker that died");
    } else if (o->counts) {
        src_log(s, TR_LOG_INFO, o->submit_id, NULL, "kept the logs of a worker that died");
        tr_logs_keep(s->host->logs, o->folder);
    } else {
        tr_logs_drop(s->host->logs, o->folder);
    }
    free(o);
}

static void found(void *arg, const char *folder, const char *submit_id, int64_t run_lease)
{
    struct orphan *o = calloc(1, sizeof(*o) + strlen(folder) + 1);

    if (!o)
        return;
    *o = (struct orphan){.db = {.run = run_look, .done = looked}, .s = arg, .run_lease = run_lease};
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", submit_id);
    memcpy(o->folder, folder, strlen(folder) + 1);
    tr_dbthread_do(o->s->db, &o->db);
}

void orphans_look(struct src *s)
{
    if (s->host->logs)
        (void)tr_logs_orphans(s->host->logs, found, s);
}
