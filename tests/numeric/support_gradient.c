#include "numeric/support_gradient.h"

graph_val gradient_loss(graph *g, graph_val y, const float *factors)
{
    error err = ERROR_INIT;
    graph_val in[2] = {y}, product, loss;
    must(graph_const(g, "factors", DT_F32, graph_value_at(g, y)->shape, factors, &in[1], &err), &err);
    must(graph_add_1(g, OP_MUL, NULL, in, 2, NULL, &product, &err), &err);
    must(graph_add_1(g, OP_REDUCE_SUM, "loss", &product, 1, &(reduce_attr){.drop_dims = true}, &loss,
                     &err),
         &err);
    return loss;
}

void gradient_append(graph *g, graph_val loss)
{
    error err = ERROR_INIT;
    graph_val weight = GRAPH_NONE;
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
}

void gradient_fill(const gradient *s, lane *l)
{
    for (graph_val v = 0; v < graph_n_values(s->forward); v++) {
        const graph_value *value = graph_value_at(s->forward, v);
        bool is_source = value->kind == VAL_INPUT || value->kind == VAL_PARAM;
        /* An operand backward does not need is dropped with the nodes that read it. */
        if (is_source && graph_find(s->backward, value->name) != GRAPH_NONE)
            lane_set(l, 0, value->name, reference_value(s->reference, v));
    }
    lane_set(l, 0, "weight", &GRADIENT_WEIGHT);
}
