/* SPDX-License-Identifier: MIT
 *
 * enqueue.c - jobs go in: checked first, then as few statements as the engine allows.
 */
#include <string.h>

#include "base/clock.h"
#include "queue/enqueue.h"

enum {
    NOTIFY_EVERY_US = 2000 /* wake-ups of one handle for one queue; pollers catch the rest */
};

const char tqi_insert_types[] = "ttbiiiiiibitibi";

/* ---------------------------------------------------------------- checking */

static int check_unique(const struct tq_item *it, struct tr_err *err)
{
    if (it->unique_len == 0)
        return 0;
    if (!it->unique_key)
        return tr_fail(err, TR_E_USAGE, 0, "unique_len without unique_key");
    if (it->unique_len > TQ_UNIQUE_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "the unique key has %zu bytes; at most %d are allowed",
                       it->unique_len, (int)TQ_UNIQUE_MAX);
    if (it->unique_scope < TQ_UNIQUE_ACTIVE || it->unique_scope > TQ_UNIQUE_WINDOW ||
        it->on_conflict < TQ_CONFLICT_KEEP || it->on_conflict > TQ_CONFLICT_AFTER_RUNNING)
        return tr_fail(err, TR_E_USAGE, 0, "unknown unique_scope or on_conflict");
    if (it->unique_scope == TQ_UNIQUE_WINDOW && it->unique_window_us <= 0)
        return tr_fail(err, TR_E_USAGE, 0, "TQ_UNIQUE_WINDOW needs unique_window_us");
    if (it->unique_scope == TQ_UNIQUE_WINDOW && it->on_conflict != TQ_CONFLICT_KEEP)
        return tr_fail(err, TR_E_USAGE, 0, "TQ_UNIQUE_WINDOW goes with TQ_CONFLICT_KEEP only");
    return 0;
}

static int check_numbers(const struct tq_item *it, struct tr_err *err)
{
    if (it->priority < -TQ_PRIORITY_MAX || it->priority > TQ_PRIORITY_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "priority %d is outside -%d … %d", it->priority,
                       (int)TQ_PRIORITY_MAX, (int)TQ_PRIORITY_MAX);
    if (it->max_attempts < 0 || it->max_attempts > TQ_ATTEMPTS_MAX || it->max_crashes < 0 ||
        it->max_crashes > TQ_ATTEMPTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "max_attempts and max_crashes are 0 … %d",
                       (int)TQ_ATTEMPTS_MAX);
    if (it->delay_us < 0 || it->run_at_us < 0 || it->delay_us > INT64_MAX / 4)
        return tr_fail(err, TR_E_USAGE, 0, "a delay or a time cannot be negative or endless");
    return 0;
}

static int check_item(tq *q, const struct tq_item *from, struct tqi_new *n, struct tr_err *err)
{
    struct tq_item *it = &n->item;

    *n = (struct tqi_new){.item = TQ_ITEM_INIT};
    if (from->size < offsetof(struct tq_item, json))
        return tr_fail(err, TR_E_USAGE, 0, "begin a tq_item with TQ_ITEM_INIT");
    memcpy(it, from, from->size < sizeof(*it) ? from->size : sizeof(*it));
    if (!it->queue)
        it->queue = "default";
    if (!it->kind)
        it->kind = "";
    if (it->max_attempts == 0)
        it->max_attempts = 5;
    int r = tqi_check_name("queue name", it->queue, false, err);
    if (r >= 0)
        r = tqi_check_name("kind", it->kind, true, err);
    if (r >= 0 && it->group_key)
        r = tqi_check_name("group key", it->group_key, true, err);
    if (r >= 0)
        r = check_numbers(it, err);
    if (r >= 0)
        r = check_unique(it, err);
    if (r < 0)
        return r;
    if (it->payload_len > q->max_payload)
        return tr_fail(err, TR_E_LIMIT, 0, "the payload has %zu bytes; the ceiling is %zu",
                       it->payload_len, q->max_payload);
    if (it->payload_len > q->inline_max && q->blobs)
        return tqi_blob_store(q, it->payload, it->payload_len, n->blob, err);
    return 0;
}

/* ---------------------------------------------------------------- inserting */

void tqi_new_cells(const struct tqi_new *n, struct tq_val c[TQI_INSERT_COLS])
{
    const struct tq_item *it = &n->item;
    bool key = it->unique_len > 0;

    c[0] = tqi_text(it->queue);
    c[1] = tqi_text(it->kind);
    c[2] = n->blob[0]    ? tqi_bytes(n->blob, TQ_BLOB_NAME - 1)
           : it->payload ? tqi_bytes(it->payload, it->payload_len)
                         : tqi_bytes("", 0);
    c[3] = tqi_int((it->json ? 1 : 0) | (n->blob[0] ? 2 : 0));
    c[4] = tqi_int(it->priority);
    c[5] = tqi_int(it->max_attempts);
    c[6] = tqi_int(it->max_crashes);
    c[7] = tqi_int(it->delay_us);
    c[8] = tqi_int(it->run_at_us);
    c[9] = tqi_bytes(key ? it->unique_key : NULL, it->unique_len);
    c[10] = tqi_int(it->unique_scope);
    c[11] = tqi_text(it->group_key);
    c[12] = tqi_int(n->rank);
    c[13] = tqi_bytes(n->with_slot ? it->unique_key : NULL, it->unique_len);
    c[14] = n->after_id ? tqi_int(n->after_id) : (struct tq_val){.type = TQ_NULL};
}

