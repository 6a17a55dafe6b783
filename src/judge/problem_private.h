/* SPDX-License-Identifier: MIT
 *
 * judge/problem_private.h - what the package readers share.
 */
#ifndef JUDGE_PROBLEM_PRIVATE_H
#define JUDGE_PROBLEM_PRIVATE_H

#include "judge/problem.h"
#include "rt/yaml.h"

struct pkg {
    int dirfd;
    struct tr_arena *arena;
    struct tr_buf *notes; /* or NULL */
    struct tr_err *err;
};

/* Plain names of a folder's entries, sorted bytewise, dotfiles left out. */
struct names {
    const char **list;
    size_t count;
};
int pkg_list(struct pkg *k, const char *path, struct names *ret); /* TR_E_NOTFOUND: no folder */
bool pkg_is_folder(struct pkg *k, const char *path);
bool pkg_is_file(struct pkg *k, const char *path);

/* A small file as text in the arena; TR_E_NOTFOUND when it is not there. */
int pkg_text(struct pkg *k, const char *path, size_t max, const char **ret, size_t *ret_len);
/* The same, parsed. *ret is NULL when the file is not there. */
int pkg_yaml(struct pkg *k, const char *path, const struct tr_yaml **ret);

void pkg_note(struct pkg *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int pkg_nomem(struct pkg *k);
char *pkg_join(struct pkg *k, const char *a, const char *b); /* "a/b"; b when a is "" */

/* "not a number at file:line" made once. */
int pkg_bad(struct pkg *k, const char *file, const struct tr_yaml *node, const char *expected);
int pkg_int(struct pkg *k, const char *file, const struct tr_yaml *node, int64_t min, int64_t max,
            int64_t *ret);
/* A decimal in thousandths. */
int pkg_milli(struct pkg *k, const char *file, const struct tr_yaml *node, int64_t min, int64_t max,
              int64_t *ret);
/* Words: a list, or one text split at blanks. NULL-terminated. */
int pkg_words(struct pkg *k, const char *file, const struct tr_yaml *node, const char ***ret,
              size_t *ret_count);

/* Growing lists of tests and groups, bounded by the ceilings. */
struct builder {
    struct tr_test *tests;
    size_t ntests;
    struct tr_group *groups;
    size_t ngroups;
};
int builder_init(struct pkg *k, struct builder *b);
int builder_group(struct pkg *k, struct builder *b, const char *name, size_t *ret);
int builder_test(struct pkg *k, struct builder *b, size_t group, const char *name,
                 const char *input, const char *answer);

/* Digits in names count as numbers: 2 before 10. */
int natural_order(const char *a, const char *b);

int problem_read_plain(struct pkg *k, const char *folder, struct tr_problem *p);
int problem_read_kattis(struct pkg *k, struct tr_problem *p);

#endif
