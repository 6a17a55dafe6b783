/* SPDX-License-Identifier: MIT
 *
 * judge_view.c - a row for each test, then the verdict.
 *
 * Everything that a submission or a checker wrote is escaped before it reaches the terminal.
 */
#include "cli/judge_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/escape.h"

enum {
    BAR = 12
};

static const char *paint(const struct judge_view *v, enum tr_verdict x)
{
    if (!v->color)
        return "";
    switch (x) {
    case TR_V_AC:
        return "\033[1;32m";
    case TR_V_SK:
    case TR_V_NONE:
        return "\033[2m";
    case TR_V_JE:
        return "\033[1;35m";
    case TR_V_TLE:
    case TR_V_MLE:
    case TR_V_OLE:
        return "\033[1;33m";
    case TR_V_WA:
    case TR_V_RTE:
    case TR_V_CE:
        return "\033[1;31m";
    }
    return "";
}

static const char *plain(const struct judge_view *v)
{
    return v->color ? "\033[0m" : "";
}

int judge_view_init(struct judge_view *v, FILE *out, bool color, const struct tr_problem *p,
                    const struct tr_lang *lang, struct tr_err *err)
{
    *v = (struct judge_view){.out = out, .color = color, .problem = p, .limits = p->limits};
    tr_limits_scale(&v->limits, lang->time_milli, lang->memory_milli);
    v->limits.memory_kib += lang->memory_extra_kib;
    v->cases = calloc(p->ntests, sizeof(*v->cases));
    return v->cases ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the table");
}

void judge_view_done(struct judge_view *v)
{
    free(v->cases);
}

static void bar(const struct judge_view *v, int64_t used, int64_t limit, char out[BAR + 1])
{
    int64_t full = limit > 0 ? used * BAR / limit : 0;

    (void)v;
    for (int i = 0; i < BAR; i++)
        out[i] = i < full || (i == 0 && used > 0) ? '=' : '.';
    out[BAR] = 0;
}

static void show_diff(const struct judge_view *v, const struct tr_diff *d)
{
    (void)fprintf(v->out, "         line %llu, column %llu%s%s\n", (unsigned long long)d->line,
                  (unsigned long long)d->column, d->why ? ": " : "", d->why ? d->why : "");
    (void)fputs("           got      ", v->out);
    print_escaped(v->out, (const char *)d->got.bytes, d->got.len, 70);
    (void)fputs(d->got.end ? " (end)\n           expected " : "\n           expected ", v->out);
    print_escaped(v->out, (const char *)d->want.bytes, d->want.len, 70);
    (void)fputs(d->want.end ? " (end)\n" : "\n", v->out);
}

static void show_row(struct judge_view *v, size_t i, const struct tr_case *c)
{
    char time_bar[BAR + 1];
    const char *name = v->problem->tests[i].name;

    if (c->verdict == TR_V_SK)
        return;
    bar(v, c->facts.cpu_us, v->limits.time_us, time_bar);
    (void)fprintf(v->out, "%s%-4s%s %6lld ms %s %8.1f MiB  ", paint(v, c->verdict),
                  tr_verdict_id(c->verdict), plain(v), (long long)tr_ms_up(c->facts.cpu_us),
                  time_bar, (double)c->facts.memory_kib / 1024);
    print_escaped(v->out, name, strlen(name), 40);
    if (c->sub)
        (void)fprintf(v->out, "  %s", tr_verdict_text(c->verdict, c->sub));
    if (c->note[0]) {
        (void)fputs("  ", v->out);
        print_escaped(v->out, c->note, strlen(c->note), 160);
    }
    (void)fputc('\n', v->out);
    if (c->message_len > 0) {
        (void)fputs("         checker: ", v->out);
        print_escaped(v->out, c->message, c->message_len, 160);
        (void)fputc('\n', v->out);
    }
    if (c->diff.found)
        show_diff(v, &c->diff);
    (void)fflush(v->out);
}

