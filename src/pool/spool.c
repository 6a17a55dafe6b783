/* SPDX-License-Identifier: MIT
 *
 * spool.c - log files of one judging. Outputs may be hostile in size and content: they are cut and
 * copied as bytes, never looked at.
 */
#include "pool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

enum {
    DEFAULT_BYTES = 64 * 1024,
    NAME_BYTES = 64
};

void tr_spool_open(struct tr_spool *s, const char *folder, uint64_t bytes)
{
    *s = (struct tr_spool){.dirfd = -1, .bytes = bytes ? bytes : DEFAULT_BYTES};
    if (!folder || !*folder)
        return;
    if (tr_fs_mkdirs(AT_FDCWD, folder, 0700, &s->failed) < 0)
        return;
    s->dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dirfd < 0)
        (void)tr_fail(&s->failed, TR_E_IO, errno, "open '%s'", folder);
}

void tr_spool_close(struct tr_spool *s)
{
    tr_close(&s->dirfd);
}

static int new_file(struct tr_spool *s, const char *name)
{
    int fd = openat(s->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        (void)tr_fail(&s->failed, TR_E_IO, errno, "log '%s'", name);
    return fd;
}

void tr_spool_text(struct tr_spool *s, const char *name, const char *text, size_t len)
{
    if (s->dirfd < 0)
        return;
    tr_autoclose int fd = new_file(s, name);
    if (fd >= 0)
        (void)tr_fs_write_all(fd, text, len, &s->failed);
}

static void copy(struct tr_spool *s, const char *name, int from)
{
    char piece[16 * 1024];
    uint64_t at = 0;

    tr_autoclose int fd = new_file(s, name);
    while (fd >= 0 && from >= 0 && at < s->bytes) {
        uint64_t left = s->bytes - at;
        ssize_t n =
            pread(from, piece, left < sizeof(piece) ? (size_t)left : sizeof(piece), (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || tr_fs_write_all(fd, piece, (size_t)n, &s->failed) < 0)
            return;
        at += (uint64_t)n;
    }
}

void tr_spool_output(struct tr_spool *s, size_t test, int stdout_fd, int stderr_fd)
{
    char name[NAME_BYTES];

    if (s->dirfd < 0)
        return;
    (void)snprintf(name, sizeof(name), "case_%zu.stdout", test + 1);
    copy(s, name, stdout_fd);
    (void)snprintf(name, sizeof(name), "case_%zu.stderr", test + 1);
    copy(s, name, stderr_fd);
}

void tr_spool_case(struct tr_spool *s, size_t test, const struct tr_case *c)
{
    const struct tr_run_facts *f = &c->facts;
    char name[NAME_BYTES], text[512];

    (void)snprintf(name, sizeof(name), "case_%zu_resource.json", test + 1);
    int n =
        snprintf(text, sizeof(text),
                 "{\"verdict\": \"%s\", \"time_ms\": %lld, \"time_us\": %lld, \"wall_ms\": "
                 "%lld, \"memory_kb\": %lld, \"output_bytes\": %lld, \"exit\": %d, "
                 "\"signal\": %d, \"runs\": %u}\n",
                 tr_verdict_id(c->verdict), (long long)tr_ms_up(f->cpu_us), (long long)f->cpu_us,
                 (long long)tr_ms_up(f->wall_us), (long long)f->memory_kib,
                 (long long)f->output_bytes, f->exit_code, f->signal, c->runs);
    tr_spool_text(s, name, text, (size_t)n);
}
