/*
 * Images that a device finishes: what chance makes of each as numbers, 64 bytes an example, so that bytes go up as
 * they were read and become there what the host would make of them (augment.h, mix.h), bit for bit. For loops of the
 * host and for kernels, like optim/update.h.
 *
 * In this order, each of what the one before gives:
 *
 *   window    what is shown begins at (left, top) of what was read, and what lies outside is `fill`
 *   mirror    the row is read backwards, then
 *   shift     it moves to the right by dx and down by dy; what comes in is `background`
 *   numbers   a byte means byte * scale + offset of its channel; `fill` is one, `background` and `erased` are numbers
 *   erasing   a rectangle becomes `erased`
 *   mixing    with the example before it in the batch, the first with the last: a rectangle is that one's, or all is
 *             rest * the other + share * its own
 *
 * Pure functions. Threads: any.
 */
#ifndef TEQUIO_DATA_FINISH_H
#define TEQUIO_DATA_FINISH_H

#include "common/base/inline.h"

#include <stdbool.h>
#include <stdint.h>

enum { FINISH_CHANNELS = 4 };

typedef enum finish_kind {
    FINISH_BYTES,                   /* bytes that mean numbers become float32 */
    FINISH_FLOATS,                  /* float32 stays float32 */
    FINISH_PIXELS,                  /* bytes stay bytes */
    FINISH_KINDS
} finish_kind;

/* An input: images of [planes, height, width] each, fewer than 2^31 elements. */
typedef struct finish_form {
    finish_kind kind;
    uint32_t planes, height, width;
    uint32_t planes_a_channel;      /* FINISH_BYTES */
    float scale[FINISH_CHANNELS], offset[FINISH_CHANNELS]; /* likewise */
    float fill, background, erased; /* bytes, where bytes stay bytes */
} finish_form;

typedef struct finish_box {
    int32_t x, y, width, height;
} finish_box;

typedef enum finish_mixing { FINISH_ALONE, FINISH_BLENDED, FINISH_CUT } finish_mixing;

/* One example's share of chance. */
typedef struct finish_draw {
    int32_t left, top;
    int32_t dx, dy;
    int32_t is_mirrored;
    finish_box erased;              /* none: empty */
    int32_t mixing;                 /* finish_mixing; of a batch of one example FINISH_ALONE */
    float share, rest;              /* FINISH_BLENDED */
    finish_box cut;                 /* FINISH_CUT */
} finish_draw;

#ifdef __cplusplus
static_assert(sizeof(finish_draw) == 64, "what goes up for an example");
#else
_Static_assert(sizeof(finish_draw) == 64, "what goes up for an example");
#endif

INLINE uint32_t finish_elements(const finish_form *f)
{
    return f->planes * f->height * f->width;
}

INLINE bool finish_is_within(const finish_box *b, int32_t x, int32_t y)
{
    return x >= b->x && x - b->x < b->width && y >= b->y && y - b->y < b->height;
}

/* Chosen by comparison: what a kernel counts its way into does not stay in registers. */
INLINE float finish_number_of(const finish_form *f, uint32_t plane, float byte)
{
    float scale = f->scale[0], offset = f->offset[0];
    UNROLL
    for (uint32_t k = 1; k < FINISH_CHANNELS; k++) {
        bool is_later = plane >= k * f->planes_a_channel;
        scale = is_later ? f->scale[k] : scale;
        offset = is_later ? f->offset[k] : offset;
    }
    return byte * scale + offset;
}

/* A pixel before it is mixed; `image` is what was read of the example. */
INLINE float finish_pixel(const finish_form *f, finish_kind kind, const finish_draw *d, const void *image,
                          uint32_t plane, int32_t x, int32_t y)
{
    int32_t width = (int32_t)f->width, height = (int32_t)f->height;
    if (finish_is_within(&d->erased, x, y))
        return f->erased;
    x -= d->dx;
    y -= d->dy;
    if (x < 0 || x >= width || y < 0 || y >= height)
        return f->background;
    x = (d->is_mirrored ? width - 1 - x : x) + d->left;
    y += d->top;
    float value = f->fill;
    if (x >= 0 && x < width && y >= 0 && y < height) {
        int64_t at = ((int64_t)plane * height + y) * width + x;
        value = kind == FINISH_FLOATS ? ((const float *)image)[at] : (float)((const uint8_t *)image)[at];
    }
    return kind == FINISH_BYTES ? finish_number_of(f, plane, value) : value;
}

/* A pixel of example i of n, whose draws and readings are those of the whole batch. */
INLINE float finish_mixed(const finish_form *f, finish_kind kind, const finish_draw *draws, const void *images,
                          int64_t n, int64_t i, uint32_t plane, int32_t x, int32_t y)
{
    const finish_draw *own = &draws[i];
    int64_t before = i ? i - 1 : n - 1, size = (int64_t)finish_elements(f) * (kind == FINISH_FLOATS ? 4 : 1);
    const char *first = (const char *)images;
    if (own->mixing == FINISH_CUT && finish_is_within(&own->cut, x, y))
        return finish_pixel(f, kind, &draws[before], first + before * size, plane, x, y);
    float mine = finish_pixel(f, kind, own, first + i * size, plane, x, y);
    if (own->mixing != FINISH_BLENDED)
        return mine;
    float other = finish_pixel(f, kind, &draws[before], first + before * size, plane, x, y);
    return other * own->rest + mine * own->share;
}

#endif
