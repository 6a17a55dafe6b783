/* SPDX-License-Identifier: MIT
 *
 * live.c - SQLite: a process that lives is a byte that is locked.
 *
 * SQLite has one writer, so a heartbeat could wait behind anybody's transaction. Instead every
 * handle that claims owns one byte of the file PATH-live, by an OFD lock: the kernel drops it when
 * the process dies, however it dies, and reclaim sees it at once. Which byte is drawn from 2^62, so
 * that none is used twice; the file stays empty, a lock needs no bytes.
 *
 * Never open or close the database file itself here: closing any descriptor of it drops SQLite's
 * own POSIX locks. The lock file is never unlinked: two processes could then lock two files.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/rand.h"
#include "queue/internal.h"

static int open_lock_file(const tq *q, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf path;

    tr_buf_init(&path, 4096);
    tr_buf_addf(&path, "%s-live", q->info.path);
    int r = tr_buf_check(&path, "path of the lock file", err);
    if (r < 0)
        return r;
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
    return fd < 0 ? tr_fail(err, TR_E_IO, errno, "open '%s'", path.data) : fd;
}

static bool no_file(const tq *q)
{
    return !strcmp(q->info.path, ":memory:") || !strncmp(q->info.path, "file:", 5);
}

/* Before the first claim of a handle. Writes nothing to the database: the caller may hold its lock.
 */
int tqi_live_begin(tq *q, struct tr_err *err)
{
    if (q->be != BE_SQLITE || q->executor > 0 || no_file(q))
        return 0;
    tr_autoclose int fd = open_lock_file(q, err);
    if (fd < 0)
        return fd;
    int64_t id = (int64_t)(tr_random_u64() >> 2) + 1;
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1};
    if (fcntl(fd, F_OFD_SETLK, &byte) < 0)
        return tr_fail(err, TR_E_IO, errno, "lock byte %lld of the lock file", (long long)id);
    q->live_fd = tr_take_fd(&fd);
    q->executor = id;
    return 0;
}

/* Asked through a second description, so that our own lock shows too. */
int tqi_live_dead(tq *q, int64_t executor)
{
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)executor, .l_len = 1};

    if (q->probe_fd < 0)
        q->probe_fd = open_lock_file(q, NULL);
    if (q->probe_fd < 0 || fcntl(q->probe_fd, F_OFD_GETLK, &byte) < 0)
        return 0; /* not known to be dead */
    return byte.l_type == F_UNLCK;
}

/* The first dead executor that still has running jobs. 1 and its number, or 0. */
int tqi_live_any_dead(struct tqi_link *l, int64_t *ret_executor, struct tr_err *err)
{
    struct tq_val last = tqi_int(0);

    if (l->q->be != BE_SQLITE || no_file(l->q))
        return 0;
    for (;;) {
        int r = tqi_scalar(l, S_NEXT_EXECUTOR, &last, 1, &last.i, err);
        if (r <= 0)
            return r;
        if (tqi_live_dead(l->q, last.i)) {
            *ret_executor = last.i;
            return 1;
        }
    }
}

void tqi_live_end(tq *q)
{
    tr_close(&q->live_fd);
    tr_close(&q->probe_fd);
    q->executor = 0;
}
