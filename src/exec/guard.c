#include "exec/guard.h"

#include "common/base/alloc.h"

bool guard_is_wanted(const backend_ops *ops, const backend *device)
{
    return ops->guards && ops->guards(device);
}

/* Bytes of the allocation that is this value's; 0: it has none, or uses another's. */
static size_t own_bytes(const variant *v, graph_val value)
{
    const plan_place *place = plan_place_of(v->plan, value);
    bool is_own = place->materialised && place->slab == SLAB_TEMP && plan_aliased(v->plan, value) == value;
    return is_own ? place->bytes : 0;
}

size_t guard_bytes(const variant *v)
{
    size_t bytes = 0;
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        bytes += own_bytes(v, i);
    return bytes;
}

status guard_create(variant *v, error *err)
{
    v->apart = xcalloc((size_t)graph_n_values(v->graph) + 1, sizeof *v->apart);
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (own_bytes(v, i))
            TRY(v->backend->alloc(v->device, SPACE_UNCLEARED, own_bytes(v, i),
                                  graph_value_at(v->graph, i)->name, &v->apart[i], err));
    return OK;
}
