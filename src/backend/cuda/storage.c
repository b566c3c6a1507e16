#include "backend/cuda/storage.h"

static status measure(backend_program *p, graph_val v, error *err)
{
    const graph_value *value = graph_value_at(p->g, v);
    size_t elements = p->is_fused[v] ? 0 : (size_t)graph_shape_elements(&value->shape);
    if (!size_mul(elements, dtype_bytes(p->storage[v].type), &p->bytes[v]))
        return FAIL(err, E_NOMEM, "value '%s' is too large", value->name);
    return OK;
}

status storage_choose(backend_program *p, error *err)
{
    graph_val n_values = graph_n_values(p->g);
    p->storage = arena_alloc(p->arena, (size_t)n_values * sizeof *p->storage);
    p->bytes = arena_alloc(p->arena, (size_t)n_values * sizeof *p->bytes);
    for (graph_val v = 0; v < n_values; v++) {
        p->storage[v].type = graph_value_at(p->g, v)->dtype;
        TRY(measure(p, v, err));
    }
    return OK;
}
