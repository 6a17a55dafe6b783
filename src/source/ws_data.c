/* SPDX-License-Identifier: MIT
 *
 * ws_data.c - one fetch per archive, in a thread; see the header.
 *
 * The thread sees its struct fetch and nothing else of the source; credential and stop go to it
 * through a mutex, because a session may end and another begin while a transfer runs.
 */
#include "source/ws_data.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "data/package.h"
#include "data/redis.h"
#include "net/http_get.h"

enum {
    URL_MAX = 600,
    HANDLES_MAX = 1000,
    CREDENTIAL_MAX = 128
};
#define ARCHIVE_MAX (UINT64_C(1) << 30)

struct fetch {
    uv_work_t req;
    struct fetch *next;
    struct tr_ws_data *d;
    char sha256[TR_SHA256_HEX];
    char url[URL_MAX];
    /* Under the mutex. */
    char credential[CREDENTIAL_MAX];
    char next_url[URL_MAX]; /* where to look when it is begun again */
    bool again;             /* asked for once more meanwhile: a failure is not the last word */
    bool stop;
    /* The thread's alone, until it is done. */
    char header[CREDENTIAL_MAX + 32];
    const char *headers[1];
    int r;
    struct tr_err err;
    bool hit, redis_hit;
};

struct tr_ws_data {
    struct tr_ws_data_conf conf;
    struct tr_cache *cache;
    struct tr_redis *redis;
    pthread_mutex_t redis_lock; /* one connection for all threads */
    pthread_mutex_t lock;
    struct fetch *fetches;
    struct tr_cache_stats stats;
    uint64_t hits, misses, redis_hits;
    bool closing;
};

/* --- in the thread --------------------------------------------------------------------------- */

static bool stopped(void *arg)
{
    struct fetch *f = arg;

    pthread_mutex_lock(&f->d->lock);
    bool stop = f->stop;
    pthread_mutex_unlock(&f->d->lock);
    return stop;
}

static int make_headers(void *arg, const char *const **ret_lines, size_t *ret_count,
                        struct tr_err *err)
{
    struct fetch *f = arg;

    (void)err;
    pthread_mutex_lock(&f->d->lock);
    (void)snprintf(f->header, sizeof(f->header), "Authorization: Bearer %s", f->credential);
    pthread_mutex_unlock(&f->d->lock);
    f->headers[0] = f->header;
    *ret_lines = f->headers;
    *ret_count = 1;
    return 0;
}

static int from_controller(struct fetch *f, int fd, struct tr_err *err)
{
    const struct tr_http_conf conf = {
        .ca_file = f->d->conf.ca_file, .stop = stopped, .stop_arg = f};
    TR_CLEANUP(tr_http_freep) struct tr_http *http = NULL;
    const struct tr_http_headers headers = {make_headers, f};
    uint64_t size = 0;
    struct tr_http_get get = {.url = f->url,
                              .headers = &headers,
                              .fd = fd,
                              .max_bytes = f->d->conf.max_archive,
                              .sha256 = f->sha256};
    int r = tr_http_new(&conf, &http, err);

    return r < 0 ? r : tr_http_get_file(http, &get, &size, err);
}

/* Into an empty file; true when Redis had it whole. */
static bool from_redis(struct fetch *f, int fd)
{
    char got[TR_SHA256_HEX];

    if (!f->d->redis)
        return false;
    pthread_mutex_lock(&f->d->redis_lock);
    int r = tr_redis_get(f->d->redis, f->sha256, fd, NULL);
    pthread_mutex_unlock(&f->d->redis_lock);
    if (r == 1 && tr_sha256_fd(fd, got, NULL) == 0 && strcmp(got, f->sha256) == 0)
        return true;
    if (ftruncate(fd, 0) == 0) /* else the transfer will say what is wrong with the disk */
        (void)lseek(fd, 0, SEEK_SET);
    return false;
}

static void to_redis(struct fetch *f, int fd)
{
    if (!f->d->redis)
        return;
    pthread_mutex_lock(&f->d->redis_lock);
    (void)tr_redis_put(f->d->redis, f->sha256, fd, NULL); /* only a cache */
    pthread_mutex_unlock(&f->d->redis_lock);
}

static int fetch_file(struct fetch *f, struct tr_err *err)
{
    tr_autoclose int found = -1;
    int r = tr_package_find(f->d->cache, f->sha256, &found, err);

    if (r == 0)
        f->hit = true;
    if (r != TR_E_NOTFOUND)
        return r;
    /* In the cache's own file system: it has the room, /tmp may be memory. */
    tr_autoclose int fd = open(f->d->conf.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "a file for test data in '%s'", f->d->conf.folder);
    f->redis_hit = from_redis(f, fd);
    r = f->redis_hit ? 0 : from_controller(f, fd, err);
    if (r < 0)
        return r;
    r = tr_package_add(f->d->cache, fd, f->sha256, &found, err);
    if (r == 0 && !f->redis_hit)
        to_redis(f, fd);
    return r;
}

