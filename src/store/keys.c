/* SPDX-License-Identifier: MIT
 *
 * keys.c - the table api_keys.
 */
#include "store/keys.h"

#include "store/private.h"

struct keying {
    enum ts_stmt stmt;
    const struct tq_val *params;
    int nparams;
};

static int change_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    const struct keying *k = arg;
    int64_t r = ts_exec(st, k->stmt, TS_NO_MOVE, k->params, k->nparams, NULL, NULL, err);

    if (r == 0)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there is no such key in use");
    return r < 0 ? (int)r : 0;
}

int tr_store_key_add(struct tr_store *st, const struct tr_key_row *k, struct tr_err *err)
{
    int r = ts_check_text("the key's name", k->name, TR_STORE_NAME_MAX, false, err);
    struct tq_val p[] = {ts_text(k->key_id), ts_text(k->role), ts_name(k->name),
                         ts_text(k->secret_hash), ts_name(k->server_key)};
    struct keying add = {TS_KEY_ADD, p, TR_ARRAY_LEN(p)};

    return r < 0 ? r : ts_run(st, change_op, &add, err);
}

int tr_store_key_revoke(struct tr_store *st, const char *key_id, struct tr_err *err)
{
    struct tq_val id = ts_text(key_id);
    struct keying k = {TS_KEY_REVOKE, &id, 1};

    return ts_run(st, change_op, &k, err);
}

int tr_store_key_used(struct tr_store *st, const char *key_id, struct tr_err *err)
{
    struct tq_val id = ts_text(key_id);
    struct keying k = {TS_KEY_USED, &id, 1};

    return ts_run(st, change_op, &k, err);
}

static int fill(void *row, const struct tq_val *c, struct tr_arena *a)
{
    struct tr_key_row *k = row;

    *k = (struct tr_key_row){
        .key_id = ts_val_text(a, &c[0]),
        .role = ts_val_text(a, &c[1]),
        .name = ts_val_text(a, &c[2]),
        .secret_hash = ts_val_text(a, &c[3]),
        .server_key = ts_val_text(a, &c[4]),
        .created_us = ts_val_int(&c[5]),
        .used_us = ts_val_int(&c[6]),
        .revoked_us = ts_val_int(&c[7]),
    };
    return k->server_key ? 0 : TR_E_NOMEM;
}

int tr_store_key_list(struct tr_store *st, struct tr_arena *arena, struct tr_key_row **ret,
                      size_t *ret_count, struct tr_err *err)
{
    struct ts_listing l = {TS_KEY_LIST, sizeof(struct tr_key_row), fill, arena, NULL, 0, 0};
    int r = ts_list(st, &l, err);

    if (r < 0)
        return r;
    *ret = l.rows;
    *ret_count = l.count;
    return 0;
}
