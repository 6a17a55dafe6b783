/* SPDX-License-Identifier: MIT
 *
 * keys.c - a copy of the keys' rows, rates, and when each was used last.
 */
#include "controller/keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/ctl.h"
#include "store/keys.h"

enum {
    OLD_US = 1000000,
    USED_EVERY_US = 60000000 /* a row is not written for every request */
};

struct key {
    char key_id[TR_KEY_ID];
    enum key_role role;
    char name[64];
    char secret_hash[TR_SHA256_HEX], server_key[TR_SHA256_HEX];
    /* kept over refreshes */
    double tokens;
    int64_t tokens_at_us, used_us;
};

struct wait {
    struct wait *next;
    void (*fn)(void *arg);
    void *arg;
};

struct keys {
    struct ctl *ctl;
    struct key *list;
    size_t count;
    struct key anybody; /* the rate of those without a key */
    bool reading;
    int64_t read_us; /* when the last reading began; 0: never */
    struct wait *waiting, *next_round;
};

static const char *const names[] = {"none", "submit", "read", "admin", "judge"};

const char *key_role_name(enum key_role role)
{
    return names[role];
}

static enum key_role parse_role(const char *word)
{
    for (int i = ROLE_SUBMIT; i <= ROLE_JUDGE; i++)
        if (strcmp(names[i], word) == 0)
            return (enum key_role)i;
    return ROLE_NONE;
}

struct keys *keys_new(struct ctl *ctl)
{
    struct keys *k = calloc(1, sizeof(*k));

    if (k)
        k->ctl = ctl;
    return k;
}

static void call_all(struct wait *w)
{
    while (w) {
        struct wait *next = w->next;

        w->fn(w->arg);
        free(w);
        w = next;
    }
}

void keys_free(struct keys *k)
{
    if (!k)
        return;
    call_all(k->waiting);
    call_all(k->next_round);
    free(k->list);
    free(k);
}

static struct key *find(struct keys *k, const char *key_id)
{
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->list[i].key_id, key_id) == 0)
            return &k->list[i];
    return NULL;
}

/* ---------------------------------------------------------------- the copy */

struct list_op {
    struct op op;
    struct tr_arena arena;
    struct tr_key_row *rows;
    size_t count;
};

static int run_list(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct list_op *o = (struct list_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, 16 * 1024 * 1024);
    return tr_store_key_list(st, &o->arena, &o->rows, &o->count, err);
}

static void take_rows(struct keys *k, const struct list_op *o)
{
    struct key *list = calloc(o->count + 1, sizeof(*list));
    size_t n = 0;

    if (!list)
        return;
    for (size_t i = 0; i < o->count; i++) {
        const struct tr_key_row *r = &o->rows[i];

        if (r->revoked_us || parse_role(r->role) == ROLE_NONE)
            continue;
        const struct key *old = find(k, r->key_id);
        list[n] = old ? *old : (struct key){.tokens = 2 * (double)k->ctl->conf.rate};
        list[n].role = parse_role(r->role);
        (void)snprintf(list[n].key_id, sizeof(list[n].key_id), "%s", r->key_id);
        (void)snprintf(list[n].name, sizeof(list[n].name), "%s", r->name);
        (void)snprintf(list[n].secret_hash, sizeof(list[n].secret_hash), "%s", r->secret_hash);
        (void)snprintf(list[n].server_key, sizeof(list[n].server_key), "%s", r->server_key);
        n++;
    }
    free(k->list);
    k->list = list;
    k->count = n;
}

static void begin(struct keys *k);

static void list_done(struct op *op)
{
    struct list_op *o = (struct list_op *)op;
    struct keys *k = op->ctl->keys;
    struct wait *w = k->waiting;

    k->reading = false;
    if (op->result >= 0)
        take_rows(k, o);
    else
        storage_warn(op);
    tr_arena_done(&o->arena);
    free(o);
    k->waiting = k->next_round; /* those who came after this reading had begun */
    k->next_round = NULL;
    if (k->waiting)
        begin(k);
    call_all(w);
}

static void begin(struct keys *k)
{
    struct list_op *o = calloc(1, sizeof(*o));

    if (!o)
        return;
    k->reading = true;
    k->read_us = tr_clock_mono_us();
    o->op = (struct op){.run = run_list, .done = list_done, .lane = OP_READ};
    storage_do(k->ctl->storage, &o->op);
}

