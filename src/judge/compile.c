/* SPDX-License-Identifier: MIT
 *
 * compile.c - source into one file that runs, in the box, at most once for the same input.
 *
 * In:  a language and sources.
 * Out: the artifact's descriptor, or CE with the compiler's words.
 *
 * The compiler works on hostile input and may run code of it: it sees no tests and no secrets, its
 * output is bounded while it runs, and what it leaves is fetched by the box, which follows nothing.
 * A compiler that fails, is stopped by a limit, or leaves something that is not a file is CE: the
 * source is what made it so. A compiler that is not there is our fault.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/rand.h"
#include "codec/json.h"
#include "codec/sha256.h"
#include "judge/judge_private.h"

enum {
    OUTPUT_MAX = 4 * 1024 * 1024, /* of the compiler's words, before it is stopped */
    FILE_MAX_MIB = 256            /* of one file that it writes */
};

/* Who compiles, without asking it: path, size and date change with every update. Running
 * "g++ --version" each time would cost more than all the rest of a cached answer. */
static void hash_compiler(struct tr_sha256 *h, const struct tr_lang *lang, const char *root)
{
    static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/bin"};
    const char *name = lang->compile.words[0];
    char path[PATH_MAX];
    struct stat st;

    for (size_t i = 0; i < TR_ARRAY_LEN(places); i++) {
        if (name[0] == '/')
            (void)snprintf(path, sizeof(path), "%s%s", root ? root : "", name);
        else
            (void)snprintf(path, sizeof(path), "%s%s/%s", root ? root : "", places[i], name);
        if (stat(path, &st) == 0) {
            tr_sha256_add_text(h, path);
            tr_sha256_add(h, &st.st_size, sizeof(st.st_size));
            tr_sha256_add(h, &st.st_mtim, sizeof(st.st_mtim));
            return;
        }
    }
}

/* Headers that an operator exchanges: the folder's date changes with each. */
static void hash_include(struct tr_sha256 *h, const char *folder)
{
    struct stat st;

    tr_sha256_add_text(h, folder);
    if (stat(folder, &st) == 0)
        tr_sha256_add(h, &st.st_mtim, sizeof(st.st_mtim));
}

static int cache_key(const struct tr_judge *j, const struct compile_job *job, const char *root,
                     char key[static TR_SHA256_HEX], struct tr_err *err)
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *h = tr_sha256_new();

    if (!h)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to hash a source");
    tr_sha256_add_text(h, "compile 2"); /* raise it when what is kept changes its meaning */
    tr_sha256_add_text(h, root);
    tr_sha256_add_text(h, job->lang->artifact);
    for (size_t i = 0; i < job->lang->compile.count; i++)
        tr_sha256_add_text(h, job->lang->compile.words[i]);
    tr_sha256_add_text(h, "env");
    for (size_t i = 0; i < job->lang->env.count; i++)
        tr_sha256_add_text(h, job->lang->env.words[i]);
    hash_compiler(h, job->lang, root);
    if (job->helper && j->o.include)
        hash_include(h, j->o.include);
    for (size_t i = 0; i < job->nsources; i++) {
        uint64_t len = job->sources[i].len;

        tr_sha256_add_text(h, job->sources[i].name);
        tr_sha256_add(h, &len, sizeof(len));
        tr_sha256_add(h, job->sources[i].bytes, job->sources[i].len);
    }
    tr_sha256_end_hex(h, key);
    return 0;
}

/* The command with the folders for headers behind its first word. */
static const char **command(struct tr_judge *j, const struct compile_job *job,
                            struct tr_arena *arena)
{
    const struct tr_argv *c = &job->lang->compile;
    const char **words = tr_arena_array(arena, c->count + 3, sizeof(*words));
    const char *pch = job->lang->pch ? pch_folder(j, job->lang, arena) : NULL;
    size_t n = 0;

    if (!words)
        return NULL;
    words[n++] = c->words[0];
    if (pch)
        words[n++] = tr_arena_printf(arena, "-I%s", pch);
    if (job->helper && j->o.include && job->lang->pch)
        words[n++] = "-I" INCLUDE_INSIDE;
    for (size_t i = 1; i < c->count; i++)
        words[n++] = c->words[i];
    return words;
}

