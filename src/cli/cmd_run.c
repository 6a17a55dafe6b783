/* SPDX-License-Identifier: MIT
 *
 * cmd_run.c - `tribunal run`: one command in the box.
 *
 * The same words as `tribunal-box run`, by the same code: this process becomes that program. So the
 * two cannot drift apart, and nothing of this large program is in memory when namespaces are made.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "tribunal/box.h"

int cmd_run(int argc, char **argv)
{
    char path[PATH_MAX];
    char name[] = "tribunal"; /* what its messages call it */
    char **words = calloc((size_t)argc + 2, sizeof(*words));

    if (!words)
        return CLI_FAULT;
    words[0] = name;
    memcpy(words + 1, argv, ((size_t)argc + 1) * sizeof(argv[0])); /* argv[0] is "run" */
    (void)tbox_helper_path(NULL, path, sizeof(path));
    (void)execv(path, words);
    (void)fprintf(stderr, "tribunal run: cannot start '%s': %s\n", path, strerrordesc_np(errno));
    free(words);
    return CLI_FAULT;
}
