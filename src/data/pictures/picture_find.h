/*
 * The files that a reader's path names: a folder that has a folder a class, or, of readers whose type ends with
 * "_list", a list (picture_list.h). Without labels a folder of any shape and a single file will do for both.
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_FIND_H
#define TEQUIO_DATA_PICTURES_PICTURE_FIND_H

#include "data/pictures/picture_set.h"
#include "data/reader.h"

/* Do its files have any number of labels each? */
bool picture_find_has_many(const config *reader);
/* Is the path a list of such files? */
bool picture_find_is_list(const reader_request *request, const picture_kind *kind);
/* `known` as of picture_set_of_folders. E_CONFIG, E_DATA. */
MUST_USE status picture_find(const reader_request *request, const picture_kind *kind, words *known, picture_set *ret,
                             error *err);

#endif
