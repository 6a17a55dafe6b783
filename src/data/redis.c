/* SPDX-License-Identifier: MIT
 *
 * redis.c - hiredis with short timeouts; a connection that failed is dropped and made anew.
 */
#include "data/redis.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"

enum {
    CONNECT_S = 1, /* it is on the same site, or of no use */
    ANSWER_S = 10, /* 64 MiB at 10 MB/s */
    PAUSE_S = 10,  /* after a failure: a dead Redis must not cost a second for each archive */
    MAX_MIB = 64,
    KEEP_S = 7 * 24 * 3600
};

struct tr_redis {
    redisContext *context;
    char host[256], password[256], path[108]; /* path: a Unix socket */
    int port, db;
    uint64_t max_bytes;
    int64_t keep_s;
    int64_t not_before_us;
};

static int bad_url(struct tr_err *err)
{
    return tr_fail(err, TR_E_PARSE, 0,
                   "no address of a Redis: redis://[:PASSWORD@]HOST[:PORT][/DB] or unix:PATH");
}

static int copy(char *out, size_t size, const char *from, size_t len, struct tr_err *err)
{
    if (len == 0 || len >= size)
        return bad_url(err);
    memcpy(out, from, len);
    out[len] = '\0';
    return 0;
}

/* "[:PASSWORD@]HOST[:PORT][/DB]" */
static int parse_tcp(struct tr_redis *r, const char *text, struct tr_err *err)
{
    char host[sizeof(r->host)];
    const char *at = strrchr(text, '@');
    int64_t port = 6379, db = 0;
    int e = 0;

    if (at && text[0] == ':')
        e = copy(r->password, sizeof(r->password), text + 1, (size_t)(at - text - 1), err);
    if (e < 0 || (at && text[0] != ':'))
        return bad_url(err);
    text = at ? at + 1 : text;
    size_t len = strcspn(text, "/");
    if (text[len] == '/' && text[len + 1] && tr_parse_i64(text + len + 1, 0, 1000, &db, NULL) < 0)
        return bad_url(err);
    e = copy(host, sizeof(host), text, len, err);
    if (e < 0)
        return e;
    char *colon = strrchr(host, ':');
    if (colon && tr_parse_i64(colon + 1, 1, 65535, &port, NULL) < 0)
        return bad_url(err);
    if (colon)
        *colon = '\0';
    r->port = (int)port;
    r->db = (int)db;
    return copy(r->host, sizeof(r->host), host, strlen(host), err);
}

int tr_redis_new(const struct tr_redis_conf *conf, struct tr_redis **ret, struct tr_err *err)
{
    struct tr_redis *r = calloc(1, sizeof(*r));
    int e;

    if (!r)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a Redis client");
    r->max_bytes = conf->max_bytes ? conf->max_bytes : (uint64_t)MAX_MIB << 20;
    r->keep_s = conf->keep_s ? conf->keep_s : KEEP_S;
    if (strncmp(conf->url, "redis://", 8) == 0)
        e = parse_tcp(r, conf->url + 8, err);
    else if (strncmp(conf->url, "unix:", 5) == 0)
        e = copy(r->path, sizeof(r->path), conf->url + 5, strlen(conf->url + 5), err);
    else
        e = bad_url(err);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret = r;
    return 0;
}

static void disconnect(struct tr_redis *r)
{
    if (r->context)
        redisFree(r->context);
    r->context = NULL;
}

void tr_redis_free(struct tr_redis *r)
{
    if (!r)
        return;
    disconnect(r);
    explicit_bzero(r->password, sizeof(r->password));
    free(r);
}

static int gone(struct tr_redis *r, struct tr_err *err)
{
    int e = tr_fail(err, TR_E_RETRY, 0, "Redis does not answer: %s",
                    r->context && r->context->err ? r->context->errstr : "no memory");

    disconnect(r);
    r->not_before_us = tr_clock_mono_us() + (int64_t)PAUSE_S * 1000000;
    return e;
}

/* A refusal (no password, no memory left there) is as good as no answer. */
static int check_reply(struct tr_redis *r, const redisReply *reply, struct tr_err *err)
{
    if (!reply)
        return gone(r, err);
    if (reply->type == REDIS_REPLY_ERROR)
        return tr_fail(err, TR_E_RETRY, 0, "Redis says: %.200s", reply->str);
    return 0;
}

static void free_reply(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

static int connect_now(struct tr_redis *r, struct tr_err *err)
{
    const struct timeval connect = {.tv_sec = CONNECT_S}, answer = {.tv_sec = ANSWER_S};

    if (r->context)
        return 0;
    if (tr_clock_mono_us() < r->not_before_us)
        return tr_fail(err, TR_E_RETRY, 0, "Redis did not answer a moment ago");
    r->context = r->path[0] ? redisConnectUnixWithTimeout(r->path, connect)
                            : redisConnectWithTimeout(r->host, r->port, connect);
    if (!r->context || r->context->err || redisSetTimeout(r->context, answer) != REDIS_OK)
        return gone(r, err);
    if (r->password[0]) {
        TR_CLEANUP(free_reply)
        redisReply *reply = redisCommand(r->context, "AUTH %s", r->password);
        int e = check_reply(r, reply, err);
        if (e < 0)
            return e;
    }
    if (r->db) {
        TR_CLEANUP(free_reply) redisReply *reply = redisCommand(r->context, "SELECT %d", r->db);
        return check_reply(r, reply, err);
    }
    return 0;
}

int tr_redis_get(struct tr_redis *r, const char *sha256, int fd, struct tr_err *err)
{
    int e = connect_now(r, err);

    if (e < 0)
        return e;
    TR_CLEANUP(free_reply)
    redisReply *reply = redisCommand(r->context, "GET tribunal:data:%s", sha256);
    e = check_reply(r, reply, err);
    if (e < 0)
        return e;
    if (reply->type != REDIS_REPLY_STRING)
        return 0;
    e = tr_fs_write_all(fd, reply->str, reply->len, err);
    return e < 0 ? e : 1;
}

int tr_redis_put(struct tr_redis *r, const char *sha256, int fd, struct tr_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "look at an archive");
    if ((uint64_t)st.st_size > r->max_bytes)
        return 0;
    int e = connect_now(r, err);
    if (e < 0)
        return e;
    tr_autofree char *bytes = malloc((size_t)st.st_size + 1);
    if (!bytes)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for an archive");
    for (off_t at = 0; at < st.st_size;) {
        ssize_t n = pread(fd, bytes + at, (size_t)(st.st_size - at), at);
        if (n <= 0)
            return tr_fail(err, TR_E_IO, n < 0 ? errno : 0, "read an archive");
        at += n;
    }
    TR_CLEANUP(free_reply)
    redisReply *reply = redisCommand(r->context, "SET tribunal:data:%s %b EX %lld", sha256, bytes,
                                     (size_t)st.st_size, (long long)r->keep_s);
    e = check_reply(r, reply, err);
    return e < 0 ? e : 1;
}
