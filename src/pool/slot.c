/* SPDX-License-Identifier: MIT
 *
 * slot.c - the life of a slot process: setup, then tasks until the supervisor is gone.
 */
#include "pool/slot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json.h"

enum {
    DATA_BYTES = 8, /* GiB */
    ARENA_MAX = 1 << 20
};

static bool stop_fetch(void *arg)
{
    struct tr_slot *s = arg;
    struct tr_frame f;

    if (tr_frame_poll(s->fd, &s->in, NULL) < 0)
        s->orphan = true;
    else if (tr_frame_peek(&s->in, &f, NULL) == 1 && f.type == TR_FRAME_CANCEL) {
        tr_frame_drop(&s->in, &f);
        s->cancelled = true;
    }
    return s->orphan || s->cancelled;
}

/* Where unpacked test data are kept: as told, or in the user's cache. */
static int open_data(struct tr_slot *s, struct tr_err *err)
{
    const char *dir = s->setup.data_dir;
    const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");

    if (!dir && s->setup.judge.cache)
        dir = tr_arena_printf(&s->arena, "%s/data", s->setup.judge.cache);
    else if (!dir)
        dir = xdg && *xdg ? tr_arena_printf(&s->arena, "%s/tribunal/data", xdg)
                          : tr_arena_printf(&s->arena, "%s/.cache/tribunal/data",
                                            home && *home ? home : "/var/tmp");
    if (!dir)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return tr_cache_open(
        dir, s->setup.data_bytes ? s->setup.data_bytes : (uint64_t)DATA_BYTES << 30, &s->data, err);
}

static int open_slot(struct tr_slot *s, struct tr_err *err)
{
    const struct tr_http_conf http = {
        .ca_file = s->setup.ca_file, .stop = stop_fetch, .stop_arg = s};
    int r = s->setup.noop ? 0 : tr_judge_open(&s->setup.judge, &s->judge, err);

    if (r >= 0)
        r = tr_http_new(&http, &s->http, err);
    if (r >= 0 && s->setup.s3.endpoint)
        r = tr_s3_new(&s->setup.s3, s->http, &s->s3, err);
    if (r >= 0)
        r = open_data(s, err);
    s->fetch = (struct tr_fetch){.http = s->http, .s3 = s->s3, .file_dir = s->setup.file_dir};
    return r;
}

static void slot_done(struct tr_slot *s)
{
    tr_cache_close(s->data);
    tr_s3_free(s->s3);
    tr_http_free(s->http);
    tr_judge_close(s->judge);
    tr_buf_done(&s->in);
    tr_buf_done(&s->out);
    tr_arena_done(&s->arena);
}

static int say_broken(struct tr_slot *s, const struct tr_err *why)
{
    TR_CLEANUP(tr_json_unrefp) json_t *text = tr_json_clean(why->msg, strlen(why->msg), 1024);
    TR_CLEANUP(tr_json_unrefp) json_t *o = json_pack("{s:O}", "error", text);
    tr_autofree char *dump = o ? json_dumps(o, JSON_COMPACT) : NULL;

    tr_frame_add(&s->out, TR_FRAME_BROKEN, dump ? dump : "{}", dump ? strlen(dump) : 2, NULL, 0);
    (void)tr_frame_flush(s->fd, &s->out, NULL);
    return 3;
}

static int begin(struct tr_slot *s, struct tr_err *err)
{
    struct tr_frame f;
    int r = tr_frame_wait(s->fd, &s->in, &f, err);

    if (r <= 0)
        return r < 0 ? r : tr_fail(err, TR_E_LOST, 0, "no setup came");
    if (f.type != TR_FRAME_SETUP)
        return tr_fail(err, TR_E_PARSE, 0, "the first frame is no setup");
    r = tr_slot_setup_read(f.body, f.len, &s->arena, &s->setup, err);
    tr_frame_drop(&s->in, &f);
    if (r >= 0)
        r = open_slot(s, err);
    if (r < 0)
        return r;
    tr_frame_add(&s->out, TR_FRAME_READY, "{}", 2, NULL, 0);
    return tr_frame_flush(s->fd, &s->out, err);
}

/* Tasks until the supervisor closes its end. A cancel that comes too late finds nothing to do. */
static int serve(struct tr_slot *s, struct tr_err *err)
{
    for (;;) {
        struct tr_frame f;
        int r = tr_frame_wait(s->fd, &s->in, &f, err);

        if (r <= 0)
            return r;
        /* The frame moves out of the inbox: polling for a cancel reads into it meanwhile. */
        TR_CLEANUP(tr_buf_done) struct tr_buf copy;
        tr_buf_init(&copy, TR_FRAME_MAX);
        tr_buf_add(&copy, f.body, f.len);
        enum tr_frame_type type = f.type;
        tr_frame_drop(&s->in, &f);
        if (type != TR_FRAME_TASK)
            continue;
        r = tr_buf_check(&copy, "task", err);
        struct tr_frame task = {.type = type, .body = copy.data ? copy.data : "", .len = copy.len};
        if (r >= 0)
            r = tr_slot_task(s, &task, err);
        if (r < 0)
            return r;
    }
}

int tr_slot_main(int fd)
{
    TR_CLEANUP(slot_done) struct tr_slot s = {.fd = fd};
    struct tr_err err = TR_ERR_INIT;

    /* A supervisor that is killed takes its slots with it: nobody else would collect the result. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "tribunal-slot");
    tr_buf_init(&s.in, 2 * (size_t)TR_FRAME_MAX);
    tr_buf_init(&s.out, 2 * (size_t)TR_FRAME_MAX);
    tr_arena_init(&s.arena, ARENA_MAX);
    int r = begin(&s, &err);
    if (r < 0)
        return r == TR_E_LOST ? 0 : say_broken(&s, &err);
    r = serve(&s, &err);
    return r < 0 && r != TR_E_LOST ? 3 : 0;
}
