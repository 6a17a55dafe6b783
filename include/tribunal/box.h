/* SPDX-License-Identifier: MIT
 *
 * tribunal/box.h - run a program that nobody trusts; say exactly what happened.
 *
 * A box is one container with a resident helper process: namespaces, a read-only root, private work
 * folders, a cgroup and a seccomp filter, made once. A run costs one message to the helper. After
 * each run everything inside is dead and the work folder is empty; when that cannot be proven the
 * container is thrown away and a new one takes its place (report.renewed).
 *
 *     tbox *box;
 *     struct tbox_options o = {.size = sizeof(o), .profile = TBOX_RUN};
 *     tbox_open(&o, &box, &err);
 *     tbox_put(box, exe_fd, "prog", 0555, &err);
 *     for each test:
 *         struct tbox_spec s = {.size = sizeof(s), .argv = argv, .fd = {in, out, errfd}, .cpu =
 * -1}; tbox_limits_default(TBOX_RUN, &s.limits); tbox_run(box, &s, &report, &err); tbox_close(box);
 *
 * A program that fails is a report; a box that fails is an error. A box runs one program at a time
 * and belongs to one thread; open several for parallel runs (each has its own uid). Nothing here
 * logs, and nothing the program writes is ever parsed.
 */
#ifndef TRIBUNAL_BOX_H
#define TRIBUNAL_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tribunal/err.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tbox tbox;

/* Which filter, and which defaults. Fixed when a box is opened. */
enum tbox_profile {
    TBOX_RUN,     /* a contestant's program */
    TBOX_COMPILE, /* a compiler: file locks too, more of everything by default */
    TBOX_CHECKER  /* a checker or interactor: the filter of RUN, roomier defaults */
};

enum tbox_cgroup {
    TBOX_CGROUP_AUTO,   /* the best this host gives */
    TBOX_CGROUP_V2,     /* memory, pids and cpu on the unified hierarchy */
    TBOX_CGROUP_V1,     /* v1 controllers alone */
    TBOX_CGROUP_HYBRID, /* v1 memory and pids, CPU time from a v2 leaf */
    TBOX_CGROUP_NONE    /* resource limits only; weaker: see tribunal-box(1) */
};

enum tbox_userns {
    TBOX_USERNS_AUTO,   /* on; off where the kernel refuses and the caller is root */
    TBOX_USERNS_ALWAYS, /* or fail */
    TBOX_USERNS_NEVER   /* needs root */
};

/* Zero everything that is not set; `size` is sizeof(struct tbox_options). */
struct tbox_options {
    size_t size;
    enum tbox_profile profile;
    enum tbox_cgroup cgroup;
    enum tbox_userns userns;
    const char *root; /* an unpacked image instead of the host's system folders; or NULL */
    /* More host folders, read-only; NULL-ended or NULL. "/host/path" appears at the same place,
     * "/host/path:/inside" elsewhere; not below /w, /tmp, /dev or /proc, which are the box's own.
     */
    const char *const *dirs;
    uint64_t work_bytes; /* ceiling of /w, /tmp and /dev/shm together; 0: 256 MiB */
    uint32_t work_files; /* files and folders in them; 0: 4096 */
    bool strict;         /* fail instead of running with less than the full set of limits */
    bool spare;          /* keep a second container ready, so that tbox_renew() is instant */
    const char *helper;  /* the tribunal-box program; NULL: looked for, see tribunal-box(1) */
};

/* A stack as large as the memory. Without a cgroup 8 MiB or a sixteenth of the memory, whichever is
 * less: there the stacks that threads get by default, each of this size, count as memory before
 * they are used. */
#define TBOX_STACK_AUTO UINT64_MAX

/* Each has a floor and a ceiling (tbox_limits_check()); 0 is refused, never "no limit". */
struct tbox_limits {
    int64_t cpu_us; /* user + system of all processes together */
    int64_t wall_us;
    uint64_t memory_bytes; /* of all processes, page tables and files in the work folders too */
    uint64_t stack_bytes;  /* or TBOX_STACK_AUTO */
    uint64_t output_bytes; /* standard output + standard error, while the program runs */
    uint64_t file_bytes;   /* of one file */
    uint32_t pids;         /* processes and threads */
    uint32_t open_files;
};

/* What one person would expect for `profile`: 1 s, 256 MiB, ... */
TR_PUBLIC void tbox_limits_default(enum tbox_profile profile, struct tbox_limits *ret);

