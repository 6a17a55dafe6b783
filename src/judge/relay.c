/* SPDX-License-Identifier: MIT
 *
 * relay.c - what two programs say to each other, passed on and written down.
 *
 * Only for those who ask for a transcript: without one the two have direct pipes (interact.c),
 * which are several times faster. Nothing is changed, held back or reordered; the record stops at
 * its ceiling and the talk goes on.
 *
 * The end of one side is passed on like a direct pipe would: who reads sees the end after the last
 * byte, who writes gets a broken pipe.
 */
#include "judge/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static const char *const speakers[2] = {"program", "interactor"};

void relay_done(struct relay *r)
{
    for (int i = 0; i < 2; i++) {
        tr_close(&r->ways[i].from);
        tr_close(&r->ways[i].to);
    }
    tr_buf_done(&r->text);
}

int relay_open(struct relay *r, int in[2], int out[2], struct tr_err *err)
{
    *r = (struct relay){.ways = {{.from = -1, .to = -1}, {.from = -1, .to = -1}},
                        .speaker = -1,
                        .began_us = tr_clock_mono_us()};
    tr_buf_init(&r->text, RELAY_TEXT_MAX + 256);
    for (int i = 0; i < 2; i++) {
        int said[2], heard[2];

        if (pipe2(said, O_CLOEXEC) < 0)
            return tr_fail(err, TR_E_IO, errno, "make a pipe");
        r->ways[i].from = said[0];
        out[i] = said[1];
        if (pipe2(heard, O_CLOEXEC) < 0)
            return tr_fail(err, TR_E_IO, errno, "make a pipe");
        r->ways[i].to = heard[1];
        in[1 - i] = heard[0];
        /* Our ends alone: the others' flags are seen by the programs. */
        if (fcntl(said[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(heard[1], F_SETFL, O_NONBLOCK) < 0)
            return tr_fail(err, TR_E_IO, errno, "make a pipe not block");
    }
    return 0;
}

void relay_poll(const struct relay *r, struct pollfd fds[2])
{
    for (int i = 0; i < 2; i++) {
        const struct relay_way *w = &r->ways[i];

        fds[i] = w->len > 0 ? (struct pollfd){.fd = w->to, .events = POLLOUT}
                            : (struct pollfd){.fd = w->from, .events = POLLIN};
    }
}

/* ---- the record */

static void new_line(struct relay *r, int who)
{
    int64_t us = tr_clock_mono_us() - r->began_us;

    if (r->in_line)
        tr_buf_adds(&r->text, " ...\n"); /* the other one spoke before it was complete */
    tr_buf_addf(&r->text, "%8lld.%03lld ms  %-10s  ", (long long)(us / 1000),
                (long long)(us % 1000), speakers[who]);
    r->speaker = who;
    r->in_line = true;
}

/* One line of the record for each line that was said; what is no plain text is escaped, so that
 * the record can be shown anywhere. */
static void record(struct relay *r, int who, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && !r->cut; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (r->text.len >= RELAY_TEXT_MAX) {
            tr_buf_adds(&r->text, "\n[the rest was not written down]\n");
            r->cut = true;
            return;
        }
        if (!r->in_line || r->speaker != who)
            new_line(r, who);
        if (c == '\n') {
            tr_buf_addc(&r->text, '\n');
            r->in_line = false;
        } else if (c < ' ' || c >= 127 || c == '\\') {
            tr_buf_addf(&r->text, "\\x%02x", c);
        } else {
            tr_buf_addc(&r->text, (char)c);
        }
    }
}

const char *relay_text(struct relay *r, size_t *ret_len)
{
    if (r->in_line && !r->cut)
        tr_buf_adds(&r->text, " ...\n");
    r->in_line = false;
    *ret_len = r->text.len;
    return r->text.data ? r->text.data : "";
}

/* ---- passing on */

static void end_way(struct relay_way *w)
{
    w->len = 0;
    tr_close(&w->from);
    tr_close(&w->to);
}

/* write() to a pipe that nobody reads sends SIGPIPE; a library may not let that end its program. */
static ssize_t write_quietly(int fd, const char *bytes, size_t n)
{
    const struct timespec now = {0};
    sigset_t pipe_only, before;

    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t done = write(fd, bytes, n);
    int why = errno;
    if (done < 0 && why == EPIPE)
        (void)sigtimedwait(&pipe_only, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return done;
}

static void push(struct relay_way *w)
{
    ssize_t n = write_quietly(w->to, w->bytes + w->at, w->len);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        end_way(w);
    if (n <= 0)
        return;
    w->at += (size_t)n;
    w->len -= (size_t)n;
}

static void pull(struct relay *r, int i)
{
    struct relay_way *w = &r->ways[i];
    ssize_t n = read(w->from, w->bytes, sizeof(w->bytes));

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_way(w);
    if (n <= 0)
        return;
    record(r, i, w->bytes, (size_t)n);
    w->at = 0;
    w->len = (size_t)n;
    push(w);
}

void relay_step(struct relay *r, const struct pollfd fds[2])
{
    for (int i = 0; i < 2; i++) {
        if (!fds[i].revents)
            continue;
        if (r->ways[i].len > 0)
            push(&r->ways[i]);
        else
            pull(r, i);
    }
}
