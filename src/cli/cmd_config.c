/* SPDX-License-Identifier: MIT
 *
 * cmd_config.c - `tribunal config`: is this file good, and what could stand in it?
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"

struct options {
    bool sample;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("sample", sample, "print a sample file with every setting and its default"),
};

static const struct cli_doc doc = {
    .name = "tribunal config",
    .usage = "[--config FILE] [--sample]",
    .summary = "Reads the configuration as every command would, and says whether it is good.\n"
               "Settings on the command line win over TRIBUNAL_… in the environment, and those\n"
               "over the file.",
    .examples = "  tribunal config --config /etc/tribunal/tribunal.yaml\n"
                "  tribunal config --sample > tribunal.yaml\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

int cmd_config(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct options opt = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    if (opt.sample) {
        char *words[] = {argv[0], NULL};
        char sample[] = "--help=sample";

        cli_end(&run);
        words[1] = sample;
        (void)cli_begin(&run, &doc, &opt, 2, words, &code); /* prints and returns false */
        return code;
    }
    if (run.common.base.config)
        (void)printf("%s: good\n", run.common.base.config);
    else
        (void)printf("no configuration file: every setting has its default; see --sample\n");
    return code;
}
