/*
 * A gzipped tar, unpacked in memory: a model.tar.gz. Threads: one at a time.
 */
#ifndef TEQUIO_DATA_INDEX_PACKED_ARCHIVE_H
#define TEQUIO_DATA_INDEX_PACKED_ARCHIVE_H

#include "data/index/archive.h"

typedef struct packed_archive {
    void *tar;
    archive members; /* they lie in `tar` */
} packed_archive;

/* E_DATA: it is no gzipped tar, damaged, or holds a name that leads out of it. E_IO, E_NOMEM. */
MUST_USE status packed_archive_open(const char *path, packed_archive *ret, error *err);
void packed_archive_close(packed_archive *a);

#endif
