/* SPDX-License-Identifier: MIT
 *
 * main.c - tribunal-box: the sandbox as a program.
 *
 * Links base and box only: no network, no JSON reader, no database in the process that makes
 * namespaces.
 */
#include <stdio.h>
#include <string.h>

#include "box/container.h"
#include "boxd/boxd.h"

static const char usage[] =
    "Usage: tribunal-box run [options] -- COMMAND [ARGUMENT...]\n"
    "       tribunal-box helper [options]        (started by the library; socket on descriptor 3)\n"
    "       tribunal-box launcher --kind [options] --kind [options]...       (likewise)\n"
    "       tribunal-box --version\n"
    "See tribunal-box(1), or `tribunal-box run --help`.\n";

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "run") == 0)
        return boxd_run(argc - 1, argv + 1);
    if (strcmp(verb, "helper") == 0)
        return boxd_helper(argc - 1, argv + 1);
    if (strcmp(verb, "launcher") == 0)
        return boxd_launcher(argc - 1, argv + 1);
    if (strcmp(verb, "probe") == 0)
        return box_probe_main(3);
    if (strcmp(verb, "--version") == 0) {
        (void)printf("tribunal-box %s\n", TRIBUNAL_VERSION);
        return BOXD_DONE;
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        (void)fputs(usage, stdout);
        return BOXD_DONE;
    }
    (void)fputs(usage, stderr);
    return BOXD_USAGE;
}
