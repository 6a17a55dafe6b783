/* SPDX-License-Identifier: MIT
 *
 * kit.h - what the programs of tests/queue-worker share: a database by URL, and SQL on it.
 *
 * Nothing here keeps a connection open: process mode must fork before SQLite is opened.
 */
#ifndef KIT_H
#define KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tribunal/queue_worker.h>

extern const char *kit_url; /* TRIBUNAL_QUEUE_URL */
extern bool kit_lite, kit_pg, kit_my;

void kit_init(void);
const struct tq_driver *kit_driver(void);
/* Ends the program with the sentence when r < 0. */
int kit_ok(const char *what, int r, const struct tr_err *err);
tq *kit_open(void);
/* The first value of a query, on a connection of its own. */
int64_t kit_num(const char *sql);
void kit_sql(const char *sql);
/* Schema, an empty queue, the table biz(job_id). */
void kit_fresh(void);
/* A connection of the program's own, as a handler would have one; q names the database. */
struct tq_tx kit_connect(tq *q);
void kit_disconnect(struct tq_tx tx);
int kit_exec(struct tq_tx tx, const char *sql);
const char *kit_begin(void); /* the engine's words */
int64_t kit_mono_us(void);

struct tq_worker_opts kit_worker(const struct tq_opts *q, const char *mode);

#endif
