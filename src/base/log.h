/* SPDX-License-Identifier: MIT
 *
 * base/log.h - one line per fact, on standard error.
 *
 * For programs only: libraries return errors and do not log. Fields are inherited: a worker gives
 * its slot a field, the slot its task, and every line carries them all.
 *
 *     struct tr_log_field worker = {.key = "worker", .value = id};
 *     struct tr_log_field submit = {.up = &worker, .key = "submit", .value = submit_id};
 *     tr_log(TR_LOG_WARN, &submit, "compiler used %d ms", ms);
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum tr_log_level {
    TR_LOG_ERROR,
    TR_LOG_WARN,
    TR_LOG_INFO,
    TR_LOG_DEBUG
};

enum tr_log_format {
    TR_LOG_TEXT, /* for people; with "<N>" before it when the journal reads us, and no time then */
    TR_LOG_JSON  /* one object a line: ts, level, msg, then the fields */
};

struct tr_log_field {
    const struct tr_log_field *up; /* outer field, printed before this one; NULL at the top */
    const char *key;               /* a plain word of ours, never input */
    const char *value;             /* anything; escaped, NULL prints as an empty text */
};

/* Once, before threads. `fd` stays the caller's. Without it: text, info, standard error. */
void tr_log_setup(int fd, enum tr_log_format format, enum tr_log_level most);

/* Writes the line with one write(2), so that lines of several processes do not mix (a line over
 * 8 KiB is cut). Control characters and invalid UTF-8 are escaped: what a program sends can not
 * forge a line or drive a terminal. */
void tr_log(enum tr_log_level level, const struct tr_log_field *fields, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Log a failure: its sentence, and err=<class>. */
void tr_log_err(enum tr_log_level level, const struct tr_log_field *fields,
                const struct tr_err *err);

/* "error", "warn", "info", "debug"; -1 or TR_E_PARSE for any other word. */
int tr_log_level_parse(const char *word, enum tr_log_level *ret, struct tr_err *err);

#endif
