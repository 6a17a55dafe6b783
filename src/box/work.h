/* SPDX-License-Identifier: MIT
 *
 * box/work.h - the writable folders of a container: /w, /tmp and /dev/shm.
 *
 * One tmpfs with a ceiling of bytes and files carries all three, so one statfs tells whether
 * anything was left. Beside them it has a folder that is visible nowhere inside: the store, which
 * holds the files that were put; /w gets hard links of them.
 */
#ifndef BOX_WORK_H
#define BOX_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct box_work {
    int w;
    int tmp;
    int shm;
    int store;
    bool links; /* the program is another uid: hard links cannot be changed or removed by it */
    bool fresh; /* nothing has run since the last clean */
    uint64_t blocks_free; /* when clean */
    uint64_t files_free;
};

/* Make the folders in the new tmpfs `top`. */
int box_work_make(struct box_work *work, int top, bool links, struct tr_err *err);

/* Copy the regular file `fd` into the store and show it in /w. */
int box_work_put(struct box_work *work, int fd, const char *name, unsigned mode,
                 struct tr_err *err);

/* A regular file of /w for reading. */
int box_work_get(struct box_work *work, const char *name, uint64_t max, uint64_t *ret_size,
                 struct tr_err *err);

/* Before a run: what was put is in its place. */
int box_work_ready(struct box_work *work, struct tr_err *err);

/* What all files in the folders and in the store use together. */
uint64_t box_work_bytes(const struct box_work *work);

/* After a run: everything the program made is gone. Cheap when it made nothing. Fails with
 * TR_E_LIMIT when there is so much that a new container is cheaper. */
int box_work_clean(struct box_work *work, struct tr_err *err);

/* Whether a file in one of the folders stands at `ceiling` bytes or more. */
bool box_work_file_full(const struct box_work *work, uint64_t ceiling);

#endif
