/* What moves elements without looking at them, or takes them from between, in ONNX, with the batch left open. */
#include "onnx/write/ops.h"

/* Sizes as Reshape takes them: 0 copies the input's axis, one -1 takes what is left. */
status write_reshape(maker *m, const graph_node *n, error *err)
{
    const graph_shape *x = maker_shape(m, n->in[0]), *x2 = maker_twin_shape(m, n->in[0]);
    const graph_shape *y = maker_shape(m, n->out[0]), *y2 = maker_twin_shape(m, n->out[0]);
    int64_t sizes[GRAPH_RANK];
    int n_left = 0;
    for (int32_t i = 0; i < y->rank; i++) {
        bool is_open = y->dim[i] != y2->dim[i];
        bool is_copy = i < x->rank && x->dim[i] == y->dim[i] && x2->dim[i] == y2->dim[i];
        sizes[i] = !is_open ? y->dim[i] : is_copy ? 0 : -1;
        n_left += sizes[i] == -1;
    }
    if (n_left > 1)
        return write_not_open(n, "more than one axis", err);
    const char *shape =
        maker_const_ints(m, maker_inside(m, n, "shape"), sizes, (size_t)y->rank);
    maker_call(m, "Reshape", maker_out(m, n, 0), maker_in(m, n, 0), shape, NULL);
    return OK;
}

/* The size of the batch as a list of one, from an input whose axis `axis` it is. */
static const char *open_size(maker *m, const graph_node *n, const char *of, int64_t axis)
{
    const char *shape = maker_call(m, "Shape", maker_inside(m, n, "shape_of"), of, NULL, NULL);
    const char *at = maker_const_ints(m, maker_inside(m, n, "axis"), &axis, 1);
    return maker_call(m, "Gather", maker_inside(m, n, "batch"), shape, at, NULL);
}

/* An input of the model with an axis that is as long as axis `axis` of the output, in both
 * sizes. */
static bool find_open(const maker *m, int64_t size, int64_t twin_size, const char **ret_name,
                      int64_t *ret_axis)
{
    for (size_t i = 0; i < m->graph->n_input; i++) {
        graph_val v = graph_find(m->g, m->graph->input[i]->name);
        const graph_shape *s = maker_shape(m, v), *s2 = maker_twin_shape(m, v);
        for (int32_t axis = 0; axis < s->rank; axis++)
            if (s->dim[axis] == size && s2->dim[axis] == twin_size) {
                *ret_name = m->graph->input[i]->name;
                *ret_axis = axis;
                return true;
            }
    }
    return false;
}

/* Sizes with those around axis `open` fixed. */
static status open_shape(maker *m, const graph_node *n, const int64_t *sizes, int32_t open,
                         const char *ret, error *err)
{
    const graph_shape *y = maker_shape(m, n->out[0]), *y2 = maker_twin_shape(m, n->out[0]);
    const char *of, *parts[3];
    int64_t axis;
    size_t n_parts = 0, behind = (size_t)(y->rank - open - 1);
    if (!find_open(m, y->dim[open], y2->dim[open], &of, &axis))
        return write_not_open(n, "its shape", err);
    if (open > 0)
        parts[n_parts++] = maker_const_ints(m, maker_inside(m, n, "before"), sizes, (size_t)open);
    parts[n_parts++] = open_size(m, n, of, axis);
    if (behind > 0)
        parts[n_parts++] =
            maker_const_ints(m, maker_inside(m, n, "behind"), sizes + open + 1, behind);
    maker_int(m, maker_node(m, "Concat", parts, n_parts, &ret, 1), "axis", 0);
    return OK;
}

/* Expand leaves an axis alone that is asked to be 1 long. An axis that grows to the size of the
 * batch is asked for by the shape of an input. */
status write_expand(maker *m, const graph_node *n, error *err)
{
    const graph_shape *x = maker_shape(m, n->in[0]), *y = maker_shape(m, n->out[0]);
    const graph_shape *y2 = maker_twin_shape(m, n->out[0]);
    const char *shape = maker_inside(m, n, "shape");
    int64_t sizes[GRAPH_RANK];
    int32_t open = GRAPH_NONE, more = y->rank - x->rank;
    for (int32_t i = 0; i < y->rank; i++) {
        bool stays = i >= more && x->dim[i - more] == y->dim[i];
        sizes[i] = stays ? 1 : y->dim[i];
        if (stays || y->dim[i] == y2->dim[i])
            continue;
        if (open != GRAPH_NONE)
            return write_not_open(n, "more than one axis", err);
        open = i;
    }
    if (open != GRAPH_NONE)
        TRY(open_shape(m, n, sizes, open, shape, err));
    else
        maker_const_ints(m, shape, sizes, (size_t)y->rank);
    maker_call(m, "Expand", maker_out(m, n, 0), maker_in(m, n, 0), shape, NULL);
    return OK;
}

status write_transpose(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const transpose_attr *a = n->attr;
    int64_t perm[GRAPH_RANK];
    int32_t rank = maker_shape(m, n->in[0])->rank;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = a->perm[i];
    maker_ints(m, write_same(m, n, 1), "perm", perm, (size_t)rank);
    return OK;
}

