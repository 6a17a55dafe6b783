/* SPDX-License-Identifier: MIT
 *
 * attack_files.c - the work folder: too big, too many, too deep, not what it seems.
 */
#include "attacker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static int create(const char *name)
{
    return open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
}

static int sparse_file(char **args)
{
    (void)args;
    signal(SIGXFSZ, SIG_IGN);
    int fd = create("out");
    must_not_work("ftruncate to 1 TiB", ftruncate(fd, (off_t)1 << 40));
    must_not_work("truncate to 1 TiB", truncate("out", (off_t)1 << 40));
    if (pwrite(fd, "x", 1, (off_t)1 << 40) == 1)
        escaped("wrote at 1 TiB");
    must_not_work("fallocate 1 TiB", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)1 << 40));
    return 0;
}

/* Without the signal ignored it dies of it. */
static int sparse_file_dies(char **args)
{
    (void)args;
    return ftruncate(create("out"), (off_t)1 << 40) < 0 ? 7 : 8;
}

/* args[0] is the file size limit in bytes: every way past it. */
static int outgrow(char **args)
{
    signal(SIGXFSZ, SIG_IGN);
    off_t limit = number_arg(args, 0, 1 << 20);
    int fd = create("one"), two = create("two"), p[2];
    if (fd < 0 || two < 0 || pipe(p) < 0)
        return 3;
    if (ftruncate(two, limit) < 0)
        say("two is smaller: %s", strerror(errno));
    must_not_work("fallocate", fallocate(fd, 0, 0, limit * 2));
    must_not_work("posix_fallocate", posix_fallocate(fd, 0, limit * 2) == 0 ? 0 : -1);
    for (int i = 0; i < 4; i++) {
        loff_t from = 0, to = limit - 4096 + i * 4096;
        copy_file_range(two, &from, fd, &to, 8192, 0);
        from = 0;
        if (splice(two, &from, p[1], NULL, 8192, SPLICE_F_NONBLOCK) > 0)
            splice(p[0], NULL, fd, &to, 8192, 0);
    }
    int app = open("one", O_WRONLY | O_APPEND);
    static char buf[65536];
    for (int i = 0; i < 64 && write(app, buf, sizeof buf) > 0; i++)
        ;
    char *m = mmap(NULL, (size_t)limit * 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m != MAP_FAILED)
        munmap(m, (size_t)limit *
                      2); /* touching beyond the end is SIGBUS, growing it is what counts */
    struct stat st;
    fstat(fd, &st);
    if (st.st_size > limit)
        escaped("a file of %lld bytes, allowed were %lld", (long long)st.st_size, (long long)limit);
    say("grew to %lld", (long long)st.st_size);
    return 0;
}

static int many_files(char **args)
{
    (void)args;
    int made = 0;
    for (; made < MANY_FILES; made++) {
        char name[300];
        snprintf(name, sizeof name, "f\n%d\x1b[31m\"}\\ \xff%.*d", made, made % 200, 0);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0)
            break;
        close(fd);
    }
    say("files %d: %s", made, strerror(errno));
    if (made >= MANY_FILES)
        escaped("%d files and nothing stopped it", made);
    return 0;
}

/* Folders within folders, far deeper than PATH_MAX or a careless recursion can bear. */
static int deep_folders(char **args)
{
    int made = 0, want = (int)number_arg(args, 0, 10000);
    for (; made < want; made++)
        if (mkdir("d", 0700) < 0 || chdir("d") < 0)
            break;
    int fd = create("bottom");
    say("depth %d: %s", made, fd < 0 ? strerror(errno) : "and a file");
    return 0;
}

/* Hard links and folders in shapes that confuse whoever walks them. */
static int tangled_files(char **args)
{
    (void)args;
    int fd = create("one");
    close(fd);
    for (int i = 0; i < 500; i++) {
        char name[32], deep[64];
        snprintf(name, sizeof name, "link%d", i);
        if (link("one", name) < 0)
            break;
        snprintf(name, sizeof name, "dir%d", i);
        mkdir(name, 0700);
        snprintf(deep, sizeof deep, "dir%d/up", i);
        if (symlink("..", deep) < 0 || symlink("/", "root") < 0)
            continue;
    }
    if (symlink("loop", "loop") < 0 || symlink(".", "self") < 0)
        return 3;
    return 0;
}