void judge_view_ended(struct judge_view *v, size_t test, const struct tr_case *c)
{
    v->cases[test] = *c;
    while (v->shown < v->problem->ntests) {
        if (tr_score_skips(v->problem, v->cases, v->shown))
            v->cases[v->shown].verdict = TR_V_SK;
        if (v->cases[v->shown].verdict == TR_V_NONE)
            break;
        show_row(v, v->shown, &v->cases[v->shown]);
        v->shown++;
    }
}

void judge_view_compiled(struct judge_view *v, enum tr_verdict verdict,
                         const struct tr_compile_report *c)
{
    if (!c->log || !*c->log)
        return;
    (void)fprintf(v->out, "%s\n", verdict == TR_V_CE ? "compiler:" : "compiler warnings:");
    print_escaped_lines(v->out, c->log);
}

static void show_groups(struct judge_view *v, const struct tr_outcome *o)
{
    for (size_t g = 0; g < v->problem->ngroups; g++) {
        const struct tr_group_score *s = &o->groups[g];

        (void)fprintf(v->out, "group %-10.40s %6.2f of %.2f%s\n", v->problem->groups[g].name,
                      (double)s->points / (double)TR_POINT,
                      (double)v->problem->groups[g].points / (double)TR_POINT,
                      s->skipped ? "  (not run)" : "");
    }
}

static void show_summary(struct judge_view *v, const struct tr_outcome *o)
{
    const struct tr_score *s = &o->score;
    size_t skipped = 0;

    for (size_t i = 0; o->cases && i < v->problem->ntests; i++)
        skipped += o->cases[i].verdict == TR_V_SK;
    if (skipped > 0)
        (void)fprintf(v->out, "%s%zu not run%s\n", paint(v, TR_V_SK), skipped, plain(v));
    if (o->cases && v->problem->scoring == TR_SCORING_OI)
        show_groups(v, o);
    (void)fprintf(v->out, "\n%s%s%s  %s", paint(v, s->verdict), tr_verdict_id(s->verdict), plain(v),
                  tr_verdict_text(s->verdict, s->sub));
    if (o->cases && s->first_failing < v->problem->ntests) {
        (void)fputs(" on test ", v->out);
        print_escaped(v->out, v->problem->tests[s->first_failing].name,
                      strlen(v->problem->tests[s->first_failing].name), 60);
    }
    (void)fprintf(v->out, "\nscore %g of %g", (double)s->points / (double)TR_POINT,
                  (double)v->problem->full_points / (double)TR_POINT);
    if (o->cases && s->slowest < v->problem->ntests) {
        (void)fprintf(v->out, ", %zu of %zu tests passed, slowest %lld ms of %lld ms (",
                      s->accepted, v->problem->ntests, (long long)tr_ms_up(s->time_us),
                      (long long)(o->limits.time_us / 1000));
        print_escaped(v->out, v->problem->tests[s->slowest].name,
                      strlen(v->problem->tests[s->slowest].name), 40);
        (void)fprintf(v->out, "), memory %.1f of %.0f MiB", (double)s->memory_kib / 1024,
                      (double)o->limits.memory_kib / 1024);
    }
    if (o->compile.ran)
        (void)fprintf(v->out, ", %s", o->compile.cached ? "compiled before" : "");
    if (o->compile.ran && !o->compile.cached)
        (void)fprintf(v->out, "compiled in %lld ms", (long long)tr_ms_up(o->compile.time_us));
    (void)fprintf(v->out, ", %lld ms in all\n", (long long)tr_ms_up(o->judged_us));
}

void judge_view_end(struct judge_view *v, const struct tr_outcome *o)
{
    show_summary(v, o);
    if (o->fault) {
        (void)fputs("fault: ", v->out);
        print_escaped(v->out, o->fault, strlen(o->fault), 300);
        (void)fputc('\n', v->out);
    }
    (void)fflush(v->out);
}
