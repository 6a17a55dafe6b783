/* SPDX-License-Identifier: MIT
 *
 * boxd/boxd.h - the subcommands of tribunal-box.
 */
#ifndef BOXD_BOXD_H
#define BOXD_BOXD_H

enum {
    BOXD_DONE = 0,
    BOXD_NOT_OK = 1, /* ran, and did not end well */
    BOXD_USAGE = 2,
    BOXD_FAULT = 3
};

int boxd_helper(int argc, char **argv);   /* resident; started by the library or a launcher */
int boxd_launcher(int argc, char **argv); /* starts helpers for those who may not */
int boxd_run(int argc, char **argv);      /* one command from the shell */

#endif
