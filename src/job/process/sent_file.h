/*
 * A file that comes from another host over a command's standard output: behind whatever shells of login say there
 * stands a line, and then the file's bytes, and nothing more.
 *
 *     tequio-file BYTES SHA-256    the digest is missing where the host has no program for it
 *     tequio-none                  there is no such file
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_PROCESS_SENT_FILE_H
#define TEQUIO_JOB_PROCESS_SENT_FILE_H

#include "common/base/error.h"

#define SENT_FILE "tequio-file "
#define SENT_NONE "tequio-none"

/* The command that sends it. */
typedef struct sent_file_sender {
    const char *const *argv;
    const char *input; /* the file that is its standard input; NULL: none */
    const char *who;   /* before its words, "host one" */
    const char *where; /* behind the file's name, "on host one" */
} sent_file_sender;

/* Writes the file to standard output so. E_DATA: it cannot be read; E_IO. */
MUST_USE status sent_file_write(const char *path, error *err);

/* Runs the command and writes the file's bytes, as they come, to `to`, a file that is emptied first. On success they
 * are all there, with the size and the digest that were sent. E_DATA: there is no such file; E_FAIL: the command's
 * own failure in the words of its standard error, with its exit code in *ret_code; E_IO: what came is not the file;
 * E_IO, E_DISK of `to`. */
MUST_USE status sent_file_receive(const sent_file_sender *from, const char *path, int to, int *ret_code, error *err);

#endif
