/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.c - `tribunal bench PART`: one file per part.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* Those that need nothing but this machine, one after the other; `tribunal bench queue` wants a
 * database and is for itself. */
static int bench_all(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } parts[] = {{"box", bench_box}, {"compile", bench_compile}, {"judge", bench_judge}};
    int worst = CLI_OK;

    for (size_t i = 0; i < TR_ARRAY_LEN(parts); i++) {
        /* Each has options of its own: what all of them know (--help, --json) goes to each. */
        (void)printf("%s%s\n", i > 0 ? "\n" : "", parts[i].name);
        (void)fflush(stdout);
        int code = parts[i].run(argc, argv);

        worst = code > worst ? code : worst;
    }
    return worst;
}

int cmd_bench(int argc, char **argv)
{
    static const struct cli_command parts[] = {
        {"all", "box, compile and judge, one after the other", bench_all},
        {"box", "one run in the sandbox against a bare process", bench_box},
        {"compile", "compiling: plain, with precompiled headers, kept", bench_compile},
        {"judge", "submissions a second, time to the first verdict", bench_judge},
        {"nats", "tasks a second over JetStream, beside the bare server", bench_nats},
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
