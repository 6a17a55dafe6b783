/* SPDX-License-Identifier: MIT
 *
 * tribunal/err.h - the one error type of the queue library and the box library.
 *
 * A function returns 0 or more on success and one of TR_E_* on failure. The code says what the
 * caller should do next; the sentence in struct tr_err says what happened, for people. The struct
 * belongs to the caller, has a fixed size and owns nothing, so it works when memory is short and
 * between fork and exec. On failure outputs are untouched; on success the struct is.
 */
#ifndef TRIBUNAL_ERR_H
#define TRIBUNAL_ERR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TR_PUBLIC __attribute__((visibility("default")))

/* What to do next. Every code below belongs to exactly one class; the six class codes are
 * themselves valid results. */
enum tr_err_code {
    TR_OK = 0,

    /* The six classes. */
    TR_E_RETRY = -1,  /* nothing happened; the same call may succeed a little later */
    TR_E_ABORT = -2,  /* the transaction is unusable: roll it back and start again */
    TR_E_LOST = -3,   /* the lease or the object is no longer ours: stop, write nothing */
    TR_E_UNSURE = -4, /* it may or may not have happened: look before doing it again */
    TR_E_FATAL = -5,  /* it cannot work until a person changes something */
    TR_E_USAGE = -6,  /* the caller asked for something that makes no sense */

    /* Finer codes, each with its class. */
    TR_E_IO = -16,          /* FATAL: the operating system refused; see tr_err.sys */
    TR_E_NOMEM = -17,       /* RETRY: out of memory */
    TR_E_LIMIT = -18,       /* USAGE: over a stated ceiling */
    TR_E_PARSE = -19,       /* USAGE: malformed input */
    TR_E_NOTFOUND = -20,    /* USAGE: no such thing */
    TR_E_EXISTS = -21,      /* USAGE: there is one already */
    TR_E_BUSY = -22,        /* RETRY: somebody else holds it */
    TR_E_DENIED = -23,      /* FATAL: no right to do that */
    TR_E_UNSUPPORTED = -24, /* FATAL: this host or this build cannot do that */
    TR_E_TIMEOUT = -25      /* RETRY: no answer in time, and nothing was changed */
};

/* Long enough for a file, a line, a key and what was expected; short enough for the stack. */
#define TR_ERR_MSG_MAX 512

struct tr_err {
    int code;                 /* TR_E_* */
    int sys;                  /* errno where one was involved, else 0 */
    char msg[TR_ERR_MSG_MAX]; /* one sentence, no trailing newline; cut, never overrun */
};

#define TR_ERR_INIT                                                                                \
    {                                                                                              \
        0, 0,                                                                                      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* The class of any code: one of the six class codes, or TR_OK for 0 and more. */
static inline int tr_err_class(int code)
{
    if (code >= 0)
        return TR_OK;
    switch (code) {
    case TR_E_RETRY:
    case TR_E_NOMEM:
    case TR_E_BUSY:
    case TR_E_TIMEOUT:
        return TR_E_RETRY;
    case TR_E_ABORT:
    case TR_E_LOST:
    case TR_E_UNSURE:
        return code;
    case TR_E_USAGE:
    case TR_E_LIMIT:
    case TR_E_PARSE:
    case TR_E_NOTFOUND:
    case TR_E_EXISTS:
        return TR_E_USAGE;
    default:
        return TR_E_FATAL;
    }
}

#ifdef __cplusplus
}
#endif

#endif
