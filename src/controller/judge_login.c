/* SPDX-License-Identifier: MIT
 *
 * judge_login.c - who is it? doc/protocol.md §2.1.
 *
 * A wrong key, a revoked one, an unknown one and a replayed proof are told apart by nobody outside.
 */
#include "controller/judge_login.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "controller/ctl.h"
#include "controller/judge_ws.h"

enum {
    FRAME_MAX = 8 * 1024 * 1024,
    READY_US = 60000000
};

static void welcome(struct judge *g, const struct tr_judge_verifier *v,
                    const struct tr_judge_talk *talk)
{
    char proof[TR_SHA256_HEX], secret[TR_NONCE_HEX];
    const struct ctl_conf *conf = &g->ctl->conf;

    if (tr_judge_answer(v, talk, proof, NULL) < 0) {
        judge_ws_refuse(g, "bad_key", 4001, "this key cannot be used");
        return;
    }
    tr_nonce_new(secret);
    (void)snprintf(g->credential, sizeof(g->credential), "ts_%s", secret);
    (void)snprintf(g->session, sizeof(g->session), "%016" PRIx64, tr_random_u64());
    g->state = JUDGE_WELCOME;
    g->deadline_us = tr_clock_mono_us() + READY_US;
    g->conn->in.max = FRAME_MAX;
    keys_used(g->ctl->keys, g->key_id);
    judge_ws_send(g, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:i}", "type", "welcome",
                               "proof", proof, "credential", g->credential, "session", g->session,
                               "heartbeat_ms", (json_int_t)(conf->heartbeat_us / 1000), "grace_ms",
                               (json_int_t)(conf->grace_us / 1000), "lease_ms",
                               (json_int_t)(ctl_lease_us(g->ctl) / 1000), "max_frame",
                               TR_STORE_TASK_MAX));
}

/* The newer connection wins; under another key it does not. */
static bool replace_older(struct judge *g, const char *judge_id, const char *key_id)
{
    struct judge *old = judges_find(g->ctl->judges, judge_id);

    if (!old || old == g || old->state == JUDGE_LOST)
        return true;
    if (strcmp(old->key_id, key_id) != 0) {
        judge_ws_refuse(g, "judge_taken", 4003, "another key has a judge of this name connected");
        return false;
    }
    judge_ws_bye(old, "replaced", "a newer connection has the same judge_id", 4003);
    struct conn *c = old->conn;
    c->session = NULL; /* its end is no news any more */
    judge_lost(old);
    return true;
}

struct auth_wait {
    struct ctl *ctl;
    struct conn *conn;
    char challenge[TR_NONCE_HEX];
    char nonce[TR_NONCE_HEX], key_id[TR_KEY_ID], judge_id[TR_JUDGE_ID_MAX + 1],
        proof[TR_SHA256_HEX];
};

static void check_auth(struct judge *g, const struct auth_wait *a)
{
    struct tr_judge_verifier v;
    const struct tr_judge_talk talk = {g->challenge, a->nonce, a->key_id, a->judge_id};

    if (keys_judge(g->ctl->keys, a->key_id, &v) != KEY_OK || !tr_judge_check(&v, &talk, a->proof)) {
        judge_ws_refuse(g, "bad_key", 4001, "the proof is wrong, or the key is unknown or revoked");
        return;
    }
    if (!replace_older(g, a->judge_id, a->key_id))
        return;
    (void)snprintf(g->judge_id, sizeof(g->judge_id), "%s", a->judge_id);
    (void)snprintf(g->key_id, sizeof(g->key_id), "%s", a->key_id);
    welcome(g, &v, &talk);
}

static void auth_refreshed(void *arg)
{
    struct auth_wait *a = arg;

    for (struct judge *g = judges_first(a->ctl->judges); g; g = g->next)
        if (g->conn == a->conn && g->state == JUDGE_NEW &&
            strcmp(g->challenge, a->challenge) == 0) {
            check_auth(g, a);
            break;
        }
    free(a);
}

static bool copy_text(const json_t *m, const char *name, char *out, size_t size)
{
    const char *s = json_string_value(json_object_get(m, name));

    if (!s || strlen(s) >= size || strlen(s) != json_string_length(json_object_get(m, name)))
        return false;
    (void)snprintf(out, size, "%s", s);
    return true;
}

void judge_login(struct judge *g, const json_t *m)
{
    struct auth_wait *a = calloc(1, sizeof(*a));
    struct tr_judge_verifier v;

    if (!a)
        return;
    a->ctl = g->ctl;
    a->conn = g->conn;
    memcpy(a->challenge, g->challenge, sizeof(a->challenge));
    if (json_integer_value(json_object_get(m, "protocol")) != 1) {
        judge_ws_refuse(g, "bad_version", 4000, "this controller speaks protocol 1");
    } else if (!copy_text(m, "key_id", a->key_id, sizeof(a->key_id)) ||
               !copy_text(m, "judge_id", a->judge_id, sizeof(a->judge_id)) ||
               !tr_judge_id_ok(a->judge_id) || !copy_text(m, "nonce", a->nonce, sizeof(a->nonce)) ||
               strspn(a->nonce, "0123456789abcdef") != TR_NONCE_HEX - 1 ||
               !copy_text(m, "proof", a->proof, sizeof(a->proof))) {
        judge_ws_complain(g, "bad_field", "auth", "auth needs key_id, judge_id, nonce and proof");
    } else {
        (void)copy_text(m, "version", g->version, sizeof(g->version));
        if (keys_judge(g->ctl->keys, a->key_id, &v) == KEY_UNKNOWN) {
            keys_refreshed(g->ctl->keys, auth_refreshed, a); /* made a moment ago, perhaps */
            return;
        }
        check_auth(g, a);
    }
    free(a);
}
