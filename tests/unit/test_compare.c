/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "judge/compare.h"
#include "unit.h"

#define LIT(s)                                                                                     \
    {                                                                                              \
        -1, (s), sizeof(s) - 1                                                                     \
    }

static enum tr_verdict run(const struct tr_compare *how, struct tr_bytes got, struct tr_bytes want,
                           enum tr_subcode *sub, struct tr_diff *d)
{
    struct tr_err err = TR_ERR_INIT;
    enum tr_verdict v = TR_V_NONE;

    assert_int_equal(tr_compare_run(how, got, want, &v, sub, d, &err), 0);
    return v;
}

#define NONE TR_SUB_NONE
static const struct {
    const char *label;
    struct tr_compare how;
    struct tr_bytes got, want;
    enum tr_verdict v;
    enum tr_subcode s;
} rows[] = {
#define L                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_LINES                                                                   \
    }
    {"same", L, LIT("1\n2\n"), LIT("1\n2\n"), TR_V_AC, NONE},
    {"no last newline", L, LIT("1\n2"), LIT("1\n2\n"), TR_V_AC, NONE},
    {"answer without last newline", L, LIT("1\n2\n"), LIT("1\n2"), TR_V_AC, NONE},
    {"blank lines at the end", L, LIT("1\n\n \n\t\n"), LIT("1\n"), TR_V_AC, NONE},
    {"blanks at the end of lines", L, LIT("1 \t\r\n2\n"), LIT("1\n2   \n"), TR_V_AC, NONE},
    {"CRLF", L, LIT("1\r\n2\r\n"), LIT("1\n2\n"), TR_V_AC, NONE},
    {"last line with blanks, no newline", L, LIT("1  "), LIT("1\n"), TR_V_AC, NONE},
    {"blank line in between", L, LIT("1\n\n2\n"), LIT("1\n2\n"), TR_V_WA, TR_SUB_PE},
    {"two blanks between", L, LIT("1  2\n"), LIT("1 2\n"), TR_V_WA, TR_SUB_PE},
    {"blank before", L, LIT(" 1\n"), LIT("1\n"), TR_V_WA, TR_SUB_PE},
    {"both empty", L, LIT(""), LIT(""), TR_V_AC, NONE},
    {"only blanks for nothing", L, LIT(" \n\n"), LIT(""), TR_V_AC, NONE},
    {"no output", L, LIT(""), LIT("1\n"), TR_V_WA, TR_SUB_NO},
    {"only blanks for something", L, LIT(" \n"), LIT("1\n"), TR_V_WA, TR_SUB_NO},
    {"too short", L, LIT("1\n"), LIT("1\n2\n"), TR_V_WA, NONE},
    {"too long", L, LIT("1\n2\n"), LIT("1\n"), TR_V_WA, NONE},
    {"NUL is a byte", L, LIT("a\0b\n"), LIT("a\0c\n"), TR_V_WA, NONE},
    {"NUL is not white space", L, LIT("a\0\n"), LIT("a\n"), TR_V_WA, NONE},
    {"invalid UTF-8 is bytes", L, LIT("\xff\xfe\n"), LIT("\xff\xfe\n"), TR_V_AC, NONE},
    {"form feed is no blank", L, LIT("1\f\n"), LIT("1\n"), TR_V_WA, TR_SUB_PE},
#define X                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_EXACT                                                                   \
    }
    {"exact: same", X, LIT("1\n"), LIT("1\n"), TR_V_AC, NONE},
    {"exact: newline missing", X, LIT("1"), LIT("1\n"), TR_V_WA, TR_SUB_PE},
    {"exact: CRLF", X, LIT("1\r\n"), LIT("1\n"), TR_V_WA, TR_SUB_PE},
    {"exact: NUL at the end", X, LIT("1\n\0"), LIT("1\n"), TR_V_WA, NONE},
