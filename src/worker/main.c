/* SPDX-License-Identifier: MIT
 *
 * main.c - tribunal-worker (judge-worker): a supervisor that talks to the world and holds leases,
 * and slot processes that judge.
 *
 * The program is also its own slot: "tribunal-worker slot" with a socket as descriptor 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "pool/slot.h"
#include "rt/notify.h"
#include "source/nats.h"
#include "worker/become.h"
#include "worker/metrics_http.h"
#include "worker/options.h"

enum {
    EXIT_DONE = 0,
    EXIT_USAGE = 2,
    EXIT_FAULT = 3
};

enum {
    WAIT_FIRST_MS = 250,
    WAIT_MOST_MS = 5000,
    SAY_AGAIN_US = 10 * 1000 * 1000
};

struct worker {
    struct worker_options o;
    struct tr_conf conf;
    struct tr_loop *loop;
    struct tr_logs *logs;
    struct tr_metrics metrics;
    struct metrics_http *http;
    struct tr_source_host host;
    struct tr_source *source;
    struct tr_log_field log;
    uv_poll_t launcher;
    char *setup;
    int exit_code;
};

static const char summary[] =
    "Judges submissions. Tasks come from a controller (--controller), straight from a database's\n"
    "queue (--db and --queues), or from NATS JetStream, with their state in a database and events\n"
    "published. Every submission gets one verdict among workers that share a database.\n"
    "SIGTERM drains: running tasks finish or are given back.";

static const char examples[] =
    "  tribunal-worker --controller ws://controller:8080 --key-file judge.key --concurrency 2\n"
    "  tribunal-worker --db postgres://judge@db/judge --queues light,heavy --concurrency 4\n"
    "  tribunal-worker --worker-id=judge-light-1 --consumer=judge-light --concurrency=2 \\\n"
    "      --nats-server=nats://nats:4222 --db postgres://judge@db/judge --log-level=debug\n"
    "  tribunal-worker --consumer judge-heavy --log-store s3://oj-logs \\\n"
    "      --s3-endpoint http://minio:9000 --metrics-listen 127.0.0.1:9100\n";

static int fail(const struct tr_err *err)
{
    (void)fprintf(stderr, "tribunal-worker: %s\n", err->msg);
    return tr_err_class(err->code) == TR_E_USAGE && err->code != TR_E_NOTFOUND ? EXIT_USAGE
                                                                               : EXIT_FAULT;
}

static void on_signal(void *arg, unsigned times)
{
    struct worker *w = arg;

    tr_log(TR_LOG_INFO, &w->log, times == 1 ? "draining" : "giving back what runs");
    if (times > 2)
        tr_loop_stop(w->loop);
    else
        w->source->drain(w->source, times == 1 ? w->o.drain_us : 0);
}

static void on_ended(void *arg, const struct tr_err *err)
{
    struct worker *w = arg;

    if (err) {
        tr_log_err(TR_LOG_ERROR, &w->log, err);
        w->exit_code = EXIT_FAULT;
    }
    tr_loop_stop(w->loop);
}

static void on_log_trouble(void *arg, const char *submit_id, const struct tr_err *err)
{
    const struct worker *w = arg;
    const struct tr_log_field field = {.up = &w->log, .key = "submit", .value = submit_id};

    tr_log(TR_LOG_WARN, &field, "logs wait in the spool: %s", err->msg);
}

static void metrics_page(void *arg, struct tr_buf *out)
{
    struct worker *w = arg;
    struct tr_logs_counts n = {0};

    if (w->source->gauges)
        w->source->gauges(w->source, &w->metrics);
    if (w->logs)
        tr_logs_counts(w->logs, &n);
    w->metrics.value[TR_M_LOGS_KEPT] = (int64_t)n.kept;
    w->metrics.value[TR_M_LOGS_FAILED] = (int64_t)n.failed;
    w->metrics.value[TR_M_LOGS_WAITING] = (int64_t)n.waiting;
    tr_metrics_text(&w->metrics, out);
}

/* ---------------------------------------------------------------- start */

