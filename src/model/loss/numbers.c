/* The mean squared error, and a loss that the model makes itself. */
#include "model/loss/build.h"

status loss_mean_squared_error(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    loss_terms t = {.counts = GRAPH_NONE, .labels = *loss_shape_of(n, label[0])};
    graph_val prediction = o->at[0], apart;
    TRY(loss_match(n, &prediction, label[0], err));
    TRY(loss_two(n, OP_SUB, prediction, label[0], &apart, err));
    TRY(loss_two(n, OP_MUL, apart, apart, &t.each, err));
    return loss_mean(n, t, ret, err);
}

status loss_own_output(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    (void)label;
    if (o->loss == GRAPH_NONE)
        return FAIL(err, E_CONFIG, "%s.loss: 'output', but the model makes no loss itself",
                    config_path(n->request->model));
    *ret = o->loss;
    return graph_rename(n->g, o->loss, "loss", err);
}
