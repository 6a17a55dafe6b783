/* SPDX-License-Identifier: MIT
 *
 * controller/judge_login.h - the first message of a judge.
 */
#ifndef CONTROLLER_JUDGE_LOGIN_H
#define CONTROLLER_JUDGE_LOGIN_H

#include <jansson.h>

struct judge;

/* `auth`: welcome it, now or when the keys have been read again, or refuse it. */
void judge_login(struct judge *g, const json_t *m);

#endif