static int locked_folders(char **args)
{
    (void)args;
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "locked%d", i);
        mkdir(name, 0700);
        if (chdir(name) == 0) {
            mkdir("in", 0700);
            close(create("in/file"));
            chmod("in", 0);
            if (chdir("..") < 0)
                return 3;
        }
        chmod(name, i % 2 ? 0 : 01000);
    }
    int fd = create("immutable");
    int flags = FS_IMMUTABLE_FL | FS_APPEND_FL;
    must_not_work("chattr +i", ioctl(fd, FS_IOC_SETFLAGS, &flags));
    int safe = FS_NODUMP_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &safe);
    fchmod(fd, 0);
    return 0;
}

/* The folder itself: if it belongs to the program, so do its mode, its name and its attributes. */
static int spoil_work_folder(char **args)
{
    (void)args;
    must_not_work("rename of the work folder", rename("/w", "/x"));
    must_not_work("rmdir of the work folder", rmdir("/w"));
    must_not_work("replace the work folder", unlink("/w"));
    must_not_work("rename of /tmp", rename("/tmp", "/x"));
    chmod("/tmp", 0);
    chmod("/dev/shm", 0);
    chmod("/w", 0);
    return 0;
}

/* args[0] says what stands where the judge looks for the output file. */
static int output_is(char **args)
{
    const char *what = args[0] ? args[0] : "";
    int r = 0;
    if (strcmp(what, "symlink") == 0)
        r = symlink(args[1] ? args[1] : "/etc/passwd", "out");
    else if (strcmp(what, "fifo") == 0)
        r = mkfifo("out", 0666);
    else if (strcmp(what, "folder") == 0)
        r = mkdir("out", 0777);
    else if (strcmp(what, "device") == 0)
        r = mknod("out", S_IFCHR | 0666, makedev(1, 5));
    else if (strcmp(what, "socket") == 0)
        r = mknod("out", S_IFSOCK | 0666, 0);
    else if (strcmp(what, "parent") == 0)
        r = symlink(args[1] ? args[1] : "/etc", "dir");
    else if (strcmp(what, "unreadable") == 0)
        r = fchmod(create("out"), 0);
    else if (strcmp(what, "hardlink") == 0)
        r = link("/proc/self/exe", "out") < 0 ? link("/usr/bin/env", "out") : 0;
    else
        return 2;
    say("%s: %s", what, r < 0 ? strerror(errno) : "made");
    return 0;
}

/* Keeps exchanging a file and a link while the judge copies it out. */
static int swap_output(char **args)
{
    const char *target = args[0] ? args[0] : "/etc/passwd";
    int fd = create("out");
    if (write(fd, "mine\n", 5) != 5 || symlink(target, "link") < 0)
        return 3;
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;)
            syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, "out", RENAME_EXCHANGE);
    }
    sleep_ms(20);
    return 0;
}

/* A lease makes whoever opens the file wait up to 45 s for the holder to let go. */
static int lease_output(char **args)
{
    (void)args;
    int fd = create("out");
    if (write(fd, "mine\n", 5) != 5)
        return 3;
    close(fd);
    if (fork() == 0) {
        setsid();
        int ro = open("out", O_RDONLY);
        if (fcntl(ro, F_SETLEASE, F_WRLCK) == 0)
            say("lease taken");
        sleep_forever();
    }
    sleep_ms(20);
    return 0;
}

