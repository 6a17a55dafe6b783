/* SPDX-License-Identifier: MIT
 *
 * model.c - random operations against a model of forty lines.
 *
 * The model keeps a list of jobs in memory and says what every call must answer. Ten thousand steps
 * with TRIBUNAL_SOAK=1, a tenth otherwise; TRIBUNAL_SEED repeats a run that failed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tribunal/queue_sqlite.h>
#ifdef WITH_POSTGRES
#include <tribunal/queue_pg.h>
#endif
#ifdef WITH_MYSQL
#include <tribunal/queue_mysql.h>
#endif

enum {
    JOBS_MAX = 20000,
    KEYS = 5,
    FAR = 1000000000 /* µs: no scheduled job becomes due during a run */
};

struct model_job {
    int64_t id, lease;
    int state; /* enum tq_state; finished ones keep theirs */
    int prio, attempts, max_attempts;
    int key; /* 0: none */
    int queue;
    bool ours; /* held by the main handle when another one dies */
};
static struct model_job jobs[JOBS_MAX];
static int njobs;
static uint64_t seed, rng;
static long step;
static struct tr_err err;
static tq *q;
static const char *const queues[] = {"a", "b"};

static uint64_t draw(uint64_t below)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng % below;
}

#define MUST(cond, ...)                                                                            \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            (void)fprintf(stderr, "step %ld, TRIBUNAL_SEED=%" PRIu64 ": ", step, seed);            \
            (void)fprintf(stderr, __VA_ARGS__);                                                    \
            (void)fprintf(stderr, " (%s)\n", err.msg);                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static bool live(const struct model_job *j)
{
    return j->state <= TQ_WAITING;
}

static struct model_job *by_id(int64_t id)
{
    for (int i = 0; i < njobs; i++)
        if (jobs[i].id == id)
            return &jobs[i];
    return NULL;
}

/* Any job, mostly a live one. */
static struct model_job *pick(void)
{
    if (!njobs)
        return NULL;
    struct model_job *j = &jobs[draw((uint64_t)njobs)];
    for (int i = 0; i < 50 && !live(j) && draw(10); i++)
        j = &jobs[draw((uint64_t)njobs)];
    return j;
}

/* ---------------------------------------------------------------- operations */

static void do_enqueue(void)
{
    struct tq_item it = TQ_ITEM_INIT;
    struct tq_enqueued out = {0, 0};
    int key = draw(3) ? 0 : 1 + (int)draw(KEYS), queue = (int)draw(2);
    struct model_job *there = NULL;

    if (njobs == JOBS_MAX)
        return;
    it.queue = queues[queue];
    it.priority = (int)draw(3);
    it.max_attempts = 1 + (int)draw(3);
    it.delay_us = draw(5) ? 0 : FAR;
    if (key) {
        it.unique_key = &key;
        it.unique_len = sizeof(key);
        for (int i = 0; i < njobs; i++)
            if (live(&jobs[i]) && jobs[i].key == key && jobs[i].queue == queue)
                there = &jobs[i];
    }
    int r = tq_enqueue(q, &it, &out, &err);
    MUST(r == 0, "enqueue: %d", r);
    if (there) {
        MUST(out.existed == TQ_EXISTED && out.id == there->id,
             "key %d: job %" PRId64 ", not %" PRId64, key, out.id, there->id);
        return;
    }
    MUST(out.existed == TQ_NEW && !by_id(out.id), "id %" PRId64 " is not new", out.id);
    jobs[njobs++] = (struct model_job){.id = out.id,
                                       .state = it.delay_us ? TQ_SCHEDULED : TQ_READY,
                                       .prio = it.priority,
                                       .max_attempts = it.max_attempts,
                                       .key = key,
                                       .queue = queue};
}

static struct model_job *next_ready(int queue)
{
    struct model_job *best = NULL;

    for (int i = 0; i < njobs; i++)
        if (jobs[i].state == TQ_READY && jobs[i].queue == queue &&
            (!best || jobs[i].prio > best->prio ||
             (jobs[i].prio == best->prio && jobs[i].id < best->id)))
            best = &jobs[i];
    return best;
}

