/* SPDX-License-Identifier: MIT
 *
 * serve_demo.c - a robot that submits, so that there is something to watch.
 */
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/rand.h"
#include "cli/api_client.h"
#include "cli/serve.h"
#include "codec/json.h"

enum {
    FILES_MAX = 512,
    SOURCE_MAX = 64 * 1024
};

struct program {
    char path[512], problem[64];
    const char *lang;
};

struct robot {
    struct program list[FILES_MAX];
    size_t count;
};

static const char *lang_of(const char *name)
{
    static const struct {
        const char *end, *slug;
    } rows[] = {{".cpp", "cpp17"}, {".c", "c11"}, {".py", "python3"}};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        size_t n = strlen(name), e = strlen(rows[i].end);

        if (n > e && strcmp(name + n - e, rows[i].end) == 0)
            return rows[i].slug;
    }
    return NULL;
}

/* examples/<problem>/submissions/<verdict>/<file> */
static void find_programs(struct robot *r, const char *examples)
{
    tr_autofree char *top = strdup(examples);
    char *paths[] = {top, NULL};
    FTS *fts = top ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *e;

    while (fts && (e = fts_read(fts)) && r->count < FILES_MAX) {
        const char *rest = e->fts_path + strlen(top) + 1;
        const char *slash = e->fts_level == 4 ? strchr(rest, '/') : NULL;

        if (e->fts_info != FTS_F || !slash || strncmp(slash, "/submissions/", 13) != 0 ||
            !lang_of(e->fts_name))
            continue;
        struct program *p = &r->list[r->count++];
        (void)snprintf(p->path, sizeof(p->path), "%s", e->fts_path);
        (void)snprintf(p->problem, sizeof(p->problem), "%.*s", (int)(slash - rest), rest);
        p->lang = lang_of(e->fts_name);
    }
    if (fts)
        (void)fts_close(fts);
}

static void submit_one(struct api *a, const struct program *p)
{
    static const char *const users[] = {"alice", "bob", "carol", "dave", "erin", "frank"};
    TR_CLEANUP(tr_buf_done) struct tr_buf code;
    TR_CLEANUP(tr_json_unrefp) json_t *answer = NULL;
    struct tr_err err = TR_ERR_INIT;

    tr_buf_init(&code, SOURCE_MAX);
    if (tr_fs_read_file(p->path, &code, &err) < 0)
        return;
    TR_CLEANUP(tr_json_unrefp)
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:s}", "problem", p->problem, "language", p->lang, "user",
                  users[tr_random_below(TR_ARRAY_LEN(users))], "code", code.data);
    if (body)
        (void)api_ask(a, "POST", "/api/v1/submissions", body, &answer, &err); /* or next time */
}

_Noreturn void serve_demo(const char *server, const char *key, const char *examples)
{
    static struct robot r;
    struct api a;

    find_programs(&r, examples);
    if (r.count == 0 || api_open(&a, &(struct api_options){.server = server, .key = key}, NULL) < 0)
        _exit(1); /* a fork: what stands in stdio's buffers is the parent's */
    for (;;) {
        struct timespec pause = {.tv_sec = 1, .tv_nsec = (long)tr_random_below(900000000)};

        submit_one(&a, &r.list[tr_random_below(r.count)]);
        (void)nanosleep(&pause, NULL);
    }
}
