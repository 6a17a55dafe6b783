/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_work.c - `tribunal queue work --db URL --queue Q --exec CMD`.
 *
 * The worker step by step in a poll loop of our own, because the metrics file has a clock too.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"
#include "cli/queue_exec.h"

enum {
    QUEUES_MAX = 64,
    METRICS_EVERY_US = 5000000
};

struct options {
    struct queue_common common;
    struct tr_conf_list queues;
    const char *exec, *worker, *metrics;
    int64_t concurrency, lease_us, timeout_us, drain_us;
    bool until_empty;
};

#define TIME(name_, field_, fallback_, min_, doc_)                                                 \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_DURATION, .at = offsetof(struct options, field_),         \
        .fallback = (fallback_), .min = (min_), .max = INT64_C(86400000000) * 30, .unit = "TIME",  \
        .doc = (doc_), .flags = TR_CONF_CLI_ONLY                                                   \
    }
#define TEXT(name_, field_, unit_, doc_, flags_)                                                   \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_STRING, .at = offsetof(struct options, field_),           \
        .unit = (unit_), .doc = (doc_), .flags = TR_CONF_CLI_ONLY | (flags_)                       \
    }

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    {.name = "queue",
     .type = TR_CONF_LIST,
     .at = offsetof(struct options, queues),
     .unit = "Q[=WEIGHT]",
     .doc = "queue to take from, may be repeated; 'default' without",
     .flags = TR_CONF_CLI_ONLY},
    TEXT("exec", exec, "CMD", "command for each job: payload on standard input", TR_CONF_REQUIRED),
    CLI_NUMBER("concurrency", concurrency, "1", 1, 1024, "commands at once"),
    CLI_FLAG("until-empty", until_empty, "leave when nothing is ready and nothing runs here"),
    TIME("lease", lease_us, "30s", 1000000, "how soon a dead worker's jobs come back"),
    TIME("timeout", timeout_us, "0", 0, "stop a command after this; 0: never"),
    TIME("drain", drain_us, "30s", 1, "on SIGTERM: how long commands may take to finish"),
    TEXT("worker", worker, "NAME", "name in locked_by; host and pid without", 0),
    TEXT("metrics", metrics, "FILE", "write Prometheus text there every 5 s", 0),
};

static const struct cli_doc doc = {
    .name = "tribunal queue work",
    .usage = "--db URL [--queue Q[=WEIGHT]]… --exec CMD [--concurrency N] [--until-empty]",
    .summary =
        "Runs a command for each job. The payload is its standard input, TRIBUNAL_JOB_ID, _QUEUE,\n"
        "_KIND, _ATTEMPT and _MAX_ATTEMPTS tell about the job. Exit code 0: done, standard output\n"
        "becomes the result; 65: dead letter; 75 or anything else: again after the backoff.\n"
        "SIGTERM or ^C: finish what runs (--drain), give back the rest; a second one: give back\n"
        "everything now.",
    .examples = "  tribunal queue work --db sqlite:jobs.db --exec 'jq .' --until-empty\n"
                "  tribunal queue work --db postgres://… --queue mail=3 --queue bulk=1 \\\n"
                "      --exec ./send-mail --concurrency 8 --timeout 1m\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

static tq_worker *volatile the_worker; /* for the signal handler */

static void on_signal(int sig)
{
    (void)sig;
    if (the_worker)
        tq_worker_stop(the_worker);
}

static void catch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    (void)sigaction(SIGTERM, &stop, NULL);
    (void)sigaction(SIGINT, &stop, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL); /* a command need not read its input */
}

static void trace(void *user, const struct tq_trace *t)
{
    char id[24] = "";
    struct tr_log_field job = {.key = "job", .value = id};

    (void)user;
    if (t->job)
        (void)snprintf(id, sizeof(id), "%lld", (long long)t->job->ref.id);
    if (t->event == TQ_TRACE_ERROR)
        tr_log_err(TR_LOG_WARN, NULL, t->err);
    else if (t->event == TQ_TRACE_END && t->result == TR_E_LOST)
        tr_log(TR_LOG_WARN, &job, "the lease was lost; the result was dropped");
    else if (t->event == TQ_TRACE_END && t->end == TQ_ACK)
        tr_log(TR_LOG_DEBUG, &job, "done in %lld ms", (long long)t->run_us / 1000);
    else if (t->event == TQ_TRACE_END)
        tr_log(TR_LOG_INFO, &job, "%s",
               t->result == TQ_SETTLED_AGAIN    ? "failed or given back, will run again"
               : t->result == TQ_SETTLED_BURIED ? "failed for the last time: dead letter"
                                                : "dead letter");
}

