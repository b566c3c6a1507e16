#include "cuda_emu/numeric/support_exact.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const bool exact[OP_COUNT] = {
    [OP_ADD] = true,
    [OP_AND] = true,
    [OP_ARG_MAX] = true,
    [OP_ARG_MIN] = true,
    [OP_CAST] = true,
    [OP_CONCAT] = true,
    [OP_DIV] = true,
    [OP_DROPOUT] = true,
    [OP_DROPOUT_BWD] = true,
    [OP_EQUAL] = true,
    [OP_EXPAND] = true,
    [OP_FLATTEN] = true,
    [OP_GATHER] = true,
    [OP_GATHER_BWD] = true,
    [OP_GATHER_ELEMENTS] = true,
    [OP_GATHER_ND] = true,
    [OP_GREATER] = true,
    [OP_GREATER_OR_EQUAL] = true,
    [OP_GRID_SAMPLE] = true,
    [OP_GRID_SAMPLE_BWD] = true,
    [OP_HARDMAX] = true,
    [OP_IDENTITY] = true,
    [OP_IS_INF] = true,
    [OP_IS_NAN] = true,
    [OP_LESS] = true,
    [OP_LESS_OR_EQUAL] = true,
    [OP_LP_POOL] = true,
    [OP_LP_POOL_BWD] = true,
    [OP_MAX] = true,
    [OP_MAX_BWD] = true,
    [OP_MAX_POOL] = true,
    [OP_MIN] = true,
    [OP_MIN_BWD] = true,
    [OP_MOD] = true,
    [OP_MUL] = true,
    [OP_NEG] = true,
    [OP_NOT] = true,
    [OP_ONE_HOT] = true,
    [OP_OR] = true,
    [OP_PAD] = true,
    [OP_PAD_BWD] = true,
    [OP_POW] = true,
    [OP_PRELU] = true,
    [OP_PRELU_BWD] = true,
    [OP_RANDOM] = true,
    [OP_ROI_ALIGN] = true,
    [OP_ROI_ALIGN_BWD] = true,
    [OP_REDUCE_MAX] = true,
    [OP_REDUCE_MIN] = true,
    [OP_RESHAPE] = true,
    [OP_RESIZE] = true,
    [OP_RESIZE_BWD] = true,
    [OP_REVERSE_SEQUENCE] = true,
    [OP_ROTARY_EMBEDDING] = true,
    [OP_SCATTER_ELEMENTS] = true,
    [OP_SCATTER_ND] = true,
    [OP_SIGMOID_CROSS_ENTROPY] = true,
    [OP_SIGMOID_CROSS_ENTROPY_BWD] = true,
    [OP_SLICE] = true,
    [OP_SLICE_BWD] = true,
    [OP_SUB] = true,
    [OP_TOP_K] = true,
    [OP_TO_HALF] = true,
    [OP_TRANSPOSE] = true,
    [OP_TRILU] = true,
    [OP_WHERE] = true,
    [OP_XOR] = true,
    [OP_ZERO] = true,
#define SMOOTH(ID, name, onnx, reads, attr) [OP_##ID] = true, [OP_##ID##_BWD] = true,
#define STEP(ID, name, onnx)                [OP_##ID] = true,
#include "graph/unary.def"
};

bool op_is_exact(graph_op op)
{
    return exact[op];
}

bool gradients_are_exact(const graph *g)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        graph_op op = graph_node_at(g, i)->op;
        if (!exact[op] && op != OP_REDUCE_SUM) /* which makes the loss alone */
            return false;
    }
    return true;
}

static bool is_nan(dtype t, const char *x)
{
    float f;
    if (t != DT_F32)
        return false;
    memcpy(&f, x, sizeof f);
    return f != f;
}

static void tell(const char *what, dtype t, const char *got, const char *want, int64_t i)
{
    float f[2] = {0};
    int64_t k[2] = {0};
    memcpy(t == DT_F32 ? (void *)&f[0] : &k[0], got, dtype_bytes(t));
    memcpy(t == DT_F32 ? (void *)&f[1] : &k[1], want, dtype_bytes(t));
    if (t == DT_F32)
        print_error("%s: element %" PRId64 " is %a, on the CPU %a\n", what, i, (double)f[0],
                    (double)f[1]);
    else
        print_error("%s: element %" PRId64 " is %" PRIx64 ", on the CPU %" PRIx64 "\n", what, i,
                    (uint64_t)k[0], (uint64_t)k[1]);
}

bool is_same(const char *what, dtype t, const void *got, const void *want, int64_t n)
{
    size_t bytes = dtype_bytes(t);
    const char *x = got, *y = want;
    for (int64_t i = 0; i < n; i++, x += bytes, y += bytes) {
        if (memcmp(x, y, bytes) == 0 || (is_nan(t, x) && is_nan(t, y)))
            continue;
        tell(what, t, x, y, i);
        return false;
    }
    return true;
}
