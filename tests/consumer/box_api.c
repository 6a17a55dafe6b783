/* SPDX-License-Identifier: MIT
 *
 * box_api.c - a stranger uses libtribunal-box: its installed header and nothing else of ours.
 *
 *     box_api LOAD            the promises of box.h, one after the other
 *     box_api LOAD soak N     N runs in one box: nothing grows, nothing gets slower; prints JSON
 *
 * Exit code 77 when no box can be made here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tribunal/box.h>

static const char *load_path;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            (void)fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, err.msg); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct tr_err err;

static tbox *open_box(enum tbox_profile profile)
{
    struct tbox_options o;
    tbox *box = NULL;

    memset(&o, 0, sizeof(o));
    o.size = sizeof(o);
    o.profile = profile;
    if (tbox_open(&o, &box, &err) < 0) {
        (void)fprintf(stderr, "no box here: %s\n", err.msg);
        exit(77);
    }
    return box;
}

static void put_load(tbox *box)
{
    int fd = open(load_path, O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0);
    CHECK(tbox_put(box, fd, "load", 0555, &err) == 0);
    (void)close(fd);
}

static struct tbox_spec spec_of(const char *const *argv)
{
    struct tbox_spec s;

    memset(&s, 0, sizeof(s));
    s.size = sizeof(s);
    s.argv = argv;
    s.fd[0] = s.fd[1] = s.fd[2] = -1;
    s.cpu = -1;
    tbox_limits_default(TBOX_RUN, &s.limits);
    return s;
}

static void output_arrives_and_is_counted(tbox *box)
{
    const char *argv[] = {"./load", "hello", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;
    char text[16] = "";
    int fd = memfd_create("out", MFD_CLOEXEC);

    s.fd[1] = fd;
    CHECK(tbox_run(box, &s, &r, &err) == 0);
    CHECK(r.cause == TBOX_EXIT && r.exit_code == 0 && r.written_bytes == 6);
    CHECK(pread(fd, text, sizeof(text) - 1, 0) == 6 && strcmp(text, "hello\n") == 0);
    (void)close(fd);
}

static void a_missing_program_is_an_error_and_no_verdict(tbox *box)
{
    const char *missing[] = {"./nothing", NULL};
    struct tbox_spec s = spec_of(missing);
    struct tbox_report r;

    CHECK(tbox_run(box, &s, &r, &err) == TR_E_NOTFOUND);
    s.limits.cpu_us = 0;
    CHECK(tbox_run(box, &s, &r, &err) == TR_E_LIMIT);
    s = spec_of(missing);
    s.fd[0] = 987;
    CHECK(tr_err_class(tbox_run(box, &s, &r, &err)) == TR_E_USAGE);
    output_arrives_and_is_counted(box);
}

static void files_come_out_only_when_kept(tbox *box)
{
    const char *argv[] = {"./load", "write", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;
    uint64_t size = 0;
    int fd = -1;

    CHECK(tbox_run(box, &s, &r, &err) == 0 && r.exit_code == 0);
    CHECK(tbox_get(box, "out.txt", 100, &fd, &size, &err) == TR_E_USAGE);
    s.flags = TBOX_KEEP_FILES;
    CHECK(tbox_run(box, &s, &r, &err) == 0 && r.exit_code == 0);
    CHECK(tbox_get(box, "out.txt", 100, &fd, &size, &err) == 0 && size == 7);
    (void)close(fd);
    CHECK(tbox_get(box, "out.txt", 3, &fd, &size, &err) == TR_E_LIMIT);
    CHECK(tbox_get(box, "nothing", 100, &fd, &size, &err) == TR_E_NOTFOUND);
    CHECK(tbox_get(box, "../x", 100, &fd, &size, &err) == TR_E_USAGE);
    s.flags = 0;
    CHECK(tbox_run(box, &s, &r, &err) == 0 && r.exit_code == 0);
    CHECK(!r.renewed);
}

static void a_run_can_be_cancelled(tbox *box)
{
    const char *argv[] = {"./load", "sleep", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;

    CHECK(tbox_start(box, &s, &err) == 0);
    CHECK(tbox_start(box, &s, &err) == TR_E_USAGE);
    CHECK(tbox_renew(box, &err) == TR_E_USAGE);
    CHECK(tbox_kill(box, &err) == 0);
    CHECK(tbox_wait(box, &r, &err) == 0 && r.cause == TBOX_CANCEL);
    CHECK(tbox_wait(box, &r, &err) == TR_E_USAGE);
}

static void floods_end_in_the_async_way_too(tbox *box)
{
    const char *argv[] = {"./load", "flood", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;
    int done = 0;

    s.limits.output_bytes = 1 << 20;
    s.limits.cpu_us = 20000000;
    s.limits.wall_us = 20000000;
    CHECK(tbox_start(box, &s, &err) == 0);
    while (!done) {
        struct pollfd p = {tbox_fd(box), POLLIN, 0};

        CHECK(poll(&p, 1, 25000) == 1);
        done = tbox_step(box, &r, &err);
        CHECK(done >= 0);
    }
    CHECK(r.cause == TBOX_OUTPUT && r.written_bytes > 1 << 20);
}

static void two_boxes_talk(tbox *a)
{
    const char *ask[] = {"./load", "ask", "200", NULL};
    const char *echo[] = {"./load", "echo", NULL};
    tbox *b = open_box(TBOX_CHECKER);
    tbox *const both[2] = {a, b};
    struct tbox_spec s[2] = {spec_of(ask), spec_of(echo)};
    struct tbox_report r[2];
    int first = -1;

    put_load(b);
    CHECK(tbox_run_pair(both, s, r, &first, &err) == 0);
    CHECK(r[0].cause == TBOX_EXIT && r[0].exit_code == 0);
    CHECK(r[1].cause == TBOX_EXIT && r[1].exit_code == 0);
    /* The second ends because the first did: in doubt only within a scheduling delay. */
    CHECK(first == 0 || r[0].ended_us - r[1].ended_us < 50000);
    /* Both wait for the other: idle until the wall limit, and no hang. */
    s[0] = spec_of(echo);
    s[0].limits.wall_us = s[1].limits.wall_us = 200000;
    CHECK(tbox_run_pair(both, s, r, &first, &err) == 0);
    CHECK(r[0].cause == TBOX_WALL || r[1].cause == TBOX_WALL);
    /* One of them cannot start: an error, and the other is not left running. */
    const char *missing[] = {"./nothing", NULL};
    s[1] = spec_of(missing);
    CHECK(tbox_run_pair(both, s, r, &first, &err) == TR_E_NOTFOUND);
    output_arrives_and_is_counted(a);
    tbox_close(b);
}

