/* SPDX-License-Identifier: MIT
 *
 * setaside.c - count faults in a row; what is set aside is a mark (marks.h). See setaside.h.
 */
#include "controller/setaside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/ctl.h"
#include "controller/marks.h"

enum {
    ENTRIES_MAX = 1024 /* names that fail just now; the oldest is forgotten */
};

struct entry {
    struct entry *next;
    enum setaside_kind kind;
    char name[72];
    char last[132]; /* submit_id of the last fault */
    unsigned faults, tasks;
};

struct setaside {
    struct ctl *ctl;
    struct entry *first;
    size_t count;
};

static const enum mark_kind marked[] = {MARK_LANGUAGE, MARK_PROBLEM};

struct setaside *setaside_new(struct ctl *ctl)
{
    struct setaside *s = calloc(1, sizeof(*s));

    if (s)
        s->ctl = ctl;
    return s;
}

static void forget(struct setaside *s, struct entry **at)
{
    struct entry *e = *at;

    *at = e->next;
    s->count--;
    free(e);
}

void setaside_free(struct setaside *s)
{
    if (!s)
        return;
    while (s->first)
        forget(s, &s->first);
    free(s);
}

static struct entry **find(struct setaside *s, enum setaside_kind kind, const char *name)
{
    struct entry **at = &s->first;

    while (*at && ((*at)->kind != kind || strcmp((*at)->name, name) != 0))
        at = &(*at)->next;
    return at;
}

bool setaside_is(const struct setaside *s, enum setaside_kind kind, const char *name)
{
    return marks_has(s->ctl->marks, marked[kind], name);
}

static void clear(struct setaside *s, enum setaside_kind kind, const char *name)
{
    struct entry **at = find(s, kind, name);

    if (*at)
        forget(s, at);
}

void setaside_verdict(struct setaside *s, const char *language, const char *problem)
{
    clear(s, SETASIDE_LANGUAGE, language);
    clear(s, SETASIDE_PROBLEM, problem);
}

static struct entry *entry_for(struct setaside *s, enum setaside_kind kind, const char *name)
{
    struct entry **at = find(s, kind, name);

    struct entry *found = *at;
    if (found)
        return found;
    if (s->count >= ENTRIES_MAX)
        return NULL;
    struct entry *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->kind = kind;
    (void)snprintf(e->name, sizeof(e->name), "%s", name);
    *at = e;
    s->count++;
    return e;
}

static void set_aside(struct setaside *s, const struct entry *e, const char *why)
{
    struct mark mark = {.kind = marked[e->kind], .faults = e->faults};
    const char *kind = mark_kind_name(mark.kind);

    (void)snprintf(mark.name, sizeof(mark.name), "%s", e->name);
    (void)snprintf(mark.note, sizeof(mark.note), "%.255s", why);
    tr_log(TR_LOG_ERROR, NULL, "%s '%s' is set aside after %u faults in a row: %s", kind, e->name,
           e->faults, why);
    events_live(s->ctl->events, json_pack("{s:s, s:s, s:s, s:s}", "type", "set_aside", "kind", kind,
                                          "name", e->name, "message", mark.note));
    marks_set(s->ctl->marks, &mark, NULL, NULL);
}

static void count(struct setaside *s, enum setaside_kind kind, const char *name,
                  const char *submit_id, const char *why)
{
    struct entry *e = *name && strlen(name) < sizeof(e->name) && !setaside_is(s, kind, name)
                          ? entry_for(s, kind, name)
                          : NULL;

    if (!e)
        return;
    e->faults++;
    e->tasks += strcmp(e->last, submit_id) != 0;
    (void)snprintf(e->last, sizeof(e->last), "%s", submit_id);
    if (e->faults < SETASIDE_FAULTS || e->tasks < SETASIDE_TASKS)
        return;
    set_aside(s, e, why);
    clear(s, kind, name); /* after a resume it counts from nothing */
}

void setaside_fault(struct setaside *s, const char *language, const char *problem,
                    const char *submit_id, const char *why)
{
    count(s, SETASIDE_PROBLEM, problem, submit_id, why);
    /* One problem's broken checker is not its language's fault. */
    if (!setaside_is(s, SETASIDE_PROBLEM, problem))
        count(s, SETASIDE_LANGUAGE, language, submit_id, why);
    else
        clear(s, SETASIDE_LANGUAGE, language);
}

bool setaside_resume(struct setaside *s, enum setaside_kind kind, const char *name,
                     void (*then)(void *arg, int result), void *arg)
{
    if (!setaside_is(s, kind, name))
        return false;
    marks_clear(s->ctl->marks, marked[kind], name, then, arg);
    return true;
}

json_t *setaside_json(const struct setaside *s)
{
    json_t *list = json_array();
    char when[TR_TIME_TEXT];
    const struct mark *m;

    for (size_t i = 0; (m = marks_at(s->ctl->marks, i)); i++)
        if (m->kind != MARK_DRAIN)
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s, s:I, s:s, s:s}", "kind", mark_kind_name(m->kind),
                                "name", m->name, "faults", (json_int_t)m->faults, "message",
                                m->note, "since", tr_clock_text(m->since_us, when)));
    return list;
}

size_t setaside_problems(const struct setaside *s, const char **names, size_t max)
{
    const struct mark *m;
    size_t n = 0;

    for (size_t i = 0; n < max && (m = marks_at(s->ctl->marks, i)); i++)
        if (m->kind == MARK_PROBLEM)
            names[n++] = m->name;
    return n;
}
