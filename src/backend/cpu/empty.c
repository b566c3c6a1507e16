/* Nodes whose outputs an operand without elements decides. */
#include "backend/empty.h"
#include "backend/cpu/program.h"
#include "backend/fill.h"

bool node_is_empty(const cpu_node *n)
{
    double unused[EMPTY_OUT];
    return empty_values(n->program->g, n->node, unused);
}

static void run_empty(const cpu_node *n, const cpu_call *c)
{
    const uint8_t(*values)[8] = n->state;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = node_out(n, i);
        if (v)
            fill_run(c->out[i], graph_shape_elements(&v->shape), values[i], dtype_bytes(v->dtype));
    }
}

status cpu_plan_empty(cpu_node *n)
{
    double value[EMPTY_OUT];
    uint8_t(*bytes)[8] = node_alloc(n, EMPTY_OUT * sizeof *bytes);
    BUG_ON(!empty_values(n->program->g, n->node, value));
    for (int i = 0; i < n->node->n_out; i++)
        if (node_out(n, i))
            fill_value(node_out(n, i)->dtype, value[i], bytes[i]);
    n->takes_inplace = false;
    n->kernel = run_empty;
    n->state = bytes;
    return OK;
}
