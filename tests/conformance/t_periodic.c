/* SPDX-License-Identifier: MIT
 *
 * t_periodic.c - schedules and the leader, by a clock that the test turns.
 */
#include <tribunal/queue_worker.h>

#include "conf.h"

static void ticks_of_a_schedule_are_those_of_cron(void **state)
{
    static const struct {
        const char *cron;
        int64_t after, want; /* seconds */
    } rows[] = {
        {"* * * * *", 0, 60},
        {"* * * * *", 59, 60},
        {"*/15 * * * *", 60, 900},
        {"5,35 * * * *", 300, 2100},
        {"0 0 * * *", 1, 86400},
        {"@hourly", 3600, 7200},
        {"@daily", 0, 86400},
        {"30 3 * * *", 0, 12600},
        {"0 12 1 * *", 0, 43200},
        {"0 0 29 2 *", 0, 68169600},             /* 1972-02-29 */
        {"0 0 29 feb *", 951782400, 1078012800}, /* 2000 → 2004 */
        {"0 0 * * mon", 0, 345600},              /* 1970-01-05 */
        {"0 0 * * 7", 0, 259200},                /* Sunday, 1970-01-04 */
        {"0 0 13 * 5", 0, 86400},                /* day or weekday: Friday the 2nd */
        {"0 0 */10 * *", 0, 864000},             /* the 11th */
        {"59 23 31 dec *", 0, 31535940},
        {"0 9-17/4 * * mon-fri", 1700000000, 1700038800}, /* Tue 22:13 → Wed 9:00 */
        {"10/20 * * * *", 0, 600},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t next = 0;

        OK(tq_cron_next(rows[i].cron, rows[i].after * SEC, &next, &E.err));
        if (next != rows[i].want * SEC)
            fail_msg("%s after %lld: %lld, not %lld", rows[i].cron, (long long)rows[i].after,
                     (long long)next / SEC, (long long)rows[i].want);
    }
}

static void a_malformed_schedule_is_refused(void **state)
{
    static const char *const bad[] = {
        "",           "* * * *",    "* * * * * *", "60 * * * *",  "* 24 * * *",  "* * 0 * *",
        "* * * 13 *", "* * * * 8",  "a * * * *",   "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *",
        "@often",     "0 0 31 2 *", "1- * * * *",  "-1 * * * *",  "1, * * * *"};
    int64_t next = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (tq_cron_next(bad[i], 0, &next, &E.err) != TR_E_PARSE)
            fail_msg("'%s' was taken", bad[i]);
    assert_int_equal(next, 7);
}

static struct tq_periodic schedule(const char *name, const char *cron, int64_t every)
{
    struct tq_periodic p = TQ_PERIODIC_INIT;

    p.name = name;
    p.cron = cron;
    p.every_us = every;
    p.item.queue = "ticks";
    p.item.kind = name;
    p.item.payload = "tick";
    p.item.payload_len = 4;
    return p;
}

static int64_t fired(const char *name, const char *what)
{
    return num("SELECT count(%s) FROM job_queue WHERE kind = '%s'", what, name);
}

static void a_new_schedule_starts_now(void **state)
{
    struct tq_periodic p = schedule("minutely", NULL, 60 * SEC);
    int64_t next = 0;

    (void)state;
    assert_int_equal(OK(tq_periodic_fire(E.q, &p, 1, &next, &E.err)), 0);
    assert_true(next > db_now() && next <= db_now() + 60 * SEC);
    assert_int_equal(next % (60 * SEC), 0);
    S.clock_us = next - db_now() + SEC;
    assert_int_equal(OK(tq_periodic_fire(E.q, &p, 1, NULL, &E.err)), 1);
    assert_int_equal(OK(tq_periodic_fire(E.q, &p, 1, NULL, &E.err)), 0);
    assert_int_equal(num("SELECT available_at FROM job_queue WHERE kind = 'minutely'"), next);
}

