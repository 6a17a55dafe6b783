/* SPDX-License-Identifier: MIT
 *
 * bench_isolate.c - isolate as a contender of `tribunal bench box`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/spawn.h"
#include "cli/bench_rivals.h"

enum {
    PATIENCE_US = 10000000,
    OUTPUT_MAX = 4096
};

struct bench_isolate {
    const struct bench_program *program;
    int out; /* file in memory for what a run prints */
    int null;
};

static int call(char *const *argv, struct tr_buf *out, struct tr_err *err)
{
    tr_buf_clear(out);
    int r = tr_spawn_capture(argv, PATIENCE_US, out, err);
    if (r <= 0)
        return r;
    return tr_fail(err, TR_E_FATAL, 0, "'%s %s' failed: %.200s", argv[0], argv[1],
                   out->data ? out->data : "");
}

/* Its folder is made once, as its users do between the tests of a submission. */
static int prepare(const struct bench_program *p, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char words[][10] = {"isolate", "--cleanup", "--init", "cp"};
    char *cleanup[] = {words[0], words[1], NULL};
    char *init[] = {words[0], words[2], NULL};
    char from[300];
    char to[300];

    tr_buf_init(&out, OUTPUT_MAX);
    int r = call(cleanup, &out, err); /* of a run that was killed */
    if (r == 0)
        r = call(init, &out, err);
    if (r < 0)
        return r;
    if (!out.data)
        return tr_fail(err, TR_E_FATAL, 0, "'isolate --init' named no folder");
    out.data[strcspn(out.data, "\n")] = 0;
    (void)snprintf(to, sizeof(to), "%.200s/box/prog", out.data);
    (void)snprintf(from, sizeof(from), "%s", p->path);
    char *copy[] = {words[3], from, to, NULL};
    return call(copy, &out, err);
}

int bench_isolate_open(const struct bench_program *p, struct bench_isolate **ret,
                       struct tr_err *err)
{
    int r = prepare(p, err);

    *ret = NULL;
    if (r == TR_E_NOTFOUND)
        return 0;
    if (r < 0)
        return r;
    struct bench_isolate *i = calloc(1, sizeof(*i));
    if (!i)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    *i = (struct bench_isolate){.program = p,
                                .out = memfd_create("isolate", MFD_CLOEXEC),
                                .null = open("/dev/null", O_RDWR | O_CLOEXEC)};
    if (i->out < 0 || i->null < 0) {
        bench_isolate_close(i);
        return tr_fail(err, TR_E_IO, errno, "open a file for the output of isolate");
    }
    *ret = i;
    return 0;
}

static int check(struct bench_isolate *i, struct tr_err *err)
{
    char said[OUTPUT_MAX];
    const char *want = i->program->output;
    ssize_t n = pread(i->out, said, sizeof(said), 0);

    if (n != (ssize_t)strlen(want) || memcmp(said, want, (size_t)n) != 0)
        return tr_fail(err, TR_E_FATAL, 0, "isolate: a wrong answer of %zd bytes", n);
    return 0;
}

int bench_isolate_run(struct bench_isolate *i, int in, struct tr_err *err)
{
    char words[][10] = {"isolate", "--silent", "--run", "--", "./prog"};
    char *argv[] = {words[0], words[1], words[2], words[3], words[4], NULL};
    const struct tr_spawn_fd fds[] = {{in, 0}, {i->out, 1}, {i->null, 2}};
    const struct tr_spawn what = {.argv = argv, .fds = fds, .nfds = 3, .cwd = AT_FDCWD};
    pid_t pid = 0;
    int status = 0;

    if (ftruncate(i->out, 0) < 0 || lseek(i->out, 0, SEEK_SET) < 0)
        return tr_fail(err, TR_E_IO, errno, "empty the output of isolate");
    int r = tr_spawn(&what, &pid, NULL, err);
    if (r == 0)
        r = tr_spawn_wait(pid, &status, err);
    if (r < 0)
        return r;
    return status == 0 ? check(i, err)
                       : tr_fail(err, TR_E_FATAL, 0, "'isolate --run' failed: try it by hand");
}

void bench_isolate_close(struct bench_isolate *i)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char words[][10] = {"isolate", "--cleanup"};
    char *cleanup[] = {words[0], words[1], NULL};

    tr_buf_init(&out, OUTPUT_MAX);
    if (!i)
        return;
    (void)call(cleanup, &out, NULL);
    tr_close(&i->out);
    tr_close(&i->null);
    free(i);
}
