/* SPDX-License-Identifier: MIT
 *
 * base/spawn.h - start a trusted program with exactly the descriptors it should have.
 *
 * For our own helpers and test programs. Never for what a contestant sent: that runs in the box.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct tr_spawn_fd {
    int from; /* a descriptor of ours */
    int to;   /* its number in the child, below TR_SPAWN_FD_MAX; each number once */
};
enum {
    TR_SPAWN_FD_MAX = 64
};

struct tr_spawn {
    const char *path;  /* the file, no search; NULL: argv[0] searched in PATH */
    char *const *argv; /* NULL-terminated */
    char *const *envp; /* NULL-terminated; NULL: ours */
    const struct tr_spawn_fd *fds;
    size_t nfds;      /* what is not named here is closed in the child; 0..2 too */
    int cwd;          /* fd of its working folder, or AT_FDCWD for ours */
    bool new_session; /* setsid: terminal signals do not reach it */
};

/* Signals are unblocked and default in the child. Returns 0 with the pid and a pidfd (closed by the
 * caller; ret_pidfd may be NULL), or TR_E_NOTFOUND, TR_E_DENIED, TR_E_IO. The caller reaps it. */
int tr_spawn(const struct tr_spawn *what, pid_t *ret_pid, int *ret_pidfd, struct tr_err *err);

/* waitpid without EINTR. Returns 0 and the wait status. */
int tr_spawn_wait(pid_t pid, int *ret_status, struct tr_err *err);

/* Run to the end with no input, everything it prints on both streams in *out (cut at out->max, the
 * rest read and dropped), killed after timeout_us. Returns its exit code 0..255, or TR_E_TIMEOUT,
 * TR_E_FATAL when a signal ended it, or what tr_spawn() returns. */
struct tr_buf;
int tr_spawn_capture(char *const *argv, long timeout_us, struct tr_buf *out, struct tr_err *err);

#endif