#define T                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_TOKENS                                                                  \
    }
    {"tokens: any white space", T, LIT("1\t2\n\n3"), LIT("1 2 3\n"), TR_V_AC, NONE},
    {"tokens: case counts", T, LIT("Yes"), LIT("yes"), TR_V_WA, NONE},
    {"tokens: split word", T, LIT("1 2"), LIT("12"), TR_V_WA, NONE},
    {"tokens: ends early", T, LIT("1"), LIT("1 2"), TR_V_WA, NONE},
    {"tokens: goes on", T, LIT("1 2 3"), LIT("1 2"), TR_V_WA, NONE},
    {"tokens: nothing for nothing", T, LIT("\n"), LIT(" "), TR_V_AC, NONE},
#define TI                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_TOKENS, .ignore_case = true                                             \
    }
    {"tokens: case ignored", TI, LIT("YES no"), LIT("yes NO"), TR_V_AC, NONE},
    {"tokens: only ASCII case", TI, LIT("\xc3\x84"), LIT("\xc3\xa4"), TR_V_WA, NONE},
#define TS                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_TOKENS, .space_sensitive = true                                         \
    }
    {"tokens: space counts", TS, LIT("1  2"), LIT("1 2"), TR_V_WA, TR_SUB_PE},
    {"tokens: space agrees", TS, LIT("1 2\n"), LIT("1 2\n"), TR_V_AC, NONE},
#define TL                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_TOKEN_LINES                                                             \
    }
    {"token-lines: blanks", TL, LIT("1   2\n\n3"), LIT("1 2\n3\n"), TR_V_AC, NONE},
    {"token-lines: newline is no blank", TL, LIT("1\n2\n"), LIT("1 2\n"), TR_V_WA, TR_SUB_PE},
    {"token-lines: first line blank", TL, LIT("\n1\n"), LIT("1\n"), TR_V_AC, NONE},
#define F                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_FLOAT, .abs = 1e-6, .rel = 1e-6                                         \
    }
    {"float: near", F, LIT("0.3333333"), LIT("0.33333333333"), TR_V_AC, NONE},
    {"float: far", F, LIT("0.334"), LIT("0.3333"), TR_V_WA, NONE},
    {"float: spellings", F, LIT("+5 .5 5. 1e3 -0.0"), LIT("5 0.5 5 1000 0"), TR_V_AC, NONE},
    {"float: relative", F, LIT("1000000.5"), LIT("1000000"), TR_V_AC, NONE},
    {"float: a word is a word", F, LIT("abc 1"), LIT("abc 1.0"), TR_V_AC, NONE},
    {"float: hex is a word", F, LIT("0x10"), LIT("16"), TR_V_WA, NONE},
    {"float: inf equals its spelling", F, LIT("inf nan"), LIT("inf nan"), TR_V_AC, NONE},
    {"float: inf is no number", F, LIT("inf"), LIT("1e400"), TR_V_WA, NONE},
    {"float: nan for a number", F, LIT("nan"), LIT("1"), TR_V_WA, NONE},
    {"float: 1e400 is a number here", F, LIT("1e400"), LIT("1e400"), TR_V_AC, NONE},
    {"float: 1e400 near", F, LIT("1.0000000001e400"), LIT("1e400"), TR_V_AC, NONE},
    {"float: beyond range, other spelling", F, LIT("1e99999"), LIT("1e99998"), TR_V_WA, NONE},
    {"float: beyond range, same", F, LIT("1e99999"), LIT("1e99999"), TR_V_AC, NONE},
    {"float: finite for beyond", F, LIT("5"), LIT("1e99999"), TR_V_WA, NONE},
    {"float: beyond for finite", F, LIT("1e400000"), LIT("5"), TR_V_WA, NONE},
    {"float: tiny exponent is zero", F, LIT("1e-400000"), LIT("0"), TR_V_AC, NONE},
    {"float: dot alone is a word", F, LIT("."), LIT("0"), TR_V_WA, NONE},
    {"float: e without digits", F, LIT("1e"), LIT("1"), TR_V_WA, NONE},
    {"float: 40 digits", F, LIT("1234567890123456789012345678901234567890123"),
     LIT("1234567890123456789012345678901234567890999"), TR_V_AC, NONE},
