/* SPDX-License-Identifier: MIT
 *
 * json.c - jansson, held strictly. Its own depth ceiling (2048) bounds nesting.
 */
#include "codec/json.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

int tr_json_parse(const char *bytes, size_t len, size_t max, json_t **ret, struct tr_err *err)
{
    json_error_t e;

    if (len > max)
        return tr_fail(err, TR_E_LIMIT, 0, "the message has %zu bytes; at most %zu are taken", len,
                       max);
    json_t *j = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!j)
        return tr_fail(err, TR_E_PARSE, 0, "not JSON: line %d: %s", e.line, e.text);
    if (!json_is_object(j)) {
        json_decref(j);
        return tr_fail(err, TR_E_PARSE, 0, "expected a JSON object at the top");
    }
    *ret = j;
    return 0;
}

static const json_t *member(const json_t *o, const char *name)
{
    const json_t *j = json_object_get(o, name);

    return json_is_null(j) ? NULL : j;
}

static int wrong(const char *where, const char *name, const char *expected, struct tr_err *err)
{
    return tr_fail(err, TR_E_PARSE, 0, "%s%s%s: expected %s", where, *where ? "." : "", name,
                   expected);
}

int tr_json_bytes(const json_t *o, const char *where, const char *name, struct tr_arena *a,
                  const char **ret, size_t *ret_len, struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_string(j))
        return wrong(where, name, "a text", err);
    const char *value = json_string_value(j);
    size_t len = json_string_length(j);
    char *copy = tr_arena_alloc(a, len + 1);
    if (!copy || !value)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %s", name);
    memcpy(copy, value, len);
    *ret = copy;
    *ret_len = len;
    return 1;
}

int tr_json_text(const json_t *o, const char *where, const char *name, struct tr_arena *a,
                 const char **ret, struct tr_err *err)
{
    const char *text = NULL;
    size_t len = 0;
    int r = tr_json_bytes(o, where, name, a, &text, &len, err);

    if (r <= 0 || !text)
        return r;
    if (strlen(text) != len)
        return wrong(where, name, "a text without NUL characters", err);
    *ret = text;
    return 1;
}

int tr_json_int(const json_t *o, const char *where, const char *name, int64_t min, int64_t max,
                int64_t *ret, struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_integer(j))
        return wrong(where, name, "a whole number", err);
    int64_t v = (int64_t)json_integer_value(j);
    if (v < min || v > max)
        return tr_fail(err, TR_E_LIMIT, 0, "%s%s%s is %lld; it must be from %lld to %lld", where,
                       *where ? "." : "", name, (long long)v, (long long)min, (long long)max);
    *ret = v;
    return 1;
}

int tr_json_bool(const json_t *o, const char *where, const char *name, bool *ret,
                 struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_boolean(j))
        return wrong(where, name, "true or false", err);
    *ret = json_is_true(j);
    return 1;
}

int tr_json_milli(const json_t *o, const char *where, const char *name, int64_t min, int64_t max,
                  int64_t *ret, struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_number(j))
        return wrong(where, name, "a number", err);
    double v = json_number_value(j) * 1000;
    if (!(v >= (double)min && v <= (double)max))
        return tr_fail(err, TR_E_LIMIT, 0, "%s%s%s is %g; it must be from %g to %g", where,
                       *where ? "." : "", name, v / 1000, (double)min / 1000, (double)max / 1000);
    *ret = (int64_t)llround(v);
    return 1;
}

int tr_json_object(const json_t *o, const char *where, const char *name, const json_t **ret,
                   struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_object(j))
        return wrong(where, name, "an object", err);
    *ret = j;
    return 1;
}

int tr_json_array(const json_t *o, const char *where, const char *name, const json_t **ret,
                  struct tr_err *err)
{
    const json_t *j = member(o, name);

    if (!j)
        return 0;
    if (!json_is_array(j))
        return wrong(where, name, "a list", err);
    *ret = j;
    return 1;
}

void tr_text_clean(const char *bytes, size_t len, size_t max, struct tr_buf *out)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t start = out->len;

    for (size_t i = 0; i < len;) {
        size_t n = tr_utf8_len(bytes + i, len - i);
        const char *from = n ? bytes + i : replacement;
        size_t take = n ? n : sizeof(replacement) - 1;

        if (out->len - start + take > max || out->failed)
            return;
        tr_buf_add(out, from, take);
        i += n ? n : 1;
    }
}

json_t *tr_json_clean(const char *bytes, size_t len, size_t max)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, max);
    tr_text_clean(bytes, len, max, &b);
    return json_stringn(b.data ? b.data : "", b.len);
}
