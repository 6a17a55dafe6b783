/* SPDX-License-Identifier: MIT
 *
 * parse.c - strict parsers for numbers, sizes and durations.
 *
 * All arithmetic is in integers: no locale, no rounding, no wrap. A value that does not come out
 * whole in the unit of the result ("0.3B", "1.5us") is refused rather than rounded.
 */
#include "base/parse.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Longest fraction that is looked at; 18 digits keep 10^n inside 64 bits. */
enum {
    FRACTION_MAX = 18
};

/* An unsigned decimal number: whole + fraction / scale. */
struct decimal {
    uint64_t whole;
    uint64_t fraction;
    uint64_t scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits only, at least one; returns the first character behind them, NULL on none or overflow. */
static const char *read_digits(const char *s, uint64_t *ret)
{
    uint64_t v = 0;

    if (!is_digit(*s))
        return NULL;
    for (; is_digit(*s); s++) {
        if (__builtin_mul_overflow(v, 10U, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
            return NULL;
    }
    *ret = v;
    return s;
}

static const char *read_decimal(const char *s, struct decimal *ret)
{
    struct decimal d = {.scale = 1};

    s = read_digits(s, &d.whole);
    if (!s || *s != '.') {
        *ret = d;
        return s;
    }
    s++;
    if (!is_digit(*s))
        return NULL;
    for (int n = 0; is_digit(*s); s++, n++) {
        if (n == FRACTION_MAX)
            return NULL;
        d.fraction = d.fraction * 10 + (uint64_t)(*s - '0');
        d.scale *= 10;
    }
    *ret = d;
    return s;
}

/* d * unit, exactly; false when it is not whole or does not fit. */
static bool scale_decimal(const struct decimal *d, uint64_t unit, uint64_t *ret)
{
    __extension__ typedef unsigned __int128 u128;
    u128 part = (u128)d->fraction * unit;

    if (part % d->scale != 0)
        return false;
    u128 total = (u128)d->whole * unit + part / d->scale;
    if (total > UINT64_MAX)
        return false;
    *ret = (uint64_t)total;
    return true;
}

int tr_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct tr_err *err)
{
    uint64_t v = 0;
    const char *end = read_digits(s, &v);

    if (!end || *end)
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.64s' is not a whole number from %" PRIu64 " to %" PRIu64, s, min, max);
    if (v < min || v > max)
        return tr_fail(err, TR_E_PARSE, 0, "%" PRIu64 " is not between %" PRIu64 " and %" PRIu64, v,
                       min, max);
    *ret = v;
    return 0;
}

int tr_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err)
{
    bool negative = *s == '-';
    uint64_t v = 0;
    const char *end = read_digits(s + negative, &v);

    if (!end || *end || v > (uint64_t)INT64_MAX)
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.64s' is not a whole number from %" PRId64 " to %" PRId64, s, min, max);
    int64_t value = negative ? -(int64_t)v : (int64_t)v;
    if (value < min || value > max)
        return tr_fail(err, TR_E_PARSE, 0, "%" PRId64 " is not between %" PRId64 " and %" PRId64,
                       value, min, max);
    *ret = value;
    return 0;
}

struct unit {
    const char *name;
    uint64_t factor;
};

#define KIB UINT64_C(1024)

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", KIB},
    {"KB", KIB},
    {"KiB", KIB},
    {"M", KIB *KIB},
    {"MB", KIB *KIB},
    {"MiB", KIB *KIB},
    {"G", KIB *KIB *KIB},
    {"GB", KIB *KIB *KIB},
    {"GiB", KIB *KIB *KIB},
    {"T", KIB *KIB *KIB *KIB},
    {"TB", KIB *KIB *KIB *KIB},
    {"TiB", KIB *KIB *KIB *KIB},
};

static const struct unit time_units[] = {
    {"us", 1},
    {"ms", 1000},
    {"s", 1000 * 1000},
    {"m", UINT64_C(60) * 1000 * 1000},
    {"h", UINT64_C(3600) * 1000 * 1000},
    {"d", UINT64_C(86400) * 1000 * 1000},
};

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    }
    return NULL;
}

