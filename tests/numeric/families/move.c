/* What moves elements, from the coordinates of each: views, copies, slices. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <string.h>

void ref_copy(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
              const void *attr)
{
    (void)op, (void)n_in, (void)attr;
    memcpy(out->x, in->x, (size_t)out->n * sizeof(double));
}

static void transpose(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const transpose_attr *a = attr;
    int32_t rank = in->shape.rank;
    int64_t from[GRAPH_RANK] = {0}, to[GRAPH_RANK];
    for (int64_t i = 0; i < in->n; i++, ref_advance(&in->shape, from)) {
        for (int32_t d = 0; d < rank; d++)
            to[d] = from[a->reverse ? rank - 1 - d : a->perm[d]];
        out->x[ref_ravel(&out->shape, to)] = in->x[i];
    }
}

static void expand(const ref_tensor *in, const ref_tensor *out)
{
    int64_t at[GRAPH_RANK] = {0};
    for (int64_t i = 0; i < out->n; i++, ref_advance(&out->shape, at))
        out->x[i] = in->x[ref_broadcast_from(&in->shape, &out->shape, at)];
}

/* numpy's x[begin:end:step], from the attributes as the graph completed them. */
static void slice(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const slice_attr *a = attr;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        for (int32_t d = 0; d < out->shape.rank; d++)
            at[d] = a->begin[d] + at[d] * a->step[d];
        out->x[i] = in[0].x[ref_ravel(&in[0].shape, at)];
    }
}

void ref_move(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
              const void *attr)
{
    (void)n_in;
    if (op == OP_TRANSPOSE)
        transpose(in, out, attr);
    else if (op == OP_EXPAND)
        expand(in, out);
    else
        slice(in, out, attr);
}

void ref_concat(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    (void)op;
    int32_t axis = ((const axis_attr *)attr)->axis;
    ref_axis whole = ref_split(&out->shape, axis);
    int64_t begin = 0;
    for (int32_t k = 0; k < n_in; k++) {
        ref_axis part = ref_split(&in[k].shape, axis);
        int64_t run = part.n * part.inner;
        for (int64_t o = 0; o < part.outer; o++)
            memcpy(out->x + (o * whole.n + begin) * whole.inner, in[k].x + o * run,
                   (size_t)run * sizeof(double));
        begin += part.n;
    }
}

void ref_trilu(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
               const void *attr)
{
    (void)op, (void)n_in;
    const trilu_attr *a = attr;
    int32_t rank = out->shape.rank;
    int64_t at[GRAPH_RANK] = {0};
    for (int64_t i = 0; i < out->n; i++, ref_advance(&out->shape, at)) {
        double beyond = (double)(at[rank - 1] - at[rank - 2]) - (double)a->k;
        out->x[i] = (a->upper ? beyond >= 0 : beyond <= 0) ? in[0].x[i] : 0;
    }
}

void ref_reverse_sequence(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                          const void *attr)
{
    (void)op, (void)n_in;
    int batch = ((const sequence_attr *)attr)->batch_first ? 0 : 1;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        int64_t length = (int64_t)in[1].x[at[batch]];
        if (at[1 - batch] < length)
            at[1 - batch] = length - 1 - at[1 - batch];
        out->x[i] = in[0].x[ref_ravel(&in[0].shape, at)];
    }
}

/* --- cases --- */

#define SLICE_(...) .attr = ATTR(slice_attr, __VA_ARGS__)
#define PERM(...)     .attr = ATTR(transpose_attr, .perm = {__VA_ARGS__})
#define TO(...)     .attr = ATTR(shape_attr, .shape = SHAPE(__VA_ARGS__))
#define TRIANGLE(...) .attr = ATTR(trilu_attr, __VA_ARGS__)
#define STEPS(batch)  .attr = ATTR(sequence_attr, .batch_first = batch)
#define LENGTHS(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_LENGTH, DT_I64                                                    \
    }

