/*
 * Many short commands at once, each to its end: what they print is kept, and how they ended.
 * Threads: the launcher's only one, which waits in poll(2).
 */
#ifndef TEQUIO_JOB_PROCESS_SHORT_COMMAND_H
#define TEQUIO_JOB_PROCESS_SHORT_COMMAND_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct short_command {
    char *const *argv;  /* argv[0] is looked for in PATH; NULL: nothing is to be done */
    const char *input;  /* the file that is its standard input; NULL: none */
    buf output;         /* both of its outputs, as they came; buf_fini it */
    int code;           /* its exit code, 128 + signal, or 127 if it could not be started */
    pid_t pid;
    int fd;
} short_command;

/* Runs all, `at_once` of them at a time. E_IO if that itself fails; then none is left running. */
MUST_USE status short_commands_run(short_command *list, int n, int at_once, error *err);

/* Runs one; *ret_said, which may be NULL, is what it said, without empty lines around it: free it.
 * E_FAIL in its words if it does not end with 0, E_IO if it could not be started. */
MUST_USE status short_command_ask(const char *const *argv, char **ret_said, error *err);

/* Runs one with that input, which may be NULL; *ret_said is what it said, byte by byte: buf_fini it. E_FAIL, behind
 * `who` in its words, if it does not end with 0: its code is then in *ret_code; E_IO. */
MUST_USE status short_command_read(const char *const *argv, const char *input, const char *who, buf *ret_said,
                                   int *ret_code, error *err);

#endif
