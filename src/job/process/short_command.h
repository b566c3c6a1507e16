/*
 * Many short commands at once, each to its end: what they print is kept, and how they ended.
 * Threads: the launcher's only one, which waits in poll(2).
 */
#ifndef TEQUIO_JOB_PROCESS_SHORT_COMMAND_H
#define TEQUIO_JOB_PROCESS_SHORT_COMMAND_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Takes the next bytes of a standard output. False: no more are wanted, and the command is killed. */
typedef bool short_command_take(void *user, const char *bytes, size_t n);

enum { SHORT_COMMAND_PIPES = 2 };

typedef struct short_command {
    char *const *argv;  /* argv[0] is looked for in PATH; NULL: nothing is to be done */
    const char *input;  /* the file that is its standard input; NULL: none */
    short_command_take *take; /* of its standard output, all of it; NULL: that is in `output` too */
    void *user;
    buf output;         /* its standard error and, without `take`, its standard output, up to 4 MiB; buf_fini it */
    int code;           /* its exit code, 128 + signal, or 127 if it could not be started */
    pid_t pid;
    int fds[SHORT_COMMAND_PIPES]; /* what `output` gets, and what `take` gets; -1: at its end, or none */
} short_command;

/* Runs all, `at_once` of them at a time. E_IO if that itself fails; then none is left running. */
MUST_USE status short_commands_run(short_command *list, int n, int at_once, error *err);

/* Runs one; *ret_said, which may be NULL, is what it said, without empty lines around it: free it.
 * E_FAIL in its words if it does not end with 0, E_IO if it could not be started. */
MUST_USE status short_command_ask(const char *const *argv, char **ret_said, error *err);

/* Runs one with that input, which may be NULL, and gives all of its standard output to `take`. *ret_words is what it
 * said on standard error, without empty lines around it: free it; *ret_code is as short_command has it. E_IO. */
MUST_USE status short_command_stream(const char *const *argv, const char *input, short_command_take *take, void *user,
                                     char **ret_words, int *ret_code, error *err);

#endif
