/* SPDX-License-Identifier: MIT
 *
 * result_json.c - the result event of seed 000 §4.2, with our fields beside the seed's.
 *
 * Texts that a submission or a checker wrote are made valid UTF-8 here and are otherwise raw:
 * whoever shows them escapes them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/task.h"

/* json_object_set_new() takes the value also when it fails; a NULL value makes it fail. */
static bool put(json_t *o, const char *name, json_t *value)
{
    return json_object_set_new(o, name, value) == 0;
}

/* 12 as a whole number, 12.5 as a decimal: points are millionths and people expect 100, not 100.0.
 */
static json_t *points_json(int64_t points)
{
    if (points % TR_POINT == 0)
        return json_integer(points / TR_POINT);
    return json_real((double)points / (double)TR_POINT);
}

static json_t *snippet_json(const struct tr_snippet *s)
{
    return tr_json_clean((const char *)s->bytes, s->len, 4 * TR_SNIPPET_MAX);
}

static json_t *diff_json(const struct tr_diff *d)
{
    json_t *o = json_object();

    if (!o)
        return NULL;
    bool ok = put(o, "line", json_integer((json_int_t)d->line)) &&
              put(o, "column", json_integer((json_int_t)d->column)) &&
              put(o, "byte", json_integer((json_int_t)d->byte)) &&
              put(o, "answer_line", json_integer((json_int_t)d->answer_line)) &&
              put(o, "got", snippet_json(&d->got)) && put(o, "expected", snippet_json(&d->want));

    if (ok && d->why)
        ok = put(o, "why", json_string(d->why));
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static bool put_run(json_t *o, const struct tr_case *c)
{
    const struct tr_run_facts *f = &c->facts;
    bool ok = put(o, "wall_ms", json_integer(tr_ms_up(f->wall_us))) &&
              put(o, "time_us", json_integer(f->cpu_us));

    if (ok && f->cause == TR_CAUSE_EXIT)
        ok = put(o, "exit", json_integer(f->exit_code));
    if (ok && f->signal)
        ok = put(o, "signal", json_integer(f->signal));
    if (ok && c->runs > 1)
        ok = put(o, "runs", json_integer(c->runs));
    if (ok && c->disturbed)
        ok = put(o, "disturbed", json_true());
    return ok;
}

static json_t *case_json(const struct tr_result_view *v, size_t i)
{
    const struct tr_case *c = &v->cases[i];
    const struct tr_test *t = &v->problem->tests[i];
    json_t *o = json_object();

    if (!o)
        return NULL;
    bool ok = put(o, "id", json_integer((json_int_t)i + 1)) &&
              put(o, "status", json_string(tr_verdict_id(c->verdict))) &&
              put(o, "time_ms", json_integer(tr_ms_up(c->facts.cpu_us))) &&
              put(o, "memory_kb", json_integer(c->facts.memory_kib)) &&
              put(o, "score", points_json(c->points)) &&
              put(o, "name", tr_json_clean(t->name, strlen(t->name), 256)) &&
              put(o, "verdict", json_string(tr_verdict_id(c->verdict)));

    if (ok && c->sub)
        ok = put(o, "subcode", json_string(tr_subcode_id(c->sub)));
    if (ok && c->verdict != TR_V_SK)
        ok = put_run(o, c);
    if (ok && c->message_len)
        ok = put(o, "message", tr_json_clean(c->message, c->message_len, 4 * TR_CASE_MESSAGE_MAX));
    if (ok && c->diff.found)
        ok = put(o, "difference", diff_json(&c->diff));
    if (ok && c->note[0])
        ok = put(o, "note", tr_json_clean(c->note, strlen(c->note), sizeof(c->note)));
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *cases_json(const struct tr_result_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; list && v->cases && i < v->problem->ntests; i++) {
        if (json_array_append_new(list, case_json(v, i)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *groups_json(const struct tr_result_view *v)
{
    json_t *list = json_array();

    for (size_t g = 0; list && g < v->problem->ngroups; g++) {
        const struct tr_group *group = &v->problem->groups[g];
        const struct tr_group_score *s = &v->groups[g];
        json_t *o = json_pack("{s:s, s:o?, s:o?, s:b, s:b}", "name", group->name, "score",
                              points_json(s->points), "max", points_json(group->points), "full",
                              s->full, "skipped", s->skipped);

        if (json_array_append_new(list, o) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *compile_json(const struct tr_compile_report *c)
{
    json_t *o = json_object();

    if (!o)
        return NULL;
    bool ok = put(o, "cached", json_boolean(c->cached)) &&
              put(o, "time_ms", json_integer(tr_ms_up(c->time_us))) &&
              put(o, "memory_kb", json_integer(c->memory_kib));

    if (ok && c->log && *c->log)
        ok = put(o, "log", json_string(c->log));
    if (ok && c->log_url)
        ok = put(o, "log_url", json_string(c->log_url));
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static bool put_totals(json_t *o, const struct tr_result_view *v)
{
    const struct tr_score *s = v->score;

    return put(o, "accepted_test", json_integer((json_int_t)s->accepted)) &&
           put(o, "total_test", json_integer((json_int_t)v->problem->ntests)) &&
           put(o, "time_ms", json_integer(tr_ms_up(s->time_us))) &&
           put(o, "memory_kb", json_integer(s->memory_kib)) && put(o, "cases", cases_json(v)) &&
           put(o, "verdict", json_string(tr_verdict_id(s->verdict))) &&
           put(o, "text", json_string(tr_verdict_text(s->verdict, s->sub)));
}

json_t *tr_result_body_json(const struct tr_result_view *v)
{
    json_t *o = json_object();

    if (!o)
        return NULL;
    bool ok =
        put_totals(o, v) && put(o, "language", json_string(v->lang->slug)) &&
        put(o, "judged_ms", json_integer(tr_ms_up(v->judged_us))) &&
        put(o, "limits",
            json_pack("{s:I, s:I, s:I, s:I}", "time_ms", (json_int_t)(v->limits->time_us / 1000),
                      "wall_ms", (json_int_t)(v->limits->wall_us / 1000), "memory_kb",
                      (json_int_t)v->limits->memory_kib, "output_bytes",
                      (json_int_t)v->limits->output_bytes));

    if (ok && v->score->sub)
        ok = put(o, "subcode", json_string(tr_subcode_id(v->score->sub)));
    if (ok && v->cases && v->score->first_failing < v->problem->ntests)
        ok = put(o, "first_failing_test", json_integer((json_int_t)v->score->first_failing + 1));
    if (ok && v->compile->ran)
        ok = put(o, "compile", compile_json(v->compile));
    if (ok && v->groups && v->problem->scoring == TR_SCORING_OI)
        ok = put(o, "groups", groups_json(v));
    if (ok && v->fault)
        ok = put(o, "fault", tr_json_clean(v->fault, strlen(v->fault), 1024));
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *tr_result_json(const struct tr_result_view *v)
{
    char when[TR_TIME_TEXT];
    json_t *o = json_object();

    if (!o)
        return NULL;
    /* A judge error is a fault and not an outcome: the submission waits for its retry. */
    const char *status = v->score->verdict == TR_V_JE ? "SYSTEM_ERROR" : "FINISHED";
    bool ok = put(o, "type", json_string("result")) &&
              put(o, "submit_id", v->submit_id ? json_string(v->submit_id) : json_null()) &&
              put(o, "status", json_string(status)) &&
              put(o, "score", points_json(v->score->points)) &&
              put(o, "result", tr_result_body_json(v)) &&
              put(o, "timestamp", json_string(tr_clock_text(v->finished_us, when)));

    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}
