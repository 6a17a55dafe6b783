/* SPDX-License-Identifier: MIT
 *
 * main.c - the command people type. It only finds the subcommand.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct cli_command commands[] = {
    {"serve", "everything on this machine: controller and judges", cmd_serve},
    {"submit", "hand a program to a controller and show its verdict", cmd_submit},
    {"judge", "judge a program here and now", cmd_judge},
    {"lang", "languages usable here; precompiled headers", cmd_lang},
    {"problem", "check a problem package, or import one", cmd_problem},
    {"run", "run one command in the box", cmd_run},
    {"doctor", "what this host gives the sandbox, and how to get more", cmd_doctor},
    {"keys", "keys of clients and judges", cmd_keys},
    {"queue", "look after the job queue in a database", cmd_queue},
    {"bench", "measure a part of the system", cmd_bench},
    {"config", "check a configuration file or print a sample", cmd_config},
    {"nats", "judging over NATS JetStream: streams, tasks, events, dead letters", cmd_nats},
};

int main(int argc, char **argv)
{
    static const struct cli_group group = {
        .name = "tribunal",
        .summary = "Judges programs: compiles them, runs them in a sandbox, says the verdict.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        (void)printf("tribunal %s\n", TRIBUNAL_VERSION);
        return CLI_OK;
    }
    int code = cli_dispatch(&group, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) { /* a key that is shown once, on a full disk */
        perror("tribunal: what was to be printed is lost");
        return CLI_FAULT;
    }
    return code;
}
