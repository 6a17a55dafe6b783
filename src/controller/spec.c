/* SPDX-License-Identifier: MIT
 *
 * spec.c - from the JSON of a client to a task message, strictly.
 *
 * The client may write the short form (problem and language by name) or the whole task message;
 * what goes to the database is always the whole message, pinned to one version of the test data,
 * and has passed the same parser that the judge uses.
 */
#include "controller/spec.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rand.h"
#include "codec/task.h"
#include "controller/ctl.h"
#include "controller/problems.h"
#include "rt/conf.h"

enum {
    ARENA_MAX = 48 * 1024 * 1024 /* the message, its parsed form and its text: three times 16 MiB */
};

int bad_say(struct bad *bad, int status, const char *code, const char *field, const char *fmt, ...)
{
    va_list ap;

    bad->status = status;
    bad->code = code;
    (void)snprintf(bad->field, sizeof(bad->field), "%s", field ? field : "");
    va_start(ap, fmt);
    (void)vsnprintf(bad->message, sizeof(bad->message), fmt, ap);
    va_end(ap);
    return TR_E_USAGE;
}

/* The codecs' sentences begin with the name of the field. */
static int bad_from(struct bad *bad, const struct tr_err *err)
{
    char field[64] = "";
    size_t n = strspn(err->msg, "abcdefghijklmnopqrstuvwxyz0123456789_.[]");

    if (n > 0 && n < sizeof(field) && (err->msg[n] == ' ' || err->msg[n] == ':'))
        (void)snprintf(field, sizeof(field), "%.*s", (int)n, err->msg);
    bool missing = strstr(err->msg, " is missing") != NULL;
    return bad_say(bad, 422, missing ? "missing_field" : "bad_field", field, "%s", err->msg);
}

/* A text member within `max` bytes: 1 there, 0 absent, negative refused. */
static int text_of(const json_t *o, const char *name, size_t max, const char **ret, struct bad *bad)
{
    const json_t *v = json_object_get(o, name);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return bad_say(bad, 422, "bad_field", name, "%s: expected a text", name);
    if (json_string_length(v) > max)
        return bad_say(bad, 422, "bad_field", name, "%s has %zu bytes; at most %zu are taken", name,
                       json_string_length(v), max);
    *ret = json_string_value(v);
    return 1;
}

static const char *keep(struct spec *s, const char *text)
{
    const char *copy = tr_arena_strdup(&s->arena, text);

    return copy ? copy : "";
}

/* A name or a number as text: users, contests and problems come as either. */
static const char *name_of(struct spec *s, const json_t *v)
{
    if (json_is_string(v))
        return keep(s, json_string_value(v));
    if (json_is_integer(v)) {
        const char *t = tr_arena_printf(&s->arena, "%lld", (long long)json_integer_value(v));
        return t ? t : "";
    }
    return "";
}

/* ---------------------------------------------------------------- parts */

static int read_user(struct spec *s, const json_t *body, struct bad *bad)
{
    const json_t *u = json_object_get(body, "user");

    s->user_id = s->user_name = s->contest = "";
    if (json_is_string(u) || json_is_integer(u)) {
        s->user_id = s->user_name = name_of(s, u);
    } else if (json_is_object(u)) {
        s->user_id = name_of(s, json_object_get(u, "id"));
        s->user_name = name_of(s, json_object_get(u, "username"));
        if (!*s->user_id)
            s->user_id = s->user_name;
    } else if (u && !json_is_null(u)) {
        return bad_say(bad, 422, "bad_field", "user", "user: expected a name or an object");
    }
    if (strlen(s->user_id) > TR_STORE_NAME_MAX || strlen(s->user_name) > TR_STORE_NAME_MAX)
        return bad_say(bad, 422, "bad_field", "user", "user: at most %d bytes", TR_STORE_NAME_MAX);
    const json_t *c = json_object_get(body, "contest");
    if (json_is_object(c))
        s->contest = name_of(s, json_object_get(c, "id"));
    else if (c && !json_is_null(c))
        return bad_say(bad, 422, "bad_field", "contest", "contest: expected an object");
    return strlen(s->contest) > TR_STORE_NAME_MAX
               ? bad_say(bad, 422, "bad_field", "contest", "contest.id is too long")
               : 0;
}

static int read_order(struct spec *s, const json_t *body, const struct key_who *who,
                      struct bad *bad)
{
    const json_t *p = json_object_get(body, "priority");
    const char *class = NULL;

