/* SPDX-License-Identifier: MIT
 *
 * Property: a report is refused, or it becomes a cause that exists, times that are not negative, a
 * closed note and a JSON object that is not cut.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "box/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct box_wire_report in;
    struct box_wire_done done;
    struct tbox_report out;
    struct tbox_limits limits;
    struct tr_err err = TR_ERR_INIT;
    char text[4096];

    memset(&in, 0, sizeof(in));
    memset(&done, 0, sizeof(done));
    if (size) {
        memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
        memcpy(&done, data, size < sizeof(done) ? size : sizeof(done));
    }
    if (size <= sizeof(done) && box_wire_result(&done, size, &err) < 0)
        assert(err.code < 0 && memchr(err.msg, 0, sizeof(err.msg)));
    if (size > sizeof(in) || box_report_read(&in, size, &err) < 0)
        return 0;
    tbox_limits_default(TBOX_RUN, &limits);
    const struct box_seen seen = {.written_bytes = in.memory_bytes, .over_output = size % 2 == 0};
    box_report_make(&in, &seen, &limits, &out);
    assert((unsigned)out.cause <= TBOX_CANCEL &&
           strcmp(tbox_cause_name(out.cause), "unknown") != 0);
    assert(out.cpu_us >= 0 && out.wall_us >= 0 && out.idle_us >= 0);
    assert(memchr(out.note, 0, sizeof(out.note)));
    size_t n = tbox_report_json(&out, text, sizeof(text));
    assert(n > 0 && n < sizeof(text) && text[0] == '{' && text[n - 1] == '}');
    return 0;
}
