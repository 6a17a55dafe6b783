/* SPDX-License-Identifier: MIT
 *
 * attack_odd.c - what fits nowhere else: strange ways to exec, watchers, filters of its own.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that never was a file is confined like any other. */
static int exec_memfd(char **args)
{
    (void)args;
    int in = open("/proc/self/exe", O_RDONLY);
    int fd = (int)syscall(SYS_memfd_create, "ghost", 1u);
    struct stat st;
    if (in < 0 || fd < 0 || fstat(in, &st) < 0)
        return 0;
    for (off_t at = 0; at < st.st_size;)
        if (sendfile(fd, in, &at, (size_t)(st.st_size - at)) <= 0)
            return 0;
    char *argv[] = {strdup("a"), strdup("confined"), strdup("memfd"), NULL}, *env[] = {NULL};
    syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
    held("exec of a memfd: %s", strerror(errno));
    return 0;
}

static int write_script(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    close(fd);
    return n < 0 ? -1 : 0;
}

static int script_loop(char **args)
{
    (void)args;
    if (write_script("one", "#!/w/two\n") < 0 || write_script("two", "#!/w/one\n") < 0)
        return 3;
    write_script("self", "#!/w/self\n");
    char *argv[] = {strdup("x"), NULL}, *env[] = {NULL};
    execve("/w/one", argv, env);
    execve("/w/self", argv, env);
    say("42");
    return 0;
}

static int long_arguments(char **args)
{
    (void)args;
    size_t n = 100000;
    char **argv = calloc(n + 1, sizeof *argv), *one = strdup("0123456789"), *env[] = {NULL};
    if (!argv || !one)
        return 0;
    for (size_t i = 0; i < n; i++)
        argv[i] = one;
    argv[1] = strdup("noop");
    execve("/w/a", argv, env);
    say("exec: %s", strerror(errno));
    /* And strings so long that only copying them costs something. */
    char *big = malloc(120000);
    if (!big)
        return 0;
    memset(big, 'b', 119999);
    big[119999] = 0;
    for (size_t i = 2; i < n; i++)
        argv[i] = big;
    execve("/w/a", argv, env);
    say("exec: %s", strerror(errno));
    return 0;
}

static int strange_personality(char **args)
{
    (void)args;
    personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC | UNAME26 | 0x0008 /* PER_LINUX32 */ |
                MMAP_PAGE_ZERO | STICKY_TIMEOUTS | WHOLE_SECONDS | ADDR_COMPAT_LAYOUT);
    execl("/w/a", "a", "confined", "personality", (char *)NULL);
    return 0;
}

/* Watching files that every box reads tells what other contestants do. */
static int watch_shared(char **args)
{
    (void)args;
    int fd = inotify_init1(IN_NONBLOCK);
    if (fd < 0) {
        held("inotify: %s", strerror(errno));
        return 0;
    }
    if (inotify_add_watch(fd, "/usr/lib", IN_OPEN | IN_ACCESS) >= 0)
        say("REACHED: inotify on /usr/lib");
    int dir = open("/usr/lib", O_RDONLY | O_DIRECTORY);
    if (fcntl(dir, F_NOTIFY, 1 /* DN_ACCESS */) == 0)
        say("REACHED: F_NOTIFY on /usr/lib");
    return 0;
}

/* Its own filter may take away, never give: what it allows stays forbidden. */
static int own_filter(char **args)
{
    (void)args;
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog prog = {1, &allow};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
    must_not_work("socket after an own filter", syscall(SYS_socket, 2, 1, 0));
    must_not_work("unshare after an own filter", syscall(SYS_unshare, 0x10000000));
    struct sock_filter trace = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    prog.filter = &trace;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
        long r = syscall(SYS_getpid);
        _exit(r > 0);
    }
    waitpid(pid, NULL, 0);
    return 0;
}

