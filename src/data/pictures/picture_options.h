/*
 * What a section of the configuration says of pictures, whichever reader they come from: the size that a model sees,
 * how they get it, and what their bytes mean as numbers.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_OPTIONS_H
#define TEQUIO_DATA_PICTURES_PICTURE_OPTIONS_H

#include "common/config/config.h"
#include "data/data.h"
#include "data/pictures/view.h"

typedef struct picture_options {
    picture_view view;
    float scale[PICTURE_CHANNELS], offset[PICTURE_CHANNELS];    /* a byte means x * scale + offset */
} picture_options;

/* Of a section with `size`, `fit`, `resize`, `color_mode`, `mean`, `std`, `exif_orientation` and `scaled_decoding`;
 * `augment` is that of the reader, NULL: nothing is drawn. E_CONFIG. */
MUST_USE status picture_options_read(const config *section, const config *augment, picture_options *ret, error *err);

/* float32 [channels, height, width], bytes in the file. */
data_field picture_options_field(const picture_options *o, const char *name);

/* What reading one takes of memory, where a file and its decoding take `decoding`: the rows that have their new width
 * already are no more than they were. */
size_t picture_options_reading(const picture_options *o, size_t decoding);

#endif
