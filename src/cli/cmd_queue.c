/* SPDX-License-Identifier: MIT
 *
 * cmd_queue.c - `tribunal queue`: finds the subcommand.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct cli_command commands[] = {
    {"migrate", "bring the schema up, down, or show it", cmd_queue_migrate},
    {"enqueue", "add one job; prints its number", cmd_queue_enqueue},
    {"stats", "counts by queue and state", cmd_queue_stats},
    {"list", "jobs of a queue or a state", cmd_queue_list},
    {"show", "everything about one job", cmd_queue_show},
    {"dead", "the dead letters", cmd_queue_dead},
    {"retry", "run dead, cancelled or scheduled jobs now", cmd_queue_retry},
    {"discard", "remove queued jobs, forget dead ones", cmd_queue_discard},
    {"cancel", "cancel jobs; running ones are asked to stop", cmd_queue_cancel},
    {"pause", "let no job of a queue start", cmd_queue_pause},
    {"resume", "let jobs of a queue start again", cmd_queue_resume},
    {"config", "limits, backoff and retention of a queue", cmd_queue_config},
    {"work", "run a command for each job", cmd_queue_work},
    {"reclaim", "take back expired leases now", cmd_queue_reclaim},
};

int cmd_queue(int argc, char **argv)
{
    static const struct cli_group group = {
        .name = "tribunal queue",
        .summary = "Looks after the job queue in a database (SQLite, PostgreSQL, MySQL).",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
