/*
 * The operations that RandAugment and TrivialAugment choose from, with the arithmetic that torchvision has for
 * Pillow's pictures: the same pixels, bit by bit. Shear, translation and rotation take the nearest pixel, in Pillow's
 * 16.16 fixed point; the others are Pillow's ImageEnhance and ImageOps.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_OPERATIONS_H
#define TEQUIO_DATA_PICTURES_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

/* In the order in which torchvision lists and so draws them. */
typedef enum picture_operation {
    PICTURE_IDENTITY,
    PICTURE_SHEAR_X,
    PICTURE_SHEAR_Y,
    PICTURE_TRANSLATE_X,
    PICTURE_TRANSLATE_Y,
    PICTURE_ROTATE,
    PICTURE_BRIGHTNESS,
    PICTURE_COLOR,
    PICTURE_CONTRAST,
    PICTURE_SHARPNESS,
    PICTURE_POSTERIZE,
    PICTURE_SOLARIZE,
    PICTURE_AUTO_CONTRAST,
    PICTURE_EQUALIZE,
    PICTURE_OPERATIONS
} picture_operation;

typedef struct picture_planes {
    unsigned char *at;              /* [channels][height][width], changed in place */
    int32_t channels;               /* 1 or 3 */
    int32_t width, height;
} picture_planes;

/*
 * `magnitude` is a tangent (shear), pixels (translation), degrees (rotation), a factor less 1 (brightness to
 * sharpness), bits that stay (posterize) or the value from which on all are inverted (solarize). `fill` stands where
 * the picture does not reach. `room` has as many bytes as the picture.
 */
void picture_operate(picture_operation op, double magnitude, unsigned char fill, const picture_planes *p,
                     unsigned char *room);

#endif