    if (p && !json_is_null(p)) {
        if (!json_is_integer(p) || json_integer_value(p) < -SPEC_PRIORITY_MAX ||
            json_integer_value(p) > SPEC_PRIORITY_MAX)
            return bad_say(bad, 422, "bad_field", "priority",
                           "priority: expected a whole number from -%d to %d", SPEC_PRIORITY_MAX,
                           SPEC_PRIORITY_MAX);
        s->priority = json_integer_value(p);
        if (s->priority > 0 && who && who->role < ROLE_ADMIN)
            return bad_say(bad, 403, "forbidden", "priority",
                           "a priority over 0 needs the role "
                           "'admin'");
    }
    int r = text_of(body, "class", 16, &class, bad);
    if (r <= 0 || !class)
        return r < 0 ? r : 0;
    if (strcmp(class, "light") != 0 && strcmp(class, "heavy") != 0)
        return bad_say(bad, 422, "bad_field", "class", "class: expected \"light\" or \"heavy\"");
    s->class = keep(s, class);
    return 0;
}

static int no_such_language(struct ctl *ctl, const char *slug, struct bad *bad)
{
    const char *words[128];
    size_t n = 0;

    for (; n < ctl->langs.count && n < TR_ARRAY_LEN(words) - 1; n++)
        words[n] = ctl->langs.list[n].slug;
    words[n] = NULL;
    const char *near = tr_conf_closest(slug, words);
    if (near)
        return bad_say(bad, 422, "unknown_language", "language",
                       "there is no language '%.64s'; did you mean '%s'?", slug, near);
    return bad_say(bad, 422, "unknown_language", "language",
                   "there is no language '%.64s'; GET /api/v1/languages lists them", slug);
}

/* A name of a client's own: people read it in lists, logs and metrics. */
static bool slug_ok(const char *slug)
{
    size_t n = strlen(slug);

    return n <= 64 && strspn(slug, "0123456789abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ+#._-") == n;
}

/* The language as an object in `task`; *ret is what we know of it, or NULL when it brings its own
 * commands. */
static int put_language(struct ctl *ctl, struct spec *s, const json_t *body, json_t *task,
                        const struct tr_lang **ret, struct bad *bad)
{
    json_t *l = json_object_get(body, "language");

    if (!l || json_is_null(l))
        return bad_say(bad, 422, "missing_field", "language", "language is missing");
    if (json_is_string(l))
        l = json_pack("{s:O}", "slug", l);
    else if (json_is_object(l))
        l = json_incref(l);
    else
        return bad_say(bad, 422, "bad_field", "language", "language: expected a slug or an object");
    const char *slug = json_string_value(json_object_get(l, "slug"));
    const json_t *run_cmd = json_object_get(l, "run_cmd");
    bool own = run_cmd && !json_is_null(run_cmd); /* as the judge's parser sees it */
    if (json_object_set_new(task, "language", l) < 0)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    if (!slug || !*slug)
        return bad_say(bad, 422, "missing_field", "language.slug", "language.slug is missing");
    *ret = tr_langs_find(&ctl->langs, slug);
    if (!*ret && !own)
        return no_such_language(ctl, slug, bad);
    if (!*ret && !slug_ok(slug))
        return bad_say(bad, 422, "bad_field", "language.slug",
                       "language.slug: expected up to 64 letters, digits, '+', '#', '.', '_' or "
                       "'-'");
    s->lang = keep(s, slug);
    s->own_lang = own;
    return 0;
}

static int pin_problem(struct ctl *ctl, struct spec *s, const char *id, json_t *p, struct bad *bad)
{
    const struct problem *known = problems_find(ctl->problems, id);

    if (!known || !known->data[0])
        return bad_say(bad, 422, "unknown_problem", "problem",
                       known ? "problem '%.64s' cannot be used: its package has faults"
                             : "there is no problem '%.64s'; GET /api/v1/problems lists them",
                       id);
    s->problem = keep(s, known->id);
    s->data = keep(s, known->data);
    s->version = keep(s, known->version);
    if (!json_object_get(p, "title"))
        (void)json_object_set_new(p, "title", json_string(known->name));
    if (json_object_set_new(p, "key", json_string(known->id)) < 0 ||
        json_object_set_new(p, "version", json_string(known->version)) < 0 ||
        json_object_set_new(p, "test_data_hash", json_string(known->data)) < 0)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    return 0;
}

