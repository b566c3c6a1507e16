/* Nodes whose outputs an operand without elements decides. */
#include "backend/empty.h"
#include "backend/cpu/program.h"
#include "backend/fill.h"
#include "common/base/alloc.h"

bool node_is_empty(const cpu_node *n)
{
    double unused[EMPTY_OUT];
    return empty_values(n->program->g, n->node, unused);
}

static status run_empty(const cpu_node *n, const cpu_call *c, error *err)
{
    const uint8_t(*values)[8] = n->state;
    (void)err;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = node_out(n, i);
        if (v)
            fill_run(c->out[i], graph_shape_elements(&v->shape), values[i], dtype_bytes(v->dtype));
    }
    return OK;
}

status cpu_plan_empty(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    double value[EMPTY_OUT];
    uint8_t(*bytes)[8] = arena_alloc(p->arena, EMPTY_OUT * sizeof *bytes);
    BUG_ON(!empty_values(p->g, n->node, value));
    for (int i = 0; i < n->node->n_out; i++)
        if (node_out(n, i))
            fill_value(node_out(n, i)->dtype, value[i], bytes[i]);
    n->takes_inplace = false;
    n->body = run_empty;
    n->state = bytes;
    return OK;
}
