/* SPDX-License-Identifier: MIT
 *
 * client_pump.c - the program's output on its way out, with a ceiling.
 *
 * The program writes into pipes, not into the caller's files: a file's pages would be charged to
 * its memory, and a terminal or socket could be played with. The pipes are emptied here, in the
 * caller's process, which is outside of the run's cgroup.
 *
 * Not at every write: a program that writes one byte at a time would wake us each time. The pipes
 * are looked at after 1 ms and then at most every 5 ms; only when one is found half full do we wait
 * for the pipes themselves. A short run's output lies in the pipe until its report arrives.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/client.h"

enum {
    CHUNK = 65536,
    HALF_FULL = 32768,
    WAIT_MIN_US = 1000,
    WAIT_MAX_US = 5000,
    /* In one look; a flood cannot keep us from seeing the report. */
    CHUNKS_MAX = 64
};

int box_pump_open(tbox *box, const struct tbox_spec *spec, int out[2], struct tr_err *err)
{
    box->wait_us = WAIT_MIN_US;
    box->eager = false;
    for (int i = 0; i < 2; i++) {
        int ends[2];

        out[i] = -1;
        box->pipe[i] = (struct box_pipe){.from = -1, .to = spec->fd[i + 1]};
        if (spec->flags & TBOX_DIRECT_OUTPUT)
            continue;
        /* Our end alone does not block: O_NONBLOCK on the other one would be the program's. */
        if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
            return tr_fail(err, TR_E_IO, errno, "make a pipe");
        box->pipe[i].from = ends[0];
        out[i] = ends[1];
    }
    return 0;
}

void box_pump_close(tbox *box)
{
    tr_close(&box->pipe[0].from);
    tr_close(&box->pipe[1].from);
}

static void over_output(tbox *box)
{
    struct box_wire_head msg;

    box->seen.over_output = true;
    if (box->kill_sent)
        return;
    box->kill_sent = true;
    box_wire_head(&msg, BOX_KILL, sizeof(msg), TBOX_OUTPUT);
    (void)box_wire_send(box->sock, &msg, sizeof(msg), NULL, 0, NULL);
}

/* Write what the ceiling still allows. */
static void pass_on(tbox *box, struct box_pipe *p, const char *bytes, size_t n)
{
    uint64_t room = box->limits.output_bytes > box->seen.written_bytes
                        ? box->limits.output_bytes - box->seen.written_bytes
                        : 0;
    size_t take = n < room ? n : (size_t)room;

    box->seen.written_bytes += n;
    if (take > 0 && p->to >= 0 && tr_fs_write_all(p->to, bytes, take, &box->pump_error) < 0)
        p->to = -1; /* remembered in pump_error; the rest is dropped, the program goes on */
    if (take < n)
        over_output(box);
}

static size_t drain_one(tbox *box, struct box_pipe *p)
{
    static _Thread_local char chunk[CHUNK];
    size_t total = 0;

    for (int i = 0; i < CHUNKS_MAX; i++) {
        ssize_t n = read(p->from, chunk, sizeof(chunk));

        if (n <= 0)
            break;
        total += (size_t)n;
        pass_on(box, p, chunk, (size_t)n);
        if ((size_t)n < HALF_FULL)
            break;
    }
    return total;
}

void box_pump_drain(tbox *box)
{
    size_t most = 0;

    for (int i = 0; i < 2; i++) {
        size_t n = box->pipe[i].from < 0 ? 0 : drain_one(box, &box->pipe[i]);

        if (n > most)
            most = n;
    }
    box->eager = most >= HALF_FULL;
    if (most > 0)
        box->wait_us = WAIT_MIN_US;
    else if (box->wait_us < WAIT_MAX_US)
        box->wait_us += 1000;
}

/* Time stolen by the hypervisor since boot, all CPUs: the eighth number after "cpu". */
int64_t box_steal_us(void)
{
    char text[512];
    tr_autoclose int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    unsigned long long v = 0;

    if (n <= 0)
        return 0;
    text[n] = 0;
    char *at = text + strcspn(text, " ");
    for (int i = 0; i < 8 && *at && *at != '\n'; i++)
        v = strtoull(at, &at, 10);
    return (int64_t)v * (1000000 / sysconf(_SC_CLK_TCK));
}
