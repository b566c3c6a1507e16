/*
 * What `evaluate` reads and writes, as AllenNLP's does: several files of examples parted by commas, for each a file of
 * metrics and one of predictions, named likewise or, by --auto-names, after the examples' file.
 * Threads: pure.
 */
#ifndef TEQUIO_CLI_USE_EVALUATION_FILES_H
#define TEQUIO_CLI_USE_EVALUATION_FILES_H

#include "cli/line/command.h"
#include "common/base/alloc.h"

typedef struct evaluation_files {
    const char *data;
    const char *name;        /* "dev" of data/dev.jsonl: what its metrics are called by where there are several */
    const char *metrics;     /* NULL: not written */
    const char *predictions; /* likewise */
} evaluation_files;

/* `data` is one path unless it `is_list`, which there is no file of, and which is no text of an object of paths. In
 * `memory`. E_USAGE: other numbers of files than of data, two data of one name. */
MUST_USE status evaluation_files_read(const args *a, const char *data, bool is_list, arena *memory,
                                      const evaluation_files **ret, size_t *ret_n, error *err);

#endif