struct ids {
    struct tqi_new **news;
    size_t n, got;
};

static int id_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct ids *ids = arg;

    if (ids->got >= ids->n)
        return TR_E_FATAL;
    ids->news[ids->got++]->out.id = tqi_val_int(&cols[0]);
    return 0;
}

struct first_id {
    int64_t id, by;
};

static int first_id_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct first_id *f = arg;

    f->id = tqi_val_int(&cols[0]);
    f->by = ncols > 1 ? tqi_val_int(&cols[1]) : 1;
    return 0;
}

/* MySQL numbers the rows of one INSERT … VALUES in order, without gaps but the increment; SQLite
 * those of one transaction. */
static int read_ids(struct tqi_link *l, struct tqi_new **news, size_t n, struct tr_err *err)
{
    struct first_id first = {0};
    struct tq_val count = tqi_int((int64_t)n);

    int r = tqi_exec(l, S_INSERT_IDS, &count, 1, first_id_row, &first, NULL, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        news[i]->out.id = first.id + (int64_t)i * first.by;
    return 0;
}

static int insert(struct tqi_link *l, enum tq_stmt s, struct tqi_new **news, size_t n,
                  size_t *ret_n, struct tr_err *err)
{
    tr_autofree struct tq_val *cells = calloc(n, TQI_INSERT_COLS * sizeof(*cells));
    struct ids ids = {.news = news, .n = n};
    int64_t added = 0;

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu jobs", n);
    for (size_t i = 0; i < n; i++)
        tqi_new_cells(news[i], cells + i * TQI_INSERT_COLS);
    struct tq_set set = {.types = tqi_insert_types, .cells = cells, .nrows = n};
    bool returning = !tqi_has(l, S_INSERT_IDS);
    int r = tqi_exec_set(l, s, &set, returning ? id_row : NULL, &ids, &added, err);
    if (r < 0)
        return r;
    *ret_n = returning ? ids.got : (size_t)added;
    return !returning && added > 0 ? read_ids(l, news, n, err) : 0;
}

int tqi_insert_one(struct tqi_link *l, struct tqi_new *n, struct tr_err *err)
{
    size_t got = 0;

    int r = insert(l, S_INSERT_UNIQUE, &n, 1, &got, err);
    if (r == TR_E_EXISTS && l->drv->state(l->conn) == TQ_CONN_TX)
        return 0; /* the statement failed, the transaction lives (MySQL) */
    return r < 0 ? r : (int)got;
}

/* ---------------------------------------------------------------- fair ranks */

int tqi_group_rank(struct tqi_link *l, const char *queue, int prio, const char *group, int64_t *ret,
                   struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(queue), tqi_int(prio), tqi_text(group)};

    return tqi_scalar(l, S_GROUP_RANK, p, 3, ret, err);
}

/* A job of a group is ranked when it becomes ready; a delayed one when it is promoted. Within one
 * call the database is asked once for each group. */
