/*
 * How pictures are brought to one size: what a model sees of each.
 *
 *   crop       the shorter side becomes `resize` pixels, and the middle of `size` is kept: torchvision's
 *              Resize(resize) and CenterCrop(size)
 *   stretch    width and height become those of `size`, whatever their proportion was: Resize((height, width))
 *
 * In training the part that is shown, or the window of what `fit` gives, may be drawn (changes.h).
 *
 * Grey is made of colours by Pillow's convert("L"), before all else; where three channels are asked for, a grey picture
 * has three that are alike. Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_VIEW_H
#define TEQUIO_DATA_PICTURES_VIEW_H

#include "data/pictures/changes.h"

typedef struct picture_view {
    int32_t channels;               /* 1 or 3 */
    int32_t width, height;          /* of what is given */
    int32_t resize;                 /* the shorter side before it is cropped, at least width and height; 0: stretch */
    picture_decoding decoding;
    picture_changes changes;
} picture_view;

/* ret is [channels][height][width]; `draws` are of the changes, NULL: there are none. E_DATA, as picture_decode;
 * E_NOMEM. */
MUST_USE status picture_view_take(const picture_view *v, const picture_draws *draws, const unsigned char *data,
                                  size_t bytes, unsigned char *ret, error *err);

/* The same of a picture that is decoded, and turned; it is changed. */
MUST_USE status picture_view_show(const picture_view *v, const picture_draws *draws, picture *p, unsigned char *ret,
                                  error *err);

#endif
