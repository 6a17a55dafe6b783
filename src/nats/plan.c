/* SPDX-License-Identifier: MIT
 *
 * plan.c - seed 000's streams and consumers with DESIGN.md's corrections, as one table.
 *
 * Every row says why it is as it is: its cost sentence is what `tribunal nats check` prints.
 */
#include "nats/plan.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/names.h"

#define MIB (INT64_C(1024) * 1024)
#define SECOND INT64_C(1000000000) /* the server counts in nanoseconds */
#define HOUR (3600 * SECOND)

enum kind {
    NUMBER,
    TEXT,
    SUBJECT, /* a list of one subject */
    NO,      /* false, or not there */
    UNSET    /* must not be there */
};

struct row {
    const char *field;
    enum kind kind;
    int64_t number;
    const char *text;
    const char *less; /* NUMBER: the cost of a smaller value; else of any other */
    const char *more; /* NUMBER: of a larger (or unlimited) one; NULL: the same */
};

/* Filled in by tr_plan_make(). */
enum {
    REPLICAS = -100,
    PENDING = -101
};

#define COMMON_STREAM                                                                              \
    {"storage", TEXT, 0, "file", "a restart of the server loses everything in it", NULL},          \
        {"num_replicas",                                                                           \
         NUMBER,                                                                                   \
         REPLICAS,                                                                                 \
         NULL,                                                                                     \
         "the loss of one machine stops judging and can lose what it held",                        \
         NULL},                                                                                    \
        {"duplicate_window",                                                                       \
         NUMBER,                                                                                   \
         120 * SECOND,                                                                             \
         NULL,                                                                                     \
         "a repeated publish after a lost answer is stored twice",                                 \
         "a requeue with an id used before is swallowed for longer"},                              \
        {"max_msg_size",                                                                           \
         NUMBER,                                                                                   \
         TR_NATS_MESSAGE_MAX,                                                                      \
         NULL,                                                                                     \
         "large messages are refused",                                                             \
         "messages larger than the workers take are stored"},                                      \
        {"no_ack", NO, 0, NULL, "publishers never learn whether a message was stored", NULL},      \
        {"sealed", NO, 0, NULL, "nothing can be published any more", NULL},                        \
    {                                                                                              \
        "max_msgs_per_subject", NUMBER, -1, NULL, "messages vanish when there are more", NULL      \
    }

static const struct row tasks[] = {
    {"subjects", SUBJECT, 0, TR_SUBJECT_TASKS ".*", "published tasks are not stored", NULL},
    {"retention", TEXT, 0, "workqueue",
     "judged tasks stay, are delivered to new consumers again and fill the stream", NULL},
    {"discard", TEXT, 0, "new",
     "when the stream is full the oldest waiting task vanishes and nobody is told", NULL},
    {"max_bytes", NUMBER, 100 * MIB, NULL, "publishers are refused earlier",
     "a farm that is down fills the disk further"},
    {"max_msgs", NUMBER, 100000, NULL, "publishers are refused earlier",
     "a farm that is down fills the disk further"},
    {"max_age", NUMBER, 24 * HOUR, NULL, "tasks that wait vanish earlier",
     "tasks of long ago are still judged"},
    COMMON_STREAM,
};

static const struct row events[] = {
    {"subjects", SUBJECT, 0, TR_SUBJECT_EVENTS ".*", "events are not stored", NULL},
    {"retention", TEXT, 0, "limits", "an event vanishes once one reader has it", NULL},
    {"discard", TEXT, 0, "old", "when it is full no result is announced any more", NULL},
    {"max_bytes", NUMBER, 50 * MIB, NULL, "a reader that was away misses events earlier",
     "it takes more of the disk"},
    {"max_msgs", NUMBER, -1, NULL, "a reader that was away misses events earlier", NULL},
    {"max_age", NUMBER, HOUR, NULL, "a reader that was away misses events earlier",
     "it takes more of the disk"},
    COMMON_STREAM,
};

static const struct row dlq[] = {
    {"subjects", SUBJECT, 0, TR_SUBJECT_DLQ ".*", "dead letters are not stored", NULL},
    {"retention", TEXT, 0, "limits", "a dead letter vanishes once it was looked at", NULL},
    {"discard", TEXT, 0, "new", "when it is full the oldest dead letter vanishes", NULL},
    {"max_bytes", NUMBER, 100 * MIB, NULL, "it is full earlier, and dead tasks go round till then",
     "it takes more of the disk"},
    {"max_msgs", NUMBER, -1, NULL, "it is full earlier, and dead tasks go round till then", NULL},
    {"max_age", NUMBER, 7 * 24 * HOUR, NULL, "dead letters vanish before somebody looks",
     "it takes more of the disk"},
    {"deny_delete", NO, 0, NULL, "'tribunal nats dlq retry' and 'drop' cannot remove letters",
     NULL},
    COMMON_STREAM,
};

