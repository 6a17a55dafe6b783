/* SPDX-License-Identifier: MIT
 *
 * base/clock.h - the only place that asks for the time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970 UTC. Steps when somebody sets the clock: for people and for rows only. */
int64_t tr_clock_real_us(void);

/* Microseconds of a clock that only goes forward: for deadlines and durations. */
int64_t tr_clock_mono_us(void);

/* Tests put their own clock in place (NULL restores the real one). Not while threads run. */
struct tr_clock {
    int64_t (*real_us)(void *arg);
    int64_t (*mono_us)(void *arg);
    void *arg;
};
void tr_clock_replace(const struct tr_clock *fake);

/* "2026-11-15T22:49:01.123456Z"; `out` has TR_TIME_TEXT bytes. Years outside 0..9999 are shown as
 * the nearest of them. */
enum {
    TR_TIME_TEXT = 28
};
const char *tr_clock_text(int64_t real_us, char out[static TR_TIME_TEXT]);

#endif
