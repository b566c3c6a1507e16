/*
 * RoiAlign: x [N,C,H,W], regions [R,4] as x1 y1 x2 y2, the image of each, int64 [R] -> y
 * [R,C,rows,columns]. As everywhere else nothing flows back into the regions: they count as given.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_WITHIN(roi_attr, rows, "output_height", ATTR_INT, 1, 1, (double)INT32_MAX),
    ATTR_WITHIN(roi_attr, columns, "output_width", ATTR_INT, 1, 1, (double)INT32_MAX),
    ATTR_WITHIN(roi_attr, ratio, "sampling_ratio", ATTR_INT, 0, 0, (double)INT32_MAX),
    ATTR_FIELD(roi_attr, scale, "spatial_scale", ATTR_FLOAT, 1),
    ATTR_CHOICE(roi_attr, half_pixel, "coordinate_transformation_mode", "output_half_pixel half_pixel",
                1),
    ATTR_CHOICE(roi_attr, largest, "mode", "avg max", 0),
    {0},
};

static status check(const graph *g, const graph_node *n, int32_t x, int32_t rois, int32_t images,
                    error *err)
{
    const graph_shape *of = rule_shape(g, n, x), *boxes = rule_shape(g, n, rois);
    const graph_shape *image = rule_shape(g, n, images);
    TRY(rule_float(g, n, x, err));
    TRY(rule_float(g, n, rois, err));
    TRY(rule_type_is(g, n, images, DT_I64, err));
    if (of->rank != 4 || boxes->rank != 2 || boxes->dim[1] != 4 || image->rank != 1 ||
        image->dim[0] != boxes->dim[0])
        return rule_fail(n, err,
                         "the input %s, regions %s and their images %s must be [N,C,H,W], [R,4] and "
                         "[R]",
                         SHAPE(of), SHAPE(boxes), SHAPE(image));
    if (of->dim[1] * of->dim[2] * of->dim[3] == 0 || (of->dim[0] == 0 && boxes->dim[0] > 0))
        return rule_fail(n, err, "the input %s has no elements for the regions %s", SHAPE(of),
                         SHAPE(boxes));
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const roi_attr *a = n->attr;
    (void)ret_dtype;
    TRY(check(g, n, 0, 1, 2, err));
    ret_shape[0] = (graph_shape){
        4, {rule_shape(g, n, 1)->dim[0], rule_shape(g, n, 0)->dim[1], a->rows, a->columns}};
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    graph_shape rois = emit_shape_of(d->g, d->n.in[1]);
    if (d->wants[1])
        TRY(emit_zero(d->g, &rois, &d->dx[1], err));
    if (!d->wants[0])
        return OK;
    const graph_val in[] = {d->dy[0], d->n.in[0], d->n.in[1], d->n.in[2]};
    return graph_add_1(d->g, OP_ROI_ALIGN_BWD, NULL, in, 4, d->n.attr, &d->dx[0], err);
}

GRAPH_OP(ROI_ALIGN, roi_align, "RoiAlign", ATTRIBUTES(roi_attr, fields), .infer = infer,
         .grad = grad);

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const roi_attr *a = n->attr;
    (void)ret_dtype;
    TRY(check(g, n, 1, 2, 3, err));
    graph_shape dy = {4,
                      {rule_shape(g, n, 2)->dim[0], rule_shape(g, n, 1)->dim[1], a->rows,
                       a->columns}};
    TRY(rule_expect(g, n, 0, "the gradient", &dy, err));
    ret_shape[0] = *rule_shape(g, n, 1);
    return OK;
}

GRAPH_OP(ROI_ALIGN_BWD, roi_align_bwd, "RoiAlignBwd", ATTRIBUTES(roi_attr, fields),
         .infer = infer_bwd);
