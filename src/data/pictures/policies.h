/*
 * RandAugment (Cubuk et al. 2019) and TrivialAugment (Müller and Hutter 2021, the wide space), as torchvision has them:
 * operations drawn evenly, of one magnitude for all, or of one that is drawn as well. Half of those that have a sign
 * change it.
 *
 * A pure function of the draws and the picture's size. Threads: any.
 */
#ifndef TEQUIO_DATA_PICTURES_POLICIES_H
#define TEQUIO_DATA_PICTURES_POLICIES_H

#include "common/config/config.h"
#include "data/pictures/draws.h"
#include "data/pictures/operations.h"

typedef struct picture_policy {
    int32_t operations;             /* one after the other; 0: there is no policy */
    bool is_trivial;                /* magnitudes are drawn */
    int32_t magnitude, bins;        /* which of so many */
    unsigned char fill;             /* where the picture does not reach */
} picture_policy;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
picture_policy picture_policy_read(const config *section);

/* The magnitude of a bin without its sign; 0 of operations that have none. *ret_signed: it may be below 0. */
double picture_policy_magnitude(const picture_policy *policy, picture_operation op, int32_t bin, int32_t width,
                                int32_t height, bool *ret_signed);

/* `room` as of picture_operate. */
void picture_policy_apply(const picture_policy *policy, const picture_draws *d, const picture_planes *p,
                          unsigned char *room);

#endif