void keys_refreshed(struct keys *k, void (*fn)(void *arg), void *arg)
{
    struct wait *w = calloc(1, sizeof(*w));

    if (!w) {
        fn(arg);
        return;
    }
    *w = (struct wait){.fn = fn, .arg = arg};
    struct wait **list = k->reading ? &k->next_round : &k->waiting;
    w->next = *list;
    *list = w;
    if (!k->reading)
        begin(k);
}

void keys_load(struct keys *k)
{
    begin(k);
    while (k->reading)
        (void)uv_run(tr_loop_uv(k->ctl->loop), UV_RUN_ONCE);
}

void keys_tick(struct keys *k)
{
    if (!k->reading && tr_clock_mono_us() - k->read_us > OLD_US)
        begin(k);
}

/* ---------------------------------------------------------------- questions */

enum key_answer keys_who_key(struct keys *k, const char *key, struct key_who *ret)
{
    char id[TR_KEY_ID], hash[TR_SHA256_HEX];

    *ret = (struct key_who){.role = ROLE_NONE};
    if (!tr_api_key_id(key, id))
        return KEY_WRONG;
    struct key *found = find(k, id);
    if (!found)
        return KEY_UNKNOWN;
    tr_sha256_hex(key, strlen(key), hash);
    if (found->role == ROLE_JUDGE || !tr_same_secret(hash, found->secret_hash))
        return KEY_WRONG;
    ret->role = found->role;
    (void)snprintf(ret->key_id, sizeof(ret->key_id), "%s", found->key_id);
    (void)snprintf(ret->name, sizeof(ret->name), "%s", found->name);
    keys_used(k, id);
    return KEY_OK;
}

enum key_answer keys_who(struct keys *k, const char *authorization, struct key_who *ret)
{
    *ret = (struct key_who){.role = ROLE_NONE};
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return KEY_WRONG;
    return keys_who_key(k, authorization + 7, ret);
}

enum key_answer keys_judge(struct keys *k, const char *key_id, struct tr_judge_verifier *ret)
{
    const struct key *found = find(k, key_id);

    if (!found)
        return KEY_UNKNOWN;
    if (found->role != ROLE_JUDGE)
        return KEY_WRONG;
    (void)snprintf(ret->stored_key, sizeof(ret->stored_key), "%s", found->secret_hash);
    (void)snprintf(ret->server_key, sizeof(ret->server_key), "%s", found->server_key);
    return KEY_OK;
}

bool keys_valid(struct keys *k, const char *key_id)
{
    return find(k, key_id) != NULL || k->read_us == 0;
}

/* A bucket of two seconds' worth. */
int keys_rate(struct keys *k, const struct key_who *who)
{
    struct key *key = find(k, who->key_id);
    double rate = (double)k->ctl->conf.rate;
    int64_t now = tr_clock_mono_us();

    if (who->open)
        return 0;
    if (!key)
        key = &k->anybody;
    if (key->tokens_at_us)
        key->tokens += rate * (double)(now - key->tokens_at_us) / 1e6;
    key->tokens_at_us = now;
    if (key->tokens > 2 * rate)
        key->tokens = 2 * rate;
    if (key->tokens < 1)
        return 1;
    key->tokens -= 1;
    return 0;
}

struct used_op {
    struct op op;
    char key_id[TR_KEY_ID];
};

static int run_used(struct op *op, struct tr_store *st, struct tr_err *err)
{
    int r = tr_store_key_used(st, ((struct used_op *)op)->key_id, err);

    return r == TR_E_NOTFOUND ? 0 : r;
}

static void free_op(struct op *op)
{
    free(op);
}

void keys_used(struct keys *k, const char *key_id)
{
    struct key *key = find(k, key_id);
    int64_t now = tr_clock_mono_us();

    if (!key || (key->used_us && now - key->used_us < USED_EVERY_US))
        return;
    key->used_us = now;
    struct used_op *o = calloc(1, sizeof(*o));
    if (!o)
        return;
    o->op = (struct op){.run = run_used, .done = free_op, .lane = OP_NORMAL};
    (void)snprintf(o->key_id, sizeof(o->key_id), "%s", key_id);
    storage_do(k->ctl->storage, &o->op);
}
