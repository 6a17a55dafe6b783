/* SPDX-License-Identifier: MIT
 *
 * val.c - values on their way to and from a database.
 */
#include <string.h>

#include "base/parse.h"
#include "queue/internal.h"

struct tq_val tqi_int(int64_t i)
{
    return (struct tq_val){.type = TQ_INT, .i = i};
}

struct tq_val tqi_text(const char *s)
{
    if (!s)
        return (struct tq_val){.type = TQ_NULL, .oid = 25};
    return (struct tq_val){.type = TQ_TEXT, .p = s, .len = strlen(s)};
}

struct tq_val tqi_bytes(const void *p, size_t n)
{
    if (!p)
        return (struct tq_val){.type = TQ_NULL, .oid = 17};
    return (struct tq_val){.type = TQ_BYTES, .p = p, .len = n};
}

int64_t tqi_val_int(const struct tq_val *v)
{
    char text[24];
    int64_t i = 0;

    if (v->type == TQ_INT)
        return v->i;
    if (v->type == TQ_NULL || v->len >= sizeof(text))
        return 0;
    memcpy(text, v->p, v->len);
    text[v->len] = '\0';
    (void)tr_parse_i64(text, INT64_MIN, INT64_MAX, &i, NULL);
    return i;
}
