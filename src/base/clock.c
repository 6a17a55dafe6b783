/* SPDX-License-Identifier: MIT
 *
 * clock.c - real and monotonic time, replaceable in tests.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

static const struct tr_clock *replaced;

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    int r = clock_gettime(id, &ts);

    assert(r == 0); /* both clocks exist on every Linux */
    (void)r;
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t tr_clock_real_us(void)
{
    return replaced ? replaced->real_us(replaced->arg) : read_clock(CLOCK_REALTIME);
}

int64_t tr_clock_mono_us(void)
{
    return replaced ? replaced->mono_us(replaced->arg) : read_clock(CLOCK_MONOTONIC);
}

void tr_clock_replace(const struct tr_clock *fake)
{
    replaced = fake;
}

const char *tr_clock_text(int64_t real_us, char out[static TR_TIME_TEXT])
{
    const int64_t first = INT64_C(-62167219200) * 1000000;         /* 0000-01-01 */
    const int64_t last = INT64_C(253402300799) * 1000000 + 999999; /* 9999-12-31 */

    if (real_us < first)
        real_us = first;
    if (real_us > last)
        real_us = last;
    int64_t us = real_us % 1000000;
    if (us < 0)
        us += 1000000;
    time_t seconds = (time_t)((real_us - us) / 1000000);
    struct tm tm;
    struct tm *ok = gmtime_r(&seconds, &tm);
    assert(ok);
    (void)ok;
    /* Each number is taken modulo its width only so that the compiler sees that it fits. */
    (void)snprintf(out, TR_TIME_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
                   (unsigned)(tm.tm_year + 1900) % 10000U, (unsigned)(tm.tm_mon + 1) % 100U,
                   (unsigned)tm.tm_mday % 100U, (unsigned)tm.tm_hour % 100U,
                   (unsigned)tm.tm_min % 100U, (unsigned)tm.tm_sec % 100U, (unsigned)us % 1000000U);
    return out;
}
