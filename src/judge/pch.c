/* SPDX-License-Identifier: MIT
 *
 * pch.c - standard headers compiled once, by whoever installs the judge and not by a contestant.
 *
 * gcc looks for bits/stdc++.h.gch in each include folder before bits/stdc++.h itself, so a folder
 * of ours before all others is enough; when it does not fit (other flags, other compiler) gcc goes
 * on to the real header and all is as without. The folder's name is the hash of compiler and flags.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "codec/sha256.h"
#include "judge/judge_private.h"

enum {
    PCH_MAX_MIB = 512 /* gcc 12 makes 100 MB of <bits/stdc++.h> */
};

/* The language's compile command for a header: without the words that name source and program. */
static int header_command(const struct tr_lang *lang, struct tr_arena *arena, struct tr_argv *ret)
{
    const struct tr_argv *c = &lang->compile;
    const char **words = tr_arena_array(arena, c->count + 6, sizeof(*words));
    size_t n = 0;

    if (!words)
        return TR_E_NOMEM;
    for (size_t i = 0; i < c->count; i++) {
        const char *w = c->words[i];

        if (strcmp(w, "-o") == 0 || strcmp(w, "-x") == 0) {
            i++;
            continue;
        }
        if (strcmp(w, lang->source) != 0 && strncmp(w, "-l", 2) != 0)
            words[n++] = w;
    }
    words[n++] = "-x";
    words[n++] = "c++-header";
    words[n++] = "-o";
    words[n++] = "header.gch";
    words[n++] = "header.h";
    *ret = (struct tr_argv){.words = words, .count = n};
    return 0;
}

static int folder_key(const struct tr_lang *lang, char key[static TR_SHA256_HEX])
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *h = tr_sha256_new();
    char path[512];
    struct stat st;

    if (!h)
        return TR_E_NOMEM;
    tr_sha256_add_text(h, "pch 1");
    for (size_t i = 0; i < lang->compile.count; i++)
        tr_sha256_add_text(h, lang->compile.words[i]);
    tr_sha256_add_text(h, lang->pch);
    (void)snprintf(path, sizeof(path), "%s%s", lang->compile.words[0][0] == '/' ? "" : "/usr/bin/",
                   lang->compile.words[0]);
    if (stat(path, &st) == 0) {
        tr_sha256_add(h, &st.st_size, sizeof(st.st_size));
        tr_sha256_add(h, &st.st_mtim, sizeof(st.st_mtim));
    }
    tr_sha256_end_hex(h, key);
    return 0;
}

static const char *folder_path(const struct tr_judge *j, const struct tr_lang *lang,
                               struct tr_arena *arena)
{
    char key[TR_SHA256_HEX];

    if (!lang->pch || lang->root || folder_key(lang, key) < 0)
        return NULL; /* a root of its own has its own compiler: nothing precompiled for that */
    return tr_arena_printf(arena, "%s/%.32s", j->pch_path, key);
}

const char *pch_folder(const struct tr_judge *j, const struct tr_lang *lang, struct tr_arena *arena)
{
    const char *folder = j->o.no_pch ? NULL : folder_path(j, lang, arena);
    const char *file = folder ? tr_arena_printf(arena, "%s/%s.gch", folder, lang->pch) : NULL;

    if (!file || access(file, R_OK) < 0)
        return NULL;
    return tr_arena_printf(arena, PCH_INSIDE "%s", strrchr(folder, '/'));
}

/* Readable for everybody: the compiler in the box has another uid. */
static int place(const char *folder, const char *header, int from, struct tr_arena *arena,
                 struct tr_err *err)
{
    const char *file = tr_arena_printf(arena, "%s/%s.gch", folder, header);
    const char *temp = tr_arena_printf(arena, "%s/%s.%d", folder, header, (int)getpid());
    off_t at = 0;
    ssize_t n = 1;

    if (!file || !temp)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    char *parent = tr_arena_strndup(arena, file, (size_t)(strrchr(file, '/') - file));
    int r = parent ? tr_fs_mkdirs(AT_FDCWD, parent, 0755, err) : TR_E_NOMEM;
    if (r < 0)
        return r;
    tr_autoclose int to = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to < 0)
        return tr_fail(err, TR_E_IO, errno, "write '%s'", temp);
    while (n > 0) {
        n = sendfile(to, from, &at, 1 << 30);
        if (n < 0 && errno == EINTR)
            n = 1;
    }
    if (n < 0 || rename(temp, file) < 0) {
        r = tr_fail(err, TR_E_IO, errno, "write '%s'", file);
        (void)unlink(temp);
    }
    return r;
}

int tr_judge_warm(struct tr_judge *j, const struct tr_lang *lang, struct tr_err *err)
{
    struct tr_arena arena;
    struct tr_lang header = *lang;
    int r;

    if (!lang->pch || lang->root || j->o.no_pch)
        return 0;
    tr_arena_init(&arena, 1 << 20);
    const char *folder = folder_path(j, lang, &arena);
    char text[256];
    (void)snprintf(text, sizeof(text), "#include <%s>\n", lang->pch);
    struct source source = {.name = "header.h", .bytes = text, .len = strlen(text)};
    struct compile_job job = {.lang = &header,
                              .sources = &source,
                              .nsources = 1,
                              .artifact_max = (uint64_t)PCH_MAX_MIB << 20};
    struct compiled made = {.artifact = -1};

    header.source = "header.h";
    header.artifact = "header.gch";
    header.pch = NULL;
    if (!folder || header_command(lang, &arena, &header.compile) < 0) {
        r = tr_fail(err, TR_E_NOMEM, 0, "no memory to warm %s", lang->slug);
    } else if (pch_folder(j, lang, &arena)) {
        r = 0;
    } else {
        r = stage_compile(j, &job, &arena, &made, err);
        if (r == 0 && made.verdict != TR_V_AC)
            r = tr_fail(err, TR_E_UNSUPPORTED, 0, "cannot precompile <%s>: %.300s", lang->pch,
                        made.report.log);
        if (r == 0)
            r = place(folder, lang->pch, made.artifact, &arena, err);
        r = r < 0 ? r : 1;
        boxes_next_submission(j->boxes);
    }
    tr_close(&made.artifact);
    tr_arena_done(&arena);
    return r;
}
