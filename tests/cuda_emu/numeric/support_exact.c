#include "cuda_emu/numeric/support_exact.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

bool op_is_exact(graph_op op)
{
    return graph_op_of(op)->traits & OP_SAME_BITS;
}

bool gradients_are_exact(const graph *g)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        graph_op op = graph_node_at(g, i)->op;
        if (!op_is_exact(op) && op != OP_REDUCE_SUM) /* which makes the loss alone */
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
