/*
 * A data file as bytes in memory: mapped, or, where its bytes are gzip, inflated once.
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_SOURCE_H
#define TEQUIO_DATA_SOURCE_H

#include "common/base/error.h"
#include "common/base/fs.h"

typedef struct source {
    const unsigned char *data;
    size_t bytes;
    fs_map map;                     /* not gzip: the file */
    void *heap;                     /* gzip: what it holds */
} source;

/* E_DATA when the file cannot be read, is empty, or is damaged gzip. */
MUST_USE status source_open(const char *path, source *ret, error *err);
void source_close(source *s);

#endif
