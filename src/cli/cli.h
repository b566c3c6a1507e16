/*
 * The program's front: finds the subcommand that was named (commands.h) and runs it.
 *
 * An error is printed once, here, as "tequio: <text>" on standard error; the exit code is that of
 * its status. Standard output is for results, logs and progress go to standard error.
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_CLI_H
#define TEQUIO_CLI_CLI_H

/* The whole program; returns its exit code. */
int cli_main(int argc, char **argv);

#endif
