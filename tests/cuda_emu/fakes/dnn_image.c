#include "cuda_emu/fakes/dnn_image.h"

#include "backend/cuda/library/abi.h"
#include "cuda_emu/block.h"
#include "cuda_emu/watch.h"

#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

static float rounded_to_tf32(float x)
{
    uint32_t u = emu_tf32_of(x);
    memcpy(&x, &u, sizeof x);
    return x;
}

static float float_at(const image *from, int64_t i)
{
    if (from->type == DNN_F32)
        return ((const float *)from->at)[i];
    uint16_t half = ((const uint16_t *)from->at)[i];
    if (from->type == DNN_F16)
        return emu_f16_to_float(half);
    uint32_t u = (uint32_t)half << 16;
    float y;
    memcpy(&y, &u, sizeof y);
    return y;
}

static void put(const image *to, int64_t i, float x)
{
    if (to->type == DNN_F32)
        ((float *)to->at)[i] = x;
    else
        ((uint16_t *)to->at)[i] = to->type == DNN_F16 ? emu_f16_of(x) : emu_bf16_of(x);
}

size_t image_extent(const image *i)
{
    int64_t last = (i->outer - 1) * i->outer_stride + (i->channels - 1) * i->channel_stride;
    for (int axis = 0; axis < IMAGE_AXES; axis++)
        last += (i->positions[axis] - 1) * i->strides[axis];
    return (size_t)(last + 1) * (i->type == DNN_F32 ? 4 : 2);
}

static int64_t positions_of(const image *i)
{
    return i->positions[0] * i->positions[1] * i->positions[2];
}

/* Where position number p begins. */
static int64_t position_at(const image *i, int64_t p)
{
    int64_t column = p % i->positions[2], row = p / i->positions[2] % i->positions[1];
    int64_t plane = p / i->positions[2] / i->positions[1];
    return plane * i->strides[0] + row * i->strides[1] + column * i->strides[2];
}

/* --- parts as floats: [outer,position,channel]; weights [position,channel,outer], for images
 * [position,outer,channel] --- */

typedef struct dense {
    int64_t outer, position, channel; /* strides */
    float *at;
} dense;

static dense dense_of(const image_call *c, image_part part)
{
    const image *i = &c->of[part];
    dense d = {positions_of(i) * i->channels, i->channels, 1, NULL};
    if (part == IMAGE_W && c->makes == IMAGE_X)
        d = (dense){i->channels, i->outer * i->channels, 1, NULL};
    else if (part == IMAGE_W)
        d = (dense){1, i->outer * i->channels, i->outer, NULL};
    d.at = calloc((size_t)(i->outer * positions_of(i) * i->channels), sizeof *d.at);
    if (!d.at)
        abort();
    return d;
}

static void take(const image_call *c, const image *from, const dense *to)
{
    for (int64_t o = 0; o < from->outer; o++)
        for (int64_t p = 0; p < positions_of(from); p++)
            for (int64_t k = 0; k < from->channels; k++) {
                float x = float_at(from, o * from->outer_stride + position_at(from, p) +
                                             k * from->channel_stride);
                to->at[o * to->outer + p * to->position + k * to->channel] =
                    c->tensor_cores && from->type == DNN_F32 ? rounded_to_tf32(x) : x;
            }
}

static void leave(const image_call *c, const dense *from, const image *to)
{
    for (int64_t o = 0; o < to->outer; o++)
        for (int64_t p = 0; p < positions_of(to); p++)
            for (int64_t k = 0; k < to->channels; k++) {
                float x = from->at[o * from->outer + p * from->position + k * from->channel];
                put(to, o * to->outer_stride + position_at(to, p) + k * to->channel_stride,
                    c->bias ? x + c->bias[k] : x);
            }
}

/* --- the sums --- */

/* to[n] += factor * row[n] */
static void add(float *to, float factor, const float *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * row[i];
}

/* What one position of x, one of y and the weights between them have to do with each other. */
static void join(const image_call *c, float *x, float *w, float *y)
{
    int64_t maps = c->of[IMAGE_Y].channels, channels = c->of[IMAGE_W].channels;
    int64_t each = maps / c->groups;
    for (int64_t g = 0; g < c->groups; g++, x += channels)
        if (c->makes == IMAGE_X)
            for (int64_t m = g * each; m < (g + 1) * each; m++)
                add(x, y[m], w + m * channels, channels);
        else
            for (int64_t k = 0; k < channels; k++) {
                float *row = w + k * maps + g * each;
                bool forward = c->makes == IMAGE_Y;
                add(forward ? y + g * each : row, x[k], forward ? row : y + g * each, each);
            }
}

/* The position of x that tap `t` has under position `p` of y; -1: it is in the pad. */
static int64_t under(const image_call *c, int64_t p, int64_t t)
{
    const image *x = &c->of[IMAGE_X], *w = &c->of[IMAGE_W], *y = &c->of[IMAGE_Y];
    int64_t at[IMAGE_AXES];
    for (int axis = IMAGE_AXES - 1; axis >= 0; axis--) {
        at[axis] = p % y->positions[axis] * c->stride[axis] +
                   t % w->positions[axis] * c->dilation[axis] - c->pad[axis];
        if (at[axis] < 0 || at[axis] >= x->positions[axis])
            return -1;
        p /= y->positions[axis];
        t /= w->positions[axis];
    }
    return (at[0] * x->positions[1] + at[1]) * x->positions[2] + at[2];
}

static void join_all(const image_call *c, const dense parts[IMAGE_PARTS])
{
    const dense *x = &parts[IMAGE_X], *w = &parts[IMAGE_W], *y = &parts[IMAGE_Y];
    for (int64_t n = 0; n < c->of[IMAGE_Y].outer; n++)
        for (int64_t p = 0; p < positions_of(&c->of[IMAGE_Y]); p++)
            for (int64_t t = 0; t < positions_of(&c->of[IMAGE_W]); t++) {
                int64_t at = under(c, p, t);
                if (at >= 0)
                    join(c, x->at + n * x->outer + at * x->position, w->at + t * w->position,
                         y->at + n * y->outer + p * y->position);
            }
}

void image_convolve(void *arguments)
{
    const image_call *c = arguments;
    const image *made = &c->of[c->makes];
    dense parts[IMAGE_PARTS];
    for (int i = 0; i < IMAGE_PARTS; i++) {
        emu_touch(c->of[i].at, image_extent(&c->of[i]), i == (int)c->makes);
        parts[i] = dense_of(c, (image_part)i);
        if (i != (int)c->makes)
            take(c, &c->of[i], &parts[i]);
    }
    if (c->bias)
        emu_touch(c->bias, (size_t)made->channels * sizeof *c->bias, false);
    emu_touch(c->workspace, c->workspace_bytes, true);
    memset(c->workspace, 0xff, c->workspace_bytes);
    join_all(c, parts);
    leave(c, &parts[c->makes], made);
    for (int i = 0; i < IMAGE_PARTS; i++)
        free(parts[i].at);
}
