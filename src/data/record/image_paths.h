/*
 * Images that records name by paths (field.h): what must be known of them before the first is used, as of the pictures
 * of a folder (pictures/survey.h). Paths lie below `root`, but for those that begin with "/".
 * Threads: the calling one, and those it starts and ends; immutable then.
 */
#ifndef TEQUIO_DATA_RECORD_IMAGE_PATHS_H
#define TEQUIO_DATA_RECORD_IMAGE_PATHS_H

#include "data/index/record_set.h"
#include "data/record/field.h"

/* A zeroed one is of records without such images. */
typedef struct image_paths {
    uint64_t *prints;               /* [records]: of the files of each, by their sizes and both ends */
    bool *broken;                   /* [records]: an image of it cannot be read; NULL: of none */
    size_t reading;                 /* bytes that reading and decoding one takes at most */
} image_paths;

/* Does any field name images by their paths? */
bool image_paths_any(const record_fields *fields);

/* Where the paths of records lie: the reader's `root`, else the folder of its data. E_CONFIG: a pattern has several. */
MUST_USE status image_paths_root(const reader_request *request, arena *memory, const char **ret, error *err);

/* Looks at the images of all records. E_DATA: a record names none, or some are broken; the first ten are named, and
 * with `skips` their records are told by *ret instead, and a warning counts them. */
MUST_USE status image_paths_look(const record_set *set, const record_format *format, const record_fields *fields,
                                 bool skips, image_paths *ret, error *err);
void image_paths_fini(image_paths *p);

#endif
