/* Nodes whose outputs an operand without elements decides. */
#include "backend/cuda/kernels/fill.h"
#include "backend/cuda/plan/plan.h"
#include "backend/empty.h"
#include "backend/fill.h"
#include "common/base/alloc.h"

#include <string.h>

bool cuda_node_is_empty(const cuda_node *n)
{
    double unused[EMPTY_OUT];
    return empty_values(n->program->g, n->node, unused);
}

static status run_empty(const cuda_node *n, const cuda_call *c, error *err)
{
    const uint64_t *values = n->state;
    (void)err;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = cuda_out(n, i);
        if (v)
            launch_fill(c->stream, c->out[i], graph_shape_elements(&v->shape),
                        (int)dtype_bytes(v->dtype), values[i]);
    }
    return OK;
}

status cuda_plan_empty(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    double value[EMPTY_OUT];
    uint64_t *words = arena_alloc(p->arena, EMPTY_OUT * sizeof *words);
    BUG_ON(!empty_values(p->g, n->node, value));
    for (int i = 0; i < n->node->n_out; i++) {
        uint8_t bytes[sizeof *words];
        if (!cuda_out(n, i))
            continue;
        fill_value(cuda_out(n, i)->dtype, value[i], bytes);
        memcpy(&words[i], bytes, sizeof bytes);
    }
    n->body = run_empty;
    n->state = words;
    return OK;
}
