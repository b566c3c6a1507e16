/* The table of losses (loss.h). */
#include "model/loss/build.h"

#include <string.h>

static const struct {
    const char *kind;
    loss_add_fn *add;
} losses[] = {
    {"cross_entropy", loss_cross_entropy},
    {"binary_cross_entropy", loss_binary_cross_entropy},
    {"mean_squared_error", loss_mean_squared_error},
    {"span", loss_span},
    {"dependencies", loss_dependencies},
    {"output", loss_own_output},
};

status loss_add(net *n, const net_outputs *o, graph_val *ret, error *err)
{
    graph_val label[MODEL_LABELS] = {GRAPH_NONE, GRAPH_NONE};
    for (size_t i = 0; i < n->loss->n_labels; i++)
        TRY(net_field(n, n->loss->label[i], &label[i], err));
    for (size_t i = 0; i < COUNT_OF(losses); i++) {
        if (strcmp(n->loss->kind, losses[i].kind) != 0)
            continue;
        TRY(losses[i].add(n, o, label, ret, err));
        graph_keep(n->g, *ret);
        return OK;
    }
    BUG("loss '%s' is an option without a function", n->loss->kind);
}
