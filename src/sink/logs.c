/* SPDX-License-Identifier: MIT
 *
 * logs.c - the thread that keeps logs. Its queue is the spool folder itself: a run's folder is
 * "new-…" while the slot writes and "done-…" when it is complete, so that nothing is forgotten when
 * the worker dies. A folder that is still "new-…" when no living process uses the spool becomes
 * "orphan-…": only the database knows whether its run was the one that counts. The file "submit_id"
 * in it says whose logs they are: ids may hold characters that a folder's name may not.
 */
#include "sink/logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/rand.h"
#include "net/url.h"

enum {
    FILE_MAX = 64 << 20,
    ID_MAX = 256,
    PATH_BYTES = 1400,
    DOUBLINGS = 5
};

struct tr_logs {
    struct tr_logs_conf conf;
    struct tr_url url;
    int folder_fd, spool_fd;
    bool sole; /* nobody else used the spool when we opened it */
    struct tr_http *http;
    struct tr_s3 *s3;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    bool stop, more;
    struct tr_logs_counts counts;
};

/* ---------------------------------------------------------------- one file */

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && !strcmp(dot, ".json") ? "application/json" : "text/plain; charset=utf-8";
}

/* A submit_id as one part of a path: whatever could mean something else is percent-encoded. */
static int safe_id(const char *id, struct tr_buf *out, struct tr_err *err)
{
    tr_buf_init(out, 4 * ID_MAX);
    tr_url_encode(out, id, strlen(id), 0);
    if (!strcmp(id, ".") || !strcmp(id, "..")) { /* the encoder keeps dots */
        tr_buf_clear(out);
        tr_buf_adds(out, id[1] ? "%2E%2E" : "%2E");
    }
    return tr_buf_check(out, "submit_id", err);
}

static int keep_in_folder(struct tr_logs *l, int from, const char *id, const char *name,
                          struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b = {0};
    char dir[PATH_BYTES];

    (void)snprintf(dir, sizeof(dir), "submissions/%s", id);
    int r = tr_fs_mkdirs(l->folder_fd, dir, 0755, err);
    if (r < 0)
        return r;
    tr_autoclose int to = openat(l->folder_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s' for logs", dir);
    tr_buf_init(&b, FILE_MAX);
    tr_autoclose int fd = tr_fs_open_regular(from, name, FILE_MAX, NULL, err);
    r = fd < 0 ? fd : tr_fs_read_all(fd, &b, name, err);
    return r < 0 ? r : tr_fs_replace(to, name, b.data ? b.data : "", b.len, 0644, err);
}

static int keep_in_s3(struct tr_logs *l, int from, const char *id, const char *name,
                      struct tr_err *err)
{
    char key[PATH_BYTES];
    const char *prefix = l->url.path;
    bool slash = *prefix && prefix[strlen(prefix) - 1] != '/';

    (void)snprintf(key, sizeof(key), "%.512s%ssubmissions/%.512s/%.255s", prefix, slash ? "/" : "",
                   id, name);
    tr_autoclose int fd = tr_fs_open_regular(from, name, FILE_MAX, NULL, err);
    if (fd < 0)
        return fd;
    return tr_s3_put_fd(l->s3, l->url.host, key, fd, type_of(name), err);
}

/* ---------------------------------------------------------------- one run */

static int read_id(int dirfd, struct tr_buf *b, struct tr_err *err)
{
    tr_buf_init(b, ID_MAX);
    tr_autoclose int fd = tr_fs_open_regular(dirfd, "submit_id", ID_MAX, NULL, err);

    return fd < 0 ? fd : tr_fs_read_all(fd, b, "submit_id", err);
}

static int keep_files(struct tr_logs *l, int dirfd, const char *id, struct tr_err *err)
{
    int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    int r = 0;

    if (!d) {
        tr_close(&copy);
        return tr_fail(err, TR_E_IO, errno, "read a folder of logs");
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e; r >= 0 && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "submit_id"))
            continue;
        r = l->s3 ? keep_in_s3(l, dirfd, id, e->d_name, err)
                  : keep_in_folder(l, dirfd, id, e->d_name, err);
    }
    (void)closedir(d);
    return r;
}

