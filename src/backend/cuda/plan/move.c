/*
 * What only moves elements: Transpose, Expand, Slice and its gradient, Concat. Any element type. A
 * box is moved in the widest pieces that its strides allow; a matrix that turns goes by tiles.
 */
#include "backend/cuda/plan/move.h"

#include "backend/cuda/plan/plan.h"

enum {
    WIDEST = 16, /* bytes */
    NARROW = 8,  /* a matrix with a shorter side is moved element by element */
};

/* One box, and where it begins on both sides, in elements. */
typedef struct box {
    axes over;
    size_t element; /* bytes */
    int64_t to, from;
    int down; /* of a matrix that turns: launch_transpose's axis; else -1 */
} box;

static bool has_stride_1(const box *b, int axis, int operand)
{
    return b->over.stride[axis][operand] == 1;
}

/* Pairs of elements become elements of twice the size, as long as runs on both sides do. */
static void widen(box *b)
{
    axes *a = &b->over;
    int last = a->rank - 1;
    while (b->element < WIDEST && has_stride_1(b, last, 0) && has_stride_1(b, last, 1)) {
        bool is_odd = a->dim[last] % 2 || b->to % 2 || b->from % 2;
        for (int i = 0; i < last; i++)
            is_odd |= a->stride[i][0] % 2 || a->stride[i][1] % 2;
        if (is_odd)
            return;
        a->dim[last] /= 2;
        b->to /= 2;
        b->from /= 2;
        for (int i = 0; i < last; i++)
            for (int k = 0; k < 2; k++)
                a->stride[i][k] /= 2;
        b->element *= 2;
    }
}

static int find_matrix(const box *b)
{
    const axes *a = &b->over;
    int last = a->rank - 1;
    if (!has_stride_1(b, last, 0) || a->stride[last][1] == 0 || a->dim[last] < NARROW ||
        axes_elements(a) / (NARROW * NARROW) > INT32_MAX) /* there may be that many tiles */
        return -1;
    for (int i = 0; i < last; i++)
        if (has_stride_1(b, i, 1) && a->dim[i] >= NARROW)
            return i;
    return -1;
}

static box box_of(axes over, dtype t, int64_t to, int64_t from)
{
    box b = {.over = over, .element = dtype_bytes(t), .to = to, .from = from};
    b.down = find_matrix(&b);
    if (b.down < 0)
        widen(&b);
    return b;
}

static void move_box(cuda_stream stream, const box *b, void *to, const void *from)
{
    char *y = (char *)to + b->to * (int64_t)b->element;
    const char *x = (const char *)from + b->from * (int64_t)b->element;
    if (b->down < 0)
        launch_move(stream, b->element, y, x, &b->over);
    else
        launch_transpose(stream, b->element, y, x, &b->over, b->down);
}

/* --- one box --- */

void cuda_move(cuda_stream stream, const axes *over, dtype t, void *to, const void *from)
{
    box b = box_of(*over, t, 0, 0);
    move_box(stream, &b, to, from);
}

static void run_move(const cuda_node *n, const cuda_call *c)
{
    move_box(c->stream, n->state, c->out[0], c->in[0]);
}

status cuda_plan_move(cuda_node *n)
{
    const graph_value *x = cuda_in(n, 0), *y = cuda_out(n, 0);
    box *b = cuda_node_runs(n, run_move, sizeof *b);
    int64_t first = 0;
    axes over;
    if (n->node->op == OP_TRANSPOSE)
        over = axes_of_transpose(&x->shape, n->node->attr);
    else if (n->node->op == OP_EXPAND)
        over = axes_of_expand(&y->shape, &x->shape);
    else
        over = axes_of_slice(&x->shape, &y->shape, n->node->attr, false, &first);
    *b = box_of(over, cuda_out_storage(n, 0).type, 0, first);
    return OK;
}

/* --- a box among zeros, or added to a base --- */

static status run_slice_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    const box *b = n->state;
    TRY(cuda_begin_sum(n, c, err));
    if (n->takes_inplace)
        launch_move_add(c->stream, (float *)c->out[0] + b->to, c->in[0], &b->over);
    else
        move_box(c->stream, b, c->out[0], c->in[0]);
    return OK;
}

status cuda_plan_slice_bwd(cuda_node *n)
{
    const graph_value *dy = cuda_in(n, 0), *dx = cuda_out(n, 0);
    box *b = cuda_node_alloc(n, sizeof *b);
    int64_t first;
    axes over = axes_of_slice(&dx->shape, &dy->shape, n->node->attr, true, &first);
    n->takes_inplace = graph_node_inplace(n->node) != GRAPH_NONE; /* there is a base */
    if (n->takes_inplace)                                         /* added element by element */
        *b = (box){.over = over, .to = first};
    else
        *b = box_of(over, cuda_out_storage(n, 0).type, first, 0);
    n->body = run_slice_bwd;
    n->state = b;
    return OK;
}

/* --- a box an input --- */

static void run_concat(const cuda_node *n, const cuda_call *c)
{
    const box *parts = n->state;
    for (int k = 0; k < n->node->n_in; k++)
        move_box(c->stream, &parts[k], c->out[0], c->in[k]);
}

status cuda_plan_concat(cuda_node *n)
{
    const graph_value *y = cuda_out(n, 0);
    int32_t axis = ((const axis_attr *)n->node->attr)->axis;
    box *parts = cuda_node_runs(n, run_concat, (size_t)n->node->n_in * sizeof *parts);
    int64_t stride[GRAPH_RANK], begin = 0;
    axes_row_major(&y->shape, stride);
    for (int k = 0; k < n->node->n_in; k++) {
        int64_t size = cuda_in(n, k)->shape.dim[axis];
        parts[k] = box_of(axes_of_part(&y->shape, axis, size), cuda_out_storage(n, 0).type,
                          begin * stride[axis], 0);
        begin += size;
    }
    return OK;
}
