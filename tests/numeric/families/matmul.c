/* Gemm and MatMul. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <stdlib.h>

static void gemm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    const gemm_attr *a = attr;
    double alpha = (double)a->alpha, beta = (double)a->beta;
    int64_t m = out->shape.dim[0], n = out->shape.dim[1];
    int64_t depth = in[0].shape.dim[a->trans_a ? 0 : 1];
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += in[0].x[a->trans_a ? k * m + i : i * depth + k] *
                       in[1].x[a->trans_b ? j * depth + k : k * n + j];
            double c = 0;
            if (n_in > 2 && in[2].x)
                c = in[2].x[ref_broadcast_from(&in[2].shape, &out->shape, (int64_t[]){i, j})];
            out->x[i * n + j] = alpha * sum + beta * c;
        }
    }
}

/* A vector is a row on the left and a column on the right. */
static graph_shape as_matrices(const graph_shape *s, bool left)
{
    if (s->rank > 1)
        return *s;
    return left ? (graph_shape){2, {1, s->dim[0]}} : (graph_shape){2, {s->dim[0], 1}};
}

/* Row-major matrices below the leading axes, which broadcast. */
static const double *matrix_at(const double *x, const graph_shape *shape, const graph_shape *to,
                               const int64_t *at)
{
    graph_shape lead = *shape, to_lead = *to;
    lead.rank -= 2;
    to_lead.rank -= 2;
    return x + ref_broadcast_from(&lead, &to_lead, at) * shape->dim[lead.rank] *
                   shape->dim[lead.rank + 1];
}

/* The matmul's shape before the axes that vectors brought are dropped. */
static graph_shape matmul_shape(const graph_shape *a, const graph_shape *b, const void *attr)
{
    const matmul_attr *t = attr;
    const graph_shape *longer = a->rank > b->rank ? a : b;
    graph_shape y = *longer;
    for (int32_t d = 0; d < y.rank - 2; d++) {
        int32_t i = d - (y.rank - a->rank), j = d - (y.rank - b->rank);
        int64_t da = i >= 0 ? a->dim[i] : 1, db = j >= 0 ? b->dim[j] : 1;
        y.dim[d] = da > db ? da : db;
    }
    y.dim[y.rank - 2] = a->dim[a->rank - (t->trans_a ? 1 : 2)];
    y.dim[y.rank - 1] = b->dim[b->rank - (t->trans_b ? 2 : 1)];
    return y;
}

static void matmul(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const matmul_attr *t = attr;
    graph_shape a = as_matrices(&in[0].shape, true), b = as_matrices(&in[1].shape, false);
    graph_shape y = matmul_shape(&a, &b, attr);
    int64_t m = y.dim[y.rank - 2], n = y.dim[y.rank - 1];
    int64_t depth = a.dim[a.rank - (t->trans_a ? 2 : 1)];
    int64_t at[GRAPH_RANK] = {0};
    for (int64_t element = 0; element < out->n; element++, ref_advance(&y, at)) {
        const double *left = matrix_at(in[0].x, &a, &y, at);
        const double *right = matrix_at(in[1].x, &b, &y, at);
        int64_t i = at[y.rank - 2], j = at[y.rank - 1];
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += left[t->trans_a ? k * m + i : i * depth + k] *
                   right[t->trans_b ? j * depth + k : k * n + j];
        out->x[element] = sum;
    }
}

void ref_matmul(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    if (op == OP_GEMM)
        gemm(in, n_in, out, attr);
    else
        matmul(in, out, attr);
}

/* --- cases --- */

static const op_case matmul_rows[] = {
    CASE(GEMM, "plain", 2, IN(X(4, 5), X(5, 6))),
    CASE(GEMM, "bias row", 3, IN(X(4, 5), X(5, 6), X(6))),
    CASE(GEMM, "a linear layer", 3, IN(X(8, 129), X(33, 129), X(33)),
         GEMM_(GEMM_UNSCALED, .trans_b = true)),
    CASE(GEMM, "batch 1", 3, IN(X(1, 40), X(10, 40), X(10)), GEMM_(GEMM_UNSCALED, .trans_b = true)),
    CASE(GEMM, "a transposed, bias column", 3, IN(X(17, 3), X(17, 5), X(3, 1)),
         GEMM_(GEMM_UNSCALED, .trans_a = true)),
    CASE(GEMM, "both transposed, factors", 3, IN(X(7, 4), X(5, 7), X(1, 5)),
         GEMM_(.trans_a = true, .trans_b = true, .alpha = 0.5f, .beta = -2)),
    CASE(GEMM, "scalar bias", 3, IN(X(3, 1), X(1, 4), SCALAR), GEMM_(.alpha = 1, .beta = 3)),
    CASE(GEMM, "blocks", 3, IN(X(130, 300), X(300, 70), X(70))),
    CASE(GEMM, "tall, a transposed", 2, IN(X(257, 1025), X(257, 19)),
         GEMM_(GEMM_UNSCALED, .trans_a = true)),
    CASE(GEMM, "no matmul", 3, IN(X(4, 5), X(5, 6), X(6)), GEMM_(.alpha = 0, .beta = 2)),
    CASE(GEMM, "no bias", 3, IN(X(4, 5), X(5, 6), X(6)), GEMM_(.alpha = 0.5f, .beta = 0)),
    CASE(GEMM, "full bias", 3, IN(X(65, 17), X(17, 3), X(65, 3)), GEMM_(.alpha = 2, .beta = 1)),
    CASE(MATMUL, "matrices", 2, IN(X(3, 17), X(17, 5))),
    CASE(MATMUL, "equal batches", 2, IN(X(2, 3, 4), X(2, 4, 5))),
    CASE(MATMUL, "second has no batch", 2, IN(X(2, 3, 4), X(4, 5))),
    CASE(MATMUL, "first has no batch", 2, IN(X(3, 4), X(2, 4, 5))),
    CASE(MATMUL, "batches broadcast", 2, IN(X(2, 1, 3, 4), X(5, 4, 2))),
    CASE(MATMUL, "transposed", 2, IN(X(2, 4, 3), X(2, 5, 4)),
         .attr = ATTR(matmul_attr, .trans_a = true, .trans_b = true)),
    CASE(MATMUL, "two vectors", 2, IN(X(7), X(7))),
    CASE(MATMUL, "vector and matrices", 2, IN(X(4), X(2, 4, 5))),
    CASE(MATMUL, "matrices and vector", 2, IN(X(2, 3, 4), X(4))),
    CASE(MATMUL, "rank 5", 2, IN(X(2, 1, 2, 3, 4), X(2, 3, 1, 4, 2))),
};
CASES(matmul);
