/* SPDX-License-Identifier: MIT
 *
 * cli/commands.h - every subcommand's entry, one file each.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_bench(int argc, char **argv); /* a group; its members: cli/bench.h */
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_judge(int argc, char **argv);
int cmd_keys(int argc, char **argv);
int cmd_lang(int argc, char **argv);
int cmd_problem(int argc, char **argv);
int cmd_problem_import(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_submit(int argc, char **argv);
int cmd_run(int argc, char **argv);

int cmd_nats(int argc, char **argv); /* a group; its members: */
int cmd_nats_check(int argc, char **argv);
int cmd_nats_dlq(int argc, char **argv);
int cmd_nats_events(int argc, char **argv);
int cmd_nats_provision(int argc, char **argv);
int cmd_nats_publish(int argc, char **argv);

int cmd_queue(int argc, char **argv); /* a group; its members: */
int cmd_queue_cancel(int argc, char **argv);
int cmd_queue_config(int argc, char **argv);
int cmd_queue_dead(int argc, char **argv);
int cmd_queue_discard(int argc, char **argv);
int cmd_queue_enqueue(int argc, char **argv);
int cmd_queue_list(int argc, char **argv);
int cmd_queue_migrate(int argc, char **argv);
int cmd_queue_pause(int argc, char **argv);
int cmd_queue_reclaim(int argc, char **argv);
int cmd_queue_resume(int argc, char **argv);
int cmd_queue_retry(int argc, char **argv);
int cmd_queue_show(int argc, char **argv);
int cmd_queue_stats(int argc, char **argv);
int cmd_queue_work(int argc, char **argv);

#endif
