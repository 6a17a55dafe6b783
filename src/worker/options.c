/* SPDX-License-Identifier: MIT
 *
 * options.c - the table of settings, and what follows from them.
 */
#include "worker/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "nats/names.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): names of members cannot be in parentheses */
#define AT(member) offsetof(struct worker_options, member)
#define TEXT(option, member_, word, what)                                                          \
    {                                                                                              \
        .name = option, .type = TR_CONF_STRING, .at = AT(member_), .unit = word, .doc = what       \
    }
#define TIME(option, member_, fallback_, least, what)                                              \
    {                                                                                              \
        .name = option, .type = TR_CONF_DURATION, .at = AT(member_), .fallback = fallback_,        \
        .min = least, .max = INT64_C(86400000000), .unit = "TIME", .doc = what                     \
    }
#define SIZE(option, member_, fallback_, what)                                                     \
    {                                                                                              \
        .name = option, .type = TR_CONF_SIZE, .at = AT(member_), .fallback = fallback_, .min = 1,  \
        .max = INT64_MAX, .unit = "SIZE", .doc = what                                              \
    }
#define SECRET(option, member_, what)                                                              \
    {                                                                                              \
        .name = option, .type = TR_CONF_STRING, .at = AT(member_), .doc = what,                    \
        .flags = TR_CONF_SECRET                                                                    \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

const struct tr_conf_item worker_items[] = {
    TR_CONFIG_ITEM(struct worker_options, common),
    TEXT("worker-id", worker_id, "ID", "name of this worker in rows and events [host name:pid]"),
    {.name = "consumer",
     .type = TR_CONF_STRING,
     .at = AT(consumer),
     .fallback = TR_CONSUMER_LIGHT,
     .unit = "NAME",
     .doc = "JetStream consumer to pull from: judge-light or judge-heavy"},
    {.name = "concurrency",
     .type = TR_CONF_INT,
     .at = AT(concurrency),
     .max = 256,
     .unit = "N",
     .doc = "tasks at once; 0: 2 for judge-light, 1 for judge-heavy"},
    NATS_ITEMS(struct worker_options, nats),
    TR_LOG_ITEMS(struct worker_options, common),
    TEXT(
        "db", db, "URL",
        "database of the submissions, shared by all workers: sqlite:PATH, postgres://…, mysql://…"),
    {.name = "migrate",
     .type = TR_CONF_BOOL,
     .at = AT(migrate),
     .fallback = "true",
     .doc = "make and update the tables"},
    {.name = "wait",
     .type = TR_CONF_BOOL,
     .at = AT(wait),
     .fallback = "true",
     .doc = "at the start wait for NATS, its streams and the database; --no-wait: end instead"},
    TEXT("retry-delays", retry_delays, "TIMES",
         "pauses after faults, one for each retry [5s,10s,30s; heavy: 10s,30s,60s]"),
    TIME("watchdog", watchdog_us, "30s", 10000, "time between two looks for lost tasks"),
    TIME("lease-grace", grace_us, "5m", 10000,
         "a run whose worker is silent for that long is taken back"),
    TIME("drain-timeout", drain_us, "30s", 0,
         "after SIGTERM running tasks may finish for that long, then they are given back"),
    {.name = "backlog-alarm",
     .type = TR_CONF_INT,
     .at = AT(backlog),
     .fallback = "1000",
     .min = 1,
     .max = INT64_MAX,
     .doc = "more waiting tasks raise the alarm on judge.events.system"},
    {.name = "progress",
     .type = TR_CONF_BOOL,
     .at = AT(progress),
     .doc = "publish an event for each test"},
    TEXT("state", state, "DIR", "folder of what this worker keeps [~/.local/state/tribunal]"),
    TEXT("log-store", log_store, "WHERE",
         "where logs go: a folder, s3://bucket, minio://bucket, or none [STATE/logs]"),
    TEXT("spool", spool, "DIR", "folder in which logs wait to be kept [STATE/spool/WORKER]"),
    SIZE("log-output", log_bytes, "64K", "how much of each output the logs keep"),
    TEXT("data", data_dir, "DIR", "folder of unpacked test data"),
    SIZE("data-size", data_bytes, "8G", "most that test data may take there"),
    SIZE("fetch-size", fetch_bytes, "1G", "largest archive of test data"),
    TEXT("file-data", file_dir, "DIR", "test data at file:// addresses must lie below this folder"),
    TEXT("http-ca", ca_file, "FILE", "certificates to trust for https [the system's]"),
    TEXT("s3-endpoint", s3.endpoint, "URL", "S3 or MinIO server, for s3:// and minio://"),
    TEXT("s3-region", s3.region, "NAME", "its region [us-east-1]"),
    SECRET("s3-access-key", s3.access_key, "access key"),
    SECRET("s3-secret-key", s3.secret_key, "secret key"),
    SECRET("s3-token", s3.token, "session token of temporary keys"),
    TEXT("user", user, "NAME",
         "started by root: become this user; only the boxes' helpers stay root"),
    TEXT("metrics-listen", metrics_listen, "ADDR:PORT", "serve Prometheus metrics there"),
    {.name = "judge-nothing",
     .type = TR_CONF_BOOL,
     .at = AT(noop),
     .doc = "accept everything without judging: to measure the rest",
     .flags = TR_CONF_HIDDEN},
    SLOT_ITEMS(struct worker_options, slot),
    MODES_ITEMS(struct worker_options, modes),
};
const size_t worker_nitems = TR_ARRAY_LEN(worker_items);

static const char *state_folder(struct tr_arena *a)
{
    const char *xdg = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");

    if (xdg && *xdg)
        return tr_arena_printf(a, "%s/tribunal", xdg);
    return home && *home ? tr_arena_printf(a, "%s/.local/state/tribunal", home)
                         : tr_arena_strdup(a, "/var/tmp/tribunal");
}

static const char *own_name(struct tr_arena *a)
{
    char host[64] = "";

    if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
        (void)snprintf(host, sizeof(host), "localhost");
    return tr_arena_printf(a, "%s:%d", host, (int)getpid());
}

/* A worker's name as part of a path. */
static char *plain_name(struct tr_arena *a, const char *name)
{
    char *s = tr_arena_strdup(a, name);

    for (char *p = s; p && *p; p++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
            *p = '_';
    }
    return s;
}

int worker_defaults(struct worker_options *o, struct tr_arena *arena, struct tr_err *err)
{
    bool heavy = !strcmp(o->consumer, TR_CONSUMER_HEAVY);
    struct tr_arena *a = arena;

    if (!heavy && strcmp(o->consumer, TR_CONSUMER_LIGHT) != 0)
        return tr_fail(err, TR_E_USAGE, 0, "--consumer: expected %s or %s, not '%.64s'",
                       TR_CONSUMER_LIGHT, TR_CONSUMER_HEAVY, o->consumer);
    if (!o->worker_id || !*o->worker_id)
        o->worker_id = own_name(a);
    if (!o->concurrency)
        o->concurrency = heavy ? 1 : 2;
    if (!o->retry_delays)
        o->retry_delays = heavy ? "10s,30s,60s" : "5s,10s,30s";
    if (!o->state)
        o->state = state_folder(a);
    if (!o->log_store)
        o->log_store = tr_arena_printf(a, "%s/logs", o->state);
    if (!o->spool)
        o->spool = tr_arena_printf(a, "%s/spool/%s", o->state,
                                   o->worker_id ? plain_name(a, o->worker_id) : "");
    if (!o->worker_id || !o->state || !o->log_store || !o->spool)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return 0;
}

int worker_delays(const char *text, int64_t *ret, int max, struct tr_err *err)
{
    int n = 0;

    for (const char *p = text; *p;) {
        char one[32];
        size_t len = strcspn(p, ",");

        if (len >= sizeof(one) || n == max)
            return tr_fail(err, TR_E_USAGE, 0,
                           "--retry-delays: at most %d times with commas between", max);
        memcpy(one, p, len);
        one[len] = '\0';
        int r = tr_parse_duration_us(one, 0, INT64_C(86400000000), &ret[n++], err);
        if (r < 0)
            return tr_fail_wrap(err, "--retry-delays: '%s'", one);
        p += len + (p[len] == ',');
    }
    return n;
}

int worker_setup(const struct worker_options *o, struct tr_arena *arena, char **ret,
                 struct tr_err *err)
{
    struct tr_judge_root roots[TR_JUDGE_ROOTS_MAX];
    struct tr_slot_setup s = {
        .data_dir = o->data_dir,
        .data_bytes = o->data_bytes,
        .fetch_bytes = o->fetch_bytes,
        .file_dir = o->file_dir,
        .ca_file = o->ca_file,
        .s3 = o->s3,
        .log_bytes = o->log_bytes,
        .progress = o->progress,
        .noop = o->noop,
    };
    int r = slot_judge_options(&o->slot, roots, arena, &s.judge, err);

    if (r < 0)
        return r;
    s.judge.launcher = o->launcher;
    *ret = tr_slot_setup_write(&s);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
}
