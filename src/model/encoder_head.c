/* Heads of encoders (encoder.h): qa, tokens, sequence. */
#include "model/encoder.h"
#include "model/sequences.h"

#include <string.h>

static status per_token(net *n, const encoder *e, const char *name, int64_t features,
                        net_outputs *ret, error *err)
{
    TRY(net_linear(n, name, features, true, err));
    graph_shape scores = {3, {n->request->batch_size, e->tokens, features}};
    TRY(net_reshape(n, n->end, scores, &n->end, err));
    ret->at[ret->n++] = n->end;
    return OK;
}

/* The first token's row, through the pooler, to the classes. */
static status whole_text(net *n, const encoder *e, net_outputs *ret, error *err)
{
    const encoder_pooler *p = &e->family->pooler;
    TRY(net_first_token(n, "pooler.first", e->tokens, err));
    if (p->drops_first)
        TRY(net_dropout(n, "dropout.first", e->head_dropout, err));
    TRY(net_linear(n, p->dense, e->width, true, err));
    TRY(net_activation(n, "pooler.activation", p->activation, err));
    TRY(net_dropout(n, "dropout", e->head_dropout, err));
    return net_scores(n, p->scores, ret, err);
}

status encoder_head(net *n, const config *model, const encoder *e, net_outputs *ret, error *err)
{
    const char *kind = config_str(model, "head");
    if (strcmp(kind, "qa") == 0) {
        if (e->family->drops_answers)
            TRY(net_dropout(n, "dropout", e->head_dropout, err));
        TRY(per_token(n, e, "qa_outputs", 2, ret, err));
        return net_mask_positions(n, &ret->at[0], err);
    }
    if (n->loss->features < 1)
        return FAIL(err, E_CONFIG, "%s.head: the data do not say how many scores it has to give",
                    config_path(model));
    if (strcmp(kind, "tokens") == 0) {
        TRY(net_dropout(n, "dropout", e->head_dropout, err));
        return per_token(n, e, "classifier", n->loss->features, ret, err);
    }
    return whole_text(n, e, ret, err);
}