/* Who waits is told apart from who works, at once and not at the wall limit. */
static void waiting_is_told(tbox *box)
{
    const char *waits[] = {"./load", "echo", NULL}, *works[] = {"./load", "spin", "10000000", NULL};
    struct tbox_spec s = spec_of(waits);
    struct tbox_report r;
    int64_t idle = 0, most = 0;
    int ends[2], done = 0;

    CHECK(pipe(ends) == 0);
    s.fd[0] = ends[0];
    s.limits.wall_us = 20000000;
    s.idle_us = 50000;
    CHECK(tbox_start(box, &s, &err) == 0);
    CHECK(tbox_idle_us(box) == 0);
    while (!done) {
        struct pollfd p = {tbox_fd(box), POLLIN, 0};

        CHECK(poll(&p, 1, 10000) == 1);
        done = tbox_step(box, &r, &err);
        CHECK(done >= 0);
        idle = tbox_idle_us(box);
        most = idle > most ? idle : most;
        if (idle > 0 && !done)
            CHECK(tbox_kill(box, &err) == 0);
    }
    CHECK(r.cause == TBOX_CANCEL && most >= 50000 && r.wall_us < 5000000);
    CHECK(tbox_idle_us(box) == 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    s = spec_of(works);
    s.limits.cpu_us = 1000000;
    s.limits.wall_us = 60000000;
    s.idle_us = 400000; /* longer than a busy machine keeps anybody from its CPU */
    CHECK(tbox_start(box, &s, &err) == 0);
    for (done = 0; !done;) {
        struct pollfd p = {tbox_fd(box), POLLIN, 0};

        CHECK(poll(&p, 1, 10000) == 1);
        done = tbox_step(box, &r, &err);
        CHECK(done >= 0 && tbox_idle_us(box) == 0);
    }
    CHECK(r.cause == TBOX_CPU);
    s.idle_us = 5;
    CHECK(tbox_run(box, &s, &r, &err) == TR_E_USAGE);
}

enum {
    ROBBERS = 4
};

/* By nice, and by the nice of their session where the kernel shares CPUs by session. Only root may
 * take so much; without it the program is robbed less, which proves less. */
static void be_greedy(void)
{
    int fd = -1;

    (void)setpriority(PRIO_PROCESS, 0, -20);
    (void)setsid();
    fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!write(fd, "-20", 3);
}

/* Processes that leave nothing of a CPU to a humble one. */
static void rob(int cpu, pid_t *ret_pids)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    for (int i = 0; i < ROBBERS; i++) {
        ret_pids[i] = fork();
        CHECK(ret_pids[i] >= 0);
        if (ret_pids[i] > 0)
            continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a check fails */
        (void)sched_setaffinity(0, sizeof(one), &one);
        be_greedy();
        for (;;)
            continue;
    }
}

