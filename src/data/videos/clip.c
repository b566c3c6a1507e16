/* See clip.h. */
#include "data/videos/clip.h"

#include "common/base/alloc.h"

#include <string.h>

clip_options clip_options_read(const config *reader)
{
    bool augments = config_has(reader, "augment");
    return (clip_options){.length = config_int(reader, "frames"),
                          .stride = config_int(reader, "frame_stride"),
                          .frames_first = strcmp(config_str(reader, "layout"), "frames_first") == 0,
                          .is_drawn = augments && config_bool(config_section(reader, "augment"), "random_clip")};
}

/* With frames first the channels are no axis of their own in front, by which bytes could be told. */
status clip_field(const clip_options *c, const picture_options *o, data_field *ret, error *err)
{
    data_field f = picture_options_field(o, "video");
    int64_t channels = f.dim[0], pixels = f.dim[1] * f.dim[2];
    if (channels * pixels > INT32_MAX / c->length)
        return FAIL(err, E_CONFIG, "dataset_reader.frames: a clip of %lld frames has more than %d values",
                    (long long)c->length, INT32_MAX);
    f.rank = 4;
    f.dim[3] = f.dim[2];
    f.dim[2] = f.dim[1];
    f.dim[0] = c->frames_first ? c->length : channels;
    f.dim[1] = c->frames_first ? channels : c->length;
    if (c->frames_first)
        f.bytes = (data_bytes){.channels = 0};
    *ret = f;
    return OK;
}

static size_t plane_of(const picture_view *v)
{
    return (size_t)v->width * (size_t)v->height;
}

/* The first frame of the clip. */
static int64_t begin_of(const clip_options *c, int64_t n, const picture_draws *draws)
{
    int64_t spare = n - ((c->length - 1) * c->stride + 1);
    if (spare <= 0)
        return 0;
    return draws && c->is_drawn ? picture_draw_below(draws, DRAW_CLIP, (int32_t)spare + 1) : spare / 2;
}

/* The planes of frame `t` get their places among those of the others. */
static void place_frame(const clip_options *c, const picture_view *v, int64_t t, const unsigned char *planes,
                        unsigned char *ret)
{
    size_t plane = plane_of(v);
    for (int64_t i = 0; i < v->channels; i++) {
        int64_t at = c->frames_first ? t * v->channels + i : i * c->length + t;
        memcpy(ret + (size_t)at * plane, planes + (size_t)i * plane, plane);
    }
}

status clip_take(const clip_options *c, const picture_view *view, int64_t n, const picture_draws *draws,
                 clip_frame *frame, void *user, unsigned char *ret, error *err)
{
    int64_t begin = begin_of(c, n, draws);
    void *room = NULL;
    TRY(mem_alloc(plane_of(view) * (size_t)view->channels, "a frame", &room, err));
    status st = OK;
    for (int64_t t = 0; t < c->length && st == OK; t++) {
        int64_t number = begin + t * c->stride;
        st = frame(user, number < n ? number : n - 1, room, err);
        if (st == OK)
            place_frame(c, view, t, room, ret);
    }
    mem_free(room);
    return st;
}

/* From the last: a float32 is longer than its byte. */
void clip_spread(const clip_options *c, const picture_options *o, void *field)
{
    const unsigned char *bytes = field;
    float *out = field;
    size_t plane = plane_of(&o->view), channels = (size_t)o->view.channels;
    for (size_t p = channels * (size_t)c->length; p-- > 0;) {
        size_t channel = c->frames_first ? p % channels : p / (size_t)c->length;
        for (size_t i = (p + 1) * plane; i-- > p * plane;)
            out[i] = (float)bytes[i] * o->scale[channel] + o->offset[channel];
    }
}
