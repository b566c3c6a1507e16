/*
 * Pictures in another size, by the arithmetic of Pillow's Image.resize with BILINEAR, which torchvision's Resize calls:
 * a triangle that is as wide as a new pixel covers old ones (antialiased), weights of 22 bits, all columns first and
 * then all rows, both rounded to 8 bits. The same pixels, bit by bit, as up to Pillow 12; 13 has rows first where that
 * is less work, and then pixels may differ by 1.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_RESAMPLE_H
#define TEQUIO_DATA_PICTURES_RESAMPLE_H

#include "data/pictures/picture.h"

/* The part `from` of a picture is brought to width x height, and of that the part `window` is given: `ret` is
 * [window.height][window.width][channels]. Both boxes lie inside; but of `from` only what picture_resample_reads says
 * must be there, so its corner may lie at negative coordinates of `p`, which is a part of the picture then. E_NOMEM. */
MUST_USE status picture_resample(const picture *p, const picture_box *from, int32_t width, int32_t height,
                                 const picture_box *window, unsigned char *ret, error *err);

/* Which pixels of the picture that reads. */
picture_box picture_resample_reads(const picture_box *from, int32_t width, int32_t height, const picture_box *window);

#endif
