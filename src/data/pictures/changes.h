/*
 * Random changes of pictures in training: torchvision's RandomResizedCrop, RandomCrop, ColorJitter, its policies
 * (policies.h) and RandomErasing, in this order.
 *
 *   random_resized_crop   a part of the picture, `scale` of its area and with sides in proportion `ratio`, drawn evenly
 *                         in the logarithm; after ten draws that do not fit, the middle
 *   random_crop           a window of the picture with `padding` pixels of value `fill` around it
 *   color_jitter          brightness, contrast, saturation and hue (jitter.h), in an order that is drawn too
 *   random_erasing        with chance `p`, a rectangle, drawn as the part is; none after ten draws that do not fit
 *
 * A pure function of (seed, batch id, place in the batch) and the picture's size: the same on any lane. Threads: any.
 */
#ifndef TEQUIO_DATA_PICTURES_CHANGES_H
#define TEQUIO_DATA_PICTURES_CHANGES_H

#include "data/pictures/policies.h"
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
    bool crops, pads, jitters, erases;
    changes_part crop, erased;
    int32_t padding;
    unsigned char fill;
    changes_range brightness, contrast, saturation, hue;
    double chance;                  /* of one that is erased */
    picture_policy policy;
} picture_changes;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
picture_changes picture_changes_read(const config *section);

/* Which part of a picture is shown. */
picture_box picture_changes_crop(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height);
/* Which window of that size is shown; where it reaches beyond the picture there is `fill`. */
picture_box picture_changes_window(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height,
                                   int32_t of_width, int32_t of_height);

/* Does anything of what follows happen? */
bool picture_changes_paint(const picture_changes *c);
/* Colours, and then the policy, in place; `room` has as many bytes as the picture. */
void picture_changes_colours(const picture_changes *c, const picture_draws *d, const picture_planes *p,
                             unsigned char *room);

/* Which rectangle is erased; false: none is. */
bool picture_changes_erased(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height,
                            picture_box *ret);

#endif
