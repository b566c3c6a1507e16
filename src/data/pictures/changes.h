/*
 * Random changes of pictures in training: torchvision's RandomResizedCrop, ColorJitter and RandomErasing.
 *
 *   random_resized_crop   a part of the picture, `scale` of its area and with sides in proportion `ratio`, drawn evenly
 *                         in the logarithm; after ten draws that do not fit, the middle
 *   color_jitter          brightness, contrast, saturation and hue (jitter.h), in an order that is drawn too
 *   random_erasing        with chance `p`, a rectangle, drawn as the part is; none after ten draws that do not fit
 *
 * A pure function of (seed, batch id, place in the batch) and the picture's size: the same on any lane. Threads: any.
 */
#ifndef TEQUIO_DATA_PICTURES_CHANGES_H
#define TEQUIO_DATA_PICTURES_CHANGES_H

#include "common/base/rng.h"
#include "common/config/config.h"
#include "data/pictures/resample.h"

typedef struct changes_range {
    double low, high;
} changes_range;

/* A rectangle of a picture. */
typedef struct changes_part {
    changes_range scale;            /* its area by the picture's */
    changes_range ratio;            /* its width by its height; of one that is erased: its height by its width */
} changes_part;

typedef struct picture_changes {
    bool crops, jitters, erases;
    changes_part crop, erased;
    changes_range brightness, contrast, saturation, hue;
    double chance;                  /* of one that is erased */
} picture_changes;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
picture_changes picture_changes_read(const config *section);

/* Whose draws: `numbers` is (seed, RNG_PICTURE, batch id), `place` the example's in the batch. */
typedef struct picture_draws {
    rng numbers;
    int64_t place;
} picture_draws;

/* Which part of a picture is shown. */
picture_box picture_changes_crop(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height);
/* Of pixels [channels][n], in place. */
void picture_changes_jitter(const picture_changes *c, const picture_draws *d, unsigned char *pixels, int32_t channels,
                            size_t n);

/* Which rectangle is erased; false: none is. */
bool picture_changes_erased(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height,
                            picture_box *ret);

#endif
