/* SPDX-License-Identifier: MIT
 *
 * cgroup.c - which control groups this host has, and what the drivers share.
 *
 * Tried, not guessed: a kind counts when a group could be made and its limit files written. Groups
 * are made below our own, so limits that somebody put on us hold for the boxes too; on v2 a group
 * with processes cannot hand out controllers, so root falls back to a folder at the top.
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

/* Whether the comma-separated `list` (of `len` bytes) has `word`. */
static bool list_has(const char *list, size_t len, const char *word)
{
    size_t want = strlen(word);

    while (len > 0) {
        const char *comma = memchr(list, ',', len);
        size_t n = comma ? (size_t)(comma - list) : len;

        if (n == want && memcmp(list, word, n) == 0)
            return true;
        if (!comma)
            return false;
        len -= n + 1;
        list = comma + 1;
    }
    return false;
}

bool box_cg_own_path(const char *text, const char *controller, char *out, size_t size)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        const char *first = memchr(line, ':', len);
        const char *second =
            first ? memchr(first + 1, ':', len - (size_t)(first + 1 - line)) : NULL;

        if (second) {
            size_t list = (size_t)(second - first - 1);
            size_t path = len - (size_t)(second + 1 - line);
            bool hit = *controller ? list_has(first + 1, list, controller) : list == 0;

            if (hit && path < size) {
                memcpy(out, second + 1, path);
                out[path] = 0;
                return true;
            }
        }
        line += len;
        if (*line)
            line++;
    }
    return false;
}

/* Field `n` (from 0) of a line of words. */
static const char *word(const char *line, size_t len, unsigned n, size_t *ret_len)
{
    const char *at = line;
    const char *end = line + len;

    for (;;) {
        const char *stop = memchr(at, ' ', (size_t)(end - at));

        if (!stop)
            stop = end;
        if (n == 0) {
            *ret_len = (size_t)(stop - at);
            return at;
        }
        if (stop == end)
            return NULL;
        n--;
        at = stop + 1;
    }
}

static bool copy_word(const char *line, size_t len, unsigned n, char *out, size_t size)
{
    size_t have = 0;
    const char *w = word(line, len, n, &have);

    if (!w || have >= size)
        return false;
    memcpy(out, w, have);
    out[have] = 0;
    return true;
}

/* mountinfo: id parent dev root mountpoint options [tags...] - type source superoptions */
bool box_cg_mount_point(const char *text, const char *controller, char *out, size_t size,
                        char *root, size_t root_size)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        const char *dash = memmem(line, len, " - ", 3);

        if (dash) {
            const char *tail = dash + 3;
            size_t tail_len = len - (size_t)(tail - line);
            size_t type = 0;
            size_t options = 0;
            const char *t = word(tail, tail_len, 0, &type);
            const char *o = word(tail, tail_len, 2, &options);
            bool v2 = t && type == 7 && memcmp(t, "cgroup2", 7) == 0;
            bool v1 = t && type == 6 && memcmp(t, "cgroup", 6) == 0;

            if ((controller ? v1 && o && list_has(o, options, controller) : v2) &&
                copy_word(line, len, 4, out, size) && copy_word(line, len, 3, root, root_size))
                return true;
        }
        line += len;
        if (*line)
            line++;
    }
    return false;
}

/* Our own group in one hierarchy, as a path in our mounts. In a container the mount's root may be
 * the group itself; then the common beginning falls away. */
static bool own_group(const char *mounts, const char *groups, const char *controller, char *out,
                      size_t size)
{
    char point[BOX_CG_PATH];
    char root[BOX_CG_PATH];
    char own[BOX_CG_PATH];

    if (!box_cg_mount_point(mounts, controller, point, sizeof(point), root, sizeof(root)) ||
        !box_cg_own_path(groups, controller ? controller : "", own, sizeof(own)))
        return false;
    const char *rest = own;
    size_t n = strlen(root);
    if (strcmp(root, "/") != 0)
        rest = strncmp(own, root, n) == 0 ? own + n : "";
    if (strcmp(rest, "/") == 0)
        rest = "";
    int len = snprintf(out, size, "%s%s", point, rest);
    return len > 0 && (size_t)len < size && access(out, W_OK) == 0;
}

static bool try_dir(const char *parent, const char *file)
{
    char path[BOX_CG_PATH + 64];
    int n = snprintf(path, sizeof(path), "%s/tribunal-box-try-%d", parent, (int)getpid());

    if (!*parent || n < 0 || (size_t)n >= sizeof(path) || mkdir(path, 0755) < 0)
        return false;
    tr_autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = dir >= 0 && (!file || faccessat(dir, file, W_OK, 0) == 0);
    (void)rmdir(path);
    return ok;
}

