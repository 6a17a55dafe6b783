/* SPDX-License-Identifier: MIT
 *
 * program_opts.c - see program_opts.h.
 */
#include "rt/program_opts.h"

const char *const tr_log_levels[] = {"error", "warn", "info", "debug", NULL};
const char *const tr_log_formats[] = {"text", "json", NULL};
