/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.c - `tribunal bench`: finds the measurement.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct cli_command commands[] = {
    {"queue", "rates and latency of the job queue on a database", cmd_bench_queue},
};

int cmd_bench(int argc, char **argv)
{
    static const struct cli_group group = {
        .name = "tribunal bench",
        .summary = "Measures this machine. Numbers are only comparable within one run.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
