/* SPDX-License-Identifier: MIT
 *
 * cmd_serve.c - `tribunal serve`: everything on this machine, nothing to set up.
 *
 * Makes its data folder at the first start (database, keys, example problems), starts tribunald and
 * the judges as children that speak the same protocol as remote ones, restarts what dies, and ends
 * them in order. A kill -9 of anything here loses nothing: the database has it all, and children
 * die with their parent.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "cli/api_client.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/keys_cli.h"
#include "cli/serve.h"
#include "cli/serve_children.h"

enum {
    START_US = 20000000,
    STARTS = 3,         /* a second apart */
    ANSWER_US = 1000000 /* whoever has the port instead of us may never say a word */
};

struct options {
    const char *data, *listen, *db, *problems, *languages, *examples;
    int64_t judges, slots;
    bool demo, open;
};

static const struct tr_conf_item items[] = {
    {.name = "data",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, data),
     .fallback = "tribunal-data",
     .unit = "DIR",
     .doc = "folder for everything; made at the first start"},
    {.name = "listen",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, listen),
     .fallback = "127.0.0.1:8080",
     .unit = "ADDRESS:PORT",
     .doc = "where clients connect"},
    {.name = "judges",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, judges),
     .fallback = "1",
     .min = 0,
     .max = 64,
     .unit = "N",
     .doc = "judges on this machine; 0: only remote ones"},
    {.name = "slots",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, slots),
     .fallback = "0",
     .min = 0,
     .max = 256,
     .unit = "N",
     .doc = "submissions that one judge judges at once; 0: the cores divided by the judges"},
    CLI_FLAG("demo", demo, "a robot submits right and wrong solutions to the examples"),
    {.name = "open-loopback",
     .type = TR_CONF_BOOL,
     .at = offsetof(struct options, open),
     .doc = "let programs and browsers on this machine in without a key"},
    {.name = "db",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, db),
     .unit = "URL",
     .doc = "database; default: SQLite in the data folder"},
    {.name = "problems",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, problems),
     .unit = "DIR",
     .doc = "folder of problem folders; default: problems in the data folder"},
    {.name = "languages",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, languages),
     .unit = "DIR",
     .doc = "folder of language files; default: those installed with the program"},
    {.name = "examples",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, examples),
     .unit = "DIR",
     .doc = "example problems for an empty data folder; default: the installed ones"},
};

