/* SPDX-License-Identifier: MIT
 *
 * codec/json.h - JSON from strangers, strictly: bounded, no duplicate names, the right types.
 */
#ifndef CODEC_JSON_H
#define CODEC_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Parse one document of at most `max` bytes; an object at the top. The caller json_decref()s it. */
int tr_json_parse(const char *bytes, size_t len, size_t max, json_t **ret, struct tr_err *err);

static inline void tr_json_unrefp(json_t **j)
{
    json_decref(*j);
}

/* The text of a member; "" when it is not there or no text. For documents of our own making. */
static inline const char *tr_json_word(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    return s ? s : "";
}

/* Fetch a member: 1 when it is there (not null), 0 when not, TR_E_PARSE when it has another type.
 * `where` is for messages ("problem"). Texts are copied into the arena and may hold no NUL. */
int tr_json_text(const json_t *o, const char *where, const char *name, struct tr_arena *a,
                 const char **ret, struct tr_err *err);
/* The same with its length; NUL bytes are allowed. */
int tr_json_bytes(const json_t *o, const char *where, const char *name, struct tr_arena *a,
                  const char **ret, size_t *ret_len, struct tr_err *err);
int tr_json_int(const json_t *o, const char *where, const char *name, int64_t min, int64_t max,
                int64_t *ret, struct tr_err *err);
int tr_json_bool(const json_t *o, const char *where, const char *name, bool *ret,
                 struct tr_err *err);
/* A number, also with a fraction, in thousandths; rounded to the nearest. */
int tr_json_milli(const json_t *o, const char *where, const char *name, int64_t min, int64_t max,
                  int64_t *ret, struct tr_err *err);
int tr_json_object(const json_t *o, const char *where, const char *name, const json_t **ret,
                   struct tr_err *err);
int tr_json_array(const json_t *o, const char *where, const char *name, const json_t **ret,
                  struct tr_err *err);

/* Append the bytes as valid UTF-8: what is not becomes U+FFFD. At most `max` bytes are appended,
 * never half a character. */
void tr_text_clean(const char *bytes, size_t len, size_t max, struct tr_buf *out);

/* A JSON text of any bytes, cleaned; NULL when memory is out. */
json_t *tr_json_clean(const char *bytes, size_t len, size_t max);

#endif
