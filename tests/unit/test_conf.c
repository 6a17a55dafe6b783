/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "rt/conf.h"
#include "unit.h"

struct opts {
    bool strict;
    bool loud;
    int64_t jobs;
    uint64_t memory;
    int64_t wall_us;
    const char *db;
    const char *password;
    int level;
    struct tr_conf_list queues;
    const char *config;
};

static const char *const levels[] = {"low", "high", NULL};

#define AT(f) offsetof(struct opts, f)
static const struct tr_conf_item items[] = {
    {.name = "config",
     .type = TR_CONF_STRING,
     .at = AT(config),
     .unit = "FILE",
     .doc = "read settings from this file",
     .flags = TR_CONF_CLI_ONLY},
    {.name = "strict", .letter = 's', .type = TR_CONF_BOOL, .at = AT(strict), .doc = "be strict"},
    {.name = "loud", .type = TR_CONF_BOOL, .at = AT(loud), .fallback = "true", .doc = "be loud"},
    {.name = "jobs",
     .letter = 'j',
     .type = TR_CONF_INT,
     .at = AT(jobs),
     .fallback = "2",
     .min = 1,
     .max = 256,
     .doc = "how many at once"},
    {.name = "memory",
     .type = TR_CONF_SIZE,
     .at = AT(memory),
     .fallback = "256M",
     .min = 1024,
     .max = INT64_C(16) << 30,
     .doc = "memory limit"},
    {.name = "wall-time",
     .type = TR_CONF_DURATION,
     .at = AT(wall_us),
     .fallback = "3s",
     .min = 1000,
     .max = 60000000,
     .doc = "wall limit"},
    {.name = "db", .type = TR_CONF_STRING, .at = AT(db), .unit = "URL", .doc = "database"},
    {.name = "password",
     .type = TR_CONF_STRING,
     .at = AT(password),
     .doc = "its password",
     .flags = TR_CONF_SECRET},
    {.name = "level",
     .type = TR_CONF_CHOICE,
     .at = AT(level),
     .fallback = "low",
     .choices = levels,
     .doc = "how high"},
    {.name = "queue", .type = TR_CONF_LIST, .at = AT(queues), .doc = "a queue to work"},
};

struct fixture {
    char *dir;
    int fd;
    char *file;
    struct opts o;
    struct tr_conf conf;
    struct tr_err err;
};

static int make(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (tr_fs_temp_dir("conf", &f->dir, &f->fd, NULL) < 0 ||
        asprintf(&f->file, "%s/c.yaml", f->dir) < 0)
        return -1;
    *state = f;
    return 0;
}

static int drop(void **state)
{
    struct fixture *f = *state;

    tr_conf_done(&f->conf);
    tr_fs_remove_tree(AT_FDCWD, f->dir, NULL);
    close(f->fd);
    free(f->dir);
    free(f->file);
    free(f);
    return 0;
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
    assert_int_equal(tr_fs_replace(f->fd, name, text, strlen(text), 0600, NULL), 0);
}

/* Words separated by '|', so that rows stay readable; %F is the configuration file. */
static int load(struct fixture *f, const char *words)
{
    static char text[1024];
    char *argv[32] = {(char[]){"prog"}};
    int argc = 1;
    struct tr_conf_table t = {.items = items, .count = TR_ARRAY_LEN(items), .into = &f->o};
    struct tr_conf_program p = {.name = "prog",
                                .usage = "[options] FILE…",
                                .summary = "Tries.",
                                .tables = &t,
                                .ntables = 1,
                                .args_max = 2};
    size_t n = 0;

    tr_conf_done(&f->conf);
    f->o = (struct opts){0};
    f->err = (struct tr_err)TR_ERR_INIT;
    for (const char *w = words; *w; w++) {
        if (strncmp(w, "%F", 2) == 0) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", f->file);
            w++;
        } else {
            text[n++] = *w;
        }
    }
    text[n] = '\0';
    for (char *w = text; w && *text; argc++) {
        argv[argc] = w;
        w = strchr(w, '|');
        if (w)
            *w++ = '\0';
    }
    return tr_conf_load(&p, argc, argv, &f->conf, &f->err);
}

