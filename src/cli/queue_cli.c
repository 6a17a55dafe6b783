/* SPDX-License-Identifier: MIT
 *
 * queue_cli.c - open a queue by URL, show jobs to people and to programs.
 */
#include "cli/queue_cli.h"

#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "store/store.h"

const struct tq_driver *queue_driver(const char *url, struct tr_err *err)
{
    return tr_store_driver(url, err);
}

int queue_open(const char *url, tq **ret, struct tr_err *err)
{
    struct tq_opts o = TQ_OPTS_INIT;

    o.driver = queue_driver(url, err);
    return o.driver ? tq_open(ret, url, &o, err) : err->code;
}

void queue_closep(tq **q)
{
    tq_close(*q);
}

void queue_batch_freep(tq_batch **b)
{
    tq_batch_free(*b);
}

int queue_parse_id(const char *text, int64_t *ret, struct tr_err *err)
{
    int r = tr_parse_i64(text, 1, INT64_MAX, ret, err);

    return r < 0 ? tr_fail_wrap(err, "job number '%s'", text) : 0;
}

void queue_json_text(FILE *out, const void *bytes, size_t len)
{
    const char *s = bytes;

    (void)fputc('"', out);
    for (size_t i = 0; i < len;) {
        size_t n = tr_utf8_len(s + i, len - i);
        unsigned char c = (unsigned char)s[i];

        if (n == 0) {
            (void)fputs("\\ufffd", out);
            n = 1;
        } else if (c == '"' || c == '\\') {
            (void)fprintf(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            (void)fprintf(out, "\\u%04x", c);
        } else {
            (void)fwrite(s + i, 1, n, out);
        }
        i += n;
    }
    (void)fputc('"', out);
}

static void json_pair(FILE *out, const char *key, const char *text)
{
    (void)fprintf(out, ", \"%s\": ", key);
    if (text)
        queue_json_text(out, text, strlen(text));
    else
        (void)fputs("null", out);
}

void queue_json_job(FILE *out, const struct tq_job *j, bool with_payload)
{
    (void)fprintf(out,
                  "{\"id\": %lld, \"state\": \"%s\", \"run_lease\": %lld, \"priority\": %d, "
                  "\"attempts\": %d, \"max_attempts\": %d, \"crashes\": %d",
                  (long long)j->ref.id, tq_state_name(j->state), (long long)j->ref.run_lease,
                  j->priority, j->attempts, j->max_attempts, j->crashes);
    json_pair(out, "queue_name", j->queue);
    json_pair(out, "kind", j->kind);
    json_pair(out, "group_key", j->group_key);
    json_pair(out, "locked_by", j->locked_by);
    (void)fprintf(out,
                  ", \"created_at\": %lld, \"available_at\": %lld, \"started_at\": %lld, "
                  "\"lease_until\": %lld, \"finished_at\": %lld",
                  (long long)j->created_us, (long long)j->available_us, (long long)j->started_us,
                  (long long)j->lease_until_us, (long long)j->finished_us);
    if (j->unique_key) {
        (void)fputs(", \"unique_key\": ", out);
        queue_json_text(out, j->unique_key, j->unique_len);
    }
    if (with_payload) {
        (void)fputs(", \"payload\": ", out);
        queue_json_text(out, j->payload, j->payload_len);
        (void)fputs(", \"result\": ", out);
        if (j->result)
            queue_json_text(out, j->result, j->result_len);
        else
            (void)fputs("null", out);
    }
    (void)fputc('}', out);
}

void queue_print_job(FILE *out, const struct tq_job *j)
{
    char when[TR_TIME_TEXT];

    (void)fprintf(out, "%10lld  %-11s %5d  %3d/%-3d  %s  ", (long long)j->ref.id,
                  tq_state_name(j->state), j->priority, j->attempts, j->max_attempts,
                  tr_clock_text(j->finished_us ? j->finished_us : j->available_us, when));
    queue_json_text(out, j->queue, strlen(j->queue));
    (void)fputc('\n', out);
}
