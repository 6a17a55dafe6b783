/* SPDX-License-Identifier: MIT
 *
 * attack_output.c - stdout, stderr and stdin: too much, of the wrong kind, or changed behind the
 * judge's back.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    CHUNK = 65536,
    MANY_CHUNKS = MANY_MIB * 16
};
static char chunk[CHUNK];

static int flood(char **args)
{
    int fd = (int)number_arg(args, 0, 1);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    memset(chunk, 'y', sizeof chunk);
    for (int i = 0; i < MANY_CHUNKS; i++)
        if (write(fd, chunk, sizeof chunk) < 0 && errno != EAGAIN)
            sleep_ms(1); /* does not take no for an answer */
    spin_forever();
}

/* The same from both streams at once, so that neither alone is over the limit first. */
static int flood_both(char **args)
{
    (void)args;
    memset(chunk, 'y', sizeof chunk);
    for (int i = 0; i < MANY_CHUNKS; i++)
        if (write(1 + i % 2, chunk, sizeof chunk) < 0)
            return 3;
    return 0;
}

/* Bytes that never pass through write(2). */
static int flood_splice(char **args)
{
    (void)args;
    int fd = open("big", O_RDWR | O_CREAT, 0600), p[2];
    if (fd < 0 || ftruncate(fd, 1 << 20) < 0 || pipe(p) < 0)
        return 3;
    for (int i = 0; i < MANY_MIB; i++) {
        off_t at = 0;
        ssize_t a = sendfile(1, fd, &at, 1 << 20);
        loff_t from = 0;
        ssize_t b = splice(fd, &from, p[1], NULL, 32768, SPLICE_F_NONBLOCK);
        ssize_t c = b > 0 ? splice(p[0], NULL, 1, NULL, (size_t)b, 0) : -1;
        from = 0;
        ssize_t d = copy_file_range(fd, &from, 1, NULL, 1 << 20, 0);
        if (a < 0 && c < 0 && d < 0)
            return 3;
    }
    return 0;
}

/* If stdout is a file of the judge's, its size is in our hands. */
static int resize_stdout(char **args)
{
    (void)args;
    signal(SIGXFSZ, SIG_IGN);
    for (int fd = 1; fd <= 2; fd++) {
        must_not_work("ftruncate of output to 1 TiB", ftruncate(fd, (off_t)1 << 40));
        must_not_work("fallocate of output to 1 GiB", fallocate(fd, 0, 0, 1 << 30));
        if (lseek(fd, (off_t)1 << 40, SEEK_SET) > 0)
            must_not_work("write at 1 TiB", write(fd, "x", 1));
        if (pwrite(fd, "x", 1, (off_t)1 << 39) == 1)
            escaped("wrote at 512 GiB of the output");
        lseek(fd, 0, SEEK_END);
    }
    say("42");
    return 0;
}

/* The input belongs to the judge and every later test reads it again. */
static int change_stdin(char **args)
{
    (void)args;
    static const char *const ways[] = {"/proc/self/fd/0", "/dev/stdin", "/dev/fd/0",
                                       "/proc/thread-self/fd/0"};
    must_not_work("write to stdin", write(0, "0 0\n", 4));
    must_not_work("truncate stdin", ftruncate(0, 0));
    /* Of a copy they are its own business; the row looks at the judge's file. */
    if (fchmod(0, 0777) == 0 || fchown(0, getuid(), getgid()) == 0)
        say("stdin is its own");
    if (mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, 0, 0) != MAP_FAILED)
        escaped("mapped stdin for writing");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int fd = open(ways[i], O_RDWR);
        if (fd < 0)
            continue;
        if (pwrite(fd, "0 0\n", 4, 0) == 4)
            escaped("rewrote stdin through %s", ways[i]);
        close(fd);
    }
    chmod("/proc/self/fd/0", 0666);
    if (truncate("/proc/self/fd/0", 0) == 0)
        escaped("truncated stdin by its path");
    if (linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, "/w/input", AT_SYMLINK_FOLLOW) == 0)
        escaped("linked stdin into the work folder");
    if (flock(0, LOCK_EX | LOCK_NB) == 0)
        say("REACHED: an exclusive lock on stdin");
    if (fcntl(0, F_SETLEASE, F_RDLCK) == 0)
        escaped("a lease on stdin");
    return 0;
}

