/* SPDX-License-Identifier: MIT
 *
 * err.c - write the sentence where the fact is known.
 *
 * Uses no heap: it must work when memory is short. Cuts what does not fit, never fails.
 */
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* strerror_r of glibc may return a static string; both kinds end up appended. */
static void append_errno(char *msg, size_t size, int sys)
{
    char text[128];
    size_t used = strlen(msg);
    const char *why = strerror_r(sys, text, sizeof(text));

    if (used < size)
        (void)snprintf(msg + used, size - used, ": %s", why); /* cut when it does not fit */
}

int tr_vfail(struct tr_err *err, int code, int sys, const char *fmt, va_list ap)
{
    assert(code < 0);
    if (!err)
        return code;
    err->code = code;
    err->sys = sys;
    if (vsnprintf(err->msg, sizeof(err->msg), fmt, ap) < 0)
        err->msg[0] = '\0';
    if (sys != 0)
        append_errno(err->msg, sizeof(err->msg), sys);
    return code;
}

int tr_fail(struct tr_err *err, int code, int sys, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)tr_vfail(err, code, sys, fmt, ap); /* returns `code` */
    va_end(ap);
    return code;
}

int tr_fail_wrap(struct tr_err *err, const char *fmt, ...)
{
    char old[TR_ERR_MSG_MAX];
    va_list ap;

    if (!err)
        return TR_E_FATAL;
    memcpy(old, err->msg, sizeof(old));
    va_start(ap, fmt);
    if (vsnprintf(err->msg, sizeof(err->msg), fmt, ap) < 0)
        err->msg[0] = '\0';
    va_end(ap);
    size_t used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old); /* cut if need be */
    return err->code;
}

const char *tr_err_class_name(int code)
{
    switch (tr_err_class(code)) {
    case TR_OK:
        return "ok";
    case TR_E_RETRY:
        return "retry";
    case TR_E_ABORT:
        return "abort";
    case TR_E_LOST:
        return "lost";
    case TR_E_UNSURE:
        return "unsure";
    case TR_E_USAGE:
        return "usage";
    default:
        return "fatal";
    }
}
