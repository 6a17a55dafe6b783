/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "net/judge_auth.h"
#include "unit.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY "tj_k00000000001_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const struct tr_judge_talk talk = {A64, B64, "k00000000001", "w1"};

static void the_proofs_are_those_of_the_protocol_page(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_judge_key key;
    struct tr_judge_verifier v;
    char proof[TR_SHA256_HEX];

    assert_int_equal(tr_judge_key_parse("\t" KEY "\n", &key, &err), 0);
    assert_string_equal(key.key_id, "k00000000001");
    tr_judge_verifier_of(&key, &v);
    tr_judge_prove(&key, &talk, proof);
    assert_string_equal(proof, "92c6392ea9ff7f98e0c46909db09cb504979a3f27bfad21eb65f2e0404d354fe");
    assert_true(tr_judge_check(&v, &talk, proof));
    assert_int_equal(tr_judge_answer(&v, &talk, proof, &err), 0);
    assert_string_equal(proof, "ffa5bffb57d7471ecd3b43ff3b38bdef2bbf4a80ba41d4a819ad7cdeae8cafcf");
    assert_true(tr_judge_check_controller(&key, &talk, proof));
}

static void a_proof_holds_for_its_own_talk_only(void **state)
{
    static const struct {
        const char *label;
        struct tr_judge_talk talk;
    } rows[] = {
        {"another challenge", {B64, B64, "k00000000001", "w1"}},
        {"another nonce", {A64, A64, "k00000000001", "w1"}},
        {"another key", {A64, B64, "k00000000002", "w1"}},
        {"another judge", {A64, B64, "k00000000001", "w2"}},
    };
    struct tr_judge_key key;
    struct tr_judge_verifier v;
    char proof[TR_SHA256_HEX];

    assert_int_equal(tr_judge_key_parse(KEY, &key, NULL), 0);
    tr_judge_verifier_of(&key, &v);
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].label);
        tr_judge_prove(&key, &rows[i].talk, proof);
        assert_false(tr_judge_check(&v, &talk, proof));
    }
    assert_false(tr_judge_check(&v, &talk, ""));
    assert_false(tr_judge_check(&v, &talk, v.stored_key)); /* what the database has is no proof */
}

static void new_keys_are_different_and_can_be_read_back(void **state)
{
    struct tr_judge_key a, b, again;
    char text_a[TR_KEY_TEXT], text_b[TR_KEY_TEXT], id[TR_KEY_ID];

    tr_judge_key_new(&a, text_a);
    tr_judge_key_new(&b, text_b);
    assert_string_not_equal(text_a, text_b);
    assert_int_equal(tr_judge_key_parse(text_a, &again, NULL), 0);
    assert_memory_equal(a.secret, again.secret, sizeof(a.secret));
    tr_api_key_new(id, text_a);
    assert_true(tr_api_key_id(text_a, id));
    assert_false(tr_api_key_id(text_b, id));
}

static void what_is_no_key_is_refused_and_never_shown(void **state)
{
    static const char *const rows[] = {
        "",
        "tj_",
        KEY "0",
        "tk_k00000000001_" A64,
        KEY " " KEY,
        "tj_K00000000001_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_judge_key key;

        ROW(rows[i]);
        assert_int_equal(tr_judge_key_parse(rows[i], &key, &err), TR_E_PARSE);
        assert_null(strstr(err.msg, "0001"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_proofs_are_those_of_the_protocol_page),
        cmocka_unit_test(a_proof_holds_for_its_own_talk_only),
        cmocka_unit_test(new_keys_are_different_and_can_be_read_back),
        cmocka_unit_test(what_is_no_key_is_refused_and_never_shown),
    };
    return RUN(tests);
}
