/*
 * Augmentation of images: a random horizontal flip, then a random shift in x and y. What moves in
 * from outside is background. Last a rectangle may become background: torchvision's RandomErasing. What readers of
 * pictures change before is said in pictures/changes.h.
 *
 * A pure function of (seed, batch id, place in the batch): the same on any lane. Threads: any.
 */
#ifndef TEQUIO_DATA_AUGMENT_H
#define TEQUIO_DATA_AUGMENT_H

#include "common/base/rng.h"
#include "common/config/config.h"
#include "data/data.h"

typedef struct augment {
    int64_t shift;      /* at most so many pixels each way */
    bool flip;
    picture_changes changes; /* those that are `erases` */
} augment;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
augment augment_read(const config *section);
bool augment_is_on(const augment *a);

/* Fields it applies to: [C,H,W] of float32, or of bytes that mean such. */
bool augment_takes(const data_field *f);
/* Whether it needs no number that no byte means. */
bool augment_works_on_bytes(const augment *a, const data_field *f);

/* `draws` is (seed, RNG_AUGMENT, batch id); `i` the example's place in the batch. in != out. */
void augment_apply(const augment *a, const rng *draws, int64_t i, const data_field *f,
                   const void *in, void *out);

/* Whether a rectangle of such a field may be erased, and doing so, in place. */
bool augment_erases(const augment *a, const data_field *f);
void augment_erase(const augment *a, const picture_draws *draws, const data_field *f, void *image);

#endif