static void defaults_stand_without_any_source(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, ""), 0);
    assert_false(f->o.strict);
    assert_true(f->o.loud);
    assert_int_equal(f->o.jobs, 2);
    assert_int_equal(f->o.memory, 268435456);
    assert_int_equal(f->o.wall_us, 3000000);
    assert_null(f->o.db);
    assert_int_equal(f->o.level, 0);
    assert_int_equal(f->o.queues.count, 0);
}

static void the_command_line_wins_over_environment_over_file(void **state)
{
    struct fixture *f = *state;

    write_file(f, "c.yaml", "jobs: 3\nmemory: 64M\nlevel: high\nqueue: [a, b]\nloud: no\n");
    assert_int_equal(load(f, "--config|%F"), 0);
    assert_int_equal(f->o.jobs, 3);
    assert_int_equal(f->o.queues.count, 2);
    assert_false(f->o.loud);
    setenv("TRIBUNAL_JOBS", "4", 1);
    setenv("TRIBUNAL_CONFIG", f->file, 1);
    assert_int_equal(load(f, ""), 0);
    assert_int_equal(f->o.jobs, 4);
    assert_int_equal(load(f, "-j5|--queue=c|--no-strict|--loud"), 0);
    assert_int_equal(f->o.jobs, 5);
    assert_int_equal(f->o.memory, 64 << 20);
    assert_int_equal(f->o.level, 1);
    assert_int_equal(f->o.queues.count, 1);
    assert_string_equal(f->o.queues.items[0], "c");
    assert_true(f->o.loud);
    unsetenv("TRIBUNAL_JOBS");
    unsetenv("TRIBUNAL_CONFIG");
}

static void arguments_and_options_may_be_mixed(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "one|-s|--jobs|7|--|-two"), 0);
    assert_true(f->o.strict);
    assert_int_equal(f->o.jobs, 7);
    assert_int_equal(f->conf.nargs, 2);
    assert_string_equal(f->conf.args[1], "-two");
    assert_null(f->conf.args[2]);
}

static void secrets_come_from_a_file_too(void **state)
{
    struct fixture *f = *state;
    tr_autofree char *words = NULL;

    write_file(f, "secret", "hunter2\n");
    assert_true(asprintf(&words, "--password-file|%s/secret", f->dir) > 0);
    assert_int_equal(load(f, words), 0);
    assert_string_equal(f->o.password, "hunter2");
    write_file(f, "secret", "\n");
    assert_int_equal(load(f, words), TR_E_PARSE);
    assert_non_null(strstr(f->err.msg, "is empty, expected the secret"));
}

