/* Pad, Resize, Upsample and GridSample. */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

typedef struct word {
    const char *name;
    int value;
} word;

static status find_word(call *c, const char *attribute, const word *words, size_t n, int *ret,
                        error *err)
{
    const char *said = call_str(c, attribute);
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].name, said) == 0) {
            *ret = words[i].value;
            return OK;
        }
    return call_refuse(err, "its %s is '%s', which is not supported; export it with another one",
                       attribute, said);
}

/* Which axes a list of opset 18 is about; all, where there is no such list. */
static status named_axes(const int64_t *given, int32_t n, int32_t rank, int32_t *ret,
                         int32_t *ret_n, error *err)
{
    *ret_n = n < 0 ? rank : n;
    for (int32_t i = 0; i < *ret_n; i++) {
        ret[i] = i;
        if (n >= 0)
            TRY(call_axis(given[i], rank, &ret[i], err));
    }
    return OK;
}

status onnx_op_pad(call *c, error *err)
{
    static const word modes[] = {{"constant", PAD_CONSTANT},
                                 {"reflect", PAD_REFLECT},
                                 {"edge", PAD_EDGE},
                                 {"wrap", PAD_WRAP}};
    graph_val x;
    int64_t pads[2 * GRAPH_RANK], given[GRAPH_RANK];
    int32_t n, n_given = -1, axes[GRAPH_RANK], n_axes;
    int mode = 0;
    pad_attr attr = {.value = call_float(c, "value")};
    TRY(call_value(c, 0, &x, err));
    TRY(find_word(c, "mode", modes, COUNT_OF(modes), &mode, err));
    TRY(call_ints_moved(c, c->version < 2 ? "paddings" : "pads", 11, 1, pads, 2 * GRAPH_RANK, &n,
                        err));
    if (c->version >= 11)
        TRY(call_known_number(c, 2, 0.0, &attr.value, err));
    if (c->version >= 18)
        TRY(call_known_ints(c, 3, given, GRAPH_RANK, &n_given, err));
    int32_t rank = call_shape_of(c, x).rank;
    TRY(named_axes(given, n_given, rank, axes, &n_axes, err));
    if (n != 2 * n_axes)
        return FAIL(err, E_DATA, "it has %" PRId32 " pads for %" PRId32 " axes", n, n_axes);
    attr.mode = (pad_mode)mode;
    for (int32_t i = 0; i < n_axes; i++) {
        attr.pads[axes[i]] = pads[i];
        attr.pads[rank + axes[i]] = pads[n_axes + i];
    }
    return call_finish(c, OP_PAD, &x, 1, &attr, err);
}

/* --- Resize --- */

static status read_mode(call *c, resize_attr *attr, error *err)
{
    static const word modes[] = {
        {"nearest", RESIZE_NEAREST}, {"linear", RESIZE_LINEAR}, {"cubic", RESIZE_CUBIC}};
    int mode = 0;
    TRY(find_word(c, "mode", modes, COUNT_OF(modes), &mode, err));
    attr->mode = (__typeof__(attr->mode))mode;
    return OK;
}

/* Before opset 11 there was one way only, that of Upsample. */
static status read_words(call *c, resize_attr *attr, error *err)
{
    static const word coordinates[] = {
        {"half_pixel", RESIZE_HALF_PIXEL},
        {"pytorch_half_pixel", RESIZE_PYTORCH_HALF_PIXEL},
        {"half_pixel_symmetric", RESIZE_HALF_PIXEL_SYMMETRIC},
        {"tf_half_pixel_for_nn", RESIZE_HALF_PIXEL_FOR_NEAREST},
        {"asymmetric", RESIZE_ASYMMETRIC},
        {"align_corners", RESIZE_ALIGN_CORNERS},
        {"tf_crop_and_resize", RESIZE_CROP}};
    static const word nearest[] = {{"round_prefer_floor", RESIZE_PREFER_FLOOR},
                                   {"round_prefer_ceil", RESIZE_PREFER_CEIL},
                                   {"floor", RESIZE_FLOOR},
                                   {"ceil", RESIZE_CEIL}};
    static const word policies[] = {{"stretch", RESIZE_STRETCH},
                                    {"not_larger", RESIZE_NOT_LARGER},
                                    {"not_smaller", RESIZE_NOT_SMALLER}};
    int where = RESIZE_ASYMMETRIC, near = RESIZE_FLOOR, policy = RESIZE_STRETCH;
    if (c->version >= 11) {
        TRY(find_word(c, "coordinate_transformation_mode", coordinates, COUNT_OF(coordinates),
                      &where, err));
        TRY(find_word(c, "nearest_mode", nearest, COUNT_OF(nearest), &near, err));
        TRY(find_word(c, "keep_aspect_ratio_policy", policies, COUNT_OF(policies), &policy, err));
    }
    attr->coordinates = (__typeof__(attr->coordinates))where;
    attr->nearest = (__typeof__(attr->nearest))near;
    attr->policy = (__typeof__(attr->policy))policy;
    return OK;
}

/* A known list of one number an axis, into `ret` at those axes; what is not there changes
 * nothing. */
