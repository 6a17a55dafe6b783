/* SPDX-License-Identifier: MIT
 *
 * cgroup_find.c - which control groups this host has, and where ours may be made.
 *
 * Tried, not guessed: a kind counts when a group could be made and its limit files written. Groups
 * are made below our own, so limits that somebody put on us hold for the boxes too. On v2 a group
 * with processes cannot hand out controllers: in one that is ours alone they step one level down,
 * elsewhere root falls back to a folder at the top.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/cgroup.h"

#define LEAF "tribunal-helper" /* of a group that is ours: where its processes go */

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

/* Hand the controllers to the children of `path`. A group with processes refuses memory (EBUSY),
 * but not cpu, and with that alone no process could step down any more: it comes last. */
static bool hand_out(const char *path)
{
    tr_autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 || box_cg_write_at(dir, "cgroup.subtree_control", "+memory +pids") != 0)
        return false;
    (void)box_cg_write_at(dir, "cgroup.subtree_control", "+cpu"); /* for throttled_usec only */
    return true;
}

/* systemd marks what it delegates. The root of a container's hierarchy is the container's (the true
 * root has no cgroup.type). Whatever runs in such a group came with us. */
static bool delegated(const char *own, const char *top)
{
    char path[BOX_CG_PATH + 32];
    char mark[8];

    if (getxattr(own, "user.delegate", mark, sizeof(mark)) > 0 ||
        getxattr(own, "trusted.delegate", mark, sizeof(mark)) > 0)
        return true;
    (void)snprintf(path, sizeof(path), "%s/cgroup.type", own);
    return strcmp(own, top) == 0 && access(path, F_OK) == 0;
}

/* Move what is in a group one level down. False: some would not go. */
static bool move_all(int procs, int leaf)
{
    enum {
        ROUNDS = 16
    }; /* for children that are born meanwhile */
    char text[4096];

    for (int i = 0; i < ROUNDS; i++) {
        if (box_cg_read(procs, text, sizeof(text)) < 0)
            return false;
        if (!*text)
            return true;
        for (char *at = text, *line; (line = strsep(&at, "\n")) && at;)
            (void)box_cg_write_at(leaf, "cgroup.procs", line); /* one that just ended is gone */
    }
    return false;
}

/* The processes of a delegated group (a unit with Delegate=yes, a container), or the only one of
 * any, step one level down, so that the group may hand out its controllers. */
static bool step_down(const char *own, const char *top)
{
    char path[BOX_CG_PATH + 32];
    char text[64];
    tr_autoclose int dir = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tr_autoclose int procs = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);

    int n = procs < 0 ? -1 : box_cg_read(procs, text, sizeof(text));
    if (n <= 0)
        return n == 0; /* another helper was quicker */
    (void)snprintf(path, sizeof(path), "%d\n", (int)getpid());
    bool alone = strcmp(text, path) == 0;
    if (!alone && !delegated(own, top))
        return false;
    (void)snprintf(path, sizeof(path), "%s/" LEAF, own);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return false;
    tr_autoclose int leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return leaf >= 0 && move_all(procs, leaf);
}

/* Who was moved down hands out from above. */
static void step_up(char *own)
{
    char *slash = strrchr(own, '/');

    if (slash && strcmp(slash + 1, LEAF) == 0)
        *slash = 0;
}

static bool find_v2(const char *own, const char *top, char *out, size_t size)
{
    if (*own && hand_out(own) && try_dir(own, "memory.max")) {
        (void)snprintf(out, size, "%s", own);
        return true;
    }
    if (*own && step_down(own, top) && hand_out(own) && try_dir(own, "memory.max")) {
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
    step_up(own);
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
