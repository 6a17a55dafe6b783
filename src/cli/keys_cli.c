/* SPDX-License-Identifier: MIT
 *
 * keys_cli.c - see keys_cli.h. The database gets what checks a key, never the key.
 */
#include "cli/keys_cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

int keys_make(struct tr_store *st, const char *role, const char *name,
              char ret_id[static TR_KEY_ID], char ret_text[static TR_KEY_TEXT], struct tr_err *err)
{
    struct tr_judge_verifier v = {.server_key = ""};

    if (strcmp(role, "judge") == 0) {
        struct tr_judge_key key;

        tr_judge_key_new(&key, ret_text);
        tr_judge_verifier_of(&key, &v);
        (void)snprintf(ret_id, TR_KEY_ID, "%s", key.key_id);
    } else {
        tr_api_key_new(ret_id, ret_text);
        tr_sha256_hex(ret_text, strlen(ret_text), v.stored_key);
    }
    const struct tr_key_row row = {.key_id = ret_id,
                                   .role = role,
                                   .name = name,
                                   .secret_hash = v.stored_key,
                                   .server_key = v.server_key};
    return tr_store_key_add(st, &row, err);
}

int keys_write(const char *path, const char *text, struct tr_err *err)
{
    tr_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "make '%s'", path);
    int r = tr_fs_write_all(fd, text, strlen(text), err);
    return r < 0 ? r : tr_fs_write_all(fd, "\n", 1, err);
}