static status read_numbers(call *c, int32_t input, const int32_t *axes, int32_t n_axes, double *ret,
                           bool *ret_given, error *err)
{
    const host_tensor *h;
    TRY(call_known(c, input, &h, err));
    *ret_given = h && h->n > 0;
    if (*ret_given && h->n != n_axes)
        return FAIL(err, E_DATA, "its input %" PRId32 " has %" PRId64 " numbers for %" PRId32
                                 " axes",
                    input, h->n, n_axes);
    for (int32_t i = 0; *ret_given && i < n_axes; i++)
        ret[axes[i]] = host_get(h, i);
    return OK;
}

static status read_roi(call *c, int32_t rank, const int32_t *axes, int32_t n_axes, double *ret,
                       error *err)
{
    const host_tensor *h;
    TRY(call_known(c, 1, &h, err));
    for (int32_t i = 0; i < rank; i++)
        ret[rank + i] = 1.0;
    if (!h || h->n != 2 * n_axes)
        return FAIL(err, E_DATA, "its roi must have 2 numbers an axis");
    for (int32_t i = 0; i < n_axes; i++) {
        ret[axes[i]] = host_get(h, i);
        ret[rank + axes[i]] = host_get(h, n_axes + i);
    }
    return OK;
}

status onnx_op_resize(call *c, error *err)
{
    graph_val x;
    int64_t given[GRAPH_RANK];
    int32_t axes[GRAPH_RANK], n_axes;
    double sizes[GRAPH_RANK] = {0};
    bool scaled, sized = false;
    resize_attr attr = {.cubic_a = (float)call_float(c, "cubic_coeff_a"),
                        .outside = (float)call_float(c, "extrapolation_value"),
                        .exclude_outside = call_int(c, "exclude_outside") != 0,
                        .antialias = call_int(c, "antialias") != 0};
    TRY(call_value(c, 0, &x, err));
    int32_t rank = call_shape_of(c, x).rank;
    TRY(read_mode(c, &attr, err));
    TRY(read_words(c, &attr, err));
    TRY(named_axes(given, call_ints(c, "axes", given, GRAPH_RANK), rank, axes, &n_axes, err));
    TRY(read_numbers(c, c->version < 11 ? 1 : 2, axes, n_axes, attr.scales, &scaled, err));
    if (c->version >= 11)
        TRY(read_numbers(c, 3, axes, n_axes, sizes, &sized, err));
    if (scaled == sized)
        return FAIL(err, E_DATA, "it needs scales or sizes, and not both");
    for (int32_t i = 0; i < rank; i++)
        attr.sizes[i] = (int64_t)sizes[i];
    if (attr.coordinates == RESIZE_CROP)
        TRY(read_roi(c, rank, axes, n_axes, attr.roi, err));
    return call_finish(c, OP_RESIZE, &x, 1, &attr, err);
}

/* Scales were an attribute before opset 9. */
status onnx_op_upsample(call *c, error *err)
{
    graph_val x;
    int32_t axes[GRAPH_RANK], n_axes;
    bool scaled;
    resize_attr attr = {.mode = RESIZE_NEAREST};
    const Onnx__AttributeProto *a = call_attribute(c, "scales");
    TRY(call_value(c, 0, &x, err));
    TRY(read_mode(c, &attr, err));
    attr.coordinates = RESIZE_ASYMMETRIC;
    attr.nearest = RESIZE_FLOOR;
    TRY(named_axes(NULL, -1, call_shape_of(c, x).rank, axes, &n_axes, err));
    if (c->version >= 9)
        TRY(read_numbers(c, 1, axes, n_axes, attr.scales, &scaled, err));
    else if (!a || a->n_floats != (size_t)n_axes)
        return FAIL(err, E_DATA, "its scales must have a number for each of %" PRId32 " axes", n_axes);
    for (int32_t i = 0; c->version < 9 && i < n_axes; i++)
        attr.scales[i] = (double)a->floats[i];
    return call_finish(c, OP_RESIZE, &x, 1, &attr, err);
}

/* The modes had other names before opset 20. */
status onnx_op_grid_sample(call *c, error *err)
{
    static const word modes[] = {{"linear", GRID_LINEAR},
                                 {"bilinear", GRID_LINEAR},
                                 {"nearest", GRID_NEAREST},
                                 {"cubic", GRID_CUBIC},
                                 {"bicubic", GRID_CUBIC}};
    static const word paddings[] = {
        {"zeros", GRID_ZEROS}, {"border", GRID_BORDER}, {"reflection", GRID_REFLECTION}};
    graph_val in[2];
    int mode = 0, padding = 0;
    for (int32_t i = 0; i < 2; i++)
        TRY(call_value(c, i, &in[i], err));
    TRY(find_word(c, "mode", modes, COUNT_OF(modes), &mode, err));
    TRY(find_word(c, "padding_mode", paddings, COUNT_OF(paddings), &padding, err));
    grid_attr attr = {.align_corners = call_int(c, "align_corners") != 0};
    attr.mode = mode;
    attr.padding = padding;
    return call_finish(c, OP_GRID_SAMPLE, in, 2, &attr, err);
}
