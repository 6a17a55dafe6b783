/* SPDX-License-Identifier: MIT
 *
 * judge_says.c - see judge_says.h.
 */
#include "controller/judge_says.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json.h"
#include "controller/judges.h"
#include "model/limits.h"
#include "model/verdict.h"

enum {
    TEXT_MAX = 200, /* of a compiler's version, of what is weak about a box */
    WEAK_MAX = 64,
    CLASSES_MAX = 8
};
#define TIME_MS_MAX (INT64_C(7) * 86400 * 1000)     /* a week */
#define MEMORY_KB_MAX (INT64_C(1024) * 1024 * 1024) /* a tebibyte */
#define SCORE_MAX 1e9

/* ---------------------------------------------------------------- refused */

static bool integer_within(const json_t *v, json_int_t min, json_int_t max)
{
    return json_is_integer(v) && json_integer_value(v) >= min && json_integer_value(v) <= max;
}

const char *judge_says_bad_ready(const json_t *m)
{
    const json_t *langs = json_object_get(m, "languages"), *runs = json_object_get(m, "running");

    if (!integer_within(json_object_get(m, "tokens"), 0, JUDGE_TOKENS_MAX))
        return "tokens";
    if (!json_is_array(langs) || json_array_size(langs) == 0 ||
        json_array_size(langs) > JUDGE_LANGS_MAX)
        return "languages";
    if (!integer_within(json_object_get(m, "memory_mib"), 1, INT32_MAX))
        return "memory_mib";
    if (runs && (!json_is_array(runs) || json_array_size(runs) > JUDGE_TOKENS_MAX))
        return "running";
    return NULL;
}

const char *judge_says_bad_result(const json_t *m)
{
    const json_t *result = json_object_get(m, "result"), *score = json_object_get(m, "score"),
                 *time = json_object_get(result, "time_ms"),
                 *memory = json_object_get(result, "memory_kb"),
                 *cases = json_object_get(result, "cases");
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    enum tr_verdict v = verdict ? tr_verdict_parse(verdict) : TR_V_NONE;
    double points = json_number_value(score);

    if (v == TR_V_NONE || v == TR_V_JE || v == TR_V_SK)
        return "result.verdict";
    if (time && !integer_within(time, 0, TIME_MS_MAX))
        return "result.time_ms";
    if (memory && !integer_within(memory, 0, MEMORY_KB_MAX))
        return "result.memory_kb";
    if (cases && (!json_is_array(cases) || json_array_size(cases) > TR_TESTS_MAX))
        return "result.cases";
    if (score && (!json_is_number(score) || !(points > -SCORE_MAX && points < SCORE_MAX)))
        return "score";
    return NULL;
}

/* ---------------------------------------------------------------- shown */

static json_t *text_of(const json_t *v)
{
    return json_is_string(v) ? tr_json_clean(json_string_value(v), json_string_length(v), TEXT_MAX)
                             : NULL;
}

static void put_text(json_t *to, const json_t *from, const char *name)
{
    json_t *text = text_of(json_object_get(from, name));

    if (text)
        (void)json_object_set_new(to, name, text);
}

static void put_texts(json_t *to, const json_t *from, const char *name, size_t max)
{
    const json_t *list = json_object_get(from, name), *v;
    json_t *kept = json_is_array(list) ? json_array() : NULL;
    size_t i;

    if (!kept)
        return;
    json_array_foreach(list, i, v)
    {
        json_t *text = json_array_size(kept) < max ? text_of(v) : NULL;

        if (text)
            (void)json_array_append_new(kept, text);
    }
    (void)json_object_set_new(to, name, kept);
}

static void put_number(json_t *to, const json_t *from, const char *name, bool whole)
{
    json_t *v = json_object_get(from, name);

    if (whole ? json_is_integer(v) : json_is_number(v))
        (void)json_object_set(to, name, v);
}

static void put_languages(json_t *to, const json_t *from)
{
    const json_t *v;
    json_t *kept = json_array();
    size_t i;

    json_array_foreach(json_object_get(from, "languages"), i, v)
    {
        json_t *one = json_object();

        put_text(one, v, "slug");
        put_text(one, v, "version");
        (void)json_array_append_new(kept, one);
    }
    (void)json_object_set_new(to, "languages", kept);
}

json_t *judge_says_facts(const json_t *ready)
{
    const json_t *box = json_object_get(ready, "box");
    json_t *o = json_object(), *shown = json_is_object(box) ? json_object() : NULL;

    put_number(o, ready, "cores", true);
    put_number(o, ready, "calibration", false);
    put_texts(o, ready, "classes", CLASSES_MAX);
    put_languages(o, ready);
    if (shown) {
        put_text(shown, box, "mode");
        put_text(shown, box, "cgroup");
        put_texts(shown, box, "weak", WEAK_MAX);
        (void)json_object_set_new(o, "box", shown);
    }
    return o;
}

json_t *judge_says_vitals(const json_t *beat)
{
    static const char *const counts[] = {"entries", "bytes", "hits", "misses", "redis_hits"};
    const json_t *cache = json_object_get(beat, "cache");
    json_t *o = json_object(), *shown = json_is_object(cache) ? json_object() : NULL;

    put_number(o, beat, "load", false);
    put_number(o, beat, "slots", true);
    put_number(o, beat, "busy", true);
    put_number(o, beat, "memory_free_mib", true);
    for (size_t i = 0; shown && i < TR_ARRAY_LEN(counts); i++)
        put_number(shown, cache, counts[i], true);
    if (shown)
        (void)json_object_set_new(o, "cache", shown);
    return o;
}

static json_t *case_of(const json_t *said)
{
    json_t *o = json_object();

    put_number(o, said, "id", true);
    put_text(o, said, "status");
    put_number(o, said, "time_ms", true);
    put_number(o, said, "memory_kb", true);
    return o;
}

json_t *judge_says_progress(const char *submit_id, const json_t *m)
{
    const json_t *said = json_object_get(m, "cases"), *v;
    json_t *o = json_pack("{s:s, s:s}", "type", "progress", "submit_id", submit_id),
           *cases = json_is_array(said) ? json_array() : NULL;
    size_t i;

    put_number(o, m, "run_lease", true);
    put_text(o, m, "stage");
    put_number(o, m, "done", true);
    put_number(o, m, "total", true);
    if (!cases)
        return o;
    json_array_foreach(said, i, v)
    {
        if (i < TR_TESTS_MAX)
            (void)json_array_append_new(cases, case_of(v));
    }
    (void)json_object_set_new(o, "cases", cases);
    return o;
}