#define FA                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_FLOAT, .abs = 0.5, .rel = -1                                            \
    }
    {"float: absolute only", FA, LIT("1000000.4"), LIT("1000000"), TR_V_AC, NONE},
    {"float: absolute only, far", FA, LIT("1000001"), LIT("1000000"), TR_V_WA, NONE},
    {"float: at the boundary", FA, LIT("1.5"), LIT("1"), TR_V_AC, NONE},
#define FR                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_FLOAT, .abs = -1, .rel = 0.1                                            \
    }
    {"float: relative only", FR, LIT("109"), LIT("100"), TR_V_AC, NONE},
    {"float: relative to zero", FR, LIT("0.0001"), LIT("0"), TR_V_WA, NONE},
#define U                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_UNORDERED_LINES                                                         \
    }
    {"unordered: other order", U, LIT("b\na\nc\n"), LIT("a\nb\nc\n"), TR_V_AC, NONE},
    {"unordered: trailing blanks", U, LIT("b  \r\na\n\n"), LIT("a\nb"), TR_V_AC, NONE},
    {"unordered: one twice", U, LIT("a\na\nb\n"), LIT("a\nb\nb\n"), TR_V_WA, NONE},
    {"unordered: one missing", U, LIT("a\n"), LIT("a\nb\n"), TR_V_WA, NONE},
    {"unordered: words stay in lines", U, LIT("a b\nc\n"), LIT("a\nb c\n"), TR_V_WA, NONE},
#define UT                                                                                         \
    {                                                                                              \
        .mode = TR_COMPARE_UNORDERED_TOKENS                                                        \
    }
    {"unordered-tokens", UT, LIT("c b\na"), LIT("a b c"), TR_V_AC, NONE},
#define Y                                                                                          \
    {                                                                                              \
        .mode = TR_COMPARE_YESNO                                                                   \
    }
    {"yesno", Y, LIT("yes\n"), LIT("YES\n"), TR_V_AC, NONE},
    {"yesno: other", Y, LIT("no\n"), LIT("YES\n"), TR_V_WA, NONE},
    {"yesno: prefix", Y, LIT("ye\n"), LIT("YES\n"), TR_V_WA, NONE},
};

static void modes_judge_as_documented(void **state)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        enum tr_subcode s = TR_SUB_SV;
        struct tr_diff d;

        ROW(rows[i].label);
        assert_int_equal(run(&rows[i].how, rows[i].got, rows[i].want, &s, &d), rows[i].v);
        assert_int_equal(s, rows[i].s);
        assert_int_equal(d.found, rows[i].v == TR_V_WA);
    }
}

static void the_first_difference_is_shown(void **state)
{
    static const struct tr_compare lines = {.mode = TR_COMPARE_LINES};
    struct tr_bytes got = LIT("one\ntwo three\n"), want = LIT("one\ntwo four\nfive\n");
    enum tr_subcode s;
    struct tr_diff d;

    assert_int_equal(run(&lines, got, want, &s, &d), TR_V_WA);
    assert_int_equal(d.line, 2);
    assert_int_equal(d.column, 5);
    assert_int_equal(d.byte, 8);
    assert_int_equal(d.got.len, 9);
    assert_memory_equal(d.got.bytes, "two three", 9);
    assert_memory_equal(d.want.bytes, "two four", 8);
    assert_int_equal(d.want.len, 8);
}

