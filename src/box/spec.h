/* SPDX-License-Identifier: MIT
 *
 * box/spec.h - one run as bytes, both ways.
 */
#ifndef BOX_SPEC_H
#define BOX_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "box/wire.h"

/* A spec as the first process reads it. Pointers lead into the message. */
struct box_run {
    struct tbox_limits limits;
    int64_t idle_us; /* 0: do not tell */
    int cpu;
    unsigned flags;
    uint32_t argc;
    uint32_t envc;
    char *argv[BOX_ARGS_MAX + 2]; /* argv, NULL, env, NULL in one array */
    char **env;
};

/* Write `spec` with its argv and env, and the default environment, into `msg`. Returns its length,
 * or TR_E_USAGE / TR_E_LIMIT. Limits are checked here too, so that the caller gets the sentence
 * without a round trip. */
int64_t box_spec_write(const struct tbox_spec *spec, union box_wire_any *msg, struct tr_err *err);

/* The way back: every field is checked as if an enemy had written it. */
int box_spec_read(union box_wire_any *msg, size_t len, struct box_run *ret, struct tr_err *err);

/* A file name of the work folder: no slash, not "." or "..", 1 to 255 bytes. */
int box_name_check(const char *name, struct tr_err *err);
int box_name_read(const union box_wire_any *msg, size_t len, enum box_kind kind,
                  const char **ret_name, struct tr_err *err);

#endif
