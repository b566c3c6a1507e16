/*
 * Resize: every axis by itself, as taps.h says. The rule turns scales into sizes and sizes into
 * scales, so that afterwards both stand for every axis, and mean the same when they are read again.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_CHOICE(resize_attr, mode, "mode", "nearest linear cubic", RESIZE_NEAREST),
    ATTR_CHOICE(resize_attr, coordinates, "coordinate_transformation_mode",
                "half_pixel pytorch_half_pixel half_pixel_symmetric tf_half_pixel_for_nn asymmetric "
                "align_corners tf_crop_and_resize",
                RESIZE_HALF_PIXEL),
    ATTR_CHOICE(resize_attr, nearest, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil",
                RESIZE_PREFER_FLOOR),
    ATTR_CHOICE(resize_attr, policy, "keep_aspect_ratio_policy", "stretch not_larger not_smaller",
                RESIZE_STRETCH),
    ATTR_FIELD(resize_attr, sizes, "sizes", ATTR_NUMBERS, 0), /* an axis without either stays */
    ATTR_FIELD(resize_attr, scales, "scales", ATTR_REALS, 0),
    ATTR_FIELD(resize_attr, roi, "roi", ATTR_REALS, 0),
    ATTR_FIELD(resize_attr, cubic_a, "cubic_coeff_a", ATTR_FLOAT, -0.75),
    ATTR_FIELD(resize_attr, outside, "extrapolation_value", ATTR_FLOAT, 0),
    ATTR_FIELD(resize_attr, exclude_outside, "exclude_outside", ATTR_BOOL, 0),
    ATTR_FIELD(resize_attr, antialias, "antialias", ATTR_BOOL, 0),
    ATTR_MORE,
};

/* One scale for all axes that were given a size: the smallest, or the largest. */
static void keep_aspect(resize_attr *a)
{
    double one = 0;
    for (int32_t i = 0; i < a->x.rank; i++) {
        double scale = (double)a->sizes[i] / (double)a->x.dim[i];
        bool smaller = scale < one;
        if (a->sizes[i] > 0 && a->x.dim[i] > 0 &&
            (one == 0 || smaller == (a->policy == RESIZE_NOT_LARGER)))
            one = scale;
    }
    for (int32_t i = 0; i < a->x.rank; i++)
        if (a->sizes[i] > 0 && a->x.dim[i] > 0) {
            a->scales[i] = one;
            a->sizes[i] = (int64_t)(one * (double)a->x.dim[i] + 0.5);
        }
}

static status complete_axis(const graph_node *n, resize_attr *a, int32_t i, error *err)
{
    const double limit = 1e12;
    double size = (double)a->x.dim[i], scale = a->scales[i];
    if (a->sizes[i] < 0 || !(scale >= 0) || scale * size > limit)
        return rule_fail(n, err,
                         "axis %" PRId32 " of the input %s cannot take the size %" PRId64
                         " or the scale %g",
                         i, SHAPE(&a->x), a->sizes[i], scale);
    if (a->sizes[i] == 0 && scale == 0)
        a->sizes[i] = a->x.dim[i];
    if (a->sizes[i] == 0) {
        a->sizes[i] = (int64_t)(scale * size);
    } else if (scale == 0) {
        a->scales[i] = (double)a->sizes[i] / size;
        a->exact[i] = true;
    }
    if (a->sizes[i] < 1 && a->x.dim[i] > 0)
        return rule_fail(n, err, "the scale %g leaves nothing of axis %" PRId32 " of the input %s",
                         scale, i, SHAPE(&a->x));
    if (a->sizes[i] > 0 && a->x.dim[i] == 0)
        return rule_fail(n, err,
                         "axis %" PRId32 " of the input %s has no elements to make %" PRId64 " of",
                         i, SHAPE(&a->x), a->sizes[i]);
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    resize_attr *a = (resize_attr *)n->attr;
    TRY(rule_float(g, n, 0, err));
    a->x = *rule_shape(g, n, 0);
    if (a->policy != RESIZE_STRETCH)
        keep_aspect(a);
    a->policy = RESIZE_STRETCH; /* followed: scales say it now */
    ret_shape[0].rank = a->x.rank;
    for (int32_t i = 0; i < a->x.rank; i++) {
        TRY(complete_axis(n, a, i, err));
        ret_shape[0].dim[i] = a->sizes[i];
    }
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(RESIZE, resize, "Resize", ATTRIBUTES(resize_attr, fields), .infer = infer,
         BACKWARD(RESIZE_BWD, DY(0)));

/* The attributes are those a Resize has completed. */
static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const resize_attr *a = n->attr;
    graph_shape y = {.rank = a->x.rank};
    for (int32_t i = 0; i < y.rank; i++)
        y.dim[i] = a->sizes[i];
    TRY(rule_float(g, n, 0, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(RESIZE_BWD, resize_bwd, "ResizeBwd", ATTRIBUTES(resize_attr, fields),
         .infer = infer_bwd);
