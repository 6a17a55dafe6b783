/* SPDX-License-Identifier: MIT
 *
 * Property: any bytes give a task whose limits are all in range and whose texts are there, or a
 * sentence; never both, never a crash.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "codec/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_task t;

    tr_arena_init(&a, 8 << 20);
    int r = tr_task_parse((const char *)data, size, &a, &t, &err);
    assert((r < 0) == (err.msg[0] != 0));
    if (r == 0) {
        assert(tr_limits_check(&t.problem.limits, &err) == 0);
        assert(t.submit_id && *t.submit_id && !strchr(t.submit_id, '/'));
        assert(t.lang_slug && t.code && t.code_len <= TR_SOURCE_MAX);
        assert(t.problem.ntests <= TR_TESTS_MAX);
        assert(!t.has_lang ||
               (t.lang.source && !strchr(t.lang.source, '/') && t.lang.run.count > 0));
        for (size_t i = 0; i < t.problem.ntests; i++)
            assert(t.problem.tests[i].input_text && t.problem.tests[i].answer_text);
    }
    tr_arena_done(&a);
    return 0;
}