/* "mail=3" → mail, 3. */
static int parse_queue(const char *text, char *name, struct tq_weighted *ret, struct tr_err *err)
{
    const char *eq = strrchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : strlen(text);
    uint64_t weight = 1;

    if (len > TQ_NAME_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "queue '%s': at most %d bytes", text, (int)TQ_NAME_MAX);
    int r = eq ? tr_parse_u64(eq + 1, 0, 1000000, &weight, err) : 0;
    if (r < 0)
        return tr_fail_wrap(err, "weight of queue '%s'", text);
    memcpy(name, text, len);
    name[len] = '\0';
    *ret = (struct tq_weighted){name, (unsigned)weight};
    return 0;
}

static int make_worker(const struct options *o, tq_worker **ret, struct tr_err *err)
{
    static char names[QUEUES_MAX][TQ_NAME_MAX + 1];
    struct tq_weighted queues[QUEUES_MAX];
    struct tq_worker_opts w = TQ_WORKER_OPTS_INIT;
    struct tq_opts q = TQ_OPTS_INIT;

    q.driver = queue_driver(o->common.db, err);
    if (!q.driver)
        return err->code;
    if (o->queues.count > QUEUES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "at most %d queues", (int)QUEUES_MAX);
    for (size_t i = 0; i < o->queues.count; i++) {
        int r = parse_queue(o->queues.items[i], names[i], &queues[i], err);
        if (r < 0)
            return r;
    }
    q.worker = o->worker;
    w.url = o->common.db;
    w.queue = &q;
    w.queues = queues;
    w.nqueues = o->queues.count;
    w.concurrency = (int)o->concurrency;
    w.prefetch = -1; /* commands are slow: leave to others what cannot start */
    w.flags = o->until_empty ? TQ_WORKER_UNTIL_EMPTY : 0;
    w.lease_us = o->lease_us;
    w.timeout_us = o->timeout_us;
    w.drain_us = o->drain_us;
    w.trace = trace;
    int r = tq_worker_new(ret, &w, err);
    if (r < 0)
        return r;
    /* NOLINTNEXTLINE: the handler only reads it */
    return tq_worker_handle(*ret, NULL, NULL, queue_exec_handler, (void *)(uintptr_t)o->exec, err);
}

static void write_metrics(tq_worker *w, const char *file)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *text = NULL;

    int r = tq_worker_prometheus(w, &text, &err);
    if (r >= 0)
        r = tr_fs_replace(AT_FDCWD, file, text, strlen(text), 0644, &err);
    if (r < 0)
        tr_log_err(TR_LOG_WARN, NULL, &err);
}

static int work(tq_worker *w, const struct options *o, struct tr_err *err)
{
    int64_t next = tr_clock_mono_us();
    int fd = tq_worker_fd(w, err), r = fd;

    while (r >= 0 && (r = tq_worker_process(w, err)) > 0) {
        int64_t now = tr_clock_mono_us(), us = tq_worker_timeout_us(w);

        if (o->metrics && now >= next) {
            write_metrics(w, o->metrics);
            next = now + METRICS_EVERY_US;
        }
        if (o->metrics && us > next - now)
            us = next - now;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        (void)ppoll(&p, 1, &ts, NULL);
    }
    if (r >= 0 && o->metrics)
        write_metrics(w, o->metrics);
    return r;
}

static void print_end(tq_worker *w, bool json)
{
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;

    tq_worker_stats(w, &s);
    (void)printf(json ? "{\"acked\": %llu, \"failed\": %llu, \"buried\": %llu, \"released\": %llu, "
                        "\"lost\": %llu}\n"
                      : "%llu done, %llu failed, %llu dead, %llu given back, %llu lost\n",
                 (unsigned long long)s.acked, (unsigned long long)s.failed,
                 (unsigned long long)s.buried, (unsigned long long)s.released,
                 (unsigned long long)s.lost);
}

int cmd_queue_work(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    tq_worker *w = NULL;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = make_worker(&o, &w, &err);
    if (r >= 0) {
        the_worker = w;
        catch_signals();
        r = work(w, &o, &err);
    }
    if (r >= 0)
        print_end(w, o.common.json);
    the_worker = NULL;
    tq_worker_free(w);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
