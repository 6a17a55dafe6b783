/* SPDX-License-Identifier: MIT
 *
 * ws_logs.c - see the header. One connection for all files of a judging.
 */
#include "source/ws_logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "net/http.h"

enum {
    WAITING_MAX = 64,   /* judgings; each folder is small, but a slow line must not fill disks */
    FILE_MAX = 1 << 20, /* what a controller takes */
    ANSWER_S = 10,
    URL_MAX = 600
};

struct sending {
    uv_work_t req;
    struct tr_ws_logs *l;
    char folder[512];
    char url[URL_MAX];
    char header[160];
};

struct tr_ws_logs {
    struct tr_loop *loop;
    const char *ca_file;
    unsigned waiting;
    atomic_bool closing;
};

int tr_ws_logs_new(struct tr_loop *loop, const char *ca_file, struct tr_ws_logs **ret,
                   struct tr_err *err)
{
    struct tr_ws_logs *l = calloc(1, sizeof(*l));

    if (!l)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for logs");
    l->loop = loop;
    l->ca_file = ca_file;
    *ret = l;
    return 0;
}

void tr_ws_logs_free(struct tr_ws_logs *l)
{
    if (!l)
        return;
    l->closing = true;
    if (l->waiting == 0)
        free(l);
}

static bool stopped(void *arg)
{
    struct tr_ws_logs *l = arg;

    return l->closing;
}

/* False: the controller does not want any of them. */
static bool send_file(struct sending *s, struct tr_http *http, int folder, const char *name)
{
    char url[URL_MAX + 80];
    const char *headers[] = {s->header, "Content-Type: application/octet-stream"};
    struct tr_http_reply reply;
    uint64_t size = 0;
    tr_autoclose int fd = tr_fs_open_regular(folder, name, FILE_MAX, &size, NULL);

    if (fd < 0)
        return true; /* over the ceiling: the others may go */
    (void)snprintf(url, sizeof(url), "%s/%.64s", s->url, name);
    struct tr_http_request put = {.method = "PUT",
                                  .url = url,
                                  .headers = headers,
                                  .nheaders = TR_ARRAY_LEN(headers),
                                  .body_fd = fd,
                                  .body_size = size,
                                  .max_bytes = FILE_MAX};
    return tr_http_exchange(http, &put, &reply, NULL) == 0 && reply.status < 400;
}

static void work(uv_work_t *req)
{
    struct sending *s = req->data;
    const struct tr_http_conf conf = {.ca_file = s->l->ca_file,
                                      .timeout_us = (int64_t)ANSWER_S * 1000000,
                                      .stop = stopped,
                                      .stop_arg = s->l};
    TR_CLEANUP(tr_http_freep) struct tr_http *http = NULL;
    DIR *d = opendir(s->folder);

    if (d && tr_http_new(&conf, &http, NULL) == 0) {
        bool more = true;

        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
        for (struct dirent *e = readdir(d); e && more; e = readdir(d))
            more = e->d_name[0] == '.' || send_file(s, http, dirfd(d), e->d_name);
    }
    if (d)
        (void)closedir(d);
    tr_ws_logs_drop(s->folder);
}

static void after(uv_work_t *req, int status)
{
    struct sending *s = req->data;
    struct tr_ws_logs *l = s->l;

    (void)status;
    free(s);
    if (--l->waiting == 0 && l->closing)
        free(l);
}

void tr_ws_logs_put(struct tr_ws_logs *l, const char *folder, const char *url,
                    const char *credential)
{
    struct sending *s = l->waiting < WAITING_MAX && !l->closing ? calloc(1, sizeof(*s)) : NULL;

    if (s) {
        s->l = l;
        s->req.data = s;
        (void)snprintf(s->folder, sizeof(s->folder), "%s", folder);
        (void)snprintf(s->url, sizeof(s->url), "%s", url);
        (void)snprintf(s->header, sizeof(s->header), "Authorization: Bearer %s", credential);
        if (uv_queue_work(tr_loop_uv(l->loop), &s->req, work, after) == 0) {
            l->waiting++;
            return;
        }
        free(s);
    }
    tr_ws_logs_drop(folder);
}

void tr_ws_logs_drop(const char *folder)
{
    (void)tr_fs_remove_tree(AT_FDCWD, folder, NULL);
}
