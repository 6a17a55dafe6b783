/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.c - `tribunal bench PART`: one file per part.
 */
#include "base/cleanup.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/commands.h"

int cmd_bench(int argc, char **argv)
{
    static const struct cli_command parts[] = {
        {"box", "one run in the sandbox against a bare process", bench_box},
        {"compile", "compiling: plain, with precompiled headers, kept", bench_compile},
        {"judge", "submissions a second, time to the first verdict", bench_judge},
        {"queue", "rates and latency of the job queue on a database", bench_queue},
        {"ws", "the controller with judges that judge nothing", bench_ws},
    };
    static const struct cli_group group = {
        .name = "tribunal bench",
        .summary = "Measures a part of the system on this machine, in blocks that alternate with\n"
                   "what it is compared to.",
        .commands = parts,
        .count = TR_ARRAY_LEN(parts),
    };

    return cli_dispatch(&group, argc, argv);
}
