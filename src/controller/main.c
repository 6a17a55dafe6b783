/* SPDX-License-Identifier: MIT
 *
 * main.c - tribunald: read the settings, put the parts together, run, stop in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "controller/backend_ws.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judges.h"
#include "controller/marks.h"
#include "controller/metrics.h"
#include "controller/problems.h"
#include "controller/route.h"
#include "controller/server.h"
#include "controller/setaside.h"
#include "rt/conf_common.h"
#include "rt/notify.h"

enum {
    EXIT_USAGE = 2,
    EXIT_FAULT = 3,
    TICK_MS = 250,
    STOP_FIRST_MS = 200, /* answers to requests under way */
    STOP_LOOK_MS = 20,
    STOP_US = 3000000 /* what is being stored or sent may end; judges keep what they have */
};

struct settings {
    struct tr_common common;
    struct ctl_conf ctl;
};

#define AT(member) offsetof(struct settings, member)

static const struct tr_conf_item items[] = {
    TR_CONFIG_ITEM(struct settings, common),
    TR_LOG_ITEMS(struct settings, common),
    {.name = "listen",
     .type = TR_CONF_STRING,
     .at = AT(ctl.listen),
     .fallback = "127.0.0.1:8080",
     .unit = "ADDRESS:PORT",
     .doc = "where clients and judges connect; :PORT for every address"},
    {.name = "data",
     .type = TR_CONF_STRING,
     .at = AT(ctl.data),
     .fallback = "tribunal-data",
     .unit = "DIR",
     .doc = "folder for archives, logs and the default database"},
    {.name = "db",
     .type = TR_CONF_STRING,
     .at = AT(ctl.db),
     .unit = "URL",
     .doc = "database: sqlite:PATH, postgres://… or mysql://…; default: SQLite in the data folder"},
    {.name = "problems",
     .type = TR_CONF_STRING,
     .at = AT(ctl.problems),
     .unit = "DIR",
     .doc = "folder of problem folders; default: problems in the data folder"},
    {.name = "languages",
     .type = TR_CONF_STRING,
     .at = AT(ctl.languages),
     .unit = "DIR",
     .doc = "folder of language files; default: those installed with the program"},
    {.name = "heavy-languages",
     .type = TR_CONF_STRING,
     .at = AT(ctl.heavy),
     .fallback = TR_HEAVY_LANGUAGES,
     .unit = "SLUGS",
     .doc = "languages of the class heavy, with commas between; others are light"},
    {.name = "tls-cert",
     .type = TR_CONF_STRING,
     .at = AT(ctl.tls_cert),
     .unit = "FILE",
     .doc = "certificate chain (PEM); with it the port speaks TLS only; SIGHUP reads it again"},
    {.name = "tls-key",
     .type = TR_CONF_STRING,
     .at = AT(ctl.tls_key),
     .unit = "FILE",
     .doc = "its private key (PEM)"},
    {.name = "controller-id",
     .type = TR_CONF_STRING,
     .at = AT(ctl.controller_id),
     .unit = "NAME",
     .doc = "name of this controller; default: host name and process"},
    {.name = "open-loopback",
     .type = TR_CONF_BOOL,
     .at = AT(ctl.open_loopback),
     .doc = "let clients on this machine in without a key, as admin; not behind a proxy"},
    {.name = "heartbeat",
     .type = TR_CONF_DURATION,
     .at = AT(ctl.heartbeat_us),
     .fallback = "5s",
     .min = 100000,
     .max = 60000000,
     .unit = "TIME",
     .doc = "how often judges report"},
    {.name = "grace",
     .type = TR_CONF_DURATION,
     .at = AT(ctl.grace_us),
     .fallback = "10s",
     .min = 100000,
     .max = 600000000,
     .unit = "TIME",
     .doc = "how long a lost judge may come back for its tasks"},
    {.name = "max-body",
     .type = TR_CONF_SIZE,
     .at = AT(ctl.max_body),
     .fallback = "4M",
     .min = 1024,
     .max = 16 * 1024 * 1024,
     .unit = "SIZE",
     .doc = "largest JSON body"},
    {.name = "max-queue",
     .type = TR_CONF_INT,
     .at = AT(ctl.max_queue),
     .fallback = "100000",
     .min = 1,
     .max = 10000000,
     .unit = "N",
     .doc = "waiting submissions before 503"},
    {.name = "max-connections",
     .type = TR_CONF_INT,
     .at = AT(ctl.max_connections),
     .fallback = "8000",
     .min = 16,
     .max = 60000,
     .unit = "N",
     .doc = "open connections"},
    {.name = "rate",
     .type = TR_CONF_INT,
     .at = AT(ctl.rate),
     .fallback = "200",
     .min = 1,
     .max = 1000000,
     .unit = "N",
     .doc = "requests a second for one key; bursts of twice that"},
    {.name = "routes",
     .type = TR_CONF_BOOL,
     .at = AT(ctl.routes),
     .flags = TR_CONF_CLI_ONLY | TR_CONF_HIDDEN,
     .doc = "print the table of routes"},
};