static void a_wrong_file_is_told_by_file_line_key_and_what_was_expected(void **state)
{
    static const struct {
        const char *label;
        const char *text;
        const char *want;
    } rows[] = {
        {"unknown key", "jobs: 1\njbos: 2\n", ":2: unknown key 'jbos'; did you mean 'jobs'?"},
        {"nothing like it", "quux: 2\n", ":1: unknown key 'quux'"},
        {"dashes", "wall-time: 2s\n", ":1: unknown key 'wall-time'; did you mean 'wall_time'?"},
        {"wrong type", "\njobs: many\n", ":2: jobs: 'many' is not a whole number from 1 to 256"},
        {"out of range", "jobs: 257\n", ":1: jobs: 257 is not between 1 and 256"},
        {"a wrap that is not silent", "jobs: 99999999999999999999\n",
         ":1: jobs: '99999999999999999999' is not a whole number from 1 to 256"},
        {"size", "memory: lots\n",
         ":1: memory: 'lots' is not a size such as 512, 64K, 256M or 1.5G"},
        {"size out of range", "memory: 1\n", ":1: memory: '1' is not between 1K and 16G"},
        {"duration without unit", "wall_time: 5\n",
         ":1: wall_time: '5' is not a duration such as 250ms, 1.5s, 2m or 1h"},
        {"choice", "level: middle\n", ":1: level: 'middle' is not one of low, high"},
        {"truth", "strict: maybe\n", ":1: strict: 'maybe' is not true or false"},
        {"map for a value", "jobs:\n  a: 1\n", ":1: jobs: expected one value, found a map"},
        {"list for a value", "jobs: [1]\n", ":1: jobs: expected one value, found a list"},
        {"nothing", "jobs:\n", ":1: jobs: expected a value, found nothing"},
        {"a list of maps", "queue:\n  - a: 1\n", ":2: queue: expected a value, found nothing"},
        {"not a map", "- 1\n", ":1: expected 'key: value' lines, found a list"},
        {"only for the command line", "config: x\n", ":1: unknown key 'config'"},
        {"duplicate", "jobs: 1\njobs: 2\n", ":2: key 'jobs' stands twice, first in line 1"},
        {"missing secret", "password_file: /nonexistent/x\n",
         ":1: password_file: open '/nonexistent/x': No such file or directory"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        tr_autofree char *want = NULL;

        ROW(rows[i].label);
        write_file(f, "c.yaml", rows[i].text);
        assert_true(load(f, "--config|%F") < 0);
        assert_int_equal(tr_err_class(f->err.code), TR_E_USAGE);
        assert_true(asprintf(&want, "%s%s", f->file, rows[i].want) > 0);
        assert_string_equal(strncmp(f->err.msg, want, strlen(want)) == 0 ? want : f->err.msg, want);
    }
}

static void a_missing_file_or_a_folder_is_said(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "--config=/nonexistent.yaml"), TR_E_NOTFOUND);
    assert_string_equal(f->err.msg, "open '/nonexistent.yaml': No such file or directory");
    assert_int_equal(load(f, "--config=/etc"), TR_E_USAGE);
    assert_string_equal(f->err.msg, "'/etc' is a folder, expected a file");
}

static void a_wrong_command_line_is_told_with_the_option(void **state)
{
    static const struct {
        const char *words;
        const char *want;
    } rows[] = {
        {"--jbos|3", "unknown option '--jbos'; did you mean '--jobs'?"},
        {"--zzzzzzzz", "unknown option '--zzzzzzzz'; 'prog --help' lists them"},
        {"-x", "unknown option '-x'; 'prog --help' lists them"},
        {"--jobs", "--jobs needs a value"},
        {"--jobs=", "--jobs: '' is not a whole number from 1 to 256"},
        {"-j|x", "-j: 'x' is not a whole number from 1 to 256"},
        {"--no-jobs|3", "unknown option '--no-jobs'; did you mean '--jobs'?"},
        {"--no-strict=yes", "--no-strict takes no value"},
        {"a|b|c", "'c' is one argument too many; usage: prog [options] FILE…"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].words);
        assert_true(load(f, rows[i].words) < 0);
        assert_int_equal(tr_err_class(f->err.code), TR_E_USAGE);
        assert_string_equal(f->err.msg, rows[i].want);
    }
}

static void a_wrong_environment_is_told_by_its_name(void **state)
{
    struct fixture *f = *state;

    setenv("TRIBUNAL_WALL_TIME", "5", 1);
    int r = load(f, "");
    unsetenv("TRIBUNAL_WALL_TIME");
    assert_int_equal(r, TR_E_PARSE);
    assert_string_equal(f->err.msg, "TRIBUNAL_WALL_TIME: '5' is not a duration such as 250ms, "
                                    "1.5s, 2m or 1h");
}

