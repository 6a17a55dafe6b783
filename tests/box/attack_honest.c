/* SPDX-License-Identifier: MIT
 *
 * attack_honest.c - the honest program that runs before, between and after the attacks.
 *
 * It adds two numbers, and looks around as it does: whatever an earlier run left behind is DIRTY,
 * and the ENV lines have to be the same in every honest run of a slot.
 */
#include "attacker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum {
    HONEST_MIB = 4,
    HONEST_SPIN_US = 2000
};

/* Names in a folder other than those in `allowed`. */
static void look_for_files(const char *path, const char *const *allowed)
{
    DIR *d = opendir(path);
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        bool known = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        for (const char *const *a = allowed; *a && !known; a++)
            known = strcmp(*a, e->d_name) == 0;
        if (!known)
            say("DIRTY: %s/%s was left", path, e->d_name);
    }
    closedir(d);
}

static void look_at_folder(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return;
    /* Any state a program can park on the folder itself would reach the next test. */
    if (llabs((long long)(time(NULL) - st.st_mtime)) > 3600)
        say("DIRTY: %s has the mtime %lld", path, (long long)st.st_mtime);
    if (llabs((long long)(time(NULL) - st.st_atime)) > 3600)
        say("DIRTY: %s has the atime %lld", path, (long long)st.st_atime);
    char names[512];
    ssize_t n = listxattr(path, names, sizeof names);
    if (n > 0)
        say("DIRTY: %s has the attribute %s", path, names);
    struct statfs fs;
    unsigned long long used_kib = 0, used_files = 0;
    if (statfs(path, &fs) == 0 && fs.f_blocks) {
        used_kib = (fs.f_blocks - fs.f_bfree) * (unsigned long long)fs.f_bsize / 1024;
        used_files = fs.f_files - fs.f_ffree;
    }
    say("ENV folder %s mode %o uid %u gid %u used %llu KiB %llu files", path, st.st_mode, st.st_uid,
        st.st_gid, used_kib, used_files);
}

static void look_for_processes(void)
{
    /* Signal 0 reaches every process we could harm: there must be none. */
    if (kill(-1, 0) == 0)
        say("DIRTY: other processes are within reach of kill(-1)");
    DIR *d = opendir("/proc");
    if (!d)
        return;
    int others = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char *end = NULL;
        long pid = strtol(e->d_name, &end, 10);
        if (*end == 0 && pid > 1 && pid != getpid())
            others++;
    }
    closedir(d);
    if (others)
        say("DIRTY: /proc shows %d other processes", others);
}

static void look_for_descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            say("DIRTY: descriptor %d is open", fd);
}

static void look_for_ipc(void)
{
    union {
        struct shm_info info;
        struct shmid_ds ds;
    } shm = {0};
    if (shmctl(0, SHM_INFO, &shm.ds) >= 0 && shm.info.used_ids)
        say("DIRTY: %d System V shared memory segments", shm.info.used_ids);
    union {
        struct msginfo info;
        struct msqid_ds ds;
    } msg = {0};
    if (msgctl(0, MSG_INFO, &msg.ds) >= 0 && msg.info.msgpool)
        say("DIRTY: %d System V message queues", msg.info.msgpool);
    struct seminfo sem = {0};
    if (semctl(0, 0, SEM_INFO, &sem) >= 0 && sem.semusz)
        say("DIRTY: %d System V semaphore sets", sem.semusz);
    if (syscall(SYS_mq_open, "tribunal-mark", O_RDONLY, 0, NULL) >= 0)
        say("DIRTY: a POSIX message queue was left");
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "tribunal-mark", 0) >=
        0)
        say("DIRTY: a key was left in the session keyring");
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "tribunal-mark", 0) >= 0)
        say("DIRTY: a key was left in the user keyring");
}