/* Claim on `h`; the model takes the same jobs in the same order. */
static void claim_on(tq *h, int64_t lease_us)
{
    int queue = (int)draw(2), max = 1 + (int)draw(4);
    tq_batch *b = NULL;

    int n = tq_claim(h, queues[queue], max, lease_us, &b, &err);
    MUST(n >= 0, "claim: %d", n);
    for (int i = 0; i < max; i++) {
        struct model_job *want = next_ready(queue);

        if (!want) {
            MUST(n == i, "claimed %d, not %d", n, i);
            break;
        }
        MUST(i < n, "claimed only %d, job %" PRId64 " is ready", n, want->id);
        const struct tq_job *got = tq_batch_job(b, i);
        MUST(got->ref.id == want->id, "claimed %" PRId64 ", not %" PRId64, got->ref.id, want->id);
        MUST(got->ref.run_lease > want->lease, "run_lease did not grow");
        want->state = TQ_RUNNING;
        want->lease = got->ref.run_lease;
        want->attempts++;
        MUST(got->attempts == want->attempts, "attempts %d, not %d", got->attempts, want->attempts);
    }
    tq_batch_free(b);
}

static void do_claim(void)
{
    claim_on(q, 3600000000LL);
}

static void apply(struct model_job *j, int end, bool later)
{
    bool last = end == TQ_NACK && j->attempts >= j->max_attempts;

    if (end == TQ_ACK)
        j->state = TQ_COMPLETED;
    else if (end == TQ_BURY || last)
        j->state = TQ_DEAD;
    else if (end == TQ_DISCARD)
        j->state = TQ_DISCARDED;
    else
        j->state = later ? TQ_SCHEDULED : TQ_READY;
    if (end == TQ_SNOOZE || end == TQ_RELEASE)
        j->attempts--;
}

static void do_settle(void)
{
    struct tq_settlement s = TQ_SETTLEMENT_INIT;
    struct model_job *j = pick();
    bool later = draw(2), stale = !draw(4);

    if (!j)
        return;
    s.ref.id = j->id;
    s.ref.run_lease = stale ? j->lease - 1 : j->lease;
    s.end = TQ_ACK + (int)draw(6);
    s.delay_us = later ? FAR : 0;
    if (s.end == TQ_RELEASE)
        later = false;
    bool ours = !stale && j->state == TQ_RUNNING;
    int r = tq_settle(q, &s, 1, &err);
    MUST(r == ours, "settle %d of job %" PRId64 ": %d, not %d", s.end, j->id, r, ours);
    MUST(ours || s.result == TR_E_LOST, "a stale settlement says %d", s.result);
    if (ours)
        apply(j, s.end, later);
}

static void do_heartbeat(void)
{
    struct model_job *j = pick();
    unsigned char beat = 0;

    if (!j || j->lease == 0)
        return;
    struct tq_ref ref = {j->id, j->lease};
    int r = tq_heartbeat(q, &ref, 1, 3600000000LL, &beat, &err);
    MUST(r == (j->state == TQ_RUNNING), "heartbeat of job %" PRId64 ": %d", j->id, r);
}

static void do_cancel(void)
{
    struct model_job *j = pick();

    if (!j || draw(3))
        return;
    int r = tq_cancel(q, j->id, 1, &err);
    MUST(r == (live(j) ? TQ_CANCELLED : TR_E_NOTFOUND), "cancel of job %" PRId64 ": %d", j->id, r);
    if (live(j))
        j->state = TQ_CANCELLED;
}

static void do_retry(void)
{
    struct model_job *j = pick();
    bool key_taken = false;

    if (!j)
        return;
    for (int i = 0; i < njobs; i++)
        key_taken |= live(&jobs[i]) && j->key && jobs[i].key == j->key && jobs[i].queue == j->queue;
    int want = j->state == TQ_SCHEDULED   ? 0
               : live(j)                  ? TR_E_EXISTS
               : j->state == TQ_COMPLETED ? TR_E_NOTFOUND
               : key_taken                ? TR_E_EXISTS
                                          : 0;
    int r = tq_retry(q, j->id, &err);
    MUST(r == want, "retry of job %" PRId64 " (%s): %d, not %d", j->id, tq_state_name(j->state), r,
         want);
    if (want == 0 && !live(j)) {
        j->attempts = 0;
        j->lease++;
    }
    if (want == 0)
        j->state = TQ_READY;
}

static tq *open_one(void);

