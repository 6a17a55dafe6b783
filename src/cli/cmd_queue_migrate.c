/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_migrate.c - `tribunal queue migrate up|down|status`.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
    int64_t to;
    bool show_sql;
};

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    CLI_NUMBER("to", to, "-1", -1, 9999, "version to reach; -1: the newest (up), one step (down)"),
    CLI_FLAG("show-sql", show_sql,
             "print the statements instead of running them; opens no database"),
};

static const struct cli_doc doc = {
    .name = "tribunal queue migrate",
    .usage = "up|down|status --db URL [--to N] [--show-sql]",
    .summary =
        "Creates, changes or removes the queue's tables. Each step is one transaction where\n"
        "the engine can; running it twice changes nothing. `down --to 0` removes all jobs.",
    .examples = "  tribunal queue migrate up --db sqlite:jobs.db\n"
                "  tribunal queue migrate up --db postgres://… --show-sql\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .args_min = 1,
    .args_max = 1,
};

static int show_sql(const struct cli_run *run, const struct options *o, bool up)
{
    struct tr_err err = TR_ERR_INIT;
    const struct tq_driver *d = queue_driver(o->common.db, &err);

    if (!d)
        return cli_fail(run, &err);
    for (int i = 1; i <= tq_schema_newest(); i++) {
        int n = up ? i : tq_schema_newest() + 1 - i;
        const char *name = "";
        const char *sql = tq_schema_sql(d->backend, n, up, &name);

        (void)printf("-- %04d %s %s\n%s", n, name, up ? "up" : "down", sql);
    }
    return CLI_OK;
}

static int report(const struct options *o, int version)
{
    if (o->common.json)
        (void)printf("{\"version\": %d, \"newest\": %d}\n", version, tq_schema_newest());
    else
        (void)printf("schema version %d of %d\n", version, tq_schema_newest());
    return version == tq_schema_newest() ? CLI_OK : CLI_NOT_OK;
}

int cmd_queue_migrate(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    const char *what = run.conf.args[0];
    bool up = !strcmp(what, "up"), down = !strcmp(what, "down");
    if (!up && !down && strcmp(what, "status") != 0) {
        (void)tr_fail(&err, TR_E_USAGE, 0, "'%s' is not up, down or status", what);
        return cli_fail(&run, &err);
    }
    if (o.show_sql)
        return show_sql(&run, &o, !down);
    int r = queue_open(o.common.db, &q, &err);
    int version = r < 0 ? r : tq_schema_version(q, &err);
    if (version >= 0 && up)
        version = tq_migrate(q, (int)o.to, &err);
    if (version >= 0 && down)
        version = tq_migrate(q, o.to >= 0 ? (int)o.to : version > 0 ? version - 1 : 0, &err);
    if (version < 0)
        return cli_fail(&run, &err);
    code = report(&o, version);
    return up || down ? CLI_OK : code;
}