/* An item too many, or one that is missing: the same one each time, by its own text. */
static void without_order_the_odd_item_is_shown(void **state)
{
    static const struct {
        const char *label;
        enum tr_compare_mode mode;
        struct tr_bytes got, want;
        const char *shown; /* begins what is shown of the text that has it too often */
        bool extra;
        uint64_t line;
    } odd[] = {
        {"missing", TR_COMPARE_UNORDERED_LINES, LIT("c\na\n"), LIT("a\nb 1\nc\n"), "b 1", false, 3},
        {"extra", TR_COMPARE_UNORDERED_LINES, LIT("c\na\nx y\nb\n"), LIT("a\nb\nc\n"), "x y", true,
         3},
        {"twice", TR_COMPARE_UNORDERED_LINES, LIT("a\nb\nb\n"), LIT("b\na\n"), "b", true, 3},
        {"once too few", TR_COMPARE_UNORDERED_LINES, LIT("a"), LIT("a\na\n"), "a", false, 1},
        {"nothing expected", TR_COMPARE_UNORDERED_LINES, LIT("z"), LIT(""), "z", true, 1},
        {"word", TR_COMPARE_UNORDERED_TOKENS, LIT("a c\nb d"), LIT("a b c"), "b d", true, 2},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(odd); i++) {
        struct tr_compare how = {.mode = odd[i].mode};
        enum tr_subcode s;
        struct tr_diff d;

        ROW(odd[i].label);
        assert_int_equal(run(&how, odd[i].got, odd[i].want, &s, &d), TR_V_WA);
        const struct tr_snippet *has = odd[i].extra ? &d.got : &d.want;
        const struct tr_snippet *lacks = odd[i].extra ? &d.want : &d.got;
        assert_int_equal(d.line, odd[i].line);
        assert_true(has->len >= strlen(odd[i].shown));
        assert_memory_equal(has->bytes, odd[i].shown, strlen(odd[i].shown));
        assert_true(lacks->end);
        assert_true(strstr(d.why, odd[i].extra ? "not expected" : "nowhere") != NULL);
    }
}

/* Ten thousand lines, shuffled, one changed: both ways to see it are true; it must be one of them.
 */
static void without_order_one_of_many_is_found(void **state)
{
    static char got[200000], want[200000];
    size_t ng = 0, nw = 0;
    struct tr_compare how = {.mode = TR_COMPARE_UNORDERED_LINES};
    enum tr_subcode s;
    struct tr_diff d;

    for (unsigned i = 0; i < 10000; i++) {
        ng += (size_t)snprintf(got + ng, sizeof(got) - ng, "item %u\n",
                               i * 7919 % 10000 == 4711 ? 77777 : i * 7919 % 10000);
        nw += (size_t)snprintf(want + nw, sizeof(want) - nw, "item %u\n", i);
    }
    assert_int_equal(
        run(&how, (struct tr_bytes){-1, got, ng}, (struct tr_bytes){-1, want, nw}, &s, &d),
        TR_V_WA);
    bool extra = strstr(d.why, "not expected") != NULL;
    assert_memory_equal(extra ? d.got.bytes : d.want.bytes, extra ? "item 77777" : "item 4711",
                        extra ? 10 : 9);
}

static void a_difference_deep_in_a_line_shows_its_surroundings(void **state)
{
    static const struct tr_compare lines = {.mode = TR_COMPARE_LINES};
    char a[1000], b[1000];
    enum tr_subcode s;
    struct tr_diff d;

    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    b[900] = 'y';
    assert_int_equal(
        run(&lines, (struct tr_bytes){-1, a, 1000}, (struct tr_bytes){-1, b, 1000}, &s, &d),
        TR_V_WA);
    assert_int_equal(d.line, 1);
    assert_int_equal(d.column, 901);
    assert_int_equal(d.got.len, TR_SNIPPET_MAX);
    assert_true(memchr(d.want.bytes, 'y', d.want.len) != NULL);
}

static int file_of(char byte, size_t len, const char *tail)
{
    int fd = memfd_create("compare", MFD_CLOEXEC);
    static char block[1 << 20];

    assert_true(fd >= 0);
    memset(block, byte, sizeof(block));
    for (size_t done = 0; done < len; done += sizeof(block))
        assert_true(write(fd, block, sizeof(block)) == (ssize_t)sizeof(block));
    assert_true(write(fd, tail, strlen(tail)) == (ssize_t)strlen(tail));
    return fd;
}

