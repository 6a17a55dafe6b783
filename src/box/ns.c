/* SPDX-License-Identifier: MIT
 *
 * ns.c - the namespaces of a container.
 *
 * The cgroup namespace is not among the clone flags: the new process still sits in the helper's
 * group then and would see it as its root. It is entered in init.c, once the process has moved.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "box/container.h"

uint64_t box_ns_flags(bool userns)
{
    uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

    return userns ? flags | CLONE_NEWUSER : flags;
}

int box_ns_finish(struct tr_err *err)
{
    static const char name[] = "box";

    /* The host's name is none of the program's business. */
    if (sethostname(name, strlen(name)) < 0 || setdomainname(name, strlen(name)) < 0)
        return tr_fail(err, TR_E_IO, errno, "set the host name");
    return 0;
}