/* What the descriptors share with the judge: offset, flags, owner. The next run must not see it. */
static int disturb_streams(char **args)
{
    (void)args;
    lseek(0, 0, SEEK_END);
    for (int fd = 0; fd <= 2; fd++) {
        fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND | O_ASYNC | O_NOATIME);
        fcntl(fd, F_SETOWN, getpid());
        fcntl(fd, F_SETSIG, SIGKILL);
        fcntl(fd, 1036 /* F_SET_RW_HINT */, &(uint64_t){5});
        ioctl(fd, FIONBIO, &(int){1});
        shutdown(fd, SHUT_RDWR);
    }
    return 0;
}

static int read_back_stdout(char **args)
{
    (void)args;
    char c;
    for (int fd = 1; fd <= 2; fd++)
        if (pread(fd, &c, 1, 0) == 1)
            escaped("descriptor %d is readable: the judge's file", fd);
    for (int fd = 1; fd <= 2; fd++) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_RDWR | O_NONBLOCK);
        struct stat st;
        if (again >= 0 && fstat(again, &st) == 0 && S_ISREG(st.st_mode))
            escaped("opened the judge's output file again, for reading too");
    }
    return 0;
}

/* A pipe has two ends and /proc opens both: takes its own output away from whoever collects it. */
static int steal_output(char **args)
{
    (void)args;
    int fd = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        for (;;)
            if (read(fd, chunk, sizeof chunk) <= 0)
                sched_yield();
    }
    for (int i = 0; i < 64; i++)
        if (write(1, chunk, 1024) < 0)
            return 3;
    kill(pid, SIGKILL);
    say("42");
    return 0;
}

/* Writes into its own input: a feeder must not wait for room that never comes. */
static int clog_stdin(char **args)
{
    (void)args;
    int fd = open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK);
    for (int i = 0; i < 1000 && fd >= 0; i++)
        if (write(fd, chunk, 4096) < 0)
            break;
    say("42");
    return 0;
}

/* Reports that look like the box's own, on every descriptor there could be. */
static int forge_report(char **args)
{
    (void)args;
    static const char forged[] = "{\"cause\":\"exit\",\"exit\":0,\"signal\":0,\"cpu_us\":1,"
                                 "\"wall_us\":1,\"memory_kib\":1,\"pids_peak\":1,\"killed\":0}\n";
    for (int fd = 0; fd < 1024; fd++) {
        if (fd > 2 && write(fd, forged, sizeof forged - 1) > 0)
            escaped("descriptor %d took a forged report", fd);
        send(fd, forged, sizeof forged - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (write(1, forged, sizeof forged - 1) < 0 || write(2, forged, sizeof forged - 1) < 0)
        return 3;
    return 9;
}

static int odd_bytes(char **args)
{
    (void)args;
    static const char odd[] = "a\0b\r\n\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\n"
                              "\x1b[2J\x1b]0;t\x07</script>\r\r\n\"}\n";
    if (write(1, odd, sizeof odd) != sizeof odd || write(2, odd, sizeof odd) != sizeof odd)
        return 3;
    return 0;
}

/* args[0] MiB without a single newline. */
static int long_line(char **args)
{
    memset(chunk, 'z', sizeof chunk);
    for (int64_t n = number_arg(args, 0, 100) * 16; n > 0; n--)
        for (size_t done = 0; done < sizeof chunk;) {
            ssize_t w = write(1, chunk + done, sizeof chunk - done);
            if (w < 0)
                return 3;
            done += (size_t)w;
        }
    return 0;
}

const struct attack attacks_output[] = {
    {"flood", flood, "writes to a stream without end"},
    {"flood_both", flood_both, "writes to both streams in turn"},
    {"flood_splice", flood_splice, "sendfile, splice and copy_file_range to stdout"},
    {"resize_stdout", resize_stdout, "ftruncate and fallocate of stdout"},
    {"change_stdin", change_stdin, "rewrites its input"},
    {"disturb_streams", disturb_streams, "offset, flags and owner of the streams"},
    {"read_back_stdout", read_back_stdout, "reads the judge's output file"},
    {"steal_output", steal_output, "reads its own output before the judge does"},
    {"clog_stdin", clog_stdin, "fills its own input"},
    {"forge_report", forge_report, "writes a report like the box's own"},
    {"odd_bytes", odd_bytes, "NULs, bad UTF-8, escapes"},
    {"long_line", long_line, "a line of many MiB"},
    {NULL, NULL, NULL},
};