static int keep_run(struct tr_logs *l, const char *name, char *ret_id, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf id = {0}, safe = {0};
    tr_autoclose int dirfd = openat(l->spool_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dirfd < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s' in the spool", name);
    int r = read_id(dirfd, &id, err);
    if (r >= 0)
        r = safe_id(id.data ? id.data : "", &safe, err);
    if (r < 0)
        return r;
    (void)snprintf(ret_id, ID_MAX, "%s", id.data ? id.data : "");
    r = keep_files(l, dirfd, safe.data ? safe.data : "", err);
    if (r >= 0)
        r = (int)tr_fs_remove_tree(l->spool_fd, name, err);
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- the thread */

static void tell(struct tr_logs *l, const char *id, const struct tr_err *err)
{
    (void)pthread_mutex_lock(&l->lock);
    l->counts.failed++;
    (void)pthread_mutex_unlock(&l->lock);
    if (l->conf.trouble)
        l->conf.trouble(l->conf.arg, id, err);
}

static bool stopping(struct tr_logs *l)
{
    (void)pthread_mutex_lock(&l->lock);
    bool stop = l->stop;
    (void)pthread_mutex_unlock(&l->lock);
    return stop;
}

static DIR *list_spool(struct tr_logs *l)
{
    int copy = openat(l->spool_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);

    if (!d)
        tr_close(&copy);
    return d;
}

/* All that is complete; how many could not be kept now. */
static size_t pass(struct tr_logs *l)
{
    DIR *d = list_spool(l);
    size_t left = 0;

    if (!d)
        return 1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        struct tr_err err = TR_ERR_INIT;
        char id[ID_MAX] = "";

        if (strncmp(e->d_name, "done-", 5) != 0)
            continue;
        int r = left ? TR_E_RETRY : keep_run(l, e->d_name, id, &err);
        if (r < 0 && !left)
            tell(l, id, &err);
        left += r < 0;
        (void)pthread_mutex_lock(&l->lock);
        l->counts.kept += r >= 0;
        (void)pthread_mutex_unlock(&l->lock);
    }
    (void)closedir(d);
    return left;
}

static void *work(void *arg)
{
    struct tr_logs *l = arg;
    int64_t pause = 0;

    for (bool last = false; !last;) {
        struct timespec until;

        last = stopping(l);
        size_t left = pass(l);
        (void)pthread_mutex_lock(&l->lock);
        l->counts.waiting = left;
        pause = !left ? 0 : pause ? 2 * pause : l->conf.pause_us;
        if (pause > l->conf.pause_us << DOUBLINGS)
            pause = l->conf.pause_us << DOUBLINGS;
        int64_t at = tr_clock_real_us() + (left ? pause : INT64_C(60) * 1000000);
        until = (struct timespec){.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
        int timed_out = 0;
        while (!l->stop && !timed_out && (left || !l->more))
            timed_out = pthread_cond_timedwait(&l->wake, &l->lock, &until);
        l->more = false;
        (void)pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* ---------------------------------------------------------------- open, close */

static int open_target(struct tr_logs *l, struct tr_err *err)
{
    const char *store = l->conf.store;
    const struct tr_http_conf http = {.ca_file = l->conf.ca_file, .tries = 2};
    bool is_s3 = !strncmp(store, "s3://", 5) || !strncmp(store, "minio://", 8);
    int r = 0;

    if (is_s3) {
        r = tr_url_parse_bucket(store, strlen(store), &l->url, err);
        if (r >= 0 && !l->conf.s3.endpoint)
            r = tr_fail(err, TR_E_USAGE, 0, "logs go to '%s': say where it is with --s3-endpoint",
                        store);
        if (r >= 0)
            r = tr_http_new(&http, &l->http, err);
        return r < 0 ? r : tr_s3_new(&l->conf.s3, l->http, &l->s3, err);
    }
    if (!strncmp(store, "file://", 7))
        store += 7;
    r = tr_fs_mkdirs(AT_FDCWD, store, 0755, err);
    if (r < 0)
        return tr_fail_wrap(err, "folder for logs");
    l->folder_fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return l->folder_fd < 0 ? tr_fail(err, TR_E_IO, errno, "open '%s' for logs", store) : 0;
}

/* Everybody who uses a spool holds a shared lock on it, which the kernel takes away at his death.
 */
static void set_orphans_aside(struct tr_logs *l)
{
    DIR *d = flock(l->spool_fd, LOCK_EX | LOCK_NB) == 0 ? list_spool(l) : NULL;

    l->sole = d != NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char to[PATH_BYTES];

        if (strncmp(e->d_name, "new-", 4) != 0)
            continue;
        (void)snprintf(to, sizeof(to), "orphan-%s", e->d_name + 4);
        (void)renameat(l->spool_fd, e->d_name, l->spool_fd, to);
    }
    if (d)
        (void)closedir(d);
    (void)flock(l->spool_fd, LOCK_SH);
}

static int open_spool(struct tr_logs *l, struct tr_err *err)
{
    int r = tr_fs_mkdirs(AT_FDCWD, l->conf.spool, 0700, err);

    if (r < 0)
        return tr_fail_wrap(err, "spool folder");
    l->spool_fd = open(l->conf.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->spool_fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", l->conf.spool);
    set_orphans_aside(l);
    return 0;
}

int tr_logs_open(const struct tr_logs_conf *conf, struct tr_logs **ret, struct tr_err *err)
{
    struct tr_logs *l = calloc(1, sizeof(*l));

    if (!l)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    l->conf = *conf;
    l->conf.pause_us = conf->pause_us ? conf->pause_us : 1000000;
    l->folder_fd = l->spool_fd = -1;
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_cond_init(&l->wake, NULL);
    int r = open_spool(l, err);
    if (r >= 0)
        r = open_target(l, err);
    if (r >= 0 && pthread_create(&l->thread, NULL, work, l) != 0)
        r = tr_fail(err, TR_E_NOMEM, 0, "no thread for the logs");
    l->running = r >= 0;
    if (r < 0) {
        tr_logs_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

void tr_logs_close(struct tr_logs *l)
{
    if (!l)
        return;
    if (l->running) {
        (void)pthread_mutex_lock(&l->lock);
        l->stop = true;
        (void)pthread_cond_signal(&l->wake);
        (void)pthread_mutex_unlock(&l->lock);
        (void)pthread_join(l->thread, NULL);
    }
    tr_s3_free(l->s3);
    tr_http_free(l->http);
    tr_close(&l->folder_fd);
    tr_close(&l->spool_fd);
    (void)pthread_cond_destroy(&l->wake);
    (void)pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---------------------------------------------------------------- for the source */

char *tr_logs_folder(struct tr_logs *l, const char *submit_id, int64_t run_lease)
{
    char *path = NULL;
    struct tr_err err;

    if (asprintf(&path, "%s/new-%016llx-%lld", l->conf.spool, (unsigned long long)tr_random_u64(),
                 (long long)run_lease) < 0)
        return NULL;
    if (tr_fs_mkdirs(AT_FDCWD, path, 0700, &err) < 0)
        return path; /* the slot will say so */
    tr_autoclose int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dirfd >= 0) {
        tr_autoclose int fd =
            openat(dirfd, "submit_id", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            (void)tr_fs_write_all(fd, submit_id, strlen(submit_id), &err);
    }
    return path;
}

/* A folder that we gave out, as a name in the spool; NULL: it is none of ours. `ret_rest` is what
 * follows the word before the first '-'. */
static const char *given_out(const char *folder, const char **ret_rest)
{
    const char *name = strrchr(folder, '/');

    name = name ? name + 1 : "";
    if (strncmp(name, "new-", 4) != 0 && strncmp(name, "orphan-", 7) != 0)
        return NULL;
    *ret_rest = strchr(name, '-') + 1;
    return name;
}

void tr_logs_keep(struct tr_logs *l, const char *folder)
{
    char done[PATH_BYTES];
    const char *rest, *name = given_out(folder, &rest);

    if (!name)
        return;
    (void)snprintf(done, sizeof(done), "done-%s", rest);
    if (renameat(l->spool_fd, name, l->spool_fd, done) < 0)
        return;
    (void)pthread_mutex_lock(&l->lock);
    l->more = true;
    (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
}

void tr_logs_drop(struct tr_logs *l, const char *folder)
{
    const char *rest, *name = given_out(folder, &rest);

    if (name)
        (void)tr_fs_remove_tree(l->spool_fd, name, NULL);
}

static void one_orphan(struct tr_logs *l, const char *name, tr_logs_orphan_fn fn, void *arg)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf id = {0};
    tr_autoclose int dirfd = openat(l->spool_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *lease = strrchr(name, '-') + 1;
    char folder[PATH_BYTES];
    int64_t n = 0;

    (void)snprintf(folder, sizeof(folder), "%s/%s", l->conf.spool, name);
    if (dirfd < 0 || read_id(dirfd, &id, NULL) < 0 || id.len == 0 ||
        tr_parse_i64(lease, 0, INT64_MAX, &n, NULL) < 0)
        tr_logs_drop(l, folder); /* its worker died while it made it */
    else
        fn(arg, folder, id.data, n);
}

size_t tr_logs_orphans(struct tr_logs *l, tr_logs_orphan_fn fn, void *arg)
{
    DIR *d = l->sole ? list_spool(l) : NULL;
    size_t n = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, "orphan-", 7) != 0)
            continue;
        one_orphan(l, e->d_name, fn, arg);
        n++;
    }
    if (d)
        (void)closedir(d);
    return n;
}

void tr_logs_counts(struct tr_logs *l, struct tr_logs_counts *ret)
{
    (void)pthread_mutex_lock(&l->lock);
    *ret = l->counts;
    (void)pthread_mutex_unlock(&l->lock);
}
