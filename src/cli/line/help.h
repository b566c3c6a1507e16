/*
 * Help, man page and completion, all from the tables of the subcommands and of the configuration.
 * Pure functions of those tables.
 */
#ifndef TEQUIO_CLI_LINE_HELP_H
#define TEQUIO_CLI_LINE_HELP_H

#include "cli/line/command.h"
#include "common/base/buf.h"

/* "-s, --serialization-dir DIR" */
void help_flag_label(const flag *f, buf *ret);

void help_command(const command *c, buf *ret); /* tequio train --help */
void help_overview(const command_table *all, buf *ret); /* tequio --help */
void help_man(const command_table *all, buf *ret);      /* tequio(1), in roff; man.c */
void help_bash(const command_table *all, buf *ret);     /* completion for bash; completion.c */

/* help_command on standard output; returns the exit code. */
int help_print_command(const command *c);

#endif