/* A filter of its own that stops every exit: only SIGKILL from outside ends this. */
static int cannot_exit(char **args)
{
    (void)args;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog prog = {5, code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
    signal(SIGSEGV, SIG_IGN);
    syscall(SYS_exit_group, 0);
    sleep_forever();
}

/* A child that waits in the kernel for an answer to its system call, which never comes. */
static int notify_hang(char **args)
{
    (void)args;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog prog = {4, code};
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
    say("listener %s", fd < 0 ? strerror(errno) : "given");
    for (int i = 0; i < 5 && fd >= 0; i++)
        if (fork() == 0) {
            setsid();
            syscall(SYS_getppid);
            _exit(0);
        }
    sleep_ms(10);
    return 0;
}

/* Namespaces of its own have parents and owners that an ioctl would open. */
static int namespace_ioctls(char **args)
{
    (void)args;
    static const char *const names[] = {"mnt", "pid", "net",    "user",
                                        "uts", "ipc", "cgroup", "time"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        must_not_work("NS_GET_PARENT", ioctl(fd, 0xb702));
        must_not_work("setns to itself", syscall(SYS_setns, fd, 0));
        close(fd);
    }
    return 0;
}

/* Landlock is there for everyone; a program may lock itself in and dies of it alone. */
static int landlock_itself(char **args)
{
    (void)args;
    uint64_t attr[2] = {0x1fff, 0};
    long fd = syscall(444, attr, 8, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say("landlock %s", fd >= 0 && syscall(446, fd, 0) == 0 ? "on" : strerror(errno));
    int out = open("/w/out", O_WRONLY | O_CREAT, 0600);
    say("file %s", out < 0 ? strerror(errno) : "made");
    return 0;
}

/* Rewrites its own argv and environment in memory: whoever looks in /proc sees nonsense. */
static int rename_itself(char **args)
{
    (void)args;
    memset(environ[0] ? environ[0] : args[0], 'X', 3);
    prctl(PR_SET_NAME, "kthreadd");
    if (fork() == 0) {
        setsid();
        sleep_forever();
    }
    say("42");
    return 0;
}

/* Descriptor numbers and tables as large as they go. */
static int many_descriptors(char **args)
{
    (void)args;
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    int made = 0;
    for (int fd = 3; fd < 1 << 20; fd++) {
        if (dup2(0, fd) < 0)
            break;
        made++;
    }
    say("descriptors %d of %llu", made, (unsigned long long)r.rlim_cur);
    if (made > 70000)
        escaped("%d descriptors", made);
    return 0;
}

/* madvise and friends that could hurt the machine. */
static int poison(char **args)
{
    (void)args;
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    p[0] = 1;
    must_not_work("MADV_HWPOISON", madvise(p, 4096, 100));
    must_not_work("MADV_SOFT_OFFLINE", madvise(p, 4096, 101));
    must_not_work("FIFREEZE", ioctl(open("/w", O_RDONLY), 0xc0045877ul, 0));
    must_not_work("FITRIM", ioctl(open("/usr", O_RDONLY), 0xc0185879ul, p));
    must_not_work("TIOCCONS", ioctl(0, 0x541d));
    return 0;
}

const struct attack attacks_odd[] = {
    {"exec_memfd", exec_memfd, "execs a program without a file"},
    {"script_loop", script_loop, "scripts that interpret each other"},
    {"long_arguments", long_arguments, "arguments without end"},
    {"strange_personality", strange_personality, "old and strange personalities"},
    {"watch_shared", watch_shared, "watches files that all boxes share"},
    {"own_filter", own_filter, "a seccomp filter of its own"},
    {"cannot_exit", cannot_exit, "a filter that forbids its own exit"},
    {"notify_hang", notify_hang, "children stuck in a system call that it answers itself"},
    {"namespace_ioctls", namespace_ioctls, "owners and parents of namespaces"},
    {"landlock_itself", landlock_itself, "locks itself in"},
    {"rename_itself", rename_itself, "hides its command line"},
    {"many_descriptors", many_descriptors, "as many descriptors as it gets"},
    {"poison", poison, "poisoned memory, frozen file systems"},
    {NULL, NULL, NULL},
};