static int put_problem(struct ctl *ctl, struct spec *s, const json_t *body, json_t *task,
                       struct bad *bad)
{
    json_t *said = json_object_get(body, "problem");

    s->problem = s->data = s->version = "";
    if (!said || json_is_null(said))
        return bad_say(bad, 422, "missing_field", "problem", "problem is missing");
    json_t *p = json_is_object(said) ? json_copy(said) : json_object();
    if (!p || json_object_set_new(task, "problem", p) < 0)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    if (json_is_string(said) || json_is_integer(said))
        return pin_problem(ctl, s, name_of(s, said), p, bad);
    if (!json_is_object(said))
        return bad_say(bad, 422, "bad_field", "problem", "problem: expected an id or an object");
    if (json_object_get(p, "test_cases") || json_object_get(p, "test_data_zip")) {
        s->problem = name_of(s, json_object_get(p, "id"));
        if (!*s->problem)
            s->problem = name_of(s, json_object_get(p, "title"));
        return 0;
    }
    const json_t *id =
        json_object_get(p, "key") ? json_object_get(p, "key") : json_object_get(p, "id");
    if (!id)
        return bad_say(bad, 422, "missing_field", "problem",
                       "problem: expected test_cases, test_data_zip or the id of a problem here");
    return pin_problem(ctl, s, name_of(s, id), p, bad);
}

/* A run is a task with one inline test whose answer nobody looks at. */
static int put_run(struct spec *s, const json_t *body, json_t *task, struct bad *bad)
{
    const char *input = "";
    const json_t *in = json_object_get(body, "stdin");

    s->problem = s->data = s->version = "";
    if (in && !json_is_null(in)) {
        if (!json_is_string(in) || json_string_length(in) > SPEC_STDIN_MAX)
            return bad_say(bad, 422, "bad_field", "stdin",
                           "stdin: expected a text of at most %d bytes", SPEC_STDIN_MAX);
    }
    json_t *test = json_is_string(in)
                       ? json_pack("{s:O, s:s}", "input", in, "expected_output", "")
                       : json_pack("{s:s, s:s}", "input", input, "expected_output", "");
    json_t *p = json_pack("{s:[o]}", "test_cases", test);
    static const char *const limits[] = {"time_limit", "memory_limit"};
    for (size_t i = 0; p && i < TR_ARRAY_LEN(limits); i++) {
        json_t *v = json_object_get(body, limits[i]);

        if (v)
            (void)json_object_set(p, limits[i], v);
    }
    return json_object_set_new(task, "problem", p) < 0
               ? bad_say(bad, 503, "not_ready", NULL, "out of memory")
               : 0;
}

static int put_code(const json_t *body, json_t *task, struct bad *bad)
{
    json_t *code = json_object_get(body, "code");

    if (!code || json_is_null(code))
        return bad_say(bad, 422, "missing_field", "code", "code is missing");
    if (!json_is_string(code))
        return bad_say(bad, 422, "bad_field", "code", "code: expected a text");
    if (json_string_length(code) == 0)
        return bad_say(bad, 422, "bad_field", "code", "code is empty");
    return json_object_set(task, "code", code);
}

static int put_names(struct spec *s, const json_t *body, const char *header_key, json_t *task,
                     struct bad *bad)
{
    const char *id = NULL, *key = header_key;
    int r = text_of(body, "submit_id", TR_STORE_SUBMIT_ID_MAX, &id, bad);

    if (r >= 0)
        r = text_of(body, "idempotency_key", TR_STORE_KEY_MAX, &key, bad);
    if (r < 0)
        return r;
    if (key && strlen(key) > TR_STORE_KEY_MAX)
        return bad_say(bad, 422, "bad_field", "Idempotency-Key", "at most %d bytes are taken",
                       TR_STORE_KEY_MAX);
    s->idempotency_key = key && *key ? keep(s, key) : NULL;
    s->submit_id = id ? keep(s, id)
                      : tr_arena_printf(&s->arena, "%012llx%016llx",
                                        (unsigned long long)(tr_clock_real_us() / 1000),
                                        (unsigned long long)tr_random_u64());
    if (!s->submit_id)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    (void)json_object_set_new(task, "submit_id", json_string(s->submit_id));
    if (s->idempotency_key)
        (void)json_object_set_new(task, "idempotency_key", json_string(s->idempotency_key));
    static const char *const carried[] = {"user", "contest", "created_at"};
    for (size_t i = 0; i < TR_ARRAY_LEN(carried); i++) {
        json_t *v = json_object_get(body, carried[i]);

        if (v)
            (void)json_object_set(task, carried[i], v);
    }
    return 0;
}