static const op_case copy_rows[] = {
    UNARY(IDENTITY, "", X, .attr = NULL),
    CASE(FLATTEN, "axis 1", 1, IN(X(2, 3, 4, 5)), AXIS(1)),
    CASE(FLATTEN, "axis 0", 1, IN(X(2, 3, 4)), AXIS(0)),
    CASE(FLATTEN, "negative axis", 1, IN(X(2, 3, 4)), AXIS(-1)),
    CASE(FLATTEN, "vectors of channels", 1, IN(X(2, 32, 3, 3)), AXIS(1)),
    CASE(RESHAPE, "inferred", 1, IN(X(2, 3, 4)),
         .attr = ATTR(shape_attr, .shape = {.rank = 2, .dim = {0, -1}}, .zero_copies = true)),
    CASE(RESHAPE, "to rank 4", 1, IN(X(2, 34)),
         .attr = ATTR(shape_attr, .shape = {.rank = 4, .dim = {2, 17, 2, 1}})),
    CASE(RESHAPE, "images", 1, IN(X(2, 16, 4, 6)),
         .attr = ATTR(shape_attr, .shape = {.rank = 4, .dim = {2, 32, 2, 6}})),
    CASE(RESHAPE, "rows of a batch", 1, IN(X(4, 2, 3)),
         .attr = ATTR(shape_attr, .shape = {.rank = 2, .dim = {-1, 6}})),
    CASE(RESHAPE, "whole numbers", 1, IN(INTS(2, 6)),
         .attr = ATTR(shape_attr, .shape = {.rank = 1, .dim = {-1}})),
};
CASES(copy);

