/* SPDX-License-Identifier: MIT
 *
 * attacker.c - chooses the attack and holds what all of them share.
 *
 *     attacker NAME MARK [ARGS...]      MARK is only there to be found in /proc by the tests
 *     attacker list
 *
 * Refuses to attack anywhere but in the work folder of a box: outside, a fork bomb is an accident
 * and not a test.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct attack *const tables[] = {
    attacks_honest, attacks_process, attacks_signal, attacks_time,  attacks_memory,  attacks_kmem,
    attacks_output, attacks_files,   attacks_state,  attacks_reach, attacks_syscall, attacks_odd,
};

__attribute__((format(printf, 2, 0))) static void line(const char *kind, const char *fmt,
                                                       va_list ap)
{
    char buf[1024];
    size_t n = (size_t)snprintf(buf, sizeof buf, "%s", kind);
    int m = vsnprintf(buf + n, sizeof buf - n - 1, fmt, ap);
    n += m < 0 ? 0 : (size_t)m;
    if (n > sizeof buf - 2)
        n = sizeof buf - 2;
    buf[n++] = '\n';
    if (write(STDOUT_FILENO, buf, n) < 0)
        return; /* nobody listens any more; the row will notice */
}

void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line("", fmt, ap);
    va_end(ap);
}

void escaped(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line("ESCAPED: ", fmt, ap);
    va_end(ap);
}

void held(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line("HELD: ", fmt, ap);
    va_end(ap);
}

bool must_fail(const char *what, long result)
{
    int e = errno;
    if (result >= 0) {
        escaped("%s gave %ld", what, result);
        return true;
    }
    if (e == EPERM || e == ENOSYS || e == EACCES || e == EAFNOSUPPORT)
        held("%s: %s", what, strerror(e));
    else
        say("REACHED: %s: %s", what, strerror(e));
    return false;
}

bool must_not_work(const char *what, long result)
{
    if (result >= 0) {
        escaped("%s gave %ld", what, result);
        return true;
    }
    held("%s: %s", what, strerror(errno));
    return false;
}

int in_child(attack_fn *fn, char **args)
{
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0)
        _exit(fn(args));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t cpu_now_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t wall_now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

void spin_us(int64_t us)
{
    int64_t until = cpu_now_us() + us;
    while (cpu_now_us() < until)
        for (volatile int i = 0; i < 200; i++)
            ;
}

void sleep_ms(int64_t ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
        ;
}

void spin_forever(void)
{
    for (volatile uint64_t i = 0;; i++)
        ;
}

void sleep_forever(void)
{
    for (;;)
        sleep_ms(1000000);
}

int64_t number_arg(char **args, int i, int64_t fallback)
{
    for (int k = 0; k <= i; k++)
        if (!args[k])
            return fallback;
    char *end = NULL;
    errno = 0;
    long long v = strtoll(args[i], &end, 10);
    if (errno || end == args[i] || *end) {
        fprintf(stderr, "not a number: %s\n", args[i]);
        _exit(2);
    }
    return v;
}

ssize_t slurp(const char *path, char *buf, size_t size)
{
    buf[0] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    size_t n = 0;
    while (n < size - 1) {
        ssize_t r = read(fd, buf + n, size - 1 - n);
        if (r < 0) {
            int e = errno;
            close(fd);
            errno = e;
            return -1;
        }
        if (r == 0)
            break;
        n += (size_t)r;
    }
    buf[n] = 0;
    close(fd);
    return (ssize_t)n;
}

static void list(void)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct attack *a = tables[t]; a->name; a++)
            printf("%-24s %s\n", a->name, a->tries);
}

static const struct attack *find(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct attack *a = tables[t]; a->name; a++)
            if (strcmp(a->name, name) == 0)
                return a;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        list();
        return 0;
    }
    const struct attack *a = argc >= 3 ? find(argv[1]) : NULL;
    if (!a) {
        fprintf(stderr, "usage: attacker NAME MARK [ARGS...] | attacker list\n");
        return 2;
    }
    char cwd[64];
    if (!getcwd(cwd, sizeof cwd) || strcmp(cwd, "/w") != 0) {
        fprintf(stderr, "attacker: not in the work folder of a box, so nothing is attacked\n");
        return 2;
    }
    return a->run(argv + 3);
}
