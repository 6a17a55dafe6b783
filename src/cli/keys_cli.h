/* SPDX-License-Identifier: MIT
 *
 * cli/keys_cli.h - make keys: for `tribunal keys` and for `tribunal serve`, which needs its first.
 */
#ifndef CLI_KEYS_CLI_H
#define CLI_KEYS_CLI_H

#include "net/judge_auth.h"
#include "store/keys.h"

/* "submit", "read", "admin" or "judge" */
int keys_make(struct tr_store *st, const char *role, const char *name,
              char ret_id[static TR_KEY_ID], char ret_text[static TR_KEY_TEXT], struct tr_err *err);
/* Put a key into a file that only its owner can read. */
int keys_write(const char *path, const char *text, struct tr_err *err);

#endif
