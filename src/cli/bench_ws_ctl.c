/* SPDX-License-Identifier: MIT
 *
 * bench_ws_ctl.c - the controller that `tribunal bench ws` measures: in a folder of its own, on a
 * free port, with SQLite and every commit on the disk.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/spawn.h"
#include "cli/bench_ws.h"
#include "cli/keys_cli.h"

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    tr_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    return ntohs(at.sin_port);
}

/* Installed they are neighbours; in the build tree, folders are. */
static const char *find_program(const char *wish, char *out, size_t size)
{
    char self[400] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = n > 0 ? strrchr(self, '/') : NULL;

    if (wish)
        return wish;
    if (slash)
        *slash = '\0';
    (void)snprintf(out, size, "%s/tribunald", self);
    if (access(out, X_OK) < 0)
        (void)snprintf(out, size, "%s/../controller/tribunald", self);
    return out;
}

static int make_key(struct ws_controller *c, struct tr_err *err)
{
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    char id[TR_KEY_ID], text[TR_KEY_TEXT];
    int r = tr_store_open(&(struct tr_store_conf){.url = c->db}, &st, err);

    if (r >= 0)
        r = tr_store_migrate(st, -1, err);
    if (r >= 0)
        r = keys_make(st, "judge", "bench", id, text, err);
    return r < 0 ? r : tr_judge_key_parse(text, &c->key, err);
}

int ws_controller_start(struct ws_controller *c, const char *wish, const char *db,
                        struct tr_err *err)
{
    char program[500], listen[64], data[400], problems[420], log[420];
    int fd = -1;
    int r = tr_fs_temp_dir("bench", &c->folder, &fd, err);

    if (r < 0)
        return r;
    tr_close(&fd);
    c->port = free_port();
    (void)snprintf(c->url, sizeof(c->url), "ws://127.0.0.1:%d", c->port);
    if (db)
        (void)snprintf(c->db, sizeof(c->db), "%s", db);
    else
        (void)snprintf(c->db, sizeof(c->db), "sqlite:%.200s/tribunal.db", c->folder);
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%d", c->port);
    (void)snprintf(data, sizeof(data), "%s", c->folder);
    (void)snprintf(problems, sizeof(problems), "%s/problems", c->folder);
    (void)snprintf(log, sizeof(log), "%s/log", c->folder);
    r = make_key(c, err);
    if (r >= 0)
        r = tr_fs_mkdirs(AT_FDCWD, problems, 0755, err);
    if (r < 0)
        return r;
    const char *path = find_program(wish, program, sizeof(program));
    const char *words[] = {path,     "--listen",   listen,        "--data",
                           data,     "--problems", problems,      "--open-loopback",
                           "--rate", "1000000",    "--log-level", "warn",
                           "--db",   c->db,        NULL};
    char *argv[TR_ARRAY_LEN(words)];
    for (size_t i = 0; i < TR_ARRAY_LEN(words); i++)
        argv[i] = words[i] ? strdup(words[i]) : NULL;
    tr_autoclose int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const struct tr_spawn_fd fds[] = {{out, 1}, {out, 2}};
    struct tr_spawn what = {.path = path, .argv = argv, .fds = fds, .nfds = 2, .cwd = AT_FDCWD};
    r = tr_spawn(&what, &c->pid, NULL, err);
    for (size_t i = 0; i < TR_ARRAY_LEN(words); i++)
        free(argv[i]);
    return r;
}

int64_t ws_controller_kib(const struct ws_controller *c)
{
    char path[64];
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    int64_t kib = 0;
    char word[24] = "";

    tr_buf_init(&text, 8192);
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
    if (tr_fs_read_file(path, &text, NULL) < 0)
        return 0;
    const char *line = strstr(text.data, "VmRSS:");
    if (line && sscanf(line + 6, "%20s", word) == 1)
        (void)tr_parse_i64(word, 0, INT64_MAX, &kib, NULL);
    return kib;
}

void ws_controller_stop(struct ws_controller *c)
{
    if (c->pid > 0) {
        (void)kill(c->pid, SIGTERM);
        (void)tr_spawn_wait(c->pid, &(int){0}, NULL);
    }
    if (c->folder)
        (void)tr_fs_remove_tree(AT_FDCWD, c->folder, NULL);
    free(c->folder);
}