static void a_hundred_megabytes_of_spaces_are_read_in_constant_memory(void **state)
{
    struct tr_bytes want = LIT("1\n"), spaces = {.fd = file_of(' ', 100 << 20, "1\n")};
    struct tr_bytes tail = {.fd = file_of(' ', 100 << 20, "")};
    static const enum tr_compare_mode modes[] = {TR_COMPARE_LINES, TR_COMPARE_TOKENS,
                                                 TR_COMPARE_TOKEN_LINES, TR_COMPARE_FLOAT,
                                                 TR_COMPARE_UNORDERED_TOKENS};

    for (size_t i = 0; i < TR_ARRAY_LEN(modes); i++) {
        struct tr_compare how = {.mode = modes[i], .abs = -1, .rel = -1};
        enum tr_subcode s;
        struct tr_diff d;

        ROW(tr_compare_mode_name(modes[i]));
        assert_int_equal(run(&how, spaces, want, &s, &d),
                         modes[i] == TR_COMPARE_LINES ? TR_V_WA : TR_V_AC);
        assert_int_equal(run(&how, tail, want, &s, &d), TR_V_WA);
        assert_int_equal(s, TR_SUB_NO);
    }
    (void)close(spaces.fd);
    (void)close(tail.fd);
}

static void a_word_of_ten_megabytes_is_compared(void **state)
{
    struct tr_bytes got = {.fd = file_of('9', 10 << 20, "\n")};
    struct tr_bytes want = {.fd = file_of('9', 10 << 20, "\n")}, one = LIT("1\n");
    static const struct tr_compare how = F;
    enum tr_subcode s;
    struct tr_diff d;

    assert_int_equal(run(&how, got, want, &s, &d), TR_V_AC);
    assert_int_equal(run(&how, got, one, &s, &d), TR_V_WA);
    (void)close(got.fd);
    (void)close(want.fd);
}

static void kattis_flags_choose_the_mode(void **state)
{
    const char *words[] = {"case_sensitive", "float_absolute_tolerance", "1e-3", NULL};
    const char *both[] = {"float_tolerance", "0.5", NULL};
    const char *missing[] = {"float_tolerance", NULL};
    const char *unknown[] = {"fast", NULL};
    struct tr_err err = TR_ERR_INIT;
    struct tr_compare how;

    assert_int_equal(tr_compare_kattis_flags(NULL, 0, &how, &err), 0);
    assert_int_equal(how.mode, TR_COMPARE_TOKENS);
    assert_true(how.ignore_case);
    assert_int_equal(tr_compare_kattis_flags(words, 3, &how, &err), 0);
    assert_int_equal(how.mode, TR_COMPARE_FLOAT);
    assert_false(how.ignore_case);
    assert_true(how.abs > 0 && how.rel < 0);
    assert_int_equal(tr_compare_kattis_flags(both, 2, &how, &err), 0);
    assert_true(how.abs > 0 && how.rel > 0);
    assert_int_equal(tr_compare_kattis_flags(missing, 1, &how, &err), TR_E_PARSE);
    assert_int_equal(tr_compare_kattis_flags(unknown, 1, &how, &err), TR_E_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_judge_as_documented),
        cmocka_unit_test(the_first_difference_is_shown),
        cmocka_unit_test(without_order_the_odd_item_is_shown),
        cmocka_unit_test(without_order_one_of_many_is_found),
        cmocka_unit_test(a_difference_deep_in_a_line_shows_its_surroundings),
        cmocka_unit_test(a_hundred_megabytes_of_spaces_are_read_in_constant_memory),
        cmocka_unit_test(a_word_of_ten_megabytes_is_compared),
        cmocka_unit_test(kattis_flags_choose_the_mode),
    };

    return RUN(tests);
}
