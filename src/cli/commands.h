/* SPDX-License-Identifier: MIT
 *
 * cli/commands.h - every subcommand's entry, one file each.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_config(int argc, char **argv);

#endif
