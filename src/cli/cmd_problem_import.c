/* SPDX-License-Identifier: MIT
 *
 * cmd_problem_import.c - `tribunal problem import`: hand a package to a controller, as a new
 * problem or as a new version of one it has.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "codec/json.h"
#include "data/pack.h"

struct options {
    struct api_options api;
    const char *id;
    bool json;
};

static const struct tr_conf_item items[] = {
    CLI_TEXT("id", id, NULL, "ID",
             "the problem's id on the server; default: the folder's or file's name"),
    API_ITEM_SERVER,
    API_ITEM_KEY(" of an admin"),
    API_ITEM_CA,
    CLI_FLAG("json", json, "print the problem as one JSON document"),
};

static const struct cli_doc doc = {
    .name = "tribunal problem import",
    .usage = "FILE.zip|DIR [--id ID] [--server URL]",
    .summary =
        "Hands a package to a controller. One that is there already gets a new version; what\n"
        "is being judged meanwhile goes on with the version it began with.",
    .examples = "  tribunal problem check my-problem && tribunal problem import my-problem\n"
                "  tribunal problem import a-plus-b.zip --id sum --server https://judge.example "
                "--key-file my.key\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .args_min = 1,
    .args_max = 1,
};

/* The package as an open zip file: the file itself, or a folder packed into a file without name. */
static int open_package(const char *dir_or_file, int *ret_fd, uint64_t *ret_size,
                        struct tr_err *err)
{
    struct stat st;
    char hash[TR_SHA256_HEX], zip[4096];
    tr_autofree char *temp = NULL;
    tr_autoclose int folder = -1;

    if (stat(dir_or_file, &st) < 0)
        return tr_fail(err, TR_E_USAGE, errno, "'%.256s'", dir_or_file);
    if (!S_ISDIR(st.st_mode)) {
        *ret_size = (uint64_t)st.st_size;
        *ret_fd = S_ISREG(st.st_mode) ? open(dir_or_file, O_RDONLY | O_CLOEXEC) : -1;
        return *ret_fd >= 0 ? 0
                            : tr_fail(err, TR_E_USAGE, S_ISREG(st.st_mode) ? errno : 0,
                                      "'%.256s' is no zip file that can be read, and no folder",
                                      dir_or_file);
    }
    int r = tr_fs_temp_dir("import", &temp, &folder, err);
    if (r < 0)
        return r;
    (void)snprintf(zip, sizeof(zip), "%s/package.zip", temp);
    r = tr_pack_zip(dir_or_file, zip, hash, ret_size, err);
    if (r >= 0 && (*ret_fd = open(zip, O_RDONLY | O_CLOEXEC)) < 0)
        r = tr_fail(err, TR_E_IO, errno, "open '%s'", zip);
    (void)tr_fs_remove_tree(AT_FDCWD, temp, NULL); /* the open file stays */
    return r;
}

/* "dir/a-plus-b.zip" and "dir/a-plus-b/" are "a-plus-b". */
static char *name_of(const char *path)
{
    tr_autofree char *copy = strdup(path);
    char *name = copy ? strdup(basename(copy)) : NULL;
    size_t len = name ? strlen(name) : 0;

    if (len > 4 && strcmp(name + len - 4, ".zip") == 0)
        name[len - 4] = '\0';
    return name;
}

/* What is odd in it, though it can be used. */
static void show_findings(const json_t *problem)
{
    size_t i;
    const json_t *v;

    json_array_foreach(json_object_get(problem, "findings"), i, v)
    {
        (void)printf("  %s: %s\n", tr_json_word(v, "level"), tr_json_word(v, "message"));
    }
}

static int import_package(const struct options *o, const char *path, struct api *a,
                          struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *problem = NULL;
    tr_autofree char *id = o->id ? strdup(o->id) : name_of(path);
    tr_autoclose int fd = -1;
    uint64_t size = 0;
    char address[256];

    if (!id || strlen(id) == 0 ||
        strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                   "0123456789._-") != strlen(id))
        return tr_fail(err, TR_E_USAGE, 0,
                       "'%.64s' is no problem's id (letters, digits, '.', '_', '-'); say --id",
                       id ? id : "");
    int r = open_package(path, &fd, &size, err);
    if (r < 0)
        return r;
    (void)snprintf(address, sizeof(address), "/api/v1/problems/%.128s", id);
    r = api_upload(a, address, fd, size, &problem, err);
    if (r < 0)
        return r;
    if (o->json) {
        (void)json_dumpf(problem, stdout, JSON_INDENT(2));
        (void)printf("\n");
    } else {
        (void)printf("%s: %s, version %.12s\n", id, r == 201 ? "new" : "updated",
                     tr_json_word(problem, "version"));
        show_findings(problem);
    }
    return 0;
}

int cmd_problem_import(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(api_close) struct api api = {0};
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = api_open_by(&api, &o.api, &err);
    if (r >= 0)
        r = import_package(&o, run.conf.args[0], &api, &err);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
