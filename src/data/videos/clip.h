/*
 * Clips of videos: `length` frames, every `stride`-th; the middle of the video, or in training one that begins where
 * the batch's draws say. Of a video that is too short the last frame is repeated. All frames of a clip are cropped
 * alike. Threads: pure functions.
 */
#ifndef TEQUIO_DATA_VIDEOS_CLIP_H
#define TEQUIO_DATA_VIDEOS_CLIP_H

#include "data/pictures/picture_options.h"

typedef struct clip_options {
    int64_t length, stride;
    bool frames_first;              /* [T, C, H, W]; else [C, T, H, W] */
    bool is_drawn;                  /* in training it begins anywhere */
} clip_options;

/* Of a section dataset_reader. */
clip_options clip_options_read(const config *reader);
/* The field "video"; E_CONFIG: a clip is too large. */
MUST_USE status clip_field(const clip_options *c, const picture_options *o, data_field *ret, error *err);

/* Frame `number` of the video, as the view shows it. */
typedef status clip_frame(void *user, int64_t number, unsigned char *ret, error *err);
/* A clip of a video of `n` frames, with a byte a pixel; `draws` NULL: the middle. Frames are asked for in their order,
 * the last one as often as it is repeated. */
MUST_USE status clip_take(const clip_options *c, const picture_view *view, int64_t n, const picture_draws *draws,
                          clip_frame *frame, void *user, unsigned char *ret, error *err);

/* Bytes with frames first become numbers in their place. */
void clip_spread(const clip_options *c, const picture_options *o, void *field);

#endif
