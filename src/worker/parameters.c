/* SPDX-License-Identifier: MIT
 *
 * parameters.c - see the header.
 */
#include "worker/parameters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <tribunal/box.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"

enum {
    VERSION_MAX = 160,
    ROWS_MAX = 64,
    SPINS = 20 * 1000 * 1000,
    SPIN_TRIES = 3,
    REFERENCE_US = 40 * 1000 /* a core of 3 GHz of the year 2020: calibration 1.0 */
};

/* How fast a core is beside the reference: the best of three, as a neighbour can only slow it. For
 * people who wonder why two judges differ; no limit is scaled by it. */
static double calibrate(void)
{
    int64_t best_us = INT64_MAX;

    for (int i = 0; i < SPIN_TRIES; i++) {
        int64_t start_us = tr_clock_mono_us();
        volatile uint64_t end;
        uint64_t x = 88172645463325252u;

        for (int n = 0; n < SPINS; n++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        end = x;
        (void)end;
        int64_t took_us = tr_clock_mono_us() - start_us;
        best_us = took_us < best_us ? took_us : best_us;
    }
    return (double)REFERENCE_US / (double)(best_us > 0 ? best_us : 1);
}

/* `why` is what the first language that does not work says. */
static json_t *languages(struct tr_judge *judge, struct tr_err *why)
{
    const struct tr_langs *langs = tr_judge_langs(judge);
    json_t *list = json_array();

    for (size_t i = 0; i < langs->count; i++) {
        char version[VERSION_MAX] = "";

        if (tr_judge_version(judge, &langs->list[i], version, sizeof(version),
                             why->code ? NULL : why) < 0)
            continue;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:o}", "slug", langs->list[i].slug, "version",
                            tr_json_clean(version, strlen(version), VERSION_MAX)));
    }
    return list;
}

json_t *worker_box_weak(const char *helper)
{
    tr_autofree struct tbox_probe_row *rows = calloc(ROWS_MAX, sizeof(*rows));
    json_t *weak = json_array();
    int n = rows ? tbox_probe(helper, rows, ROWS_MAX, NULL) : 0;

    for (int i = 0; i < n; i++) {
        if (rows[i].status != TBOX_PROBE_OK)
            (void)json_array_append_new(
                weak, tr_json_clean(rows[i].name, strlen(rows[i].name), sizeof(rows[i].name)));
    }
    return weak;
}

int worker_parameters(const struct tr_judge_options *options, json_t *weak, json_t **ret,
                      struct tr_err *err)
{
    TR_CLEANUP(tr_judge_closep) struct tr_judge *judge = NULL;
    struct tr_err why = TR_ERR_INIT;
    struct sysinfo info = {0};
    int r = tr_judge_open(options, &judge, err);

    if (r < 0)
        return r;
    json_t *list = languages(judge, &why);
    if (json_array_size(list) == 0) {
        json_decref(list);
        return tr_fail(err, TR_E_UNSUPPORTED, 0,
                       "no language works here (%.150s): see 'tribunal lang list'", why.msg);
    }
    (void)sysinfo(&info);
    *ret = json_pack("{s:o, s:i, s:I, s:f, s:{s:o}}", "languages", list, "cores", get_nprocs(),
                     "memory_mib", (json_int_t)((uint64_t)info.totalram * info.mem_unit >> 20),
                     "calibration", calibrate(), "box", "weak",
                     weak ? json_incref(weak) : worker_box_weak(options->helper));
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the judge's parameters");
}
