/* SPDX-License-Identifier: MIT
 *
 * cli/queue_exec.h - a handler that runs a command for each job.
 */
#ifndef CLI_QUEUE_EXEC_H
#define CLI_QUEUE_EXEC_H

#include <tribunal/queue_worker.h>

/* A tq_handler; `user` is the command, a text for /bin/sh -c. The payload is its standard input,
 * the job's facts are in TRIBUNAL_JOB_*; its standard output (the first 64 KiB) becomes the result,
 * the last line of its standard error the error. Exit code 0: ack, 65: dead letter, anything else:
 * again later. */
int queue_exec_handler(struct tq_run *run, const struct tq_job *job, void *user);

#endif
