/* SPDX-License-Identifier: MIT
 *
 * open.c - how helpers come to be: started by us, or by a launcher that has more rights.
 *
 * A launcher is `tribunal-box launcher`, started while we still have those rights, with the options
 * of every kind of box that will be wanted. Later one byte says which kind, and the end of a socket
 * goes with it; the other end is ours. So nothing that is asked for can add to what was fixed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "box/client.h"

enum {
    HELPER_FD = 3
};

#ifndef TRIBUNAL_BOX_PATH
#define TRIBUNAL_BOX_PATH "/usr/bin/tribunal-box"
#endif

/* The program beside us first (a build folder, a relocated install), then where it was installed to
 * be. Never PATH: who can change PATH would choose what runs as root. */
const char *tbox_helper_path(const char *wish, char *out, size_t size)
{
    static const char *const beside[] = {"tribunal-box", "../boxd/tribunal-box"};
    const char *env = secure_getenv("TRIBUNAL_BOX");
    char self[PATH_MAX];

    if (wish || (env && env[0] == '/')) {
        (void)snprintf(out, size, "%s", wish ? wish : env);
        return out;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
    for (size_t i = 0; slash && i < TR_ARRAY_LEN(beside); i++) {
        slash[1] = 0;
        int len = snprintf(out, size, "%s%s", self, beside[i]);
        if (len > 0 && (size_t)len < size && access(out, X_OK) == 0)
            return out;
    }
    (void)snprintf(out, size, "%s", TRIBUNAL_BOX_PATH);
    return out;
}

struct arguments {
    char *argv[24 + 2 * 32];
    size_t n;
    char bytes[32];
    char files[32];
};

static void add_arg(struct arguments *a, const char *s)
{
    if (s && a->n + 1 < TR_ARRAY_LEN(a->argv))
        memcpy(&a->argv[a->n++], &s, sizeof(s)); /* posix_spawn does not write to it */
}

static int make_arguments(struct arguments *a, const char *path, const struct tbox_options *o,
                          struct tr_err *err)
{
    static const char *const profiles[] = {"run", "compile", "checker"};
    static const char *const userns[] = {"auto", "always", "never"};

    if (o->size != sizeof(*o))
        return tr_fail(err, TR_E_USAGE, 0, "tbox_options.size is %zu, not %zu", o->size,
                       sizeof(*o));
    if ((size_t)o->profile >= TR_ARRAY_LEN(profiles) || (size_t)o->userns >= TR_ARRAY_LEN(userns) ||
        (size_t)o->cgroup > TBOX_CGROUP_NONE)
        return tr_fail(err, TR_E_USAGE, 0, "tbox_options: unknown profile, cgroup or userns");
    if (o->root && o->root[0] != '/')
        return tr_fail(err, TR_E_USAGE, 0, "the image folder wants a full path, not '%s'", o->root);
    (void)snprintf(a->bytes, sizeof(a->bytes), "%" PRIu64,
                   o->work_bytes ? o->work_bytes : UINT64_C(256) << 20);
    (void)snprintf(a->files, sizeof(a->files), "%" PRIu32, o->work_files ? o->work_files : 4096);
    const char *fixed[] = {path,          "helper",
                           "--profile",   profiles[o->profile],
                           "--cgroup",    tbox_cgroup_name(o->cgroup),
                           "--userns",    userns[o->userns],
                           "--work-size", a->bytes,
                           "--files",     a->files};
    for (size_t i = 0; i < TR_ARRAY_LEN(fixed); i++)
        add_arg(a, fixed[i]);
    if (o->strict)
        add_arg(a, "--strict");
    if (o->spare)
        add_arg(a, "--spare");
    if (o->root) {
        add_arg(a, "--root");
        add_arg(a, o->root);
    }
    size_t ndirs = 0;
    for (const char *const *d = o->dirs; d && *d; d++) {
        if (++ndirs > 32)
            return tr_fail(err, TR_E_LIMIT, 0, "more than 32 folders for a box");
        if ((*d)[0] != '/' || !(*d)[1])
            return tr_fail(err, TR_E_USAGE, 0, "a folder for the box wants a full path, not '%s'",
                           *d);
        add_arg(a, "--dir");
        add_arg(a, *d);
    }
    return 0;
}

static int start_helper(char *const *argv, int *ret_sock, pid_t *ret_pid, struct tr_err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return tr_fail(err, TR_E_IO, errno, "socketpair");
    tr_autoclose int ours = ends[0];
    tr_autoclose int theirs = ends[1];
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return tr_fail(err, TR_E_IO, errno, "open /dev/null");
    const struct tr_spawn_fd fds[] = {{null, 0}, {null, 1}, {null, 2}, {theirs, HELPER_FD}};
    struct tr_spawn what = {.path = argv[0],
                            .argv = argv,
                            .fds = fds,
                            .nfds = TR_ARRAY_LEN(fds),
                            .cwd = AT_FDCWD,
                            .new_session = true};
    int r = tr_spawn(&what, ret_pid, NULL, err);
    if (r == 0)
        *ret_sock = tr_take_fd(&ours);
    return r;
}

int tbox_open(const struct tbox_options *options, tbox **ret, struct tr_err *err)
{
    struct arguments a = {0};
    char path[512];
    int sock = -1;
    pid_t pid = 0;

    (void)tbox_helper_path(options->helper, path, sizeof(path));
    int r = make_arguments(&a, path, options, err);
    if (r == 0)
        r = start_helper(a.argv, &sock, &pid, err);
    return r < 0 ? r : box_client_attach(sock, pid, ret, err);
}

/* One row in each message, an empty answer at the end. */
int tbox_probe(const char *helper, struct tbox_probe_row *rows, size_t max, struct tr_err *err)
{
    struct {
        struct box_wire_head head;
        struct tbox_probe_row row;
    } msg;
    char path[512];
    char verb[] = "probe";
    char *argv[] = {path, verb, NULL};
    pid_t pid = 0;
    tr_autoclose int sock = -1;
    int count = 0;

    (void)tbox_helper_path(helper, path, sizeof(path));
    int r = start_helper(argv, &sock, &pid, err);
    if (r < 0)
        return r;
    for (;;) {
        int fds[BOX_WIRE_FDS];
        int64_t n = box_wire_recv(sock, &msg, sizeof(msg), fds, 0, err);

        for (int i = 0; i < BOX_WIRE_FDS; i++)
            tr_close(&fds[i]);
        if (n < 0 || box_wire_check(&msg, (size_t)n, BOX_ROW, sizeof(msg), err) < 0) {
            r = n == TR_E_LOST && count > 0 ? 0 : TR_E_FATAL;
            break;
        }
        msg.row.name[sizeof(msg.row.name) - 1] = 0;
        msg.row.found[sizeof(msg.row.found) - 1] = 0;
        msg.row.weaker[sizeof(msg.row.weaker) - 1] = 0;
        msg.row.fix[sizeof(msg.row.fix) - 1] = 0;
        if ((size_t)count < max)
            rows[count++] = msg.row;
    }
    (void)waitpid(pid, NULL, 0);
    return r < 0 ? r : count;
}

/* ---------------------------------------------------------------- a launcher */

/* All kinds in one command line: each begins with "--kind". */
struct kinds {
    struct arguments one[TBOX_KINDS_MAX];
    char *argv[3 + TBOX_KINDS_MAX * (TR_ARRAY_LEN(((struct arguments *)0)->argv) + 1)];
    char path[512];
};

static int kinds_arguments(struct kinds *k, const struct tbox_options *kinds, size_t n,
                           struct tr_err *err)
{
    static char launcher[] = "launcher", kind[] = "--kind";
    size_t at = 0;

    (void)tbox_helper_path(kinds[0].helper, k->path, sizeof(k->path));
    k->argv[at++] = k->path;
    k->argv[at++] = launcher;
    for (size_t i = 0; i < n; i++) {
        int r = make_arguments(&k->one[i], k->path, &kinds[i], err);

        if (r < 0)
            return r;
        k->argv[at++] = kind;
        for (size_t a = 2; a < k->one[i].n; a++) /* without "tribunal-box helper" */
            k->argv[at++] = k->one[i].argv[a];
    }
    return 0;
}

int tbox_launcher(const struct tbox_options *kinds, size_t n, int *ret, struct tr_err *err)
{
    if (n == 0 || n > TBOX_KINDS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "%zu kinds of boxes; 1 to %d are possible", n,
                       TBOX_KINDS_MAX);
    tr_autofree struct kinds *k = calloc(1, sizeof(*k));
    if (!k)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = kinds_arguments(k, kinds, n, err);
    pid_t pid; /* reaped by nobody: it lives as long as we do */
    return r < 0 ? r : start_helper(k->argv, ret, &pid, err);
}

int tbox_open_by(int launcher, unsigned kind, tbox **ret, struct tr_err *err)
{
    unsigned char byte = (unsigned char)kind;
    int ends[2];

    if (kind >= TBOX_KINDS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "there is no box of kind %u", kind);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return tr_fail(err, TR_E_IO, errno, "socketpair");
    int r = box_wire_send(launcher, &byte, 1, &ends[1], 1, err);
    tr_close(&ends[1]);
    if (r < 0) {
        tr_close(&ends[0]);
        return tr_fail_wrap(err, "ask the launcher for a box");
    }
    return box_client_attach(ends[0], 0, ret, err);
}
