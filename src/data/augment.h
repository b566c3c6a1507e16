/*
 * Augmentation of images: what becomes of an example between its reader and a batch, in this order.
 *
 *   while pixels are bytes   random_crop, where the reader has not cropped; colours and policies (pictures/changes.h)
 *   when they are numbers    a random horizontal flip, then a random shift in x and y. What moves in from outside is
 *                            background. Last a rectangle may become background: torchvision's RandomErasing
 *
 * A flip comes out the same behind colours as before them, and as likely behind a policy, whose signs are even.
 *
 * A pure function of (seed, batch id, place in the batch): the same on any lane. Threads: any.
 */
#ifndef TEQUIO_DATA_AUGMENT_H
#define TEQUIO_DATA_AUGMENT_H

#include "common/base/rng.h"
#include "common/config/config.h"
#include "data/data.h"
#include "data/finish.h"

typedef struct augment {
    int64_t shift;      /* at most so many pixels each way */
    bool flip;
    picture_changes changes;
} augment;

/* `section` is dataset_reader.augment; NULL asks for nothing. */
augment augment_read(const config *section);
bool augment_is_on(const augment *a);

/* Fields it applies to: [C,H,W] of float32 or bytes. */
bool augment_takes(const data_field *f);
/* Fields that flip and shift apply to: videos too, [C,T,H,W] or [T,C,H,W], all of whose frames move alike. */
bool augment_moves(const data_field *f);
/* A picture in bytes, grey or in colours: what colours and policies apply to. */
bool augment_is_picture(const data_field *f);
/* Is all there that `section` (NULL: nothing) asks for? E_CONFIG names what is not. */
MUST_USE status augment_check(const config *section, const data_field *fields, size_t n, error *err);
/* Whether it needs no number that no byte means. */
bool augment_works_on_bytes(const augment *a, const data_field *f);

/* Does anything happen to pixels while they are bytes? Then what has data_bytes is to be read as bytes. */
bool augment_paints(const augment *a);
/* The bytes beside an example that augment_paint works in. */
size_t augment_room(const augment *a, const data_field *f);
/* In place, of a field that it takes; one of data_bytes is bytes. */
void augment_paint(const augment *a, const picture_draws *draws, const data_field *f, void *image, void *room);

/* `draws` is (seed, RNG_AUGMENT, batch id); `i` the example's place in the batch. in != out. */
void augment_apply(const augment *a, const rng *draws, int64_t i, const data_field *f,
                   const void *in, void *out);

/* Whether a rectangle of such a field may be erased, and doing so, in place. */
bool augment_erases(const augment *a, const data_field *f);
void augment_erase(const augment *a, const picture_draws *draws, const data_field *f, void *image);

/* --- where a device finishes images (finish.h) --- */

/* Whether random_crop is such a field's, here. */
bool augment_crops(const augment *a, const data_field *f);
/* ... and may come last of what is done to its bytes: else colours, which are the host's, come behind it. */
bool augment_crops_last(const augment *a, const data_field *f);
/* Whether anything of it is left for a device, and whether one can do it. */
bool augment_finishes(const augment *a, const data_field *f);
bool augment_can_finish(const data_field *f);
/* Of a field as it goes up; bytes that mean numbers have DT_U8. */
finish_form augment_form(const augment *a, const data_field *f);
/* What augment_paint (if it crops last), augment_apply and augment_erase would do with the same draws. */
finish_draw augment_draw(const augment *a, const rng *motions, const picture_draws *changes, const data_field *f);

#endif
