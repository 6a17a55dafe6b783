/* SPDX-License-Identifier: MIT
 *
 * load.c - programs whose use of CPU and memory is known; static, run inside the box.
 *
 * A spinner stops by its own CPU clock, so that what it used is known to some microseconds however
 * busy the machine is.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long cpu_us(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void spin(clockid_t clock, long ms)
{
    while (cpu_us(clock) < ms * 1000)
        continue;
}

static void touch(long mib)
{
    size_t size = (size_t)mib << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(9);
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
}

static void *spin_thread(void *ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, *(const long *)ms);
    return NULL;
}

static void threads(long count, long ms)
{
    pthread_t t[64];

    for (long i = 0; i < count; i++) {
        if (pthread_create(&t[i], NULL, spin_thread, &ms) != 0)
            exit(8);
    }
    for (long i = 0; i < count; i++)
        (void)pthread_join(t[i], NULL);
}

/* Children that are all alive at once: each says what it used and waits until the pipe closes.
 * Returns the sum. */
static long children(long count, long ms, long mib)
{
    int ready[2];
    int go[2];
    long total = 0;
    long used = 0;
    char c = 0;

    if (pipe(ready) < 0 || pipe(go) < 0)
        exit(7);
    for (long i = 0; i < count; i++) {
        if (fork() == 0) {
            (void)close(go[1]);
            spin(CLOCK_PROCESS_CPUTIME_ID, ms);
            if (mib > 0)
                touch(mib);
            used = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
            (void)!write(ready[1], &used, sizeof(used));
            (void)!read(go[0], &c, 1);
            _exit(0);
        }
    }
    for (long i = 0; i < count && read(ready[0], &used, sizeof(used)) == sizeof(used); i++)
        total += used;
    (void)close(go[1]);
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    return total;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "hello";
    long a = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    long b = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    long others = 0;

    if (strcmp(what, "hello") == 0)
        return puts("hello") < 0;
    if (strcmp(what, "spin") == 0)
        spin(CLOCK_PROCESS_CPUTIME_ID, a);
    else if (strcmp(what, "humble") == 0) { /* works whenever nobody else wants to */
        (void)setpriority(PRIO_PROCESS, 0, 19);
        (void)!write(1, "!", 1);
        spin(CLOCK_PROCESS_CPUTIME_ID, a);
    } else if (strcmp(what, "touch") == 0)
        touch(a);
    else if (strcmp(what, "threads") == 0)
        threads(a, b);
    else if (strcmp(what, "children") == 0)
        others = children(a, b, 0);
    else if (strcmp(what, "ignored") == 0) { /* nobody waits: their time is in no rusage */
        (void)signal(SIGCHLD, SIG_IGN);
        others = children(a, b, 0);
    } else if (strcmp(what, "hogs") == 0)
        others = children(a, 0, b);
    else if (strcmp(what, "echo") == 0) { /* answers each line until the end */
        char line[64];

        while (fgets(line, sizeof(line), stdin)) {
            (void)fputs(line, stdout);
            (void)fflush(stdout);
        }
    } else if (strcmp(what, "ask") == 0) { /* sends lines and wants them back */
        for (long i = 0; i < a; i++) {
            char line[64];

            (void)printf("%ld\n", i);
            (void)fflush(stdout);
            if (!fgets(line, sizeof(line), stdin) || strtol(line, NULL, 10) != i)
                return 5;
        }
    } else if (strcmp(what, "sleep") == 0)
        for (;;)
            (void)pause();
    else if (strcmp(what, "write") == 0) {
        FILE *f = fopen("out.txt", "w");

        if (!f || fputs("result\n", f) < 0 || fclose(f) != 0)
            return 6;
    } else if (strcmp(what, "flood") == 0)
        for (;;)
            (void)!write(1, "0123456789abcdef0123456789abcdef", 32);
    else
        return 2;
    (void)fprintf(stderr, "used_us %ld\n", others + cpu_us(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
