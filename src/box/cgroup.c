/* SPDX-License-Identifier: MIT
 *
 * cgroup.c - what the drivers share: files of a group, the groups of a container, sweeping.
 */
#include "box/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

int box_cg_open(int dir, const char *name, int flags, struct tr_err *err)
{
    int fd = openat(dir, name, flags | O_CLOEXEC);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open cgroup file '%s'", name);
    return fd;
}

int box_cg_write_u64(int fd, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%" PRIu64, value);

    return pwrite(fd, text, (size_t)n, 0) < 0 ? -errno : 0;
}

int box_cg_write_at(int dir, const char *name, const char *text)
{
    tr_autoclose int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -errno;
    return 0;
}

int box_cg_read(int fd, char *out, size_t size)
{
    ssize_t n = pread(fd, out, size - 1, 0);

    if (n < 0) {
        out[0] = 0;
        return -errno;
    }
    out[n] = 0;
    return (int)n;
}

static uint64_t number(const char *s)
{
    uint64_t v = 0;

    for (; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    return v;
}

uint64_t box_cg_read_u64(int fd)
{
    char text[32];

    if (fd < 0 || box_cg_read(fd, text, sizeof(text)) <= 0)
        return 0;
    return text[0] == 'm' ? UINT64_MAX : number(text);
}

uint64_t box_cg_field(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return number(line + len + 1);
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    return 0;
}

int64_t box_cg_own_cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int box_cg_make(const struct box_cg_host *host, const char *name, uid_t owner, struct box_cg *ret,
                struct tr_err *err)
{
    static const struct box_cg_driver *const drivers[] = {[TBOX_CGROUP_V2] = &box_cg_v2,
                                                          [TBOX_CGROUP_V1] = &box_cg_v1,
                                                          [TBOX_CGROUP_HYBRID] = &box_cg_hybrid,
                                                          [TBOX_CGROUP_NONE] = &box_cg_none};
    const char *parents[BOX_CG_TREES] = {host->v2, host->memory, host->pids, host->cpuacct};

    *ret = (struct box_cg){.driver = drivers[host->mode], .run_dir = -1, .owner = owner};
    for (int i = 0; i < BOX_CG_TREES; i++)
        ret->tree[i].dir = -1;
    for (size_t i = 0; i < TR_ARRAY_LEN(ret->fd); i++)
        ret->fd[i] = -1;
    for (int i = 0; i < BOX_CG_TREES; i++) {
        bool used = host->mode == TBOX_CGROUP_V2       ? i == 0
                    : host->mode == TBOX_CGROUP_HYBRID ? i <= 2
                    : host->mode == TBOX_CGROUP_V1     ? i >= 1
                                                       : false;
        if (!used)
            continue;
        int n = snprintf(ret->tree[i].path, BOX_CG_PATH, "%s/%s", parents[i], name);
        if (n < 0 || n >= BOX_CG_PATH)
            return tr_fail(err, TR_E_LIMIT, 0, "path of the cgroup is too long");
        if (mkdir(ret->tree[i].path, 0755) < 0)
            return tr_fail(err, TR_E_IO, errno, "make cgroup '%s'", ret->tree[i].path);
        ret->tree[i].dir = open(ret->tree[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (ret->tree[i].dir < 0)
            return tr_fail(err, TR_E_IO, errno, "open cgroup '%s'", ret->tree[i].path);
    }
    return ret->driver->make(ret, name, owner, err);
}

/* Children first; they are at most one level deep and carry names of ours. */
static int remove_group(const char *path)
{
    DIR *d = opendir(path);
    int r = 0;

    if (!d)
        return errno == ENOENT ? 0 : -errno;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) < 0)
            r = -errno;
    }
    (void)closedir(d);
    return rmdir(path) < 0 ? -errno : r;
}

/* A group stays busy for a moment after its last process has been reaped. */
static int remove_patiently(const char *path)
{
    int r = -EBUSY;

    for (int i = 0; i < 200; i++) {
        const struct timespec wait = {.tv_nsec = 500000L << (i < 5 ? i : 5)};

        r = remove_group(path);
        if (r != -EBUSY)
            return r;
        (void)nanosleep(&wait, NULL);
    }
    return r;
}

int box_cg_remove(struct box_cg *cg, struct tr_err *err)
{
    int result = 0;

    for (size_t i = 0; i < TR_ARRAY_LEN(cg->fd); i++)
        tr_close(&cg->fd[i]);
    tr_close(&cg->run_dir);
    for (int i = 0; i < BOX_CG_TREES; i++) {
        tr_close(&cg->tree[i].dir);
        if (!cg->tree[i].path[0])
            continue;
        int r = remove_patiently(cg->tree[i].path);
        if (r < 0)
            result = tr_fail(err, TR_E_IO, -r, "remove cgroup '%s'", cg->tree[i].path);
        cg->tree[i].path[0] = 0;
    }
    return result;
}

/* Kill what still lives in a group that a dead helper left. */
static void kill_group(const char *path)
{
    char file[BOX_CG_PATH + 32];
    TR_CLEANUP(tr_buf_done) struct tr_buf text;

    (void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    tr_buf_init(&text, 1 << 20);
    if (tr_fs_read_file(file, &text, NULL) < 0)
        return;
    for (const char *line = text.data; line && *line; line = strchr(line, '\n') + 1) {
        uint64_t pid = number(line);

        if (pid > 1 && pid <= INT_MAX)
            (void)kill((pid_t)pid, SIGKILL);
        if (!strchr(line, '\n'))
            break;
    }
}

static void sweep_parent(const char *parent, const char *prefix)
{
    DIR *d = *parent ? opendir(parent) : NULL;

    if (!d)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[BOX_CG_PATH];

        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        int n = snprintf(path, sizeof(path), "%s/%.200s", parent, e->d_name);
        if (n < 0 || (size_t)n >= sizeof(path))
            continue;
        kill_group(path);
        (void)remove_patiently(path);
    }
    (void)closedir(d);
}

void box_cg_sweep(const struct box_cg_host *host, const char *prefix)
{
    sweep_parent(host->v2, prefix);
    sweep_parent(host->memory, prefix);
    sweep_parent(host->pids, prefix);
    sweep_parent(host->cpuacct, prefix);
}
