/* SPDX-License-Identifier: MIT
 *
 * sqltext.c - parameters for engines that cannot take them as they are.
 *
 * MySQL: one round trip on a connection where nothing may stay prepared means the text protocol.
 * Bytes are written as hex, numbers in decimal, so that no value can end a literal, whatever the
 * session's character set and sql_mode are. PostgreSQL: a column of a set is one array parameter.
 */
#include <ctype.h>
#include <string.h>

#include "queue/internal.h"

static void add_hex(struct tr_buf *out, const unsigned char *p, size_t len)
{
    static const char digit[] = "0123456789abcdef";
    char *to = tr_buf_room(out, 2 * len);

    if (!to)
        return;
    for (size_t i = 0; i < len; i++) {
        to[2 * i] = digit[p[i] >> 4];
        to[2 * i + 1] = digit[p[i] & 15];
    }
    tr_buf_grow(out, 2 * len);
}

static void add_literal(struct tr_buf *out, const struct tq_val *v)
{
    if (v->type == TQ_NULL) {
        tr_buf_adds(out, "NULL");
    } else if (v->type == TQ_INT) {
        tr_buf_addf(out, "%lld", (long long)v->i);
    } else if (v->len == 0) {
        tr_buf_adds(out, "''");
    } else {
        tr_buf_adds(out, "x'");
        add_hex(out, v->p, v->len);
        tr_buf_addc(out, '\'');
    }
}

/* Up to the next parameter: a question mark that is not inside a literal. */
static const char *next_mark(const char *from, const char *end)
{
    bool quoted = false;

    for (; from < end && (quoted || *from != '?'); from++)
        if (*from == '\'')
            quoted = !quoted;
    return from;
}

/* Text with its parameters; `row` is the row of the set that ?1…?ncols mean. */
static void add_text(struct tr_buf *out, const char *from, const char *end,
                     const struct tq_set *set, size_t row)
{
    size_t ncols = set->types ? strlen(set->types) : 0;

    while (from < end) {
        const char *mark = next_mark(from, end);
        size_t n = 0;

        tr_buf_add(out, from, (size_t)(mark - from));
        if (mark == end)
            return;
        for (from = mark + 1; from < end && isdigit((unsigned char)*from) && n < 1000; from++)
            n = n * 10 + (size_t)(*from - '0');
        if (n >= 1 && n <= ncols)
            add_literal(out, &set->cells[row * ncols + n - 1]);
        else if (n > ncols && n <= ncols + (size_t)set->nextra)
            add_literal(out, &set->extra[n - ncols - 1]);
        else
            tr_buf_add(out, mark, (size_t)(from - mark));
    }
}

void tqi_expand(struct tr_buf *out, const char *sql, const struct tq_set *set)
{
    const char *each;

    while ((each = strstr(sql, "/*each ")) != NULL) {
        const char *sep = each + strlen("/*each ");
        const char *body = strstr(sep, "*/");
        const char *end = body ? strstr(body, "/*end*/") : NULL;

        if (!end)
            break;
        add_text(out, sql, each, set, 0);
        for (size_t i = 0; i < set->nrows; i++) {
            if (i > 0)
                tr_buf_add(out, sep, (size_t)(body - sep));
            add_text(out, body + 2, end, set, i);
        }
        sql = end + strlen("/*end*/");
    }
    add_text(out, sql, sql + strlen(sql), set, 0);
}

static void add_be32(struct tr_buf *out, uint32_t v)
{
    unsigned char b[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 8), (unsigned char)v};

    tr_buf_add(out, b, sizeof(b));
}

void tqi_pg_array(struct tr_buf *out, const struct tq_set *set, size_t col, unsigned *ret_oid)
{
    size_t ncols = strlen(set->types);
    uint32_t elem = set->types[col] == 'i' ? 20 : set->types[col] == 't' ? 25 : 17;

    *ret_oid = elem == 20 ? 1016 : elem == 25 ? 1009 : 1001;
    add_be32(out, 1); /* dimensions */
    add_be32(out, 1); /* there may be NULLs */
    add_be32(out, elem);
    add_be32(out, (uint32_t)set->nrows);
    add_be32(out, 1); /* first index */
    for (size_t i = 0; i < set->nrows; i++) {
        const struct tq_val *v = &set->cells[i * ncols + col];

        if (v->type == TQ_NULL) {
            add_be32(out, UINT32_MAX);
        } else if (v->type == TQ_INT) {
            add_be32(out, 8);
            add_be32(out, (uint32_t)((uint64_t)v->i >> 32));
            add_be32(out, (uint32_t)v->i);
        } else {
            add_be32(out, (uint32_t)v->len);
            tr_buf_add(out, v->p, v->len);
        }
    }
}

void tqi_renumber(struct tr_buf *out, const char *sql)
{
    bool quoted = false;

    for (; *sql; sql++) {
        if (*sql == '\'')
            quoted = !quoted;
        tr_buf_addc(out, *sql == '?' && !quoted && isdigit((unsigned char)sql[1]) ? '$' : *sql);
    }
}
