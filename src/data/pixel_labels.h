/*
 * Labels of pixels, and other images, beside images: whether what `augment` asks for would tear them apart.
 *
 * A field [H,W] of an image's size says something of each of its pixels, and so does one [K,H,W] that is a label, or is
 * not of a type that is augmented. Only what is an image itself moves (augment.h): one that is moved or mixed no
 * longer fits what is said of its pixels, and a label that is an image by its form gets colours and rectangles.
 *
 * Images of one size, as colours and depths, show the same places. Most changes move them alike; some are of pictures
 * in bytes or in files alone, and would leave or move another one otherwise.
 * Threads: any.
 */
#ifndef TEQUIO_DATA_PIXEL_LABELS_H
#define TEQUIO_DATA_PIXEL_LABELS_H

#include "data/data.h"

/* `section` is dataset_reader.augment (NULL: nothing is asked for), `labels` the names of label fields, a list; NULL:
 * "label". E_CONFIG names what is asked for, and the field. */
MUST_USE status pixel_labels_check(const config *section, const json_t *labels, const data_field *fields, size_t n,
                                   error *err);

#endif
