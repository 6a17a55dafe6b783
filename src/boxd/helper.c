/* SPDX-License-Identifier: MIT
 *
 * helper.c - `tribunal-box helper`: options of the trusted starter, then box_keeper_main().
 *
 * Everything a box may see of the host is fixed by this command line. What comes over the socket
 * later cannot add to it.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "box/container.h"
#include "boxd/boxd.h"

enum {
    SOCKET_FD = 3
};

static int word_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0)
            return (int)i;
    }
    return -1;
}

static int parse_option(struct box_config *cfg, int option, const char *value, struct tr_err *err)
{
    static const char *const profiles[] = {"run", "compile", "checker"};
    static const char *const groups[] = {"auto", "v2", "v1", "hybrid", "none"};
    static const char *const spaces[] = {"auto", "always", "never"};
    uint64_t files = 0;
    int n = 0;

    switch (option) {
    case 'p':
        n = word_of(value, profiles, TR_ARRAY_LEN(profiles));
        cfg->profile = (enum tbox_profile)n;
        break;
    case 'g':
        n = word_of(value, groups, TR_ARRAY_LEN(groups));
        cfg->cgroup = (enum tbox_cgroup)n;
        break;
    case 'u':
        n = word_of(value, spaces, TR_ARRAY_LEN(spaces));
        cfg->userns = (enum tbox_userns)n;
        break;
    case 'w':
        return tr_parse_size(value, 65536, UINT64_C(1) << 40, &cfg->work_bytes, err);
    case 'f':
        n = tr_parse_u64(value, 1, 100000000, &files, err);
        cfg->work_files = (uint32_t)files;
        return n;
    case 'r':
        cfg->root = value;
        return *value == '/' ? 0 : tr_fail(err, TR_E_USAGE, 0, "the image wants a full path");
    case 'd':
        if (*value != '/' || !value[1] || cfg->ndirs == BOX_DIRS_MAX)
            return tr_fail(err, TR_E_USAGE, 0, "a folder wants a full path, at most %d of them",
                           BOX_DIRS_MAX);
        cfg->dirs[cfg->ndirs++] = value;
        return 0;
    case 's':
        cfg->strict = true;
        return 0;
    case 'S':
        cfg->spare = true;
        return 0;
    default:
        return tr_fail(err, TR_E_USAGE, 0, "unknown option");
    }
    return n < 0 ? tr_fail(err, TR_E_USAGE, 0, "unknown word '%s'", value) : 0;
}

int boxd_helper(int argc, char **argv)
{
    static const struct option options[] = {
        {"profile", required_argument, NULL, 'p'}, {"cgroup", required_argument, NULL, 'g'},
        {"userns", required_argument, NULL, 'u'},  {"work-size", required_argument, NULL, 'w'},
        {"files", required_argument, NULL, 'f'},   {"root", required_argument, NULL, 'r'},
        {"dir", required_argument, NULL, 'd'},     {"strict", no_argument, NULL, 's'},
        {"spare", no_argument, NULL, 'S'},         {0}};
    struct box_config cfg = {.work_bytes = UINT64_C(256) << 20, .work_files = 4096};
    struct tr_err err = TR_ERR_INIT;
    int type = 0;
    socklen_t len = sizeof(type);

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (parse_option(&cfg, o, optarg, &err) < 0) {
            (void)fprintf(stderr, "tribunal-box helper: %s\n", err.msg);
            return BOXD_USAGE;
        }
    }
    if (getsockopt(SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
        fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fprintf(stderr, "tribunal-box helper: descriptor %d is no SOCK_SEQPACKET socket\n",
                      SOCKET_FD);
        return BOXD_USAGE;
    }
    return box_keeper_main(SOCKET_FD, &cfg);
}