static const struct cli_doc doc = {
    .name = "tribunal serve",
    .usage = "[--data DIR] [--listen ADDRESS:PORT] [--judges N] [--demo]",
    .summary = "Runs a controller and judges on this machine. Needs nothing but a folder; Ctrl-C "
               "stops it, the next start goes on where it was.",
    .examples = "  tribunal serve --demo\n"
                "  tribunal serve --data /srv/judge --listen :8080 --judges 2\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

struct serve {
    struct options o;
    struct tr_arena arena;
    const char *url, *db, *key, *judge_key_file, *examples, *folder; /* folder: of our program */
    struct children children;
};

/* ---------------------------------------------------------------- files */

static const char *text(struct serve *s, const char *fmt, const char *a, const char *b)
{
    const char *t = tr_arena_printf(&s->arena, "%s%s%s", a, fmt, b);

    return t ? t : "";
}

/* A program of ours: beside us when installed, in its folder of the build tree otherwise. */
static char *program(struct serve *s, const char *name, const char *where)
{
    char *path = tr_arena_printf(&s->arena, "%s/%s", s->folder, name);

    if (path && access(path, X_OK) == 0)
        return path;
    return tr_arena_printf(&s->arena, "%s/../%s/%s", s->folder, where, name);
}

static void find_folder(struct serve *s)
{
    char exe[4096] = ".";
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash = n > 0 ? strrchr(exe, '/') : NULL;

    if (slash)
        *slash = '\0';
    s->folder = tr_arena_strdup(&s->arena, exe);
    static const char *const beside[] = {"../share/tribunal/examples", "../../../examples/problems",
                                         "../../../../examples/problems"};
    s->examples = s->o.examples;
    for (size_t i = 0; !s->examples && i < TR_ARRAY_LEN(beside); i++) {
        const char *p = text(s, "/", s->folder, beside[i]);

        if (access(p, R_OK | X_OK) == 0)
            s->examples = p;
    }
}

static bool is_empty(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    bool empty = true;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    while (d && (e = readdir(d)))
        empty = empty && e->d_name[0] == '.';
    if (d)
        (void)closedir(d);
    return empty;
}

/* cp knows how to copy a tree; it is in every system that has a compiler. */
static int copy_examples(struct serve *s, struct tr_err *err)
{
    const char *to = s->o.problems ? s->o.problems : text(s, "/", s->o.data, "problems");
    TR_CLEANUP(tr_buf_done) struct tr_buf said = {0};

    if (!s->examples || s->o.problems || !is_empty(to))
        return 0;
    int r = tr_fs_mkdirs(AT_FDCWD, to, 0755, err);
    if (r < 0)
        return r;
    char *argv[] = {tr_arena_strdup(&s->arena, "cp"), tr_arena_strdup(&s->arena, "-R"),
                    tr_arena_printf(&s->arena, "%s/.", s->examples), tr_arena_strdup(&s->arena, to),
                    NULL};
    tr_buf_init(&said, 4096);
    r = tr_spawn_capture(argv, 60000000, &said, err);
    return r == 0 ? 0 : tr_fail(err, TR_E_IO, 0, "copy the examples to '%s'", to);
}

/* The key in this file, made when there is none. */
static int need_key(struct serve *s, struct tr_store *st, const char *role, const char *file,
                    const char **ret, struct tr_err *err)
{
    char id[TR_KEY_ID], key[TR_KEY_TEXT];
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, TR_KEY_TEXT + 2);
    if (tr_fs_read_file(file, &b, NULL) >= 0 && b.len > 60) {
        b.data[strcspn(b.data, "\n")] = '\0';
        *ret = tr_arena_strdup(&s->arena, b.data);
        return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    int r = keys_make(st, role, "tribunal serve", id, key, err);
    if (r >= 0)
        r = keys_write(file, key, err);
    *ret = r < 0 ? NULL : tr_arena_strdup(&s->arena, key);
    return r;
}

static int prepare(struct serve *s, struct tr_err *err)
{
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    const char *ignored = NULL;
    int r = tr_fs_mkdirs(AT_FDCWD, s->o.data, 0700, err);

    s->db = s->o.db ? s->o.db : tr_arena_printf(&s->arena, "sqlite:%s/tribunal.db", s->o.data);
    s->judge_key_file = text(s, "/", s->o.data, "judge.key");
    const struct tr_store_conf conf = {.url = s->db};
    if (r >= 0)
        r = tr_store_open(&conf, &st, err);
    if (r >= 0)
        r = tr_store_migrate(st, -1, err);
    if (r >= 0)
        r = need_key(s, st, "admin", text(s, "/", s->o.data, "admin.key"), &s->key, err);
    if (r >= 0)
        r = need_key(s, st, "judge", s->judge_key_file, &ignored, err);
    return r < 0 ? r : copy_examples(s, err);
}

/* Judges may be a package of their own. */
static int need_worker(struct serve *s, struct tr_err *err)
{
    const char *path = program(s, "tribunal-worker", "worker");

    if (s->o.judges == 0 || (path && access(path, X_OK) == 0))
        return 0;
    return tr_fail(err, TR_E_USAGE, 0,
                   "there is no tribunal-worker beside this program: install it (Debian: apt "
                   "install tribunal-worker), or take judges of other machines only (--judges 0)");
}

/* ---------------------------------------------------------------- what runs */

static void plan_controller(struct serve *s)
{
    struct child *c = child_add(&s->children, "tribunald");

    child_arg(c, program(s, "tribunald", "controller"));
    child_pair(c, "--listen", s->o.listen);
    child_pair(c, "--data", s->o.data);
    child_pair(c, "--db", s->db);
    child_pair(c, "--problems", s->o.problems);
    child_pair(c, "--languages", s->o.languages);
    if (s->o.open)
        child_arg(c, "--open-loopback");
}

static void plan_judge(struct serve *s, int64_t number)
{
    struct child *c;
    char slots[24], name[32];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t each = s->o.slots ? s->o.slots : cores / s->o.judges;

    (void)snprintf(name, sizeof(name), "local-%lld", (long long)number);
    c = child_add(&s->children, name);
    (void)snprintf(slots, sizeof(slots), "%lld", (long long)(each > 0 ? each : 1));
    child_arg(c, program(s, "tribunal-worker", "worker"));
    child_pair(c, "--controller", text(s, "", "ws", s->url + 4)); /* http://… → ws://… */
    child_pair(c, "--key-file", s->judge_key_file);
    child_pair(c, "--worker-id", c->name);
    child_pair(c, "--concurrency", slots);
    child_pair(c, "--languages", s->o.languages);
}

static void demo(void *arg)
{
    const struct serve *s = arg;

    serve_demo(s->url, s->key, s->examples);
}

static void plan(struct serve *s)
{
    plan_controller(s);
    for (int64_t i = 1; i <= s->o.judges; i++)
        plan_judge(s, i);
    if (s->o.demo && s->examples) {
        struct child *c = child_add(&s->children, "demo");

        c->run = demo;
        c->arg = s;
    }
}

/* ---------------------------------------------------------------- people */

static bool answers(struct serve *s)
{
    struct api a;
    json_t *j = NULL;
    const struct api_options o = {.server = s->url, .key = s->key, .timeout_us = ANSWER_US};
    bool yes =
        api_open(&a, &o, NULL) >= 0 && api_ask(&a, "GET", "/api/v1/whoami", NULL, &j, NULL) >= 0;

    json_decref(j);
    api_close(&a);
    return yes;
}

static void greet(const struct serve *s)
{
    bool here = strncmp(s->o.listen, "127.", 4) == 0 || strncmp(s->o.listen, "[::1]:", 6) == 0;

    (void)printf("\ntribunal serve: ready\n"
                 "  web      %s/#key=%s\n"
                 "  api      %s/api/v1/openapi.json\n"
                 "  data     %s (admin key in admin.key, judges' key in judge.key)\n"
                 "  try      curl -s '%s/api/v1/submissions?wait=30' -H 'Authorization: Bearer %s' "
                 "-d '{\"problem\":\"a-plus-b\",\"language\":\"python3\",\"code\":"
                 "\"a,b=map(int,input().split());print(a+b)\"}'\n"
                 "  or       tribunal submit FILE -p a-plus-b --server %s --key-file %s/admin.key\n"
                 "  more     %son another machine: tribunal-worker --controller ws://THIS-HOST%s "
                 "--key-file judge.key\n"
                 "Ctrl-C stops it.\n\n",
                 s->url, s->key, s->url, s->o.data, s->url, s->key, s->url, s->o.data,
                 here ? "with --listen 0.0.0.0:PORT here, " : "", strrchr(s->url, ':'));
    (void)fflush(stdout);
}

/* Before it has answered once: a wrong option stays wrong, and a port that others have is theirs.
 * A controller of ours that was just killed frees the port in a moment. */
static bool hopeless(const struct child *controller)
{
    return controller->ends >= STARTS || (controller->ends && controller->code == CLI_USAGE);
}

static int run(struct serve *s)
{
    sigset_t set;
    const struct timespec step = {.tv_nsec = 200000000};
    int64_t until = tr_clock_mono_us() + START_US;
    bool greeted = false;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (;;) {
        children_start(&s->children);
        int n = sigtimedwait(&set, NULL, &step);
        if (n == SIGINT || n == SIGTERM)
            break;
        children_reap(&s->children, false);
        /* where ours is not running, whoever answers there is somebody else */
        if (!greeted && s->children.list[0].pid > 0 && answers(s)) {
            greet(s);
            greeted = true;
        }
        bool no_start = !greeted && hopeless(&s->children.list[0]);
        if (no_start || (!greeted && tr_clock_mono_us() > until)) {
            (void)fprintf(stderr,
                          no_start ? "tribunal serve: the controller could not be started on %s; "
                                     "its reason is above\n"
                                   : "tribunal serve: the controller does not answer on %s\n",
                          s->url);
            children_stop(&s->children, &set);
            return no_start && s->children.list[0].code == CLI_USAGE ? CLI_USAGE : CLI_FAULT;
        }
    }
    children_stop(&s->children, &set);
    return CLI_OK;
}

static const char *url_of(struct serve *s)
{
    const char *colon = strrchr(s->o.listen, ':');
    bool all = !colon || colon == s->o.listen || strncmp(s->o.listen, "0.0.0.0:", 8) == 0 ||
               strncmp(s->o.listen, "[::]:", 5) == 0;

    return text(s, "", "http://", all && colon ? text(s, "", "127.0.0.1", colon) : s->o.listen);
}

int cmd_serve(int argc, char **argv)
{
    static struct serve s; /* large, and there is one */
    TR_CLEANUP(cli_end) struct cli_run run_;
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run_, &doc, &s.o, argc, argv, &code))
        return code;
    tr_arena_init(&s.arena, 1024 * 1024);
    find_folder(&s);
    s.url = url_of(&s);
    int r = need_worker(&s, &err);
    if (r >= 0)
        r = prepare(&s, &err);
    if (r >= 0) {
        plan(&s);
        code = run(&s);
    }
    children_done(&s.children);
    tr_arena_done(&s.arena);
    return r < 0 ? cli_fail(&run_, &err) : code;
}
