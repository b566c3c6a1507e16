/*
 * Colours of a picture, changed by a factor: the arithmetic of torchvision's adjust_brightness, adjust_contrast,
 * adjust_saturation and adjust_hue on Pillow's pictures, in float32 and cut off to 8 bits as there. The same pixels,
 * bit by bit; of grey pictures saturation and hue change nothing.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_JITTER_H
#define TEQUIO_DATA_PICTURES_JITTER_H

#include <stddef.h>
#include <stdint.h>

typedef struct jitter_picture {
    unsigned char *at;              /* [channels][pixels], changed in place */
    int32_t channels;               /* 1 or 3 */
    size_t pixels;
} jitter_picture;

/* From `to` (factor 0) to x (factor 1), and beyond. */
unsigned char jitter_blend(int to, int x, float factor);

/* 1 leaves it as it is; 0 is black, all of the mean grey, or grey. */
void jitter_brightness(const jitter_picture *p, float factor);
void jitter_contrast(const jitter_picture *p, float factor);
void jitter_saturation(const jitter_picture *p, float factor);
/* By a part of the circle of colours, -0.5 to 0.5. */
void jitter_hue(const jitter_picture *p, float part);

#endif