void ctl_log_err(struct ctl *ctl, const struct tr_err *err)
{
    (void)ctl;
    tr_log_err(TR_LOG_ERROR, NULL, err);
}

/* ---------------------------------------------------------------- life */

static void on_tick(uv_timer_t *t)
{
    struct ctl *ctl = t->data;

    keys_tick(ctl->keys);
    marks_tick(ctl->marks);
    judges_tick(ctl);
    backend_ws_tick(ctl);
}

/* What waited is stored, and every WebSocket has had its closing frame and answered it. */
static void stop_when_said(uv_timer_t *t)
{
    struct ctl *ctl = t->data;
    bool all_said = ctl->sockets == 0 && storage_waiting(ctl->storage) == 0;

    if (all_said || tr_clock_mono_us() > ctl->stop_by_us)
        tr_loop_stop(ctl->loop);
}

/* The first signal: no more work, everybody is told. What runs stays with its judge, who takes it
 * up again at the next controller. The second: the end. */
static void on_stop(void *arg, unsigned times)
{
    static uv_timer_t last;
    struct ctl *ctl = arg;

    if (times > 1) {
        tr_loop_stop(ctl->loop);
        return;
    }
    tr_log(TR_LOG_INFO, NULL, "stopping");
    tr_notify_stopping();
    ctl->stopping = true;
    ctl->stop_by_us = tr_clock_mono_us() + STOP_US;
    judges_bye(ctl, "shutdown", "the controller stops; connect again in a moment");
    backend_ws_bye();
    (void)uv_timer_init(tr_loop_uv(ctl->loop), &last);
    last.data = ctl;
    (void)uv_timer_start(&last, stop_when_said, STOP_FIRST_MS, STOP_LOOK_MS);
}

static int open_data(struct ctl *ctl, struct tr_err *err)
{
    int r = tr_fs_mkdirs(AT_FDCWD, ctl->conf.data, 0755, err);

    if (r < 0)
        return r;
    ctl->data_fd = open(ctl->conf.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return ctl->data_fd < 0 ? tr_fail(err, TR_E_IO, errno, "open '%s'", ctl->conf.data) : 0;
}

static int open_languages(struct ctl *ctl, struct tr_err *err)
{
    tr_arena_init(&ctl->lang_arena, 16 * 1024 * 1024);
    const char *folder = tr_langs_folder(ctl->conf.languages, &ctl->lang_arena);

    return folder ? tr_langs_load(folder, &ctl->lang_arena, &ctl->langs, err)
                  : tr_fail(err, TR_E_NOMEM, 0, "no memory for the languages");
}

static int open_parts(struct ctl *ctl, struct tr_err *err)
{
    int r = open_data(ctl, err);

    if (r >= 0)
        r = open_languages(ctl, err);
    if (r >= 0)
        r = tr_loop_new(&ctl->loop, err);
    if (r < 0)
        return r;
    ctl->keys = keys_new(ctl);
    ctl->judges = judges_new(ctl);
    ctl->metrics = metrics_new();
    ctl->setaside = setaside_new(ctl);
    ctl->marks = marks_new(ctl);
    if (!ctl->marks || !ctl->keys || !ctl->judges || !ctl->metrics || !ctl->setaside)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    r = storage_start(ctl, &ctl->storage, err);
    if (r >= 0)
        r = events_new(ctl, &ctl->events, err);
    if (r >= 0)
        r = problems_open(ctl, &ctl->problems, err);
    if (r >= 0)
        r = dispatch_new(ctl, &ctl->dispatch, err);
    if (r < 0)
        return r;
    keys_load(ctl->keys);
    marks_load(ctl->marks);
    r = server_start(ctl, err);
    return r < 0 ? r : tr_loop_on_stop_signal(ctl->loop, on_stop, ctl, err);
}

static void stop_timer(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (h->type == UV_TIMER)
        (void)uv_timer_stop((uv_timer_t *)h);
}

/* Connections first, then the writes they left, then the rest. The loop still turns while parts of
 * it are gone, so nothing may begin by itself: libuv calls a timer also in its last turns. */
static void close_parts(struct ctl *ctl)
{
    ctl->stopping = true;
    server_stop(ctl);
    if (ctl->loop)
        uv_walk(tr_loop_uv(ctl->loop), stop_timer, NULL);
    storage_stop(ctl->storage);
    problems_close(ctl->problems);
    keys_free(ctl->keys);
    judges_free(ctl->judges);
    marks_free(ctl->marks);
    setaside_free(ctl->setaside);
    if (ctl->loop)
        tr_loop_free(ctl->loop);
    events_free(ctl->events);
    dispatch_free(ctl->dispatch);
    metrics_free(ctl->metrics);
    tr_arena_done(&ctl->lang_arena);
    tr_close(&ctl->data_fd);
}

static int serve(struct ctl *ctl, struct tr_err *err)
{
    uv_timer_t tick;
    char status[300];
    int r = open_parts(ctl, err);

    if (r >= 0) {
        (void)uv_timer_init(tr_loop_uv(ctl->loop), &tick);
        tick.data = ctl;
        (void)uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS);
        events_poke(ctl->events);
        tr_log(TR_LOG_INFO, NULL, "listening on %s, %zu problems, %zu languages", ctl->conf.listen,
               problems_count(ctl->problems), ctl->langs.count);
        (void)snprintf(status, sizeof(status), "listening on %s", ctl->conf.listen);
        tr_notify_ready(ctl->loop, status);
        tr_loop_run(ctl->loop);
    }
    close_parts(ctl);
    return r;
}