/* The facts of /proc/self/status that the next run must find unchanged. */
static void tell_status(void)
{
    static const char *const wanted[] = {
        "Uid:",    "Gid:",        "Groups:", "SigPnd:",           "ShdPnd:", "SigBlk:",
        "SigIgn:", "CapInh:",     "CapPrm:", "CapEff:",           "CapBnd:", "CapAmb:",
        "Seccomp", "NoNewPrivs:", "Umask:",  "Cpus_allowed_list:"};
    char buf[8192];
    if (slurp("/proc/self/status", buf, sizeof buf) < 0)
        return;
    char *save = NULL;
    for (char *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (strncmp(l, wanted[i], strlen(wanted[i])) == 0)
                say("ENV %s", l);
}

static void tell_environment(void)
{
    static const int limits[] = {RLIMIT_AS,    RLIMIT_CORE,   RLIMIT_CPU,        RLIMIT_DATA,
                                 RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC,      RLIMIT_STACK,
                                 RLIMIT_NICE,  RLIMIT_RTPRIO, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE,
                                 RLIMIT_LOCKS, RLIMIT_MEMLOCK};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)limits[i], &r) == 0)
            say("ENV rlimit %d: %llu %llu", limits[i], (unsigned long long)r.rlim_cur,
                (unsigned long long)r.rlim_max);
    }
    struct utsname u;
    uname(&u);
    say("ENV host %s nice %d policy %d personality %x timerslack %d dumpable %d", u.nodename,
        getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), (unsigned)personality(0xffffffff),
        prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE));
    for (char **e = environ; *e; e++)
        say("ENV variable %s", *e);
    char buf[16384];
    if (slurp("/proc/self/oom_score_adj", buf, sizeof buf) > 0)
        say("ENV oom_score_adj %s", strtok(buf, "\n"));
    int mounts = 0;
    if (slurp("/proc/self/mounts", buf, sizeof buf) > 0)
        for (char *p = buf; (p = strchr(p, '\n')); p++)
            mounts++;
    say("ENV %d mounts", mounts);
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    say("ENV name %s", name);
}

static int64_t sum_of_stdin(void)
{
    char buf[256];
    size_t n = 0;
    ssize_t r;
    while (n < sizeof buf - 1 && (r = read(0, buf + n, sizeof buf - 1 - n)) > 0)
        n += (size_t)r;
    buf[n] = 0;
    char *end = buf;
    int64_t sum = 0;
    for (char *p = buf;; p = end) {
        int64_t v = strtoll(p, &end, 10);
        if (end == p)
            return sum;
        sum += v;
    }
}

static void work_a_little(void)
{
    size_t size = (size_t)HONEST_MIB << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        say("DIRTY: no memory for an honest program: %s", strerror(errno));
    else
        memset(p, 1, size);
    spin_us(HONEST_SPIN_US);
    FILE *f = fopen("honest.txt", "w");
    if (!f || fputs("honest\n", f) < 0 || fclose(f) != 0)
        say("DIRTY: cannot write in the work folder: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        say("DIRTY: cannot fork: %s", strerror(errno));
}

/* args: the names that are allowed in the work folder. */
static int honest(char **args)
{
    static const char *const none[] = {NULL};
    look_for_descriptors();
    look_for_files("/w", (const char *const *)args);
    look_for_files("/tmp", none);
    look_for_files("/dev/shm", none);
    look_for_files("/dev/mqueue", none);
    look_for_files("/var/tmp", none);
    if (getenv("HOME") && strcmp(getenv("HOME"), "/w") != 0 && strcmp(getenv("HOME"), "/") != 0)
        look_for_files(getenv("HOME"), none);
    look_at_folder("/w");
    look_at_folder("/tmp");
    look_at_folder("/dev/shm");
    look_for_processes();
    look_for_ipc();
    tell_status();
    tell_environment();
    work_a_little();
    say("sum %lld", (long long)sum_of_stdin());
    return 0;
}

static int noop(char **args)
{
    (void)args;
    return 0;
}

const struct attack attacks_honest[] = {
    {"honest", honest, "adds the numbers of stdin and reports whatever it should not have met"},
    {"noop", noop, "nothing"},
    {NULL, NULL, NULL},
};
