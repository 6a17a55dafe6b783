/* SPDX-License-Identifier: MIT
 *
 * judge/lang.h - the languages of this judge, one small YAML file each.
 */
#ifndef JUDGE_LANG_H
#define JUDGE_LANG_H

#include "base/arena.h"
#include "model/language.h"
#include "rt/yaml.h"

struct tr_langs {
    struct tr_lang *list; /* by slug */
    size_t count;
};

/* Read every *.yaml of a folder; the languages live in the arena. A bad file makes the whole fail,
 * with file and line: a judge that silently knows one language less is worse than none. */
int tr_langs_load(const char *folder, struct tr_arena *arena, struct tr_langs *ret,
                  struct tr_err *err);

/* One language from a tree (for tests and fuzzing); `slug` is the file's name. */
int tr_lang_parse(const struct tr_yaml *root, const char *slug, const char *file,
                  struct tr_arena *arena, struct tr_lang *ret, struct tr_err *err);

/* By slug, or NULL. */
const struct tr_lang *tr_langs_find(const struct tr_langs *langs, const char *slug);

/* By the extension of a file name; the first language that claims it, or NULL. */
const struct tr_lang *tr_langs_by_name(const struct tr_langs *langs, const char *filename);

/* What a task says over what we know: its commands replace ours, its numbers too where it gives
 * them. `known` may be NULL when the task brings commands. */
void tr_lang_merge(const struct tr_lang *known, const struct tr_lang *task, bool has_commands,
                   struct tr_lang *ret);

/* A copy of the words with {memory_mib} and {stack_mib} filled in; NULL when memory is out. */
const char **tr_lang_words(const struct tr_argv *argv, int64_t memory_kib, int64_t stack_kib,
                           struct tr_arena *arena);

/* Where the language files are: `said` when it is not NULL, else beside the program (installed, or
 * in the source tree it was built in). NULL when memory is out. */
const char *tr_langs_folder(const char *said, struct tr_arena *arena);

#endif
