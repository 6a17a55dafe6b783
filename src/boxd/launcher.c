/* SPDX-License-Identifier: MIT
 *
 * launcher.c - `tribunal-box launcher`: starts helpers for a program that gave up its rights.
 *
 * What a helper may be is fixed by this command line, one --kind after the other. A request is one
 * byte, the kind's number, and a socket for the helper; there is no answer: a helper that cannot be
 * had is a socket that closes. It ends when nobody can ask any more.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "box/wire.h"
#include "boxd/boxd.h"

enum {
    SOCKET_FD = 3
};

struct kinds {
    char ***argv; /* of a helper, for each */
    size_t count;
};

/* "--kind a b --kind c": {tribunal-box helper a b}, {tribunal-box helper c} */
static int split(int argc, char **argv, struct kinds *k)
{
    static char program[] = "tribunal-box", verb[] = "helper";
    size_t n = 0;

    k->argv = calloc((size_t)argc, sizeof(*k->argv));
    for (int i = 1; k->argv && i < argc; i++) {
        if (strcmp(argv[i], "--kind") == 0) {
            char **one = calloc((size_t)argc + 3, sizeof(*one));

            if (!one)
                return -1;
            one[0] = program;
            one[1] = verb;
            n = 2;
            k->argv[k->count++] = one;
        } else if (k->count == 0) {
            return -1;
        } else {
            k->argv[k->count - 1][n++] = argv[i];
        }
    }
    return k->count > 0 ? 0 : -1;
}

static void start(char **argv, int socket)
{
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct tr_spawn_fd fds[] = {{null, 0}, {null, 1}, {null, 2}, {socket, SOCKET_FD}};
    const struct tr_spawn what = {.path = "/proc/self/exe",
                                  .argv = argv,
                                  .fds = fds,
                                  .nfds = TR_ARRAY_LEN(fds),
                                  .cwd = AT_FDCWD,
                                  .new_session = true};
    pid_t pid;

    if (null >= 0)
        (void)tr_spawn(&what, &pid, NULL, NULL); /* or the socket closes, and that is the answer */
}

int boxd_launcher(int argc, char **argv)
{
    const struct sigaction leave = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    struct kinds k = {0};

    if (split(argc, argv, &k) < 0) {
        (void)fputs("tribunal-box launcher: expected --kind and the options of a helper\n", stderr);
        return BOXD_USAGE;
    }
    (void)sigaction(SIGCHLD, &leave, NULL); /* nobody asks how a helper ended */
    for (;;) {
        unsigned char kind = 0;
        int fds[BOX_WIRE_FDS];
        int64_t n = box_wire_recv(SOCKET_FD, &kind, 1, fds, 0, NULL);

        if (n < 0 && n != TR_E_PARSE)
            return n == TR_E_LOST ? BOXD_DONE : BOXD_FAULT;
        if (n < 0)
            continue; /* its descriptors are closed */
        if (n == 1 && kind < k.count && fds[0] >= 0)
            start(k.argv[kind], fds[0]);
        for (int i = 0; i < BOX_WIRE_FDS; i++)
            tr_close(&fds[i]);
    }
}