/* One axis of a slice in both sizes of the batch; completed by the operator's rule. */
typedef struct cut {
    int64_t begin, end, step, size;
} cut;

static cut cut_of(const graph *g, graph_val y, int32_t axis)
{
    const graph_node *n = graph_node_at(g, graph_value_at(g, y)->def);
    const slice_attr *a = n->attr;
    return (cut){a->begin[axis], a->end[axis], a->step[axis], a->x.dim[axis]};
}

/* A bound that follows the size is counted from the end; one beyond the ends is as good as any. */
static bool say_bound(int64_t at, int64_t twin_at, const cut *c, const cut *twin, int64_t *ret)
{
    bool is_last = at >= c->size - (c->step < 0) && twin_at >= twin->size - (c->step < 0);
    if (at < 0)
        *ret = INT64_MIN;
    else if (is_last)
        *ret = INT64_MAX;
    else if (at == twin_at)
        *ret = at;
    else if (at - c->size == twin_at - twin->size)
        *ret = at - c->size;
    else
        return false;
    return true;
}

status write_slice(maker *m, const graph_node *n, error *err)
{
    int64_t begin[GRAPH_RANK], end[GRAPH_RANK], axes[GRAPH_RANK], step[GRAPH_RANK];
    size_t n_axes = 0;
    for (int32_t i = 0; i < maker_shape(m, n->in[0])->rank; i++) {
        cut c = cut_of(m->g, n->out[0], i), twin = m->twin ? cut_of(m->twin, n->out[0], i) : c;
        bool is_whole = c.begin == 0 && c.step == 1 && c.end == c.size && twin.end == twin.size;
        if (is_whole && twin.begin == 0)
            continue;
        if (!say_bound(c.begin, twin.begin, &c, &twin, &begin[n_axes]) ||
            !say_bound(c.end, twin.end, &c, &twin, &end[n_axes]))
            return write_not_open(n, "what it takes", err);
        axes[n_axes] = i;
        step[n_axes++] = c.step;
    }
    const char *in[] = {
        maker_in(m, n, 0),
        maker_const_ints(m, maker_inside(m, n, "begin"), begin, n_axes),
        maker_const_ints(m, maker_inside(m, n, "end"), end, n_axes),
        maker_const_ints(m, maker_inside(m, n, "axes"), axes, n_axes),
        maker_const_ints(m, maker_inside(m, n, "step"), step, n_axes),
    };
    const char *out = maker_out(m, n, 0);
    maker_node(m, "Slice", in, COUNT_OF(in), &out, 1);
    return OK;
}

/* Pads of the batch would be its own. */
status write_pad(maker *m, const graph_node *n, error *err)
{
    static const char *const modes[] = {
        [PAD_CONSTANT] = "constant", [PAD_REFLECT] = "reflect", [PAD_EDGE] = "edge"};
    const pad_attr *a = n->attr;
    const bool has_value = a->mode == PAD_CONSTANT && a->value != 0;
    const char *out = maker_out(m, n, 0), *in[3] = {maker_in(m, n, 0)};
    if (a->mode == PAD_WRAP)
        return write_not_known(n, "the mode wrap", err);
    in[1] = maker_const_ints(m, maker_inside(m, n, "pads"), a->pads, (size_t)(2 * maker_shape(m, n->in[0])->rank));
    if (has_value)
        in[2] = maker_const_float(m, maker_inside(m, n, "value"), (float)a->value);
    maker_string(m, maker_node(m, "Pad", in, has_value ? 3 : 2, &out, 1), "mode", modes[a->mode]);
    return OK;
}

/* All sizes, of which the batch's is open. */
static status say_sizes(maker *m, const graph_node *n, const char *ret, error *err)
{
    const graph_shape *y = maker_shape(m, n->out[0]), *y2 = maker_twin_shape(m, n->out[0]);
    int32_t open = GRAPH_NONE;
    for (int32_t i = 0; i < y->rank; i++) {
        if (y->dim[i] != y2->dim[i] && open != GRAPH_NONE)
            return write_not_open(n, "more than one axis", err);
        open = y->dim[i] != y2->dim[i] ? i : open;
    }
    if (open != GRAPH_NONE)
        return open_shape(m, n, y->dim, open, ret, err);
    maker_const_ints(m, ret, y->dim, (size_t)y->rank);
    return OK;
}

/* By sizes: the scales of a node are those that these make. */
status write_resize(maker *m, const graph_node *n, error *err)
{
    const resize_attr *a = n->attr;
    const char *sizes = maker_inside(m, n, "sizes"), *out = maker_out(m, n, 0);
    const char *in[] = {maker_in(m, n, 0), "", "", sizes};
    bool is_exact = a->coordinates != RESIZE_CROP && a->coordinates != RESIZE_HALF_PIXEL_SYMMETRIC && !a->antialias;
    for (int32_t i = 0; i < a->x.rank; i++)
        is_exact = is_exact && (a->exact[i] || a->scales[i] == 1.0);
    if (!is_exact)
        return write_not_known(n, "scales that are no sizes, or antialiasing", err);
    TRY(say_sizes(m, n, sizes, err));
    Onnx__NodeProto *node = maker_node(m, "Resize", in, COUNT_OF(in), &out, 1);
    write_fields(m, n, node);
    return OK;
}
