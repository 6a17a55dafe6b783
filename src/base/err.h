/* SPDX-License-Identifier: MIT
 *
 * base/err.h - how our own code fills a struct tr_err.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

#include "tribunal/err.h"

/* Fill *err (NULL is fine) and return `code`, so that a failure is one line:
 *
 *     return tr_fail(err, TR_E_IO, errno, "open '%s'", name);
 *
 * With a non-zero `sys` the text of that errno follows the sentence after a colon. */
int tr_fail(struct tr_err *err, int code, int sys, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int tr_vfail(struct tr_err *err, int code, int sys, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

/* Put "context: " before the sentence that is there already; returns err->code. For callers that
 * know which file, job or key the failing callee was about. */
int tr_fail_wrap(struct tr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "retry", "abort", "lost", "unsure", "fatal", "usage" or "ok". */
const char *tr_err_class_name(int code);

#endif
