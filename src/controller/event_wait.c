/* SPDX-License-Identifier: MIT
 *
 * event_wait.c - a table of waiting requests, by submission.
 */
#include "controller/event_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/events.h"

enum {
    BUCKETS = 1024
};

struct event_wait {
    struct event_wait *next;
    struct event_waits *owner;
    char submit_id[132];
    int64_t until_us;
    void (*fn)(void *arg, bool ended);
    void *arg;
};

struct event_waits {
    struct event_wait *lists[BUCKETS];
};

struct event_waits *event_waits_new(void)
{
    return calloc(1, sizeof(struct event_waits));
}

void event_waits_free(struct event_waits *ws)
{
    for (size_t b = 0; ws && b < BUCKETS; b++)
        while (ws->lists[b])
            events_wait_stop(ws->lists[b]);
    free(ws);
}

static size_t bucket(const char *s)
{
    uint64_t h = 1469598103934665603U;

    while (*s)
        h = (h ^ (unsigned char)*s++) * 1099511628211U;
    return (size_t)(h % BUCKETS);
}

struct event_wait *event_wait_add(struct event_waits *ws, const char *submit_id, int64_t timeout_us,
                                  void (*fn)(void *arg, bool ended), void *arg)
{
    struct event_wait *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->owner = ws;
    (void)snprintf(w->submit_id, sizeof(w->submit_id), "%s", submit_id);
    w->until_us = tr_clock_mono_us() + timeout_us;
    w->fn = fn;
    w->arg = arg;
    struct event_wait **at = &ws->lists[bucket(submit_id)];
    w->next = *at;
    *at = w;
    return w;
}

void events_wait_stop(struct event_wait *w)
{
    struct event_wait **at = &w->owner->lists[bucket(w->submit_id)];

    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
    free(w);
}

/* Call those of one bucket that match; fn may add new ones, so start anew after each. */
static void wake(struct event_waits *ws, size_t b, const char *submit_id, int64_t now)
{
    struct event_wait **at = &ws->lists[b];

    while (*at) {
        struct event_wait *w = *at;
        bool ended = submit_id && strcmp(w->submit_id, submit_id) == 0;

        if (!ended && (submit_id || w->until_us > now)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->fn(w->arg, ended);
        free(w);
        at = &ws->lists[b];
    }
}

void event_waits_ended(struct event_waits *ws, const char *submit_id)
{
    wake(ws, bucket(submit_id), submit_id, 0);
}

void event_waits_late(struct event_waits *ws, int64_t now)
{
    for (size_t b = 0; b < BUCKETS; b++)
        if (ws->lists[b])
            wake(ws, b, NULL, now);
}
