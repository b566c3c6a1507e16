#include "differential/shrink.h"

/* Keeps the change of *flag if the failure stays. */
static bool try_flag(view *v, const peer *p, bool *flag, verdict *was)
{
    *flag = !*flag;
    view_settle(v);
    if (view_nodes(v) > 0) {
        verdict now = judge(v, p);
        if (now.kind == was->kind) {
            *was = now;
            return true;
        }
    }
    *flag = !*flag;
    view_settle(v);
    return false;
}

void shrink(view *v, const peer *p, verdict *was)
{
    bool again = true;
    while (again) {
        again = false;
        for (int32_t t = 0; t < v->s->n_terms; t++)
            if (v->output[t] && view_outputs(v) > 1)
                again |= try_flag(v, p, &v->output[t], was);
        for (int32_t i = v->s->n_nodes; i-- > 0;)
            if (v->live_node[i])
                again |= try_flag(v, p, &v->dropped[i], was);
    }
}
