/*
 * The pixels of a picture, of 8 bits a channel.
 * Threads: a picture belongs to one thread at a time.
 */
#ifndef TEQUIO_DATA_PICTURES_PIXELS_H
#define TEQUIO_DATA_PICTURES_PIXELS_H

#include "common/base/error.h"

#include <stdint.h>

typedef struct picture {
    int32_t width, height, channels;
    unsigned char *pixels;          /* [height][width][channels] */
} picture;

/* Room for the pixels of a picture whose sizes are set; picture_fini frees it. E_NOMEM. */
MUST_USE status picture_make_room(picture *p, error *err);
void picture_fini(picture *p);

#endif