static int open_logs(struct worker *w, struct tr_err *err)
{
    const struct tr_logs_conf conf = {
        .store = w->o.log_store,
        .spool = w->o.spool,
        .s3 = w->o.s3,
        .ca_file = w->o.ca_file,
        .trouble = on_log_trouble,
        .arg = w,
    };

    return strcmp(w->o.log_store, "none") == 0 ? 0 : tr_logs_open(&conf, &w->logs, err);
}

/* Without a database that all workers share, one verdict is promised by this machine alone. */
static int choose_db(struct worker *w, struct tr_err *err)
{
    if (w->o.db && *w->o.db)
        return 0;
    int r = tr_fs_mkdirs(AT_FDCWD, w->o.state, 0700, err);
    if (r < 0)
        return r;
    w->o.db = tr_arena_printf(&w->conf.arena, "sqlite:%s/submissions.db", w->o.state);
    if (!w->o.db)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    tr_log(TR_LOG_WARN, &w->log,
           "NO SHARED DATABASE: submissions are kept in %s on this machine alone. One verdict for "
           "each submission is promised only among workers that share a database: give all of "
           "them the same --db (or TRIBUNAL_DB)",
           w->o.db + strlen("sqlite:"));
    return 0;
}

static int open_nats(struct worker *w, struct tr_err *err)
{
#ifdef WITH_NATS
    struct tr_source_nats_conf conf = {
        .nats = &w->o.nats,
        .consumer = w->o.consumer,
        .migrate = w->o.migrate,
        .progress = w->o.progress,
        .watchdog_us = w->o.watchdog_us,
        .grace_us = w->o.grace_us,
        .backlog = w->o.backlog,
    };
    int r = choose_db(w, err);

    if (r >= 0)
        r = conf.ndelays =
            worker_delays(w->o.retry_delays, conf.delays_us, TR_RETRY_DELAYS_MAX, err);
    conf.db = w->o.db;
    return r < 0 ? r : tr_source_nats_open(&w->host, &conf, &w->source, err);
#else
    return tr_fail(err, TR_E_UNSUPPORTED, 0, "this build has no NATS");
#endif
}

static int open_source(struct worker *w, struct tr_err *err)
{
    int r = modes_open(&w->host, &w->o, &w->conf.arena, &w->source, err);

    return r == MODE_NATS ? open_nats(w, err) : r;
}

static int prepare(struct worker *w, struct tr_err *err)
{
    int r = w->o.user ? become_home(&w->o, err) : 0;

    if (r >= 0)
        r = modes_defaults(&w->o, &w->conf.arena, err);
    if (r >= 0)
        r = worker_defaults(&w->o, &w->conf.arena, err);
    if (r >= 0 && w->o.user)
        r = become(&w->o, &w->conf.arena, err);
    if (r < 0)
        return r;
    w->log = (struct tr_log_field){.key = "worker", .value = w->o.worker_id};
    return worker_setup(&w->o, &w->conf.arena, &w->setup, err);
}

/* Without a launcher no slot gets a box again, and we may start none: whoever started us has to. */
static void on_launcher(uv_poll_t *poll, int status, int events)
{
    struct worker *w = poll->data;

    (void)uv_poll_stop(poll);
    tr_log(TR_LOG_ERROR, &w->log, "the launcher of boxes ended: giving everything back");
    w->exit_code = EXIT_FAULT;
    w->source->drain(w->source, 0);
}

static int watch_launcher(struct worker *w, struct tr_err *err)
{
    if (!w->o.launcher)
        return 0;
    int r = uv_poll_init(tr_loop_uv(w->loop), &w->launcher, w->o.launcher);
    w->launcher.data = w;
    if (r == 0)
        r = uv_poll_start(&w->launcher, UV_DISCONNECT | UV_READABLE, on_launcher);
    return r < 0 ? tr_fail(err, TR_E_IO, 0, "watch the launcher: %s", uv_strerror(r)) : 0;
}

