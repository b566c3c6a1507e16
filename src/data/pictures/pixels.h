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

/* A rectangle of pixels. */
typedef struct picture_box {
    int32_t x, y, width, height;
} picture_box;

/* A JPEG of such sides may be decoded at so many eighths, 8, 4, 2 or 1, while no side gets shorter than `shortest`;
 * 0: at its size. */
int32_t picture_eighths(int32_t width, int32_t height, int32_t shortest);

/* Room for the pixels of a picture whose sizes are set; picture_fini frees it. E_NOMEM. */
MUST_USE status picture_make_room(picture *p, error *err);
void picture_fini(picture *p);

#endif