static const op_case move_rows[] = {
    CASE(TRANSPOSE, "bits", 1, IN(BITS(3, 17)), .attr = ATTR(transpose_attr, .reverse = true)),
    CASE(TRANSPOSE, "int32", 1, IN(INTS32(3, 17)), .attr = ATTR(transpose_attr, .reverse = true)),
    CASE(TRANSPOSE, "heads apart", 1, IN(X(2, 17, 3, 20)), PERM(0, 2, 1, 3)),
    CASE(TRANSPOSE, "heads apart, transposed", 1, IN(X(2, 33, 3, 20)), PERM(0, 2, 3, 1)),
    CASE(TRANSPOSE, "nothing moves", 1, IN(X(2, 3, 4)), PERM(0, 1, 2)),
    CASE(TRANSPOSE, "a matrix of odd sides", 1, IN(X(67, 45)), PERM(1, 0)),
    CASE(TRANSPOSE, "a thin matrix", 1, IN(X(3, 500)), PERM(1, 0)),
    CASE(TRANSPOSE, "a tall matrix", 1, IN(X(500, 3)), PERM(1, 0)),
    CASE(TRANSPOSE, "a large matrix", 1, IN(X(260, 401)), PERM(1, 0)),
    CASE(TRANSPOSE, "long whole numbers", 1, IN(INTS(40, 35)), PERM(1, 0)),
    CASE(TRANSPOSE, "long bits", 1, IN(BITS(40, 35)), PERM(1, 0)),
    CASE(TRANSPOSE, "reversed", 1, IN(X(3, 17)), .attr = ATTR(transpose_attr, .reverse = true)),
    CASE(TRANSPOSE, "rank 3", 1, IN(X(2, 3, 5)), .attr = ATTR(transpose_attr, .perm = {1, 2, 0})),
    CASE(TRANSPOSE, "channels last", 1, IN(X(2, 17, 3, 4)),
         .attr = ATTR(transpose_attr, .perm = {0, 2, 3, 1})),
    CASE(TRANSPOSE, "long", 1, IN(X(130, 70, 3)), .attr = ATTR(transpose_attr, .perm = {2, 0, 1})),
    CASE(TRANSPOSE, "rank 5", 1, IN(X(2, 3, 2, 4, 3)),
         .attr = ATTR(transpose_attr, .perm = {4, 0, 3, 1, 2})),
    CASE(EXPAND, "examples of a batch", 1, IN(X(4, 3, 1)), TO(3, 5)),
    CASE(EXPAND, "to nothing", 1, IN(X(4, 1)), TO(4, 0)),
    CASE(EXPAND, "a row", 1, IN(X(5)),
         .attr = ATTR(shape_attr, .shape = {.rank = 2, .dim = {3, 5}})),
    CASE(EXPAND, "a column of images", 1, IN(X(2, 3, 1, 1)),
         .attr = ATTR(shape_attr, .shape = {.rank = 4, .dim = {2, 3, 4, 5}})),
    CASE(EXPAND, "scalar", 1, IN(SCALAR),
         .attr = ATTR(shape_attr, .shape = {.rank = 2, .dim = {3, 5}})),
    CASE(EXPAND, "a middle axis", 1, IN(X(3, 1, 17)), TO(3, 40, 17)),
    CASE(EXPAND, "rows and columns", 1, IN(X(3, 1, 4, 1)), TO(2, 3, 5, 4, 7)),
    CASE(EXPAND, "long", 1, IN(X(20, 1)), TO(20, 2100)),
    CASE(EXPAND, "whole numbers", 1, IN(INTS(3, 1)), TO(3, 5)),
    CASE(EXPAND, "bits", 1, IN(BITS(1, 3)), TO(17, 3)),
    CASE(SLICE, "rows", 1, IN(X(7, 3)),
         SLICE_(.n_axes = 1, .axes = {0}, .begin = {2}, .end = {5}, .step = {1})),
    CASE(SLICE, "channels", 1, IN(X(2, 19, 3, 4)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {1}, .end = {18}, .step = {1})),
    CASE(SLICE, "everything", 1, IN(X(3, 5))),
    CASE(SLICE, "columns", 1, IN(X(40, 700)),
         SLICE_(.n_axes = 1, .axes = {-1}, .begin = {3}, .end = {-2}, .step = {1})),
    CASE(SLICE, "two columns of many rows", 1, IN(X(700, 9)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {4}, .end = {6}, .step = {1})),
    CASE(SLICE, "one column", 1, IN(X(33, 5, 4)),
         SLICE_(.n_axes = 1, .axes = {2}, .begin = {-1}, .end = {INT64_MAX}, .step = {1})),
    CASE(SLICE, "steps", 1, IN(X(11, 19)),
         SLICE_(.n_axes = 2, .axes = {0, 1}, .begin = {1, 2}, .end = {11, 18}, .step = {3, 2})),
    CASE(SLICE, "backwards", 1, IN(X(4, 33)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {-1}, .end = {INT64_MIN}, .step = {-1})),
    CASE(SLICE, "backwards with steps", 1, IN(X(7, 6, 5)),
         SLICE_(.n_axes = 3, .axes = {2, 0, 1}, .begin = {4, -2, 0}, .end = {0, -7, 5},
                .step = {-2, -3, 1})),
    CASE(SLICE, "a box", 1, IN(X(5, 6, 20, 30)),
         SLICE_(.n_axes = 2, .axes = {2, 3}, .begin = {3, 5}, .end = {17, 29}, .step = {1, 1})),
    CASE(SLICE, "whole numbers", 1, IN(INTS(5, 17)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {2}, .end = {15}, .step = {2})),
    CASE(SLICE, "int32", 1, IN(INTS32(5, 17)),
         SLICE_(.n_axes = 1, .begin = {2}, .end = {4}, .step = {1})),
    CASE(SLICE, "nothing", 1, IN(X(5, 17)),
         SLICE_(.n_axes = 1, .begin = {2}, .end = {2}, .step = {1})),
    CASE(SLICE, "nothing, backwards", 1, IN(X(5, 17)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {-99}, .end = {3}, .step = {-2})),
    CASE(SLICE, "bits", 1, IN(BITS(5, 17)),
         SLICE_(.n_axes = 1, .axes = {1}, .begin = {12}, .end = {1}, .step = {-1})),
    CASE(SLICE, "last of rank 5", 1, IN(X(2, 1, 3, 2, 4)),
         SLICE_(.n_axes = 1, .axes = {4}, .begin = {0}, .end = {1}, .step = {1})),
};
CASES(move);

