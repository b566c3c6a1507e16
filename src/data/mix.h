/*
 * Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019): each example of a batch is mixed with the one before it, the
 * first with the last, as torchvision's MixUp and CutMix pair them. Labels that are classes become probabilities.
 *
 *   mixup    lam x + (1 - lam) x before it
 *   cutmix   a rectangle with sides sqrt(1 - lam) as long as the image's is taken from the one before; 1 - lam is then
 *            its share of the image
 *
 * lam is drawn for each batch from Beta(alpha, alpha); where both are asked for, half of the batches have either. A
 * batch of one example stays as it is. A pure function of (seed, batch id): the same on any lane. Threads: any.
 */
#ifndef TEQUIO_DATA_MIX_H
#define TEQUIO_DATA_MIX_H

#include "data/data.h"
#include "data/finish.h"

typedef struct mix {
    double mixup, cutmix;           /* alpha; 0: not asked for */
} mix;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
mix mix_read(const config *section);
bool mix_is_on(const mix *m);
/* Can it be done with bytes that mean numbers? */
bool mix_works_on_bytes(const mix *m);
/* Is what it takes there, if anything is asked for: images of one size and a label of classes, and nothing beside them,
 * which would stay one example's? E_CONFIG names what is wrong. */
MUST_USE status mix_check(const config *section, const data_field *fields, size_t n, error *err);

/* A label of classes, which training sees as float32 [classes]. */
bool mix_is_label(const mix *m, const data_field *f);
void mix_fields(const mix *m, data_field *fields, size_t n);
/* What a batch has of such a label of one example. False: it is none of the classes. `f` as mix_fields leaves it. */
bool mix_label(const data_field *f, int64_t label, float *ret);

/* One batch's share. */
typedef struct mix_draw {
    bool cuts;
    double lam;                     /* how much of each example is its own */
    int32_t x, y, width, height;    /* cuts: the rectangle */
} mix_draw;

mix_draw mix_draw_of(const mix *m, uint64_t seed, int64_t batch_id, int32_t width, int32_t height);

/* In place; `batch` are n examples of a field, `room` has the bytes of one. */
void mix_images(const mix_draw *d, const data_field *f, int64_t n, void *batch, void *room);
/* Instead: it is noted in the draws of these n examples, for a device. */
void mix_note(const mix_draw *d, int64_t n, finish_draw *draws);
void mix_labels(const mix_draw *d, const data_field *f, int64_t n, void *batch, void *room);

#endif