/* Every connection is a descriptor. */
static void raise_files(int64_t want)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    rlim_t need = (rlim_t)want + 256;
    if (l.rlim_cur < need)
        l.rlim_cur = need < l.rlim_max ? need : l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

static int finish_conf(struct ctl_conf *c, struct tr_arena *a, struct tr_err *err)
{
    char host[64] = "localhost";

    (void)gethostname(host, sizeof(host) - 1);
    if (!c->controller_id)
        c->controller_id = tr_arena_printf(a, "%s-%d", host, (int)getpid());
    if (!c->db)
        c->db = tr_arena_printf(a, "sqlite:%s/tribunal.db", c->data);
    if (!c->tls_cert != !c->tls_key)
        return tr_fail(err, TR_E_USAGE, 0, "--tls-cert and --tls-key belong together");
    return c->db && c->controller_id ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
}

int main(int argc, char **argv)
{
    struct settings s = {0};
    struct tr_conf conf = {0};
    struct tr_err err = TR_ERR_INIT;
    struct ctl ctl = {.data_fd = -1, .started_us = tr_clock_mono_us()};
    const struct tr_conf_table tables[] = {
        {.items = items, .count = TR_ARRAY_LEN(items), .into = &s}};
    const struct tr_conf_program program = {
        .name = "tribunald",
        .usage = "[options]",
        .summary = "The controller: takes submissions over HTTP and WebSocket, hands them to the "
                   "judges that connect to it, and keeps the verdicts.",
        .examples = "  tribunald --data /var/lib/tribunal --listen :8080\n"
                    "  tribunald --db postgres://judge@db/judge --tls-cert cert.pem --tls-key "
                    "key.pem\n",
        .tables = tables,
        .ntables = TR_ARRAY_LEN(tables),
    };
    int r = tr_conf_load(&program, argc, argv, &conf, &err);

    if (r >= 0 && conf.help) {
        tr_conf_print_help(&program, &conf, stdout);
    } else if (r >= 0 && s.ctl.routes) {
        route_print();
    } else if (r >= 0 && (r = finish_conf(&s.ctl, &conf.arena, &err)) >= 0) {
        tr_common_log(&s.common);
        ctl.conf = s.ctl;
        ctl.one_writer = strncmp(s.ctl.db, "sqlite:", 7) == 0;
        raise_files(s.ctl.max_connections);
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        (void)sigaction(SIGPIPE, &ignore, NULL);
        r = serve(&ctl, &err);
    }
    if (r < 0)
        (void)fprintf(stderr, "tribunald: %s\n", err.msg);
    tr_conf_done(&conf);
    return r >= 0 ? 0 : tr_err_class(err.code) == TR_E_USAGE ? EXIT_USAGE : EXIT_FAULT;
}