static const op_case concat_rows[] = {
    CASE(CONCAT, "first axis", 2, IN(X(2, 5), X(3, 5)), AXIS(0)),
    CASE(CONCAT, "channels", 3, IN(X(2, 3, 4, 5), X(2, 17, 4, 5), X(2, 1, 4, 5)), AXIS(1)),
    CASE(CONCAT, "vectors of channels", 2, IN(X(2, 16, 3, 3), X(2, 32, 3, 3)), AXIS(1)),
    CASE(CONCAT, "last axis of rank 5", 2, IN(X(2, 1, 3, 2, 4), X(2, 1, 3, 2, 3)), AXIS(-1)),
    CASE(CONCAT, "rank 1", 2, IN(X(3), X(4)), AXIS(0)),
    CASE(CONCAT, "ten", 10,
         IN(X(2, 1), X(2, 5), X(2, 2), X(2, 3), X(2, 1), X(2, 17), X(2, 4), X(2, 1), X(2, 2),
            X(2, 6)),
         AXIS(1)),
    CASE(CONCAT, "whole numbers", 2, IN(INTS(2, 3), INTS(2, 4)), AXIS(1)),
    CASE(CONCAT, "bits", 3, IN(BITS(3), BITS(1), BITS(17)), AXIS(0)),
    CASE(CONCAT, "alone", 1, IN(X(2, 3)), AXIS(1)),
};
CASES(concat);

static const op_case trilu_rows[] = {
    CASE(TRILU, "upper", 1, IN(X(5, 7)), TRIANGLE(.upper = true)),
    CASE(TRILU, "lower", 1, IN(X(5, 7)), TRIANGLE(.k = 0)),
    CASE(TRILU, "above", 1, IN(X(2, 3, 6, 6)), TRIANGLE(.upper = true, .k = 2)),
    CASE(TRILU, "below", 1, IN(X(3, 7, 4)), TRIANGLE(.k = -3)),
    CASE(TRILU, "all", 1, IN(X(4, 4)), TRIANGLE(.k = INT64_MAX)),
    CASE(TRILU, "nothing", 1, IN(X(4, 4)), TRIANGLE(.upper = true, .k = INT64_MAX)),
    CASE(TRILU, "all but little", 1, IN(X(4, 5)), TRIANGLE(.upper = true, .k = INT64_MIN)),
    CASE(TRILU, "long", 1, IN(X(300, 190)), TRIANGLE(.k = 5)),
    CASE(TRILU, "bits", 1, IN(BITS(9, 9)), TRIANGLE(.k = 1)),
    CASE(TRILU, "whole numbers", 1, IN(INTS(9, 9)), TRIANGLE(.upper = true, .k = -1)),
};
CASES(trilu);

static const op_case reverse_sequence_rows[] = {
    CASE(REVERSE_SEQUENCE, "steps first", 2, IN(X(7, 4, 3), LENGTHS(4)), STEPS(false)),
    CASE(REVERSE_SEQUENCE, "batch first", 2, IN(X(4, 7), LENGTHS(4)), STEPS(true)),
    CASE(REVERSE_SEQUENCE, "long", 2, IN(X(5, 200, 33), LENGTHS(5)), STEPS(true)),
    CASE(REVERSE_SEQUENCE, "whole numbers", 2, IN(INTS(6, 2), LENGTHS(2)), STEPS(false)),
};
CASES(reverse_sequence);