/* ---------------------------------------------------------------- the whole */

void spec_queue(const char *class, const char *lang, int64_t priority, int64_t memory_kib,
                char out[static 192])
{
    const char *band = priority > 0 ? "high" : priority < 0 ? "low" : "normal";

    /* What needs much memory has queues of its own: not every judge has it. */
    if (memory_kib > INT64_C(4) * 1024 * 1024)
        class = "huge";
    else if (memory_kib > INT64_C(1024) * 1024)
        class = "big";
    (void)snprintf(out, 192, "judge.%s.%s.%.64s", band, class, lang);
}

static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || strchr(", ", p[-1])) && strchr(", ", p[n])) /* the end counts too */
            return true;
    return false;
}

const char *spec_class(const struct ctl *ctl, const char *lang)
{
    return listed(ctl->conf.heavy, lang) ? "heavy" : "light";
}

/* Parse it as the judge will, and choose the queue by what it needs. */
static int check_task(struct ctl *ctl, struct spec *s, const struct tr_lang *lang, struct bad *bad)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_task t;
    int r = tr_task_parse(s->task, s->task_len, &s->arena, &t, &err);

    if (r < 0)
        return bad_from(bad, &err);
    const struct problem *p = *s->data ? problems_find(ctl->problems, s->problem) : NULL;
    int64_t memory = p && !t.problem.has_memory ? p->memory_kib : t.problem.limits.memory_kib;
    int64_t factor = t.lang.memory_milli ? t.lang.memory_milli : lang ? lang->memory_milli : 1000;
    memory = memory * (factor ? factor : 1000) / 1000;
    if (!s->class)
        s->class = spec_class(ctl, s->lang);
    spec_queue(s->class, t.has_lang ? "custom" : s->lang, s->priority, memory, s->queue);
    return 0;
}

static int build(struct ctl *ctl, const json_t *body, bool run, const struct key_who *who,
                 const char *header_key, struct spec *s, struct bad *bad)
{
    TR_CLEANUP(tr_json_unrefp) json_t *task = json_object();
    const struct tr_lang *lang = NULL;

    if (!task)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    int r = put_names(s, body, header_key, task, bad);
    if (r == 0)
        r = read_user(s, body, bad);
    if (r == 0)
        r = read_order(s, body, who, bad);
    if (r == 0)
        r = put_language(ctl, s, body, task, &lang, bad);
    if (r == 0)
        r = run ? put_run(s, body, task, bad) : put_problem(ctl, s, body, task, bad);
    if (r == 0)
        r = put_code(body, task, bad);
    if (r < 0)
        return r;
    if (s->class)
        (void)json_object_set_new(task, "class", json_string(s->class));
    s->task = json_dumps(task, JSON_COMPACT);
    if (!s->task)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    s->task_len = strlen(s->task);
    return check_task(ctl, s, lang, bad);
}

int spec_parse(struct ctl *ctl, const json_t *body, bool run, const struct key_who *who,
               const char *header_key, struct spec *ret, struct bad *bad)
{
    *ret = (struct spec){.run = run};
    tr_arena_init(&ret->arena, ARENA_MAX);
    if (!json_is_object(body))
        return bad_say(bad, 400, "bad_json", NULL, "expected a JSON object");
    return build(ctl, body, run, who, header_key, ret, bad);
}

int spec_again(struct ctl *ctl, const char *task, size_t len, bool run, struct spec *ret,
               struct bad *bad)
{
    TR_CLEANUP(tr_json_unrefp) json_t *body = NULL;
    struct tr_err err = TR_ERR_INIT;

    *ret = (struct spec){.run = run, .priority = -1};
    tr_arena_init(&ret->arena, ARENA_MAX);
    if (tr_json_parse(task, len, TR_TASK_BYTES_MAX, &body, &err) < 0)
        return bad_from(bad, &err);
    int r = build(ctl, body, false, NULL, NULL, ret, bad);
    ret->run = run;
    return r;
}

void spec_done(struct spec *s)
{
    free(s->task);
    tr_arena_done(&s->arena);
    *s = (struct spec){0};
}
