/* SPDX-License-Identifier: MIT
 *
 * attack_time.c - time that is used, wasted or hidden.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int spin(char **args)
{
    (void)args;
    spin_forever();
}

/* args[0] microseconds of CPU by our own clock, then the end. */
static int spin_for(char **args)
{
    int64_t us = number_arg(args, 0, 1000);
    struct timespec ts;
    do {
        for (volatile int i = 0; i < 200; i++)
            ;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    } while ((int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 < us);
    return 0;
}

/* The same, and then it stays where it is. */
static int spin_and_rest(char **args)
{
    (void)spin_for(args);
    sleep_forever();
}

static int sleeper(char **args)
{
    (void)args;
    sleep_forever();
}

static int close_and_sleep(char **args)
{
    (void)args;
    close(0);
    close(1);
    close(2);
    sleep_forever();
}

static int wait_in_poll(char **args)
{
    (void)args;
    int p[2];
    if (pipe(p) < 0)
        return 3;
    struct pollfd pfd = {.fd = p[0], .events = POLLIN};
    for (;;)
        poll(&pfd, 1, -1);
}

static int ignore_stdin(char **args)
{
    (void)args;
    say("42");
    return 0;
}

static int read_past_eof(char **args)
{
    (void)args;
    char c;
    for (;;)
        if (read(0, &c, 1) < 0)
            return 3;
}

static int burn_system(char **args)
{
    static char buf[1 << 20];
    int fd = args[0] ? open("/dev/zero", O_RDONLY) : -1;
    for (;;) {
        if (fd >= 0 && read(fd, buf, sizeof buf) < 0)
            return 3;
        syscall(SYS_getppid);
    }
}

static int burn_faults(char **args)
{
    (void)args;
    size_t size = 8 << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    for (;;) {
        for (size_t i = 0; i < size; i += 4096)
            p[i] = 1;
        madvise(p, size, MADV_DONTNEED);
    }
}

static int drip(char **args)
{
    (void)args;
    for (;;)
        if (write(1, "x", 1) < 0)
            return 3;
}

static void on_tick(int sig)
{
    (void)sig;
}

static int timer_storm(char **args)
{
    (void)args;
    signal(SIGALRM, on_tick);
    signal(SIGVTALRM, on_tick);
    signal(SIGRTMIN, on_tick);
    struct itimerval it = {.it_interval = {.tv_usec = 1}, .it_value = {.tv_usec = 1}};
    setitimer(ITIMER_REAL, &it, NULL);
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec its = {.it_interval = {.tv_nsec = 1000}, .it_value = {.tv_nsec = 1000}};
    for (int i = 0; i < 64; i++) {
        timer_t t;
        if (timer_create(CLOCK_MONOTONIC, &ev, &t) == 0)
            timer_settime(t, 0, &its, NULL);
    }
    for (;;)
        pause();
    return 0;
}

/* As many timers of the kernel as it gives; they fire for ever and cost time that nobody owns. */
static int timerfd_flood(char **args)
{
    (void)args;
    struct itimerspec its = {.it_interval = {.tv_nsec = 20000}, .it_value = {.tv_nsec = 20000}};
    int n = 0;
    for (; n < 5000; n++) {
        int fd = timerfd_create(CLOCK_MONOTONIC, 0);
        if (fd < 0)
            break;
        timerfd_settime(fd, 0, &its, NULL);
    }
    say("timers %d", n);
    sleep_forever();
}

/* Sleeps just before each scheduler tick, so that sampling clocks never see it running. */
static int dodge_ticks(char **args)
{
    int64_t total_us = number_arg(args, 0, 60000), used = 0;
    while (used < total_us) {
        int64_t start = cpu_now_us();
        spin_us(700);
        used += cpu_now_us() - start;
        struct timespec ts = {.tv_nsec = 300000};
        nanosleep(&ts, NULL);
    }
    say("used %lld", (long long)used);
    return 0;
}

static void *tiny_thread(void *arg)
{
    (void)arg;
    spin_us(200);
    return NULL;
}

/* The same by threads and children that live shorter than a tick. */
static int dodge_by_dying(char **args)
{
    int64_t rounds = number_arg(args, 0, 100);
    for (int64_t i = 0; i < rounds; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, tiny_thread, NULL) == 0)
            pthread_join(t, NULL);
        pid_t pid = fork();
        if (pid == 0) {
            spin_us(200);
            _exit(0);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    say("used %lld", (long long)(rounds * 400));
    return 0;
}

/* Everything that would make it run more, or others less. */
static int schedule_games(char **args)
{
    (void)args;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &set);
    cpu_set_t was;
    CPU_ZERO(&was);
    sched_getaffinity(0, sizeof was, &was);
    sched_setaffinity(0, sizeof set, &set);
    cpu_set_t is;
    CPU_ZERO(&is);
    sched_getaffinity(0, sizeof is, &is);
    if (!CPU_EQUAL(&was, &is))
        escaped("%d CPUs became %d", CPU_COUNT(&was), CPU_COUNT(&is));
    struct sched_param p = {.sched_priority = 1};
    must_not_work("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &p));
    must_not_work("SCHED_RR", sched_setscheduler(0, SCHED_RR, &p));
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } dl = {.size = 48, .policy = 6, .runtime = 10000000, .deadline = 20000000, .period = 20000000};
    must_not_work("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, &dl, 0));
    must_not_work("setpriority(-20)", setpriority(PRIO_PROCESS, 0, -20));
    must_not_work("setpriority(user, -20)", setpriority(PRIO_USER, 0, -20));
    must_not_work("ioprio realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
    p.sched_priority = 0;
    sched_setscheduler(0, SCHED_BATCH, &p);
    sched_setscheduler(0, SCHED_IDLE, &p);
    syscall(SYS_membarrier, 1 << 2, 0, 0);
    say("42");
    return 0;
}

/* As a nice idle program it would starve and never reach a CPU limit: only wall time ends it. */
static int idle_class_spin(char **args)
{
    (void)args;
    struct sched_param p = {0};
    sched_setscheduler(0, SCHED_IDLE, &p);
    setpriority(PRIO_PROCESS, 0, 19);
    spin_forever();
}

static int fake_clock(char **args)
{
    (void)args;
    struct timespec ts = {.tv_sec = 1};
    struct timeval tv = {.tv_sec = 1};
    must_not_work("clock_settime", clock_settime(CLOCK_REALTIME, &ts));
    must_not_work("settimeofday", settimeofday(&tv, NULL));
    must_not_work("clock_settime(process)", clock_settime(CLOCK_PROCESS_CPUTIME_ID, &ts));
    return 0;
}

/* A watchdog of its own that kills it just before the limit, as if it had done it by itself. */
static int end_at(char **args)
{
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    timer_t t;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &ev, &t) < 0)
        return 3;
    int64_t us = number_arg(args, 0, 1000);
    struct itimerspec its = {.it_value = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}};
    timer_settime(t, 0, &its, NULL);
    spin_forever();
}

