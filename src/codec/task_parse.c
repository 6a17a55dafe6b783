/* SPDX-License-Identifier: MIT
 *
 * task_parse.c - seed 000 §4.1 and seed 001 §3.3 (inline tests) into struct tr_task.
 *
 * Hostile input: every text is bounded, every number has a range, and no value is clipped.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/task.h"

/* tr_json_* return 1, 0 or an error: stop at errors, keep the answer in `got`. */
#define TRY(got, call)                                                                             \
    do {                                                                                           \
        (got) = (call);                                                                            \
        if ((got) < 0)                                                                             \
            return (got);                                                                          \
    } while (0)

static int required(int got, const char *name, struct tr_err *err)
{
    return got > 0 ? 0 : tr_fail(err, TR_E_PARSE, 0, "%s is missing", name);
}

/* A limit by its seed name, or by the name with the unit in it, which wins. */
struct limit {
    const char *plain, *exact;
    int64_t plain_unit, exact_unit, max;
    int64_t *to;
    bool *said;
};

static int parse_limit(const json_t *o, const char *where, const struct limit *l,
                       struct tr_err *err)
{
    int64_t v = 0, unit = l->exact_unit;
    int got;

    TRY(got, tr_json_int(o, where, l->exact, 1, l->max / unit, &v, err));
    if (!got) {
        unit = l->plain_unit;
        TRY(got, tr_json_int(o, where, l->plain, 1, l->max / unit, &v, err));
    }
    if (got) {
        *l->to = v * unit;
        *l->said = true;
    }
    return 0;
}

static int parse_limits(const json_t *o, struct tr_task *t, struct tr_err *err)
{
    struct tr_limits *l = &t->problem.limits;
    const struct limit rows[] = {
        {"time_limit", "time_limit_ms", 1000, 1000, TR_TIME_US_MAX, &l->time_us,
         &t->problem.has_time},
        {"wall_limit", "wall_limit_ms", 1000, 1000, TR_WALL_US_MAX, &l->wall_us,
         &t->problem.has_wall},
        {"memory_limit", "memory_limit_kib", 1024, 1, TR_MEMORY_KIB_MAX, &l->memory_kib,
         &t->problem.has_memory},
        {"stack_limit", "stack_limit_kib", 1024, 1, TR_MEMORY_KIB_MAX, &l->stack_kib,
         &t->problem.has_stack},
        {"output_limit", "output_limit_bytes", 1024, 1, TR_OUTPUT_BYTES_MAX, &l->output_bytes,
         &t->problem.has_output},
    };

    tr_limits_default(l);
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        int r = parse_limit(o, "problem", &rows[i], err);
        if (r < 0)
            return r;
    }
    return tr_limits_check(l, err);
}

static int parse_test(const json_t *c, size_t i, struct tr_arena *a, struct tr_task *t,
                      struct tr_err *err)
{
    struct tr_test *test = &t->problem.tests[i];
    int64_t milli = 0;
    int got;

    if (!json_is_object(c))
        return tr_fail(err, TR_E_PARSE, 0, "problem.test_cases[%zu]: expected an object", i);
    TRY(got, tr_json_bytes(c, "test_cases", "input", a, &test->input_text, &test->input_len, err));
    if (!got)
        test->input_text = "";
    TRY(got, tr_json_bytes(c, "test_cases", "expected_output", a, &test->answer_text,
                           &test->answer_len, err));
    if (!got)
        return tr_fail(err, TR_E_PARSE, 0, "problem.test_cases[%zu].expected_output is missing", i);
    TRY(got, tr_json_milli(c, "test_cases", "score", 0, 1000000000, &milli, err));
    test->points = milli * (TR_POINT / 1000);
    t->problem.has_scores = t->problem.has_scores || got;
    test->name = tr_arena_printf(a, "%zu", i + 1);
    return test->name ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the tests");
}

static int parse_tests(const json_t *o, struct tr_arena *a, struct tr_task *t, struct tr_err *err)
{
    const json_t *list = NULL;
    int got;

    TRY(got, tr_json_array(o, "problem", "test_cases", &list, err));
    if (!got || json_array_size(list) == 0)
        return 0;
    size_t n = json_array_size(list);
    if (n > TR_TESTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "problem.test_cases has %zu tests; at most %d are taken",
                       n, TR_TESTS_MAX);
    t->problem.tests = tr_arena_array(a, n, sizeof(*t->problem.tests));
    if (!t->problem.tests)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the tests");
    for (size_t i = 0; i < n; i++) {
        int r = parse_test(json_array_get(list, i), i, a, t, err);
        if (r < 0)
            return r;
    }
    t->problem.ntests = n;
    return 0;
}

