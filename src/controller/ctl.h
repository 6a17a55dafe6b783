/* SPDX-License-Identifier: MIT
 *
 * controller/ctl.h - the controller as a whole: its settings and its parts.
 */
#ifndef CONTROLLER_CTL_H
#define CONTROLLER_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "controller/events.h"
#include "controller/keys.h"
#include "controller/storage.h"
#include "judge/lang.h"
#include "rt/loop.h"

struct lws_context;
struct judges;
struct problems;
struct metrics;
struct setaside;
struct dispatch;
struct marks;

#define CTL_UPLOAD_MAX (INT64_C(512) * 1024 * 1024) /* an archive of a problem */
#define CTL_LOG_MAX (INT64_C(1024) * 1024)          /* one log file of a judge */

struct ctl_conf {
    const char *listen;
    const char *db; /* NULL: sqlite in the data folder */
    const char *data;
    const char *problems;  /* NULL: <data>/problems */
    const char *languages; /* NULL: beside the program */
    const char *heavy;     /* slugs, with commas */
    const char *tls_cert, *tls_key;
    const char *controller_id;
    bool open_loopback;
    bool routes; /* print the table and leave */
    int64_t heartbeat_us, grace_us;
    uint64_t max_body;
    int64_t max_queue, max_connections, rate;
};

struct ctl {
    struct ctl_conf conf;
    struct tr_loop *loop;
    struct lws_context *lws;
    struct storage *storage;
    struct keys *keys;
    struct marks *marks;
    struct judges *judges;
    struct dispatch *dispatch;
    struct events *events;
    struct problems *problems;
    struct metrics *metrics;
    struct setaside *setaside;
    struct tr_arena lang_arena;
    struct tr_langs langs;
    int data_fd; /* the data folder */
    int64_t started_us;
    bool one_writer; /* SQLite: ids of rows appear in order */
    size_t sockets;  /* open WebSockets */
    bool stopping;
    int64_t stop_by_us; /* then we go, whoever still listens */
};

/* lease = three beats and the grace */
static inline int64_t ctl_lease_us(const struct ctl *ctl)
{
    return 3 * ctl->conf.heartbeat_us + ctl->conf.grace_us;
}

void ctl_log_err(struct ctl *ctl, const struct tr_err *err);

#endif