const struct attack attacks_time[] = {
    {"spin", spin, "busy loop"},
    {"spin_for", spin_for, "busy for so many microseconds"},
    {"sleeper", sleeper, "sleeps for ever"},
    {"spin_and_rest", spin_and_rest, "spins for a time, then sleeps for ever"},
    {"close_and_sleep", close_and_sleep, "closes its streams and sleeps"},
    {"wait_in_poll", wait_in_poll, "waits for itself in poll"},
    {"ignore_stdin", ignore_stdin, "answers without reading"},
    {"read_past_eof", read_past_eof, "reads for ever after the end"},
    {"burn_system", burn_system, "system time only"},
    {"burn_faults", burn_faults, "page faults only"},
    {"drip", drip, "writes byte by byte for ever"},
    {"timer_storm", timer_storm, "one-microsecond timers"},
    {"timerfd_flood", timerfd_flood, "thousands of timers"},
    {"dodge_ticks", dodge_ticks, "runs between scheduler ticks"},
    {"dodge_by_dying", dodge_by_dying, "works in threads and children shorter than a tick"},
    {"schedule_games", schedule_games, "affinity, real time, priorities"},
    {"idle_class_spin", idle_class_spin, "spins in the idle class"},
    {"fake_clock", fake_clock, "sets clocks"},
    {"end_at", end_at, "kills itself after so much CPU"},
    {NULL, NULL, NULL},
};
