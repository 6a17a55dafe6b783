/* SPDX-License-Identifier: MIT
 *
 * setaside.c - count faults in a row; see setaside.h.
 */
#include "controller/setaside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/ctl.h"

enum {
    ENTRIES_MAX = 1024 /* names that fail just now; the oldest is forgotten */
};

struct entry {
    struct entry *next;
    enum setaside_kind kind;
    char name[72];
    char last[132]; /* submit_id of the last fault */
    char why[256];
    unsigned faults, tasks;
    bool aside;
    int64_t since_us;
};

struct setaside {
    struct ctl *ctl;
    struct entry *first;
    size_t count;
};

static const char *const kinds[] = {"language", "problem"};

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
    for (const struct entry *e = s->first; e; e = e->next)
        if (e->aside && e->kind == kind && strcmp(e->name, name) == 0)
            return true;
    return false;
}

static void clear(struct setaside *s, enum setaside_kind kind, const char *name)
{
    struct entry **at = find(s, kind, name);

    if (*at && !(*at)->aside)
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

static void count(struct setaside *s, enum setaside_kind kind, const char *name,
                  const char *submit_id, const char *why)
{
    struct entry *e = *name && strlen(name) < sizeof(e->name) ? entry_for(s, kind, name) : NULL;

    if (!e)
        return;
    e->faults++;
    e->tasks += strcmp(e->last, submit_id) != 0;
    (void)snprintf(e->last, sizeof(e->last), "%s", submit_id);
    (void)snprintf(e->why, sizeof(e->why), "%.255s", why);
    if (e->aside || e->faults < SETASIDE_FAULTS || e->tasks < SETASIDE_TASKS)
        return;
    e->aside = true;
    e->since_us = tr_clock_real_us();
    tr_log(TR_LOG_ERROR, NULL, "%s '%s' is set aside after %u faults in a row: %s", kinds[kind],
           name, e->faults, why);
    events_live(s->ctl->events, json_pack("{s:s, s:s, s:s, s:s}", "type", "set_aside", "kind",
                                          kinds[kind], "name", name, "message", e->why));
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

bool setaside_resume(struct setaside *s, enum setaside_kind kind, const char *name)
{
    struct entry **at = find(s, kind, name);

    if (!*at || !(*at)->aside)
        return false;
    forget(s, at);
    return true;
}

json_t *setaside_json(const struct setaside *s)
{
    json_t *list = json_array();
    char when[TR_TIME_TEXT];

    for (const struct entry *e = s->first; e; e = e->next)
        if (e->aside)
            (void)json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s, s:s}", "kind",
                                                        kinds[e->kind], "name", e->name, "faults",
                                                        (int)e->faults, "message", e->why, "since",
                                                        tr_clock_text(e->since_us, when)));
    return list;
}

size_t setaside_problems(const struct setaside *s, const char **names, size_t max)
{
    size_t n = 0;

    for (const struct entry *e = s->first; e && n < max; e = e->next)
        if (e->aside && e->kind == SETASIDE_PROBLEM)
            names[n++] = e->name;
    return n;
}