#define COMMON_CONSUMER                                                                            \
    {"deliver_policy",                                                                             \
     TEXT,                                                                                         \
     0,                                                                                            \
     "all",                                                                                        \
     "what was published before the consumer is never delivered",                                  \
     NULL},                                                                                        \
        {"ack_policy", TEXT, 0, "explicit", "a task counts as judged when it is only delivered",   \
         NULL},                                                                                    \
        {"replay_policy",                                                                          \
         TEXT,                                                                                     \
         0,                                                                                        \
         "instant",                                                                                \
         "messages are delivered at their original pace",                                          \
         NULL},                                                                                    \
        {"backoff",                                                                                \
         UNSET,                                                                                    \
         0,                                                                                        \
         NULL,                                                                                     \
         "its first value replaces ack_wait: a task is delivered again while it is being judged",  \
         NULL},                                                                                    \
        {"deliver_subject", UNSET, 0, NULL, "workers cannot pull from it", NULL},                  \
        {"headers_only", NO, 0, NULL, "tasks arrive without their bodies", NULL},                  \
        {"pause_until", UNSET, 0, NULL, "nothing is delivered till then", NULL},                   \
        {"inactive_threshold", UNSET, 0, NULL, "it vanishes while no worker asks", NULL},          \
        {"mem_storage", NO, 0, NULL, "a restart of the server forgets what was delivered", NULL},  \
    {                                                                                              \
        "max_batch", UNSET, 0, NULL, "a worker gets fewer tasks at once than it asks for", NULL    \
    }

#define TASK_CONSUMER                                                                              \
    {"max_deliver",                                                                                \
     NUMBER,                                                                                       \
     30,                                                                                           \
     NULL,                                                                                         \
     "a task whose workers die that often is never delivered again, without a verdict",            \
     "a task that kills its workers goes round for longer"},                                       \
        {"max_ack_pending",                                                                        \
         NUMBER,                                                                                   \
         PENDING,                                                                                  \
         NULL,                                                                                     \
         "it is for the whole farm: no more tasks than that are judged or wait for a retry at "    \
         "once",                                                                                   \
         "more tasks can burn their tries while a dependency is down"},                            \
        COMMON_CONSUMER

static const struct row light[] = {
    {"filter_subject", TEXT, 0, TR_SUBJECT_TASKS ".light", "other tasks than light ones arrive",
     NULL},
    {"ack_wait", NUMBER, 30 * SECOND, NULL, "a slow task is delivered a second time while it runs",
     "the task of a dead worker waits longer for the next one"},
    TASK_CONSUMER,
};

static const struct row heavy[] = {
    {"filter_subject", TEXT, 0, TR_SUBJECT_TASKS ".heavy", "other tasks than heavy ones arrive",
     NULL},
    {"ack_wait", NUMBER, 120 * SECOND, NULL, "a slow task is delivered a second time while it runs",
     "the task of a dead worker waits longer for the next one"},
    TASK_CONSUMER,
};

static const struct row monitor[] = {
    {"filter_subject", TEXT, 0, TR_SUBJECT_DLQ ".*", "some dead letters are not shown", NULL},
    {"ack_wait", NUMBER, 60 * SECOND, NULL, "a letter is shown twice to a slow reader",
     "the letter of a reader that died is shown later"},
    {"max_deliver", NUMBER, -1, NULL, "a letter is not shown again after that", NULL},
    {"max_ack_pending", NUMBER, 1000, NULL, "a reader sees fewer letters at once", NULL},
    COMMON_CONSUMER,
};

static const struct {
    const char *stream, *consumer;
    const struct row *rows;
    size_t count;
} objects[TR_PLAN_ITEMS] = {
    {TR_STREAM_TASKS, NULL, tasks, TR_ARRAY_LEN(tasks)},
    {TR_STREAM_EVENTS, NULL, events, TR_ARRAY_LEN(events)},
    {TR_STREAM_DLQ, NULL, dlq, TR_ARRAY_LEN(dlq)},
    {TR_STREAM_TASKS, TR_CONSUMER_LIGHT, light, TR_ARRAY_LEN(light)},
    {TR_STREAM_TASKS, TR_CONSUMER_HEAVY, heavy, TR_ARRAY_LEN(heavy)},
    {TR_STREAM_DLQ, TR_CONSUMER_DLQ, monitor, TR_ARRAY_LEN(monitor)},
};

