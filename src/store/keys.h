/* SPDX-License-Identifier: MIT
 *
 * store/keys.h - keys of judges and of API clients, as rows. No secret is kept, only what checks
 * it.
 */
#ifndef STORE_KEYS_H
#define STORE_KEYS_H

#include "store/store.h"

struct tr_key_row {
    const char *key_id;
    const char *role;                        /* "submit", "read", "admin" or "judge" */
    const char *name;                        /* for people */
    const char *secret_hash;                 /* API keys: SHA-256 of the text; judges: stored_key */
    const char *server_key;                  /* judges; else "" */
    int64_t created_us, used_us, revoked_us; /* 0: never */
};

int tr_store_key_add(struct tr_store *st, const struct tr_key_row *k, struct tr_err *err);
/* All of them, oldest first, in the arena. */
int tr_store_key_list(struct tr_store *st, struct tr_arena *arena, struct tr_key_row **ret,
                      size_t *ret_count, struct tr_err *err);
/* TR_E_NOTFOUND: no such key, or revoked before. */
int tr_store_key_revoke(struct tr_store *st, const char *key_id, struct tr_err *err);
int tr_store_key_used(struct tr_store *st, const char *key_id, struct tr_err *err);

#endif
