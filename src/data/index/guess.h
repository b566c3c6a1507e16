/*
 * What kind of records a path holds, by the beginning of the first file that has any: "{" for lines of
 * JSON, a length whose checksum fits for TFRecord. Any thread.
 */
#ifndef TEQUIO_DATA_INDEX_GUESS_H
#define TEQUIO_DATA_INDEX_GUESS_H

#include "data/index/records.h"

#include <stdbool.h>

/* `path` as in shards.h. False: they are no records, or cannot be read. */
bool records_guess(const char *path, record_kind *ret);

#endif
