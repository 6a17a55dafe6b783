/* SPDX-License-Identifier: MIT
 *
 * judge_frames_rest.c - the parts of the controller that the judge's half of the protocol calls,
 * without their insides: the database says yes (or every second time no) at once, libwebsockets
 * sends nothing, nobody listens.
 */
#include "judge_frames_rest.h"

#include <libwebsockets.h>
#include <string.h>

#include "controller/claim.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judges.h"
#include "controller/marks.h"
#include "controller/metrics.h"
#include "controller/problems.h"
#include "controller/setaside.h"
#include "controller/storage.h"

static struct {
    struct ctl *ctl;
    bool failing;
    unsigned asked;
} rest;

void rest_begin(struct ctl *ctl, bool failing)
{
    rest.ctl = ctl;
    rest.failing = failing;
    rest.asked = 0;
    ctl->judges = judges_new(ctl);
}

void rest_end(struct ctl *ctl)
{
    (void)ctl;
    rest.ctl = NULL;
}

void storage_do(struct storage *s, struct op *op)
{
    (void)s;
    op->ctl = rest.ctl;
    op->result = rest.failing && ++rest.asked % 2 == 0
                     ? tr_fail(&op->err, TR_E_RETRY, 0, "the database is away")
                     : 0;
    op->done(op);
}

/* NOLINTBEGIN(misc-unused-parameters): stand-ins */
void dispatch_kick(struct ctl *ctl)
{
}

void dispatch_poll(struct ctl *ctl)
{
}

void events_poke(struct events *ev)
{
}

void events_live(struct events *ev, json_t *doc)
{
    json_decref(doc);
}

bool events_heard(const struct events *ev)
{
    return true;
}

void metrics_finished(struct ctl *ctl, const char *lang, const char *verdict, int64_t took_us)
{
}

void metrics_fault(struct ctl *ctl, const char *lang)
{
}

void metrics_stale(struct ctl *ctl)
{
}

void setaside_verdict(struct setaside *s, const char *language, const char *problem)
{
}

void setaside_fault(struct setaside *s, const char *language, const char *problem,
                    const char *submit_id, const char *why)
{
}

bool marks_has(const struct marks *m, enum mark_kind kind, const char *name)
{
    return strcmp(name, "drained") == 0;
}

int problems_open_data(struct ctl *ctl, const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    return tr_fail(err, TR_E_NOTFOUND, 0, "there are no problems here");
}

enum key_answer keys_judge(struct keys *k, const char *key_id, struct tr_judge_verifier *ret)
{
    return strcmp(key_id, "unknown") == 0 ? KEY_UNKNOWN : KEY_WRONG;
}

void keys_refreshed(struct keys *k, void (*fn)(void *arg), void *arg)
{
    fn(arg);
}

void keys_used(struct keys *k, const char *key_id)
{
}

bool keys_valid(struct keys *k, const char *key_id)
{
    return true;
}

int lws_callback_on_writable(struct lws *wsi)
{
    return 0;
}

void lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{
}

const char *lws_get_peer_simple(struct lws *wsi, char *name, size_t namelen)
{
    (void)snprintf(name, namelen, "127.0.0.1");
    return name;
}

int lws_write(struct lws *wsi, unsigned char *buf, size_t len, enum lws_write_protocol protocol)
{
    return (int)len;
}
/* NOLINTEND(misc-unused-parameters) */
