/* SPDX-License-Identifier: MIT
 *
 * slot.c - a judge on this machine, and problems and sources that a person named.
 */
#include "cli/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "data/unzip.h"

/* Where a command's options begin. */
struct options {
    struct slot_options slot;
};

const struct tr_conf_item slot_items[] = {
    SLOT_ITEMS(struct options, slot),
    CLI_FLAG("json", slot.json, "print one JSON document"),
};
const size_t slot_items_count = TR_ARRAY_LEN(slot_items);

/* The cores that we may use, in order; false when there are fewer than wanted. */
static bool pick_cpus(int *cpus, size_t want)
{
    cpu_set_t set;
    size_t n = 0;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return false;
    for (size_t c = 0; c < CPU_SETSIZE && n < want; c++) {
        if (CPU_ISSET(c, &set))
            cpus[n++] = (int)c;
    }
    return n == want;
}

int slot_open(struct slot *s, const struct slot_options *o, struct tr_err *err)
{
    *s = (struct slot){0};
    tr_arena_init(&s->arena, 1 << 20);
    struct tr_judge_options jo;
    int r = slot_judge_options(o, s->roots, &s->arena, &jo, err);

    if (r < 0)
        return r;
    /* One test at a time goes where the kernel likes; several get a core each. */
    if (o->jobs > 1 && pick_cpus(s->cpus, (size_t)o->jobs))
        jo.cpus = s->cpus;
    return tr_judge_open(&jo, &s->judge, err);
}

void slot_close(struct slot *s)
{
    tr_judge_close(s->judge);
    tr_arena_done(&s->arena);
}

static int unpack(int zip, char **ret_temp, int *ret_dirfd, struct tr_err *err)
{
    struct tr_unzip_limits limits;
    tr_autofree char *path = NULL;
    tr_autoclose int fd = -1;

    tr_unzip_limits_default(&limits);
    int r = tr_fs_temp_dir("problem", &path, &fd, err);
    if (r < 0)
        return r;
    r = tr_unzip(zip, fd, &limits, err);
    if (r < 0) {
        (void)tr_fs_remove_tree(AT_FDCWD, path, NULL);
        return r;
    }
    *ret_temp = TR_TAKE(path);
    *ret_dirfd = tr_take_fd(&fd);
    return 0;
}

int package_open(const char *path, char **ret_temp, int *ret_dirfd, struct tr_err *err)
{
    struct stat st;
    tr_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return tr_fail(err, errno == ENOENT || errno == ENOTDIR ? TR_E_NOTFOUND : TR_E_IO, errno,
                       "open the problem '%s'", path);
    if (fstat(fd, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "look at the problem '%s'", path);
    if (S_ISDIR(st.st_mode)) {
        *ret_temp = NULL;
        *ret_dirfd = tr_take_fd(&fd);
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        return tr_fail(err, TR_E_USAGE, 0, "the problem '%s' is neither a folder nor a zip file",
                       path);
    int r = unpack(fd, ret_temp, ret_dirfd, err);
    return r < 0 ? tr_fail_wrap(err, "%s", path) : 0;
}

int problem_arg_open(struct problem_arg *p, const char *path, struct tr_err *err)
{
    tr_autoclose int dirfd = -1;

    *p = (struct problem_arg){.dirfd = -1};
    tr_arena_init(&p->arena, TR_PROBLEM_ARENA_MAX);
    tr_buf_init(&p->notes, TR_PROBLEM_NOTES_MAX);
    int r = package_open(path, &p->temp, &dirfd, err);
    if (r < 0)
        return r;
    r = tr_problem_read(dirfd, &p->arena, &p->problem, &p->dirfd, &p->notes, err);
    return r < 0 ? tr_fail_wrap(err, "%s", path) : 0;
}

void problem_arg_done(struct problem_arg *p)
{
    tr_close(&p->dirfd);
    if (p->temp)
        (void)tr_fs_remove_tree(AT_FDCWD, p->temp, NULL);
    free(p->temp);
    tr_buf_done(&p->notes);
    tr_arena_done(&p->arena);
}

int source_read(const char *path, struct tr_buf *b, struct tr_err *err)
{
    uint64_t size = 0;
    tr_autoclose int fd = tr_fs_open_regular_trusted(path, TR_SOURCE_MAX, &size, err);

    if (fd == TR_E_LIMIT)
        return tr_fail(err, TR_E_LIMIT, 0, "the source '%s' has more than %d bytes", path,
                       TR_SOURCE_MAX);
    if (fd < 0)
        return fd;
    tr_buf_init(b, TR_SOURCE_MAX);
    return tr_fs_read_all(fd, b, path, err);
}
