/*
 * The reader of tables' own struct, and the rows of its files: each file's columns are found anew, by their names.
 * Threads: one at a time.
 */
#ifndef TEQUIO_DATA_CSV_ROWS_H
#define TEQUIO_DATA_CSV_ROWS_H

#include "data/column.h"
#include "data/csv.h"
#include "data/csv_texts.h"
#include "data/reader.h"

typedef struct csv_file {
    char *name;
    size_t first;               /* its first row */
} csv_file;

typedef struct csv_reader {
    dataset base;
    csv_file *files;            /* [n_files] */
    size_t n_files, files_cap;
    uint32_t *lines;            /* where each row begins in its file */
    size_t n, n_numbers;        /* columns: numbers, then categories, then the label */
    column *columns;
    csv_texts texts;
    bool has_label;
    column unread_label;        /* where labels are not read: its words, if there are any */
    int64_t *sizes;             /* of the categories */
    size_t n_columns;           /* of the files, which have as many; 0: none is read yet */
    char *vocabulary;
} csv_reader;

/* What is done with a row, whose columns stand where `place` says. */
typedef status csv_row_use(void *user, const csv *row, error *err);
/* All rows of a file behind its header. E_DATA: it is no such table. */
MUST_USE status csv_rows_each(csv_reader *r, const csv_reader_options *o, const record_source *file, csv_row_use *use,
                              void *user, error *err);

#endif