static int open_worker(struct worker *w, struct tr_err *err)
{
    int r = tr_loop_new(&w->loop, err);

    if (r >= 0)
        r = open_logs(w, err);
    if (r < 0)
        return r;
    w->host = (struct tr_source_host){
        .loop = w->loop,
        .worker_id = w->o.worker_id,
        .slots = (size_t)w->o.concurrency,
        .program = "/proc/self/exe",
        .setup = w->setup,
        .logs = w->logs,
        .metrics = &w->metrics,
        .log = &w->log,
        .ended = on_ended,
        .arg = w,
    };
    r = open_source(w, err);
    if (r >= 0)
        r = watch_launcher(w, err);
    if (r >= 0)
        r = tr_loop_on_stop_signal(w->loop, on_signal, w, err);
    if (r >= 0 && w->o.metrics_listen)
        r = metrics_http_open(w->loop, w->o.metrics_listen, metrics_page, w, &w->http, err);
    return r;
}

static void close_worker(struct worker *w)
{
    if (w->source)
        w->source->free(w->source);
    tr_logs_close(w->logs);
    if (w->loop)
        tr_loop_free(w->loop);
    metrics_http_free(w->http);
    w->source = NULL;
    w->logs = NULL;
    w->loop = NULL;
    w->http = NULL;
}

static void done_worker(struct worker *w)
{
    close_worker(w);
    json_decref(w->o.weak);
    free(w->setup);
    tr_conf_done(&w->conf);
}

/* A worker may start before what it needs, on a machine that boots for example: it tries again, and
 * says now and then what it waits for. What a person has to mend is no reason to wait. A signal
 * ends the process here: there is nothing to drain yet. */
static int open_or_wait(struct worker *w, struct tr_err *err)
{
    int64_t pause_ms = WAIT_FIRST_MS, said_us = 0;

    for (;;) {
        char before[sizeof(err->msg)];

        memcpy(before, err->msg, sizeof(before));
        int r = open_worker(w, err);
        if (r >= 0 || !w->o.wait || tr_err_class(r) != TR_E_RETRY)
            return r;
        int64_t now = tr_clock_mono_us();
        if (strcmp(before, err->msg) != 0 || now - said_us > SAY_AGAIN_US) {
            said_us = now;
            tr_log(TR_LOG_WARN, &w->log, "cannot start yet and tries again: %s", err->msg);
            tr_notify_status(err->msg);
        }
        close_worker(w);
        (void)nanosleep(
            &(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000},
            NULL);
        pause_ms = 2 * pause_ms < WAIT_MOST_MS ? 2 * pause_ms : WAIT_MOST_MS;
    }
}

static int run(struct worker *w)
{
    struct tr_err err = TR_ERR_INIT;

    tr_common_log(&w->o.common);
    if (prepare(w, &err) < 0 || open_or_wait(w, &err) < 0)
        return fail(&err);
    if (w->http)
        tr_log(TR_LOG_INFO, &w->log, "metrics on port %d", metrics_http_port(w->http));
    tr_log(TR_LOG_INFO, &w->log, "tasks from %s, %lld slots", modes_where(&w->o),
           (long long)w->o.concurrency);
    tr_notify_ready(w->loop, modes_where(&w->o));
    tr_loop_run(w->loop);
    tr_log(TR_LOG_INFO, &w->log, "ended");
    return w->exit_code;
}

int main(int argc, char **argv)
{
    struct tr_err err = TR_ERR_INIT;

    if (argc == 2 && strcmp(argv[1], "slot") == 0)
        return tr_slot_main(TR_SLOT_FD);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("tribunal-worker %s\n", TRIBUNAL_VERSION);
        return EXIT_DONE;
    }
    TR_CLEANUP(done_worker) struct worker w = {.exit_code = EXIT_DONE};
    const struct tr_conf_table table = {
        .items = worker_items, .count = worker_nitems, .into = &w.o};
    const struct tr_conf_program program = {.name = "tribunal-worker",
                                            .usage = "[options]",
                                            .summary = summary,
                                            .examples = examples,
                                            .tables = &table,
                                            .ntables = 1};
    if (tr_conf_load(&program, argc, argv, &w.conf, &err) < 0)
        return fail(&err);
    if (w.conf.help) {
        tr_conf_print_help(&program, &w.conf, stdout);
        return EXIT_DONE;
    }
    return run(&w);
}
