/* SPDX-License-Identifier: MIT
 *
 * controller/api_logs.h - the log files that judges leave, by submission.
 */
#ifndef CONTROLLER_API_LOGS_H
#define CONTROLLER_API_LOGS_H

#include <jansson.h>

struct ctl;

/* ["compile.log", …] of a submission. */
json_t *logs_names(struct ctl *ctl, const char *submit_id);

#endif
