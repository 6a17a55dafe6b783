/* SPDX-License-Identifier: MIT
 *
 * doctor_langs.c - which languages can be judged here?
 *
 * Asked from inside the box: a compiler in a home folder is on the PATH of whoever asks and yet
 * cannot be seen there. A missing language makes a judge weaker, not broken.
 */
#include "cli/doctor.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/slot.h"

static void fill(struct tr_judge *judge, const struct tr_lang *lang, struct tbox_probe_row *row)
{
    char version[120] = "";
    struct tr_err why = TR_ERR_INIT;

    *row = (struct tbox_probe_row){.status = TBOX_PROBE_OK};
    (void)snprintf(row->name, sizeof(row->name), "%.30s", lang->slug);
    if (tr_judge_version(judge, lang, version, sizeof(version), &why) == 0) {
        (void)snprintf(row->found, sizeof(row->found), "%.60s, %.90s", lang->name, version);
        return;
    }
    row->status = TBOX_PROBE_WEAKER;
    (void)snprintf(row->found, sizeof(row->found), "%.60s: %.90s", lang->name, why.msg);
    (void)snprintf(row->weaker, sizeof(row->weaker), "submissions in %.60s are refused",
                   lang->name);
    if (lang->package)
        (void)snprintf(row->fix, sizeof(row->fix), "apt-get install %.60s", lang->package);
}

int doctor_langs(struct tbox_probe_row *rows, size_t max, struct tr_err *err)
{
    TR_CLEANUP(slot_close) struct slot s = {0};
    struct slot_options o = {.jobs = 1, .cache_size = UINT64_C(1) << 30};
    int r = slot_open(&s, &o, err);

    if (r < 0)
        return r;
    const struct tr_langs *langs = tr_judge_langs(s.judge);
    size_t n = 0;
    for (; n < langs->count && n < max; n++)
        fill(s.judge, &langs->list[n], &rows[n]);
    return (int)n;
}
