/*
 * Writing a .tar.gz: POSIX ustar members in gzip (RFC 1952). The bytes depend on the members alone. They are
 * stored, not deflated: weights would shrink by a few percent, and take many times as long.
 *
 * The file is written beside its name and has it once it is whole. Threads: a writer belongs to one at a time.
 */
#ifndef TEQUIO_DATA_INDEX_ARCHIVE_WRITE_H
#define TEQUIO_DATA_INDEX_ARCHIVE_WRITE_H

#include "common/base/error.h"

#include <stddef.h>

typedef struct archive_writer archive_writer;

/* E_IO, E_DISK. `path` is copied. */
MUST_USE status archive_writer_create(const char *path, archive_writer **ret, error *err);
/* A plain file. `name` has at most 100 characters and no folder above it. */
MUST_USE status archive_writer_add(archive_writer *w, const char *name, const void *data, size_t bytes,
                                   error *err);
/* Ends the archive and gives it its name; the writer is gone in any case. */
MUST_USE status archive_writer_finish(archive_writer **w, error *err);
/* Removes what was written. NULL is fine. */
void archive_writer_abandon(archive_writer **w);

#endif