static int rank_all(struct tqi_link *l, struct tqi_new *news, size_t n, struct tr_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct tq_item *it = &news[i].item;

        if (!it->group_key || it->delay_us > 0 || it->run_at_us > 0)
            continue;
        for (size_t k = i; k-- > 0 && i - k <= 256 && !news[i].rank;)
            if (news[k].rank && news[k].item.group_key && news[k].item.priority == it->priority &&
                !strcmp(news[k].item.group_key, it->group_key) &&
                !strcmp(news[k].item.queue, it->queue))
                news[i].rank = news[k].rank + 1;
        if (news[i].rank)
            continue;
        int r = tqi_group_rank(l, it->queue, it->priority, it->group_key, &news[i].rank, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---------------------------------------------------------------- the call */

struct enqueue {
    struct tqi_new *news;
    struct tqi_new **plain;
    size_t n;
};

/* Bytes of one statement are bounded, whatever the batch is. */
static int insert_plain(struct tqi_link *l, struct tqi_new **news, size_t n, struct tr_err *err)
{
    while (n > 0) {
        size_t take = 0, bytes = 0, got = 0;

        while (take < n && (take == 0 || bytes < TQI_SET_BYTES_MAX))
            bytes += 2 * news[take++]->item.payload_len + 300;
        int r = insert(l, S_INSERT, news, take, &got, err);
        if (r < 0)
            return r;
        if (got != take)
            return tr_fail(err, TR_E_FATAL, 0, "%zu of %zu jobs were inserted", got, take);
        news += take;
        n -= take;
    }
    return 0;
}

static int notify(struct tqi_link *l, const struct enqueue *e, struct tr_err *err)
{
    const char *last = NULL;

    if (l->q->be != BE_POSTGRES || (l->q->flags & TQ_NO_NOTIFY))
        return 0;
    for (size_t i = 0; i < e->n; i++) {
        const char *queue = e->news[i].item.queue;

        if (e->news[i].out.existed == TQ_EXISTED || e->news[i].out.existed == TQ_FOLLOWS ||
            (last && !strcmp(last, queue)))
            continue;
        last = queue;
        struct tqi_queue *m = tqi_queue(l->q, queue);
        int64_t now = tr_clock_mono_us();
        if (l->own && m->notified_at_us && now - m->notified_at_us < NOTIFY_EVERY_US)
            continue;
        struct tq_val p = tqi_text(queue);
        int64_t ignored;
        int r = tqi_scalar(l, S_NOTIFY, &p, 1, &ignored, err);
        if (r < 0)
            return r;
        m->notified_at_us = now;
    }
    return 0;
}

static int enqueue_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct enqueue *e = arg;
    size_t nplain = 0;

    for (size_t i = 0; i < e->n; i++)
        e->news[i].rank = 0;
    int r = rank_all(l, e->news, e->n, err);
    for (size_t i = 0; i < e->n && r >= 0; i++) {
        if (e->news[i].item.unique_len == 0) {
            e->plain[nplain++] = &e->news[i];
            continue;
        }
        r = insert_plain(l, e->plain, nplain, err); /* keeps the order of ids */
        nplain = 0;
        if (r >= 0)
            r = tqi_enqueue_unique(l, &e->news[i], err);
    }
    if (r >= 0)
        r = insert_plain(l, e->plain, nplain, err);
    if (r >= 0)
        r = notify(l, e, err);
    for (size_t i = 0; i < e->n && r >= 0; i++)
        tqi_mark_lower(l->q, e->news[i].item.queue, e->news[i].item.priority, e->news[i].rank,
                       e->news[i].out.id);
    return r < 0 ? r : 0;
}

static void tell_hooks(const tq *q, const struct tqi_new *news, size_t n)
{
    const struct tq_hooks *h = q->hooks;

    if (!h || h->size < offsetof(struct tq_hooks, inserted) + sizeof(h->inserted) || !h->inserted)
        return;
    for (size_t i = 0; i < n; i++)
        h->inserted(h->user, &news[i].item, &news[i].out);
}

static int enqueue(tq *q, const struct tq_tx *tx, const struct tq_item *items, size_t n,
                   struct tq_enqueued *ret, struct tr_err *err)
{
    if (!items || n == 0 || n > TQ_BATCH_MAX)
        return tr_fail(err, n > TQ_BATCH_MAX ? TR_E_LIMIT : TR_E_USAGE, 0,
                       "a call enqueues 1 … %d jobs", (int)TQ_BATCH_MAX);
    tr_autofree struct tqi_new *news = calloc(n, sizeof(*news));
    tr_autofree struct tqi_new **plain = calloc(n, sizeof(*plain)); /* NOLINT: pointers */
    if (!news || !plain)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu jobs", n);
    bool simple = n == 1 && q->be == BE_POSTGRES;
    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)items + i * items->size;
        int r = check_item(q, at, &news[i], err);
        if (r < 0)
            return n > 1 && err ? tr_fail_wrap(err, "item %zu", i) : r;
        simple = simple && !news[i].item.unique_len;
    }
    struct enqueue e = {.news = news, .plain = plain, .n = n};
    int r =
        tx ? tqi_run_tx(q, *tx, enqueue_op, &e, err)
           : tqi_run(q, simple && (q->flags & TQ_NO_NOTIFY) ? OP_ONE : OP_TX, enqueue_op, &e, err);
    for (size_t i = 0; ret && r >= 0 && i < n; i++)
        ret[i] = news[i].out;
    if (r >= 0)
        tell_hooks(q, news, n);
    return r;
}

int tq_enqueue(tq *q, const struct tq_item *item, struct tq_enqueued *ret, struct tr_err *err)
{
    return enqueue(q, NULL, item, 1, ret, err);
}

int tq_enqueue_many(tq *q, const struct tq_item *items, size_t n, struct tq_enqueued *ret,
                    struct tr_err *err)
{
    return enqueue(q, NULL, items, n, ret, err);
}

int tq_tx_enqueue(tq *q, struct tq_tx tx, const struct tq_item *item, struct tq_enqueued *ret,
                  struct tr_err *err)
{
    return enqueue(q, &tx, item, 1, ret, err);
}

int tq_tx_enqueue_many(tq *q, struct tq_tx tx, const struct tq_item *items, size_t n,
                       struct tq_enqueued *ret, struct tr_err *err)
{
    return enqueue(q, &tx, items, n, ret, err);
}
