/* Nodes whose outputs an operand without elements decides. */
#include "backend/cuda/kernels/fill.h"
#include "backend/cuda/plan/plan.h"
#include "backend/empty.h"
#include "backend/fill.h"

#include <string.h>

bool cuda_node_is_empty(const cuda_node *n)
{
    double unused[EMPTY_OUT];
    return empty_values(n->program->g, n->node, unused);
}

static void run_empty(const cuda_node *n, const cuda_call *c)
{
    const uint64_t *values = n->state;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = cuda_out(n, i);
        if (v)
            launch_fill(c->stream, c->out[i], graph_shape_elements(&v->shape),
                        (int)dtype_bytes(v->dtype), values[i]);
    }
}

status cuda_plan_empty(cuda_node *n)
{
    double value[EMPTY_OUT];
    uint64_t *words = cuda_node_runs(n, run_empty, EMPTY_OUT * sizeof *words);
    BUG_ON(!empty_values(n->program->g, n->node, value));
    for (int i = 0; i < n->node->n_out; i++) {
        uint8_t bytes[sizeof *words];
        if (!cuda_out(n, i))
            continue;
        fill_value(cuda_out(n, i)->dtype, value[i], bytes);
        memcpy(&words[i], bytes, sizeof bytes);
    }
    return OK;
}
