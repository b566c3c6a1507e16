/*
 * The classes of pictures and of videos: which are known before they are looked for, and what other data must be read
 * by. Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_CLASSES_H
#define TEQUIO_DATA_PICTURES_PICTURE_CLASSES_H

#include "data/pictures/picture_set.h"
#include "data/reader.h"

/* Those of the training data, or of `class_names`; *ret is NULL where neither is given. E_DATA. */
MUST_USE status picture_classes_known(const reader_request *request, words **ret, error *err);
/* Each class that training is to know has pictures. E_DATA. */
MUST_USE status picture_classes_check(const picture_set *s, error *err);
/* What dataset_vocabulary gives; free it. */
char *picture_classes_vocabulary(const words *classes);

#endif