/* Another process claims and dies; its jobs come back. */
static void do_die(void)
{
    int dead = 0, got = 0;

    if (draw(5))
        return;
    tq *victim = open_one();
    for (int i = 0; i < njobs; i++)
        jobs[i].ours = jobs[i].state == TQ_RUNNING;
    claim_on(victim, 1);
    tq_close(victim);
    for (int i = 0; i < njobs; i++) {
        if (jobs[i].state != TQ_RUNNING || jobs[i].ours)
            continue;
        dead++;
        jobs[i].state = jobs[i].attempts >= jobs[i].max_attempts ? TQ_DEAD : TQ_SCHEDULED;
    }
    for (int i = 0; i < 10000 && got < dead; i++) {
        int r = tq_reclaim(q, 100, &err);
        MUST(r >= 0, "reclaim: %d", r);
        got += r;
    }
    MUST(got == dead, "reclaimed %d, not %d", got, dead);
}

/* ---------------------------------------------------------------- the whole table */

static void compare_all(void)
{
    struct tq_filter f = TQ_FILTER_INIT;
    int64_t seen = 0, want = 0;

    f.limit = 1000;
    for (int i = 0; i < njobs; i++)
        want += live(&jobs[i]);
    for (;;) {
        tq_batch *b = NULL;
        int n = tq_list(q, &f, &b, &err);

        MUST(n >= 0, "list: %d", n);
        for (int i = 0; i < n; i++) {
            const struct tq_job *got = tq_batch_job(b, i);
            const struct model_job *j = by_id(got->ref.id);

            MUST(j && j->state == got->state && j->attempts == got->attempts,
                 "job %" PRId64 " is %s with %d attempts, not %s with %d", got->ref.id,
                 tq_state_name(got->state), got->attempts, j ? tq_state_name(j->state) : "unknown",
                 j ? j->attempts : 0);
            f.after_id = got->ref.id;
        }
        seen += n;
        tq_batch_free(b);
        if (n < f.limit)
            break;
    }
    MUST(seen == want, "%" PRId64 " live jobs, not %" PRId64, seen, want);
}

/* ---------------------------------------------------------------- main */

static const char *url;

static tq *open_one(void)
{
    struct tq_opts o = TQ_OPTS_INIT;
    tq *h = NULL;

    o.driver = !strncmp(url, "sqlite:", 7) ? tq_sqlite_driver() : NULL;
#ifdef WITH_POSTGRES
    if (!strncmp(url, "postgres", 8))
        o.driver = tq_pg_driver();
#endif
#ifdef WITH_MYSQL
    if (!strncmp(url, "mysql", 5))
        o.driver = tq_mysql_driver();
#endif
    int r = tq_open(&h, url, &o, &err);
    MUST(r == 0, "open: %d", r);
    return h;
}

int main(void)
{
    static void (*const ops[])(void) = {do_enqueue,   do_enqueue, do_enqueue, do_claim,  do_claim,
                                        do_settle,    do_settle,  do_settle,  do_settle, do_cancel,
                                        do_heartbeat, do_retry,   do_die};
    const char *given = getenv("TRIBUNAL_SEED");
    long steps = getenv("TRIBUNAL_SOAK") ? 10000 : 1000;

    url = getenv("TRIBUNAL_QUEUE_URL");
    MUST(url, "TRIBUNAL_QUEUE_URL is missing");
    seed = given ? strtoull(given, NULL, 10) : 20261115;
    rng = seed * 2654435761U + 88172645463325252U;
    q = open_one();
    int r = tq_migrate(q, 0, &err);
    MUST(r >= 0, "migrate down: %d", r);
    r = tq_migrate(q, -1, &err);
    MUST(r >= 0, "migrate up: %d", r);
    for (int i = 0; i < 2; i++) { /* what is reclaimed stays scheduled, however slow we are */
        struct tq_config c = TQ_CONFIG_INIT;

        c.base_backoff_us = c.max_backoff_us = FAR;
        r = tq_config_set(q, queues[i], &c, &err);
        MUST(r == 0, "config: %d", r);
    }
    for (step = 0; step < steps; step++) {
        ops[draw(sizeof(ops) / sizeof(ops[0]))]();
        if (step % 50 == 0)
            compare_all();
    }
    compare_all();
    tq_close(q);
    (void)printf("%ld steps, %d jobs, seed %" PRIu64 "\n", steps, njobs, seed);
    return 0;
}