static void ticks_missed_too_long_ago_are_skipped(void **state)
{
    struct tq_periodic p = schedule("minutely", NULL, 60 * SEC);

    (void)state;
    p.catch_up_us = 600 * (int64_t)SEC;
    OK(tq_periodic_fire(E.q, &p, 1, NULL, &E.err));
    S.clock_us = 86400 * (int64_t)SEC;
    assert_int_equal(OK(tq_periodic_fire(E.q, &p, 1, NULL, &E.err)), 10);
}

/* A day (two hours without soak) in steps of up to a minute and a half, with two that take turns
 * firing and often both do, and a clock that is set back and forth. */
static void every_tick_of_a_day_fires_once(void **state)
{
    struct tq_periodic list[] = {
        schedule("minutely", NULL, 60 * SEC), schedule("five", "*/5 * * * *", 0),
        schedule("hourly", "@hourly", 0), schedule("odd", "7,23,51 */2 * * *", 0)};
    const size_t n = sizeof(list) / sizeof(list[0]);
    int64_t hours = E.soak ? 24 : 2, next;
    tq *other = open_another(), *turn = E.q;
    unsigned luck = 12345;

    (void)state;
    int64_t real = db_now();
    int64_t start = real - real % (3600 * (int64_t)SEC) + 3600 * (int64_t)SEC; /* an hour begins */
    int64_t end = start + hours * 3600 * SEC;
    S.clock_us = start - real;
    OK(tq_periodic_fire(turn, list, n, NULL, &E.err));
    for (int64_t at = start; at < end;) {
        luck = luck * 1103515245u + 12345u;
        unsigned draw = luck >> 16;

        at += (int64_t)(1 + draw % 90) * SEC;
        at = at > end ? end : at;
        int64_t step = draw % 11 == 0   ? -(int64_t)(draw % 1200) * SEC /* set back */
                       : draw % 17 == 0 ? (int64_t)(draw % 300) * SEC   /* runs ahead */
                                        : 0;
        if (at + step > end)
            step = 0;
        S.clock_us = at + step - real;
        if (draw % 7 == 0)
            turn = turn == E.q ? other : E.q; /* failover */
        OK(tq_periodic_fire(turn, list, n, NULL, &E.err));
        if (draw % 5 == 0) /* the old leader does not know yet */
            OK(tq_periodic_fire(turn == E.q ? other : E.q, list, n, NULL, &E.err));
    }
    S.clock_us = end + SEC - real;
    OK(tq_periodic_fire(turn, list, n, &next, &E.err));
    assert_true(next > end);
    static const int64_t per_two_hours[] = {120, 24, 2, 3};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fired(list[i].name, "*"), fired(list[i].name, "DISTINCT available_at"));
        assert_int_equal(fired(list[i].name, "*"), per_two_hours[i] * hours / 2);
    }
}

static void one_leads_until_its_lease_ends(void **state)
{
    tq *a = E.q, *b = open_another();

    (void)state;
    assert_int_equal(OK(tq_leader(a, "m", 10 * SEC, &E.err)), 1);
    assert_int_equal(OK(tq_leader(b, "m", 10 * SEC, &E.err)), 0);
    assert_int_equal(OK(tq_leader(b, "other", 10 * SEC, &E.err)), 1);
    assert_int_equal(OK(tq_leader(a, "m", 10 * SEC, &E.err)), 1);
    S.clock_us = 11 * SEC; /* a is away */
    assert_int_equal(OK(tq_leader(b, "m", 10 * SEC, &E.err)), 1);
    assert_int_equal(OK(tq_leader(a, "m", 10 * SEC, &E.err)), 0);
    assert_int_equal(OK(tq_leader(b, "m", 0, &E.err)), 0); /* steps down */
    S.clock_us = 11 * SEC + 1000;
    assert_int_equal(OK(tq_leader(a, "m", 10 * SEC, &E.err)), 1);
}

const struct promise periodic_promises[] = {PROMISE(ticks_of_a_schedule_are_those_of_cron),
                                            PROMISE(a_malformed_schedule_is_refused),
                                            PROMISE(a_new_schedule_starts_now),
                                            PROMISE(ticks_missed_too_long_ago_are_skipped),
                                            PROMISE(every_tick_of_a_day_fires_once),
                                            PROMISE(one_leads_until_its_lease_ends),
                                            {NULL, NULL}};