/* Hand the controllers to the children of `path`. A group with processes refuses (EBUSY). */
static bool hand_out(const char *path)
{
    tr_autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return false;
    (void)box_cg_write_at(dir, "cgroup.subtree_control", "+cpu"); /* for throttled_usec only */
    return box_cg_write_at(dir, "cgroup.subtree_control", "+memory +pids") == 0;
}

/* The only process of a delegated group (a unit with Delegate=yes) steps one level down, so that
 * the group may hand out its controllers. With others in it we leave it alone. */
static bool step_down(const char *own)
{
    char path[BOX_CG_PATH + 32];
    char text[64];
    tr_autoclose int dir = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tr_autoclose int procs = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);

    if (procs < 0 || box_cg_read(procs, text, sizeof(text)) <= 0)
        return false;
    if ((pid_t)number(text) != getpid() || strchr(text, '\n')[1] != 0)
        return false;
    (void)snprintf(path, sizeof(path), "%s/tribunal-helper", own);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return false;
    tr_autoclose int leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return leaf >= 0 && box_cg_write_at(leaf, "cgroup.procs", "0") == 0;
}

static bool find_v2(const char *own, const char *top, char *out, size_t size)
{
    if (*own && hand_out(own) && try_dir(own, "memory.max")) {
        (void)snprintf(out, size, "%s", own);
        return true;
    }
    if (*own && step_down(own) && hand_out(own) && try_dir(own, "memory.max")) {
        (void)snprintf(out, size, "%s", own);
        return true;
    }
    if (geteuid() == 0 && hand_out(top)) {
        char path[BOX_CG_PATH];

        (void)snprintf(path, sizeof(path), "%.400s/tribunal-box", top);
        if ((mkdir(path, 0755) == 0 || errno == EEXIST) && hand_out(path) &&
            try_dir(path, "memory.max")) {
            (void)snprintf(out, size, "%s", path);
            return true;
        }
    }
    return false;
}

static int read_text(const char *path, struct tr_buf *b, struct tr_err *err)
{
    tr_buf_init(b, 1 << 20);
    return tr_fs_read_file(path, b, err);
}

static void look(struct box_cg_host *h, bool *ret_v2_full, const char *mounts, const char *groups)
{
    char own[BOX_CG_PATH] = "";
    char top[BOX_CG_PATH] = "";
    char root[BOX_CG_PATH];
    bool v2 = box_cg_mount_point(mounts, NULL, top, sizeof(top), root, sizeof(root));

    if (!own_group(mounts, groups, NULL, own, sizeof(own)))
        own[0] = 0;
    *ret_v2_full = v2 && find_v2(own, top, h->v2, sizeof(h->v2));
    if (!*ret_v2_full && *own && try_dir(own, NULL))
        (void)snprintf(h->v2, sizeof(h->v2), "%s", own);
    if (!own_group(mounts, groups, "memory", h->memory, sizeof(h->memory)) ||
        !try_dir(h->memory, "memory.limit_in_bytes"))
        h->memory[0] = 0;
    if (!own_group(mounts, groups, "pids", h->pids, sizeof(h->pids)) ||
        !try_dir(h->pids, "pids.max"))
        h->pids[0] = 0;
    if (!own_group(mounts, groups, "cpuacct", h->cpuacct, sizeof(h->cpuacct)) ||
        !try_dir(h->cpuacct, NULL))
        h->cpuacct[0] = 0;
}

int box_cg_find(enum tbox_cgroup want, struct box_cg_host *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf mounts;
    TR_CLEANUP(tr_buf_done) struct tr_buf groups;
    bool v2_full = false;

    *ret = (struct box_cg_host){.mode = TBOX_CGROUP_NONE};
    int r = read_text("/proc/self/mountinfo", &mounts, err);
    int q = read_text("/proc/self/cgroup", &groups, r == 0 ? err : NULL);
    if (r == 0 && q == 0 && want != TBOX_CGROUP_NONE)
        look(ret, &v2_full, mounts.data ? mounts.data : "", groups.data ? groups.data : "");
    bool v1 = *ret->memory && *ret->pids;
    bool hybrid = v1 && *ret->v2 && !v2_full;

    if (v2_full && (want == TBOX_CGROUP_AUTO || want == TBOX_CGROUP_V2))
        ret->mode = TBOX_CGROUP_V2;
    else if (hybrid && (want == TBOX_CGROUP_AUTO || want == TBOX_CGROUP_HYBRID))
        ret->mode = TBOX_CGROUP_HYBRID;
    else if (v1 && *ret->cpuacct && (want == TBOX_CGROUP_AUTO || want == TBOX_CGROUP_V1))
        ret->mode = TBOX_CGROUP_V1;
    else if (want != TBOX_CGROUP_AUTO && want != TBOX_CGROUP_NONE)
        return tr_fail(err, TR_E_UNSUPPORTED, 0,
                       "this host gives no cgroup of the kind '%s' to us: see `tribunal doctor`",
                       tbox_cgroup_name(want));
    return 0;
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
