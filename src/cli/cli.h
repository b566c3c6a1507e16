/*
 * The program's front: a table of subcommands, one file each.
 *
 * An error is printed once, here, as "tequio: <text>" on standard error; the exit code is that of
 * its status. Standard output is for results, logs and progress go to standard error.
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_CLI_H
#define TEQUIO_CLI_CLI_H

#include "cli/line/command.h"

/* The whole program; returns its exit code. */
int cli_main(int argc, char **argv);

/* Every subcommand, in the order in which help lists them. */
const command *const *cli_commands(size_t *ret_n);

/* NULL if there is no subcommand of that name. */
const command *cli_command_of(const char *name);

#endif