static bool is_sha256(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static int parse_hash(const json_t *o, struct tr_arena *a, struct tr_task *t, struct tr_err *err)
{
    int got;

    TRY(got, tr_json_text(o, "problem", "test_data_hash", a, &t->problem.test_data_hash, err));
    if (!got)
        return 0;
    /* The seed writes "sha256..."; both that prefix and bare digits are seen in the wild. */
    if (strncmp(t->problem.test_data_hash, "sha256:", 7) == 0)
        t->problem.test_data_hash += 7;
    if (!is_sha256(t->problem.test_data_hash))
        return tr_fail(err, TR_E_PARSE, 0,
                       "problem.test_data_hash: expected 64 hexadecimal digits of a SHA-256");
    return 0;
}

static int parse_scoring(const json_t *o, struct tr_arena *a, struct tr_task *t, struct tr_err *err)
{
    const char *scoring = NULL;
    int got;

    TRY(got, tr_json_text(o, "problem", "scoring", a, &scoring, err));
    if (!got)
        return 0;
    bool oi = strcmp(scoring, "OI") == 0;
    if (!oi && strcmp(scoring, "ACM") != 0)
        return tr_fail(err, TR_E_PARSE, 0, "problem.scoring: expected \"ACM\" or \"OI\"");
    t->problem.has_scoring = true;
    t->problem.scoring = oi ? TR_SCORING_OI : TR_SCORING_ACM;
    return 0;
}

static int parse_problem(const json_t *root, struct tr_arena *a, struct tr_task *t,
                         struct tr_err *err)
{
    const json_t *o = NULL;
    int got, r;

    TRY(got, tr_json_object(root, "", "problem", &o, err));
    r = required(got, "problem", err);
    if (r < 0)
        return r;
    TRY(got, tr_json_int(o, "problem", "id", 0, INT64_MAX, &t->problem.id, err));
    TRY(got, tr_json_text(o, "problem", "title", a, &t->problem.title, err));
    TRY(got, tr_json_bool(o, "problem", "is_spj", &t->problem.is_spj, err));
    TRY(got, tr_json_text(o, "problem", "test_data_zip", a, &t->problem.test_data_zip, err));
    r = parse_hash(o, a, t, err);
    if (r == 0)
        r = parse_scoring(o, a, t, err);
    if (r == 0)
        r = parse_limits(o, t, err);
    return r < 0 ? r : parse_tests(o, a, t, err);
}

static int parse_words(const json_t *o, const char *name, struct tr_arena *a, struct tr_argv *ret,
                       struct tr_err *err)
{
    const json_t *list = NULL;
    int got;

    TRY(got, tr_json_array(o, "language", name, &list, err));
    if (!got)
        return 0;
    size_t n = json_array_size(list);
    if (n > TR_LANG_ARGS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "language.%s has %zu words; at most %d are taken", name,
                       n, TR_LANG_ARGS_MAX);
    const char **words = tr_arena_array(a, n + 1, sizeof(*words));
    if (!words)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for language.%s", name);
    for (size_t i = 0; i < n; i++) {
        const json_t *w = json_array_get(list, i);

        if (!json_is_string(w) || json_string_length(w) > TR_LANG_WORD_MAX ||
            strlen(json_string_value(w)) != json_string_length(w))
            return tr_fail(err, TR_E_PARSE, 0,
                           "language.%s[%zu]: expected a text of at most %d bytes", name, i,
                           TR_LANG_WORD_MAX);
        words[i] = tr_arena_strdup(a, json_string_value(w));
        if (!words[i])
            return tr_fail(err, TR_E_NOMEM, 0, "no memory for language.%s", name);
    }
    *ret = (struct tr_argv){.words = words, .count = n};
    return 1;
}

/* A plain file name: it becomes a file in the box's work folder and a word of commands. */
static bool plain_name(const char *s)
{
    size_t n = strlen(s);

    return n > 0 && n <= TR_LANG_NAME_MAX && !strchr(s, '/') && s[0] != '.' && s[0] != '-' &&
           !strpbrk(s, "\n\r\t\\");
}

/* The commands of a language that came with the task: all or none of them. */
static int parse_commands(const json_t *o, struct tr_arena *a, struct tr_task *t,
                          struct tr_err *err)
{
    struct tr_lang *l = &t->lang;
    int got;

    TRY(got, parse_words(o, "run_cmd", a, &l->run, err));
    if (!got)
        return 0;
    if (l->run.count == 0)
        return tr_fail(err, TR_E_PARSE, 0, "language.run_cmd is empty");
    t->has_lang = true;
    TRY(got, parse_words(o, "compile_cmd", a, &l->compile, err));
    TRY(got, tr_json_text(o, "language", "source_filename", a, &l->source, err));
    if (!got)
        return tr_fail(err, TR_E_PARSE, 0, "language.source_filename is missing");
    if (!plain_name(l->source))
        return tr_fail(err, TR_E_PARSE, 0, "language.source_filename: expected a plain file name");
    TRY(got, tr_json_text(o, "language", "artifact", a, &l->artifact, err));
    if (got && !plain_name(l->artifact))
        return tr_fail(err, TR_E_PARSE, 0, "language.artifact: expected a plain file name");
    return 0;
}

static int parse_language(const json_t *root, struct tr_arena *a, struct tr_task *t,
                          struct tr_err *err)
{
    const json_t *o = NULL;
    struct tr_lang *l = &t->lang;
    int got, r;
    bool said = false;

    TRY(got, tr_json_object(root, "", "language", &o, err));
    r = required(got, "language", err);
    if (r < 0)
        return r;
    TRY(got, tr_json_text(o, "language", "slug", a, &t->lang_slug, err));
    r = required(got, "language.slug", err);
    if (r < 0)
        return r;
    if (strlen(t->lang_slug) > TR_LANG_SLUG_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "language.slug is too long");
    *l = (struct tr_lang){.slug = t->lang_slug, .name = t->lang_slug, .from_task = true};
    r = parse_commands(o, a, t, err);
    if (r < 0)
        return r;
    TRY(got, tr_json_text(o, "language", "docker_image", a, &l->root, err));
    TRY(got, tr_json_milli(o, "language", "time_factor", TR_FACTOR_MILLI_MIN, TR_FACTOR_MILLI_MAX,
                           &l->time_milli, err));
    TRY(got, tr_json_milli(o, "language", "memory_factor", TR_FACTOR_MILLI_MIN, TR_FACTOR_MILLI_MAX,
                           &l->memory_milli, err));
    TRY(got, tr_json_int(o, "language", "pids_limit", 1, TR_PIDS_MAX, &l->pids, err));
    const struct limit output = {"output_limit",      "output_limit_bytes", 1024, 1,
                                 TR_OUTPUT_BYTES_MAX, &l->output_bytes,     &said};
    return parse_limit(o, "language", &output, err);
}

/* A block that only the site understands: kept as text. */
static int keep_block(const json_t *root, const char *name, struct tr_arena *a, const char **ret,
                      struct tr_err *err)
{
    const json_t *j = json_object_get(root, name);

    if (!j || json_is_null(j))
        return 0;
    tr_autofree char *text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
    *ret = text ? tr_arena_strdup(a, text) : NULL;
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for '%s'", name);
}

static int parse_root(const json_t *root, struct tr_arena *a, struct tr_task *t, struct tr_err *err)
{
    int got, r;

    TRY(got, tr_json_text(root, "", "submit_id", a, &t->submit_id, err));
    r = required(got, "submit_id", err);
    if (r < 0)
        return r;
    size_t len = strlen(t->submit_id);
    if (len == 0 || len > 128 || t->submit_id[0] == '.' ||
        strspn(t->submit_id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") !=
            len)
        return tr_fail(err, TR_E_PARSE, 0,
                       "submit_id: expected up to 128 letters, digits, '.', '_' or '-'");
    TRY(got, tr_json_text(root, "", "idempotency_key", a, &t->idempotency_key, err));
    TRY(got, tr_json_bytes(root, "", "code", a, &t->code, &t->code_len, err));
    r = required(got, "code", err);
    if (r < 0)
        return r;
    if (t->code_len > TR_SOURCE_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "code has %zu bytes; at most %d are taken", t->code_len,
                       TR_SOURCE_MAX);
    TRY(got, tr_json_int(root, "", "retry_count", 0, 1000000, &t->retry_count, err));
    TRY(got, tr_json_text(root, "", "created_at", a, &t->created_at, err));
    r = parse_problem(root, a, t, err);
    if (r == 0)
        r = parse_language(root, a, t, err);
    if (r == 0)
        r = keep_block(root, "contest", a, &t->contest, err);
    if (r == 0)
        r = keep_block(root, "user", a, &t->user, err);
    return r;
}

int tr_task_parse(const char *bytes, size_t len, struct tr_arena *arena, struct tr_task *ret,
                  struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *root = NULL;
    struct tr_task t = {0};
    int r = tr_json_parse(bytes, len, TR_TASK_BYTES_MAX, &root, err);

    if (r == 0)
        r = parse_root(root, arena, &t, err);
    if (r < 0)
        return r;
    *ret = t;
    return 0;
}