static json_t *row_value(const struct row *row, const struct tr_plan_conf *conf)
{
    switch (row->kind) {
    case NUMBER:
        if (row->number == REPLICAS)
            return json_integer(conf->replicas);
        if (row->number == PENDING)
            return json_integer(conf->farm_slots * TR_PLAN_PENDING_PER_SLOT);
        return json_integer(row->number);
    case TEXT:
        return json_string(row->text);
    case SUBJECT:
        return json_pack("[s]", row->text);
    case NO:
        return json_false();
    case UNSET:
        return json_null();
    }
    return NULL;
}

static json_t *make_config(size_t which, const struct tr_plan_conf *conf)
{
    bool stream = !objects[which].consumer;
    json_t *o = json_object();
    int bad =
        json_object_set_new(o, stream ? "name" : "durable_name",
                            json_string(stream ? objects[which].stream : objects[which].consumer));

    for (size_t i = 0; i < objects[which].count; i++)
        bad |= json_object_set_new(o, objects[which].rows[i].field,
                                   row_value(&objects[which].rows[i], conf));
    if (bad == 0)
        return o;
    json_decref(o);
    return NULL;
}

int tr_plan_make(const struct tr_plan_conf *conf, struct tr_plan_item out[static TR_PLAN_ITEMS],
                 struct tr_err *err)
{
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++)
        out[i] = (struct tr_plan_item){.stream = objects[i].stream,
                                       .consumer = objects[i].consumer,
                                       .more_replicas_ok = conf->more_replicas_ok,
                                       .config = make_config(i, conf)};
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        if (!out[i].config) {
            tr_plan_done(out);
            return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
        }
    }
    return 0;
}

void tr_plan_done(struct tr_plan_item items[static TR_PLAN_ITEMS])
{
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        json_decref(items[i].config);
        items[i].config = NULL;
    }
}

const char *tr_plan_name(const struct tr_plan_item *item)
{
    return item->consumer ? item->consumer : item->stream;
}

/* Servers leave out what has its default: false, 0, -1, "" and null mean the same as absence. */
static bool is_default(const json_t *j)
{
    return !j || json_is_null(j) || json_is_false(j) ||
           (json_is_integer(j) && (json_integer_value(j) == 0 || json_integer_value(j) == -1)) ||
           (json_is_string(j) && json_string_length(j) == 0) ||
           (json_is_array(j) && json_array_size(j) == 0);
}

static bool same(const struct tr_plan_item *item, const char *field, const json_t *want,
                 const json_t *is)
{
    if (is_default(want) && is_default(is))
        return true;
    if (item->more_replicas_ok && strcmp(field, "num_replicas") == 0 &&
        json_integer_value(is) > json_integer_value(want))
        return true;
    return is && json_equal(want, is);
}

static const char *cost_of(const struct row *row, const json_t *want, const json_t *is)
{
    json_int_t w = json_integer_value(want);
    json_int_t v = json_integer_value(is);
    bool unlimited = is_default(is);

    if (row->kind != NUMBER || !row->more)
        return row->less;
    return unlimited || (v > w && w > 0) ? row->more : row->less;
}

static size_t object_of(const struct tr_plan_item *item)
{
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        if (objects[i].stream == item->stream && objects[i].consumer == item->consumer)
            return i;
    }
    return 0; /* items come from tr_plan_make() */
}

int tr_plan_compare(const struct tr_plan_item *item, const json_t *live,
                    void (*each)(void *arg, const struct tr_plan_diff *diff), void *arg)
{
    size_t which = object_of(item);
    int found = 0;

    for (size_t i = 0; i < objects[which].count; i++) {
        const struct row *row = &objects[which].rows[i];
        struct tr_plan_diff d = {
            .field = row->field,
            .is = json_object_get(live, row->field),
            .want = json_object_get(item->config, row->field),
        };

        if (same(item, row->field, d.want, d.is))
            continue;
        d.cost = cost_of(row, d.want, d.is);
        found++;
        if (each)
            each(arg, &d);
    }
    return found;
}

json_t *tr_plan_merge(const struct tr_plan_item *item, const json_t *live)
{
    json_t *out = live ? json_deep_copy(live) : json_object();
    const char *key;
    json_t *value;
    int bad = out == NULL;

    json_object_foreach(item->config, key, value)
    {
        const json_t *is = json_object_get(live, key);

        if (live && same(item, key, value, is))
            continue; /* also keeps more replicas than planned */
        if (json_is_null(value))
            (void)json_object_del(out, key); /* it may not be there */
        else
            bad |= json_object_set(out, key, value);
    }
    if (bad == 0)
        return out;
    json_decref(out);
    return NULL;
}
