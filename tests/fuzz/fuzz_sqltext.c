/* SPDX-License-Identifier: MIT
 *
 * Property: whatever bytes a job carries, the text for MySQL is the template with nothing but hex
 * digits, decimal digits and our own quotes in place of its parameters: what stands outside of
 * quotes is always the same. An array for PostgreSQL has the length its parts say.
 *
 * Input: a template of ours, filled with the input cut in two.
 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "queue/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char template[] = "UPDATE t SET a = ?1, b = ?2 WHERE c = ?3;";

/* The text with every literal cut out. */
static void skeleton(const struct tr_buf *text, struct tr_buf *out)
{
    bool quoted = false;

    for (size_t i = 0; i < text->len; i++) {
        char c = text->data[i];

        if (c == '\'')
            quoted = !quoted;
        else if (quoted)
            assert(isxdigit((unsigned char)c));
        else if (c != 'x')
            tr_buf_addc(out, c);
    }
    assert(!quoted);
}

static void check_text(const struct tq_val *cells)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text, bones;
    const struct tq_set set = {.extra = cells, .nextra = 3};

    tr_buf_init(&text, 1 << 20);
    tr_buf_init(&bones, 1 << 20);
    tqi_expand(&text, template, &set);
    if (tr_buf_check(&text, "text", NULL) < 0)
        return;
    skeleton(&text, &bones);
    assert(!strcmp(bones.data, "UPDATE t SET a = , b =  WHERE c = 7;"));
}

static void check_array(const struct tq_val *cells)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf array;
    const struct tq_set set = {.types = "b", .cells = cells, .nrows = 2};
    unsigned oid;

    tr_buf_init(&array, 1 << 20);
    tqi_pg_array(&array, &set, 0, &oid);
    if (tr_buf_check(&array, "array", NULL) >= 0)
        assert(oid == 1001 && array.len == 20 + 4 + cells[0].len + 4 + cells[1].len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf any;
    size_t half = size / 2;
    const struct tq_val cells[] = {
        {.type = TQ_TEXT, .p = data, .len = half},
        {.type = TQ_BYTES, .p = data + half, .len = size - half},
        {.type = TQ_INT, .i = 7},
    };
    const struct tq_set none = {.extra = cells, .nextra = 3};

    check_text(cells);
    check_array(cells);
    /* Hostile templates do not exist, but they must not be read past their end. */
    tr_buf_init(&any, 1 << 20);
    tr_buf_add(&any, data, size);
    if (tr_buf_check(&any, "input", NULL) >= 0 && any.data) {
        TR_CLEANUP(tr_buf_done) struct tr_buf out;

        tr_buf_init(&out, 1 << 20);
        tqi_expand(&out, any.data, &none);
        tr_buf_clear(&out);
        tqi_renumber(&out, any.data);
    }
    return 0;
}