/* 0, or TR_E_LIMIT with a sentence naming the limit, its value and its range. */
TR_PUBLIC int tbox_limits_check(const struct tbox_limits *limits, struct tr_err *err);

enum {
    /* The files that the run leaves in /w stay for tbox_get() until the next run, put or clean. */
    TBOX_KEEP_FILES = 1,
    /* fd[1] and fd[2] go to the program as they are: no copy, and no output ceiling unless they are
     * regular files (then limits.file_bytes holds). For pipes between two boxes. */
    TBOX_DIRECT_OUTPUT = 2
};

/* One run. The strings and descriptors stay the caller's. */
struct tbox_spec {
    size_t size;             /* sizeof(struct tbox_spec) */
    const char *const *argv; /* argv[0] without a slash is searched in PATH; cwd is /w */
    const char *const *env;  /* beside PATH, HOME, LANG, which it may replace; NULL-ended or NULL */
    int fd[3]; /* -1: /dev/null. fd[0] is a file or a pipe; a file that the program could write by
                * its uid is copied first. Output is copied to fd[1], fd[2] up to the ceiling */
    struct tbox_limits limits;
    int cpu;        /* the one CPU to run on; -1: any */
    unsigned flags; /* TBOX_KEEP_FILES, TBOX_DIRECT_OUTPUT */
    /* Watch for it to wait: tbox_idle_us() tells from this long on. 0: do not; else 10 ms or more.
     * Nothing is ended for it: whether waiting is wrong is the caller's to say. */
    int64_t idle_us;
};

/* Why the run ended, in order of precedence. Decided from the supervisor's own record and the
 * cgroup's counters, never from the signal alone. */
enum tbox_cause {
    TBOX_EXIT,    /* exit(exit_code) */
    TBOX_SIGNAL,  /* a signal that the box did not send */
    TBOX_SYSCALL, /* SIGSYS: a call of a foreign architecture. The kernel does not tell its parent
                   * whether the filter sent it or the program itself */
    TBOX_FILES,   /* SIGXFSZ with a file at its ceiling */
    TBOX_WALL,
    TBOX_CPU,
    TBOX_OUTPUT,
    TBOX_MEMORY,
    TBOX_CANCEL /* tbox_kill() */
};

struct tbox_report {
    enum tbox_cause cause;
    int exit_code; /* of the first process; meaningful when signal is 0 */
    int signal;    /* that ended the first process, or 0 */
    int64_t cpu_us;
    int64_t user_us; /* user + system = cpu; the split is the kernel's estimate */
    int64_t system_us;
    int64_t wall_us;
    int64_t idle_us; /* wall time in which it used no CPU */
    uint64_t memory_bytes;
    uint32_t pids_peak;
    uint32_t killed;        /* processes alive when the run ended, all killed */
    uint64_t written_bytes; /* to standard output and error; counted, also beyond the ceiling */
    bool renewed; /* the container was thrown away after this run, or for what the last one left */
    bool userns;
    enum tbox_cgroup cgroup;
    int64_t steal_us;     /* taken by the hypervisor while it ran (whole machine) */
    int64_t throttled_us; /* by a CPU quota above us */
    int64_t pressure_us;  /* time in which it wanted a CPU and had none */
    int64_t ended_us;     /* CLOCK_MONOTONIC when the end of its first process was seen */
    char note[160];       /* a sentence for people; never parse it */
};

/* Start a helper and its container. The box is closed with tbox_close(). */
TR_PUBLIC int tbox_open(const struct tbox_options *options, tbox **ret, struct tr_err *err);

/* The same over the socket of a helper that somebody with more rights has started
 * (`tribunal-box helper`); the box owns the socket from now on, on failure too. */
TR_PUBLIC int tbox_attach(int socket, tbox **ret, struct tr_err *err);

enum {
    TBOX_KINDS_MAX = 128
};

/* Before a program gives up its rights: start a launcher that keeps them, for boxes of these kinds
 * and no others. *ret is its socket; the launcher lives until the last copy of that is closed. May
 * be used by many processes at once. */
TR_PUBLIC int tbox_launcher(const struct tbox_options *kinds, size_t n, int *ret,
                            struct tr_err *err);

/* tbox_open() of the kind-th (from 0), by the launcher. */
TR_PUBLIC int tbox_open_by(int launcher, unsigned kind, tbox **ret, struct tr_err *err);

/* Kills what runs, removes container and cgroup, frees. NULL is fine. */
TR_PUBLIC void tbox_close(tbox *box);

