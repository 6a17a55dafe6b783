/* SPDX-License-Identifier: MIT
 *
 * conf_common.c - see conf_common.h.
 */
#include "rt/conf_common.h"

#include <unistd.h>

#include "base/log.h"

const char *const tr_log_levels[] = {"error", "warn", "info", "debug", NULL};
const char *const tr_log_formats[] = {"text", "json", NULL};

void tr_common_log(const struct tr_common *c)
{
    tr_log_setup(STDERR_FILENO, (enum tr_log_format)c->log_format, (enum tr_log_level)c->log_level);
}
