/*
 * A file that comes from another host over somebody's standard output: behind whatever clients and shells of login say
 * stands a line, and then its bytes.
 *
 *     tequio-file BYTES
 *     tequio-none           there is no such file
 *
 * Threads: any.
 */
#ifndef TEQUIO_JOB_PROCESS_SENT_FILE_H
#define TEQUIO_JOB_PROCESS_SENT_FILE_H

#include "common/base/buf.h"
#include "common/base/error.h"

#define SENT_FILE "tequio-file "
#define SENT_NONE "tequio-none"

/* Writes the file to standard output so. E_DATA: it cannot be read; E_IO. */
MUST_USE status sent_file_write(const char *path, error *err);

/* Appends its bytes. E_DATA: there is none; E_IO: they are not all there. `where` is for messages, "on host one". */
MUST_USE status sent_file_take(const buf *said, const char *path, const char *where, buf *ret, error *err);

#endif
