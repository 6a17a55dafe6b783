/* SPDX-License-Identifier: MIT
 *
 * api_logs.c - judges fetch test data and leave log files; people read these.
 *
 * Names are a closed list (compile.log, case_N.stdout …), so nothing that a judge says becomes a
 * path of its choice.
 */
#include "controller/api_logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/judges.h"
#include "controller/problems.h"
#include "model/limits.h"

enum {
    LOG_FILES_MAX = 4 * TR_TESTS_MAX + 2
};

/* Four files of each test and two of the submission: the ceiling of 4,002 files. */
static bool log_name_ok(const char *name)
{
    static const struct {
        const char *head, *tail;
    } kinds[] = {{"case_", ".stdout"},
                 {"case_", ".stderr"},
                 {"case_", "_resource.json"},
                 {"transcript_", ".txt"}};
    int64_t number = 0;

    if (strcmp(name, "compile.log") == 0 || strcmp(name, "result.json") == 0)
        return true;
    for (size_t i = 0; i < TR_ARRAY_LEN(kinds); i++) {
        size_t head = strlen(kinds[i].head), digits;
        char word[8] = "";

        if (strncmp(name, kinds[i].head, head) != 0)
            continue;
        digits = strspn(name + head, "0123456789");
        if (digits >= sizeof(word) || strcmp(name + head + digits, kinds[i].tail) != 0)
            continue;
        memcpy(word, name + head, digits);
        return word[0] != '0' && tr_parse_i64(word, 1, TR_TESTS_MAX, &number, NULL) == 0;
    }
    return false;
}

static bool id_ok(const char *id)
{
    size_t n = strlen(id);

    return n > 0 && n <= TR_STORE_SUBMIT_ID_MAX && id[0] != '.' &&
           strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") == n;
}

/* The folder of a submission's logs, or -1. */
static int log_dir(struct ctl *ctl, const char *submit_id, bool make)
{
    char path[192];

    if (!id_ok(submit_id))
        return -1;
    (void)snprintf(path, sizeof(path), "logs/submissions/%s", submit_id);
    if (make && tr_fs_mkdirs(ctl->data_fd, path, 0755, NULL) < 0)
        return -1;
    return tr_fs_open_beneath(ctl->data_fd, path, O_RDONLY | O_DIRECTORY, 0, NULL);
}

static json_t *list_logs(struct ctl *ctl, const char *submit_id, bool sizes)
{
    json_t *list = json_array();
    int fd = log_dir(ctl, submit_id, false);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat st;

    if (!d) {
        tr_close(&fd); /* else closedir() closes it */
        return list;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (int n = 0; (e = readdir(d)) && n < LOG_FILES_MAX;) {
        if (!log_name_ok(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        n++;
        (void)json_array_append_new(
            list, sizes ? json_pack("{s:s, s:I}", "name", e->d_name, "size", (json_int_t)st.st_size)
                        : json_string(e->d_name));
    }
    (void)closedir(d);
    return list;
}

json_t *logs_names(struct ctl *ctl, const char *submit_id)
{
    return list_logs(ctl, submit_id, false);
}

void api_logs(struct http_req *req)
{
    reply_json(req, 200, json_pack("{s:o}", "logs", list_logs(req->ctl, req->args[0], true)));
}

void api_log(struct http_req *req)
{
    struct tr_err err = TR_ERR_INIT;
    uint64_t size = 0;
    tr_autoclose int dir = log_dir(req->ctl, req->args[0], false);
    int fd = dir < 0 || !log_name_ok(req->args[1])
                 ? -1
                 : tr_fs_open_regular(dir, req->args[1], UINT64_MAX, &size, &err);

    if (fd < 0) {
        reply_error(req, 404, "not_found", "name", "there is no such log");
        return;
    }
    /* what a program printed is never a page */
    reply_header(req, "Content-Security-Policy", "sandbox; default-src 'none'");
    reply_file(req, fd, size, "text/plain; charset=utf-8", NULL);
}

/* ---------------------------------------------------------------- judges */

void api_judge_data(struct http_req *req)
{
    struct tr_err err = TR_ERR_INIT;
    uint64_t size = 0;
    int fd = problems_open_data(req->ctl, req->args[0], &size, &err);

    if (fd < 0) {
        reply_error(req, 404, "unknown_data", NULL, "there is no such test data here");
        return;
    }
    reply_file(req, fd, size, "application/zip", req->args[0]);
}

/* Beside and renamed, but not waited for: the loop must not stand still for a log, and a log that a
 * power cut takes away is no loss. */
static int write_log(int dir, const char *name, const struct tr_buf *body, struct tr_err *err)
{
    char temp[64];

    (void)snprintf(temp, sizeof(temp), ".%s", name);
    tr_autoclose int fd =
        openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "make a log");
    int r = tr_fs_write_all(fd, body->data ? body->data : "", body->len, err);
    if (r >= 0 && renameat(dir, temp, dir, name) < 0)
        r = tr_fail(err, TR_E_IO, errno, "rename a log");
    return r;
}

void api_judge_log(struct http_req *req)
{
    struct tr_err err = TR_ERR_INIT;
    struct judge *g = judges_credential(req->ctl, req->authorization);

    if (!g || !judge_may_log(g, req->args[0], req->args[1])) {
        reply_error(req, 409, "stale", NULL, "this task is not with this session");
        return;
    }
    if (!log_name_ok(req->args[2])) {
        reply_error(req, 422, "bad_field", "name", "logs are named compile.log, case_1.stdout …");
        return;
    }
    tr_autoclose int dir = log_dir(req->ctl, req->args[0], true);
    int w = dir < 0 ? tr_fail(&err, TR_E_IO, errno, "make the folder of the logs")
                    : write_log(dir, req->args[2], &req->body, &err);
    if (w < 0)
        reply_failure(req, NULL, &err);
    else
        reply_json(req, 201, json_pack("{s:s}", "name", req->args[2]));
}
