/* SPDX-License-Identifier: MIT
 *
 * cmd_nats.c - `tribunal nats …`: judging over NATS JetStream, seen from its operator.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct cli_command commands[] = {
    {"provision", "make the streams and consumers, or bring them up to date", cmd_nats_provision},
    {"check", "compare a server with the plan and say what differs", cmd_nats_check},
    {"publish", "hand in tasks", cmd_nats_publish},
    {"events", "follow what the workers report", cmd_nats_events},
    {"dlq", "look at dead letters, judge them again or drop them", cmd_nats_dlq},
};

int cmd_nats(int argc, char **argv)
{
    static const struct cli_group group = {
        .name = "tribunal nats",
        .summary = "Judging over NATS JetStream: streams JUDGE_TASKS, JUDGE_EVENTS, JUDGE_DLQ.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