static int hard_links(char **args)
{
    (void)args;
    static const char *const outside[] = {"/etc/passwd", "/usr/bin/env", "/bin/sh",
                                          "/usr/lib/os-release", "/dev/null"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        must_not_work(outside[i], linkat(AT_FDCWD, outside[i], AT_FDCWD, "/w/stolen", 0));
        must_not_work(outside[i],
                      linkat(AT_FDCWD, outside[i], AT_FDCWD, "/w/stolen", AT_SYMLINK_FOLLOW));
        must_not_work(outside[i], rename(outside[i], "/w/stolen"));
    }
    for (int fd = 0; fd < 3; fd++)
        must_not_work("link of a stream", linkat(fd, "", AT_FDCWD, "/w/stolen", AT_EMPTY_PATH));
    int tmp = open("/usr", O_TMPFILE | O_RDWR, 0600);
    must_not_work("O_TMPFILE in /usr", tmp);
    /* A file without a name in our own folder may get one there, and nowhere else. */
    tmp = open("/w", O_TMPFILE | O_RDWR, 0600);
    if (tmp >= 0) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", tmp);
        must_not_work("link into /usr",
                      linkat(AT_FDCWD, path, AT_FDCWD, "/usr/x", AT_SYMLINK_FOLLOW));
        must_not_work("link into /", linkat(AT_FDCWD, path, AT_FDCWD, "/x", AT_SYMLINK_FOLLOW));
    }
    return 0;
}

/* Its own program file is what the next test starts. */
static int overwrite_self(char **args)
{
    (void)args;
    static const char bad[] = "#!/bin/sh\necho overwritten\n";
    static const char *const names[] = {"/proc/self/exe", "/w/a", "./a"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int fd = open(names[i], O_WRONLY);
        if (fd >= 0)
            say("opened %s for writing", names[i]);
        if (truncate(names[i], 0) == 0)
            say("truncated %s", names[i]);
        chmod(names[i], 0777);
    }
    if (unlink("a") == 0 || rename("a", "b") == 0) {
        int fd = open("a", O_WRONLY | O_CREAT, 0777);
        if (fd >= 0 && write(fd, bad, sizeof bad - 1) > 0)
            say("replaced its program");
    }
    unlink("input.txt");
    int fd = create("input.txt");
    if (fd >= 0 && write(fd, bad, sizeof bad - 1) < 0)
        return 3;
    return 0;
}

/* Something else under the name of its program: a folder that is hard to remove, a link, a FIFO. */
static int replace_self(char **args)
{
    const char *what = args[0] ? args[0] : "folder";
    if (unlink("a") < 0) {
        held("unlink of its program: %s", strerror(errno));
        return 0;
    }
    int r = -1;
    if (strcmp(what, "folder") == 0) {
        r = mkdir("a", 0700);
        close(create("a/file"));
        chmod("a", 0);
    } else if (strcmp(what, "link") == 0) {
        r = symlink("/usr/bin/env", "a");
    } else if (strcmp(what, "fifo") == 0) {
        r = mkfifo("a", 0666);
    }
    say("%s: %s", what, r < 0 ? strerror(errno) : "made");
    return 0;
}

/* A deep chain of links makes a name lookup expensive for whoever follows it. */
static int link_maze(char **args)
{
    (void)args;
    char to[64], name[32];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "m%d", i);
        snprintf(to, sizeof to, "m%d/../m%d/../m%d", i + 1, i + 1, i + 1);
        if (symlink(to, name) < 0)
            return 3;
    }
    if (mkdir("m40", 0700) < 0 || symlink("m0", "out") < 0)
        return 3;
    return 0;
}

const struct attack attacks_files[] = {
    {"sparse_file", sparse_file, "a sparse file of a terabyte"},
    {"sparse_file_dies", sparse_file_dies, "the same with SIGXFSZ deadly"},
    {"outgrow", outgrow, "every way past the file size limit"},
    {"many_files", many_files, "files without end, with bad names"},
    {"deep_folders", deep_folders, "folders within folders"},
    {"tangled_files", tangled_files, "hard links and link loops"},
    {"locked_folders", locked_folders, "folders nobody may enter"},
    {"spoil_work_folder", spoil_work_folder, "the work folder itself made useless"},
    {"output_is", output_is, "not a file where the output is expected"},
    {"swap_output", swap_output, "exchanges output and link during copy-out"},
    {"lease_output", lease_output, "a lease on the output"},
    {"hard_links", hard_links, "hard links to what is not its own"},
    {"overwrite_self", overwrite_self, "overwrites its program and its input"},
    {"replace_self", replace_self, "something else under its program's name"},
    {"link_maze", link_maze, "links that are slow to follow"},
    {NULL, NULL, NULL},
};