/* A command's own table with a row that may stand in the file, and one of another command's. */
static void settings_of_other_commands_stand_in_the_file_and_nowhere_else(void **state)
{
    static const struct {
        const char *text, *word; /* in the file; on the command line */
        int want;
        const char *says;
    } rows[] = {
        {"db: a\njobs: 3\n", "", 0, ""},
        {"jobs: 0\n", "", TR_E_PARSE, "shared.yaml:1: jobs: "},
        {"jbos: 3\n", "", TR_E_PARSE, "did you mean 'jobs'?"},
        {"", "--jobs=3", TR_E_USAGE, "unknown option '--jobs'"},
        {"", "-j3", TR_E_USAGE, "unknown option '-j3'"},
    };
    struct fixture *f = *state;
    const struct tr_conf_item own = {.name = "db",
                                     .type = TR_CONF_STRING,
                                     .at = AT(db),
                                     .doc = "database",
                                     .flags = TR_CONF_IN_FILE};
    const struct tr_conf_item other = {.name = "jobs",
                                       .letter = 'j',
                                       .type = TR_CONF_INT,
                                       .at = AT(jobs),
                                       .fallback = "2",
                                       .min = 1,
                                       .max = 256,
                                       .doc = "how many at once"};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct opts unread = {.jobs = -1};
        const struct tr_conf_table tables[] = {{.items = items, .count = 1, .into = &f->o},
                                               {.items = &own, .count = 1, .into = &f->o},
                                               {&other, 1, &unread, .foreign = true}};
        const struct tr_conf_program p = {
            .name = "prog", .usage = "", .summary = "", .tables = tables, .ntables = 3};
        char config[256];
        char word[32];
        char *argv[] = {config, config, word, NULL};

        ROW(rows[i].text);
        assert_int_equal(
            tr_fs_replace(f->fd, "shared.yaml", rows[i].text, strlen(rows[i].text), 0600, &f->err),
            0);
        (void)snprintf(config, sizeof(config), "--config=%s/shared.yaml", f->dir);
        (void)snprintf(word, sizeof(word), "%s", rows[i].word);
        f->o.db = NULL;
        tr_conf_done(&f->conf);
        assert_int_equal(tr_conf_load(&p, *word ? 3 : 2, argv, &f->conf, &f->err), rows[i].want);
        if (rows[i].want < 0)
            assert_non_null(strstr(f->err.msg, rows[i].says));
        else
            assert_string_equal(f->o.db, "a");
    }
}

static void help_sample_and_manual_come_from_the_same_rows(void **state)
{
    struct tr_conf_table t = {.items = items, .count = TR_ARRAY_LEN(items)};
    struct tr_conf_program p = {.name = "prog",
                                .usage = "[options]",
                                .summary = "Tries.",
                                .examples = "  prog -s\n",
                                .tables = &t,
                                .ntables = 1};
    static const struct {
        void (*print)(const struct tr_conf_program *p, FILE *out);
        const char *want;
    } rows[] = {
        {tr_conf_help, "  -j, --jobs N          how many at once [2]\n"},
        {tr_conf_help, "      --[no-]loud       be loud\n"},
        {tr_conf_help, "      --level WORD      how high: low, high [low]\n"},
        {tr_conf_help, "Examples:\n  prog -s\n"},
        {tr_conf_sample, "\n# how many at once\n# jobs: 2\n"},
        {tr_conf_sample, "\n# its password (or password_file: path)\n# password: \n"},
        {tr_conf_man, "*--wall-time* _TIME_\n\twall limit. Default: 3s. Environment: "
                      "*TRIBUNAL_WALL_TIME*. File: *wall_time*.\n"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        tr_autofree char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        ROW(rows[i].want);
        rows[i].print(&p, out);
        assert_int_equal(fclose(out), 0);
        if (!strstr(text, rows[i].want))
            assert_string_equal(text, rows[i].want);
    }
}

int main(void)
{
#define WITH(t) cmocka_unit_test_setup_teardown(t, make, drop)
    const struct CMUnitTest tests[] = {
        WITH(defaults_stand_without_any_source),
        WITH(the_command_line_wins_over_environment_over_file),
        WITH(arguments_and_options_may_be_mixed),
        WITH(secrets_come_from_a_file_too),
        WITH(a_wrong_file_is_told_by_file_line_key_and_what_was_expected),
        WITH(a_missing_file_or_a_folder_is_said),
        WITH(a_wrong_command_line_is_told_with_the_option),
        WITH(a_wrong_environment_is_told_by_its_name),
        WITH(settings_of_other_commands_stand_in_the_file_and_nowhere_else),
        cmocka_unit_test(help_sample_and_manual_come_from_the_same_rows),
    };
    return RUN(tests);
}