/* To want a CPU and get none is not to wait: that is the host's fault. The box itself lives on the
 * other CPUs, if there are any, so that it can see it. */
static void the_robbed_are_not_idle(void)
{
    const char *works[] = {"./load", "humble", "10000000", NULL};
    struct tbox_spec s = spec_of(works);
    struct tbox_report r;
    pid_t robbers[ROBBERS];
    cpu_set_t all, others;
    int done = 0, ends[2];
    char c = 0;

    CHECK(pipe(ends) == 0);
    s.fd[1] = ends[1];
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    for (s.cpu = 0; !CPU_ISSET((unsigned)s.cpu, &all);)
        s.cpu++;
    others = all;
    CPU_CLR((unsigned)s.cpu, &others);
    (void)sched_setaffinity(0, sizeof(others), &others);
    tbox *box = open_box(TBOX_RUN);
    put_load(box);
    s.limits.cpu_us = 60000000;
    s.limits.wall_us = 1000000;
    s.idle_us = 200000;
    CHECK(tbox_start(box, &s, &err) == 0);
    while (!done) {
        struct pollfd p[2] = {{tbox_fd(box), POLLIN, 0}, {c ? -1 : ends[0], POLLIN, 0}};

        CHECK(poll(p, 2, 20000) > 0);
        if (p[1].revents) { /* it has begun */
            CHECK(read(ends[0], &c, 1) == 1);
            rob(s.cpu, robbers);
        }
        done = p[0].revents ? tbox_step(box, &r, &err) : 0;
        CHECK(done >= 0 && tbox_idle_us(box) == 0);
    }
    CHECK(c == '!');
    (void)close(ends[0]);
    (void)close(ends[1]);
    for (int i = 0; i < ROBBERS; i++) {
        CHECK(kill(robbers[i], SIGKILL) == 0);
        CHECK(waitpid(robbers[i], NULL, 0) == robbers[i]);
    }
    /* And it died at its limit, though it had no CPU to die on: the box brought it to another one.
     */
    CHECK(r.cause == TBOX_WALL && !r.renewed);
    tbox_close(box);
    CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

static void renewing_forgets_what_was_put(tbox *box)
{
    const char *argv[] = {"./load", "hello", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;

    CHECK(tbox_renew(box, &err) == 0);
    CHECK(tbox_run(box, &s, &r, &err) == TR_E_NOTFOUND);
    put_load(box);
    output_arrives_and_is_counted(box);
}

/* Two kinds and no third; each opened box is a box like any other. */
static void a_launcher_starts_what_was_fixed(void)
{
    struct tbox_options kinds[2];
    tbox *a = NULL, *b = NULL;
    int launcher = -1;

    memset(kinds, 0, sizeof(kinds));
    kinds[0].size = kinds[1].size = sizeof(kinds[0]);
    kinds[1].profile = TBOX_CHECKER;
    CHECK(tbox_launcher(kinds, 0, &launcher, &err) == TR_E_LIMIT);
    CHECK(tbox_launcher(kinds, 2, &launcher, &err) == 0);
    CHECK(tbox_open_by(launcher, 0, &a, &err) == 0);
    CHECK(tbox_open_by(launcher, 1, &b, &err) == 0);
    put_load(a);
    output_arrives_and_is_counted(a);
    put_load(b);
    output_arrives_and_is_counted(b);
    tbox_close(b);
    CHECK(tbox_open_by(launcher, 2, &b, &err) < 0 && strstr(err.msg, "without a word"));
    CHECK(close(launcher) == 0);
    output_arrives_and_is_counted(a); /* a helper outlives its launcher */
    tbox_close(a);
    CHECK(tbox_open_by(-1, 0, &a, &err) < 0);
}

/* --- soak */

static long count_entries(const char *path)
{
    DIR *d = opendir(path);
    long n = 0;

    if (!d)
        return -1;
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

static long count_lines(const char *path)
{
    FILE *f = fopen(path, "re");
    long n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        (void)fclose(f);
    return n;
}

static long children_of(long pid, long *ret, long max)
{
    char path[64];
    long n = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
    FILE *f = fopen(path, "re");
    while (f && n < max && fscanf(f, "%ld", &ret[n]) == 1)
        n++;
    if (f)
        (void)fclose(f);
    return n;
}

static long rss_kib(long pid)
{
    char path[64];
    char line[256];
    long kib = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        (void)sscanf(line, "VmRSS: %ld", &kib);
    if (f)
        (void)fclose(f);
    return kib;
}

/* Groups of our box: those beside its first process's with the same beginning. Of the whole host
 * others make and remove some all the time. */
static long cgroups(long pid)
{
    char path[64];
    char line[512];
    char folder[600] = "";
    long n = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/cgroup", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *memory = strstr(line, ":memory:");

        line[strcspn(line, "\n")] = 0;
        if (memory)
            (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup/memory%s", memory + 8);
        else if (strncmp(line, "0::", 3) == 0 && !*folder)
            (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s", line + 3);
    }
    if (f)
        (void)fclose(f);
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_type == DT_DIR;
    if (d)
        (void)closedir(d);
    return n;
}

struct state {
    long rss[3]; /* we, the helper, the first process */
    long fds[3];
    long mounts;
    long groups;
};

static void look(struct state *s)
{
    long pid[3] = {getpid(), 0, 0};

    CHECK(children_of(pid[0], &pid[1], 1) == 1);
    CHECK(children_of(pid[1], &pid[2], 1) == 1);
    for (int i = 0; i < 3; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%ld/fd", pid[i]);
        s->rss[i] = rss_kib(pid[i]);
        s->fds[i] = count_entries(path);
    }
    s->mounts = count_lines("/proc/self/mountinfo");
    s->groups = cgroups(pid[2]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void soak(tbox *box, long runs)
{
    const char *argv[] = {"./load", "hello", NULL};
    struct tbox_spec s = spec_of(argv);
    struct tbox_report r;
    struct state before;
    struct state after;
    double *us = calloc((size_t)runs, sizeof(*us));
    long renewed = 0;

    CHECK(us != NULL && runs >= 1000);
    memset(us, 0xff, (size_t)runs * sizeof(*us)); /* its pages are not growth */
    s.limits.wall_us = 120000000; /* a machine that stands still is not what is tested here */
    for (long i = 0; i < runs; i++) {
        double start = now_us();

        if (i == 500) /* caches, stacks and pools are warm */
            look(&before);
        CHECK(tbox_run(box, &s, &r, &err) == 0);
        if (r.cause != TBOX_EXIT || r.exit_code != 0 || r.written_bytes != 6) {
            (void)fprintf(stderr, "run %ld: %s, steal %" PRId64 " us\n", i, r.note, r.steal_us);
            exit(1);
        }
        renewed += r.renewed;
        us[i] = now_us() - start;
    }
    look(&after);
    long tenth = runs / 10;
    qsort(us, (size_t)tenth, sizeof(*us), by_value);
    qsort(us + runs - tenth, (size_t)tenth, sizeof(*us), by_value);
    double first = us[tenth / 4];
    double last = us[runs - tenth + tenth / 4];
    (void)printf(
        "{\"runs\":%ld,\"renewed\":%ld,\"first_quarter_us\":%.1f,\"last_quarter_us\":%.1f,"
        "\"rss_growth_kib\":[%ld,%ld,%ld],\"fd_growth\":[%ld,%ld,%ld],"
        "\"mount_growth\":%ld,\"cgroup_growth\":%ld}\n",
        runs, renewed, first, last, after.rss[0] - before.rss[0], after.rss[1] - before.rss[1],
        after.rss[2] - before.rss[2], after.fds[0] - before.fds[0], after.fds[1] - before.fds[1],
        after.fds[2] - before.fds[2], after.mounts - before.mounts, after.groups - before.groups);
    free(us);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    load_path = argv[1];
    tbox *box = open_box(TBOX_RUN);
    put_load(box);
    if (argc == 4 && strcmp(argv[2], "soak") == 0) {
        soak(box, strtol(argv[3], NULL, 10));
        tbox_close(box);
        return 0;
    }
    output_arrives_and_is_counted(box);
    a_missing_program_is_an_error_and_no_verdict(box);
    files_come_out_only_when_kept(box);
    a_run_can_be_cancelled(box);
    floods_end_in_the_async_way_too(box);
    two_boxes_talk(box);
    waiting_is_told(box);
    the_robbed_are_not_idle();
    renewing_forgets_what_was_put(box);
    a_launcher_starts_what_was_fixed();
    tbox_close(box);
    tbox_close(NULL);
    return 0;
}
