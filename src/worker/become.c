/* SPDX-License-Identifier: MIT
 *
 * become.c - see become.h.
 */
#include "worker/become.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "judge/judge.h"
#include "worker/parameters.h"

enum {
    LAUNCHER_FD = 64
};

/* A user, and the room that its texts are in. */
struct user {
    struct passwd who;
    char texts[4096];
};

static int find_user(const char *name, struct user *ret, struct tr_err *err)
{
    struct passwd *found = NULL;
    int e = getpwnam_r(name, &ret->who, ret->texts, sizeof(ret->texts), &found);

    if (!found)
        return tr_fail(err, TR_E_USAGE, e, "--user: there is no user '%.64s' here", name);
    if (found->pw_uid == 0)
        return tr_fail(err, TR_E_USAGE, 0, "--user: '%.64s' is root", name);
    if (geteuid() != 0)
        return tr_fail(err, TR_E_USAGE, 0, "--user: only root can become '%.64s'", name);
    return 0;
}

int become_home(const struct worker_options *o, struct tr_err *err)
{
    struct user u;
    int r = find_user(o->user, &u, err);

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): before there are threads */
    if (r == 0 && setenv("HOME", u.who.pw_dir, 1) < 0)
        r = tr_fail(err, TR_E_NOMEM, errno, "setenv");
    return r;
}

/* A folder of root's is made the user's; what is in it is not looked at. */
static int hand_over(const char *folder, const struct passwd *who, struct tr_err *err)
{
    struct stat st;
    int r = tr_fs_mkdirs(AT_FDCWD, folder, 0755, err);

    if (r < 0)
        return r;
    if (stat(folder, &st) < 0 || (st.st_uid == 0 && chown(folder, who->pw_uid, who->pw_gid) < 0))
        return tr_fail(err, TR_E_IO, errno, "give '%.200s' to user '%.64s'", folder, who->pw_name);
    return 0;
}

static int drop(const struct passwd *who, struct tr_err *err)
{
    if (initgroups(who->pw_name, who->pw_gid) < 0 ||
        setresgid(who->pw_gid, who->pw_gid, who->pw_gid) < 0 ||
        setresuid(who->pw_uid, who->pw_uid, who->pw_uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return tr_fail(err, TR_E_FATAL, errno, "become user '%.64s'", who->pw_name);
    if (setuid(0) == 0 || seteuid(0) == 0)
        return tr_fail(err, TR_E_FATAL, 0, "user '%.64s' could become root again", who->pw_name);
    return 0;
}

static int launch(struct worker_options *o, struct tr_arena *arena, const char **ret_cache,
                  struct tr_err *err)
{
    struct tr_judge_root roots[TR_JUDGE_ROOTS_MAX];
    struct tr_judge_options judge = {0};
    tr_autoclose int socket = -1;
    int r = slot_judge_options(&o->slot, roots, arena, &judge, err);

    if (r >= 0)
        r = tr_judge_launcher(&judge, arena, ret_cache, &socket, err);
    if (r < 0)
        return r;
    o->weak = worker_box_weak(judge.helper);
    /* The slots inherit it under the same number, which none of theirs has. */
    o->launcher = fcntl(socket, F_DUPFD, LAUNCHER_FD);
    return o->launcher < 0 ? tr_fail(err, TR_E_IO, errno, "fcntl") : 0;
}

int become(struct worker_options *o, struct tr_arena *arena, struct tr_err *err)
{
    struct user u;
    const char *cache = NULL;
    int r = find_user(o->user, &u, err);

    if (r == 0)
        r = launch(o, arena, &cache, err);
    const char *folders[] = {cache, o->state, o->spool, o->data_dir};
    for (size_t i = 0; r == 0 && i < sizeof(folders) / sizeof(*folders); i++)
        if (folders[i])
            r = hand_over(folders[i], &u.who, err);
    return r < 0 ? r : drop(&u.who, err);
}