static int put_sources(tbox *box, const struct compile_job *job, struct tr_err *err)
{
    for (size_t i = 0; i < job->nsources; i++) {
        const struct source *s = &job->sources[i];
        tr_autoclose int fd = -1;
        int r = memory_file("source", s->bytes, s->len, &fd, err);

        if (r == 0)
            r = tbox_put(box, fd, i == 0 ? job->lang->source : s->name, 0444, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *why_stopped(enum tbox_cause cause)
{
    switch (cause) {
    case TBOX_CPU:
    case TBOX_WALL:
        return "[the compiler was stopped: it took too long]\n";
    case TBOX_MEMORY:
        return "[the compiler was stopped: it needed too much memory]\n";
    case TBOX_OUTPUT:
        return "[the compiler was stopped: it had too much to say]\n";
    case TBOX_FILES:
        return "[the compiler was stopped: a file became too large]\n";
    case TBOX_EXIT:
    case TBOX_SIGNAL:
    case TBOX_SYSCALL:
    case TBOX_CANCEL:
        break;
    }
    return NULL;
}

/* What it said, errors first, cut to the ceiling, as valid UTF-8. */
static int read_log(const int said[2], const char *more, struct tr_arena *arena, const char **ret,
                    struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, TR_COMPILE_LOG_MAX);
    if (more)
        tr_buf_adds(&b, more);
    for (size_t i = 0; i < 2; i++) {
        const char *text = NULL;
        size_t len = 0;
        int r = file_text(said[i], TR_COMPILE_LOG_MAX, arena, &text, &len, err);

        if (r < 0)
            return r;
        tr_text_clean(text, len, TR_COMPILE_LOG_MAX - b.len, &b);
    }
    *ret = tr_arena_strndup(arena, b.data ? b.data : "", b.len);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the compiler's words");
}

static void fill_spec(struct tr_judge *j, const struct compile_job *job, const char *const *argv,
                      struct tbox_spec *spec)
{
    const struct tr_lang *lang = job->lang;

    (void)j;
    *spec = (struct tbox_spec){
        .size = sizeof(*spec),
        .argv = argv,
        .env = lang->env.count ? lang->env.words : NULL,
        .fd = {-1, -1, -1},
        .cpu = -1,
        .flags = TBOX_KEEP_FILES,
    };
    tbox_limits_default(TBOX_COMPILE, &spec->limits);
    spec->limits.cpu_us = lang->compile_time_us;
    spec->limits.wall_us = 2 * lang->compile_time_us;
    spec->limits.memory_bytes = (uint64_t)lang->compile_memory_kib * 1024;
    spec->limits.output_bytes = OUTPUT_MAX;
    spec->limits.file_bytes = (uint64_t)FILE_MAX_MIB << 20;
}

/* A run that ended: CE, or the artifact. */
static int take_result(tbox *box, const struct compile_job *job, const struct tbox_report *report,
                       const int said[2], struct tr_arena *arena, struct compiled *ret,
                       struct tr_err *err)
{
    const char *stopped = why_stopped(report->cause), *more = stopped;
    struct tr_err why = TR_ERR_INIT;
    uint64_t size = 0;
    int fd = -1;

    ret->report.time_us = report->cpu_us;
    ret->report.memory_kib = (int64_t)(report->memory_bytes / 1024);
    ret->verdict = TR_V_CE;
    ret->sub = stopped ? TR_SUB_CTL : TR_SUB_NONE;
    if (report->cause == TBOX_EXIT && report->exit_code == 0) {
        int r = tbox_get(box, job->lang->artifact, job->artifact_max, &fd, &size, &why);

        if (r == 0) {
            ret->verdict = TR_V_AC;
            ret->artifact = fd;
        } else if (r == TR_E_LIMIT) {
            more = "[the program is too large]\n";
            ret->sub = TR_SUB_CTL;
        } else if (tr_err_class(r) == TR_E_USAGE || r == TR_E_DENIED) {
            /* Missing, or a link, a FIFO, a folder: the box opened none of them. */
            more = "[the compiler left no program]\n";
        } else {
            *err = why;
            return r;
        }
    } else if (!stopped && report->signal) {
        more = "[the compiler crashed]\n";
    }
    return read_log(said, more, arena, &ret->report.log, err);
}

static int compile_in_box(struct tr_judge *j, const struct compile_job *job, const char *root,
                          struct tr_arena *arena, struct compiled *ret, struct tr_err *err)
{
    tr_autoclose int out = -1, errfd = -1;
    struct tbox_report report;
    struct tbox_spec spec;
    tbox *box = NULL;
    const char **argv = command(j, job, arena);
    int r = argv ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for a command");

    if (r == 0)
        r = empty_memory_file("compiler output", &out, err);
    if (r == 0)
        r = empty_memory_file("compiler errors", &errfd, err);
    if (r == 0)
        r = boxes_get(j->boxes, TBOX_COMPILE, root, 0, &box, err);
    if (r == 0)
        r = put_sources(box, job, err);
    if (r < 0)
        return r;
    fill_spec(j, job, argv, &spec);
    spec.fd[1] = out;
    spec.fd[2] = errfd;
    r = boxed_run(box, &spec, job->events, &report, err);
    if (r == TR_E_NOTFOUND || r == TR_E_DENIED)
        return tr_fail(err, TR_E_UNSUPPORTED, 0, "the language %s is not usable here: no '%s'",
                       job->lang->slug, argv[0]);
    if (r == 0)
        r = take_result(box, job, &report, (const int[2]){errfd, out}, arena, ret, err);
    if (r < 0)
        boxes_drop(j->boxes, box);
    return r;
}

/* Nothing to compile: the source is the program. */
static int as_it_is(const struct compile_job *job, struct compiled *ret, struct tr_err *err)
{
    ret->verdict = TR_V_AC;
    ret->report.log = "";
    return memory_file("program", job->sources[0].bytes, job->sources[0].len, &ret->artifact, err);
}

/* Look, lock, look again, compile, keep. */
static int compile_cached(struct tr_judge *j, const struct compile_job *job, const char *root,
                          struct tr_arena *arena, struct compiled *ret, struct tr_err *err)
{
    char key[TR_SHA256_HEX];
    tr_autoclose int lock = -1;
    int kept = -1;
    int r = cache_key(j, job, root, key, err);

    if (r < 0)
        return r;
    r = tr_cache_get(j->cache, key, &ret->artifact, NULL);
    if (r == TR_E_NOTFOUND) {
        /* Without room for a lock somebody may compile the same beside us: a full disk costs speed,
         * not verdicts. */
        r = tr_cache_lock(j->cache, key, &lock, err);
        if (r < 0 && (!err || err->sys != ENOSPC))
            return r;
        r = tr_cache_get(j->cache, key, &ret->artifact, NULL);
    }
    if (r == 0) {
        ret->verdict = TR_V_AC;
        ret->report.cached = true;
        ret->report.log = "";
        return 0;
    }
    r = compile_in_box(j, job, root, arena, ret, err);
    if (r < 0 || ret->verdict != TR_V_AC)
        return r;
    if (tr_cache_put(j->cache, key, ret->artifact, &kept, NULL) == 0) {
        tr_close(&ret->artifact);
        ret->artifact = kept;
        if (tr_random_below(16) == 0)
            (void)tr_cache_trim(j->cache, NULL);
    }
    return 0;
}

int stage_compile(struct tr_judge *j, const struct compile_job *job, struct tr_arena *arena,
                  struct compiled *ret, struct tr_err *err)
{
    const char *root = NULL;
    struct compiled c = {.artifact = -1, .report = {.ran = true}};
    int r = judge_root(j, job->lang, &root, err);

    if (r < 0)
        return r;
    if (job->lang->compile.count == 0) {
        c.report.ran = false;
        r = as_it_is(job, &c, err);
    } else if (j->cache && job->keep) {
        r = compile_cached(j, job, root, arena, &c, err);
    } else {
        r = compile_in_box(j, job, root, arena, &c, err);
    }
    if (r < 0) {
        tr_close(&c.artifact);
        return r;
    }
    *ret = c;
    return 0;
}