int tr_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct tr_err *err)
{
    char lo[TR_HUMAN_MAX];
    char hi[TR_HUMAN_MAX];
    struct decimal d = {0};
    uint64_t v = 0;
    const char *end = read_decimal(s, &d);
    const struct unit *unit = end ? find_unit(size_units, TR_ARRAY_LEN(size_units), end) : NULL;

    if (!unit || !scale_decimal(&d, unit->factor, &v))
        return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not a size such as 512, 64K, 256M or 1.5G",
                       s);
    if (v < min || v > max)
        return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not between %s and %s", s,
                       tr_format_size(min, lo), tr_format_size(max, hi));
    *ret = v;
    return 0;
}

int tr_parse_duration_us(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err)
{
    char lo[TR_HUMAN_MAX];
    char hi[TR_HUMAN_MAX];
    struct decimal d = {0};
    uint64_t v = 0;
    const char *end = read_decimal(s, &d);

    if (end && *end == '\0' && d.whole == 0 && d.fraction == 0) {
        v = 0;
    } else {
        const struct unit *unit = end ? find_unit(time_units, TR_ARRAY_LEN(time_units), end) : NULL;

        if (!unit || !scale_decimal(&d, unit->factor, &v) || v > (uint64_t)INT64_MAX)
            return tr_fail(err, TR_E_PARSE, 0,
                           "'%.64s' is not a duration such as 250ms, 1.5s, 2m or 1h", s);
    }
    if ((int64_t)v < min || (int64_t)v > max)
        return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not between %s and %s", s,
                       tr_format_duration_us(min, lo), tr_format_duration_us(max, hi));
    *ret = (int64_t)v;
    return 0;
}

int tr_parse_milli(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err)
{
    struct decimal d = {0};
    uint64_t v = 0;
    const char *end = read_decimal(s, &d);

    if (!end || *end || !scale_decimal(&d, 1000, &v) || v > (uint64_t)INT64_MAX)
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.64s' is not a decimal number with at most three places", s);
    if ((int64_t)v < min || (int64_t)v > max)
        return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not between %g and %g", s,
                       (double)min / 1000, (double)max / 1000);
    *ret = (int64_t)v;
    return 0;
}

int tr_parse_bool(const char *s, bool *ret, struct tr_err *err)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true},   {"yes", true}, {"on", true},   {"1", true},
                 {"false", false}, {"no", false}, {"off", false}, {"0", false}};

    for (size_t i = 0; i < TR_ARRAY_LEN(words); i++) {
        if (strcmp(words[i].word, s) == 0) {
            *ret = words[i].value;
            return 0;
        }
    }
    return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not true or false", s);
}

const char *tr_format_size(uint64_t bytes, char out[static TR_HUMAN_MAX])
{
    static const char units[] = "\0KMGT";
    size_t u = 0;

    while (u < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        u++;
    }
    (void)snprintf(out, TR_HUMAN_MAX, "%" PRIu64 "%.1s", bytes, &units[u]); /* always fits */
    return out;
}

/* The largest unit in which the value has at most three decimals. */
const char *tr_format_duration_us(int64_t us, char out[static TR_HUMAN_MAX])
{
    const char *sign = us < 0 ? "-" : "";
    uint64_t v = us < 0 ? -(uint64_t)us : (uint64_t)us;

    (void)snprintf(out, TR_HUMAN_MAX, "0"); /* stays for 0: every other value has a unit */
    for (size_t n = TR_ARRAY_LEN(time_units); n > 0; n--) {
        const struct unit *unit = &time_units[n - 1];
        uint64_t f = unit->factor;
        uint64_t thousandth = f / 1000; /* 0 for microseconds: those have no decimals */

        assert(f > 0);
        if (v < f || (thousandth && v % thousandth != 0))
            continue;
        uint64_t milli = thousandth ? v % f / thousandth : 0;
        if (milli == 0) {
            (void)snprintf(out, TR_HUMAN_MAX, "%s%" PRIu64 "%s", sign, v / f, unit->name);
        } else {
            char frac[4];

            (void)snprintf(frac, sizeof(frac), "%03u", (unsigned)milli % 1000U);
            for (size_t k = 3; k > 1 && frac[k - 1] == '0'; k--)
                frac[k - 1] = '\0';
            (void)snprintf(out, TR_HUMAN_MAX, "%s%" PRIu64 ".%s%s", sign, v / f, frac, unit->name);
        }
        break;
    }
    return out;
}
