/* SPDX-License-Identifier: MIT
 *
 * slot.c - several different runs in one box, as a judge makes them; the tests' driver.
 *
 *     slot HELPER [BOX OPTIONS] [--put PATH NAME]... [RUN OPTIONS --run N WORD...]...
 *
 * Uses the box through its installed header alone. Options take one value each; times are in
 * microseconds, sizes in bytes. Run options hold for one run and begin at their defaults after it.
 * Prints {"runs":[report, ...]}; a fault of the box ends it with exit code 3 and a sentence.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tribunal/box.h>

enum {
    MANY = 32
};

struct plan {
    struct tbox_options box;
    struct tbox_spec spec;
    const char *path[3]; /* stdin, stdout, stderr */
    const char *env[MANY + 1];
    size_t nenv;
    const char *get[MANY][2]; /* name, destination */
    size_t nget;
};

static tbox *box;
static int runs;

__attribute__((noreturn)) static void fail(const char *what, const struct tr_err *err)
{
    fprintf(stderr, "slot: %s: %s\n", what, err ? err->msg : strerror(errno));
    tbox_close(box);
    exit(3);
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        fail(text, NULL);
    return n;
}

static int word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    fail(text, NULL);
}

static void reset_run(struct plan *p)
{
    p->spec = (struct tbox_spec){.size = sizeof p->spec, .fd = {-1, -1, -1}, .cpu = -1};
    tbox_limits_default(p->box.profile, &p->spec.limits);
    p->spec.env = p->env;
    memset(p->path, 0, sizeof p->path);
    p->nenv = p->nget = 0;
}

static bool box_option(struct plan *p, const char *name, const char *value)
{
    static const char *const profiles[] = {"run", "compile", "checker", NULL};
    static const char *const groups[] = {"auto", "v2", "v1", "hybrid", "none", NULL};
    static const char *const spaces[] = {"auto", "always", "never", NULL};
    if (strcmp(name, "--profile") == 0) {
        p->box.profile = (enum tbox_profile)word(value, profiles);
        reset_run(p);
    } else if (strcmp(name, "--cgroup") == 0)
        p->box.cgroup = (enum tbox_cgroup)word(value, groups);
    else if (strcmp(name, "--userns") == 0)
        p->box.userns = (enum tbox_userns)word(value, spaces);
    else if (strcmp(name, "--files") == 0)
        p->box.work_files = (uint32_t)number(value);
    else if (strcmp(name, "--work-size") == 0)
        p->box.work_bytes = number(value);
    else
        return false;
    return true;
}

static void run_option(struct plan *p, const char *name, const char *value)
{
    static const char *const streams[] = {"--stdin", "--stdout", "--stderr"};
    struct tbox_limits *l = &p->spec.limits;
    for (int i = 0; i < 3; i++)
        if (strcmp(name, streams[i]) == 0) {
            p->path[i] = value;
            return;
        }
    if (strcmp(name, "--time") == 0)
        l->cpu_us = (int64_t)number(value);
    else if (strcmp(name, "--wall") == 0)
        l->wall_us = (int64_t)number(value);
    else if (strcmp(name, "--memory") == 0)
        l->memory_bytes = number(value);
    else if (strcmp(name, "--stack") == 0)
        l->stack_bytes = number(value);
    else if (strcmp(name, "--output") == 0)
        l->output_bytes = number(value);
    else if (strcmp(name, "--file-size") == 0)
        l->file_bytes = number(value);
    else if (strcmp(name, "--pids") == 0)
        l->pids = (uint32_t)number(value);
    else if (strcmp(name, "--env") == 0 && p->nenv < MANY)
        p->env[p->nenv++] = value;
    else
        fail(name, NULL);
}

static void open_box(struct plan *p)
{
    struct tr_err err = TR_ERR_INIT;
    if (!box && tbox_open(&p->box, &box, &err) < 0)
        fail("open", &err);
}

static void put(struct plan *p, const char *path, const char *name)
{
    struct tr_err err = TR_ERR_INIT;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        fail(path, NULL);
    open_box(p);
    if (tbox_put(box, fd, name, st.st_mode & 0777, &err) < 0)
        fail("put", &err);
    close(fd);
}

static void copy_out(const char *name, const char *to, uint64_t max)
{
    struct tr_err err = TR_ERR_INIT;
    char buf[16384];
    int from = -1;
    if (tbox_get(box, name, max, &from, NULL, &err) < 0) {
        fprintf(stderr, "slot: get %s: %s\n", name, err.msg);
        return;
    }
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        fail(to, NULL);
    for (ssize_t n; (n = read(from, buf, sizeof buf)) > 0;)
        if (write(fd, buf, (size_t)n) != n)
            fail(to, NULL);
    close(fd);
    close(from);
}

static void open_streams(struct plan *p)
{
    for (int i = 0; i < 3; i++) {
        if (!p->path[i])
            continue;
        p->spec.fd[i] = open(
            p->path[i], i ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
        if (p->spec.fd[i] < 0)
            fail(p->path[i], NULL);
    }
}

static void run(struct plan *p, char **words, size_t n)
{
    struct tr_err err = TR_ERR_INIT;
    struct tbox_report report;
    char text[4096];
    const char **argv = calloc(n + 1, sizeof *argv);
    if (!argv)
        fail("memory", NULL);
    for (size_t i = 0; i < n; i++)
        argv[i] = words[i];
    open_box(p);
    p->env[p->nenv] = NULL;
    p->spec.argv = argv;
    p->spec.flags = p->nget ? TBOX_KEEP_FILES : 0;
    open_streams(p);
    if (tbox_run(box, &p->spec, &report, &err) < 0)
        fail(words[0], &err);
    for (int i = 0; i < 3; i++)
        if (p->spec.fd[i] >= 0)
            close(p->spec.fd[i]);
    for (size_t i = 0; i < p->nget; i++)
        copy_out(p->get[i][0], p->get[i][1], p->spec.limits.file_bytes);
    tbox_report_json(&report, text, sizeof text);
    printf("%s%s", runs++ ? "," : "{\"runs\":[", text);
    free(argv);
    reset_run(p);
}

int main(int argc, char **argv)
{
    struct plan p = {.box = {.size = sizeof p.box}};
    reset_run(&p);
    if (argc < 2)
        fail("usage: slot HELPER OPTIONS", NULL);
    p.box.helper = argv[1];
    for (int i = 2; i < argc;) {
        const char *name = argv[i++];
        int left = argc - i;
        if (strcmp(name, "--put") == 0 && left >= 2) {
            put(&p, argv[i], argv[i + 1]);
            i += 2;
        } else if (strcmp(name, "--get") == 0 && left >= 2 && p.nget < MANY) {
            p.get[p.nget][0] = argv[i];
            p.get[p.nget++][1] = argv[i + 1];
            i += 2;
        } else if (strcmp(name, "--run") == 0 && left >= 2) {
            size_t n = number(argv[i]);
            if (n > (size_t)left - 1)
                fail("--run", NULL);
            run(&p, argv + i + 1, n);
            i += 1 + (int)n;
        } else if (left >= 1) {
            if (!box_option(&p, name, argv[i]))
                run_option(&p, name, argv[i]);
            i++;
        } else {
            fail(name, NULL);
        }
    }
    printf("%s]}\n", runs ? "" : "{\"runs\":[");
    tbox_close(box);
    return fflush(stdout) == 0 ? 0 : 3;
}
