/*
 * Pictures or videos and their classes by a list, plain or gzip:
 *
 *   lines of "PATH LABEL"      the label is what stands behind the last blank or tab; without labels a line may be
 *                              the path of a file alone
 *   comma-separated values     (csv.h) with a column of paths and one of labels
 *
 * Paths lie below a folder, but for those that begin with "/". Classes are the labels' words, numbered by their values
 * if all are numbers, else by their bytes. A picture may have any number of labels: a line then ends with
 * "cat,outdoors", or is a path alone, and a cell may be empty. Pictures come in the order of the list, which may have
 * one twice.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_LIST_H
#define TEQUIO_DATA_PICTURES_PICTURE_LIST_H

#include "data/pictures/picture_set.h"

typedef struct picture_list_options {
    const picture_kind *kind;       /* of what it lists */
    const char *root;               /* NULL: the folder of the list */
    char separator;                 /* of cells; 0: lines */
    bool header;                    /* the first row of cells names the columns */
    const char *path_column, *label_column; /* by name or number; NULL: the first two */
    char between;                   /* the labels of a picture, of any number; 0: each has one */
    bool without_labels;
} picture_list_options;

/* As picture_set_of_folders. E_DATA names the line that is wrong; E_CONFIG: there is no such column. */
MUST_USE status picture_set_of_list(const char *path, const picture_list_options *o, words *known, picture_set *ret,
                                    error *err);

#endif
