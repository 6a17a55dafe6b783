/* SPDX-License-Identifier: MIT
 *
 * Property: any words give a verdict with a share between nothing and all; a checker that did not
 * exit, and every code outside its convention, is a judge error and never a wrong answer.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "codec/checker_says.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_case c = {0};

    if (size < 3)
        return 0;
    enum tr_checker_kind kind = (enum tr_checker_kind)(1 + data[0] % 6);
    const char *rest = (const char *)data + 3;
    size_t n = size - 3;
    struct tr_checker_words w = {
        .exited = data[0] & 128,
        .exit_code = data[1],
        .err = rest,
        .err_len = n,
        .score = data[2] & 1 ? rest : NULL,
        .score_len = n,
        .factor = data[2] & 2 ? rest : NULL,
        .factor_len = n,
        .full_points = data[2] & 4 ? 10 * TR_POINT : 0,
    };

    tr_checker_says(kind, &w, &c);
    assert(c.verdict == TR_V_AC || c.verdict == TR_V_WA || c.verdict == TR_V_JE);
    assert(c.share >= 0 && c.share <= TR_SHARE_FULL);
    assert(c.message_len <= TR_CASE_MESSAGE_MAX);
    assert(w.exited || c.verdict == TR_V_JE);
    if (kind == TR_CHECKER_KATTIS && w.exit_code != 42 && w.exit_code != 43)
        assert(c.verdict == TR_V_JE);
    if ((kind == TR_CHECKER_QDUOJ || kind == TR_CHECKER_HUSTOJ) && w.exit_code > 1)
        assert(c.verdict == TR_V_JE);
    assert(c.verdict != TR_V_JE || (c.share == 0 && c.note[0]));
    return 0;
}
