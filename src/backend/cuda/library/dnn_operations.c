#include "backend/cuda/library/dnn_operations.h"

dnn_desc dnn_multiply(dnn_graph *g, dnn_desc a, dnn_desc b, dnn_desc y)
{
    unsigned sums = DNN_F32;
    dnn_desc how = dnn_make(g, DNN_MATMUL, DNN_ATTRIBUTES({DNN_MATMUL_TYPE, DNN_IS_TYPE, 1, &sums}));
    dnn_operation(g, DNN_OP_MATMUL,
                  DNN_ATTRIBUTES({DNN_OP_MATMUL_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_MATMUL_A, DNN_IS_DESCRIPTOR, 1, &a},
                                 {DNN_OP_MATMUL_B, DNN_IS_DESCRIPTOR, 1, &b},
                                 {DNN_OP_MATMUL_C, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

dnn_desc dnn_reduce(dnn_graph *g, unsigned what, bool in_order, dnn_desc x, dnn_desc y)
{
    unsigned sums = DNN_F32;
    dnn_desc how = dnn_make(g, DNN_REDUCTION,
                            DNN_ATTRIBUTES({DNN_REDUCTION_OPERATOR, DNN_IS_REDUCTION, 1, &what},
                                           {DNN_REDUCTION_TYPE, DNN_IS_TYPE, 1, &sums},
                                           {DNN_REDUCTION_IS_DETERMINISTIC, DNN_IS_BOOL, 1, &in_order}));
    dnn_operation(g, DNN_OP_REDUCTION,
                  DNN_ATTRIBUTES({DNN_OP_REDUCTION_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_REDUCTION_X, DNN_IS_DESCRIPTOR, 1, &x},
                                 {DNN_OP_REDUCTION_Y, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

dnn_desc dnn_reshape(dnn_graph *g, dnn_desc x, dnn_desc y)
{
    dnn_operation(g, DNN_OP_RESHAPE,
                  DNN_ATTRIBUTES({DNN_OP_RESHAPE_X, DNN_IS_DESCRIPTOR, 1, &x},
                                 {DNN_OP_RESHAPE_Y, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

static dnn_desc apply(dnn_graph *g, dnn_desc how, const dnn_desc x[3], dnn_desc y)
{
    dnn_operation(g, DNN_OP_POINTWISE,
                  DNN_ATTRIBUTES({DNN_OP_POINTWISE_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_POINTWISE_X, DNN_IS_DESCRIPTOR, 1, &x[0]},
                                 {DNN_OP_POINTWISE_Y, DNN_IS_DESCRIPTOR, 1, &y},
                                 {DNN_OP_POINTWISE_B, DNN_IS_DESCRIPTOR, 1, x[1] ? &x[1] : NULL},
                                 {DNN_OP_POINTWISE_T, DNN_IS_DESCRIPTOR, 1, x[2] ? &x[2] : NULL}));
    return y;
}

dnn_desc dnn_pointwise(dnn_graph *g, unsigned what, unsigned precision, const dnn_desc x[3], dnn_desc y)
{
    dnn_desc how = dnn_make(g, DNN_POINTWISE,
                            DNN_ATTRIBUTES({DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, &what},
                                           {DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, &precision}));
    return apply(g, how, x, y);
}

dnn_desc dnn_index(dnn_graph *g, int64_t axis, dnn_desc x, dnn_desc y)
{
    unsigned what = DNN_INDEX, precision = DNN_INT32;
    dnn_desc how = dnn_make(g, DNN_POINTWISE,
                            DNN_ATTRIBUTES({DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, &what},
                                           {DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, &precision},
                                           {DNN_POINTWISE_AXIS, DNN_IS_INT64, 1, &axis}));
    return apply(g, how, (dnn_desc[3]){x}, y);
}

dnn_desc dnn_draw(dnn_graph *g, double probability, dnn_desc seed, dnn_desc offset, dnn_desc y)
{
    unsigned what = DNN_BERNOULLI;
    dnn_desc how = dnn_make(g, DNN_RNG,
                            DNN_ATTRIBUTES({DNN_RNG_DISTRIBUTION, DNN_IS_RNG_DISTRIBUTION, 1, &what},
                                           {DNN_RNG_PROBABILITY, DNN_IS_DOUBLE, 1, &probability}));
    dnn_operation(g, DNN_OP_RNG,
                  DNN_ATTRIBUTES({DNN_OP_RNG_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_RNG_SEED, DNN_IS_DESCRIPTOR, 1, &seed},
                                 {DNN_OP_RNG_OFFSET, DNN_IS_DESCRIPTOR, 1, &offset},
                                 {DNN_OP_RNG_Y, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}
