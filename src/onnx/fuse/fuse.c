#include "onnx/fuse/fuse.h"

#include "common/base/alloc.h"

static match_fn *const matchers[] = {fuse_heads, fuse_attention, fuse_average_pool, fuse_layer_norm,
                                     fuse_gelu,  fuse_linear,    fuse_matmul};

bool fuse_node(const fuser *f, const graph_node *n, fusion *ret)
{
    for (size_t i = 0; i < COUNT_OF(matchers); i++) {
        fusion found = {.matched = true};
        if (!matchers[i](f, n, &found))
            continue;
        *ret = found;
        return true;
    }
    return false;
}
