/* SPDX-License-Identifier: MIT
 *
 * controller/keys.h - who may do what: API keys, roles, rates.
 *
 * The keys are rows of the database; the controller keeps a copy that is at most a second old. A
 * key that the copy does not have makes the request wait for a fresh one, so that a key works from
 * the moment it was made.
 */
#ifndef CONTROLLER_KEYS_H
#define CONTROLLER_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/judge_auth.h"

struct ctl;
struct http_req;

/* Each may what the ones before it may. */
enum key_role {
    ROLE_NONE,
    ROLE_SUBMIT,
    ROLE_READ,
    ROLE_ADMIN,
    ROLE_JUDGE /* not one of the line: for WebSockets of judges alone */
};
const char *key_role_name(enum key_role role);

struct key_who {
    enum key_role role;
    char key_id[TR_KEY_ID]; /* "" for the loopback without a key */
    char name[64];
    bool open; /* let in because it is on this machine */
};

enum key_answer {
    KEY_OK,
    KEY_WRONG,  /* said something that is no key of ours */
    KEY_UNKNOWN /* not in the copy: ask again after the next refresh */
};

struct keys;
struct keys *keys_new(struct ctl *ctl);
void keys_free(struct keys *k);

/* Whose is this Authorization header (NULL: none)? */
enum key_answer keys_who(struct keys *k, const char *authorization, struct key_who *ret);
/* The same for a key alone, as a first frame has it. */
enum key_answer keys_who_key(struct keys *k, const char *key, struct key_who *ret);
/* The verifier of a judge's key. */
enum key_answer keys_judge(struct keys *k, const char *key_id, struct tr_judge_verifier *ret);

/* Is the key still there? For connections that live longer than a key. */
bool keys_valid(struct keys *k, const char *key_id);

/* Call fn(arg) once the copy is newer than now. */
void keys_refreshed(struct keys *k, void (*fn)(void *arg), void *arg);
/* Before anybody is let in: run the loop until the copy is there. */
void keys_load(struct keys *k);
/* Read the rows again if the copy is old: from the controller's tick. */
void keys_tick(struct keys *k);

/* One request of this key now? 0, or how many seconds to wait. */
int keys_rate(struct keys *k, const struct key_who *who);
/* Note the use of a key: written to its row now and then. */
void keys_used(struct keys *k, const char *key_id);

#endif