static void work(uv_work_t *req)
{
    struct fetch *f = req->data;

    f->err = (struct tr_err)TR_ERR_INIT;
    f->r = fetch_file(f, &f->err);
}

/* --- on the loop ----------------------------------------------------------------------------- */

static void data_destroy(struct tr_ws_data *d)
{
    tr_cache_close(d->cache);
    tr_redis_free(d->redis);
    (void)pthread_mutex_destroy(&d->lock);
    (void)pthread_mutex_destroy(&d->redis_lock);
    free(d);
}

static void unlink_fetch(struct fetch *f)
{
    for (struct fetch **at = &f->d->fetches; *at; at = &(*at)->next) {
        if (*at == f) {
            *at = f->next;
            return;
        }
    }
}

static void after(uv_work_t *req, int status)
{
    struct fetch *f = req->data;
    struct tr_ws_data *d = f->d;

    (void)status;
    if (f->r < 0 && f->again && !d->closing) {
        f->again = false;
        memcpy(f->url, f->next_url, sizeof(f->url));
        if (uv_queue_work(tr_loop_uv(d->conf.loop), &f->req, work, after) == 0)
            return;
    }
    unlink_fetch(f);
    d->hits += f->hit;
    d->misses += !f->hit;
    d->redis_hits += f->redis_hit;
    if (!d->closing) {
        if (f->r == 0 && !f->hit)
            tr_cache_look(d->cache, &d->stats, NULL, 0);
        d->conf.done(d->conf.arg, f->sha256, f->r, &f->err);
    }
    free(f);
    if (d->closing && !d->fetches)
        data_destroy(d);
}

int tr_ws_data_new(const struct tr_ws_data_conf *conf, struct tr_ws_data **ret, struct tr_err *err)
{
    struct tr_ws_data *d = calloc(1, sizeof(*d));
    int r = 0;

    if (!d)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the data cache");
    d->conf = *conf;
    d->conf.max_archive = conf->max_archive ? conf->max_archive : ARCHIVE_MAX;
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_mutex_init(&d->redis_lock, NULL);
    r = tr_cache_open(conf->folder, conf->max_bytes, &d->cache, err);
    if (r == 0 && conf->redis)
        r = tr_redis_new(&(struct tr_redis_conf){.url = conf->redis}, &d->redis, err);
    if (r < 0) {
        data_destroy(d);
        return r;
    }
    tr_cache_look(d->cache, &d->stats, NULL, 0);
    *ret = d;
    return 0;
}

void tr_ws_data_free(struct tr_ws_data *d)
{
    if (!d)
        return;
    d->closing = true;
    pthread_mutex_lock(&d->lock);
    for (struct fetch *f = d->fetches; f; f = f->next)
        f->stop = true;
    pthread_mutex_unlock(&d->lock);
    if (!d->fetches)
        data_destroy(d);
}

static struct fetch *under_way(struct tr_ws_data *d, const char *sha256)
{
    struct fetch *f = d->fetches;

    while (f && strcmp(f->sha256, sha256) != 0)
        f = f->next;
    return f;
}

int tr_ws_data_get(struct tr_ws_data *d, const char *sha256, const char *url,
                   const char *credential, struct tr_err *err)
{
    struct fetch *f = under_way(d, sha256);

    if (f) {
        pthread_mutex_lock(&d->lock);
        f->again = true;
        (void)snprintf(f->next_url, sizeof(f->next_url), "%s", url);
        (void)snprintf(f->credential, sizeof(f->credential), "%s", credential);
        pthread_mutex_unlock(&d->lock);
        return 0;
    }
    f = calloc(1, sizeof(*f));
    if (!f)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to fetch test data");
    f->d = d;
    f->req.data = f;
    (void)snprintf(f->sha256, sizeof(f->sha256), "%s", sha256);
    (void)snprintf(f->url, sizeof(f->url), "%s", url);
    (void)snprintf(f->credential, sizeof(f->credential), "%s", credential);
    if (uv_queue_work(tr_loop_uv(d->conf.loop), &f->req, work, after) != 0) {
        free(f);
        return tr_fail(err, TR_E_NOMEM, 0, "no thread to fetch test data");
    }
    f->next = d->fetches;
    d->fetches = f;
    return 0;
}

json_t *tr_ws_data_stats(struct tr_ws_data *d)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "entries", (json_int_t)d->stats.entries, "bytes",
                     (json_int_t)d->stats.bytes, "hits", (json_int_t)d->hits, "misses",
                     (json_int_t)d->misses, "redis_hits", (json_int_t)d->redis_hits);
}

json_t *tr_ws_data_handles(struct tr_ws_data *d)
{
    char(*keys)[65] = calloc(HANDLES_MAX, sizeof(*keys));
    json_t *list = json_array();

    if (keys)
        tr_cache_look(d->cache, &d->stats, keys, HANDLES_MAX);
    for (size_t i = 0; keys && i < d->stats.entries && i < HANDLES_MAX; i++)
        (void)json_array_append_new(list, json_string(keys[i]));
    free(keys);
    return list;
}