/* Place a copy of the regular file `fd` (from its start) as /w/<name>, once for all runs until
 * tbox_renew(). The program can neither change nor remove it where the box has two uids; in the
 * one-uid mode it is placed anew before each run. `name` has no slash. A second put of a name
 * replaces it. The box keeps a descriptor of the file. */
TR_PUBLIC int tbox_put(tbox *box, int fd, const char *name, unsigned mode, struct tr_err *err);

/* Run to the end. 0 and a report, whatever the program did; TR_E_NOTFOUND, TR_E_DENIED or
 * TR_E_PARSE when argv[0] is no program that can start here; TR_E_USAGE for a bad spec; else a
 * fault of the box, after which tbox_renew() or tbox_close() are the only calls. */
TR_PUBLIC int tbox_run(tbox *box, const struct tbox_spec *spec, struct tbox_report *ret,
                       struct tr_err *err);

/* The same in pieces, for several boxes at once: start, poll tbox_fd() for reading, call
 * tbox_step() when it is readable. tbox_step() returns 1 with the report, 0 when it still runs.
 * tbox_wait() blocks. Between start and the report no other call but tbox_kill() and tbox_close().
 */
TR_PUBLIC int tbox_start(tbox *box, const struct tbox_spec *spec, struct tr_err *err);
TR_PUBLIC int tbox_fd(const tbox *box);
TR_PUBLIC int tbox_step(tbox *box, struct tbox_report *ret, struct tr_err *err);
TR_PUBLIC int tbox_wait(tbox *box, struct tbox_report *ret, struct tr_err *err);
TR_PUBLIC int tbox_kill(tbox *box, struct tr_err *err);

/* How long what runs (all its processes together) has used less than a hundredth of a CPU, when
 * that is spec.idle_us or more; else 0. As tbox_step() last heard of it: late by a quarter of
 * idle_us at most. */
TR_PUBLIC int64_t tbox_idle_us(const tbox *box);

/* Two boxes, the output of each the input of the other (fd[0] and fd[1] of both specs are ignored).
 * Both run to their end; *ret_first (may be NULL) is 0 or 1, who ended first. When one ends, the
 * other sees end of file; its wall limit bounds the wait. The order is by ended_us: when one ends
 * because the other did, on a busy machine, the two may be seen in the wrong order, a scheduling
 * delay apart. */
TR_PUBLIC int tbox_run_pair(tbox *const boxes[2], const struct tbox_spec specs[2],
                            struct tbox_report ret[2], int *ret_first, struct tr_err *err);

/* After a run with TBOX_KEEP_FILES: a regular file below /w, opened inside with nothing followed,
 * of at most `max` bytes. TR_E_NOTFOUND when it is missing or anything but a regular file,
 * TR_E_LIMIT when larger. The caller closes *ret_fd. */
TR_PUBLIC int tbox_get(tbox *box, const char *name, uint64_t max, int *ret_fd, uint64_t *ret_size,
                       struct tr_err *err);

/* A new container: nothing of the old one remains, puts are forgotten. Between submissions. */
TR_PUBLIC int tbox_renew(tbox *box, struct tr_err *err);

/* What this host gives; each row was tried. */
enum tbox_probe_status {
    TBOX_PROBE_OK,
    TBOX_PROBE_WEAKER, /* works without it, with less: see `weaker` */
    TBOX_PROBE_MISSING /* needed; nothing runs safely without it */
};
struct tbox_probe_row {
    char name[32];
    int32_t status; /* enum tbox_probe_status */
    char found[160];
    char weaker[200]; /* what is lost; empty when OK */
    char fix[200];    /* the command that would help; empty when OK */
};
/* Fills at most `max` rows and returns how many. `helper` as in the options. */
TR_PUBLIC int tbox_probe(const char *helper, struct tbox_probe_row *rows, size_t max,
                         struct tr_err *err);

/* Where the tribunal-box program is: `wish`, $TRIBUNAL_BOX (a full path), beside the running
 * program, or where it was installed. Returns `out`. */
TR_PUBLIC const char *tbox_helper_path(const char *wish, char *out, size_t size);

/* Words, and the report as one JSON object. The object is written like snprintf() writes. */
TR_PUBLIC const char *tbox_cause_name(enum tbox_cause cause);
TR_PUBLIC const char *tbox_cgroup_name(enum tbox_cgroup mode);
TR_PUBLIC const char *tbox_signal_name(int signal);
TR_PUBLIC size_t tbox_report_json(const struct tbox_report *report, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
