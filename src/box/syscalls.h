/* SPDX-License-Identifier: MIT
 *
 * box/syscalls.h - which system calls exist inside, as lists that seccomp.c makes a filter of.
 */
#ifndef BOX_SYSCALLS_H
#define BOX_SYSCALLS_H

#include <stddef.h>

struct box_call_names {
    const char *const *names;
    size_t n;
};

/* Values of one argument with which a call is allowed. */
struct box_call_values {
    const unsigned *values;
    size_t n;
};

extern const struct box_call_names box_calls_allowed;
extern const struct box_call_names box_calls_refused;   /* EPERM: their callers know what to say */
extern const struct box_call_names box_calls_pretended; /* 0, and nothing is done */

extern const struct box_call_values box_fcntl_commands;
extern const struct box_call_values box_fcntl_locks; /* compilers only */
extern const struct box_call_values box_ioctl_commands;
extern const struct box_call_values box_prctl_options;
extern const struct box_call_values box_own_rlimits;

#endif
