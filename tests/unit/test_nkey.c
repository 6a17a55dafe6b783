/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "net/nkey.h"
#include "unit.h"

/* The pair that the NATS documentation shows. */
#define SEED "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

static void the_public_key_follows_from_the_seed(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    char out[TR_NKEY_TEXT];

    assert_int_equal(tr_nkey_public(SEED, out, &err), 0);
    assert_string_equal(out, PUBLIC);
    assert_int_equal(tr_nkey_public(" " SEED "\n", out, &err), 0);
}

static void what_is_no_seed_is_refused_and_never_shown(void **state)
{
    static const struct {
        const char *label, *seed, *says;
    } rows[] = {
        {"empty", "", "not an nkey seed: expected 58 characters from SU…"},
        {"public key", PUBLIC, "not an nkey seed: expected 58 characters from SU…"},
        {"lower case", "suacssl3uahudxkfsnvuzrf5uhpmwz6bfdtj7m6usdxiednppqyyycu3vy",
         "not an nkey seed: expected 58 characters from SU…"},
        {"one letter off", "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA",
         "not an nkey seed: its check sum is wrong"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        char out[TR_NKEY_TEXT];

        ROW(rows[i].label);
        assert_int_equal(tr_nkey_public(rows[i].seed, out, &err), TR_E_PARSE);
        assert_string_equal(err.msg, rows[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_public_key_follows_from_the_seed),
        cmocka_unit_test(what_is_no_seed_is_refused_and_never_shown),
    };
    return RUN(tests);
}
