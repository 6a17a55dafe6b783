/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_off.c - `tribunal nats` of a build without NATS: it says so.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct cli_doc doc = {
    .name = "tribunal nats",
    .usage = "COMMAND",
    .summary = "This build has no NATS. Configure it with -Dnats=enabled and build again.",
    .args_max = 64,
};

int cmd_nats(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    int code = CLI_FAULT;

    if (cli_begin(&run, &doc, NULL, argc > 1 ? 2 : 1, argv, &code))
        (void)fprintf(stderr, "tribunal nats: this build has no NATS; configure it with "
                              "-Dnats=enabled and build again\n");
    return code;
}

int bench_nats(int argc, char **argv)
{
    return cmd_nats(argc, argv);
}
