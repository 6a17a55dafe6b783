/* SPDX-License-Identifier: MIT
 *
 * conf_doc.c - the tables, told to people: --help, manual page, sample file.
 */
#include <string.h>

#include "base/cleanup.h"
#include "rt/conf.h"
#include "rt/conf_private.h"

static const char *unit_word(const struct tr_conf_item *it)
{
    if (it->unit)
        return it->unit;
    switch (it->type) {
    case TR_CONF_INT:
        return "N";
    case TR_CONF_SIZE:
        return "SIZE";
    case TR_CONF_DURATION:
        return "TIME";
    case TR_CONF_CHOICE:
        return "WORD";
    case TR_CONF_BOOL:
        return "";
    case TR_CONF_STRING:
    case TR_CONF_LIST:
    default:
        return "TEXT";
    }
}

/* "error|warn|info|debug" for choices, else nothing. */
static void print_choices(const struct tr_conf_item *it, const char *before, FILE *out)
{
    if (it->type != TR_CONF_CHOICE)
        return;
    (void)fputs(before, out);
    for (size_t i = 0; it->choices[i]; i++)
        (void)fprintf(out, "%s%s", i ? ", " : "", it->choices[i]);
}

static bool shows_default(const struct tr_conf_item *it)
{
    return it->fallback && it->type != TR_CONF_BOOL && !(it->flags & TR_CONF_SECRET);
}

/* The left column of --help; returns its width. */
static int option_text(const struct tr_conf_item *it, char *out, size_t size)
{
    const char *unit = unit_word(it);
    bool negatable = it->type == TR_CONF_BOOL && it->fallback && it->fallback[0] == 't';

    if (it->letter)
        return snprintf(out, size, "  -%c, --%s%s%s", it->letter, it->name, *unit ? " " : "", unit);
    return snprintf(out, size, "      --%s%s%s%s", negatable ? "[no-]" : "", it->name,
                    *unit ? " " : "", unit);
}

static void help_item(const struct tr_conf_item *it, int width, FILE *out)
{
    char left[96];

    if (option_text(it, left, sizeof(left)) > width)
        (void)fprintf(out, "%s\n%*s", left, width, "");
    else
        (void)fprintf(out, "%-*s", width, left);
    (void)fprintf(out, "  %s", it->doc);
    print_choices(it, ": ", out);
    if (shows_default(it))
        (void)fprintf(out, " [%s]", it->fallback);
    (void)fputc('\n', out);
}

/* The columns line up across all tables; one very long option does not push the rest away. */
static int column_width(const struct tr_conf_program *p)
{
    int width = 20;
    char left[96];

    for (size_t i = 0; i < p->ntables; i++) {
        for (size_t j = 0; j < p->tables[i].count && !p->tables[i].foreign; j++) {
            int n = option_text(&p->tables[i].items[j], left, sizeof(left));

            if (n > width && n <= 30)
                width = n;
        }
    }
    return width;
}

void tr_conf_help(const struct tr_conf_program *p, FILE *out)
{
    int width = column_width(p);

    (void)fprintf(out, "Usage: %s %s\n\n%s\n\nOptions:\n", p->name, p->usage, p->summary);
    for (size_t i = p->ntables; i-- > 0;) { /* the command's own options first */
        for (size_t j = 0; j < p->tables[i].count && !p->tables[i].foreign; j++) {
            if (!(p->tables[i].items[j].flags & TR_CONF_HIDDEN))
                help_item(&p->tables[i].items[j], width, out);
        }
    }
    (void)fprintf(out, "%-*s  show this\n", width, "  -h, --help");
    if (p->examples)
        (void)fprintf(out, "\nExamples:\n%s", p->examples);
}

static void man_item(const struct tr_conf_item *it, bool in_file, FILE *out)
{
    char key[TR_CONF_KEY_MAX];
    char env[TR_CONF_ENV_MAX];
    const char *unit = unit_word(it);

    if (it->letter)
        (void)fprintf(out, "*-%c*, ", it->letter);
    (void)fprintf(out, "*--%s*", it->name);
    if (*unit)
        (void)fprintf(out, " _%s_", unit);
    (void)fprintf(out, "\n\t%s", it->doc);
    print_choices(it, ": ", out);
    (void)fputc('.', out);
    if (shows_default(it))
        (void)fprintf(out, " Default: %s.", it->fallback);
    if (it->flags & TR_CONF_SECRET)
        (void)fprintf(out, " *--%s-file* reads it from the first line of a file.", it->name);
    if (!(it->flags & TR_CONF_CLI_ONLY)) {
        tr_conf_env(it->name, env);
        tr_conf_key(it->name, key);
        (void)fprintf(out, " Environment: *%s*.", env);
        if (in_file)
            (void)fprintf(out, " File: *%s*.", key);
    }
    (void)fputs("\n\n", out);
}

void tr_conf_man(const struct tr_conf_program *p, FILE *out)
{
    for (size_t i = p->ntables; i-- > 0;) {
        for (size_t j = 0; j < p->tables[i].count && !p->tables[i].foreign; j++) {
            const struct tr_conf_item *it = &p->tables[i].items[j];

            if (!(it->flags & TR_CONF_HIDDEN))
                man_item(it, i == 0 || (it->flags & TR_CONF_IN_FILE), out);
        }
    }
}

static void sample_item(const struct tr_conf_item *it, FILE *out)
{
    char key[TR_CONF_KEY_MAX];
    const char *value = it->fallback;

    tr_conf_key(it->name, key);
    (void)fprintf(out, "\n# %s", it->doc);
    print_choices(it, ": ", out);
    if (it->flags & TR_CONF_SECRET)
        (void)fprintf(out, " (or %s_file: path)", key);
    if (!value)
        value = it->type == TR_CONF_BOOL ? "false" : "";
    (void)fprintf(out, "\n# %s: %s\n", key, value);
}

void tr_conf_sample(const struct tr_conf_program *p, FILE *out)
{
    (void)fprintf(out,
                  "# Settings of %s. Every line shows its default; the command line and\n"
                  "# TRIBUNAL_… in the environment win over this file.\n",
                  p->name);
    for (size_t i = 0; i < p->ntables; i++) {
        const struct tr_conf_table *t = &p->tables[i];

        for (size_t j = 0; j < t->count && (i == 0 || t->foreign); j++) {
            if (!(t->items[j].flags & (TR_CONF_CLI_ONLY | TR_CONF_HIDDEN)))
                sample_item(&t->items[j], out);
        }
    }
}

void tr_conf_print_help(const struct tr_conf_program *p, const struct tr_conf *conf, FILE *out)
{
    if (conf->help_kind && strcmp(conf->help_kind, "man") == 0)
        tr_conf_man(p, out);
    else if (conf->help_kind && strcmp(conf->help_kind, "sample") == 0)
        tr_conf_sample(p, out);
    else
        tr_conf_help(p, out);
}

/* Edit distance with two rows; words of ours are short, a longer one is no candidate. */
enum {
    WORD_MAX = 48
};

static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t la = strlen(a);
    size_t lb = strlen(b);

    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            diagonal = row[j];
            row[j] = change < best ? change : best;
        }
    }
    return row[lb];
}

const char *tr_conf_closest(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2; /* two slips in a short word, more in a long one */

    for (size_t i = 0; words[i]; i++) {
        size_t d = distance(word, words[i]);

        if (d < least) {
            least = d;
            best = words[i];
        }
    }
    return best;
}
