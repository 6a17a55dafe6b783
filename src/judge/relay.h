/* SPDX-License-Identifier: MIT
 *
 * judge/relay.h - what two programs say to each other, passed on and written down.
 */
#ifndef JUDGE_RELAY_H
#define JUDGE_RELAY_H

#include <poll.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    RELAY_TEXT_MAX = 64 * 1024, /* of the record; the talk itself has no limit but time */
    RELAY_CHUNK = 8 * 1024
};

struct relay_way {
    int from, to; /* not blocking; -1: this way is over */
    size_t at, len;
    char bytes[RELAY_CHUNK];
};

struct relay {
    struct relay_way ways[2]; /* from the program, from the interactor */
    struct tr_buf text;
    int64_t began_us;
    int speaker;
    bool in_line, cut;
};

/* in[0], out[0] are for the program, in[1], out[1] for the interactor; the caller closes its copies
 * after both were started. Close with relay_done() in any case, on failure too. */
int relay_open(struct relay *r, int in[2], int out[2], struct tr_err *err);
void relay_done(struct relay *r); /* for TR_CLEANUP as well */

/* What to wait for, and what to do after poll(). */
void relay_poll(const struct relay *r, struct pollfd fds[2]);
void relay_step(struct relay *r, const struct pollfd fds[2]);

/* Who said what, in order, a line each; plain ASCII. Lives as long as the relay. */
const char *relay_text(struct relay *r, size_t *ret_len);

#endif
