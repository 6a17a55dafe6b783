/* SPDX-License-Identifier: MIT
 *
 * cron.c - when is the next tick? Five fields, in UTC: minute hour day month weekday.
 *
 * A field is a list of N, N-M, * with an optional /STEP; months and weekdays also by name; weekday
 * 7 is Sunday like 0. As in every cron, a day fits when day or weekday fits, if both are
 * restricted. UTC has no gaps and no repeated hours, so every tick exists exactly once.
 */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "queue/worker.h"

enum {
    YEARS_AHEAD = 12 /* the 29th of February may be 8 years away (around 2100) */
};

struct field {
    const char *what;
    int min, max;
    const char *const *names; /* of min, min+1, …; NULL: none */
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct field fields[5] = {{"minute", 0, 59, NULL},
                                       {"hour", 0, 23, NULL},
                                       {"day", 1, 31, NULL},
                                       {"month", 1, 12, months},
                                       {"weekday", 0, 7, days}};

struct cron {
    uint64_t bits[5];
    bool any_day, any_weekday; /* the field was * */
};

static int number(const char **at, const struct field *f)
{
    const char *s = *at;
    int n = 0, digits = 0;

    for (; *s >= '0' && *s <= '9' && digits < 3; s++, digits++)
        n = 10 * n + (*s - '0');
    if (digits) {
        *at = s;
        return n;
    }
    for (int i = 0; f->names && f->names[i]; i++)
        if (!strncasecmp(s, f->names[i], 3)) {
            *at = s + 3;
            return f->min + i;
        }
    return -1;
}

/* One element of a list. */
static bool element(const char **at, const struct field *f, uint64_t *bits)
{
    int from = f->min, to = f->max, step = 1;
    bool range = true;

    if (**at == '*') {
        ++*at;
    } else {
        from = to = number(at, f);
        range = **at == '-';
        if (range) {
            ++*at;
            to = number(at, f);
        }
    }
    if (**at == '/') {
        ++*at;
        step = number(at, &(struct field){.min = 1, .max = f->max});
        if (!range)
            to = f->max;
    }
    if (from < 0 || from < f->min || to > f->max || from > to || step < 1)
        return false;
    for (int i = from; i <= to; i += step)
        *bits |= (uint64_t)1 << i;
    return true;
}

static bool list(const char **at, const struct field *f, uint64_t *bits)
{
    do {
        if (!element(at, f, bits))
            return false;
    } while (**at == ',' && *++*at);
    return **at == '\0' || isspace((unsigned char)**at);
}

static const char *spelled_out(const char *text)
{
    static const char *const words[][2] = {{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
                                           {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
                                           {"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
                                           {"@annually", "0 0 1 1 *"}};

    for (size_t i = 0; i < TR_ARRAY_LEN(words); i++)
        if (!strcmp(text, words[i][0]))
            return words[i][1];
    return text;
}

static int parse(const char *text, struct cron *c, struct tr_err *err)
{
    const char *at = spelled_out(text);

    *c = (struct cron){.any_day = false};
    for (int i = 0; i < 5; i++) {
        while (isspace((unsigned char)*at))
            at++;
        bool star = *at == '*';
        const char *begin = at;
        if (!*at || !list(&at, &fields[i], &c->bits[i]))
            return tr_fail(err, TR_E_PARSE, 0,
                           "'%s': the %s is %d … %d, with lists 1,2, ranges 1-5 and steps */5; a "
                           "schedule has minute, hour, day, month and weekday",
                           begin, fields[i].what, fields[i].min, fields[i].max);
        if (i == 2)
            c->any_day = star;
        if (i == 4)
            c->any_weekday = star;
    }
    while (isspace((unsigned char)*at))
        at++;
    if (*at)
        return tr_fail(err, TR_E_PARSE, 0, "'%s' follows the five fields of a schedule", at);
    if (c->bits[4] & (1 << 7))
        c->bits[4] |= 1;
    return 0;
}

static bool has(const struct cron *c, int field, int value)
{
    return c->bits[field] >> value & 1;
}

static bool day_fits(const struct cron *c, const struct tm *t)
{
    bool day = has(c, 2, t->tm_mday), weekday = has(c, 4, t->tm_wday);

    if (c->any_day || c->any_weekday)
        return day && weekday;
    return day || weekday;
}

/* To the next minute, hour, day or month, with everything smaller at its start. */
static void advance(struct tm *t, int field)
{
    t->tm_min = field == 0 ? t->tm_min + 1 : 0;
    if (field == 1)
        t->tm_hour++;
    if (field >= 2)
        t->tm_hour = 0;
    if (field == 2)
        t->tm_mday++;
    if (field == 3) {
        t->tm_mday = 1;
        t->tm_mon++;
    }
    time_t at = timegm(t); /* carries over */
    (void)gmtime_r(&at, t);
}

int tq_cron_next(const char *cron, int64_t after_us, int64_t *ret_us, struct tr_err *err)
{
    struct cron c = {.any_day = false};
    struct tm t;
    time_t at = (time_t)(after_us / 1000000);

    int r = cron ? parse(cron, &c, err) : tr_fail(err, TR_E_USAGE, 0, "a schedule is missing");
    if (r < 0)
        return r;
    (void)gmtime_r(&at, &t);
    int last_year = t.tm_year + YEARS_AHEAD;
    t.tm_sec = 0;
    advance(&t, 0);
    while (t.tm_year <= last_year) {
        if (!has(&c, 3, t.tm_mon + 1))
            advance(&t, 3);
        else if (!day_fits(&c, &t))
            advance(&t, 2);
        else if (!has(&c, 1, t.tm_hour))
            advance(&t, 1);
        else if (!has(&c, 0, t.tm_min))
            advance(&t, 0);
        else {
            *ret_us = (int64_t)timegm(&t) * 1000000;
            return 0;
        }
    }
    return tr_fail(err, TR_E_PARSE, 0, "'%s' never comes: there is no such day", cron);
}
